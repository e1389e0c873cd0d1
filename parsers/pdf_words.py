"""Glyphs to words, words to lines: the smallest steps of reading a page."""

from __future__ import annotations

import statistics
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

WORD_GAP = 0.22  # of the font size; a wider gap between glyphs parts two words
SOFT_HYPHEN = "\u00ad"  # stands for a hyphen at a line's end that may be only typographic
_LIGATURES = {code: unicodedata.normalize("NFKC", chr(code)) for code in range(0xFB00, 0xFB07)}


class Style(NamedTuple):
    """How a glyph is set: size in points, weight, pitch, and whether it is white."""

    size: float
    bold: bool
    fixed: bool
    pale: bool


class Glyph(NamedTuple):
    """One character and its box; ``quarter`` is its direction in clockwise quarter turns."""

    char: str
    x0: float
    top: float
    x1: float
    bottom: float
    quarter: int
    style: Style


@dataclass(slots=True)
class Word:
    """A run of glyphs without white space; ``quarter`` counts clockwise quarter turns."""

    text: str
    x0: float
    top: float
    x1: float
    bottom: float
    size: float
    bold: bool
    fixed: bool = False
    quarter: int = 0

    @property
    def upright(self) -> bool:
        """Whether the word reads from left to right."""
        return self.quarter == 0

    @property
    def middle(self) -> float:
        """The height of its middle."""
        return (self.top + self.bottom) / 2


@dataclass(slots=True)
class Line:
    """Words side by side on one baseline, in reading order."""

    words: list[Word]

    @property
    def x0(self) -> float:
        """Left side."""
        return self.words[0].x0

    @property
    def x1(self) -> float:
        """Right side."""
        return max(word.x1 for word in self.words)

    @property
    def top(self) -> float:
        """Top of the tallest word."""
        return min(word.top for word in self.words)

    @property
    def bottom(self) -> float:
        """Bottom of the deepest word."""
        return max(word.bottom for word in self.words)

    @property
    def size(self) -> float:
        """The font size of most characters."""
        totals: dict[float, int] = {}
        for word in self.words:
            totals[word.size] = totals.get(word.size, 0) + len(word.text)
        return max(totals, key=lambda size: (totals[size], size))

    @property
    def bold(self) -> bool:
        """Whether most characters are bold."""
        heavy = sum(len(word.text) for word in self.words if word.bold)
        return heavy * 2 > sum(len(word.text) for word in self.words)

    @property
    def middle_y(self) -> float:
        """The height of its middle."""
        return (self.top + self.bottom) / 2

    @property
    def text(self) -> str:
        """The words, a space apart."""
        return " ".join(word.text for word in self.words)

    @property
    def box(self) -> tuple[float, float, float, float]:
        """Left, top, right, bottom."""
        return (self.x0, self.top, self.x1, self.bottom)


def join_glyphs(glyphs: Iterable[Glyph]) -> list[Word]:
    """Join glyphs in drawing order to words; sideways glyphs join along their own direction."""
    words: list[Word] = []
    run: list[Glyph] = []
    seen: set[tuple[str, int, int]] = set()
    for glyph in glyphs:
        if glyph.char == " ":
            _close(run, words)
            run = []
            continue
        # Bold is sometimes faked by drawing the same glyph twice, a fraction of a point apart.
        place = (glyph.char, round(glyph.x0), round(glyph.top))
        if place in seen and not _adds(run, glyph):
            continue
        seen.add(place)
        if run and not _follows(run[-1], glyph):
            _close(run, words)
            run = []
        run.append(glyph)
    _close(run, words)
    return words


def _adds(run: list[Glyph], glyph: Glyph) -> bool:
    """Whether a glyph at a place already taken is a narrow neighbour, not a second print."""
    if not run:
        return False
    last = run[-1]
    return last.char != glyph.char or glyph.x0 - last.x0 > 0.4 * max(last.x1 - last.x0, 0.1)


def _follows(last: Glyph, glyph: Glyph) -> bool:
    if last.quarter != glyph.quarter:
        return False
    size = max(last.style.size, glyph.style.size)
    if glyph.quarter == 1:
        along, across = glyph.top - last.bottom, abs(glyph.x0 - last.x0)
    elif glyph.quarter == 3:
        along, across = last.top - glyph.bottom, abs(glyph.x0 - last.x0)
    elif glyph.quarter == 2:
        along, across = last.x0 - glyph.x1, abs(glyph.bottom - last.bottom)
    else:
        along, across = glyph.x0 - last.x1, abs(glyph.bottom - last.bottom)
    if unicodedata.combining(glyph.char):
        return across < size
    return -0.8 * size < along < WORD_GAP * size and across < 0.6 * size


def _close(run: list[Glyph], words: list[Word]) -> None:
    if not run:
        return
    text = "".join(_LIGATURES.get(ord(glyph.char), glyph.char) for glyph in run)
    style = run[len(run) // 2].style
    words.append(
        Word(
            unicodedata.normalize("NFC", text),
            min(glyph.x0 for glyph in run),
            min(glyph.top for glyph in run),
            max(glyph.x1 for glyph in run),
            max(glyph.bottom for glyph in run),
            max(glyph.style.size for glyph in run),
            style.bold,
            style.fixed,
            run[0].quarter,
        )
    )


def lines_of(words: Iterable[Word]) -> list[Line]:
    """Group words by baseline over the whole width, top to bottom, each from left to right.

    Raised and lowered small words (footnote marks, indices) stay with the line they touch.
    """
    lines: list[Line] = []
    cores: list[tuple[float, float]] = []
    for word in sorted(words, key=lambda item: (item.middle, item.x0)):
        for index in range(len(lines) - 1, max(len(lines) - 6, -1), -1):
            top, bottom = cores[index]
            shared = min(bottom, word.bottom) - max(top, word.top)
            height = max(min(bottom - top, word.bottom - word.top), 0.1)
            if shared > 0.55 * height:
                lines[index].words.append(word)
                if word.size > 1.2 * max(item.size for item in lines[index].words[:-1]):
                    cores[index] = (word.top, word.bottom)
                break
        else:
            lines.append(Line([word]))
            cores.append((word.top, word.bottom))
    for line in lines:
        line.words.sort(key=lambda item: item.x0)
    lines.sort(key=lambda item: (statistics.fmean((item.top, item.bottom)), item.x0))
    return lines


def _sideways(words: Iterable[Word]) -> list[Line]:
    """Lines of words that read up or down the page, in their own reading order."""
    groups: list[list[Word]] = []
    is_down = sum(1 if word.quarter == 1 else -1 for word in words) > 0
    for word in sorted(words, key=lambda item: -item.x0 if is_down else item.x0):
        if groups and min(word.x1, groups[-1][0].x1) - max(word.x0, groups[-1][0].x0) > 0:
            groups[-1].append(word)
        else:
            groups.append([word])
    return [
        Line(sorted(group, key=lambda item: item.top if is_down else -item.bottom))
        for group in groups
    ]


def segments_of(line: Line, gap: float) -> list[Line]:
    """Cut a line where the space between two words is wider than ``gap`` points."""
    parts: list[list[Word]] = []
    for word in line.words:
        if parts and word.x0 - max(item.x1 for item in parts[-1]) <= gap:
            parts[-1].append(word)
        else:
            parts.append([word])
    return [Line(part) for part in parts]


def text_of(words: Sequence[Word]) -> str:
    """The text of words that belong to one cell: its lines joined by spaces.

    A hyphen at a line's end in front of a small letter becomes ``SOFT_HYPHEN``: only the words of
    the whole document tell whether it belongs to the word.
    """
    text = ""
    for line in lines_of(words) if all(word.upright for word in words) else _sideways(words):
        if text.endswith((SOFT_HYPHEN, "-")) and text[-2:-1].isalpha() and line.text[:1].islower():
            text = text[:-1] + SOFT_HYPHEN + line.text
        elif text.endswith((SOFT_HYPHEN, "-")) and len(text) > 2 and text[-2].isalnum():
            text += line.text if line.text[:1].isalnum() else f" {line.text}"
        else:
            text = f"{text} {line.text}" if text else line.text
    return text[:-1] + "-" if text.endswith(SOFT_HYPHEN) else text
