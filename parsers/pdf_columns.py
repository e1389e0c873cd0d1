"""Columns of a table without vertical lines: where they are, and whether they are columns."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import fmean, median

from parsers.pdf_drawings import Rule
from parsers.pdf_lattice import is_numeric
from parsers.pdf_words import Line, Word, segments_of

CELL_GAP = 0.85  # of the font size; a wider space inside a line may part two cells
MIN_GUTTER = 2.5  # points
CROSSING = 0.12  # share of rows that may write across a gutter (titles inside the table)
EDGE = 3.0  # points within which two edges are aligned
FULL = 0.75  # share of the table's width that a line must cover to part all columns
PROSE_WORDS = 4.2
PROSE_FILL = 0.72

_ITEM = re.compile(
    r"^(?:[^\w\s]|\(?(?:\d{1,3}|[a-zđ]|[ivx]{1,5})[.)]|\d{1,2}(?:\.\d{1,2})+\.?)$", re.I
)

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
            # A heading at the other side of its column than the figures below it.
            shared = [min(piece.x1, b) - max(piece.x0, a) for a, b in pairwise(self.xs)]
            first = max(range(len(shared)), key=lambda col: shared[col])
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


def column_edges(rows: Sequence[Row], support: Sequence[Row] = ()) -> list[float]:
    """Edges of the columns that ``rows`` agree on: outer sides and the middles of the gutters.

    ``support`` are all rows around them, which may fill a column that ``rows`` leave empty.
    """
    if not rows:
        return []
    left = min(row.line.x0 for row in rows)
    right = max(row.line.x1 for row in rows)
    allowed = int(CROSSING * len(rows)) if len(rows) > 4 else 0
    events: list[tuple[float, int]] = []
    for row in rows:
        for part in row.parts:
            events += [(part.x0, 1), (part.x1, -1)]
    events.sort()
    edges, depth = [left - 1], 0
    gap: list[tuple[int, float, float]] = []  # depth, start and end of the free stretches
    for (position, change), (following, _) in pairwise([*events, (right, 0)]):
        depth += change
        if depth <= allowed and following > position:
            gap.append((depth, position, following))
        elif depth > allowed and gap:
            edges += _gutter(gap)
            gap = []
    edges.append(right + 1)
    return _drop_thin(support or rows, edges)


def _gutter(gap: list[tuple[int, float, float]]) -> list[float]:
    """The middle of the emptiest stretch of a gap, if the gap is wide enough."""
    if gap[-1][2] - gap[0][1] < MIN_GUTTER:
        return []
    least = min(depth for depth, _, _ in gap)
    start, end = max(
        ((start, end) for depth, start, end in gap if depth == least),
        key=lambda stretch: stretch[1] - stretch[0],
    )
    return [(start + end) / 2]


def _drop_thin(rows: Sequence[Row], edges: list[float]) -> list[float]:
    """Take back columns that hardly any row fills."""
    while len(edges) > 2:
        counts = [
            sum(any(_column(part, edges) == col for part in row.parts) for row in rows)
            for col in range(len(edges) - 1)
        ]
        least = min(range(len(counts)), key=lambda col: counts[col])
        if counts[least] >= min(2, len(rows)) or _is_named(rows[0], edges):
            return edges
        del edges[least if least > 0 else 1]
    return edges


def _is_named(row: Row, edges: Sequence[float]) -> bool:
    """Whether the first row has a heading for each column, the empty ones too."""
    found = [_column(part, edges) for part in row.parts]
    return found == list(range(len(edges) - 1))


def _column(part: Line, edges: Sequence[float]) -> int:
    return bisect_right(edges, (part.x0 + part.x1) / 2, 1, len(edges) - 1) - 1


def looks_tabular(rows: list[Row], xs: list[float], *, relaxed: bool = False) -> bool:
    """Whether ``rows`` in the columns between ``xs`` are a table and not columns of prose.

    ``relaxed`` is for rows between horizontal lines, where only prose and rows that run across
    the columns speak against a table.
    """
    columns: list[list[Line]] = [[] for _ in xs[1:]]
    crossing = 0
    for row in rows:
        for part in row.parts:
            inner = sum(part.x0 < edge - 1 and part.x1 > edge + 1 for edge in xs[1:-1])
            crossing += inner > 0
            columns[_column(part, xs)].append(part)
    if any(not column for column in columns) or crossing > 0.25 * len(rows):
        return False
    prose = [_is_prose(column, len(rows)) for column in columns]
    if sum(prose) >= 2 or (prose[-1] and len(rows) >= 6 and not relaxed):
        return False
    return relaxed or _has_cells(rows, columns)


def _has_cells(rows: list[Row], columns: list[list[Line]]) -> bool:
    texts = [[part.text for part in column] for column in columns]
    figures = [fmean(is_numeric(text) for text in column) for column in texts]
    everything = [text for column in texts for text in column]
    is_contents = any(leader in text for text in everything for leader in ("....", "…", ". . ."))
    is_form = any(fmean(text.endswith(":") for text in column) > 0.5 for column in texts)
    is_numbered = fmean(bool(_ITEM.match(text)) for text in texts[0]) > 0.5
    is_list = len(columns) == 2 and (is_numbered or figures[1] < 0.7)
    has_words = any(char.isalpha() for text in everything for char in text)
    is_contents = is_contents or (len(columns) == 2 and _are_pages(texts[1]))
    if is_contents or is_form or is_list or not has_words:
        return False
    if sum(_is_aligned(column, 0.6) for column in columns) < max(2, 0.5 * len(columns)):
        return False
    if max(figures[1:]) >= 0.6:
        return True
    # Without figures only wide gutters and straight edges tell labels from stretched prose.
    gaps = [(b.x0 - a.x1) / row.line.size for row in rows for a, b in pairwise(row.parts)]
    straight = sum(_is_aligned(column, 0.45) for column in columns)
    is_wide = median(gaps) > 1.5 and straight >= len(columns) - 1
    return len(columns) >= 3 and is_wide and _is_terse(texts)


def _are_pages(texts: list[str]) -> bool:
    """Whether figures rise from line to line as the page numbers of a table of contents do."""
    if not all(text.isdigit() and len(text) <= 3 for text in texts):
        return False
    return all(int(a) <= int(b) for a, b in pairwise(texts))


def best_edges(rows: Sequence[Row]) -> list[float]:
    """Edges of the columns by all rows, or by those with figures where they show more.

    Headings over several columns hide the gutters that the figures below leave free.
    """
    xs = column_edges(rows)
    figures = [row for row in rows if is_figures(row)]
    finer = column_edges(figures, rows) if len(figures) > 2 else xs
    return finer if len(finer) > len(xs) and looks_tabular(figures, finer, relaxed=True) else xs


def is_figures(row: Row) -> bool:
    """Whether most pieces after the first are figures."""
    rest = [is_numeric(part.text) for part in row.parts[1:]]
    return bool(rest) and fmean(rest) > 0.5


def _is_terse(texts: list[list[str]]) -> bool:
    """Whether cells are labels, not pieces of sentences."""
    words = [fmean(len(text.split()) for text in column) for column in texts]
    return median(words) <= 3 and max(words) < 9


def _is_prose(column: list[Line], n_rows: int) -> bool:
    width = max(max(part.x1 for part in column) - min(part.x0 for part in column), 1.0)
    words = fmean(len(part.words) for part in column)
    fill = fmean((part.x1 - part.x0) / width for part in column)
    return words >= PROSE_WORDS and fill >= PROSE_FILL and len(column) >= 0.6 * n_rows


def _is_aligned(column: list[Line], share: float) -> bool:
    for measure in (
        [part.x0 for part in column],
        [part.x1 for part in column],
        [(part.x0 + part.x1) / 2 for part in column],
    ):
        best = max(sum(abs(value - other) <= EDGE for other in measure) for value in measure[:40])
        if best >= share * len(column):
            return True
    return False
