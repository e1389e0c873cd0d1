"""Measures of rankings: hand-counted cases, a reference implementation, and what must always hold."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evals.metrics import (
    context_precision,
    first_ranks,
    mean,
    measure,
    ndcg,
    percentile,
    recall,
    reciprocal_rank,
)


def test_an_item_counts_once_at_the_first_result_that_holds_it() -> None:
    assert first_ranks([set(), {"a"}, {"a", "b"}, {"b"}]) == {"a": 2, "b": 3}


def test_recall_is_the_share_of_gold_items_within_the_cut() -> None:
    assert recall([2, 7], 3, 5) == pytest.approx(1 / 3)
    assert recall([2, 7], 3, 10) == pytest.approx(2 / 3)
    assert recall([], 2, 20) == 0


def test_the_reciprocal_rank_ends_at_the_cut() -> None:
    assert reciprocal_rank([4, 9], 10) == 0.25
    assert reciprocal_rank([11], 10) == 0
    assert reciprocal_rank([], 10) == 0


def test_discounted_gain_by_hand() -> None:
    """Two gold items at ranks 2 and 4 of an ideal 1 and 2."""
    gained = 1 / math.log2(3) + 1 / math.log2(5)
    assert ndcg([2, 4], 2, 10) == pytest.approx(gained / (1 + 1 / math.log2(3)))
    assert ndcg([1, 1], 2, 10) == 1  # one result with both does no better than the best


def test_context_precision_by_hand() -> None:
    assert context_precision([True, False, True], 5) == pytest.approx((1 + 2 / 3) / 2)
    assert context_precision([False, True], 1) == 0
    assert context_precision([], 5) == 0


def test_a_figure_is_averaged_over_the_questions_that_have_it() -> None:
    assert mean([{"a": 1.0, "b": 0.5}, {"a": 0.0}]) == {"a": 0.5, "b": 0.5}


def test_percentiles_of_nothing_are_none() -> None:
    assert percentile([], 95) is None
    assert percentile([1.0, 3.0], 50) == 2.0


rankings = st.lists(st.frozensets(st.integers(0, 4), max_size=2), max_size=30)


@given(rankings, st.integers(0, 3))
def test_figures_stay_within_bounds_and_recall_grows_with_the_cut(
    ranking: list[frozenset[int]], more: int
) -> None:
    ranks = first_ranks(ranking)
    figures = measure(ranks.values(), len(ranks) + more or 1)
    assert all(0 <= value <= 1 for value in figures.values())
    assert figures["recall@5"] <= figures["recall@10"] <= figures["recall@20"]


@given(rankings)
def test_names_and_the_order_of_what_a_result_holds_do_not_matter(
    ranking: list[frozenset[int]],
) -> None:
    renamed = [[f"p{9 - item}" for item in sorted(held)] for held in ranking]
    n_gold = max(1, len(first_ranks(ranking)))
    assert measure(first_ranks(renamed).values(), n_gold) == measure(
        first_ranks([sorted(held, reverse=True) for held in ranking]).values(), n_gold
    )


@given(rankings)
def test_a_gold_item_in_front_never_lowers_a_figure(
    ranking: list[frozenset[int]],
) -> None:
    n_gold = 5
    before = measure(first_ranks(ranking).values(), n_gold)
    after = measure(first_ranks([frozenset({0}), *ranking]).values(), n_gold)
    assert after["mrr@10"] == 1
    assert after["mrr@10"] >= before["mrr@10"]


@given(
    st.lists(st.integers(1, 40), unique=True, max_size=8),
    st.integers(0, 4),
)
def test_figures_are_those_of_trec_eval_where_a_result_holds_one_item(
    places: list[int], more: int
) -> None:
    """``pytrec_eval`` wraps NIST's trec_eval; sets of ours may have results that hold two items."""
    pytrec_eval = pytest.importorskip("pytrec_eval")
    n_gold = len(places) + more
    if not n_gold:
        return
    gold = {f"gold{n}": 1 for n in range(n_gold)}
    order = {place: f"gold{n}" for n, place in enumerate(places)}
    results = {order.get(rank, f"other{rank:02}"): 100.0 - rank for rank in range(1, 41)}
    wanted = {"recall_5,10,20", "ndcg_cut_10", "recip_rank"}
    found = pytrec_eval.RelevanceEvaluator({"q": gold}, wanted).evaluate({"q": results})["q"]
    ours = measure(places, n_gold)
    assert ours["recall@5"] == pytest.approx(found["recall_5"])
    assert ours["recall@10"] == pytest.approx(found["recall_10"])
    assert ours["recall@20"] == pytest.approx(found["recall_20"])
    assert ours["ndcg@10"] == pytest.approx(found["ndcg_cut_10"])
    if min(places, default=99) <= 10:
        assert ours["mrr@10"] == pytest.approx(found["recip_rank"])
