"""Two runs of one golden set, question by question: what changed, and is it more than chance.

Differences are paired: each question is its own control. Intervals come from the percentile
bootstrap over questions (Efron and Tibshirani 1993, chapter 13; for retrieval: Sakai, SIGIR 2006),
with a fixed seed, so that a comparison can be repeated to the last digit.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any

import numpy as np

from evals.golden_run import GoldenResult, GoldenRun, segments
from store.words import count

EVERYTHING = "all questions"
MEASURES = ("recall@10", "mrr@10", "ndcg@10", "context_precision")
GATED = ("recall@10", "ndcg@10", "right_version")
# What may never get worse, by not one question: they are promises, not quality.
PROMISES = ("hidden", "in_force")
LEAST_QUESTIONS = 20
DRAWS = 10_000
SEED = 20_261
CONFIDENCE = 0.95


class Decision(StrEnum):
    """What a comparison advises."""

    KEEP = "keep"
    LIMITED = "limited roll-out"
    ROLL_BACK = "roll back"


class RunsDiffer(Exception):
    """Two runs asked different questions, so they cannot be paired."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """One measure in one segment: means before and after, and the interval of the change."""

    segment: str
    measure: str
    n: int
    before: float
    after: float
    low: float
    high: float

    @property
    def change(self) -> float:
        """After less before."""
        return self.after - self.before

    def to_json(self) -> dict[str, Any]:
        """As JSON values; ``Difference(**values)`` makes it again, to five digits."""
        return {
            name: round(value, 5) if isinstance(value, float) else value
            for name, value in asdict(self).items()
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Moved:
    """A question whose figure changed."""

    id: str
    tags: tuple[str, ...]
    measure: str
    before: float
    after: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """Everything that changed between two runs."""

    before: GoldenRun
    after: GoldenRun
    differences: tuple[Difference, ...]
    lost: tuple[Moved, ...]
    won: tuple[Moved, ...]

    def of(self, segment: str, measure: str) -> Difference | None:
        """The difference of a measure in a segment."""
        return next(
            (d for d in self.differences if (d.segment, d.measure) == (segment, measure)), None
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What a gate needs to know: whether the later run may take over, and why not.

    ``reasons`` say what was refused; ``warnings`` what somebody should look at.
    """

    passed: bool
    decision: Decision
    reasons: tuple[str, ...]
    warnings: tuple[str, ...]


def compare_runs(before: GoldenRun, after: GoldenRun, *, draws: int = DRAWS) -> Comparison:
    """Pair two runs of the same questions. Raises RunsDiffer."""
    earlier = {result.id: result for result in before.results}
    later = {result.id: result for result in after.results}
    if before.golden != after.golden or earlier.keys() != later.keys():
        raise RunsDiffer("the two runs asked different questions")
    parts = {EVERYTHING: set(later), **segments(after.results)}
    differences = [
        found
        for segment, ids in parts.items()
        for measure in (*MEASURES, "hit@1", "no_answer", "only_version", "right_version", *PROMISES)
        if (found := _difference(segment, measure, ids, earlier, later, draws)) is not None
    ]
    moved = [
        Moved(
            id=name,
            tags=later[name].tags,
            measure=measure,
            before=earlier[name].figures[measure],
            after=later[name].figures[measure],
        )
        for name in later
        for measure in ("recall@10", "right_version", *PROMISES)
        if measure in later[name].figures
        and measure in earlier[name].figures
        and earlier[name].figures[measure] != later[name].figures[measure]
    ]
    return Comparison(
        before=before,
        after=after,
        differences=tuple(differences),
        lost=tuple(item for item in moved if item.after < item.before),
        won=tuple(item for item in moved if item.after > item.before),
    )


def _difference(
    segment: str,
    measure: str,
    ids: set[str],
    earlier: Mapping[str, GoldenResult],
    later: Mapping[str, GoldenResult],
    draws: int,
) -> Difference | None:
    names = [
        name
        for name in later
        if name in ids and measure in later[name].figures and measure in earlier[name].figures
    ]
    if not names:
        return None
    old = np.array([earlier[name].figures[measure] for name in names])
    new = np.array([later[name].figures[measure] for name in names])
    low, high = interval(new - old, draws=draws)
    return Difference(
        segment=segment,
        measure=measure,
        n=len(names),
        before=float(old.mean()),
        after=float(new.mean()),
        low=low,
        high=high,
    )


def interval(
    differences: Sequence[float] | np.ndarray[Any, Any],
    *,
    draws: int = DRAWS,
    confidence: float = CONFIDENCE,
    seed: int = SEED,
) -> tuple[float, float]:
    """Bounds of the mean of paired differences, by the percentile bootstrap."""
    values = np.asarray(differences, dtype=float)
    if not values.any():
        return 0.0, 0.0
    numbers = np.random.default_rng(seed)
    # Draws of which question, as counts of each different value: the mean needs no more.
    kinds, counts = np.unique(values, return_counts=True)
    drawn = numbers.multinomial(len(values), counts / len(values), size=draws)
    means = drawn @ kinds / len(values)
    edge = 100 * (1 - confidence) / 2
    low, high = np.percentile(means, [edge, 100 - edge])
    return float(low), float(high)


def verdict(comparison: Comparison, *, least: int = LEAST_QUESTIONS) -> Verdict:
    """Say whether the later run may take over.

    Refused are a segment of at least ``least`` questions in which recall@10, nDCG@10 or
    right_version fell by more than chance (the whole interval is below 0), and any question at all
    that shows a hidden document or one of another day where the earlier run did not. In smaller
    segments an interval says little: lost questions are listed as warnings.
    """
    reasons = [
        f"{d.segment}: {d.measure} fell from {d.before:.3f} to {d.after:.3f} "
        f"(interval of the change {d.low:+.3f} to {d.high:+.3f}, {d.n} questions)"
        for d in comparison.differences
        if d.measure in GATED and d.n >= least and d.high < 0
    ]
    reasons += [
        f"{item.id}: {item.measure} no longer holds"
        for item in comparison.lost
        if item.measure in PROMISES
    ]
    small = [
        f"{d.segment}: {d.measure} fell from {d.before:.3f} to {d.after:.3f}, too few questions "
        f"({d.n}) to tell"
        for d in comparison.differences
        if d.measure in GATED and d.n < least and d.change < 0
    ]
    lost = sum(item.measure not in PROMISES for item in comparison.lost)
    said = count(lost, "question finds", "questions find")
    warnings = [*([f"{said} less within ten results"] if lost else []), *small]
    return Verdict(
        passed=not reasons,
        decision=_decision(comparison, bool(reasons)),
        reasons=tuple(reasons),
        warnings=tuple(warnings),
    )


def _decision(comparison: Comparison, is_refused: bool) -> Decision:
    if is_refused:
        return Decision.ROLL_BACK
    whole = [comparison.of(EVERYTHING, measure) for measure in GATED]
    # Nothing says that it is worse, but where it may be, some searches should try it first.
    if any(item is not None and item.low < 0 for item in whole):
        return Decision.LIMITED
    return Decision.KEEP
