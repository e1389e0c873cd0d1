"""Glyphs to words, words to lines: the smallest steps of reading a page."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
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
    """Words side by side on one baseline, in reading order; they do not change any more.

    ``x0`` and ``x1``, ``top`` and ``bottom`` are its sides, ``size`` is the font size of most
    characters. They are asked for far more often than lines are made.
    """

    words: list[Word]
    x0: float = field(init=False)
    x1: float = field(init=False)
    top: float = field(init=False)
    bottom: float = field(init=False)
    _size: float | None = field(init=False, default=None, repr=False)
    _text: str | None = field(init=False, default=None, repr=False)

    def __post_init__(self) -> None:
        """Measure the line."""
        words = self.words
        self.x0 = words[0].x0
        self.x1 = max([word.x1 for word in words])
        self.top = min([word.top for word in words])
        self.bottom = max([word.bottom for word in words])

    @property
    def size(self) -> float:
        """The font size of most characters."""
        if self._size is None:
            totals: dict[float, int] = {}
            for word in self.words:
                totals[word.size] = totals.get(word.size, 0) + len(word.text)
            is_one = len(totals) == 1
            self._size = (
                self.words[0].size if is_one else max(totals, key=lambda size: (totals[size], size))
            )
        return self._size

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
        if self._text is None:
            self._text = " ".join([word.text for word in self.words])
        return self._text

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
            if run:
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
    size = last.style.size if last.style.size > glyph.style.size else glyph.style.size
    if glyph.quarter == 0:
        along, across = glyph.x0 - last.x1, abs(glyph.bottom - last.bottom)
    elif glyph.quarter == 1:
        along, across = glyph.top - last.bottom, abs(glyph.x0 - last.x0)
    elif glyph.quarter == 3:
        along, across = last.top - glyph.bottom, abs(glyph.x0 - last.x0)
    else:
        along, across = last.x0 - glyph.x1, abs(glyph.bottom - last.bottom)
    if glyph.char > "\u02ff" and unicodedata.combining(glyph.char):
        return across < size
    return -0.8 * size < along < WORD_GAP * size and across < 0.6 * size


def _close(run: list[Glyph], words: list[Word]) -> None:
    if not run:
        return
    text = "".join([glyph.char for glyph in run])
    if not text.isascii():
        text = "".join([_LIGATURES.get(ord(char), char) for char in text])
        text = unicodedata.normalize("NFC", text)
    _, x0, top, x1, bottom, quarters, styles = zip(*run, strict=True)
    style = styles[len(run) // 2]
    words.append(
        Word(
            text,
            min(x0),
            min(top),
            max(x1),
            max(bottom),
            max([style.size for style in set(styles)]),
            style.bold,
            style.fixed,
            quarters[0],
        )
    )


def lines_of(words: Iterable[Word]) -> list[Line]:
    """Group words by baseline over the whole width, top to bottom, each from left to right.

    Raised and lowered small words (footnote marks, indices) stay with the line they touch.
    """
    groups: list[list[Word]] = []
    cores: list[tuple[float, float]] = []  # top and bottom of the words that set the line
    sizes: list[float] = []  # the largest in each line
    for word in sorted(words, key=_by_height):
        top, bottom, size = word.top, word.bottom, word.size
        height = bottom - top
        for index in range(len(groups) - 1, max(len(groups) - 6, -1), -1):
            upper, lower = cores[index]
            shared = (lower if lower < bottom else bottom) - (upper if upper > top else top)
            if shared > 0.55 * max(min(lower - upper, height), 0.1):
                groups[index].append(word)
                if size > 1.2 * sizes[index]:
                    cores[index] = (top, bottom)
                sizes[index] = max(sizes[index], size)
                break
        else:
            groups.append([word])
            cores.append((top, bottom))
            sizes.append(size)
    for group in groups:
        group.sort(key=_left)
    lines = [Line(group) for group in groups]
    lines.sort(key=lambda item: (item.top + item.bottom, item.x0))
    return lines


def _by_height(word: Word) -> tuple[float, float]:
    return (word.top + word.bottom, word.x0)


def _left(word: Word) -> float:
    return word.x0


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
    if len(words) == 1:
        return _without_mark(words[0].text)
    text = ""
    for line in lines_of(words) if all(word.upright for word in words) else _sideways(words):
        if text.endswith((SOFT_HYPHEN, "-")) and text[-2:-1].isalpha() and line.text[:1].islower():
            text = text[:-1] + SOFT_HYPHEN + line.text
        elif text.endswith((SOFT_HYPHEN, "-")) and len(text) > 2 and text[-2].isalnum():
            text += line.text if line.text[:1].isalnum() else f" {line.text}"
        else:
            text = f"{text} {line.text}" if text else line.text
    return _without_mark(text)


def _without_mark(text: str) -> str:
    return text[:-1] + "-" if text.endswith(SOFT_HYPHEN) else text
