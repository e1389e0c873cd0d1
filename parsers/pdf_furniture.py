"""What is printed around the text of a page: running heads and feet, page and line numbers."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from parsers.pdf_lattice import Grid
from parsers.pdf_page import Page
from parsers.pdf_words import Line, Word, lines_of, segments_of

MARGIN = 0.095  # share of the page's height at its top and bottom
LINES = 4  # at most, in each margin
SHIFT = 14.0  # points by which a running head may move between pages
_NUMBERS = re.compile(r"\d+")
_PAGE_NUMBER = re.compile(
    r"^[\[(|–—-]*\s*(?:(?:page|trang|p\.|pg\.?|seite|tr\.)\s*)?[|:]?\s*"
    r"(?:\d{1,4}|[ivxl]{1,6}|[a-z]{1,3}\s?[-–.]\s?\d{1,4}|\d{1,3}\s?[-–]\s?\d{1,4})"
    r"(?:\s*(?:/|of|trên|von|sur)\s*\d{1,4})?\s*[\])|–—-]*$",
    re.I,
)


@dataclass(frozen=True, slots=True)
class Margins:
    """The lines near a page's edges, as far as they may be furniture."""

    entries: tuple[tuple[bool, str, float, tuple[int, ...]], ...]  # at top, text, height, words
    texts: frozenset[str]  # of all lines, to tell a repeated page from a repeated head


def margins_of(page: Page, ruled: Sequence[Grid]) -> Margins:
    """Collect the lines in the margins of a page that no table holds."""
    place = {id(word): index for index, word in enumerate(page.words)}
    lines = lines_of(page.words)
    entries = []
    for at_top in (True, False):
        near = [
            line
            for line in (lines if at_top else reversed(lines))
            if (
                line.bottom < MARGIN * page.height
                if at_top
                else line.top > (1 - MARGIN) * page.height
            )
            and not any(g.ys[0] - 1 < line.middle_y < g.ys[-1] + 1 for g in ruled)
        ]
        for line in near[:LINES]:
            if len(segments_of(line, line.size * 1.5)) > 3:
                continue
            words = tuple(place[id(word)] for word in line.words)
            height = line.middle_y if at_top else page.height - line.middle_y
            entries.append((at_top, line.text, height, words))
    return Margins(tuple(entries), frozenset(line.text for line in lines))


def furniture(page: Page, margins: Margins, neighbours: Sequence[Margins]) -> set[int]:
    """Positions in ``page.words`` of running heads and feet, page numbers and line numbers.

    A line is running when a neighbouring page has the same one, figures apart, at about the same
    height; a page that is printed twice as a whole has none.
    """
    dropped: set[int] = set()
    others = [other for other in neighbours if not _is_copy(margins, other)]
    for at_top, text, height, words in margins.entries:
        key = _NUMBERS.sub("#", text.casefold())
        repeated = any(
            at_top == top and abs(height - y) < SHIFT and key == _NUMBERS.sub("#", line.casefold())
            for other in others
            for top, line, y, _ in other.entries
        )
        if (repeated and not _is_beside_text(page, words)) or _is_page_number(page, words):
            dropped.update(words)
    return dropped | _line_numbers(page)


def _is_beside_text(page: Page, words: tuple[int, ...]) -> bool:
    """Whether a line reaches into the height of another: the upper line of a repeated header."""
    line = Line([page.words[index] for index in words])
    inside = set(words)
    return any(
        line.top + 0.3 * line.size < word.middle < line.bottom + 0.1 * line.size
        for index, word in enumerate(page.words)
        if index not in inside
    )


def _is_copy(one: Margins, other: Margins) -> bool:
    return len(one.texts & other.texts) > 0.7 * max(len(one.texts), len(other.texts), 1)


def _is_page_number(page: Page, words: tuple[int, ...]) -> bool:
    """A number alone in its line, or beside other furniture, far from any other text."""
    line = Line([page.words[index] for index in words])
    parts = segments_of(line, 1.5 * line.size)
    if not any(_PAGE_NUMBER.match(part.text) for part in parts):
        return False
    inside = set(words)
    distance = min(
        (
            min(abs(word.top - line.bottom), abs(line.top - word.bottom))
            for index, word in enumerate(page.words)
            if index not in inside and not line.top <= word.middle <= line.bottom
        ),
        default=1e9,
    )
    if len(parts) == 1:
        return distance > 0.4 * line.size
    return line.top > (1 - MARGIN) * page.height and distance > 2.5 * line.size


def _line_numbers(page: Page) -> set[int]:
    """Numbers 1, 2, 3 … beside the lines of a transcript or a contract."""
    place = {id(word): index for index, word in enumerate(page.words)}
    lines = lines_of(page.words)
    column: list[tuple[int, Word]] = []
    for line in lines:
        first = line.words[0]
        alone = len(line.words) == 1 or line.words[1].x0 - first.x1 > 0.8 * first.size
        if first.text.isdigit() and len(first.text) <= 3 and alone:
            column.append((int(first.text), first))
    if len(column) < 8 or len(column) < 0.6 * len(lines):
        return set()
    margin = min(word.x0 for _, word in column)
    numbers = {id(word) for _, word in column}
    rest = [[word for word in line.words if id(word) not in numbers] for line in lines]
    # A column of item numbers belongs to a table or stands under text that begins as far left.
    cut = [segments_of(Line(words), words[0].size * 1.2) for words in rest if words]
    if sum(len(parts) > 1 for parts in cut) > 0.3 * len(cut):
        return set()
    if any(words[0].x0 < margin + 6 for words in rest if words):
        return set()
    edge = sorted(word.x1 for _, word in column)[len(column) // 2]
    column = [(number, word) for number, word in column if abs(word.x1 - edge) < 6]
    steps = [b - a for (a, _), (b, _) in pairwise(column)]
    if len(column) < 8 or sum(step == 1 for step in steps) < 0.85 * len(steps):
        return set()
    return {place[id(word)] for _, word in column}
