"""The stages of a backfill: a version is filled from what another one has, batch by batch."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from datetime import date, datetime
from functools import cached_property
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

from pydantic import BaseModel, ConfigDict

from flows.batches import tried
from flows.diff import batches
from flows.job import WritingJob, enter, parser_key
from flows.lanes import Lane, Lanes
from flows.originals import Originals
from flows.progress import StageProgress
from flows.report import Tally, peak_rss_mb
from flows.settings_tables import Limits, Name
from store import filling, stages
from store.database import Store
from store.filling import Scope
from store.publishing import Settlement
from store.runs import open_run
from store.versions import (
    Version,
    build_indexes,
    cool,
    count_lacking,
    refresh_statistics,
)


class FillRequest(BaseModel):
    """What a backfill is asked. Serialises to the JSON of ``run.options``: names and ids only."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    index: Name
    version: Name
    tenant: str | None = None
    source: str | None = None
    since: date | None = None
    limits: Limits = Limits()
    timezone: str
    modulus: int = 1
    now: datetime | None = None

    @property
    def scope(self) -> Scope:
        """Which revisions are filled in."""
        return Scope(tenant=self.tenant, source=self.source, since=self.since)


@dataclass(kw_only=True)
class FillJob(WritingJob):
    """A version being filled. What cannot be taken is reported, and touches no quarantine."""

    request: FillRequest
    lane: Lane
    like: Version  # whose revisions it gets
    aside: dict[UUID, str] = field(default_factory=dict)  # reason by revision
    parse_ids: dict[UUID, str] = field(default_factory=dict)

    @property
    def lanes(self) -> Lanes:
        """The one version."""
        return Lanes(every=(self.lane,))

    def renew(self, lanes: Lanes) -> None:
        """It stays the same."""

    def settlement(self, revision_id: UUID, lanes: Lanes) -> Settlement | None:
        """A copy settles nothing."""
        return None

    def put_aside(self, revision_id: UUID, code: str, hint: str) -> None:
        """Remember what the version goes without."""
        self.aside[revision_id] = code

    def parse_id(self, revision: stages.StoredRevision) -> str:
        """Key of a parse that the stage has, as ``reparse`` chose it."""
        return self.parse_ids.get(revision.id) or parser_key(revision.suffix)

    @cached_property
    def originals(self) -> Originals:
        """Where bytes come from when a parse is missing."""
        return Originals(self)


def open_fill(
    store: Store,
    request: FillRequest,
    lane: Lane,
    like: Version,
    progress: StageProgress,
    *,
    kind: str = "backfill",
) -> FillJob:
    """Take the version's lock and begin a run. Raises LockHeldError."""
    run = open_run(
        store,
        kind=kind,
        lock_key=filling.lock_key(lane.version.id),
        options=request.model_dump(mode="json"),
    )
    now = request.now or datetime.fromisoformat(run.started_on)
    now = now.astimezone(ZoneInfo(request.timezone))
    return enter(
        FillJob(run, store, progress, now, request.limits, request=request, lane=lane, like=like)
    )


def plan(job: FillJob) -> list[list[UUID]]:
    """Batches of revision ids that the other version has and this one lacks."""
    with job.tally.timing("diff"):
        lacking = filling.revisions_lacking(
            job.store, job.lane.version.id, like=job.like.id, scope=job.request.scope
        )
    job.tally.add("revisions", len(lacking))
    job.progress.expect("parse", len(lacking))
    limits = job.request.limits
    return batches(lacking, documents=limits.batch_documents, size=limits.batch_bytes)


def reparse(job: FillJob, batch: Sequence[UUID]) -> list[UUID]:
    """Find each revision's elements; parse its bytes where today's parser has not seen them."""
    done: list[UUID] = []
    with job.tally.timing("parse"):
        revisions = stages.read_revisions(job.store, batch)
        present = stages.parses(job.store, batch)

        def step(job: FillJob, revision_id: UUID) -> list[UUID]:
            return _reparse(job, revisions[revision_id], present[revision_id])

        for revision_id in batch:
            done += tried(job, revision_id, step)
            job.progress.advance("parse")
    job.progress.expect("chunk", len(done))
    return done


def _reparse(job: FillJob, revision: stages.StoredRevision, present: Sequence[str]) -> list[UUID]:
    revision_id, today = revision.id, parser_key(revision.suffix)
    # Another patch of a library is the same parser to a recipe.
    alike = [key for key in present if key.split()[0] == today.split()[0]]
    if alike:
        job.parse_ids[revision_id] = today if today in alike else alike[-1]
        job.tally.add("parses_reused")
        return [revision_id]
    body = job.originals.find(revision)
    if body is not None:
        parsed = job.parse(body, revision.suffix)
        stages.add_parse(job.store, job.run.id, revision_id, today, parsed)
        job.tally.add("parses_made")
        return [revision_id]
    if present and filling.is_superseded(job.store, revision_id):
        # History's bytes are gone by nature. Its old elements are better than no answer as of then.
        job.parse_ids[revision_id] = present[-1]
        job.tally.add("parses_older")
        return [revision_id]
    job.put_aside(revision_id, "bytes_gone", "")
    return []


def index(job: FillJob) -> None:
    """After the last write: document frequencies, ended revisions, then the indexes."""
    version = job.lane.version
    with job.tally.timing("index"):
        for tenant in filling.tenants_of(job.store, version.id):
            refresh_statistics(job.store, job.run.id, version.id, tenant)
        cool(job.store, job.run.id, version.id, job.today)
        job.progress.expect("index", 2 * job.request.modulus)
        job.tally.add("indexes", build_indexes(job.store, version))
        job.progress.advance("index", 2 * job.request.modulus)


@dataclass(frozen=True, slots=True, kw_only=True)
class FillReport:
    """What a backfill did: numbers, ids and codes."""

    run_id: int
    index: str
    version: str
    like: str
    whole: bool  # everything was asked for, and is there
    revisions: int
    missing: int  # live documents that it still lacks, in and out of the scope
    reused: dict[str, int]
    made: dict[str, int]
    entries: int
    older_parses: int
    indexes: int
    not_transferable: tuple[dict[str, str], ...]  # revision, document, reason
    seconds: dict[str, float]
    peak_rss_mb: int
    failed: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """The object on the last line of ``mucluc backfill --json``, and in the run's row."""
        found = asdict(self)
        found["run"] = found.pop("run_id")
        found["not_transferable"] = list(self.not_transferable)
        found["failed"] = list(self.failed)
        return found

    @property
    def exit_code(self) -> int:
        """0 done, 1 failed, 3 done but for documents that could not be taken over."""
        return 1 if self.failed else 3 if self.not_transferable else 0


def make_report(job: FillJob) -> FillReport:
    """Sum up a backfill."""
    tally = job.tally
    tally.add("chunks_kept", tally["chunks_reused"])  # cut again, and the same
    missing = count_lacking(job.store, job.lane.version.id, like=job.like.id)
    return FillReport(
        run_id=job.run.id,
        index=job.request.index,
        version=job.lane.version.name,
        like=job.like.name,
        whole=job.request.scope.whole and not job.failures,
        revisions=tally["revisions"],
        missing=missing,
        reused=_counts(
            tally, "parses_reused", "chunks_kept", "contexts_reused", "embeddings_reused"
        ),
        made=_counts(tally, "parses_made", "chunks_written", "contexts", "embedded"),
        entries=tally["entries"],
        older_parses=tally["parses_older"],
        indexes=tally["indexes"],
        not_transferable=tuple(_told(job, revision) for revision in sorted(job.aside)),
        seconds=tally.seconds(),
        peak_rss_mb=peak_rss_mb(),
        failed=tuple(job.failures),
    )


def _counts(tally: Tally, *names: str) -> dict[str, int]:
    stages_of = ("parses", "chunks", "contexts", "embeddings")
    return {stage: tally[name] for stage, name in zip(stages_of, names, strict=True)}


def _told(job: FillJob, revision_id: UUID) -> dict[str, str]:
    told = {"revision": str(revision_id), "reason": job.aside[revision_id]}
    with suppress(KeyError):  # erased since
        told["document"] = str(stages.read_revision(job.store, revision_id).document_id)
    return told
