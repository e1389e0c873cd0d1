"""Lines of a flow to blocks: paragraphs, single headings, list items, tables in their place."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from itertools import pairwise
from statistics import median

from parsers.pdf_drawings import Box
from parsers.pdf_lattice import Grid
from parsers.pdf_layout import Flow
from parsers.pdf_words import Line, segments_of

SIZE_STEP = 0.09  # relative change of font size that parts two blocks
_BULLET = re.compile(
    r"^(?:[•▪◦●○■□‣⁃·∙➢➔→✓✔◆❖\uf0b7\uf0a7\uf0d8*]|[-–—+o](?=\s))\s*(?=[^\W_]|[\"“‘'(\[<$€£])"
)
_LABELLED = re.compile(r"^[^\W_][^:]{1,40}:\s+\S")
_ENUMERATED = re.compile(
    r"^(?:\(?(?:\d{1,3}|[a-zđ]|[ivx]{1,5})[.)]|\d{1,2}(?:\.\d{1,2}){1,4}\.?|[A-ZĐ][.)])\s+(?=\S)"
)


@dataclass(slots=True)
class Block:
    """Lines that belong together, or a table. ``opens`` marks the first block of a column."""

    page: int
    box: Box
    lines: list[str] = field(default_factory=list)
    size: float = 0.0
    bold: bool = False
    fixed: bool = False
    centred: bool = False
    indent: float = 0.0  # of the first line, from the flow's left side
    gap: float = 1e9  # to the block above, in font sizes
    full: bool = False  # the last line reaches the right side
    opens: bool = False
    parted: bool = False  # pieces of its lines stand far apart
    grid: Grid | None = None

    @property
    def text(self) -> str:
        """The lines joined as they stand."""
        return " ".join(self.lines)


def is_listed(text: str) -> bool:
    """Whether a line begins with a bullet or an item number."""
    return bool(_BULLET.match(text) or _ENUMERATED.match(text))


def strip_bullet(text: str) -> str:
    """Take a bullet sign off the front; item numbers stay, since texts refer to them."""
    return _BULLET.sub("", text, count=1)


def blocks_of(flow: Flow, page: int) -> list[Block]:
    """Group the items of a flow."""
    blocks: list[Block] = []
    run: list[Line] = []
    for item in flow.items:
        if isinstance(item, Line):
            run.append(item)
            continue
        blocks += _paragraphs(run, flow, page)
        run = []
        blocks.append(Block(page, item.box, grid=item))
    blocks += _paragraphs(run, flow, page)
    for upper, lower in pairwise(blocks):
        lower.gap = (lower.box[1] - upper.box[3]) / (lower.size or upper.size or 10.0)
    if blocks:
        blocks[0].opens = True
    return blocks


def _paragraphs(lines: list[Line], flow: Flow, page: int) -> list[Block]:
    if not lines:
        return []
    pitches = [
        (b.bottom - a.bottom) / b.size
        for a, b in pairwise(lines)
        if abs(a.size - b.size) < SIZE_STEP * b.size and 0.8 < (b.bottom - a.bottom) / b.size < 2.6
    ]
    pitch = _usual(pitches)
    runs: list[list[Line]] = [[lines[0]]]
    for upper, lower in pairwise(lines):
        if _parts_style(upper, lower) or _parts_space(upper, lower, pitch):
            runs.append([lower])
        else:
            runs[-1].append(lower)
    blocks = []
    for run in runs:
        for group in _split_run(run, flow):
            blocks.append(_block(group, run, flow, page))
    return blocks


def _usual(pitches: list[float]) -> float:
    """The line pitch inside paragraphs: the lower half's median, so that gaps do not count."""
    if not pitches:
        return 1.3
    ordered = sorted(pitches)
    return max(median(ordered[: max(1, (len(ordered) * 2 + 2) // 3)]), 0.9)


def _parts_style(upper: Line, lower: Line) -> bool:
    if abs(upper.size - lower.size) > SIZE_STEP * max(upper.size, lower.size):
        return True
    return upper.bold != lower.bold and (
        all(w.bold == upper.bold for w in upper.words)
        or all(w.bold == lower.bold for w in lower.words)
    )


def _parts_space(upper: Line, lower: Line, pitch: float) -> bool:
    step = (lower.bottom - upper.bottom) / lower.size
    return step > pitch * 1.28 + 0.05 or step < -0.5


def _split_run(run: list[Line], flow: Flow) -> list[list[Line]]:
    """Part evenly spaced lines of one style into paragraphs and list items."""
    left = min(line.x0 for line in run)
    right = max(line.x1 for line in run)
    if len(run) <= 4 and right - flow.left < 0.6 * (flow.right - flow.left):
        right = flow.right  # an address, a list of terms: short lines, not a narrow paragraph
    groups: list[list[Line]] = [[run[0]]]
    for upper, lower in pairwise(run):
        if _begins(groups[-1], upper, lower, left, right):
            groups.append([lower])
        else:
            groups[-1].append(lower)
    return groups


def _begins(group: list[Line], upper: Line, lower: Line, left: float, right: float) -> bool:
    if upper.text.endswith(("-", "\u00ad")) and lower.text[:1].islower():
        return False
    size = lower.size
    if is_listed(lower.text) and not _is_centred(lower, left, right):
        aligned = lower.x0 <= group[0].x0 + 0.5 * size or is_listed(group[0].text)
        return aligned or upper.text.endswith((":", ";", "."))
    if _LABELLED.match(lower.text) and _LABELLED.match(upper.text) and upper is group[0]:
        return True
    if "....." in upper.text or ". . . ." in upper.text:
        return True
    # Where the next word had room on the line above, the line was ended on purpose.
    first = lower.words[0]
    room = right - upper.x1
    roomy = room > (first.x1 - first.x0) + 0.6 * size
    centred = _is_centred(upper, left, right) and _is_centred(lower, left, right)
    if roomy and not centred and room > 0.06 * (right - left):
        return not (lower.text[:1].islower() and not upper.text.endswith((".", ":", ";")))
    indented = lower.x0 - left > 0.9 * size and lower.x0 - upper.x0 > 0.9 * size
    hanging = is_listed(group[0].text) and len(group) == 1
    ended = upper.text.endswith((".", ":", "!", "?", ";", "”")) or roomy
    return indented and ended and not hanging and not centred


def _is_centred(line: Line, left: float, right: float) -> bool:
    before, after = line.x0 - left, right - line.x1
    return before > line.size and abs(before - after) < 0.5 * line.size + 0.15 * before


def _block(group: list[Line], run: list[Line], flow: Flow, page: int) -> Block:
    x0 = min(line.x0 for line in group)
    x1 = max(line.x1 for line in group)
    box = (x0, min(line.top for line in group), x1, max(line.bottom for line in group))
    right = max(line.x1 for line in run) if len(run) > 2 else flow.right
    before, after = x0 - flow.left, flow.right - x1
    longest = max(group, key=lambda line: len(line.text))
    return Block(
        page,
        box,
        [line.text for line in group],
        size=longest.size,
        bold=_is_bold(group),
        fixed=sum(word.fixed for word in longest.words) * 2 > len(longest.words),
        centred=before > 2 * longest.size and abs(before - after) < 0.1 * (flow.right - flow.left),
        indent=group[0].x0 - flow.left,
        parted=any(len(segments_of(line, 2.2 * line.size)) > 1 for line in group[:4]),
        full=group[-1].x1 > right - 0.12 * (right - flow.left),
    )


def _is_bold(group: list[Line]) -> bool:
    heavy = sum(len(w.text) for line in group for w in line.words if w.bold)
    return heavy > 0.9 * sum(len(w.text) for line in group for w in line.words)
