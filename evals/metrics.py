"""Measures of a ranking: recall, reciprocal rank, discounted gain, context precision.

What is looked for is a set of gold items, passages or quotes; a result may hold none, one or
several of them, and several results may hold the same one. An item counts once, at the first rank
that holds it, so that pieces of one passage are not rewarded again and again. Where each result
holds one item at the most and no two the same, the figures are those of trec_eval.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from statistics import fmean

import numpy as np

CUTS = (5, 10, 20)
MEASURES = (*(f"recall@{k}" for k in CUTS), "mrr@10", "ndcg@10")


def first_ranks(ranking: Iterable[Iterable[Hashable]]) -> dict[Hashable, int]:
    """Return the first rank, from 1, of every gold item; ``ranking`` is what each result holds."""
    ranks: dict[Hashable, int] = {}
    for rank, held in enumerate(ranking, start=1):
        for item in held:
            ranks.setdefault(item, rank)
    return ranks


def recall(ranks: Iterable[int], n_gold: int, k: int) -> float:
    """Share of the gold items, of which there is at least one, within the first ``k`` ranks."""
    return sum(rank <= k for rank in ranks) / n_gold


def reciprocal_rank(ranks: Iterable[int], k: int) -> float:
    """One over the first gold item's rank, or 0 when it is below ``k``."""
    best = min(ranks, default=k + 1)
    return 1 / best if best <= k else 0.0


def ndcg(ranks: Iterable[int], n_gold: int, k: int) -> float:
    """Discounted gain over that of a ranking with one gold item after the other.

    Source: Järvelin and Kekäläinen, TOIS 2002, with gains of 0 and 1. At most 1, also where one
    result holds two items and so does better than that ranking.
    """
    gained = sum(1 / math.log2(rank + 1) for rank in ranks if rank <= k)
    ideal = sum(1 / math.log2(rank + 1) for rank in range(1, min(n_gold, k) + 1))
    return min(1.0, gained / ideal)


def context_precision(relevant: Sequence[bool], k: int) -> float:
    """Mean, over the results within ``k`` that help, of the share that helps down to each.

    1 when all that helps stands in front of all that does not; 0 when nothing helps. What an
    answering model reads first weighs most. Source: the measure of this name in Ragas.
    """
    shares = []
    found = 0
    for rank, helps in enumerate(relevant[:k], start=1):
        found += helps
        if helps:
            shares.append(found / rank)
    return fmean(shares) if shares else 0.0


def measure(ranks: Iterable[int], n_gold: int) -> dict[str, float]:
    """Return one question's figures by name (``MEASURES``), each from 0 to 1."""
    known = list(ranks)
    return {
        **{f"recall@{k}": recall(known, n_gold, k) for k in CUTS},
        "mrr@10": reciprocal_rank(known, 10),
        "ndcg@10": ndcg(known, n_gold, 10),
    }


def mean(rows: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """Average questions' figures; a name counts over the questions that have it."""
    names = dict.fromkeys(name for row in rows for name in row)
    return {name: fmean(row[name] for row in rows if name in row) for name in names}


def percentile(values: Sequence[float], share: int) -> float | None:
    """Return a percentile (linear interpolation), or None of nothing."""
    return float(np.percentile(values, share)) if len(values) else None
