"""Tables of figures that are never cut: on a narrow terminal, columns go below one another."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions
from rich.table import Table

EMPTY = "–"
FRAME = 3  # a column's border and the spaces beside its text


@dataclass(slots=True)
class Figures:
    """Rows of figures under headings; print it as any table.

    The first ``keys`` headings name a row, and are repeated in each part. Headings are folded
    where that is enough. A part leaves out the rows that have no figure in it.
    """

    title: str
    headings: Sequence[str]
    keys: int = 1
    rows: list[tuple[Sequence[str], str]] = field(default_factory=list)  # with a style

    def add(self, *cells: str, style: str = "") -> None:
        """Add a row."""
        self.rows.append((cells, style))

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Table]:
        every = range(self.keys, len(self.headings))
        if self._width([*range(self.keys), *every], folded=False) <= options.max_width:
            yield self._table(every, self.headings, self.title)
            return
        folded = ["\n".join(heading.split()) for heading in self.headings]
        title = self.title
        for part in self._parts(every, options.max_width):
            yield self._table(part, folded, title)
            title = ""

    def _parts(self, columns: Iterable[int], room: int) -> Iterator[list[int]]:
        part: list[int] = []
        for column in columns:
            if part and self._width([*range(self.keys), *part, column], folded=True) > room:
                yield part
                part = []
            part.append(column)
        yield part

    def _width(self, columns: Iterable[int], *, folded: bool) -> int:
        return 1 + sum(self._column(column, folded=folded) + FRAME for column in columns)

    def _column(self, column: int, *, folded: bool) -> int:
        heading = self.headings[column]
        texts = [
            *(heading.split() if folded else [heading]),
            *(row[column] for row, _ in self.rows),
        ]
        return max(map(cell_len, texts), default=0)

    def _table(self, columns: Sequence[int], headings: Sequence[str], title: str) -> Table:
        table = Table(title=title or None)
        for key in range(self.keys):
            table.add_column(headings[key], overflow="fold")
        for column in columns:
            table.add_column(headings[column], justify="right", no_wrap=True)
        for cells, style in self.rows:
            shown = [cells[column] for column in columns]
            if any(cell != EMPTY for cell in shown):
                table.add_row(*cells[: self.keys], *shown, style=style)
        return table
