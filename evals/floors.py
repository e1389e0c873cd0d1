"""Least figures of search, kept in ``evals/retrieval.toml``."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evals.paired import EVERYTHING

FLOORS = Path(__file__).with_name("retrieval.toml")


@dataclass(frozen=True, slots=True, kw_only=True)
class Floor:
    """A figure that a set must reach with a model.

    ``measure`` is one of a golden set's, or ``RETRIEVER MEASURE`` of a benchmark's.
    """

    set: str
    model: str
    segment: str
    measure: str
    least: float


def read_floors(path: Path = FLOORS) -> tuple[Floor, ...]:
    """Read the floors."""
    return tuple(Floor(**row) for row in tomllib.loads(path.read_text("utf-8"))["floor"])


def below_floors(
    figures: Mapping[tuple[str, str], Mapping[str, Any]], floors: Sequence[Floor]
) -> list[str]:
    """Return a line for each figure below its floor; ``figures`` are reports by (set, model).

    A set that was not measured has no line; a figure that is missing from one that was, has.
    """
    lines = []
    for floor in floors:
        report = figures.get((floor.set, floor.model))
        if report is None:
            continue
        part = report if floor.segment == EVERYTHING else report["tags"].get(floor.segment, {})
        retriever, _, measure = floor.measure.rpartition(" ")
        value = (part.get(retriever, {}) if retriever else part).get(measure)
        if value is None or value < floor.least:
            lines.append(
                f"{floor.set} with {floor.model}, {floor.segment}: {floor.measure} "
                f"{'is missing' if value is None else f'{value:.3f} is below {floor.least:.3f}'}"
            )
    return lines
