"""Tables that go on in the next one: cut at a page's end, or under a header that stays in sight."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from parsers.cell_types import CellKind, cell_kind, is_label
from parsers.elements import Element, Table


def join_continued(elements: Sequence[Element]) -> list[Element]:
    """Join a table without a header to the one right before it, whose columns it has."""
    kept: list[Element] = []
    for element in elements:
        last = kept[-1].table if kept else None
        if last is not None and element.table is not None and continues(last, element.table):
            page_end = element.page_end or kept[-1].page_end
            kept[-1] = replace(kept[-1], table=joined(last, element.table), page_end=page_end)
        else:
            kept.append(element)
    return kept


def continues(table: Table, below: Table) -> bool:
    """Whether ``below`` is the rest of ``table``: as many columns, the same kinds, no header."""
    if below.header_rows or below.caption or table.notes or table.n_cols != below.n_cols:
        return False
    kinds = _kinds(below, 0)
    if not table.header_rows:
        # A header alone, fixed above a body that scrolls.
        is_header = table.n_rows == 1 and all(is_label(c.text) for c in table.cells if c.text)
        return is_header and any(found - {CellKind.TEXT} for found in kinds.values())
    known = _kinds(table, table.header_rows)
    is_alike = all(found <= known.get(col, found) for col, found in kinds.items())
    return is_alike and any(found - {CellKind.TEXT} for found in kinds.values())


def joined(table: Table, below: Table) -> Table:
    """Return one table of the rows of both, under the header of the first."""
    is_header = not table.header_rows
    return replace(
        table,
        n_rows=table.n_rows + below.n_rows,
        cells=(*table.cells, *(replace(c, row=c.row + table.n_rows) for c in below.cells)),
        header_rows=1 if is_header else table.header_rows,
        header_cols=below.header_cols if is_header else table.header_cols,
        section_rows=(*table.section_rows, *(r + table.n_rows for r in below.section_rows)),
        notes=below.notes,
    )


def _kinds(table: Table, first: int) -> dict[int, set[CellKind]]:
    found: dict[int, set[CellKind]] = {}
    for cell in table.cells:
        if cell.row >= first and cell.text and cell.col_span == 1:
            found.setdefault(cell.col, set()).add(cell_kind(cell.text))
    return found
