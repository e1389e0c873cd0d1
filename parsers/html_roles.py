"""Tables and headings that a page makes of other tags, by role or by style."""

from __future__ import annotations

import re

from lxml.html import HtmlElement

_TABLES = frozenset({"table", "grid", "treegrid"})
_CELLS = {"cell": "td", "gridcell": "td", "columnheader": "th", "rowheader": "th"}
_DISPLAY = re.compile(r"\bdisplay\s*:\s*(table(?:-row-group|-header-group|-row|-cell)?)\b", re.I)
_DISPLAYED = {
    "table": "table",
    "table-row-group": "rowgroup",
    "table-header-group": "rowgroup",
    "table-row": "row",
    "table-cell": "cell",
}
_OWN = frozenset({"table", "thead", "tbody", "tfoot", "tr", "td", "th"})
_LEVEL_OF_NONE = "2"  # as browsers take a heading role without a level


def give_tags(root: HtmlElement) -> None:
    """Rename what acts as a table or a heading to the tags for it, in place."""
    for node in list(root.iter()):
        if not isinstance(node.tag, str) or node.tag in _OWN:
            continue
        part = _part(node)
        if part in _TABLES:
            _as_table(node)
        elif part == "heading":
            level = node.get("aria-level") or _LEVEL_OF_NONE
            node.tag = f"h{min(6, int(level))}" if level in set("123456789") else "h2"


def _part(node: HtmlElement) -> str:
    role: str = (node.get("role") or "").strip().lower()
    if role:
        return role
    match = _DISPLAY.search(node.get("style") or "")
    return _DISPLAYED[match.group(1).lower()] if match else ""


def _as_table(table: HtmlElement) -> None:
    """Rename a table's parts, where all its words stand in cells of rows of it."""
    groups = [child for child in table if _part(child) == "rowgroup"]
    rows = [child for holder in (table, *groups) for child in holder if _part(child) == "row"]
    cells = [child for row in rows for child in row if _part(child) in _CELLS]
    words = sum(len("".join(text.split())) for text in table.itertext())
    held = sum(len("".join(text.split())) for cell in cells for text in cell.itertext())
    if not cells or held < words:
        return
    table.tag = "table"
    for group in groups:
        group.tag = "tbody"
    for row in rows:
        row.tag = "tr"
    for cell in cells:
        cell.tag = _CELLS[_part(cell)]
