"""Rows of text to a grid: header lines to header cells, wrapped lines to records."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import fmean, median

from parsers.pdf_lattice import Grid, GridCell, is_numeric
from parsers.pdf_page import Rule
from parsers.pdf_words import Line, Word, lines_of, segments_of

CELL_GAP = 0.85  # of the font size; a wider space inside a line may part two cells
EDGE = 3.0  # points within which two edges are aligned
MAX_HEADER_LINES = 8
FULL = 0.75  # share of the table's width that a line must cover to part all columns

Span = tuple[int, int]  # first column, column after the last
Piece = tuple[Span, Line]


@dataclass(slots=True)
class Row:
    """A line of text cut into the pieces that may be cells."""

    line: Line
    parts: list[Line]

    @property
    def is_seed(self) -> bool:
        """Whether the line alone reads like a record."""
        if len(self.parts) < 2:
            return False
        return len(self.parts) > 2 or any(is_numeric(part.text) for part in self.parts[1:])


@dataclass(slots=True)
class Columns:
    """Edges ``xs`` of columns, the stretch that each one's pieces fill, the usual word space."""

    xs: list[float]
    cores: list[tuple[float, float]]
    space: float  # of the font size

    @classmethod
    def of(cls, rows: Sequence[Row], xs: list[float]) -> Columns:
        """Measure the columns between ``xs`` on the rows that read like records."""
        stretches: list[list[tuple[float, float]]] = [[] for _ in xs[1:]]
        spaces: list[float] = []
        for row in rows:
            for part in row.parts:
                spaces += [(b.x0 - a.x1) / part.size for a, b in pairwise(part.words)]
                first = sum(part.x0 > edge - EDGE for edge in xs[1:-1])
                if first == sum(part.x1 > edge + EDGE for edge in xs[1:-1]):
                    stretches[first].append((part.x0, part.x1))
        cores = [
            (min(x0 for x0, _ in column), max(x1 for _, x1 in column))
            if column
            else (xs[i], xs[i + 1])
            for i, column in enumerate(stretches)
        ]
        return cls(xs, cores, min(max(median(spaces), 0.2), 0.7) if spaces else 0.3)

    @property
    def count(self) -> int:
        """Number of columns."""
        return len(self.xs) - 1

    @property
    def width(self) -> float:
        """Of all columns together, in points."""
        return self.xs[-1] - self.xs[0]

    def nearest(self, word: Word) -> int:
        """The column whose text ``word`` stands over or next to."""
        shared = [min(word.x1, x1) - max(word.x0, x0) for x0, x1 in self.cores]
        return max(range(len(shared)), key=lambda col: shared[col])

    def span(self, piece: Line) -> Span:
        """The columns that ``piece`` stands over."""
        over = [
            col
            for col, (x0, x1) in enumerate(self.cores)
            if min(piece.x1, x1) - max(piece.x0, x0) > 1.5
        ]
        if not over:
            first = sum(piece.x0 > edge - EDGE for edge in self.xs[1:-1])
            return first, first + 1
        # A label that runs over an empty neighbour is still one column's label.
        return (0, 1) if over[0] == 0 else (over[0], over[-1] + 1)


def rows_of(lines: Sequence[Line]) -> list[Row]:
    """Cut lines at spaces wider than ``CELL_GAP`` of their font size, unless they are justified."""
    return [
        Row(line, [line] if is_justified(line) else segments_of(line, CELL_GAP * line.size))
        for line in lines
    ]


def is_justified(line: Line) -> bool:
    """Whether wide spaces come from stretching a line of prose: then all are equally wide."""
    spaces = [b.x0 - a.x1 for a, b in pairwise(line.words)]
    if len(spaces) < 3 or max(spaces) > 2.6 * line.size:
        return False
    figures = sum(is_numeric(word.text) for word in line.words)
    return max(spaces) - min(spaces) < 0.12 * line.size and figures * 2 < len(line.words)


def has_full_rule(upper: Line, lower: Line, xs: Sequence[float], rules: Sequence[Rule]) -> bool:
    """Whether a line over the table's whole width runs between two lines of text."""
    width = xs[-1] - xs[0]
    covered = sum(
        max(0.0, min(rule.end, xs[-1]) - max(rule.start, xs[0]))
        for rule in rules
        if upper.middle_y < rule.at < lower.middle_y
    )
    return covered > FULL * width


def build_grid(
    rows: Sequence[Row], xs: list[float], rules: Sequence[Rule] = (), edges: Sequence[float] = ()
) -> Grid | None:
    """Put rows of text into the columns ``xs``; None where fewer than two records result."""
    columns = Columns.of([row for row in rows if row.is_seed] or rows, xs)
    placed = [_spread(row, columns, rules) for row in rows]
    head = _header_end(rows, placed, xs, rules)
    cells, depth = _header_cells(placed[:head], len(xs) - 1) if head else ([], 0)
    ys = [rows[0].line.top - 1]
    for level in range(1, depth + 1):
        bottom = rows[head - 1].line.bottom + 0.5
        ys.append(ys[0] + (bottom - ys[0]) * level / depth)
    for group in _records(rows, placed, xs, rules, edges, head):
        spans: dict[Span, list[Word]] = {}
        for index in group:
            for span, piece in placed[index]:
                spans.setdefault(span, []).extend(piece.words)
        for (start, end), words in _disjoint(spans).items():
            cells.append(GridCell(len(ys) - 1, start, 1, end - start, words))
        ys.append(max(max(rows[index].line.bottom for index in group) + 0.5, ys[-1] + 0.5))
    if len(ys) < 3:
        return None
    left = min(min(row.line.x0 for row in rows) - 1, xs[0])
    right = max(max(row.line.x1 for row in rows) + 1, xs[-1])
    return Grid([left, *xs[1:-1], right], ys, cells, depth or None, ruled=False)


def _spread(row: Row, columns: Columns, rules: Sequence[Rule]) -> list[Piece]:
    """Each piece of a row with the columns it stands over."""
    pieces = [piece for part in row.parts for piece in cut_at_gutters(part, columns)]
    spans = [columns.span(piece) for piece in pieces]
    for rule in rules:
        _widen(spans, pieces, columns, rule)
    return list(zip(spans, pieces, strict=True))


def _widen(spans: list[Span], pieces: list[Line], columns: Columns, rule: Rule) -> None:
    """Spread headings over the columns of a short line under them, each over the nearest ones."""
    if rule.length > 0.95 * columns.width:
        return
    over = [
        index
        for index, piece in enumerate(pieces)
        if -2 < rule.at - piece.bottom < 0.9 * piece.size
        and rule.start <= piece.x0 + EDGE
        and rule.end >= piece.x1 - EDGE
        and spans[index][0] > 0
    ]
    inside = [
        col
        for col, (a, b) in enumerate(pairwise(columns.xs))
        if min(b, rule.end) - max(a, rule.start) > 0.5 * (b - a)
    ]
    if not over or len(inside) <= len(over):
        return
    owned: dict[int, list[int]] = {index: [] for index in over}
    for col in inside:
        core = columns.cores[col]
        middle = (core[0] + core[1]) / 2
        nearest = min(
            over, key=lambda index: abs((pieces[index].x0 + pieces[index].x1) / 2 - middle)
        )
        owned[nearest].append(col)
    for index, cols in owned.items():
        others = [span for other, span in enumerate(spans) if other not in owned]
        if cols and not any(cols[0] < end and start <= cols[-1] for start, end in others):
            spans[index] = (cols[0], cols[-1] + 1)


def cut_at_gutters(part: Line, columns: Columns) -> list[Line]:
    """Cut a piece between two words that stand over different columns and a wide space apart."""
    wide = 1.25 * columns.space * part.size
    pieces, start = [], 0
    for index, (a, b) in enumerate(pairwise(part.words)):
        space = b.x0 - a.x1
        figures = is_numeric(a.text) and is_numeric(b.text)
        if (space > wide or (figures and space > 0.2 * part.size)) and columns.nearest(
            a
        ) != columns.nearest(b):
            pieces.append(Line(part.words[start : index + 1]))
            start = index + 1
    return [*pieces, Line(part.words[start:])]


def _disjoint(spans: dict[Span, list[Word]]) -> dict[Span, list[Word]]:
    """Join spans that overlap, so that the cells of a row do not."""
    result: list[tuple[int, int, list[Word]]] = []
    for (start, end), words in sorted(spans.items()):
        if result and start < result[-1][1]:
            first, last, before = result[-1]
            result[-1] = (first, max(last, end), before + words)
        else:
            result.append((start, end, words))
    return {(start, end): words for start, end, words in result}


# --- header --------------------------------------------------------------------------------------


def _header_end(
    rows: Sequence[Row], placed: list[list[Piece]], xs: list[float], rules: Sequence[Rule]
) -> int:
    """How many leading lines are header; 0 where nothing tells."""
    n_cols = len(xs) - 1
    texts: list[list[str]] = [[] for _ in range(n_cols)]
    for pieces in placed:
        for (start, end), piece in pieces:
            if end - start == 1:
                texts[start].append(piece.text)
    figures = {
        col
        for col in range(1, n_cols)
        if len(texts[col]) > 1 and fmean(is_numeric(text) for text in texts[col]) >= 0.5
    }
    first_record = next(
        (
            index
            for index, pieces in enumerate(placed)
            if (mine := [p.text for (s, e), p in pieces if s in figures and e - s == 1])
            and fmean(is_numeric(text) for text in mine) > 0.5
        ),
        None,
    )
    limit = min(len(rows) - 1, MAX_HEADER_LINES if first_record is None else first_record)
    ruled = [
        index
        for index in range(1, limit + 1)
        if has_full_rule(rows[index - 1].line, rows[index].line, xs, rules)
        and len(placed[index - 1]) > 1
    ]
    early = next(
        (
            index
            for index in range(1, min(len(rows) - 1, 6) + 1)
            if has_full_rule(rows[index - 1].line, rows[index].line, xs, rules)
        ),
        None,
    )
    if early is not None and not ruled:
        # Figures above the only line ("Less than 10,000") are part of the header all the same.
        is_only = not any(
            has_full_rule(rows[i - 1].line, rows[i].line, xs, rules)
            for i in range(early + 1, min(len(rows), early + 4))
        )
        return early if is_only else 0
    if ruled:
        return ruled[-1] if first_record is not None else ruled[0]
    if first_record is not None:
        named = [
            index
            for index in range(min(first_record, MAX_HEADER_LINES))
            if any(s in figures or e - s > 1 for (s, e), _ in placed[index])
        ]
        return named[-1] + 1 if named else 0
    bold = 0
    while bold < min(3, len(rows) - 1) and rows[bold].line.bold:
        bold += 1
    return bold if bold < len(rows) and not rows[bold].line.bold else 0


def _header_cells(lines: list[list[Piece]], n_cols: int) -> tuple[list[GridCell], int]:
    """Header lines to cells: lines of one heading joined, headings over several columns above."""
    levels, level = [], 0
    for index, pieces in enumerate(lines):
        if index and _is_sublevel(lines[index - 1], pieces):
            level += 1
        levels.append(level)
    depth = level + 1
    over: dict[tuple[int, Span], list[Word]] = {}
    single: dict[int, list[tuple[int, Line]]] = {}
    for at, pieces in zip(levels, lines, strict=True):
        for span, piece in pieces:
            if span[1] - span[0] > 1:
                over.setdefault((at, span), []).extend(piece.words)
            else:
                single.setdefault(span[0], []).append((at, piece))
    cells: list[GridCell] = []
    taken = [[False] * n_cols for _ in range(depth)]
    for (at, (start, end)), words in sorted(over.items()):
        if any(taken[at][start:end]):
            continue
        taken[at][start:end] = [True] * (end - start)
        cells.append(GridCell(at, start, 1, end - start, words))
    for col, pieces in sorted(single.items()):
        # Below the lowest heading over this column; without one, over all levels.
        row = 0
        while row < depth:
            if taken[row][col]:
                row += 1
                continue
            stop = row
            while stop < depth and not taken[stop][col]:
                stop += 1
            words = [w for at, piece in pieces if row <= at < stop for w in piece.words]
            if words:
                cells.append(GridCell(row, col, stop - row, 1, words))
            row = stop
    return cells, depth


def _is_sublevel(upper: list[Piece], lower: list[Piece]) -> bool:
    """Whether ``lower`` names the single columns under a wide heading in ``upper``."""
    return any(
        end - start > 1
        and any(start <= s and e <= end and (s, e) != (start, end) for (s, e), _ in lower)
        for (start, end), _ in upper
    )


# --- records -------------------------------------------------------------------------------------


def _records(
    rows: Sequence[Row],
    placed: list[list[Piece]],
    xs: list[float],
    rules: Sequence[Rule],
    edges: Sequence[float],
    head: int,
) -> list[list[int]]:
    """Group lines of text to records: a new one begins unless a line only continues the last."""
    widths = [
        max((p.x1 - p.x0 for pieces in placed for (s, e), p in pieces if s == c and e == c + 1), default=0.0)
        for c in range(len(xs) - 1)
    ]
    groups: list[list[int]] = []
    for index in range(head, len(rows)):
        if not groups:
            groups.append([index])
            continue
        upper, lower = rows[index - 1].line, rows[index].line
        is_cut = any(upper.middle_y < edge < lower.middle_y for edge in edges) or has_full_rule(
            upper, lower, xs, rules
        )
        near = lower.top - upper.bottom <= 0.45 * max(upper.size, lower.size)
        if near and not is_cut and _is_wrap(placed, groups[-1], index, widths):
            groups[-1].append(index)
        else:
            groups.append([index])
    return groups


def _is_wrap(
    placed: list[list[Piece]], group: list[int], index: int, widths: list[float]
) -> bool:
    mine = placed[index]
    above = {s for i in group for (s, _), _ in placed[i]}
    texts = {s: piece.text for (s, _), piece in mine}
    if 0 in texts:
        if above == {0}:
            # A label broken over two lines, its figures on the last one.
            return texts[0][:1].islower()
        if 0 in above or not above:
            return False
        # Cells set in the middle of a taller neighbour.
        return any(_is_full(placed, group, s, piece, widths) for (s, _), piece in mine if s)
    if any(is_numeric(text) for text in texts.values()):
        return False
    return all(
        s in above and (e - s > 1 or _is_full(placed, group, s, piece, widths))
        for (s, e), piece in mine
    )


def _is_full(
    placed: list[list[Piece]], group: list[int], col: int, piece: Line, widths: list[float]
) -> bool:
    """Whether the cell's last line had no room for the first word of ``piece``."""
    last = next(
        (p for i in reversed(group) for (s, _), p in placed[i] if s == col),
        None,
    )
    if last is None:
        return False
    first = piece.words[0]
    return (last.x1 - last.x0) + 0.25 * piece.size + (first.x1 - first.x0) > widths[col] - 1


def lines_within(words: Sequence[Word], box: tuple[float, float, float, float]) -> list[Line]:
    """The lines that the words inside ``box`` form."""
    x0, top, x1, bottom = box
    return lines_of(
        word
        for word in words
        if x0 - 1 <= (word.x0 + word.x1) / 2 <= x1 + 1 and top - 1 <= word.middle <= bottom + 1
    )
