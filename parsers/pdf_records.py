"""Rows of text to a grid: pieces to columns, wrapped lines to records."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from parsers.pdf_columns import EDGE, Columns, Piece, Row, Span, cut_at_gutters, has_full_rule
from parsers.pdf_drawings import Rule
from parsers.pdf_header import header_cells, header_end
from parsers.pdf_lattice import Grid, GridCell, is_numeric
from parsers.pdf_words import Line, Word


def build_grid(
    rows: Sequence[Row], xs: list[float], rules: Sequence[Rule] = (), edges: Sequence[float] = ()
) -> Grid | None:
    """Put rows of text into the columns ``xs``; None where fewer than two records result."""
    columns = Columns.of([row for row in rows if row.is_seed] or rows, xs)
    placed = [_spread(row, columns, rules) for row in rows]
    head = header_end(rows, placed, xs, rules)
    cells, depth = header_cells(placed[:head], len(xs) - 1) if head else ([], 0)
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
    if len(pieces) == columns.count > len(set(spans)):
        return [((col, col + 1), piece) for col, piece in enumerate(pieces)]
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
        max(
            (p.x1 - p.x0 for pieces in placed for (s, e), p in pieces if s == c and e == c + 1),
            default=0.0,
        )
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
        # Cells set in the middle beside a taller one stand at half a line's distance.
        beside = lower.top < upper.bottom - 0.3 * min(upper.size, lower.size)
        if beside and not is_cut and _are_apart(placed[index - 1], placed[index]):
            groups[-1].append(index)
            continue
        near = lower.top - upper.bottom <= 0.45 * max(upper.size, lower.size)
        if near and not is_cut and _is_wrap(placed, groups[-1], index, widths):
            groups[-1].append(index)
        else:
            groups.append([index])
    return groups


def _are_apart(upper: list[Piece], lower: list[Piece]) -> bool:
    """Whether no piece of one line stands over a column of the other."""
    return not any(a < d and c < b for (a, b), _ in upper for (c, d), _ in lower)


def _is_wrap(placed: list[list[Piece]], group: list[int], index: int, widths: list[float]) -> bool:
    mine = placed[index]
    above = {s for i in group for (s, _), _ in placed[i]}
    texts = {s: piece.text for (s, _), piece in mine}
    if 0 in texts:
        if above == {0}:
            # A label broken over two lines, its figures on the last one.
            return texts[0][:1].islower()
        if 0 in above and len(texts) == 1:
            # A label broken over two lines, its figures on the first one.
            return texts[0][:1].islower() or _is_full(placed, group, 0, mine[0][1], widths)
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
