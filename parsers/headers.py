"""Which rows of a grid name the columns, which columns name the rows.

Spreadsheets, CSV files, ruled PDF tables and many Word tables say nothing about their headers.
The rules here read shape alone: text above numbers, spans, bold, repetition.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from parsers.cell_types import CellKind, cell_kind, is_label, is_ordinal, is_unit_line
from parsers.spans import SpanGrid

MAX_HEADER_ROWS = 6
SAMPLE_ROWS = 200  # body rows that the rules look at: a header shows in the first of them
_COLUMN_NUMBER = re.compile(r"[(\[]?(?:\d{1,2}|[A-Za-z])[)\]]?(?:\s*=.*)?")
_BRACKETED = re.compile(r"[(\[].{1,30}[)\]]|%")
SHORT_HEADER = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Headers:
    """What names what in a grid: counts of leading rows and columns, and the section rows."""

    header_rows: int
    header_cols: int
    section_rows: tuple[int, ...] = ()


def headers_of(
    grid: SpanGrid, bold: frozenset[int], header_rows: int | None, header_cols: int | None
) -> Headers:
    """Return the headers of a grid of normalised texts; counts that are given are kept."""
    if not grid.n_rows or not grid.n_cols:
        return Headers(header_rows=0, header_cols=0)
    if header_rows is None:
        header_rows = _header_rows(grid, bold)
    header_rows = min(header_rows, grid.n_rows)
    sections = _section_rows(grid, header_rows, bold)
    if header_cols is None:
        header_cols = _header_cols(grid, header_rows, set(sections))
    return Headers(
        header_rows=header_rows,
        header_cols=min(header_cols, grid.n_cols),
        section_rows=sections,
    )


# --- header rows ---------------------------------------------------------------------------------


def _header_rows(grid: SpanGrid, bold: frozenset[int]) -> int:
    start = 0
    while start < grid.n_rows and is_title(grid, start):
        start += 1
    if start >= grid.n_rows - 1:
        return 0
    depth = _span_depth(grid, start)
    if depth is None:
        return 0
    while depth < MAX_HEADER_ROWS and start + depth < grid.n_rows - 1:
        if not _continues(grid, start + depth, start):
            break
        depth += 1
    if start + depth >= grid.n_rows:
        return 0
    return start + depth if _names_columns(grid, start, depth, bold) else 0


def is_title(grid: SpanGrid, row: int) -> bool:
    """Whether a row at the top says one thing of the whole table: not a header with a blank."""
    if grid.n_cols < 2 or not grid.is_lone(row):
        return False
    col = grid.filled(row)[0]
    return col == 0 or grid.span(row, col)[1] * 2 >= grid.n_cols or is_unit_line(grid.own[row][col])


def _span_depth(grid: SpanGrid, start: int) -> int | None:
    """Rows that the spans of the first row hold together; None for a group label of a body."""
    heights = {c: grid.span(start, c)[0] for c in grid.filled(start)}
    tallest = max(heights.values(), default=1)
    if tallest == 1:
        return 1
    has_group = any(
        grid.span(row, c)[1] > 1
        for row in range(start, min(start + tallest, grid.n_rows))
        for c in grid.filled(row)
    )
    # "Gold" over three rows of its own, beside cells of one row each: a row label, not a header.
    if not has_group and len(set(heights.values())) > 1 and heights.get(0) == tallest:
        return None
    return min(tallest, MAX_HEADER_ROWS)


def _continues(grid: SpanGrid, row: int, start: int) -> bool:
    """Whether ``row`` belongs to the header that ends above it."""
    cells = [grid.own[row][c] for c in grid.filled(row)]
    if not cells or grid.is_lone(row):
        return False
    if _numbers_columns(cells, grid.n_cols):
        # A row of data may read 1, 2, 3 as well: then what stands below are figures throughout.
        return any(_body_kind(grid, c, row + 1) is CellKind.TEXT for c in grid.filled(row))
    above_right = [c for c in grid.filled(row) if c > 0]
    if above_right and all(_BRACKETED.fullmatch(grid.own[row][c]) for c in above_right):
        return True
    groups = [c for c in grid.filled(row - 1) if 1 < grid.span(row - 1, c)[1] < grid.n_cols]
    if groups:
        under = [
            [
                c
                for c in range(group, group + grid.span(row - 1, group)[1])
                if grid.is_origin(row, c)
            ]
            for group in groups
        ]
        divides = any(len(columns) > 1 for columns in under)
        named = all(grid.own[row][c] for columns in under for c in columns)
        return divides and named and all(_can_head(grid, row, c, row + 1) for c in grid.filled(row))
    return _has_blank_groups(grid, row) and row - start < 3


def _has_blank_groups(grid: SpanGrid, row: int) -> bool:
    """Whether the row above leaves blanks to its right that mean the same group, as CSV does."""
    above = grid.own[row - 1]
    blanks = [
        c for c in range(1, grid.n_cols) if not above[c] and grid.own[row][c] and any(above[1:c])
    ]
    lead = all(grid.own[row][c] for c in range(1, grid.n_cols) if above[c])
    return (
        bool(blanks)
        and lead
        and all(_can_head(grid, row, c, row + 1) for c in grid.filled(row))
        and any(_body_kind(grid, c, row + 1) not in (None, CellKind.TEXT) for c in blanks)
    )


def _can_head(grid: SpanGrid, row: int, col: int, body: int) -> bool:
    kind = cell_kind(grid.own[row][col])
    if kind is CellKind.TEXT:
        return is_label(grid.own[row][col])
    return kind is not _body_kind(grid, col, body)


def _names_columns(grid: SpanGrid, start: int, depth: int, bold: frozenset[int]) -> bool:
    """Whether the rows from ``start`` on differ in kind from what stands below them."""
    body = start + depth
    votes = Counter(_vote(grid, col, start, body) for col in range(grid.n_cols))
    is_bold = start in bold and not all(row in bold for row in range(body, grid.n_rows))
    if is_bold and votes[False] <= votes[True]:
        return True
    if votes[True] or votes[False]:
        return votes[True] > 2 * votes[False]
    return _reads_as_header(grid, start, body)


def _vote(grid: SpanGrid, col: int, start: int, body: int) -> bool | None:
    """Whether a column's head differs from its values; None where the column does not tell."""
    heads = [grid.full[r][col] for r in range(start, body) if grid.full[r][col]]
    # A row of units or column numbers under the names does not speak for the header.
    named = [text for text in heads if cell_kind(text) is CellKind.TEXT]
    head = next(iter(named or heads[::-1]), "")
    below = _body_kind(grid, col, body)
    kind = cell_kind(head)
    if kind is CellKind.EMPTY or below is None or (grid.n_cols == 2 and _is_form(grid, body)):
        return None
    if below is CellKind.TEXT:
        # A number above words heads nothing, unless it is a year or a measure.
        return False if kind in (CellKind.QUANTITY, CellKind.MARK) else None
    if kind is CellKind.TEXT:
        return is_label(head)
    if kind is below or (kind, below) == (CellKind.YEAR, CellKind.QUANTITY):
        if kind is not CellKind.YEAR or below is CellKind.YEAR:
            return _counts_on(grid, start) if kind is CellKind.QUANTITY else False
        return True
    return True if grid.n_cols > 2 or kind is CellKind.YEAR else None


def _is_form(grid: SpanGrid, body: int) -> bool:
    """Whether the second column mixes kinds, as a form does (date, amount), not a named column."""
    kinds = {cell_kind(grid.own[row][1]) for row in range(body, grid.n_rows)}
    return len(kinds - {CellKind.EMPTY, CellKind.TEXT, CellKind.MARK}) > 1


def _counts_on(grid: SpanGrid, row: int) -> bool:
    """Whether a row's numbers count up by one, as the days of a month do in a header."""
    numbers = [int(t) for t in grid.own[row] if t.isdecimal()]
    if not any(cell_kind(text) is CellKind.TEXT for text in grid.own[row]):
        return False
    return len(numbers) >= 3 and numbers == list(range(numbers[0], numbers[0] + len(numbers)))


def _numbers_columns(cells: Sequence[str], n_cols: int) -> bool:
    """Whether a row numbers the columns: "(1) (2) (3)", "A B 1 2", "1 2 3=1x2"."""
    if len(cells) < max(3, n_cols - 1) or not all(_COLUMN_NUMBER.fullmatch(t) for t in cells):
        return False
    digits = [int(m.group()) for t in cells if (m := re.search(r"\d+", t.split("=")[0]))]
    return len(digits) >= 2 and digits == list(range(1, 1 + len(digits)))


def _reads_as_header(grid: SpanGrid, start: int, body: int) -> bool:
    """Decide for a grid of words alone, where only wording and repetition tell."""
    cells = [grid.own[start][c] for c in grid.filled(start)]
    if (
        len(cells) < 2
        or sum(map(len, cells)) / len(cells) > SHORT_HEADER
        or any(not is_label(t) and cell_kind(t) is CellKind.TEXT for t in cells)
        or any(text.endswith((".", ";")) and len(text) > 20 for text in cells)
    ):
        return False
    firsts = [grid.own[r][0] for r in range(start, grid.n_rows) if grid.own[r][0]]
    if sum(text.endswith((":", "：")) for text in firsts) * 2 > len(firsts):
        return False
    recurring = sum(
        any(grid.own[r][c] == grid.own[start][c] for r in range(body, grid.n_rows))
        for c in grid.filled(start)
    )
    if recurring:
        return False
    if grid.n_cols == 2:
        return not _is_form(grid, body) and grid.n_rows > 2
    return True


def _body_kind(grid: SpanGrid, col: int, body: int) -> CellKind | None:
    """The kind that most cells of a column share below ``body``; None where it is mixed."""
    kinds = Counter(
        cell_kind(grid.own[row][col])
        for row in range(body, min(grid.n_rows, body + SAMPLE_ROWS))
        if not grid.is_lone(row)
    )
    del kinds[CellKind.EMPTY]
    if not kinds:
        return None
    values = sum(count for kind, count in kinds.items() if kind is not CellKind.TEXT)
    if values * 10 >= kinds.total() * 6:
        del kinds[CellKind.TEXT]
        return kinds.most_common(1)[0][0]
    total = values + kinds[CellKind.TEXT]
    return CellKind.TEXT if kinds[CellKind.TEXT] * 10 >= total * 6 else None


# --- section rows and header columns -------------------------------------------------------------


def _section_rows(grid: SpanGrid, body: int, bold: frozenset[int]) -> tuple[int, ...]:
    found = [
        row for row in range(body, grid.n_rows - 1) if grid.n_cols > 1 and is_section(grid, row)
    ]
    spanning = [row for row in found if grid.span(row, grid.filled(row)[0])[1] >= grid.n_cols]
    if len(found) * 2 > grid.n_rows - body and len(spanning) < len(found):
        return tuple(row for row in spanning)
    if grid.n_cols == 2:
        # In a table of two columns a lone cell is more often a label without its value.
        return tuple(row for row in found if row in spanning or row in bold)
    return tuple(found)


def is_section(grid: SpanGrid, row: int) -> bool:
    """Whether a body row holds a title for the rows below it."""
    filled = grid.filled(row)
    if grid.is_lone(row):
        whole = grid.span(row, filled[0])[1] >= grid.n_cols
        text = grid.own[row][filled[0]]
        return (filled[0] == 0 or whole) and cell_kind(text) in (CellKind.TEXT, CellKind.YEAR)
    # "II | Network equipment | | |": an ordinal and a title.
    return (
        grid.n_cols >= 3
        and filled == [0, 1]
        and grid.is_free(row)
        and (grid.n_cols > 3 or grid.own[row + 1][0].isdecimal())
        and re.fullmatch(r"[IVXLC]+\.?|[A-Z]\.?", grid.own[row][0]) is not None
        and cell_kind(grid.own[row][1]) is CellKind.TEXT
    )


def _header_cols(grid: SpanGrid, body: int, sections: set[int]) -> int:
    rows = [r for r in range(body, min(grid.n_rows, body + SAMPLE_ROWS)) if r not in sections]
    if grid.n_cols < 2 or not rows:
        return 0
    first = [grid.full[r][0] for r in rows]
    filled = [text for text in first if text]
    if not filled:
        return 0
    if grid.n_cols > 2 and _labels(grid, rows, 1):
        ordinals = all(is_ordinal(text) for text in filled)
        spanned = any(grid.span(r, 0)[0] > 1 for r in rows)
        blank_rows = [r for r, text in zip(rows, first, strict=True) if not text]
        blanks = bool(first[0]) and bool(blank_rows) and all(grid.full[r][1] for r in blank_rows)
        repeated = len(set(filled)) * 10 < len(filled) * 8
        if spanned or repeated or blanks or ordinals:
            deeper = any(grid.span(r, 1)[0] > 1 for r in rows)
            return 3 if deeper and grid.n_cols > 3 and _labels(grid, rows, 2) else 2
    if _labels(grid, rows, 0):
        return 1
    return 1 if body and len(set(filled)) == len(filled) else 0


def _labels(grid: SpanGrid, rows: Sequence[int], col: int) -> bool:
    """Whether most cells of a column could name their rows."""
    texts = [grid.full[r][col] for r in rows if grid.full[r][col]]
    return bool(texts) and sum(map(is_label, texts)) * 10 >= len(texts) * 7
