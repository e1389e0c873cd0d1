"""Fusion of rankings: by score, or by rank alone."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Mapping, Sequence
from typing import Any, TypeVar

Name = TypeVar("Name", bound=Hashable)
Item = TypeVar("Item", bound=Hashable)


def fuse(
    rankings: Mapping[Name, Sequence[Item]],
    *,
    k: int = 60,
    weights: Mapping[Name, float] | None = None,
) -> list[tuple[Item, float]]:
    """Fuse rankings (best first) by the sum of weight / (k + rank), rank counted from 1.

    A ranking without a weight counts 1. Source: Cormack, Clarke and Buettcher, SIGIR 2009, with
    their k = 60. Equal scores are ordered by the best single rank and then by the item's text, so
    that the result is the same every time.
    """
    scores: dict[Item, float] = defaultdict(float)
    best: dict[Item, int] = {}
    for name, ranking in rankings.items():
        weight = 1.0 if weights is None else weights.get(name, 1.0)
        for rank, item in enumerate(ranking, start=1):
            scores[item] += weight / (k + rank)
            best[item] = min(rank, best.get(item, rank))
    return sorted(scores.items(), key=lambda pair: (-pair[1], best[pair[0]], str(pair[0])))


def lift(rows: Sequence[Mapping[str, Any]], scores: Sequence[float]) -> list[float]:
    """Scores of full text's rows, best first, so that they fall with the rank.

    Full text ranks chunks that hold more of the question's codes whole first, then those that hold
    its words as a phrase, and among equals by BM25. A step to fewer codes is worth the best BM25
    of all, a lost phrase half of it: what stands there exactly is not outvoted by similar texts.
    """
    best = max(scores, default=0.0)
    lifted: list[float] = []
    for place in reversed(range(len(rows))):
        score = scores[place]
        if lifted:
            row, below = rows[place], rows[place + 1]
            score = max(score, lifted[-1])
            if row["codes"] > below["codes"]:
                score = lifted[-1] + best
            elif row["codes"] == below["codes"] and row["phrase"] > below["phrase"]:
                score = lifted[-1] + best / 2
        lifted.append(score)
    return lifted[::-1]


def blend(
    rankings: Mapping[Name, Sequence[tuple[Item, float]]],
    *,
    weights: Mapping[Name, float] | None = None,
) -> list[tuple[Item, float]]:
    """Fuse rankings of (item, score), best first, by the weighted sum of scores scaled to 0..1.

    A ranking's best has 1 and its last 0 (all have 1 where all are equal), so cosine similarities
    and BM25 can be added; what a ranking does not have counts 0 there. A ranking without a weight
    counts 1. Source: convex combination of min-max scores, Bruch, Gai and Ingber, "An Analysis of
    Fusion Functions for Hybrid Retrieval", TOIS 2023. Equal sums are ordered as ``fuse`` does.
    """
    scores: dict[Item, float] = defaultdict(float)
    best: dict[Item, int] = {}
    for name, ranking in rankings.items():
        weight = 1.0 if weights is None else weights.get(name, 1.0)
        found = [score for _, score in ranking] or [0.0]
        low, high = min(found), max(found)
        for rank, (item, score) in enumerate(ranking, start=1):
            scores[item] += weight * ((score - low) / (high - low) if high > low else 1.0)
            best[item] = min(rank, best.get(item, rank))
    return sorted(scores.items(), key=lambda pair: (-pair[1], best[pair[0]], str(pair[0])))
