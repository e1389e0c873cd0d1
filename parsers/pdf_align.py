"""Tables without lines: columns found by the white space that most rows leave free."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise
from statistics import fmean, median

from parsers.pdf_lattice import Grid, is_numeric
from parsers.pdf_page import Rule
from parsers.pdf_records import (
    EDGE,
    Columns,
    Row,
    build_grid,
    cut_at_gutters,
    has_full_rule,
    rows_of,
)
from parsers.pdf_words import Line

MIN_GUTTER = 2.5  # points
CROSSING = 0.12  # share of rows that may write across a gutter (titles inside the table)
MIN_ROWS = 3
MAX_HEADER_LINES = 6
_CAPTION = re.compile(
    r"^(table|tab\.|bảng|biểu|exhibit|tabelle|tableau)(\s+số)?\s*:?\s*[A-Z]{0,2}[-.]?\d+([-.]\d+)*\b", re.I
)
PROSE_WORDS = 4.2
PROSE_FILL = 0.72


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
    for between in _between_rules(rows, rules):
        first, last = _widened(rows, *between, rules)
        grid = _grid_from_rules(rows[first : last + 1], rules, edges)
        if grid is not None:
            grids.append(grid)
            taken.append((first, last + 1))
    start = 0
    for first, end in [*sorted(taken), (len(rows), len(rows))]:
        part = rows[start:first]
        for run in _runs(part):
            floor = max((g.ys[-1] for g in grids if part and g.ys[-1] <= part[run[0]].line.bottom), default=0.0)
            grid = _grid_from_run(part, *run, rules, edges, floor)
            if grid is not None:
                grids.append(grid)
        start = max(start, end)
    return sorted(grids, key=lambda grid: grid.ys[0])


def is_caption(text: str) -> bool:
    """Whether a line names a table by its number."""
    return bool(_CAPTION.match(text))


def is_drawn_rule(line: Line) -> bool:
    """Whether a line of text is a rule made of dashes, equal signs or underscores."""
    text = line.text.replace(" ", "")
    return len(text) >= 6 and not text.strip("-=_–—+|")


def _between_rules(rows: list[Row], rules: Sequence[Rule]) -> list[tuple[int, int]]:
    """Row ranges between three or more horizontal lines of one width, the second under a header."""
    ranges: list[tuple[int, int]] = []
    groups: list[list[Rule]] = []
    for rule in sorted(rules, key=lambda item: item.at):
        if rule.length < 60:
            continue
        for group in groups:
            if abs(group[0].start - rule.start) < 6 and abs(group[0].end - rule.end) < 6:
                group.append(rule)
                break
        else:
            groups.append([rule])
    for group in groups:
        index = 0
        while index + 2 < len(group):
            found = None
            for last in range(min(len(group) - 1, index + 200), index + 1, -1):
                inside = _rows_between(rows, group[index], group[last])
                head = _rows_between(rows, group[index], group[index + 1])
                if inside and head and len(head) <= MAX_HEADER_LINES and _is_booktabs(rows, inside, head):
                    found = (last, (inside[0], inside[-1]))
                    break
            if found is None:
                index += 1
            else:
                index = found[0]
                if not any(a <= found[1][1] and found[1][0] <= b for a, b in ranges):
                    ranges.append(found[1])
    return sorted(ranges)


def _rows_between(rows: list[Row], upper: Rule, lower: Rule) -> list[int]:
    return [
        index
        for index, row in enumerate(rows)
        if upper.at - 2 < row.line.middle_y < lower.at + 2
        and row.line.x0 > upper.start - 12
        and row.line.x1 < upper.end + 12
    ]


def _is_booktabs(rows: list[Row], inside: list[int], head: list[int]) -> bool:
    if inside[-1] - inside[0] + 1 != len(inside) or any(is_caption(rows[i].line.text) for i in head):
        return False
    picked = [rows[index] for index in inside]
    multi = [row for row in picked if len(row.parts) > 1]
    if len(multi) < 2 or len(multi) < 0.4 * len(picked) or not any(len(rows[i].parts) > 1 for i in head):
        return False
    xs = column_edges(multi)
    return len(xs) > 2 and _looks_tabular(multi, xs, relaxed=True)


def _grid_from_rules(
    rows: list[Row], rules: Sequence[Rule], edges: Sequence[float]
) -> Grid | None:
    xs = column_edges([row for row in rows if len(row.parts) > 1])
    return build_grid(rows, xs, rules, edges)


def _widened(rows: list[Row], first: int, last: int, rules: Sequence[Rule]) -> tuple[int, int]:
    """A range between rules with the row above its first line and below its last one, if alike.

    Lines under every row leave the header outside, lines above every row the last record.
    """
    multi = [row for row in rows[first : last + 1] if len(row.parts) > 1]
    xs = column_edges(multi)
    if len(xs) < 3:
        return first, last
    columns = Columns.of(multi, xs)

    def fits(index: int, near: int) -> bool:
        row = rows[index]
        upper, lower = sorted((row.line, rows[near].line), key=lambda line: line.top)
        return (
            len(row.parts) > 1
            and lower.top - upper.bottom < 1.6 * row.line.size
            and len({columns.span(part) for part in row.parts}) == len(row.parts)
            and not is_caption(row.line.text)
        )

    if first > 0 and fits(first - 1, first) and len(rows[first - 1].parts) == len(xs) - 1:
        first -= 1
    if last + 1 < len(rows) and fits(last + 1, last):
        last += 1
    return first, last


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
    seeds = [row for row in rows[first : last + 1] if row.is_seed]
    xs = column_edges(seeds)
    if len(xs) < 3 or not _looks_tabular(seeds, xs):
        # Headings over several columns hide the gutters that the figures below leave free.
        seeds = [row for row in seeds if _is_figures(row)]
        xs = column_edges(seeds)
        if len(seeds) < MIN_ROWS or len(xs) < 3 or not _looks_tabular(seeds, xs):
            return None
    columns = Columns.of(seeds, xs)
    crossed = 0
    for _ in range(MAX_HEADER_LINES):
        if first == 0 or not _belongs_above(
            rows[first - 1], rows[first], columns, floor
        ):
            break
        crossed += has_full_rule(rows[first - 1].line, rows[first].line, xs, rules)
        if crossed > 1:
            break
        first -= 1
    while last + 1 < len(rows) and _continues_below(rows[last], rows[last + 1], xs):
        last += 1
    return build_grid(rows[first : last + 1], xs, rules, edges)


def column_edges(rows: Sequence[Row]) -> list[float]:
    """Edges of the columns that ``rows`` agree on: outer sides and the middles of the gutters."""
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
    return _drop_thin(rows, edges)


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
        if counts[least] >= min(2, len(rows)):
            return edges
        del edges[least if least > 0 else 1]
    return edges


def _column(part: Line, edges: Sequence[float]) -> int:
    middle = (part.x0 + part.x1) / 2
    for index in range(1, len(edges) - 1):
        if middle < edges[index]:
            return index - 1
    return len(edges) - 2


def _looks_tabular(rows: list[Row], xs: list[float], *, relaxed: bool = False) -> bool:
    columns: list[list[Line]] = [[] for _ in xs[1:]]
    crossing = 0
    for row in rows:
        for part in row.parts:
            inner = sum(part.x0 < edge - 1 and part.x1 > edge + 1 for edge in xs[1:-1])
            crossing += inner > 0
            columns[_column(part, xs)].append(part)
    if any(not column for column in columns) or crossing > 0.25 * len(rows):
        return False
    texts = [[part.text for part in column] for column in columns]
    figures = [fmean(is_numeric(text) for text in column) for column in texts]
    prose = [_is_prose(column, xs[i], xs[i + 1], len(rows)) for i, column in enumerate(columns)]
    if sum(prose) >= 2 or (any(prose) and len(rows) >= 6 and not relaxed):
        return False
    if relaxed:
        return True
    if any("...." in text or "…" in text or ". . ." in text for column in texts for text in column):
        return False
    if len(columns) == 2 and (max(len(text) for text in texts[0]) < 5 or figures[1] < 0.7):
        return False
    aligned = [_is_aligned(column, 0.6) for column in columns]
    if sum(aligned) < max(2, 0.5 * len(columns)):
        return False
    if any(fmean(text.endswith(":") for text in column) > 0.5 for column in texts):
        return False  # a form: labels and what was filled in
    if not any(any(c.isalpha() for c in text) for column in texts for text in column):
        return False
    if max(figures[1:]) >= 0.6:
        return True
    # Without figures only wide gutters and straight edges tell labels from stretched prose.
    gaps = [(b.x0 - a.x1) / row.line.size for row in rows for a, b in pairwise(row.parts)]
    straight = sum(_is_aligned(column, 0.45) for column in columns)
    return len(columns) >= 3 and _is_terse(texts) and median(gaps) > 1.5 and straight >= len(columns) - 1


def _is_figures(row: Row) -> bool:
    rest = [is_numeric(part.text) for part in row.parts[1:]]
    return bool(rest) and fmean(rest) > 0.5


def _is_terse(texts: list[list[str]]) -> bool:
    """Whether cells are labels, not pieces of sentences."""
    words = [fmean(len(text.split()) for text in column) for column in texts]
    return median(words) <= 3 and max(words) < 9


def _is_prose(column: list[Line], left: float, right: float, n_rows: int) -> bool:
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
    return all(
        len(part.words) <= 6 and (part.x1 - part.x0) < 0.6 * columns.width for part in parts
    )


def _continues_below(last: Row, row: Row, xs: list[float]) -> bool:
    """Whether ``row`` is the wrapped rest of the table's last record."""
    if row.line.top - last.line.bottom > 0.45 * last.line.size:
        return False
    inside = row.line.x0 > xs[1] - EDGE and row.line.x1 <= xs[-1] + EDGE
    return inside and len(row.parts) < len(xs) - 1
