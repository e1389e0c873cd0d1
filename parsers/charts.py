"""The data of charts as lines that each stand alone: a chart is a drawing, not a table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

Points = Mapping[int, str]  # labels or values by their place along the axis


def chart_text(title: str, labels: Points, series: Sequence[tuple[str, Points]]) -> str:
    """Return the title and a line for each value: "Revenue — Q1: 12"; empty without a value.

    ``series`` are (name, values). A title that is a series' name is not said again, and what the
    chart does not name is left out with its mark. Each line is a paragraph of its own, so that a
    long chart is cut between its values and never between a name and its value.
    """
    lines = list(_lines(labels, series))
    is_said = any(name == title for name, _ in series)
    return "\n\n".join([title, *lines] if title and lines and not is_said else lines)


def _lines(labels: Points, series: Sequence[tuple[str, Points]]) -> Iterator[str]:
    for name, values in series:
        for at in sorted(values):
            says = " — ".join(part for part in (name, labels.get(at, "")) if part)
            if values[at]:
                yield f"{says}: {values[at]}" if says else values[at]
