"""Which rows and cells of a table stand together in one chunk, and what is repeated there."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial

from chunkers.abbreviation import abbreviate
from chunkers.chunk import Tokenizer
from chunkers.grid import NO_CELL, Grid
from chunkers.packing import Unit, content_key, pack
from chunkers.splitting import SEAM, break_down
from chunkers.table_text import LINES, Bit, Draft, Style, Writer


class TooTight(Exception):
    """What must be repeated leaves no room for a cell: the next, narrower layout is tried."""


@dataclass(frozen=True, slots=True)
class Rules:
    """How a table is laid out; the later ones in ``LAYOUTS`` are for tiny budgets.

    What names a cell (a column's header, the banners, the section titles, the label of a row that
    is cut, the headers of the label columns) may each take one ``share`` of the budget before it
    is abbreviated.
    """

    style: Style
    share: int
    with_titles: bool = True
    all_labels: bool = True
    with_names: bool = True


LAYOUTS = (
    Rules(LINES, 8),
    Rules(LINES, 8, with_titles=False),
    Rules(LINES, 16, with_titles=False),
    Rules(LINES, 1_000_000, with_titles=False),
    Rules(LINES, 1_000_000, with_titles=False, all_labels=False),
    Rules(LINES, 1_000_000, with_titles=False, all_labels=False, with_names=False),
)


def whole_draft(grid: Grid, style: Style = LINES) -> Draft:
    """Write a whole table, whatever its size."""
    writer = Writer(grid, style, grid.labels)
    lines = [*writer.banner_lines(), *writer.header_lines((*grid.labels, *grid.values))]
    lines += [writer.row_line(row, grid.values) for row in grid.body]
    return Draft(tuple(line for line in lines if line), frozenset(writer.warnings))


@dataclass(slots=True)
class Layout:
    """Lays out one grid under one budget."""

    grid: Grid
    rules: Rules
    room: int  # tokens for a part's lines, titles and notes apart
    count: Callable[[str], int]
    tokenizer: Tokenizer
    fits: Callable[[Draft], bool]
    labels: tuple[int, ...] = ()
    values: tuple[int, ...] = ()
    short: dict[int, str] = field(default_factory=dict)
    brief: dict[int, str] = field(default_factory=dict)
    said: set[int] = field(default_factory=set)  # cells that a part holds in full

    @classmethod
    def of(
        cls,
        grid: Grid,
        rules: Rules,
        *,
        budget: int,
        room: int,
        tokenizer: Tokenizer,
        fits: Callable[[Draft], bool],
    ) -> Layout:
        """Prepare a layout; ``fits`` says whether a part with its titles is within the budget."""
        seen: dict[str, int] = {}

        def count(text: str) -> int:
            if text not in seen:
                seen[text] = tokenizer.count(text)
            return seen[text]

        labels = grid.labels
        if not rules.with_names:
            labels = ()
        elif not rules.all_labels:
            labels = labels[-1:]
        values = tuple(col for col in range(grid.table.n_cols) if col not in labels)
        layout = cls(grid, rules, room, count, tokenizer, fits, labels, values)
        layout._abbreviate_names(max(1, budget // rules.share))
        return layout

    # --- what is repeated ------------------------------------------------------------------------

    def _abbreviate_names(self, cap: int) -> None:
        grid = self.grid
        for cells, within in (
            *((grid.names(col), cap) for col in self.values),
            (tuple(c for col in self.labels for c in grid.names(col)), cap),
            (tuple(grid.at[row][0] for row in grid.banners), cap),
        ):
            self.short |= self._shortened(dict.fromkeys(cells), within)
        for rows in set(grid.sections.values()):
            cells = tuple(c for row in rows for c in grid.at[row] if c != NO_CELL)
            self.brief |= self._shortened(dict.fromkeys(cells), cap)
        for row in grid.body:
            cells = tuple(grid.at[row][col] for col in self.labels)
            self.brief |= self._shortened(dict.fromkeys(c for c in cells if c != NO_CELL), cap)

    def _shortened(self, cells: Sequence[int] | dict[int, None], cap: int) -> dict[int, str]:
        """Abbreviate what is more than its equal share of ``cap``, if together they exceed it."""
        sizes = {cell: self.count(self.grid.texts[cell]) for cell in cells}
        if sum(sizes.values()) <= cap:
            return {}
        share = cap // len(sizes)
        return {
            cell: abbreviate(self.grid.texts[cell], share, self.count)
            for cell, size in sizes.items()
            if size > max(1, share)
        }

    # --- drafts ----------------------------------------------------------------------------------

    def draft(
        self,
        rows: Sequence[int],
        cols: Sequence[int],
        *,
        again: bool = False,
        piece: tuple[int, str] | None = None,
    ) -> Draft:
        """Write ``rows`` with the value columns ``cols`` and all that names them."""
        writer = self._writer()
        lines = [*writer.banner_lines()]
        if piece is not None and self.grid.is_lone(rows[0]):
            lines += self._names_over_lone_row(writer)
        else:
            lines += writer.header_lines((*self.labels, *cols))
        if rows:
            lines += writer.section_lines(rows[0])
        for row in rows:
            lines.append(writer.row_line(row, cols, again=again, piece=piece))
        if not self.rules.with_names:
            writer.warnings |= {"header_abbreviated", "label_abbreviated"}
        elif not self.rules.all_labels and len(self.grid.labels) > 1:
            writer.warnings.add("label_abbreviated")
        return Draft(tuple(line for line in lines if line), frozenset(writer.warnings))

    def _names_over_lone_row(self, writer: Writer) -> list[tuple[Bit, ...]]:
        """Write all names over a piece of a row that is one cell: abbreviated if they are long."""
        lines = list(writer.header_lines((*self.labels, *self.values)))
        whole = Draft(tuple(lines)).text
        if self.count(whole) <= self.room // 3:
            return lines
        cells = dict.fromkeys(
            c for col in (*self.labels, *self.values) for c in self.grid.names(col)
        )
        words = " | ".join(self.grid.texts[cell] for cell in cells)
        writer.warnings.add("header_abbreviated")
        cap = max(1, self.room // max(8, self.rules.share))
        return [(Bit(abbreviate(words, cap, self.count), repeats=True),)]

    def drafts(self) -> Iterator[Draft]:
        """Yield the parts of the table in order.

        First the whole of every header that had to be abbreviated; then, for each group of
        columns, the rows. Raises ``TooTight`` when a part cannot be brought within the budget.
        """
        for draft in self._drafts():
            self.said.update(
                bit.cell for line in draft.lines for bit in line if bit.cell != NO_CELL
            )
            yield draft

    def _drafts(self) -> Iterator[Draft]:
        yield from self._abbreviated_headers()
        for number, cols in enumerate(self._groups()):
            yield from self._rows(self.grid.body, cols, is_first=number == 0)
        yield from self._unsaid_headers()

    def _abbreviated_headers(self) -> Iterator[Draft]:
        cells = self._header_cells()
        dropped = set() if self.rules.with_names and self.grid.body else set(cells)
        for cell in cells:
            if cell in self.short or cell in dropped:
                make = partial(self._header_draft, cell)
                yield from map(make, self._pieces(self.grid.texts[cell], make))

    def _unsaid_headers(self) -> Iterator[Draft]:
        """Yield the names of columns that no part needed, because they hold nothing."""
        left = [cell for cell in self._header_cells() if cell not in self.said]
        bits = [[Bit(self.grid.texts[cell], cell, self.grid.covered[cell])] for cell in left]
        together = Draft((self.rules.style.line(bits),))
        if left and self.fits(together):
            yield together
            return
        for cell in left:
            make = partial(self._header_draft, cell)
            yield from map(make, self._pieces(self.grid.texts[cell], make))

    def _header_cells(self) -> list[int]:
        grid = self.grid
        cells = dict.fromkeys(cell for row in grid.header_rows for cell in grid.at[row])
        return [cell for cell in cells if cell != NO_CELL and grid.texts[cell]]

    def _header_draft(self, cell: int, part: str) -> Draft:
        bit = Bit(part, cell, self.grid.covered[cell], piece=True)
        warnings = {"cell_split"} if part != self.grid.texts[cell] else set()
        return Draft((self.rules.style.line([[bit]]),), frozenset(warnings))

    def _groups(self) -> Iterator[tuple[int, ...]]:
        """Cut the value columns into groups, where header and a usual row are too wide."""
        if self.rules.style.naming:  # rows that repeat the names gain nothing from groups
            yield self.values
            return
        usual = self._usual_row()
        fixed = self.count(self.draft((), ()).text) + sum(usual[col] for col in self.labels)
        widths = {
            col: self._name_tokens(col) + min(usual[col], self.room // 4) for col in self.values
        }
        names = sum(self._name_tokens(col) for col in self.values)
        if fixed + names <= self.room // 2 or fixed + sum(widths.values()) <= self.room * 3 // 4:
            yield self.values
            return
        group: list[int] = []
        width = fixed
        for col in self.values:
            if group and width + widths[col] > self.room // 2:
                yield tuple(group)
                group, width = [], fixed
            group.append(col)
            width += widths[col]
        yield tuple(group)

    def _usual_row(self) -> dict[int, int]:
        sample = self.grid.body[:: max(1, len(self.grid.body) // 20)]
        usual = {}
        for col in range(self.grid.table.n_cols):
            sizes = sorted(self.count(self.grid.text(row, col)) + SEAM for row in sample)
            usual[col] = sizes[len(sizes) // 2] if sizes else 0
        return usual

    def _name_tokens(self, col: int) -> int:
        cells = self.grid.names(col)
        return sum(self.count(self.short.get(cell, self.grid.texts[cell])) + SEAM for cell in cells)

    # --- rows ------------------------------------------------------------------------------------

    def _rows(self, rows: Sequence[int], cols: Sequence[int], *, is_first: bool) -> Iterator[Draft]:
        """Yield the parts of one group of columns."""
        titles = [
            self.count("\n".join("".join(b.text for b in line) for line in lines))
            for lines in {
                row: tuple(self._writer().section_lines(row)) for row in self._section_starts()
            }.values()
        ]
        fixed = self.count(self.draft((), cols).text) + max(titles, default=0) + SEAM
        ready: list[Unit] = []
        for row in rows:
            if not is_first and self._is_said_before(row, cols):
                continue
            line = self._writer().row_line(row, cols, again=not is_first)
            text = "".join(bit.text for bit in line)
            if not text:  # everything in this row stands in later columns
                continue
            tokens = self.tokenizer.count(text) + 1 if len(text) <= 16 * self.room else self.room
            if fixed + tokens > self.room:
                yield from self._packed(ready, fixed, cols, is_first)
                ready = []
                yield from self._whole_row(row, cols, is_first)
                continue
            is_title = row in self.grid.titled
            after_title = bool(ready) and ready[-1].start in self.grid.titled
            key = content_key(text)
            ready.append(Unit(row, row + 1, tokens, key, int(not is_title), after_title))
        yield from self._packed(ready, fixed, cols, is_first)

    def _is_said_before(self, row: int, cols: Sequence[int]) -> bool:
        """Whether a later group of columns has nothing to add to a row; titles are repeated."""
        if row in self.grid.titled:
            return False
        return self.grid.is_lone(row) or not any(self.grid.text(row, col) for col in cols)

    def _section_starts(self) -> list[int]:
        first = {titles: row for row, titles in reversed(self.grid.sections.items())}
        return list(first.values())

    def _writer(self) -> Writer:
        rules = self.rules
        return Writer(self.grid, rules.style, self.labels, rules.with_names, self.short, self.brief)

    def _packed(
        self, units: Sequence[Unit], fixed: int, cols: Sequence[int], is_first: bool, scale: int = 8
    ) -> Iterator[Draft]:
        """Pack rows that fit alone; ``scale`` eighths of the room are filled."""
        for first, last in pack(units, max(1, (self.room - fixed) * scale // 8)):
            rows = [unit.start for unit in units[first:last]]
            if not is_first and self.grid.titled.issuperset(rows):
                continue
            draft = self.draft(rows, cols, again=not is_first)
            if self.fits(draft):
                yield draft
            elif len(rows) == 1:
                yield from self._cut_row(rows[0], cols, is_first)
            else:
                lower = max(1, scale - 2) if scale > 1 else 1
                if lower == scale:
                    for row in rows:
                        yield from self._whole_row(row, cols, is_first)
                else:
                    yield from self._packed(units[first:last], fixed, cols, is_first, lower)

    def _whole_row(self, row: int, cols: Sequence[int], is_first: bool) -> Iterator[Draft]:
        draft = self.draft([row], cols, again=not is_first)
        if self.fits(draft):
            yield draft
        else:
            yield from self._cut_row(row, cols, is_first)

    def _cut_row(self, row: int, cols: Sequence[int], is_first: bool) -> Iterator[Draft]:
        """Cut a row between its cells, each part with the row's labels and its columns' headers."""
        grid = self.grid
        if grid.is_lone(row) or row in grid.titled:
            if not is_first:
                raise TooTight
            for cell in dict.fromkeys(grid.at[row]):
                if cell != NO_CELL and grid.texts[cell]:
                    yield from self._cut_cell(row, cell, ())
            return
        labels = list(self._whole_labels(row)) if is_first else []
        yield from labels
        group: list[int] = []
        filled = [col for col in cols if grid.text(row, col)]
        for col in filled:
            if group and not self._row_fits(row, [*group, col]):
                yield self.draft([row], group, again=True)
                group = []
            if not group and not self._row_fits(row, [col]):
                yield from self._cut_cell(row, grid.at[row][col], (col,))
            else:
                group.append(col)
        if group or not (filled or labels):
            draft = self.draft([row], group, again=True)
            if not self.fits(draft):
                raise TooTight
            yield draft

    def _row_fits(self, row: int, cols: Sequence[int]) -> bool:
        return self.fits(self.draft([row], cols, again=True))

    def _whole_labels(self, row: int) -> Iterator[Draft]:
        """Yield the labels of a cut row that are repeated abbreviated, once in full."""
        for col in self.labels:
            cell = self.grid.at[row][col]
            if cell in self.brief and cell not in self.said:
                yield from self._cut_cell(row, cell, ())

    def _cut_cell(self, row: int, cell: int, cols: Sequence[int]) -> Iterator[Draft]:
        """Cut inside a cell; later mentions of it are abbreviated."""
        if cell in self.short:  # still too long as an abbreviation: nothing can be left out
            raise TooTight

        def make(part: str) -> Draft:
            return self.draft([row], cols, again=True, piece=(cell, part))

        if cell not in self.said:
            yield from map(make, self._pieces(self.grid.texts[cell], make))
            self._shorten(cell)
            return
        self._shorten(cell)
        again = self.draft([row], cols, again=True)
        if not self.fits(again):
            raise TooTight
        yield again

    def _shorten(self, cell: int) -> None:
        cap = max(1, self.room // max(8, self.rules.share))
        self.short[cell] = abbreviate(self.grid.texts[cell], cap, self.count)

    def _pieces(self, text: str, make: Callable[[str], Draft]) -> list[str]:
        """Cut ``text`` so that every part fits in the draft made of it; joined they are equal."""
        fixed = self.count(make("").text)
        limit = self.room - fixed - SEAM
        while limit > 0:
            units = break_down(text, 0, len(text), limit=limit, tokenizer=self.tokenizer)
            starts = [units[first].start for first, _ in pack(units, limit)]
            ends = [*starts[1:], len(text)]
            starts[0] = 0
            pieces = [text[start:end] for start, end in zip(starts, ends, strict=True)]
            if all(self.fits(make(piece)) for piece in pieces):
                return pieces
            limit = limit * 3 // 4
        raise TooTight
