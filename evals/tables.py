"""Figures as tables for a terminal."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from evals.columns import EMPTY, Figures
from evals.metrics import CUTS, MEASURES
from evals.paired import GATED, Comparison
from evals.retrieval import RETRIEVERS

ALL_MEASURES = (*MEASURES, *(f"answer@{k}" for k in CUTS))


def percent(value: float | None) -> str:
    """Write a share as percent with one digit, or a dash where nothing was measured."""
    return EMPTY if value is None else f"{100 * value:.1f}"


def figures_table(figures: Mapping[str, Any]) -> Figures:
    """Draw one row a retriever."""
    grid = Figures("retrieval, percent", ["", *ALL_MEASURES])
    for retriever in RETRIEVERS:
        row = figures[retriever]
        grid.add(retriever, *(percent(row.get(name)) for name in ALL_MEASURES))
    return grid


def segments_table(figures: Mapping[str, Any], measure: str = "recall@10") -> Figures:
    """Draw one row a tag: a measure for each retriever."""
    grid = Figures(f"{measure} by tag, percent", ["tag", "questions", *RETRIEVERS])
    for name, row in figures["tags"].items():
        cells = [percent(row[retriever].get(measure)) for retriever in RETRIEVERS]
        grid.add(name, str(row["n"]), *cells)
    return grid


GOLDEN = {
    "recall@5": "r@5",
    "recall@10": "r@10",
    "mrr@10": "MRR@10",
    "ndcg@10": "nDCG@10",
    "hit@1": "first",
    "context_precision": "precision",
    "only_version": "version",
    "right_version": "v. first",
    "hidden": "hidden",
    "no_answer": "no answer",
}


def golden_table(figures: Mapping[str, Any]) -> Figures:
    """Draw a golden set's figures: over all questions, and a row a tag."""
    grid = Figures("golden set, percent", ["", "n", *GOLDEN.values()], keys=2)
    for name, row in {"all questions": figures, **figures["tags"]}.items():
        cells = [percent(row.get(measure)) for measure in GOLDEN]
        grid.add(name, str(row["n"]), *cells, style="bold" if row is figures else "")
    return grid


def differences_table(comparison: Comparison, measures: tuple[str, ...] = GATED) -> Figures:
    """Draw what changed: a row a segment and gated measure."""
    headings = ["segment", "measure", "n", "before", "after", "change", "interval"]
    grid = Figures("before and after, percent", headings, keys=2)
    for d in comparison.differences:
        if d.measure in measures:
            grid.add(
                d.segment,
                d.measure,
                str(d.n),
                percent(d.before),
                percent(d.after),
                f"{100 * d.change:+.1f}",
                f"{100 * d.low:+.1f} to {100 * d.high:+.1f}",
                style="red" if d.high < 0 else "",
            )
    return grid
