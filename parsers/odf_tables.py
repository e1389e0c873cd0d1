"""OpenDocument tables and sheets: repeats written out, spans and hidden parts read."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from parsers.elements import Table
from parsers.grids import table_from_rows
from parsers.packages import Node, attribute, child, children, local
from parsers.spans import Merge

MAX_REPEAT = 10_000  # rows or cells with words; empty ones may repeat a million times
_GROUPS = frozenset({"table-header-rows", "table-rows", "table-row-group", "table-header-columns"})
_COLUMN_GROUPS = frozenset({"table-columns", "table-column-group", "table-header-columns"})


@dataclass(frozen=True, slots=True)
class OdfCell:
    """A cell's words and look."""

    text: str
    bold: bool = False


@dataclass(frozen=True, slots=True)
class OdfGrid:
    """A table's cells with words by (row, column), its merges and what is hidden or header."""

    cells: dict[tuple[int, int], OdfCell]
    merges: list[Merge]
    hidden_rows: frozenset[int]
    hidden_cols: frozenset[int]
    header_rows: int


def read_grid(table: Node, read_cell: Callable[[Node], OdfCell]) -> OdfGrid:
    """Read a ``table:table``."""
    cells: dict[tuple[int, int], OdfCell] = {}
    merges: list[Merge] = []
    hidden: set[int] = set()
    at, header_rows = 0, 0
    for row, is_header in _rows(table, False):
        found: list[tuple[int, OdfCell]] = []
        spans: list[tuple[int, int, int]] = []
        col = 0
        for cell in children(row, "table-cell", "covered-table-cell"):
            repeat = _number(cell, "number-columns-repeated")
            if local(cell) == "table-cell":
                read = read_cell(cell)
                height = _number(cell, "number-rows-spanned")
                width = _number(cell, "number-columns-spanned")
                if read.text:
                    found.extend((col + n, read) for n in range(min(repeat, MAX_REPEAT)))
                if (height, width) != (1, 1):
                    spans.append((col, height, width))
            col += repeat
        repeat = _number(row, "number-rows-repeated")
        is_hidden = (attribute(row, "visibility") or "visible") != "visible"
        for line in range(at, at + min(repeat, MAX_REPEAT if found or is_hidden else 1)):
            cells.update({(line, column): cell for column, cell in found})
            merges.extend((line, column, height, width) for column, height, width in spans)
            if is_hidden:
                hidden.add(line)
        at += repeat
        if is_header:
            header_rows = at
    return OdfGrid(cells, merges, frozenset(hidden), frozenset(_hidden_cols(table)), header_rows)


def grid_table(grid: OdfGrid, *, caption: str | None = None) -> Table | None:
    """Build the table of a text's or slide's grid; None where it has no words."""
    kept = {at: cell for at, cell in grid.cells.items() if at[0] not in grid.hidden_rows}
    if not kept:
        return None
    n_rows, n_cols = max(r for r, _ in kept) + 1, max(c for _, c in kept) + 1
    rows = [
        [kept[r, c].text if (r, c) in kept else "" for c in range(n_cols)] for r in range(n_rows)
    ]
    bold = [
        r
        for r in range(n_rows)
        if any((r, c) in kept for c in range(n_cols))
        and all(kept[r, c].bold for c in range(n_cols) if (r, c) in kept)
    ]
    stated = grid.header_rows if 0 < grid.header_rows < n_rows else None
    if stated is not None:
        reach = max((r + h for r, _, h, _ in grid.merges if r < stated), default=0)
        stated = max(stated, min(reach, n_rows - 1))
    return table_from_rows(
        rows, merges=grid.merges, bold_rows=bold, header_rows=stated, caption=caption
    )


def _rows(node: Node, is_header: bool) -> Iterator[tuple[Node, bool]]:
    for item in children(node):
        name = local(item)
        if name == "table-row":
            yield item, is_header
        elif name in _GROUPS:
            yield from _rows(item, is_header or name == "table-header-rows")


def _hidden_cols(table: Node) -> Iterator[int]:
    at = 0
    for column in _columns(table):
        repeat = _number(column, "number-columns-repeated")
        if (attribute(column, "visibility") or "visible") != "visible":
            yield from range(at, at + min(repeat, 20_000))
        at += repeat


def _columns(node: Node) -> Iterator[Node]:
    for item in children(node):
        if local(item) == "table-column":
            yield item
        elif local(item) in _COLUMN_GROUPS:
            yield from _columns(item)


def _number(node: Node, name: str) -> int:
    value = attribute(node, name)
    return max(1, int(value)) if value and value.isdecimal() else 1


def stated_value(cell: Node) -> str:
    """Return a cell's typed value where it shows no text; empty where it has none."""
    for name in ("string-value", "date-value", "time-value", "boolean-value", "value"):
        value = attribute(cell, name)
        if value:
            return value
    return ""


def is_hidden_sheet(properties: tuple[Node, ...]) -> bool:
    """Whether a sheet's style says that it is not displayed."""
    stated = (
        attribute(node, "display") for node in properties if local(node) == "table-properties"
    )
    return next((value == "false" for value in stated if value is not None), False)


def first_table(node: Node) -> Node | None:
    """Return the first table of an embedded chart's content, or None."""
    body = child(node, "body")
    return next(
        (n for n in (body if body is not None else node).iter() if local(n) == "table"), None
    )
