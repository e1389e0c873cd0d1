"""Spreadsheets of every kind: from a sheet's visible cells to its tables and lines of text."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from parsers.captions import attach_captions
from parsers.cell_types import CellKind, cell_kind, is_note_line
from parsers.elements import Element, Kind
from parsers.grids import infer_headers, table_from_rows
from parsers.headers import SAMPLE_ROWS
from parsers.spans import Merge
from parsers.text import normalise

_DEFAULT_NAME = re.compile(
    r"(?:sheet|trang[ _]?tính|bảng[ _]?tính|feuil|feuille|tabelle|hoja|page|worksheet)[ _]?\d*",
    re.IGNORECASE,
)
_LONGEST_TITLE = 120
_TITLE_LINES = 3  # "REPORT ON STOCK", "From … to …", "Warehouse: …"
MAX_OVERHANG = 50  # rows or columns that a span may reach past the last cell with words

Position = tuple[int, int]
Area = tuple[int, int, int, int]  # top, left, bottom, right; the last two are past the end


@dataclass(frozen=True, slots=True)
class StatedTable:
    """A range of a sheet that the file itself calls a table."""

    area: Area
    header_rows: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Sheet:
    """A sheet's cells as a person sees them, by (row, column) from 0; hidden ones may be there.

    ``merges``, ``tables`` and the hidden rows and columns are in positions of the whole sheet.
    ``drawn`` are the texts of boxes and charts that lie over the cells.
    """

    name: str
    cells: Mapping[Position, str]
    merges: Sequence[Merge] = ()
    bold: frozenset[Position] = frozenset()
    hidden_rows: frozenset[int] = frozenset()
    hidden_cols: frozenset[int] = frozenset()
    tables: Sequence[StatedTable] = ()
    drawn: Sequence[str] = ()


def sheet_elements(sheets: Sequence[Sheet]) -> list[Element]:
    """Return each sheet's heading, tables and lines, sheet by sheet, from top to bottom.

    A sheet gets a heading when there are several with content or its name says something.
    """
    shown = map(_visible, sheets)
    filled = [sheet for sheet in shown if sheet.cells or sheet.drawn]
    elements: list[Element] = []
    for sheet in filled:
        name = " ".join(normalise(sheet.name).split())
        if name and (len(filled) > 1 or not _DEFAULT_NAME.fullmatch(name)):
            elements.append(Element(kind=Kind.HEADING, text=name, level=1))
        blocks = [e for area in _areas(sheet) for e in _read_area(sheet, area, name)]
        elements.extend(attach_captions(_titled(blocks)))
        elements.extend(Element(kind=Kind.TEXT, text=text) for text in sheet.drawn)
    return elements


def _visible(sheet: Sheet) -> Sheet:
    """Leave hidden rows and columns out and close the gaps; merges shrink with them."""
    texts = {at: text for at, raw in sheet.cells.items() if (text := normalise(raw))}
    last_row, last_col = _extent(texts, sheet.merges)
    rows = [r for r in range(last_row + 1) if r not in sheet.hidden_rows]
    cols = [c for c in range(last_col + 1) if c not in sheet.hidden_cols]
    row_at = {old: new for new, old in enumerate(rows)}
    col_at = {old: new for new, old in enumerate(cols)}
    cells = {
        (row_at[r], col_at[c]): text
        for (r, c), text in texts.items()
        if r in row_at and c in col_at
    }
    merges: list[Merge] = []
    for top, left, height, width in sheet.merges:
        within_rows = range(top, min(top + height, last_row + 1))
        within_cols = range(left, min(left + width, last_col + 1))
        kept_rows = [row_at[r] for r in within_rows if r in row_at]
        kept_cols = [col_at[c] for c in within_cols if c in col_at]
        shown = texts.get((top, left))
        if kept_rows and kept_cols and shown:
            cells[kept_rows[0], kept_cols[0]] = shown
            merges.append((kept_rows[0], kept_cols[0], len(kept_rows), len(kept_cols)))
    bold = frozenset((row_at[r], col_at[c]) for r, c in sheet.bold if r in row_at and c in col_at)
    tables = []
    for table in sheet.tables:
        top, left, bottom, right = table.area
        kept_rows = [row_at[r] for r in range(top, min(bottom, last_row + 1)) if r in row_at]
        kept_cols = [col_at[c] for c in range(left, min(right, last_col + 1)) if c in col_at]
        if kept_rows and kept_cols:
            header_rows = table.header_rows if top in row_at else 0
            area = (kept_rows[0], kept_cols[0], kept_rows[-1] + 1, kept_cols[-1] + 1)
            tables.append(StatedTable(area, header_rows))
    return replace(
        sheet,
        cells=cells,
        merges=merges,
        bold=bold,
        hidden_rows=frozenset(),
        hidden_cols=frozenset(),
        tables=tables,
    )


def _extent(texts: Mapping[Position, str], merges: Sequence[Merge]) -> Position:
    """The last row and column with words, spans of cells with words included within reason."""
    last_row = max((r for r, _ in texts), default=-1)
    last_col = max((c for _, c in texts), default=-1)
    spans = [m for m in merges if (m[0], m[1]) in texts]
    return (
        max([last_row, *(min(top + h - 1, last_row + MAX_OVERHANG) for top, _, h, _ in spans)]),
        max([last_col, *(min(left + w - 1, last_col + MAX_OVERHANG) for _, left, _, w in spans)]),
    )


# --- cutting a sheet into blocks -----------------------------------------------------------------


def _areas(sheet: Sheet) -> list[Area]:
    """Cut a sheet at its empty rows and columns until no block has any."""
    taken = set(sheet.cells)
    for top, left, height, width in sheet.merges:
        taken.update((r, c) for r in range(top, top + height) for c in range(left, left + width))
    return [part for area in _cut(sheet, taken) for part in _parted(sheet, area)]


def _parted(sheet: Sheet, area: Area) -> list[Area]:
    """Cut a block behind each table but the last, where the sheet says it holds several."""
    top, left, bottom, right = area
    within = [t.area for t in sheet.tables if _around(t.area, area) == area]
    for start in (0, 1):
        found = sorted(within, key=lambda each: each[start])
        ends = [each[start + 2] for each in found]
        if len(found) > 1 and all(
            end <= each[start] for end, each in zip(ends, found[1:], strict=False)
        ):
            edges = [area[start], *ends[:-1], area[start + 2]]
            pairs = pairwise(edges)
            if start == 0:
                return [(a, left, b, right) for a, b in pairs]
            return [(top, a, bottom, b) for a, b in pairs]
    return [area]


def _cut(sheet: Sheet, taken: set[Position]) -> Iterator[Area]:
    if not taken:
        return
    for axis, joins in ((0, _continues_below), (1, _continues_right)):
        parts = _groups(taken, axis)
        if len(parts) > 1:
            joined, box = [parts[0]], _box(parts[0])
            for part in parts[1:]:
                below = _box(part)
                if joins(sheet, box, below):
                    joined[-1] |= part
                    box = _around(box, below)
                else:
                    joined.append(part)
                    box = below
            if len(joined) > 1:
                for part in joined:
                    yield from _cut(sheet, part)
                return
    corners = _corner_parts(taken)
    if len(corners) > 1:
        for part in corners:
            yield from _cut(sheet, part)
        return
    yield _box(taken)


def _groups(taken: set[Position], axis: int) -> list[set[Position]]:
    """Split positions wherever a whole row (axis 0) or column (axis 1) between them is empty."""
    by_line: dict[int, list[Position]] = {}
    for at in taken:
        by_line.setdefault(at[axis], []).append(at)
    groups: list[set[Position]] = []
    before: int | None = None
    for line in sorted(by_line):
        if before is None or line > before + 1:
            groups.append(set())
        groups[-1].update(by_line[line])
        before = line
    return groups


def _corner_parts(taken: set[Position]) -> list[set[Position]]:
    """Split blocks that touch at a corner alone: neither rows nor columns in common."""
    parts: list[set[Position]] = []
    rest = set(taken)
    while rest:
        stack = [rest.pop()]
        part = set(stack)
        while stack:
            row, col = stack.pop()
            for at in ((row + 1, col), (row - 1, col), (row, col + 1), (row, col - 1)):
                if at in rest:
                    rest.discard(at)
                    part.add(at)
                    stack.append(at)
        parts.append(part)
        if len(parts) > 64:
            return [taken]  # a sparse table, not tables
    parts.sort(key=min)
    merged: list[set[Position]] = []
    for part in parts:
        near = [other for other in merged if not _apart(_box(other), _box(part))]
        joined = part.union(*near)
        merged = [other for other in merged if other not in near] + [joined]
    sizes = [_box(part) for part in merged]
    if any(bottom - top < 2 or right - left < 2 for top, left, bottom, right in sizes):
        return [taken]
    return sorted(merged, key=min)


def _apart(one: Area, two: Area) -> bool:
    rows = one[2] <= two[0] or two[2] <= one[0]
    cols = one[3] <= two[1] or two[3] <= one[1]
    return rows and cols


def _box(taken: set[Position]) -> Area:
    rows, cols = [r for r, _ in taken], [c for _, c in taken]
    return min(rows), min(cols), max(rows) + 1, max(cols) + 1


def _around(one: Area, two: Area) -> Area:
    return (
        min(one[0], two[0]),
        min(one[1], two[1]),
        max(one[2], two[2]),
        max(one[3], two[3]),
    )


def _continues_below(sheet: Sheet, above: Area, below: Area) -> bool:
    """Whether a block goes on under one empty row: within the same columns, no header again."""
    if below[0] - above[2] > 1 or below[1] < above[1] or below[3] > above[3]:
        return False
    head = (above[0], above[1], min(above[2], above[0] + SAMPLE_ROWS), above[3])
    under = (below[0], above[1], min(below[2], below[0] + SAMPLE_ROWS), above[3])
    upper = [row for row in _texts(sheet, head) if _is_wide(row)]
    lower = [(r, row) for r, row in enumerate(_texts(sheet, under), below[0]) if _is_wide(row)]
    if len(upper) < 2 or above[3] - above[1] < 2 or not lower:
        return False
    body = [row for _, row in lower]
    has_bold = _is_bold_line(sheet, head)
    has_header = has_bold or infer_headers(upper).header_rows > 0
    if not has_header:
        # A list or a form without any header, with an empty row for the eye.
        return below[0] == lower[0][0] and infer_headers(body).header_rows == 0
    if _fits_under(upper, body[0]):
        return True
    is_set_apart = has_bold and not _is_bold_row(sheet, lower[0][0], above)
    return is_set_apart and all(cell_kind(t) is CellKind.TEXT for row in upper for t in row if t)


def _fits_under(upper: list[list[str]], first: list[str]) -> bool:
    """Whether a row has under each column what stands there already, and not words alone."""
    kinds = [(cell_kind(text), _kinds_of(upper, c)) for c, text in enumerate(first) if text]
    is_alike = all(kind in known for kind, known in kinds)
    return is_alike and any(kind is not CellKind.TEXT for kind, _ in kinds)


def _kinds_of(rows: list[list[str]], col: int) -> set[CellKind]:
    return {cell_kind(row[col]) for row in rows[1:] if row[col]}


def _is_wide(row: list[str]) -> bool:
    return sum(map(bool, row)) > 1


def _is_bold_line(sheet: Sheet, area: Area) -> bool:
    """Whether the first row of several cells is bold, and the last row is not."""
    wide = (at for at, row in enumerate(_texts(sheet, area), area[0]) if _is_wide(row))
    first = next(wide, area[0])
    return _is_bold_row(sheet, first, area) and not _is_bold_row(sheet, area[2] - 1, area)


def _is_bold_row(sheet: Sheet, row: int, area: Area) -> bool:
    cells = [(row, c) for c in range(area[1], area[3]) if (row, c) in sheet.cells]
    return bool(cells) and all(at in sheet.bold for at in cells)


def _continues_right(sheet: Sheet, left: Area, right: Area) -> bool:
    """Whether an empty column only sets figures apart from the labels of the same rows."""
    if (left[0], left[2]) != (right[0], right[2]) or right[1] - left[3] > 1:
        return False
    if right[3] - right[1] == 1 and left[2] - left[0] > 2 and _is_filled(sheet, left, right):
        return True
    labels = [row[0] for row in _texts(sheet, left)[1:] if row[0]]
    figures = [row[0] for row in _texts(sheet, right)[1:] if row[0]]
    return (
        bool(labels)
        and bool(figures)
        and all(cell_kind(text) is CellKind.TEXT for text in labels)
        and all(cell_kind(text) is CellKind.QUANTITY for text in figures)
    )


def _is_filled(sheet: Sheet, left: Area, right: Area) -> bool:
    """Whether a lone column has words in each row, as its neighbour has: no table, but a column."""
    rows = zip(_texts(sheet, left), _texts(sheet, right), strict=True)
    return all(any(row) and other[0] for row, other in rows)


def _texts(sheet: Sheet, area: Area) -> list[list[str]]:
    top, left, bottom, right = area
    return [[sheet.cells.get((r, c), "") for c in range(left, right)] for r in range(top, bottom)]


# --- reading a block -----------------------------------------------------------------------------


def _read_area(sheet: Sheet, area: Area, name: str) -> list[Element]:
    top, left, bottom, right = area
    rows = _texts(sheet, area)
    merges = [
        (r - top, c - left, height, width)
        for r, c, height, width in sheet.merges
        if top <= r < bottom and left <= c < right
    ]
    filled = [[text for text in row if text] for row in rows]
    if all(len(row) <= 1 for row in filled) and not _is_column(filled):
        lines = "\n".join(row[0] for row in filled if row)
        return [Element(kind=Kind.TEXT, text=lines)] if lines else []
    is_tall = any(height > 1 for _, _, height, _ in merges)
    is_short = len(rows) <= 3 and all(len(row) <= 2 for row in filled)
    if is_short and not is_tall and min(map(len, filled)) < 2:
        return [Element(kind=Kind.TEXT, text="\n".join(" ".join(row) for row in filled if row))]
    if len(rows) == 1 and len(filled[0]) == 2:
        return [Element(kind=Kind.TEXT, text=" ".join(filled[0]))]
    bold = {
        r - top
        for r in range(top, bottom)
        if all((r, c) in sheet.bold for c in range(left, right) if (r, c) in sheet.cells)
    }
    stated = [t.header_rows for t in sheet.tables if t.area == area]
    header_rows = stated[0] if stated and stated[0] else None
    table = table_from_rows(
        rows, merges=merges, bold_rows=bold, header_rows=header_rows, sheet=name or None
    )
    return [] if table is None else [Element(kind=Kind.TABLE, table=table)]


def _is_column(filled: list[list[str]]) -> bool:
    """Whether a single column is a name above figures, hence a table."""
    texts = [row[0] for row in filled if row]
    kinds = [cell_kind(text) for text in texts]
    return len(kinds) > 2 and kinds[0] is CellKind.TEXT and CellKind.TEXT not in kinds[1:]


def _titled(elements: list[Element]) -> list[Element]:
    """Give a table the short lines above it, set apart by an empty row, as its caption."""
    kept: list[Element] = []
    for element in elements:
        table, last = element.table, kept[-1] if kept else None
        if table is not None and last is not None and last.kind is Kind.TEXT:
            lines = last.text.split("\n")
            is_title = len(lines) <= _TITLE_LINES and max(map(len, lines)) <= _LONGEST_TITLE
            if is_title and not last.text.endswith(".") and not is_note_line(last.text):
                caption = "\n".join(part for part in (last.text, table.caption) if part)
                kept[-1] = replace(element, table=replace(table, caption=caption))
                continue
        kept.append(element)
    return kept
