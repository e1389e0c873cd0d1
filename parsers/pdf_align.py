"""Tables without lines: runs of text lines whose pieces stand in columns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import pairwise

from parsers.pdf_booktabs import between_rules, is_caption, widened
from parsers.pdf_columns import (
    EDGE,
    Columns,
    Row,
    best_edges,
    column_edges,
    cut_at_gutters,
    has_full_rule,
    is_figures,
    looks_tabular,
    rows_of,
)
from parsers.pdf_drawings import Rule
from parsers.pdf_lattice import Grid, is_numeric
from parsers.pdf_records import build_grid
from parsers.pdf_words import Line

MIN_ROWS = 3
MAX_HEADER_LINES = 6


def find_aligned(
    lines: Sequence[Line], rules: Sequence[Rule] = (), edges: Sequence[float] = ()
) -> list[Grid]:
    """Tables among ``lines`` (top to bottom, one column of the page) that white space shows.

    ``rules`` are horizontal lines on the page; ``edges`` are heights of further borders of rows
    (bands of colour). Between rules of equal length weaker signs suffice than in the open.
    """
    rows = rows_of(lines)
    drawn = [row for row in rows if is_drawn_rule(row.line)]
    rules = [
        *rules,
        *(Rule(True, word.middle, word.x0, word.x1) for row in drawn for word in row.line.words),
    ]
    rows = [row for row in rows if not is_drawn_rule(row.line)]
    taken: list[tuple[int, int]] = []
    grids: list[Grid] = []
    for between in between_rules(rows, rules):
        first, last = widened(rows, *between, rules)
        grid = _grid_from_rules(rows[first : last + 1], rules, edges)
        if grid is not None:
            grids.append(grid)
            taken.append((first, last + 1))
    start = 0
    for first, end in [*sorted(taken), (len(rows), len(rows))]:
        part = rows[start:first]
        for run in _runs(part):
            floor = max(
                (g.ys[-1] for g in grids if part and g.ys[-1] <= part[run[0]].line.bottom),
                default=0.0,
            )
            grid = _grid_from_run(part, *run, rules, edges, floor)
            if grid is not None:
                grids.append(grid)
        start = max(start, end)
    return sorted(grids, key=lambda grid: grid.ys[0])


def is_drawn_rule(line: Line) -> bool:
    """Whether a line of text is a rule made of dashes, equal signs or underscores."""
    text = line.text.replace(" ", "")
    return len(text) >= 6 and not text.strip("-=_–—+|")


def _grid_from_rules(rows: list[Row], rules: Sequence[Rule], edges: Sequence[float]) -> Grid | None:
    xs = best_edges([row for row in rows if len(row.parts) > 1])
    return build_grid(rows, xs, rules, edges)


def _runs(rows: list[Row]) -> list[tuple[int, int]]:
    """Ranges (first, last) of rows that read like records, few other rows between them."""
    runs: list[tuple[int, int]] = []
    start, last = -1, -1
    for index, row in enumerate(rows):
        if not row.is_seed:
            continue
        if start >= 0 and (
            index - last > 4
            or not _keeps_pace(rows, last, index)
            or _prose_between(rows, last, index)
            or _opens_another(rows, last, index)
        ):
            runs.append((start, last))
            start = -1
        if start < 0:
            start = index
        last = index
    if start >= 0:
        runs.append((start, last))
    return [
        run for run in runs if sum(rows[i].is_seed for i in range(run[0], run[1] + 1)) >= MIN_ROWS
    ]


def _keeps_pace(rows: list[Row], upper: int, lower: int) -> bool:
    return all(
        b.line.top - a.line.bottom < 2.6 * max(a.line.size, b.line.size)
        for a, b in pairwise(rows[upper : lower + 1])
    )


def _opens_another(rows: list[Row], upper: int, lower: int) -> bool:
    """Whether a title set apart and a row of names under it begin another table.

    The title of a group has records under it, which hold figures.
    """
    for index in range(upper + 1, lower):
        title, under = rows[index], rows[index + 1]
        space = title.line.top - rows[index - 1].line.bottom
        is_apart = space > 0.6 * title.line.size + (under.line.top - title.line.bottom)
        if (
            len(title.parts) == 1
            and is_apart
            and len(under.parts) > 1
            and not any(is_numeric(part.text) for part in (*title.parts, *under.parts))
        ):
            return True
    return False


def _prose_between(rows: list[Row], upper: int, lower: int) -> bool:
    """Whether full lines of running text part two rows."""
    width = max(row.line.x1 for row in rows[upper : lower + 1]) - min(
        row.line.x0 for row in rows[upper : lower + 1]
    )
    inner = rows[upper + 1 : lower]
    full = [
        row
        for row in inner
        if len(row.parts) == 1
        and row.line.x1 - row.line.x0 > 0.75 * width
        and len(row.line.words) > 7
    ]
    return len(full) >= 2


def _grid_from_run(
    rows: list[Row],
    first: int,
    last: int,
    rules: Sequence[Rule],
    edges: Sequence[float],
    floor: float,
) -> Grid | None:
    inside = rows[first : last + 1]
    seeds = [row for row in inside if row.is_seed]
    xs = column_edges(seeds, inside)
    if len(xs) < 3 or not looks_tabular(seeds, xs):
        # Headings over several columns hide the gutters that the figures below leave free.
        seeds = [row for row in seeds if is_figures(row)]
        xs = column_edges(seeds)
        if len(seeds) < MIN_ROWS or len(xs) < 3 or not looks_tabular(seeds, xs):
            return None
    xs = _with_labels(rows[first : last + 1], xs)
    columns = Columns.of(rows[first : last + 1], xs)
    crossed = 0
    for _ in range(MAX_HEADER_LINES):
        if first == 0 or not _belongs_above(rows[first - 1], rows[first], columns, floor):
            break
        crossed += has_full_rule(rows[first - 1].line, rows[first].line, xs, rules)
        if crossed > 1:
            break
        first -= 1
    while last + 1 < len(rows) and _continues_below(rows[last], rows[last + 1], xs):
        last += 1
    grid = build_grid(rows[first : last + 1], xs, rules, edges)
    return None if grid is None or _is_scattered(grid) else grid


def _is_scattered(grid: Grid) -> bool:
    """Whether most rows hold one cell and nothing heads the columns: the figures of a chart."""
    if grid.header_rows is not None:
        return False
    filled = Counter(cell.row for cell in grid.cells if cell.words)
    return sum(count > 1 for count in filled.values()) < 0.5 * grid.n_rows


def _with_labels(rows: list[Row], xs: list[float]) -> list[float]:
    """Add the column of labels that stand at other heights than their figures."""
    labels = [row.parts[0] for row in rows if len(row.parts) == 1 and row.line.x1 < xs[0] + EDGE]
    if len(labels) < 0.5 * sum(row.is_seed for row in rows):
        return xs
    return [min(label.x0 for label in labels) - 1, *xs]


def _belongs_above(row: Row, below: Row, columns: Columns, floor: float) -> bool:
    """Whether ``row`` is a line of the header (or a record) of the table that ``below`` begins."""
    xs = columns.xs
    if row.line.top < floor - 1 or is_caption(row.line.text):
        return False
    if below.line.top - row.line.bottom > 1.7 * max(row.line.size, below.line.size):
        return False
    if row.line.x0 < xs[0] - 12 or row.line.x1 > xs[-1] + 12:
        return False
    parts = [piece for part in row.parts for piece in cut_at_gutters(part, columns)]
    if len(parts) == 1:
        # A heading over several columns, or the upper line of one header cell.
        return row.line.x0 > xs[1] - EDGE and len(row.line.words) <= 6
    return all(len(part.words) <= 6 and (part.x1 - part.x0) < 0.6 * columns.width for part in parts)


def _continues_below(last: Row, row: Row, xs: list[float]) -> bool:
    """Whether ``row`` is the wrapped rest of the table's last record."""
    if row.line.top - last.line.bottom > 0.45 * last.line.size:
        return False
    if row.line.x1 < xs[1] + EDGE and row.line.x0 > xs[0] - EDGE:
        is_beside = last.line.x0 < xs[1] or row.line.top < last.line.bottom
        return row.line.text[:1].islower() and is_beside
    inside = row.line.x0 > xs[1] - EDGE and row.line.x1 <= xs[-1] + EDGE
    return inside and len(row.parts) < len(xs) - 1
