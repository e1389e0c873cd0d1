"""Jobs in progress: the run, what it was asked, and the handles its tasks share."""

from __future__ import annotations

import os
import queue
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from datetime import date, datetime
from functools import cached_property
from threading import RLock
from typing import Any, TypeVar
from uuid import UUID

from chunkers.chunk import ChunkingRecipe
from enrich.embedders import load, probe
from enrich.models import Embedder
from flows.diff import Diff, Work, quarantine_cause
from flows.lanes import Lanes, chunking_for, lane_of, obstacles, recipe_of
from flows.progress import StageProgress
from flows.report import Tally
from flows.request import SyncRequest
from flows.settings_tables import Limits
from parsers.elements import Parsed
from parsers.registry import parser_id_for
from parsers.worker import ParseWorker
from sources.files import Listing
from store import publishing
from store.database import Store
from store.publishing import Settlement
from store.runs import Run, open_run
from store.stages import StoredRevision, read_revision
from store.versions import (
    Recipe,
    Version,
    active_version,
    open_version,
    version_for,
    version_to_fill,
    versions_in_step,
)


@dataclass
class Job:
    """A run in progress and its handles.

    Found by its run's id, so that flows and tasks pass ids alone (I10).
    """

    run: Run
    store: Store
    progress: StageProgress
    now: datetime
    limits: Limits
    tally: Tally = field(default_factory=Tally)
    failures: list[str] = field(default_factory=list)
    _stack: ExitStack = field(default_factory=ExitStack)

    @property
    def today(self) -> date:
        """The run's day, in its time zone."""
        return self.now.date()

    def close(self) -> None:
        """Free what it holds and forget it. The run is closed by its report."""
        self._stack.close()
        self.run.release()
        _jobs.pop(self.run.id, None)


@dataclass
class WritingJob(Job, ABC):
    """A job whose documents go through the stages, into the versions of its lanes."""

    left_out: set[tuple[int, UUID]] = field(default_factory=set)  # version, revision
    _lock: RLock = field(default_factory=RLock)
    _workers: queue.LifoQueue[ParseWorker] | None = None

    @property
    @abstractmethod
    def lanes(self) -> Lanes:
        """The versions to write."""

    @abstractmethod
    def parse_id(self, revision: StoredRevision) -> str:
        """Key of the parse that a revision's chunks are cut from."""

    @abstractmethod
    def settlement(self, revision_id: UUID, lanes: Lanes) -> Settlement | None:
        """What publishing a revision settles; None where a copy of it is filled in."""

    @abstractmethod
    def renew(self, lanes: Lanes) -> None:
        """Find the versions to write again, unless another task did: they are not these."""

    @abstractmethod
    def put_aside(self, revision_id: UUID, code: str, hint: str) -> None:
        """Note that a revision cannot be taken, and go on without it (I12)."""

    @contextmanager
    def parse_worker(self) -> Iterator[ParseWorker]:
        """Borrow a parse worker; there are as many as the limits say, or as there are cores."""
        with self._lock:
            if self._workers is None:
                self._workers = queue.LifoQueue()
                for _ in range(self.limits.workers or os.cpu_count() or 1):
                    worker = self._stack.enter_context(
                        ParseWorker(
                            seconds=self.limits.parse_seconds,
                            memory_mb=self.limits.parse_memory_mb,
                        )
                    )
                    self._workers.put(worker)
        worker = self._workers.get()
        try:
            yield worker
        finally:
            self._workers.put(worker)

    def parse(self, data: bytes, suffix: str) -> Parsed:
        """Parse bytes in a worker process. Raises Unreadable."""
        with self.parse_worker() as worker:
            return worker.parse(data, suffix)


def parser_key(suffix: str) -> str:
    """The parse stage's key for a type of file as of today; of an unknown type, its name."""
    return parser_id_for(suffix) or f"unknown{suffix}"


@dataclass(kw_only=True)
class SyncJob(WritingJob):
    """One source's sync."""

    request: SyncRequest
    listing: Listing | None = None
    diff: Diff = field(default_factory=Diff)
    work: dict[UUID, Work] = field(default_factory=dict)  # by revision
    _lanes: Lanes | None = None
    _renewed: bool = False

    @cached_property
    def embedder(self) -> Embedder:
        """The recipe's embedding model."""
        return load(self.request.recipe.model)

    @cached_property
    def chunking(self) -> ChunkingRecipe:
        """Today's recipe of the chunks (I4)."""
        return chunking_for(self.request.recipe, self.embedder)

    @cached_property
    def recipe(self) -> Recipe:
        """The ids of every stage as this program would make them today."""
        return recipe_of(self.request.recipe)

    @cached_property
    def version(self) -> Version:
        """The active version, or the first one of its index, opened if need be."""
        return active_version(self.store, self.request.index) or version_to_fill(
            self.store,
            self.request.index,
            self.recipe,
            modulus=self.request.modulus,
            probe=probe(self.embedder),
        )

    @cached_property
    def gap(self) -> tuple[str, ...]:
        """Where the recipe of the active version differs from today's."""
        return self.recipe.differences(self.version.recipe)

    @cached_property
    def holders(self) -> list[int]:
        """Versions of which one must hold a document's newest revision for it to be unchanged.

        The active one; and where its recipe cannot be run any more, that of today's, which takes
        what is new.
        """
        today = None
        if self.gap and obstacles(self.version.recipe):
            today = version_for(self.store, self.request.index, self.recipe)
        return [self.version.id] + ([today.id] if today else [])

    @property
    def lanes(self) -> Lanes:
        """The active version, those that are kept in step with it, and one of today's recipe.

        Without those whose recipe cannot be run here. Opens the last where there is none.
        """
        with self._lock:
            if self._lanes is None:
                self._lanes = self._find_lanes()
            return self._lanes

    def renew(self, lanes: Lanes) -> None:
        """Look again: a version was opened or promoted while we worked."""
        with self._lock:
            if self._lanes is lanes:
                self._lanes, self._renewed = None, True

    @property
    def versions_written(self) -> set[int]:
        """Versions that this run wrote, or looked at to write."""
        every = self._lanes.every if self._lanes else ()
        return {self.version.id, *(lane.version.id for lane in every)}

    def _find_lanes(self) -> Lanes:
        store, request = self.store, self.request
        active = active_version(store, request.index)
        if active is not None and self.recipe.differences(active.recipe):
            open_version(
                store,
                request.index,
                self.recipe,
                modulus=request.modulus,
                probe=probe(self.embedder),
            )
        versions = versions_in_step(store, request.index, request.keep_previous_days)
        in_step = tuple(version.id for version in versions)
        if active is None:
            versions = [version for version in versions if version.id == self.version.id]
        lanes = [lane for lane in map(lane_of, versions) if lane is not None]
        if active is not None and (not lanes or lanes[0].version.id != active.id):
            # The active version's recipe cannot be run any more: that of today comes first.
            lanes.sort(key=lambda lane: bool(self.recipe.differences(lane.version.recipe)))
        return Lanes(every=tuple(lanes), in_step=in_step, renewed=self._renewed)

    def parse_id(self, revision: StoredRevision) -> str:
        """Key of today's parser for a revision."""
        return parser_key(revision.suffix)

    def settlement(self, revision_id: UUID, lanes: Lanes) -> Settlement:
        """The document's newest revision is published, as listed."""
        work = self.work.get(revision_id)
        return Settlement(
            index=self.request.index,
            in_step=lanes.in_step,
            keep_days=self.request.keep_previous_days,
            token=work.listed.token if work else None,
        )

    def put_aside(self, revision_id: UUID, code: str, hint: str) -> None:
        """Quarantine a revision's document; an earlier revision of it goes on showing (I12)."""
        revision = read_revision(self.store, revision_id)
        work = self.work.get(revision_id)
        publishing.quarantine(
            self.store,
            self.run.id,
            revision.document_id,
            reason=code,
            hint=hint,
            content_sha256=revision.content_sha256,
            cause=quarantine_cause(
                revision.suffix, revision.content_sha256, self.chunking.chunking_id
            ),
            token=work.listed.token if work else "",
            now=self.now,
        )


_jobs: dict[int, Job] = {}

AnyJob = TypeVar("AnyJob", bound=Job)
AnyWritingJob = TypeVar("AnyWritingJob", bound=WritingJob)
AnySync = TypeVar("AnySync", bound=SyncJob)


def enter(job: AnyJob) -> AnyJob:
    """Let tasks of this process find a job by its run's id."""
    _jobs[job.run.id] = job
    return job


def open_job(store: Store, request: SyncRequest, progress: StageProgress) -> SyncJob:
    """Take the source's lock and begin a run. Raises LockHeldError."""
    return enter(new_job(SyncJob, store, request, progress))


def new_job(
    kind: type[AnySync], store: Store, request: SyncRequest, progress: StageProgress, **more: Any
) -> AnySync:
    """Take the source's lock and begin a run that no task looks up. Raises LockHeldError."""
    run = open_run(
        store,
        kind="sync",
        lock_key=request.lock_key,
        tenant=request.tenant,
        source=request.source,
        options=request.model_dump(mode="json"),
    )
    now = request.clock(datetime.fromisoformat(run.started_on))
    return kind(run, store, progress, now, request.limits, request=request, **more)


def job_of(run_id: int, kind: type[AnyJob]) -> AnyJob:
    """The job of a run that this process opened.

    Raises LookupError for a run of another kind, and for another process's: its lock is not ours
    to write under.
    """
    try:
        job = _jobs[run_id]
    except KeyError:
        raise LookupError(
            f"run {run_id} was not opened by this process; start the flow without a run id, and "
            "it opens runs itself"
        ) from None
    if not isinstance(job, kind):
        raise LookupError(f"run {run_id} is no {kind.__name__}")
    return job


def writer_of(run_id: int) -> WritingJob:
    """The job of a run whose documents go through the stages. Raises LookupError."""
    return job_of(run_id, WritingJob)  # type: ignore[type-abstract]  # a look, not a call
