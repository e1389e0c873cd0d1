"""What is drawn on the sheets of a workbook: text boxes, and charts."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator

from parsers.charts import chart_texts, chart_title
from parsers.elements import Unreadable
from parsers.packages import Node, Package, attribute, children, local
from parsers.text import normalise

_SHEET_OF_REFERENCE = re.compile(r"'?((?:[^'!]|'')+)'?!")


def drawn_texts(package: Package, sheets: Collection[str]) -> dict[str, list[str]]:
    """Return the texts drawn on each of these sheets, from top to bottom.

    A chart of what stands on one of ``sheets`` gives its title alone; one of other data all of it.
    """
    found: dict[str, list[str]] = {}
    for name, part in _sheet_parts(package):
        if name not in sheets:
            continue
        for kind, target in package.relations(part).values():
            if kind == "drawing" and target in package:
                found.setdefault(name, []).extend(_texts(package, target, sheets))
    return found


def _sheet_parts(package: Package) -> Iterator[tuple[str, str]]:
    main = next(
        (target for kind, target in package.relations("").values() if kind == "officeDocument"),
        "xl/workbook.xml",
    )
    if main not in package:
        return
    relations = package.relations(main)
    for node in package.xml(main).iter():
        if local(node) == "sheet":
            _, part = relations.get(attribute(node, "id") or "", ("", ""))
            if part in package:
                yield node.get("name") or "", part


def _texts(package: Package, drawing: str, sheets: Collection[str]) -> Iterator[str]:
    relations = package.relations(drawing)
    try:
        root = package.xml(drawing)
        anchors = sorted(children(root), key=_top)
        for node in (node for anchor in anchors for node in anchor.iter()):
            if local(node) == "txBody":
                paragraphs = ("".join(_words(p)) for p in children(node, "p"))
                if text := normalise("\n".join(paragraphs)):
                    yield text
            elif local(node) == "chart":
                kind, part = relations.get(attribute(node, "id") or "", ("", ""))
                if kind == "chart" and part in package:
                    yield from _chart(package.xml(part), sheets)
    except Unreadable:
        return  # a drawing that is broken takes no sheet with it


def _top(anchor: Node) -> int:
    rows = (n.text or "" for n in anchor.iter() if local(n) == "row")
    first = next(rows, "")
    return int(first) if first.isdecimal() else 0


def _words(paragraph: Node) -> Iterator[str]:
    for node in paragraph.iter():
        if local(node) == "t":
            yield node.text or ""
        elif local(node) == "br":
            yield "\n"


def _chart(root: Node, sheets: Collection[str]) -> Iterator[str]:
    sources = {
        match.group(1).replace("''", "'")
        for node in root.iter()
        if local(node) == "f" and (match := _SHEET_OF_REFERENCE.match(node.text or ""))
    }
    if not sources or sources - set(sheets):
        yield from chart_texts(root)
    elif title := chart_title(root):
        yield title
