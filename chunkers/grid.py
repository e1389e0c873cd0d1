"""A table's grid with its spans expanded, and what names what in it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from parsers.elements import Table

Position = tuple[int, int]
NO_CELL = -1


def cell_text(text: str) -> str:
    """Return a cell's text as chunks hold it: verbatim, but for one space for each line break."""
    return text.replace("\n", " ") if "\n" in text else text


@dataclass(frozen=True)
class Grid:
    """The expanded grid of a table.

    ``at[row][col]`` is the index into ``texts`` of the cell that covers the position, or
    ``NO_CELL``. Where cells overlap, the first one wins; what leaves the grid is cut off.
    """

    table: Table
    texts: tuple[str, ...]
    at: tuple[tuple[int, ...], ...]

    @classmethod
    def of(cls, table: Table) -> Grid:
        """Expand the spans of ``table``."""
        at = [[NO_CELL] * table.n_cols for _ in range(table.n_rows)]
        for index, cell in enumerate(table.cells):
            for row in range(cell.row, min(cell.row + max(1, cell.row_span), table.n_rows)):
                for col in range(cell.col, min(cell.col + max(1, cell.col_span), table.n_cols)):
                    if at[row][col] == NO_CELL:
                        at[row][col] = index
        texts = tuple(cell_text(cell.text) for cell in table.cells)
        return cls(table, texts, tuple(map(tuple, at)))

    def text(self, row: int, col: int) -> str:
        """Text of the cell that covers a position; empty where there is none."""
        index = self.at[row][col]
        return "" if index == NO_CELL else self.texts[index]

    def is_lone(self, row: int) -> bool:
        """Whether one cell covers the whole row of a grid of several columns."""
        return self.table.n_cols > 1 and len(set(self.at[row])) == 1 and bool(self.text(row, 0))

    @cached_property
    def covered(self) -> dict[int, tuple[Position, ...]]:
        """The positions of each cell, in reading order."""
        found: dict[int, list[Position]] = {}
        for row, line in enumerate(self.at):
            for col, index in enumerate(line):
                if index != NO_CELL:
                    found.setdefault(index, []).append((row, col))
        return {index: tuple(positions) for index, positions in found.items()}

    @cached_property
    def header_rows(self) -> range:
        """The rows that name the columns; none where a table has no other rows."""
        count = min(self.table.header_rows, self.table.n_rows)
        return range(0 if count == self.table.n_rows else count)

    @cached_property
    def banners(self) -> tuple[int, ...]:
        """Header rows that one cell covers: they name the table rather than a column."""
        return tuple(row for row in self.header_rows if self.is_lone(row))

    @cached_property
    def labels(self) -> tuple[int, ...]:
        """The columns that name the rows: the first one where the table states none."""
        if self.table.n_cols < 2:
            return ()
        return tuple(range(min(max(self.table.header_cols, 1), self.table.n_cols - 1)))

    @cached_property
    def values(self) -> tuple[int, ...]:
        """The other columns."""
        return tuple(range(len(self.labels), self.table.n_cols))

    @cached_property
    def body(self) -> tuple[int, ...]:
        """The rows below the header that hold any text."""
        return tuple(
            row
            for row in range(len(self.header_rows), self.table.n_rows)
            if any(self.text(row, col) for col in range(self.table.n_cols))
        )

    @cached_property
    def titled(self) -> frozenset[int]:
        """The rows that hold a title for the rows below them."""
        return frozenset(self.table.section_rows)

    @cached_property
    def sections(self) -> dict[int, tuple[int, ...]]:
        """For each body row the section rows in force: the last ones that stand together."""
        found: dict[int, tuple[int, ...]] = {}
        current: tuple[int, ...] = ()
        previous_is_title = False
        for row in self.body:
            is_title = row in self.titled
            if is_title:
                found[row] = current if previous_is_title else ()
                current = (*found[row], row)
            else:
                found[row] = current
            previous_is_title = is_title
        return found

    def names(self, col: int) -> tuple[int, ...]:
        """The distinct header cells above a column, top down, banners and empty ones apart."""
        found = (self.at[row][col] for row in self.header_rows if row not in self.banners)
        return tuple(dict.fromkeys(i for i in found if i != NO_CELL and self.texts[i]))


def expand(table: Table) -> tuple[tuple[str, ...], ...]:
    """Return the text at every position of ``table``, spans expanded: what ``rebuild`` returns."""
    grid = Grid.of(table)
    return tuple(
        tuple(grid.text(row, col) for col in range(table.n_cols)) for row in range(table.n_rows)
    )
