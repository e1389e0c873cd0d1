"""A golden set asked of two versions in turn, question by question: A B, B A, A B …

So both meet the same load of the machine and the same warm caches, and their times can be compared.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from evals.golden import GoldenQuestion
from evals.golden_run import GoldenRun, Search, ask, made_of
from evals.metrics import percentile
from search.request import RetrievalPolicy, SearchTrace

PERCENTILE = 95


@dataclass(frozen=True, slots=True, kw_only=True)
class Interleaved:
    """Two runs of the same questions. A search's time is all of it, embedding too.

    ``impaired`` counts searches, of both, in which a part failed and was left out.
    """

    before: GoldenRun
    after: GoldenRun
    impaired: int

    @property
    def p95_ms(self) -> tuple[float, float]:
        """The 95th percentile of the times before and after, in milliseconds."""
        return _p95(self.before), _p95(self.after)

    @property
    def p95_ratio(self) -> float:
        """How many times as long the later version takes."""
        before, after = self.p95_ms
        return after / before if before else 1.0

    def times(self) -> dict[str, Any]:
        """The times as figures."""
        before, after = self.p95_ms
        return {
            "p95_before_ms": round(before, 2),
            "p95_after_ms": round(after, 2),
            "p95_ratio": round(self.p95_ratio, 3),
        }


def run_interleaved(
    search: Search,
    questions: Sequence[GoldenQuestion],
    policy: RetrievalPolicy,
    *,
    index: str,
    before: str,
    after: str,
    advance: Callable[[], None] = lambda: None,
) -> Interleaved:
    """Ask every question of two versions of an index, each as its asker, on its day.

    ``search`` is ``search.retrieval.retrieve`` with its store and models bound; what it raises
    goes up. The first question is asked twice of each: that also opens connections and models.
    """
    sides = (before, after)
    results: dict[str, list[Any]] = {before: [], after: []}
    traces = dict.fromkeys(sides, SearchTrace())
    impaired = 0
    for number, question in enumerate(questions):
        turn = sides if number % 2 == 0 else sides[::-1]
        if number == 0:
            for version in turn:
                ask(search, question, policy, index=index, version=version)
        for version in turn:
            result, trace = ask(search, question, policy, index=index, version=version)
            results[version].append(result)
            if trace is not None:
                traces[version] = trace
                impaired += bool(trace.warnings)
        advance()
    earlier, later = (
        made_of(version, questions, policy, traces[version], results[version]) for version in sides
    )
    return Interleaved(before=earlier, after=later, impaired=impaired)


def _p95(run: GoldenRun) -> float:
    return percentile([result.ms for result in run.results], PERCENTILE) or 0.0
