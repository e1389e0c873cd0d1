"""Figures as tables for a terminal."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.table import Table

from evals.metrics import CUTS, MEASURES
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
