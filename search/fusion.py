"""Fusion of rankings: by score, or by rank alone."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Mapping, Sequence
from typing import TypeVar

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
        low, high = (ranking[-1][1], ranking[0][1]) if ranking else (0.0, 0.0)
        for rank, (item, score) in enumerate(ranking, start=1):
            scores[item] += weight * ((score - low) / (high - low) if high > low else 1.0)
            best[item] = min(rank, best.get(item, rank))
    return sorted(scores.items(), key=lambda pair: (-pair[1], best[pair[0]], str(pair[0])))
