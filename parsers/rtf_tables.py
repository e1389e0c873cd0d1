"""RTF tables: rows of cells with right edges, from which columns and spans follow."""

from __future__ import annotations

from dataclasses import dataclass, field

from parsers.elements import Table
from parsers.grids import table_from_rows
from parsers.nested import inline_lines
from parsers.spans import Merge

_NEAR = 45  # twips: edges closer than this are one edge


@dataclass(slots=True)
class RtfCell:
    """A cell's paragraphs, and the tables nested in it."""

    lines: list[str] = field(default_factory=list)
    bold: list[bool] = field(default_factory=list)
    nested: list[RtfTable] = field(default_factory=list)

    def take_nested(self, table: RtfTable) -> None:
        """Take a table that ends in this cell: a small one as lines, another as it is."""
        built = table.build()
        lines = inline_lines(built) if built is not None and not table.inner() else None
        if lines is None:
            self.nested.append(table)
        else:
            self.lines.extend(lines)


@dataclass(frozen=True, slots=True)
class Definition:
    """What ``\\cellx`` and the words before it say of one cell of a row."""

    right: int  # twips
    starts_down: bool = False  # clvmgf
    goes_on_down: bool = False  # clvmrg
    goes_on_right: bool = False  # clmrg


@dataclass(slots=True)
class RtfRow:
    """A finished row."""

    cells: list[RtfCell]
    definitions: list[Definition]
    is_header: bool
    left: int = 0


@dataclass(slots=True)
class RtfTable:
    """A table being read: its rows, and the cells of the row that is open."""

    rows: list[RtfRow] = field(default_factory=list)
    open: list[RtfCell] = field(default_factory=list)
    cell: RtfCell = field(default_factory=RtfCell)

    def end_cell(self) -> None:
        """Close the cell that is being read."""
        self.open.append(self.cell)
        self.cell = RtfCell()

    def end_row(self, definitions: list[Definition], is_header: bool, left: int) -> None:
        """Close the row that is being read."""
        if self.open:
            self.rows.append(RtfRow(self.open, definitions, is_header, left))
        self.open, self.cell = [], RtfCell()

    def inner(self) -> list[RtfTable]:
        """Return the tables nested in the cells, in order."""
        return [table for row in self.rows for cell in row.cells for table in cell.nested]

    def build(self) -> Table | None:
        """Build the grid; None where no cell has words."""
        edges = _edges(self.rows)
        texts: list[dict[int, str]] = []
        merges: list[list[int]] = []
        down: dict[int, list[int]] = {}
        bold_rows: list[int] = []
        stated = 0
        for at, row in enumerate(self.rows):
            if row.is_header and stated == at:
                stated += 1
            found: dict[int, str] = {}
            bolds: list[bool] = []
            for cell, start, width, definition in _placed(row, edges):
                text = "\n".join(cell.lines)
                if definition.goes_on_right and merges and merges[-1][0] == at and not text:
                    merges[-1][3] += width
                    continue
                if definition.goes_on_down and start in down and not text:
                    down[start][2] += 1
                    continue
                merges.append([at, start, 1, width])
                down.pop(start, None)
                if definition.starts_down:
                    down[start] = merges[-1]
                found[start] = text
                if text:
                    bolds.append(bool(cell.bold) and all(cell.bold))
            if bolds and all(bolds):
                bold_rows.append(at)
            texts.append(found)
        n_cols = max((m[1] + m[3] for m in merges), default=0)
        spans: list[Merge] = [(r, c, h, w) for r, c, h, w in merges if (h, w) != (1, 1)]
        return table_from_rows(
            [[found.get(c, "") for c in range(n_cols)] for found in texts],
            merges=spans,
            bold_rows=bold_rows,
            header_rows=stated if 0 < stated < len(texts) else None,
        )


def _edges(rows: list[RtfRow]) -> list[int]:
    """Return the right edges of all columns, edges that nearly coincide taken as one."""
    edges: list[int] = []
    for right in sorted(d.right for row in rows for d in row.definitions):
        if not edges or right - edges[-1] > _NEAR:
            edges.append(right)
    return edges


def _placed(row: RtfRow, edges: list[int]) -> list[tuple[RtfCell, int, int, Definition]]:
    """Return (cell, column, columns spanned, definition); one column each without definitions."""
    if len(row.definitions) < len(row.cells):
        return [(cell, at, 1, Definition(0)) for at, cell in enumerate(row.cells)]
    placed = []
    start = sum(edge <= row.left + _NEAR for edge in edges)
    for cell, definition in zip(row.cells, row.definitions, strict=False):
        end = sum(edge <= definition.right + _NEAR for edge in edges)
        end = max(end, start + 1)
        placed.append((cell, start, end - start, definition))
        start = end
    return placed
