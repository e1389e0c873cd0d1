"""A sync in progress: the run, what it was asked, and the handles its tasks share."""

from __future__ import annotations

import os
import queue
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, field
from datetime import date, datetime
from functools import cached_property
from threading import Lock
from uuid import UUID

from chunkers.chunk import ChunkingRecipe
from enrich.contextualize import context_id
from enrich.embedders import load, probe
from enrich.models import Embedder
from enrich.tokenizers import recipe_for
from flows.diff import Diff, Work, quarantine_cause
from flows.progress import StageProgress
from flows.report import Tally
from flows.request import SyncRequest
from parsers.elements import Parsed
from parsers.registry import FAMILIES, parser_id_for
from parsers.worker import ParseWorker
from sources.files import Listing
from store import publishing, stages
from store.database import Store
from store.runs import Run, open_run
from store.versions import Recipe, Version, active_version, version_to_fill


def parser_ids() -> dict[str, str]:
    """Our own versions of the parsers that can run here, by family of formats.

    Versions of libraries are in the parse stage's key, not here: a patch of one, or a helper
    program that is installed later, must not ask for another index version.
    """
    ids = {family: parser_id_for(suffix) for suffix, family in FAMILIES.items()}
    return {
        family: found.split()[0]
        for family, found in ids.items()
        if found and "-needs_" not in found
    }


@dataclass
class SyncJob:
    """One source's sync. Found by its run's id, so that flows and tasks pass ids alone (I10)."""

    run: Run
    store: Store
    request: SyncRequest
    progress: StageProgress
    now: datetime
    tally: Tally = field(default_factory=Tally)
    listing: Listing | None = None
    diff: Diff = field(default_factory=Diff)
    work: dict[UUID, Work] = field(default_factory=dict)  # by revision
    gap: tuple[str, ...] = ()  # where the active version's recipe differs from today's
    withheld_additions: int = 0
    failures: list[str] = field(default_factory=list)
    _stack: ExitStack = field(default_factory=ExitStack)
    _lock: Lock = field(default_factory=Lock)
    _workers: queue.LifoQueue[ParseWorker] | None = None

    @property
    def today(self) -> date:
        """The run's day, in the collection's time zone."""
        return self.now.date()

    @cached_property
    def embedder(self) -> Embedder:
        """The recipe's embedding model."""
        return load(self.request.recipe.model)

    @cached_property
    def chunking(self) -> ChunkingRecipe:
        """The recipe of the chunks, fitted to the model (I4)."""
        return recipe_for(
            self.embedder.card,
            self.embedder.tokenizer,
            body_budget=self.request.recipe.body_budget,
            context_reserve=self.request.recipe.context_reserve,
        )

    @cached_property
    def recipe(self) -> Recipe:
        """The ids of every stage as this program would make them today."""
        chunking = self.chunking
        return Recipe(
            parsers=parser_ids(),
            chunking=asdict(chunking),
            chunking_id=chunking.chunking_id,
            context_id=context_id(self.request.recipe.context),
            model=self.embedder.card.name,
            fingerprint=self.embedder.card.fingerprint,
            dimensions=self.embedder.card.dimensions,
        )

    @cached_property
    def version(self) -> Version:
        """The version this run writes. ``gap`` says where its recipe differs from today's."""
        active = active_version(self.store, self.request.index)
        if active is not None:
            self.gap = self.recipe.differences(active.recipe)
            return active
        return version_to_fill(
            self.store,
            self.request.index,
            self.recipe,
            modulus=self.request.modulus,
            probe=probe(self.embedder),
        )

    def parser_key(self, suffix: str) -> str:
        """The parse stage's key for a type of file; of an unknown type, its name."""
        return parser_id_for(suffix) or f"unknown{suffix}"

    @contextmanager
    def parse_worker(self) -> Iterator[ParseWorker]:
        """Borrow a parse worker; there are as many as the limits say, or as there are cores."""
        with self._lock:
            if self._workers is None:
                self._workers = queue.LifoQueue()
                limits = self.request.limits
                for _ in range(limits.workers or os.cpu_count() or 1):
                    worker = self._stack.enter_context(
                        ParseWorker(seconds=limits.parse_seconds, memory_mb=limits.parse_memory_mb)
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

    def put_aside(self, revision_id: UUID, code: str, hint: str) -> None:
        """Quarantine a revision's document; an earlier revision of it goes on showing (I12)."""
        revision = stages.read_revision(self.store, revision_id)
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

    def close(self) -> None:
        """End the parse workers and forget the job. The run is closed by its report."""
        self._stack.close()
        self.run.release()
        _jobs.pop(self.run.id, None)


_jobs: dict[int, SyncJob] = {}


def open_job(store: Store, request: SyncRequest, progress: StageProgress) -> SyncJob:
    """Take the source's lock and begin a run. Raises LockHeldError."""
    run = open_run(
        store,
        kind="sync",
        lock_key=request.lock_key,
        tenant=request.tenant,
        source=request.source,
        options=request.model_dump(mode="json"),
    )
    job = SyncJob(
        run, store, request, progress, now=request.clock(datetime.fromisoformat(run.started_on))
    )
    _jobs[run.id] = job
    return job


def job_of(run_id: int) -> SyncJob:
    """The job of a run that this process opened.

    Raises LookupError for another process's run: its lock is not ours to write under.
    """
    try:
        return _jobs[run_id]
    except KeyError:
        raise LookupError(
            f"run {run_id} was not opened by this process; start the flow without a run id, and "
            "it opens runs for the sources of mucluc.toml"
        ) from None
