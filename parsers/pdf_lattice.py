"""Ruled tables: lines to grids of cells, merged cells where lines are missing."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from parsers.pdf_drawings import Box, Rule
from parsers.pdf_page import Page
from parsers.pdf_words import Line, Word, lines_of, segments_of

SNAP = 2.5  # points within which parallel lines are one
JOIN_GAP = 3.5  # points between two pieces of one line
TOUCH = 3.5  # points within which two lines meet
MIN_TRACK = 4.5  # narrower rows and columns are double lines
COVER = 0.55  # share of a cell's side that a line must cover to be its border
MAX_RULES = 1500
_NUMERIC = re.compile(r"^[^\w]*[\d.,  ]*\d[\d.,  ]*\s?[%*†‡đ₫$€]?[^\w]*$|^[-–—*†‡.]+$|^n/?a$", re.I)


@dataclass(slots=True)
class GridCell:
    """A cell with the words in it."""

    row: int
    col: int
    row_span: int
    col_span: int
    words: list[Word] = field(default_factory=list)


@dataclass(slots=True)
class Grid:
    """A table on one page: column edges ``xs`` and row edges ``ys`` in points.

    ``header_rows`` is None where the lines and fonts say nothing about it.
    """

    xs: list[float]
    ys: list[float]
    cells: list[GridCell]
    header_rows: int | None = None
    ruled: bool = True

    @property
    def box(self) -> Box:
        """Left, top, right, bottom."""
        return (self.xs[0], self.ys[0], self.xs[-1], self.ys[-1])

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.ys) - 1

    @property
    def n_cols(self) -> int:
        """Number of columns."""
        return len(self.xs) - 1


def is_numeric(text: str) -> bool:
    """Whether a cell holds a figure (or a mark that stands for one), whatever its notation."""
    return bool(_NUMERIC.match(text.strip()))


def find_ruled(page: Page) -> list[Grid]:
    """Tables drawn with lines, in reading order."""
    horizontal = merge_rules([rule for rule in page.rules if rule.horizontal][:MAX_RULES])
    vertical = merge_rules([rule for rule in page.rules if not rule.horizontal][:MAX_RULES])
    grids = []
    for across, down in _components(horizontal, vertical):
        grid = _grid_of(across, down, page)
        if grid is not None:
            grids.append(grid)
    grids = [grid for grid in grids if not any(_inside(grid, other) for other in grids)]
    return sorted(grids, key=lambda grid: (grid.ys[0], grid.xs[0]))


def _inside(grid: Grid, other: Grid) -> bool:
    a, b = grid.box, other.box
    return (
        grid is not other
        and a[0] >= b[0] - 1
        and a[1] >= b[1] - 1
        and a[2] <= b[2] + 1
        and a[3] <= b[3] + 1
        and (b[2] - b[0]) * (b[3] - b[1]) > (a[2] - a[0]) * (a[3] - a[1])
    )


def merge_rules(rules: Iterable[Rule]) -> list[Rule]:
    """Join pieces of one line, and parallel lines within ``SNAP``, to single lines."""
    merged: list[Rule] = []
    group: list[Rule] = []
    for rule in sorted(rules, key=lambda item: item.at):
        if group and rule.at - group[0].at > SNAP:
            merged += _merge_group(group)
            group = []
        group.append(rule)
    merged += _merge_group(group)
    return merged


def _merge_group(group: list[Rule]) -> list[Rule]:
    result: list[Rule] = []
    for rule in sorted(group, key=lambda item: item.start):
        last = result[-1] if result else None
        if last is not None and rule.start <= last.end + JOIN_GAP:
            result[-1] = Rule(last.horizontal, last.at, last.start, max(last.end, rule.end))
        else:
            result.append(Rule(rule.horizontal, group[0].at, rule.start, rule.end))
    return result


def _components(across: list[Rule], down: list[Rule]) -> list[tuple[list[Rule], list[Rule]]]:
    """Groups of lines that meet one another."""
    parent = list(range(len(across) + len(down)))

    def find(item: int) -> int:
        while parent[item] != item:
            parent[item] = parent[parent[item]]
            item = parent[item]
        return item

    for i, h in enumerate(across):
        for j, v in enumerate(down):
            if (
                h.start - TOUCH <= v.at <= h.end + TOUCH
                and v.start - TOUCH <= h.at <= v.end + TOUCH
            ):
                parent[find(i)] = find(len(across) + j)
    groups: dict[int, tuple[list[Rule], list[Rule]]] = {}
    for i, h in enumerate(across):
        groups.setdefault(find(i), ([], []))[0].append(h)
    for j, v in enumerate(down):
        groups.setdefault(find(len(across) + j), ([], []))[1].append(v)
    return [group for group in groups.values() if len(group[0]) >= 2 and len(group[1]) >= 1]


def _tracks(positions: Iterable[float]) -> list[float]:
    edges: list[float] = []
    for position in sorted(positions):
        if not edges or position - edges[-1] >= MIN_TRACK:
            edges.append(position)
    return edges


def _grid_of(across: list[Rule], down: list[Rule], page: Page) -> Grid | None:
    left, right = min(rule.start for rule in across), max(rule.end for rule in across)
    top, bottom = min(rule.start for rule in down), max(rule.end for rule in down)
    xs = _tracks([rule.at for rule in down if rule.length > 6] + [left, right])
    ys = _tracks([rule.at for rule in across if rule.length > 6] + [top, bottom])
    if len(xs) < 3 or len(ys) < 2 or len(xs) > 80:
        return None
    words = [
        word
        for word in page.words
        if xs[0] - 1 <= (word.x0 + word.x1) / 2 <= xs[-1] + 1
        and ys[0] - 1 <= word.middle <= ys[-1] + 1
    ]
    right_of = _borders(down, xs, ys)
    below = _borders(across, ys, xs)
    cells = _rectangles(len(ys) - 1, len(xs) - 1, right_of, below)
    grid = Grid(xs, ys, cells)
    _place(words, grid)
    grid = split_spans(split_rows(drop_empty(grid)))
    return grid if _is_table(grid, page) else None


def _borders(rules: list[Rule], at: list[float], along: list[float]) -> list[list[bool]]:
    """For each inner edge ``at[k]`` and track of ``along``: whether a line covers it."""
    table = []
    for edge in at[1:-1]:
        near = [rule for rule in rules if abs(rule.at - edge) < MIN_TRACK]
        row = []
        for start, end in pairwise(along):
            covered = sum(max(0.0, min(rule.end, end) - max(rule.start, start)) for rule in near)
            row.append(covered >= COVER * (end - start))
        table.append(row)
    return table


def _rectangles(
    n_rows: int, n_cols: int, right_of: list[list[bool]], below: list[list[bool]]
) -> list[GridCell]:
    """Grow each cell right, then down, over missing borders; the result is a partition."""
    taken = [[False] * n_cols for _ in range(n_rows)]
    cells = []
    for row in range(n_rows):
        for col in range(n_cols):
            if taken[row][col]:
                continue
            width = 1
            while (
                col + width < n_cols
                and not right_of[col + width - 1][row]
                and not taken[row][col + width]
            ):
                width += 1
            height = 1
            while row + height < n_rows and _extends(
                row + height, col, width, right_of, below, taken, n_cols
            ):
                height += 1
            for r in range(row, row + height):
                for c in range(col, col + width):
                    taken[r][c] = True
            cells.append(GridCell(row, col, height, width))
    return cells


def _extends(
    row: int,
    col: int,
    width: int,
    right_of: list[list[bool]],
    below: list[list[bool]],
    taken: list[list[bool]],
    n_cols: int,
) -> bool:
    if any(below[row - 1][c] or taken[row][c] for c in range(col, col + width)):
        return False
    if any(right_of[c][row] for c in range(col, col + width - 1)):
        return False
    return col + width == n_cols or right_of[col + width - 1][row] or taken[row][col + width]


def _place(words: Iterable[Word], grid: Grid) -> None:
    owner = {
        (r, c): cell
        for cell in grid.cells
        for r in range(cell.row, cell.row + cell.row_span)
        for c in range(cell.col, cell.col + cell.col_span)
    }
    for word in words:
        row = _track_of(word.middle, grid.ys)
        col = _track_of((word.x0 + word.x1) / 2, grid.xs)
        owner[row, col].words.append(word)


def _track_of(position: float, edges: Sequence[float]) -> int:
    return bisect_right(edges, position, 1, len(edges) - 1) - 1


def drop_empty(grid: Grid) -> Grid:
    """Take out rows and columns in which no cell with words begins or stands alone."""
    rows = [
        row
        for row in range(grid.n_rows)
        if any(c.words and c.row <= row < c.row + c.row_span for c in grid.cells)
    ]
    cols = [col for col in range(grid.n_cols) if any(c.words and c.col == col for c in grid.cells)]
    rows = [
        row
        for row in rows
        if any(c.words and c.row == row for c in grid.cells)
        or any(c.words and c.row_span > 1 and c.row < row < c.row + c.row_span for c in grid.cells)
    ]
    if len(rows) == grid.n_rows and len(cols) == grid.n_cols:
        return grid
    if not rows or not cols:
        return Grid(grid.xs, grid.ys, [])
    cells = []
    for cell in grid.cells:
        r = [row for row in rows if cell.row <= row < cell.row + cell.row_span]
        c = [col for col in cols if cell.col <= col < cell.col + cell.col_span]
        if r and c:
            cells.append(GridCell(rows.index(r[0]), cols.index(c[0]), len(r), len(c), cell.words))
    xs = [grid.xs[col] for col in cols] + [grid.xs[cols[-1] + 1]]
    ys = [grid.ys[row] for row in rows] + [grid.ys[rows[-1] + 1]]
    return Grid(xs, ys, cells, grid.header_rows, grid.ruled)


def split_rows(grid: Grid) -> Grid:
    """Part rows that hold several records without a line between them.

    A record shows as a line of text at the same height in most columns, with a figure in at least
    one column on each line: wrapped words never look like that.
    """
    cuts: dict[int, list[float]] = {}
    for row in range(grid.n_rows):
        inner = [c for c in grid.cells if c.row == row and c.row_span == 1 and c.words]
        lines = [lines_of(cell.words) for cell in inner]
        edges = _record_edges(lines)
        if edges:
            cuts[row] = edges
    if not cuts:
        return grid
    start_of: list[int] = []
    ys: list[float] = []
    for row in range(grid.n_rows):
        start_of.append(len(ys))
        ys += [grid.ys[row], *cuts.get(row, [])]
    start_of.append(len(ys))
    ys.append(grid.ys[-1])
    cells = []
    for cell in grid.cells:
        first, last = start_of[cell.row], start_of[cell.row + cell.row_span]
        if cell.row_span > 1 or cell.row not in cuts:
            cells.append(GridCell(first, cell.col, last - first, cell.col_span, cell.words))
            continue
        parts = [GridCell(r, cell.col, 1, cell.col_span) for r in range(first, last)]
        for word in cell.words:
            parts[_track_of(word.middle, ys[first : last + 1])].words.append(word)
        cells += parts
    return Grid(grid.xs, ys, cells, grid.header_rows, grid.ruled)


def split_spans(grid: Grid) -> Grid:
    """Part a cell over several columns that holds texts a wide space apart.

    The lines between the columns then begin below it, or are drawn in some rows only. The first
    row may be the table's title, and is parted only where it names every column.
    """
    cells: list[GridCell] = []
    for cell in grid.cells:
        parts = _side_by_side(cell.words) if cell.col_span > 1 else []
        is_title = cell.row == 0 and cell.col_span == grid.n_cols != len(parts)
        cuts = [_edge_between(a, b, grid.xs) for a, b in pairwise(parts)]
        if not cuts or None in cuts or is_title or len(set(cuts)) < len(cuts):
            cells.append(cell)
            continue
        edges = [cell.col, *(cut for cut in cuts if cut is not None), cell.col + cell.col_span]
        for part, start, end in zip(parts, edges, edges[1:], strict=False):
            cells.append(GridCell(cell.row, start, cell.row_span, end - start, part.words))
    return Grid(grid.xs, grid.ys, cells, grid.header_rows, grid.ruled)


def _side_by_side(words: Sequence[Word]) -> list[Line]:
    """Words of a cell parted where white runs through all its lines."""
    if not words:
        return []
    lines = lines_of(words)
    gap = (1.2 if len(lines) == 1 else 0.85) * lines[0].size
    return segments_of(Line(sorted(words, key=lambda word: word.x0)), gap)


def _edge_between(left: Line, right: Line, xs: Sequence[float]) -> int | None:
    """The column edge nearest to the middle of the space between two pieces of text."""
    inside = [k for k, x in enumerate(xs) if left.x1 - 3 <= x <= right.x0 + 3]
    middle = (left.x1 + right.x0) / 2
    return min(inside, key=lambda k: abs(xs[k] - middle)) if inside else None


def _record_edges(columns: list[list[Line]]) -> list[float]:
    """Heights at which to cut a row whose cells hold these lines, or nothing."""
    if len(columns) < 2:
        return []
    most = max(len(lines) for lines in columns)
    if most < 2:
        return []
    figures = [
        lines
        for lines in columns
        if len(lines) >= max(2, 0.6 * most) and all(is_numeric(line.text) for line in lines)
    ]
    if not figures:
        return []
    guide = max(figures, key=len)
    full = sum(len(lines) >= 0.8 * len(guide) for lines in columns)
    if full < 0.5 * len(columns):
        return []
    spacing = min((b.bottom - a.bottom for a, b in pairwise(guide)), default=0.0)
    label = max((lines for lines in columns), key=len)
    if len(label) > len(guide) and spacing > 1.6 * guide[0].size:
        label = guide
    return [(upper.bottom + lower.top) / 2 for upper, lower in pairwise(label)]


def _is_table(grid: Grid, page: Page) -> bool:
    filled = [cell for cell in grid.cells if cell.words]
    if grid.n_cols < 2 or len(filled) < 3:
        return False
    if len({cell.col for cell in filled}) < 2:
        return False
    if grid.n_rows < 2 and len(filled) < 3:
        return False
    if grid.n_rows * grid.n_cols > 12 and len(filled) < 0.15 * len(grid.cells):
        return False
    spoken = sum(any(word.text.isalpha() for word in cell.words) for cell in filled)
    if not spoken and any(cell.row_span > 1 for cell in filled):
        return False  # the grid lines of a chart, with figures at its bars
    longest = max(len(cell.words) for cell in filled)
    is_layout = grid.n_rows <= 2 and longest > 80
    whole_page = page.width * page.height
    area = (grid.xs[-1] - grid.xs[0]) * (grid.ys[-1] - grid.ys[0])
    return not (is_layout or (area > 0.8 * whole_page and longest > 150))
