"""The data of charts as lines that each stand alone: a chart is a drawing, not a table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from parsers.number_formats import general
from parsers.packages import Node, child, children, local
from parsers.text import normalise

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


def chart_texts(root: Node) -> Iterator[str]:
    """Yield a text for each plot of an Office chart part (c:chartSpace), from what it keeps."""
    title = chart_title(root) or ""
    plots = [list(children(node, "ser")) for node in root.iter() if local(node).endswith("Chart")]
    for series in filter(None, plots):
        labels = next((found for each in series if (found := _cached(each, "cat", "xVal"))), {})
        data = [
            (" ".join(_cached(each, "tx").values()), _cached(each, "val", "yVal"))
            for each in series
        ]
        if text := chart_text(title, labels, data):
            yield text


def chart_title(root: Node) -> str | None:
    """Return the title that is written in an Office chart part."""
    node = child(root, "chart", "title")
    words = "" if node is None else "".join(n.text or "" for n in node.iter() if local(n) == "t")
    return " ".join(normalise(words).split()) or None


def diagram_texts(root: Node) -> Iterator[str]:
    """Yield the words of each shape of a SmartArt drawing's data part."""
    for point in (node for node in root.iter() if local(node) == "pt"):
        text = normalise(" ".join(n.text or "" for n in point.iter() if local(n) == "t"))
        if text:
            yield text


def _lines(labels: Points, series: Sequence[tuple[str, Points]]) -> Iterator[str]:
    for name, values in series:
        for at in sorted(values):
            says = " — ".join(part for part in (name, labels.get(at, "")) if part)
            if values[at]:
                yield f"{says}: {values[at]}" if says else values[at]


def _cached(series: Node, *names: str) -> dict[int, str]:
    """Return the labels or values that a chart keeps of its workbook, by their place."""
    holder = next(children(series, *names), None)
    found: dict[int, str] = {}
    for point in holder.iter() if holder is not None else ():
        text = child(point, "v")
        if local(point) == "pt" and text is not None:
            at = int(point.get("idx") or 0)
            # Of labels in several levels the outer ones come last, each at its first place.
            found[at] = f"{_shown(text.text)} / {found[at]}" if at in found else _shown(text.text)
        elif local(point) == "tx" and text is not None:
            found[0] = text.text or ""
    return found


def _shown(text: str | None) -> str:
    try:
        return general(float(text or ""))
    except ValueError:
        return normalise(text or "")
