"""A promotion's steps: the version catches up, the gates look, the alias moves."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from typing import Any

from enrich.contextualize import contextual_text
from enrich.embedders import load, probe, same_vectors
from enrich.models import Embedder, EmbeddingFailed
from flows import embedding, filling, stages, writing
from flows.answering import Asking, compare_answers
from flows.filling import FillJob
from flows.lanes import obstacles
from store import gates, promotions
from store.filling import tenants_of, whole_backfill_done
from store.gates import Gate
from store.promotions import Swap, Unsettled
from store.versions import cool, count_lacking, refresh_statistics

SAMPLE = 24  # vectors that are made again and compared
ROUNDS = 5  # of catching up, while documents keep arriving


@dataclass(kw_only=True)
class PromoteJob(FillJob):
    """A version on its way to an alias; ``reason`` is given when it is forced."""

    alias: str
    by: str
    fallback_share: float
    asking: Asking = field(default_factory=Asking)
    force: bool = False
    reason: str | None = None
    gates: list[Gate] = field(default_factory=list)
    lacking: int = 0  # live documents, when the gates looked
    swap: Swap | None = None

    @cached_property
    def model(self) -> Embedder | None:
        """The version's model, or None where it cannot be loaded here or is another by now."""
        try:
            embedder = load(self.lane.recipe.model)
        except EmbeddingFailed:
            return None
        same = embedder.card.fingerprint == self.lane.version.model
        return embedder if same else None

    @property
    def passed(self) -> bool:
        """Whether no gate refuses."""
        return all(gate.passed is not False for gate in self.gates)


def is_complete(job: PromoteJob) -> Gate:
    """Every live revision of the active version, with all chunks and real contexts."""
    return gates.complete(job.store, job.lane.version, job.like, fallback_share=job.fallback_share)


def has_honest_vectors(job: PromoteJob) -> Gate:
    """The model's own vectors, as far as a probe and a sample tell."""
    version, model = job.lane.version, job.model
    agrees: bool | None = None
    lowest: float | None = None
    if model is not None:
        agrees = version.probe is None or same_vectors(version.probe, probe(model))
        found = gates.sample(job.store, version, seed=job.run.id, limit=SAMPLE)
        fitting = [item for item in found if len(item.vector) == model.card.dimensions]
        if fitting:
            fresh = model.embed_passages(
                [contextual_text(item.prefix, item.text) for item in fitting]
            )
            lowest = min(
                float(item.vector @ vector) for item, vector in zip(fitting, fresh, strict=True)
            )
    return gates.vectors(job.store, version, probe_agrees=agrees, lowest_cosine=lowest)


def is_seen_alike(job: PromoteJob) -> Gate:
    """Nobody sees other documents than before."""
    return gates.visibility(job.store, job.lane.version, job.like, today=job.today)


def is_indexed(job: PromoteJob) -> Gate:
    """Indexes are there and valid."""
    return gates.indexes(job.store, job.lane.version)


def answers_as_well(job: PromoteJob) -> Gate:
    """The golden questions on both versions; without any there is nothing to compare."""
    return compare_answers(
        job.store,
        job.lane.version,
        job.like,
        job.asking,
        job.progress,
        loadable=job.model is not None,
    )


# In this order; a gate that does not pass refuses the promotion, unless somebody forces it.
GATES: tuple[Callable[[PromoteJob], Gate], ...] = (
    is_complete,
    has_honest_vectors,
    is_seen_alike,
    is_indexed,
    answers_as_well,
)


def catch_up(job: PromoteJob) -> int:
    """Give the version what was published since its backfill; returns how many revisions.

    Only where a backfill of everything ended well: what a version never had is not added on the
    way to an alias, but named by the gate. And only where its recipe can still be run.
    """
    before = job.tally["revisions"]
    version = job.lane.version
    if whole_backfill_done(job.store, version.id) and not obstacles(version.recipe):
        for batch in filling.plan(job):
            left = filling.reparse(job, batch)
            for stage in (
                stages.chunk_batch,
                stages.contextualize_batch,
                embedding.embed,
                writing.write,
            ):
                left = stage(job, left)
    for tenant in tenants_of(job.store, version.id):
        refresh_statistics(job.store, job.run.id, version.id, tenant)
    cool(job.store, job.run.id, version.id, job.today)
    return job.tally["revisions"] - before


def judge(job: PromoteJob) -> bool:
    """Ask every gate; returns whether none refuses."""
    with job.tally.timing("gates"):
        job.lacking = count_lacking(job.store, job.lane.version.id, like=job.like.id)
        job.gates = [gate(job) for gate in GATES]
    return job.passed


def swap(job: PromoteJob) -> bool:
    """Move the alias if the gates passed or somebody forces it; returns whether it moved.

    Documents that arrive until then are caught up first, so that nothing is missing at the swap.
    Raises Unsettled when they keep arriving, or another version became active.
    """
    if not job.passed and not job.force:
        return False
    for _ in range(ROUNDS):
        try:
            job.swap = promotions.promote(
                job.store,
                job.run.id,
                job.lane.version,
                job.like,
                alias=job.alias,
                gates=job.gates,
                lacking=job.lacking,
                reason=job.reason,
                by=job.by,
            )
            return True
        except Unsettled:
            catch_up(job)
    raise Unsettled


@dataclass(frozen=True, slots=True, kw_only=True)
class PromotionReport:
    """What the gates found and whether the alias moved: numbers, codes and ids."""

    run_id: int
    at: datetime  # when it began, in the settings' time zone
    index: str
    alias: str
    version: str
    active: str  # when the gates looked
    promoted: bool
    passed: bool
    forced: bool
    caught_up: int
    gates: dict[str, dict[str, Any]]
    seconds: float

    @property
    def refused_by(self) -> list[str]:
        """Names of the gates that did not pass."""
        return [name for name, gate in self.gates.items() if gate["passed"] is False]

    @property
    def exit_code(self) -> int:
        """0 promoted, 5 refused."""
        return 0 if self.promoted else 5

    def to_json(self) -> dict[str, Any]:
        """The object on the last line of ``mucluc promote --json``, and in the run's row."""
        return {
            "run": self.run_id,
            "at": self.at.isoformat(timespec="seconds"),
            "index": self.index,
            "alias": self.alias,
            "version": self.version,
            "active": self.active,
            "promoted": self.promoted,
            "passed": self.passed,
            "forced": self.forced,
            "refused_by": self.refused_by,
            "caught_up": self.caught_up,
            "gates": self.gates,
            "seconds": self.seconds,
        }


def make_report(job: PromoteJob) -> PromotionReport:
    """Sum up a promotion."""
    return PromotionReport(
        run_id=job.run.id,
        at=job.now,
        index=job.request.index,
        alias=job.alias,
        version=job.lane.version.name,
        active=job.like.name,
        promoted=job.swap is not None,
        passed=job.passed,
        forced=job.swap is not None and not job.passed,
        caught_up=job.tally["revisions"],
        gates={gate.name: gate.to_json() for gate in job.gates},
        seconds=job.tally.seconds_of("gates"),
    )
