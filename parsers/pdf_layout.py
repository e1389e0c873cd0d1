"""A page's words to reading order: tables taken out, columns found, lines left in flows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import fmean

from parsers.pdf_align import find_aligned
from parsers.pdf_banded import find_banded
from parsers.pdf_drawings import Box
from parsers.pdf_lattice import Grid, merge_rules
from parsers.pdf_page import Page
from parsers.pdf_words import Line, Word, lines_of

MIN_GUTTER = 8.0  # points between two columns of text
MIN_COLUMN_LINES = 3
MIN_PROSE_LINES = 8
MAX_BAND = 120.0  # points; taller fills are the ground of a page or of a box
Item = Line | Grid
Finder = Callable[[list[Line], Sequence[Grid]], list[Grid]]
Gaps = list[tuple[float, float]]


@dataclass(slots=True)
class Flow:
    """Lines and tables of one column, top to bottom; ``left`` and ``right`` bound its text."""

    items: list[Item]
    left: float
    right: float


def read_flows(page: Page, ruled: Sequence[Grid]) -> list[Flow]:
    """Order what is on a page: flows in reading order, with their tables in place."""
    words = [w for w in page.words if w.upright and not any(_holds(g.box, w) for g in ruled)]
    aside = [w for w in page.words if not w.upright and not any(_holds(g.box, w) for g in ruled)]
    edges = _band_edges(page)
    rules = merge_rules(
        rule
        for rule in page.rules
        if rule.horizontal and not any(_near(grid.box, rule.at) for grid in ruled)
    )

    def find(lines: list[Line], barriers: Sequence[Grid]) -> list[Grid]:
        return [
            grid for part in _parts(lines, barriers) for grid in find_aligned(part, rules, edges)
        ]

    banded = [
        grid for part in _word_parts(words, ruled) for grid in find_banded(part, rules, edges)
    ]
    claimed = {id(word) for grid in banded for cell in grid.cells for word in cell.words}
    words = [word for word in words if id(word) not in claimed]
    flows: list[Flow] = []
    for region, own in _regions(words, [*ruled, *banded]):
        flows += _region_flows(region, own, find)
    if aside:
        flows.append(Flow([Line([word]) for word in aside], 0.0, page.width))
    return flows


def _word_parts(words: list[Word], barriers: Sequence[Grid]) -> list[list[Word]]:
    """Words parted where a table stands between them."""
    groups: dict[int, list[Word]] = {}
    for word in words:
        groups.setdefault(sum(grid.ys[0] < word.middle for grid in barriers), []).append(word)
    return [groups[key] for key in sorted(groups)]


def _region_flows(words: list[Word], ruled: Sequence[Grid], find: Finder) -> list[Flow]:
    words, grids = _take_tables(words, ruled, find)
    flows: list[Flow] = []
    for flow in _columns(lines_of(words), grids):
        inner = [word for item in flow.items if isinstance(item, Line) for word in item.words]
        own = [item for item in flow.items if isinstance(item, Grid)]
        left, found = _take_tables(inner, own, find)
        items = _sorted([*lines_of(left), *found]) if len(found) > len(own) else flow.items
        flows.append(Flow(items, flow.left, flow.right))
    return flows


def _regions(words: list[Word], ruled: Sequence[Grid]) -> list[tuple[list[Word], list[Grid]]]:
    """Parts of a page in reading order: its columns where it is set in columns of prose.

    Only then tables are looked for in each column alone; elsewhere a table may take the whole
    width, and its own columns must not be cut apart.
    """
    items: list[Item] = [*lines_of(words), *ruled]
    if not items:
        return []
    left, right = min(item.box[0] for item in items), max(item.box[2] for item in items)
    regions: list[list[Item]] = [[]]
    for band, gaps in _bands(items, left, right):
        gutters = _gutters(band, gaps, _is_prose_column)
        if gutters:
            regions += [*_split(band, gutters), []]
        else:
            regions[-1] += band
    return [
        (
            [word for item in region if isinstance(item, Line) for word in item.words],
            [item for item in region if isinstance(item, Grid)],
        )
        for region in regions
        if region
    ]


def _is_prose_column(column: list[Item]) -> bool:
    lines = [item for item in column if isinstance(item, Line)]
    if len(lines) < MIN_PROSE_LINES:
        return False
    right = max(line.x1 for line in lines)
    width = max(right - min(line.x0 for line in lines), 1.0)
    long = [line for line in lines if line.x1 - line.x0 > 0.8 * width and len(line.words) >= 4]
    # Lines of sentences mostly begin in the middle of one; cells begin with a capital or a figure.
    going_on = [line for line in lines if line.text[:1].islower()]
    return len(long) > 0.5 * len(lines) and len(going_on) > 0.3 * len(lines)


def _take_tables(
    words: list[Word],
    grids: Sequence[Grid],
    find: Finder,
) -> tuple[list[Word], list[Grid]]:
    found = find(lines_of(words), grids)
    claimed = {id(word) for grid in found for cell in grid.cells for word in cell.words}
    return [word for word in words if id(word) not in claimed], [*grids, *found]


def _holds(box: Box, word: Word) -> bool:
    return (
        box[0] - 1 <= (word.x0 + word.x1) / 2 <= box[2] + 1
        and box[1] - 1 <= word.middle <= box[3] + 1
    )


def _near(box: Box, height: float) -> bool:
    return box[1] - 2 <= height <= box[3] + 2


def _band_edges(page: Page) -> list[float]:
    """Heights at which bands of colour begin and end: rows of a table end there.

    Some programs fill each cell by itself: fills of one height side by side are one band.
    """
    widths: dict[tuple[float, float], float] = {}
    for x0, top, x1, bottom in page.fills:
        if 6 < bottom - top < MAX_BAND:
            key = (round(top), round(bottom))
            widths[key] = widths.get(key, 0.0) + x1 - x0
    bands = [key for key, width in widths.items() if width > 0.3 * page.width]
    return sorted({edge for band in bands for edge in band})


def _parts(lines: list[Line], barriers: Sequence[Grid]) -> list[list[Line]]:
    """Lines parted where a table stands between them."""
    groups: dict[int, list[Line]] = {}
    for line in lines:
        above = sum(grid.ys[0] < line.middle_y for grid in barriers)
        groups.setdefault(above, []).append(line)
    return [groups[key] for key in sorted(groups)]


def _box(item: Item) -> Box:
    return item.box


def _sorted(items: list[Item]) -> list[Item]:
    return sorted(items, key=lambda item: ((_box(item)[1] + _box(item)[3]) / 2, _box(item)[0]))


# --- columns -------------------------------------------------------------------------------------


def _columns(lines: list[Line], grids: Sequence[Grid], depth: int = 0) -> list[Flow]:
    items: list[Item] = [*lines, *grids]
    if not items:
        return []
    left = min(_box(item)[0] for item in items)
    right = max(_box(item)[2] for item in items)
    flows: list[Flow] = []
    single: list[Item] = []

    def close() -> None:
        if single:
            flows.append(Flow(_sorted(list(single)), left, right))
            single.clear()

    for band, gaps in _bands(items, left, right):
        gutters = _gutters(band, gaps, _is_column)
        if not gutters:
            single.extend(band)
            continue
        close()
        for column in _split(band, gutters):
            inner = [item for item in column if isinstance(item, Line)]
            tables = [item for item in column if isinstance(item, Grid)]
            if depth < 2:
                flows += _columns(inner, tables, depth + 1)
            else:
                flows.append(_flow(column))
    close()
    return flows


def _flow(items: list[Item]) -> Flow:
    return Flow(
        _sorted(items), min(_box(item)[0] for item in items), max(_box(item)[2] for item in items)
    )


def _bands(items: list[Item], left: float, right: float) -> list[tuple[list[Item], Gaps]]:
    """Stretches of the page from top to bottom whose rows leave the same gaps free."""
    bands: list[tuple[list[Item], Gaps]] = []
    current: list[Item] = []
    gaps: Gaps = []
    for item in sorted(items, key=lambda item: _box(item)[1]):
        free = _free(item, left, right)
        shared = _meet(gaps, free)
        if current and (bool(shared) or (not gaps and not free)):
            current.append(item)
            gaps = shared
        else:
            if current:
                bands.append((current, gaps))
            current, gaps = [item], free
    if current:
        bands.append((current, gaps))
    return bands


def _free(item: Item, left: float, right: float) -> Gaps:
    boxes = (
        [(word.x0, word.x1) for word in item.words]
        if isinstance(item, Line)
        else [(_box(item)[0], _box(item)[2])]
    )
    gaps: Gaps = []
    position = left
    for x0, x1 in sorted(boxes):
        if x0 - position >= MIN_GUTTER:
            gaps.append((position, x0))
        position = max(position, x1)
    if right - position >= MIN_GUTTER:
        gaps.append((position, right))
    return gaps


def _meet(one: Gaps, other: Gaps) -> Gaps:
    return [
        (max(a, c), min(b, d))
        for a, b in one
        for c, d in other
        if min(b, d) - max(a, c) >= MIN_GUTTER
    ]


def _gutters(band: list[Item], gaps: Gaps, is_column: Callable[[list[Item]], bool]) -> list[float]:
    """Middles of the gaps that part columns of running text."""
    middles = [(a + b) / 2 for a, b in gaps]
    while middles:
        columns = _split(band, middles)
        weak = next((index for index, column in enumerate(columns) if not is_column(column)), None)
        if weak is None and len(columns) > 1:
            return middles
        if weak is None:
            return []
        del middles[min(weak, len(middles) - 1)]
    return []


def _is_column(column: list[Item]) -> bool:
    lines = [item for item in column if isinstance(item, Line)]
    if len(lines) < MIN_COLUMN_LINES:
        return False
    width = max(line.x1 for line in lines) - min(line.x0 for line in lines)
    words = fmean(len(line.words) for line in lines)
    fill = fmean((line.x1 - line.x0) / max(width, 1.0) for line in lines)
    return words >= 2.5 and fill > 0.45


def _split(band: list[Item], middles: list[float]) -> list[list[Item]]:
    words: list[list[Word]] = [[] for _ in range(len(middles) + 1)]
    tables: list[list[Grid]] = [[] for _ in range(len(middles) + 1)]
    for item in band:
        if isinstance(item, Grid):
            box = item.box
            tables[sum((box[0] + box[2]) / 2 > middle for middle in middles)].append(item)
            continue
        for word in item.words:
            words[sum((word.x0 + word.x1) / 2 > middle for middle in middles)].append(word)
    return [_sorted([*lines_of(inner), *grids]) for inner, grids in zip(words, tables, strict=True)]
