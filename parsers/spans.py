"""A grid of cell texts with its spans: the shape that header rules and builders work on."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

Merge = tuple[int, int, int, int]  # row, column, row span, column span


@dataclass(frozen=True, slots=True)
class SpanGrid:
    """Rows of equal length.

    ``own`` holds each text once, at the top left of its span; ``full`` repeats it at every
    position that the span covers. ``spans`` maps origins to (rows, columns) where not (1, 1), and
    ``covers`` maps covered positions, origins apart, to their origin. Spans never overlap.
    """

    own: list[list[str]]
    full: list[list[str]]
    spans: dict[tuple[int, int], tuple[int, int]]
    covers: dict[tuple[int, int], tuple[int, int]]

    @classmethod
    def build(cls, rows: Sequence[Sequence[str]], merges: Iterable[Merge] = ()) -> SpanGrid:
        """Pad ``rows`` to one length and lay ``merges`` over them.

        A merge that leaves the grid is cut to it; one that overlaps an earlier one is dropped.
        Text under a span, away from its top left, is dropped.
        """
        n_cols = max(map(len, rows), default=0)
        own = [[*row, *[""] * (n_cols - len(row))] for row in rows]
        full = [list(row) for row in own]
        spans: dict[tuple[int, int], tuple[int, int]] = {}
        covers: dict[tuple[int, int], tuple[int, int]] = {}
        for top, left, row_span, col_span in merges:
            height, width = min(row_span, len(own) - top), min(col_span, n_cols - left)
            area = [(r, c) for r in range(top, top + height) for c in range(left, left + width)]
            if len(area) < 2 or any(at in covers or at in spans for at in area):
                continue
            spans[top, left] = (height, width)
            for row, col in area[1:]:
                covers[row, col] = (top, left)
                own[row][col] = ""
                full[row][col] = own[top][left]
        return cls(own, full, spans, covers)

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.own)

    @property
    def n_cols(self) -> int:
        """Number of columns."""
        return len(self.own[0]) if self.own else 0

    def span(self, row: int, col: int) -> tuple[int, int]:
        """Rows and columns that the cell at this origin takes."""
        return self.spans.get((row, col), (1, 1))

    def is_origin(self, row: int, col: int) -> bool:
        """Whether no span from elsewhere covers the position."""
        return (row, col) not in self.covers

    def filled(self, row: int) -> list[int]:
        """Columns at which a cell with words begins in ``row``."""
        return [col for col, text in enumerate(self.own[row]) if text]

    def has_words(self, row: int) -> bool:
        """Whether a cell with words begins in ``row``, or one from above reaches into it."""
        return any(self.full[row])

    def is_free(self, row: int) -> bool:
        """Whether no cell from above reaches into ``row``."""
        return all(self.covers.get((row, c), (row, c))[0] == row for c in range(self.n_cols))

    def is_lone(self, row: int) -> bool:
        """Whether the row holds one cell with words, of one row, and nothing reaches into it."""
        filled = self.filled(row)
        return len(filled) == 1 and self.span(row, filled[0])[0] == 1 and self.is_free(row)

    def cells(self) -> Iterator[tuple[int, int, str, int, int]]:
        """Yield (row, column, text, row span, column span) of every cell with words or a span."""
        for row in range(self.n_rows):
            for col in range(self.n_cols):
                height, width = self.span(row, col)
                if self.own[row][col] or (height, width) != (1, 1):
                    yield row, col, self.own[row][col], height, width

    def keep(self, rows: Sequence[int], cols: Sequence[int]) -> SpanGrid:
        """Return the grid of these rows and columns alone, in order; spans shrink with them.

        A span whose top left goes keeps its text at the first position that stays.
        """
        row_at = {old: new for new, old in enumerate(rows)}
        col_at = {old: new for new, old in enumerate(cols)}
        own = [["" if self.covers.get((r, c)) else self.own[r][c] for c in cols] for r in rows]
        merges: list[Merge] = []
        for (top, left), (height, width) in self.spans.items():
            kept_rows = [row_at[r] for r in range(top, top + height) if r in row_at]
            kept_cols = [col_at[c] for c in range(left, left + width) if c in col_at]
            if kept_rows and kept_cols:
                own[kept_rows[0]][kept_cols[0]] = self.own[top][left]
                merges.append((kept_rows[0], kept_cols[0], len(kept_rows), len(kept_cols)))
        return SpanGrid.build(own, merges)

    def merged(self, merges: Sequence[Merge]) -> SpanGrid:
        """Return the grid with further spans laid over it."""
        if not merges:
            return self
        present = [(r, c, height, width) for (r, c), (height, width) in self.spans.items()]
        return SpanGrid.build(self.own, [*present, *merges])
