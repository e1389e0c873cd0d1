"""Grids of single pages to tables of the document: joined over pages, named, annotated."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from parsers.elements import Table
from parsers.grids import infer_headers, table_from_rows
from parsers.pdf_blocks import Block
from parsers.pdf_booktabs import is_caption
from parsers.pdf_drawings import Box
from parsers.pdf_lattice import Grid, is_numeric
from parsers.pdf_words import text_of

RULED_SHIFT = 5.0  # points by which column edges may differ between pages
ALIGNED_SHIFT = 16.0
CAPTION_GAP = 2.8  # font sizes between a caption and its table
NOTE_GAP = 2.2
_UNIT = re.compile(
    r"^\(?(đơn vị|đvt|unit|units|in (millions|thousands)|(figures|amounts) (are )?in)\b"
    r"|^\([^()]{2,40}\)$",
    re.I,
)
_NOTE = re.compile(
    r"^(notes?|sources?|nguồn|ghi chú|chú thích|lưu ý|remarks?|legend|n\.?a\.?)\b\s*[:.—–-]"
    r"|^(\(?\*+\)?|†|‡|§|[¹²³])\s*\S|^['‘’\"“]?[-–.*]+['‘’\"”]?\s*[:=]\s",
    re.I,
)
_MONEY = re.compile(r"^(US\$|[$€£¥₫]|USD|EUR|VND|VNĐ)$")
_AFTER = re.compile(r"^(%|\)|\)%|%\))$")
_CONTINUED = re.compile(r"\b(continued|cont['’.]?d?|contd|tiếp theo|tiếp)\b", re.I)


@dataclass(frozen=True, slots=True)
class RawCell:
    """A cell before headers are known."""

    row: int
    col: int
    row_span: int
    col_span: int
    text: str
    bold: bool


@dataclass(slots=True)
class RawTable:
    """A table that may grow over following pages."""

    page: int
    page_end: int
    box: Box
    xs: list[float]
    n_rows: int
    cells: list[RawCell]
    header_rows: int | None
    ruled: bool
    size: float  # of the font that most cells are set in
    caption: str | None = None
    notes: list[str] = field(default_factory=list)

    @property
    def n_cols(self) -> int:
        """Number of columns."""
        return len(self.xs) - 1

    @classmethod
    def of(cls, grid: Grid, page: int, box: Box) -> RawTable:
        """Read the texts of a grid."""
        cells = [
            RawCell(
                cell.row,
                cell.col,
                cell.row_span,
                cell.col_span,
                text_of(cell.words),
                bool(cell.words) and all(word.bold for word in cell.words),
            )
            for cell in grid.cells
        ]
        sizes = Counter(word.size for cell in grid.cells for word in cell.words)
        return cls(
            page=page,
            page_end=page,
            box=box,
            xs=list(grid.xs),
            n_rows=grid.n_rows,
            cells=cells,
            header_rows=grid.header_rows,
            ruled=grid.ruled,
            size=sizes.most_common(1)[0][0] if sizes else 0.0,
        )

    def rows(self) -> list[list[str]]:
        """Cell texts by row; what a span covers is empty."""
        rows = [[""] * self.n_cols for _ in range(self.n_rows)]
        for cell in self.cells:
            rows[cell.row][cell.col] = cell.text
        return rows

    def merges(self) -> list[tuple[int, int, int, int]]:
        """Spans as (row, column, row span, column span)."""
        return [
            (c.row, c.col, c.row_span, c.col_span)
            for c in self.cells
            if c.row_span > 1 or c.col_span > 1
        ]

    def bold_rows(self) -> list[int]:
        """Rows whose every filled cell is bold."""
        return [
            row
            for row in range(self.n_rows)
            if (mine := [c for c in self.cells if c.row == row and c.text])
            and all(c.bold for c in mine)
        ]

    def head(self) -> int:
        """The number of header rows, stated or inferred."""
        if self.header_rows is not None:
            return self.header_rows
        return infer_headers(
            self.rows()[:40],
            merges=[m for m in self.merges() if m[0] < 40],
            bold_rows=self.bold_rows(),
        ).header_rows

    def build(self, mend: Callable[[str], str]) -> Table | None:
        """The finished table; None where it holds no words. ``mend`` undoes hyphenation."""
        self.cells = [replace(cell, text=mend(cell.text)) for cell in self.cells]
        self._join_signs()
        self._hoist_header()
        return table_from_rows(
            self.rows(),
            merges=self.merges(),
            bold_rows=self.bold_rows(),
            header_rows=self.header_rows,
            caption=self.caption,
            notes="\n".join(self.notes) or None,
        )

    def _join_signs(self) -> None:
        """Give signs of money in a column of their own to the figures on their right.

        A percent sign or a bracket that closes goes to the figure on its left.
        """
        for col in range(self.n_cols - 1, -1, -1):
            if self.n_cols > 2 and col + 1 < self.n_cols and self._is_sign(col, col + 1, _MONEY):
                self._join_columns(col, col)
            elif col > 1 and self._is_sign(col, col - 1, _AFTER):
                self._join_columns(col - 1, col)

    def _is_sign(self, col: int, beside: int, sign: re.Pattern[str]) -> bool:
        """Whether a column holds signs for the figures ``beside``, and at most their heading."""
        taken = {c.row for c in self.cells if c.col == beside and c.text}
        mine = [c for c in self.cells if c.col == col and c.col_span == 1 and c.text]
        signs = sum(bool(sign.match(c.text)) for c in mine)
        others = [c for c in mine if not sign.match(c.text)]
        return signs > len(others) and all(c.row < 4 and c.row not in taken for c in others)

    def _join_columns(self, left: int, signs: int) -> None:
        """Make columns ``left`` and the next one column; texts on one row are joined in order."""
        texts: dict[int, list[RawCell]] = {}
        for cell in sorted(self.cells, key=lambda c: c.col):
            if cell.col in (left, left + 1) and cell.col_span == 1:
                texts.setdefault(cell.row, []).append(cell)
        cells = []
        for cell in self.cells:
            last = cell.col + cell.col_span - (cell.col + cell.col_span > left + 1)
            if cell.col not in (left, left + 1) or cell.col_span > 1:
                first = cell.col - (cell.col > left)
                cells.append(replace(cell, col=first, col_span=max(last - first, 1)))
                continue
            pair = texts.get(cell.row, [])
            if pair and cell is pair[0]:
                sign = next((c.text for c in pair if c.col == signs), "")
                space = " " if sign.isalpha() else ""
                text = space.join(c.text for c in pair if c.text)
                tallest = max(c.row_span for c in pair)
                cells.append(replace(cell, text=text, col=left, row_span=tallest))
        self.cells = cells
        del self.xs[left + 1]

    def _hoist_header(self) -> None:
        """Put the header above a section title that opens the table.

        Tables in parts print "Part one", header, rows, "Part two", the same header, rows: the
        header moves to the top once, and the titles of the parts become rows of their own.
        """
        titles = {c.row for c in self.cells if c.col_span == self.n_cols > 1 and c.text}
        if self.header_rows is not None or 0 not in titles or 1 in titles or len(titles) < 2:
            return
        rows = self.rows()
        repeats = [
            title + 1
            for title in sorted(titles)
            if title and title + 1 < self.n_rows and _folded(rows[title + 1]) == _folded(rows[1])
        ]
        if len(repeats) != len(titles) - 1 or any(c.row_span > 1 for c in self.cells):
            return
        order = [1, 0, *(row for row in range(2, self.n_rows) if row not in repeats)]
        place = {row: index for index, row in enumerate(order)}
        self.cells = [replace(c, row=place[c.row]) for c in self.cells if c.row in place]
        self.n_rows = len(order)
        self.header_rows = 1


def continues(table: RawTable, after: RawTable) -> list[int] | None:
    """For each column of ``after`` its column in ``table``, if it goes on with the same columns."""
    if after.page not in (table.page_end, table.page_end + 1):
        return None
    shift = RULED_SHIFT if table.ruled and after.ruled else ALIGNED_SHIFT
    offset = after.xs[0] - table.xs[0]
    # Mirrored margins move a whole table sideways between left and right pages.
    offset = offset if abs(offset) < 60 and after.page != table.page_end else 0.0
    places = []
    for edge in after.xs:
        near = min(range(len(table.xs)), key=lambda k: abs(table.xs[k] + offset - edge))
        slack = shift if near not in (0, len(table.xs) - 1) else 3 * shift
        if abs(table.xs[near] + offset - edge) > slack:
            return None
        places.append(near)
    if len(set(places)) != len(places) or places[0] != 0 or places[-1] != len(table.xs) - 1:
        return None
    if table.ruled and after.ruled and len(places) < len(table.xs) - 1:
        return None
    if len(places) != len(table.xs) and not (table.ruled and after.ruled):
        return None
    return places


def extend(table: RawTable, after: RawTable, places: Sequence[int]) -> None:
    """Append the rows of a continuation; its repeated header is left out."""
    head = table.head()
    mine, theirs = table.rows(), after.rows()
    skip = 0
    if after.n_rows > head > 0 and all(
        _folded(mine[row]) == _folded(theirs[row]) for row in range(head)
    ):
        skip = head
    cells = [
        replace(
            cell,
            row=cell.row - skip,
            col=places[cell.col],
            col_span=places[cell.col + cell.col_span] - places[cell.col],
        )
        for cell in after.cells
        if cell.row >= skip
    ]
    start = table.n_rows
    if not skip and _mend_row(table, cells):
        cells = [replace(cell, row=cell.row - 1) for cell in cells if cell.row > 0]
        after.n_rows -= 1
    if table.header_rows is None and head:
        table.header_rows = head
    for cell in cells:
        upper = _open_span(table, cell, start) if cell.row == 0 else None
        if upper is not None:
            table.cells[upper] = replace(
                table.cells[upper], row_span=table.cells[upper].row_span + cell.row_span
            )
        else:
            table.cells.append(replace(cell, row=cell.row + start))
    table.n_rows += after.n_rows - skip
    table.page_end = after.page
    table.notes += after.notes


def _folded(row: list[str]) -> list[str]:
    return ["".join(text.casefold().split()) for text in row if text]


def _mend_row(table: RawTable, cells: list[RawCell]) -> bool:
    """Join a row that a page break cut in two: its rest has no label and goes on mid-sentence."""
    rest = {cell.col: cell for cell in cells if cell.row == 0 and cell.text}
    last = {
        cell.col: index
        for index, cell in enumerate(table.cells)
        if cell.row + cell.row_span == table.n_rows and cell.text
    }
    if not rest or 0 in rest or 0 not in last or not rest.keys() <= last.keys():
        return False
    if any(cell.row_span > 1 for cell in cells if cell.row == 0):
        return False
    goes_on = any(
        cell.text[:1].islower() or not table.cells[last[col]].text.endswith((".", ";", ":"))
        for col, cell in rest.items()
    )
    labelled = {cell.row for cell in table.cells if cell.col == 0 and cell.text}
    goes_on = goes_on or len(labelled) == table.n_rows
    if not goes_on or any(is_numeric(cell.text) for cell in rest.values()):
        return False
    for col, cell in rest.items():
        upper = table.cells[last[col]]
        table.cells[last[col]] = replace(upper, text=f"{upper.text} {cell.text}")
    return True


def _open_span(table: RawTable, cell: RawCell, start: int) -> int | None:
    """The tall cell at the foot of ``table`` that an empty tall cell at a page's top continues."""
    if cell.text or cell.row_span < 2:
        return None
    for index, upper in enumerate(table.cells):
        is_foot = upper.row + upper.row_span == start and upper.row_span > 1
        if is_foot and upper.col == cell.col and upper.col_span == cell.col_span:
            return index
    return None


def join_tables(blocks: list[Block], tables: dict[int, RawTable]) -> list[Block]:
    """Join tables that go on over a page or column break; ``tables`` is keyed by id of block.

    Between the two parts nothing may stand but a repeated caption or a "continued" line.
    """
    result: list[Block] = []
    last: RawTable | None = None
    between: list[Block] = []
    for block in blocks:
        raw = tables.get(id(block))
        if raw is None:
            between.append(block)
            continue
        places = None
        if last is not None and all(_may_part(item, last) for item in between):
            moved = raw.page != last.page_end or block.opens
            places = continues(last, raw) if moved else None
        if places is not None and last is not None:
            extend(last, raw, places)
        else:
            result += [*between, block]
            last = raw
        between = []
    return [*result, *between]


def _may_part(block: Block, table: RawTable) -> bool:
    text = block.text
    if len(block.lines) > 3:
        return False
    repeats = table.caption is not None and text.casefold() == table.caption.casefold()
    short_mark = len(text) < 60 and bool(_CONTINUED.search(text))
    return repeats or short_mark or (is_caption(text) and bool(_CONTINUED.search(text)))


def annotate(blocks: list[Block], tables: dict[int, RawTable]) -> list[Block]:
    """Give each table the caption, units and notes that stand next to it, out of the text."""
    used: set[int] = set()
    for index, block in enumerate(blocks):
        raw = tables.get(id(block))
        if raw is None:
            continue
        above = index - 1
        gap = block.gap
        while above >= 0 and index - above <= 4 and id(blocks[above]) not in used:
            other = blocks[above]
            if other.grid is not None or other.page != block.page or gap > CAPTION_GAP:
                break
            if is_caption(other.text) and len(other.text) < 500:
                parts = [item.text for item in blocks[above:index] if id(item) not in used]
                raw.caption = " ".join(parts)
                used.update(id(item) for item in blocks[above:index])
                break
            if above == index - 1 and _UNIT.match(other.text) and len(other.text) < 80:
                raw.notes.append(other.text)
                used.add(id(other))
            elif len(other.lines) > 3 or len(other.text) > 250:
                break
            gap = other.gap
            above -= 1
        below = index + 1
        while below < len(blocks):
            other = blocks[below]
            if other.grid is not None or other.page != block.page or other.gap > NOTE_GAP:
                break
            if not _NOTE.match(other.text):
                break
            raw.notes.append(other.text)
            used.add(id(other))
            below += 1
    return [block for block in blocks if id(block) not in used]
