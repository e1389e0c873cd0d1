"""Tables within cells: a small one is words of its cell, a larger one a table of its own."""

from __future__ import annotations

from parsers.elements import Table
from parsers.text import CELL_SEPARATOR, one_line

LARGEST_INLINE = 24  # grid positions


def inline_lines(table: Table) -> list[str] | None:
    """Return a small nested table as lines for the cell around it, None for a larger one.

    What a small table says (two limits, three parts) belongs to the row it stands in: apart from
    the row label and the column's header it would mean nothing (I3).
    """
    if table.n_rows * table.n_cols > LARGEST_INLINE:
        return None
    rows: dict[int, list[str]] = {}
    for cell in sorted(table.cells, key=lambda c: (c.row, c.col)):
        if cell.text:
            rows.setdefault(cell.row, []).append(one_line(cell.text))
    lines = [CELL_SEPARATOR.join(texts) for _, texts in sorted(rows.items())]
    around = [[table.caption] if table.caption else [], [table.notes] if table.notes else []]
    return [*around[0], *lines, *around[1]]
