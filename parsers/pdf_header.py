"""The header of a table without lines between its cells: how many lines, and which cells."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise
from statistics import fmean

from parsers.pdf_columns import Piece, Row, Span, has_full_rule
from parsers.pdf_drawings import Rule
from parsers.pdf_lattice import GridCell, is_numeric
from parsers.pdf_words import Line, Word

MAX_HEADER_LINES = 8
_YEAR = re.compile(r"^(?:(?:19|20)\d\d[*EFP]?\s*)+$")
AIRY = 1.45  # font sizes from line to line; the lines of one cell stand closer


def header_end(
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
            and not _are_years(pieces)
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
        return _until_record(rows, placed, named[-1] + 1, n_cols) if named else 0
    bold = 0
    while bold < min(3, len(rows) - 1) and rows[bold].line.bold:
        bold += 1
    return bold if bold < len(rows) and not rows[bold].line.bold else 0


def _are_years(pieces: list[Piece]) -> bool:
    """Whether a line without a label holds nothing but years: the lower half of a header."""
    return pieces[0][0][0] > 0 and all(_YEAR.match(piece.text) for _, piece in pieces)


def _until_record(rows: Sequence[Row], placed: list[list[Piece]], end: int, n_cols: int) -> int:
    """``end``, or the first line before it that is a record without a figure ("free of charge").

    Such a line has a label and fills every column, as the line above it does, and is set apart
    from it: by its weight, or by the space that parts the records below.
    """
    pitches = [
        (lower.line.bottom - upper.line.bottom) / lower.line.size
        for upper, lower in pairwise(rows[end - 1 :])
    ]
    usual = min(pitches, default=0.0)
    for index in range(1, end):
        upper, lower = placed[index - 1], placed[index]
        if not {0} <= {start for (start, _), _ in upper} or len(lower) < n_cols:
            continue
        if lower[0][0][0] != 0 or any(stop - start > 1 for (start, stop), _ in lower):
            continue
        step = (rows[index].line.bottom - rows[index - 1].line.bottom) / rows[index].line.size
        is_lighter = rows[index - 1].line.bold and not rows[index].line.bold
        if is_lighter or (step > AIRY and step > 0.9 * usual):
            return index
    return end


def header_cells(lines: list[list[Piece]], n_cols: int) -> tuple[list[GridCell], int]:
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
    for (at, (start, end)), words in sorted(over.items(), key=lambda item: item[0]):
        if any(taken[at][start:end]):
            _cell_at(cells, at, range(start, end)).words.extend(words)
            continue
        taken[at][start:end] = [True] * (end - start)
        cells.append(GridCell(at, start, 1, end - start, words))
    for col, found in sorted(single.items()):
        # Below the lowest heading over this column; without one, over all levels.
        for row, stop in _free_runs([taken[level][col] for level in range(depth)]):
            words = [w for at, piece in found if row <= at < stop for w in piece.words]
            if words:
                cells.append(GridCell(row, col, stop - row, 1, words))
        for at, piece in found:
            if taken[at][col]:
                _cell_at(cells, at, range(col, col + 1)).words.extend(piece.words)
    return cells, depth


def _cell_at(cells: list[GridCell], row: int, cols: range) -> GridCell:
    return next(
        cell
        for cell in cells
        if cell.row == row and any(cell.col <= col < cell.col + cell.col_span for col in cols)
    )


def _free_runs(taken: list[bool]) -> list[tuple[int, int]]:
    """Runs (start, end) of False."""
    runs: list[tuple[int, int]] = []
    for index, is_taken in enumerate(taken):
        if is_taken:
            continue
        if runs and runs[-1][1] == index:
            runs[-1] = (runs[-1][0], index + 1)
        else:
            runs.append((index, index + 1))
    return runs


def _is_sublevel(upper: list[Piece], lower: list[Piece]) -> bool:
    """Whether ``lower`` names the single columns under a wide heading in ``upper``."""
    return any(
        end - start > 1
        and any(start <= s and e <= end and (s, e) != (start, end) for (s, e), _ in lower)
        for (start, end), _ in upper
    )
