"""Tables without lines between their columns whose cells are wrapped: rows show as bands.

Line by line such a table reads like soup: cells of unequal height, set at the top or in the middle
of their row, put the second line of one beside the third of another. What holds is the band: a
stretch of the page between two white gaps, lines or edges of colour that run across all columns.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import fmean, median

from parsers.pdf_booktabs import is_caption
from parsers.pdf_columns import EDGE, Columns, Row, best_edges
from parsers.pdf_drawings import Rule
from parsers.pdf_lattice import Grid, GridCell, is_numeric
from parsers.pdf_words import Line, Word, lines_of, segments_of

CORE = 0.36  # of the font size: half the height of the ink that counts of a word
SLACK = 0.22  # of the font size, above the gap between two lines of a cell
WIDE = 0.5  # of the text's width: shorter lines part no rows
FILLED = 0.75  # share of bands that must fill a column that names rows
MIN_BANDS = 3
_MARKER = re.compile(
    r"^(?:[^\w\s]|o|\(?(?:\d{1,3}|[a-zđ]|[ivx]{1,5})[.)]|\d{1,2}(?:\.\d{1,2})+\.?)$", re.I
)


@dataclass(slots=True)
class Band:
    """Lines between two cuts; ``is_drawn`` tells whether a line or a colour made the upper one."""

    lines: list[Line]
    row: Row
    is_drawn: bool

    @property
    def top(self) -> float:
        """Of its highest word."""
        return min(line.top for line in self.lines)

    @property
    def bottom(self) -> float:
        """Of its deepest word."""
        return max(line.bottom for line in self.lines)


def find_banded(words: Sequence[Word], rules: Sequence[Rule], edges: Sequence[float]) -> list[Grid]:
    """Tables with wrapped cells among ``words``, top to bottom.

    ``rules`` are horizontal lines, ``edges`` heights at which bands of colour begin or end.
    """
    lines = lines_of(words)
    if not lines:
        return []
    grids = [_grid_of(run) for run in _runs(_bands(lines, rules, edges))]
    if any(grids):
        return [grid for grid in grids if grid is not None]
    # Without wrapped cells each line is a row: of interest here are only pairs under a header.
    single = [_band([line], is_drawn=False) for line in lines]
    return [grid for run in _runs(single) if (grid := _grid_of(run, pairs_only=True)) is not None]


def _bands(lines: list[Line], rules: Sequence[Rule], edges: Sequence[float]) -> list[Band]:
    width = max(line.x1 for line in lines) - min(line.x0 for line in lines)
    drawn = sorted([*edges, *(rule.at for rule in rules if rule.length > WIDE * width)])
    pitch = _pitch(lines)
    bands: list[Band] = []
    current: list[Line] = []
    above: Stretches = []
    is_drawn = False
    floor = 0.0
    for line in lines:
        top, bottom = _core(line)
        gap = 0.85 * line.size
        own = _joined([(word.x0, word.x1) for word in line.words], gap)
        if not current:
            current, above, floor = [line], own, bottom
            continue
        has_line = any(floor - 0.2 * line.size < at < top + 0.2 * line.size for at in drawn)
        is_apart = top - floor > (pitch - 2 * CORE + SLACK) * line.size
        both = _joined([*above, *own], gap)
        if is_apart or (has_line and top > floor) or _closes_gutters(above, own, both):
            bands.append(_band(current, is_drawn=is_drawn))
            current, both, is_drawn = [], own, has_line
        current.append(line)
        above = both
        floor = max(floor, bottom)
    bands.append(_band(current, is_drawn=is_drawn))
    return bands


Stretches = list[tuple[float, float]]  # what words take up of the width, from left to right


def _joined(stretches: Stretches, gap: float) -> Stretches:
    """Stretches less than ``gap`` apart made one."""
    joined: Stretches = []
    for x0, x1 in sorted(stretches):
        if joined and x0 - joined[-1][1] <= gap:
            joined[-1] = (joined[-1][0], max(joined[-1][1], x1))
        else:
            joined.append((x0, x1))
    return joined


def _closes_gutters(above: Stretches, line: Stretches, both: Stretches) -> bool:
    """Whether a line runs across the columns of the lines above it, or they across its own."""
    most = max(len(above), len(line))
    return most > 1 and len(both) <= most / 2


def _core(line: Line) -> tuple[float, float]:
    middles = [word.middle for word in line.words]
    return min(middles) - CORE * line.size, max(middles) + CORE * line.size


def _pitch(lines: list[Line]) -> float:
    """The usual step from line to line inside cells and paragraphs, in font sizes."""
    parts = [part for line in lines for part in segments_of(line, 0.85 * line.size)]
    steps = []
    for index, part in enumerate(parts):
        for other in parts[index + 1 : index + 16]:
            shared = min(part.x1, other.x1) - max(part.x0, other.x0)
            step = (other.bottom - part.bottom) / part.size
            if step > 0.8 and shared > 0.5 * min(part.x1 - part.x0, other.x1 - other.x0):
                if step < 2.2 and abs(other.size - part.size) < 0.1 * part.size:
                    steps.append(step)
                break
    ordered = sorted(steps)[: max(1, len(steps) // 2)]
    return max(median(ordered), 1.0) if ordered else 1.3


def _band(lines: list[Line], *, is_drawn: bool) -> Band:
    words = sorted((word for line in lines for word in line.words), key=lambda word: word.x0)
    # White over several lines is a gutter even where it is narrow.
    gap = (0.85 if len(lines) < 3 else 0.5) * max(line.size for line in lines)
    whole = Line(words)
    return Band(lines, Row(whole, segments_of(whole, gap)), is_drawn)


def _runs(bands: list[Band]) -> list[list[Band]]:
    """Neighbouring bands that all stand in columns, not further apart than rows do."""
    runs: list[list[Band]] = [[]]
    for band in bands:
        last = runs[-1][-1] if runs[-1] else None
        is_far = last is not None and band.top - last.bottom > 2.6 * band.row.line.size
        is_title = band.is_drawn and len(band.lines) == 1 and last is not None
        if is_far or (len(band.row.parts) < 2 and not is_title):
            runs.append([])
        if len(band.row.parts) > 1 or runs[-1]:
            runs[-1].append(band)
    found = []
    for run in runs:
        while run and len(run[-1].row.parts) < 2:
            run.pop()
        if len(run) >= MIN_BANDS:
            found.append(run)
    return found


def _grid_of(run: list[Band], *, pairs_only: bool = False) -> Grid | None:
    for _ in range(len(run)):
        # Without two bands of several lines nothing is wrapped; line by line is enough then.
        is_even = sum(len(band.lines) > 1 for band in run) < 2
        if len(run) < MIN_BANDS or (is_even and not pairs_only):
            return None
        if is_caption(run[0].row.line.text) or (pairs_only and not _is_headed(run)):
            run = run[1:]
            continue
        rows = [band.row for band in run if len(band.row.parts) > 1]
        xs = best_edges(rows)
        if len(xs) > 2 and not (pairs_only and len(xs) > 3):
            cells = _cells(run, xs)
            if not _is_letterhead(run, cells, xs) and _is_table(run, cells, len(xs) - 1):
                return _grid(run, xs, cells)
        # A line above the table that happens to stand in two pieces.
        run = run[1:]
    return None


Cells = list[dict[tuple[int, int], list[Word]]]


def _cells(run: list[Band], xs: list[float]) -> Cells:
    """For each band its words by (first column, column after the last)."""
    columns = Columns.of([band.row for band in run if len(band.row.parts) > 1], xs)
    found: Cells = []
    for band in run:
        placed: dict[tuple[int, int], list[Word]] = {}
        if len(band.row.parts) == 1:
            placed[0, len(xs) - 1] = band.row.line.words
        else:
            parts = [piece for part in band.row.parts for piece in _cut_aligned(part, columns)]
            for part in parts:
                inside = [
                    col
                    for col, (left, right) in enumerate(pairwise(xs))
                    if part.x0 >= left - 1 and part.x1 <= right + 1
                ]
                span = (inside[0], inside[0] + 1) if inside else columns.span(part)
                placed.setdefault(span, []).extend(part.words)
            if len(parts) == columns.count > len(placed):
                placed = {(col, col + 1): part.words for col, part in enumerate(parts)}
        found.append(placed)
    return found


def _cut_aligned(part: Line, columns: Columns) -> list[Line]:
    """Cut headings that stand close together before each word that begins where a column does.

    A heading over several columns begins elsewhere, or its first word would begin one too.
    """
    starts = [core[0] for core in columns.cores]
    if all(abs(part.x0 - start) > EDGE for start in starts):
        return [part]
    cuts = [
        index
        for index, (a, b) in enumerate(pairwise(part.words), start=1)
        if a.x1 < b.x0 and any(abs(b.x0 - start) < 1.5 for start in starts)
    ]
    return [Line(part.words[i:j]) for i, j in pairwise([0, *cuts, len(part.words)])]


def _is_table(run: list[Band], cells: Cells, n_cols: int) -> bool:
    """Whether bands are rows of a table: labels, wrapped cells of unequal height, few crossings."""
    records = [placed for placed in cells if len(placed) > 1]
    heights = [
        {span[0]: len(lines_of(words)) for span, words in placed.items() if span[1] - span[0] == 1}
        for placed in records
    ]
    wrapped = [height for height in heights if max(height.values(), default=0) > 1]
    crossing = sum(stop - start > 1 for placed in records for start, stop in placed)
    if n_cols == 2 and _is_headed(run) and _is_straight(cells) and crossing == 0:
        return len(records) > MIN_BANDS and not _are_items(cells) and _are_terse(records)
    if len(wrapped) < 2 or len(records) < MIN_BANDS or crossing > 0.25 * len(records) + 2:
        return False
    if sum(_holds_records(placed) for placed in records) > 0.2 * len(records):
        return False
    filled = [sum(col in height for height in heights) / len(heights) for col in range(n_cols)]
    uneven = sum(min(height.values()) < max(height.values()) for height in wrapped)
    if filled[0] < FILLED or sum(filled) < 0.6 * n_cols or uneven < 0.6 * len(wrapped):
        return False
    sizes = [
        fmean(len(words) for placed in records for span, words in placed.items() if span[0] == col)
        if filled[col]
        else 0.0
        for col in range(n_cols)
    ]
    if sizes[0] > 0.6 * max(sizes[1:]) and not _has_short(records, n_cols):
        return False
    is_drawn = sum(band.is_drawn for band in run[1:]) >= 0.6 * (len(run) - 1)
    if not is_drawn and not _are_wrapped(records):
        return False
    if n_cols == 2:
        is_named = is_drawn or _is_headed(run)
        return is_named and not _are_items(records) and sizes[0] <= 0.6 * sizes[1]
    return max(sizes) > 1.5


def _is_letterhead(run: list[Band], cells: Cells, xs: list[float]) -> bool:
    """Whether the first band stands above the table without belonging to it."""
    first = cells[0]
    filled = sum(stop - start for start, stop in first) / (len(xs) - 1)
    longest = max(len(words) for words in first.values())
    size = run[0].row.line.size
    is_apart = run[1].top - run[0].bottom > size
    return longest > 12 or (filled < 0.6 and is_apart)


def _are_wrapped(records: Cells) -> bool:
    """Whether the lines of most cells end where the next word found no room."""
    lines_by_cell = [
        (span[0], lines_of(words))
        for placed in records[1:]
        for span, words in placed.items()
        if span[1] - span[0] == 1
    ]
    widths: dict[int, float] = {}
    for col, lines in lines_by_cell:
        widest = max(line.x1 for line in lines) - min(line.x0 for line in lines)
        widths[col] = max(widths.get(col, 0.0), widest)
    full = [
        (upper.x1 - upper.x0) + 0.25 * upper.size + (lower.words[0].x1 - lower.words[0].x0)
        > widths[col] - 1
        for col, lines in lines_by_cell
        for upper, lower in pairwise(lines)
    ]
    return bool(full) and fmean(full) > 0.7


def _are_items(records: Cells) -> bool:
    """Whether the first column holds the signs or numbers of a list, or names of a form."""
    labels = [
        " ".join(word.text for word in words)
        for placed in records
        for span, words in placed.items()
        if span[0] == 0
    ]
    return fmean(bool(_MARKER.match(text)) or text.endswith(":") for text in labels) > 0.5


def _are_terse(records: Cells) -> bool:
    """Whether cells hold names and values, not pieces of sentences."""
    counts = [len(words) for placed in records for words in placed.values()]
    return fmean(counts) <= 4 and max(counts) <= 12


def _is_straight(records: Cells) -> bool:
    """Whether all texts of the second column begin at one place."""
    starts = [words[0].x0 for placed in records for span, words in placed.items() if span == (1, 2)]
    return len(starts) == len(records) and max(starts) - min(starts) < EDGE


def _holds_records(placed: dict[tuple[int, int], list[Word]]) -> bool:
    """Whether a column of a band holds a figure on several lines: a group of records, not one."""
    lines = [lines_of(words) for (start, _), words in placed.items() if start > 0]
    return any(sum(is_numeric(line.text) for line in column) > 1 for column in lines)


def _has_short(records: Cells, n_cols: int) -> bool:
    """Whether some column but the first holds figures, codes or single words."""
    for col in range(1, n_cols):
        texts = [
            " ".join(word.text for word in words)
            for placed in records[1:]
            for span, words in placed.items()
            if span == (col, col + 1)
        ]
        short = [is_numeric(text) or len(text) <= 14 for text in texts]
        if short and fmean(short) > 0.7:
            return True
    return False


def _is_headed(run: list[Band]) -> bool:
    """Whether the first band alone is bold."""
    return all(part.bold for part in run[0].row.parts) and not any(
        part.bold for band in run[1:] for part in band.row.parts[1:]
    )


def _grid(run: list[Band], xs: list[float], cells: Cells) -> Grid:
    ys = [run[0].top - 0.5]
    for upper, lower in pairwise(run):
        ys.append(max((upper.bottom + lower.top) / 2, ys[-1] + 0.5))
    ys.append(max(run[-1].bottom + 0.5, ys[-1] + 0.5))
    found: list[GridCell] = []
    for row, placed in enumerate(cells):
        end = 0
        for (start, stop), words in sorted(placed.items()):
            if start < end:
                found[-1].words.extend(words)
                continue
            found.append(GridCell(row, start, 1, stop - start, list(words)))
            end = stop
    return Grid(xs, ys, found, None, ruled=False)
