"""Reciprocal rank fusion."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Mapping, Sequence
from typing import TypeVar

Item = TypeVar("Item", bound=Hashable)


def fuse(rankings: Mapping[str, Sequence[Item]], *, k: int = 60) -> list[tuple[Item, float]]:
    """Fuse rankings (best first) by the sum of 1 / (k + rank), rank counted from 1.

    Source: Cormack, Clarke and Buettcher, SIGIR 2009, with their k = 60. Equal scores are ordered
    by the best single rank and then by the item's text, so that the result is the same every time.
    """
    scores: dict[Item, float] = defaultdict(float)
    best: dict[Item, int] = {}
    for ranking in rankings.values():
        for rank, item in enumerate(ranking, start=1):
            scores[item] += 1 / (k + rank)
            best[item] = min(rank, best.get(item, rank))
    return sorted(scores.items(), key=lambda pair: (-pair[1], best[pair[0]], str(pair[0])))
