"""Figures as tables for a terminal."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.table import Table

from evals.metrics import CUTS, MEASURES
from evals.paired import GATED, Comparison
from evals.retrieval import RETRIEVERS

ALL_MEASURES = (*MEASURES, *(f"answer@{k}" for k in CUTS))


def percent(value: float | None) -> str:
    """Write a share as percent with one digit, or a dash where nothing was measured."""
    return "–" if value is None else f"{100 * value:.1f}"


def figures_table(figures: Mapping[str, Any]) -> Table:
    """Draw one row a retriever."""
    grid = Table("", title="retrieval, percent")
    for name in ALL_MEASURES:
        grid.add_column(name, justify="right")
    for retriever in RETRIEVERS:
        row = figures[retriever]
        grid.add_row(retriever, *(percent(row.get(name)) for name in ALL_MEASURES))
    return grid


def segments_table(figures: Mapping[str, Any], measure: str = "recall@10") -> Table:
    """Draw one row a tag: a measure for each retriever."""
    grid = Table("tag", title=f"{measure} by tag, percent")
    grid.add_column("questions", justify="right")
    for retriever in RETRIEVERS:
        grid.add_column(retriever, justify="right")
    for name, row in figures["tags"].items():
        cells = [percent(row[retriever].get(measure)) for retriever in RETRIEVERS]
        grid.add_row(name, str(row["n"]), *cells)
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


def golden_table(figures: Mapping[str, Any]) -> Table:
    """Draw a golden set's figures: over all questions, and a row a tag."""
    grid = Table("", title="golden set, percent")
    grid.add_column("n", justify="right")
    for name in GOLDEN.values():
        grid.add_column(name, justify="right")
    for name, row in {"all questions": figures, **figures["tags"]}.items():
        cells = [percent(row.get(measure)) for measure in GOLDEN]
        grid.add_row(name, str(row["n"]), *cells, style="bold" if row is figures else "")
    return grid


def differences_table(comparison: Comparison, measures: tuple[str, ...] = GATED) -> Table:
    """Draw what changed: a row a segment and gated measure."""
    grid = Table("segment", "measure", title="before and after, percent")
    for name in ("n", "before", "after", "change", "interval"):
        grid.add_column(name, justify="right")
    for d in comparison.differences:
        if d.measure in measures:
            grid.add_row(
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
