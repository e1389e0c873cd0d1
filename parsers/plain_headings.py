"""Headings by wording alone: contracts and laws whose headings are ordinary paragraphs.

Vietnamese and English legal numbering ("Chương II", "Điều 5.", "Article 3", "PHỤ LỤC 1") and short
bold lines. Conservative: a line that could be a sentence stays text.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

LONGEST_HEADING = 160
LONGEST_BOLD_LINE = 110
TITLE_RANK = 0
BOLD_RANK = 60

_NUMBER = r"(?:\d+[a-zđ]?|[IVXLC]+|[A-Z]|thứ \w+|one|two|three|four|five|six|seven|eight|nine|ten)"
_NAMED = (
    (10, re.compile(rf"(?:phần|part)\s+{_NUMBER}\b", re.IGNORECASE)),
    (20, re.compile(rf"(?:chương|chapter)\s+{_NUMBER}\b", re.IGNORECASE)),
    (
        20,
        re.compile(
            rf"(?:phụ lục|appendix|annex|schedule|exhibit)(?:\s+{_NUMBER}\b|\s*[:.]|$)", re.I
        ),
    ),
    (30, re.compile(rf"(?:mục|section)\s+{_NUMBER}\b", re.IGNORECASE)),
    (35, re.compile(rf"(?:tiểu mục|sub-?section)\s+{_NUMBER}\b", re.IGNORECASE)),
    (40, re.compile(r"(?:điều|article|clause)\s+(?:\d+[a-zđ]?|[IVXLC]+)\b", re.IGNORECASE)),
)
# What follows the number in a heading: nothing, a mark, or (bold or capitals only) a title.
_AFTER_NUMBER = re.compile(r"\s*(?:[.:)–—-]\s*|$)")
_ROMAN = re.compile(r"(?=[IVX])[IVX]{1,6}\s*[.)/–-]\s*\S")
_LETTER = re.compile(r"[A-H]\s*[.)]\s*\S")
_DECIMAL = re.compile(r"(\d{1,2}(?:\.\d{1,2}){0,4})[.)]?\s+\S")
_MOTTO = re.compile(
    r"cộng h(?:òa|oà) xã hội chủ nghĩa việt nam|độc lập\s*[-–—]\s*tự do", re.IGNORECASE
)
_LINE_START = re.compile(r"(?:[-–•*+●▪◦]|\(?[a-zđ]\)|\(\w{1,3}\))\s")


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A paragraph as these rules see it; ``text`` is normalised."""

    text: str
    bold: bool = False
    centred: bool = False
    size: float | None = None
    is_item: bool = False  # belongs to a list


def heading_ranks(lines: Sequence[Line]) -> list[int | None]:
    """Return each line's rank as a heading (a smaller number is higher), None for text.

    Ranks compare within one document alone: turn them into levels with ``levels_of``.
    """
    ranks = [_rank(line) for line in lines]
    first_named = next(
        (at for at, rank in enumerate(ranks) if rank is not None and rank < BOLD_RANK), len(lines)
    )
    title = _title_at(lines, ranks, first_named)
    if title is not None:
        ranks[title] = TITLE_RANK
    return ranks


def levels_of(ranks: Sequence[int | None]) -> list[int | None]:
    """Turn ranks into levels from 1 without gaps."""
    order = {
        rank: level for level, rank in enumerate(sorted({r for r in ranks if r is not None}), 1)
    }
    return [None if rank is None else order[rank] for rank in ranks]


def is_typed_item(text: str) -> bool:
    """Whether a paragraph begins like a list item that somebody typed: "- ", "a) "."""
    return _LINE_START.match(text) is not None


def is_motto(text: str) -> bool:
    """Whether a line begins with the motto that heads every official Vietnamese document."""
    return _MOTTO.match(text) is not None


def is_bare_name(text: str) -> bool:
    """Whether a heading is its number alone ("Chương II"), its title being the next line."""
    for _, pattern in _NAMED:
        match = pattern.match(text)
        if match:
            return not text[match.end() :].strip(" .:–—-")
    return False


def is_capitals(text: str) -> bool:
    """Whether a line of at least three letters is in capitals throughout."""
    letters = [char for char in text if char.isalpha()]
    return len(letters) >= 3 and all(char == char.upper() for char in letters)


def _rank(line: Line) -> int | None:
    text = line.text
    if not text or len(text) > LONGEST_HEADING or "\n" in text.strip() or _MOTTO.match(text):
        return None
    emphasised = line.bold or is_capitals(text)
    for rank, pattern in _NAMED:
        match = pattern.match(text)
        if match:
            rest = text[match.end() :]
            marked = _AFTER_NUMBER.match(rest) is not None
            is_sentence = text.endswith((".", ";", ",")) and len(rest.split()) > 2
            is_heading = emphasised or (marked and not is_sentence and text[0].isupper())
            return rank if is_heading and not text.endswith((";", ",")) else None
    if not emphasised or len(text) > LONGEST_BOLD_LINE or text.endswith((".", ";", ",", ":", "…")):
        return None
    if is_typed_item(text) or not any(char.isalpha() for char in text):
        return None
    if _ROMAN.match(text):
        return 45
    if _LETTER.match(text):
        return 46
    decimal = _DECIMAL.match(text)
    if decimal:
        return 50 + decimal.group(1).count(".")
    return BOLD_RANK if line.bold and not line.is_item else None


def _title_at(lines: Sequence[Line], ranks: list[int | None], first_named: int) -> int | None:
    """The document's title: the first strong bold line, before any numbered heading."""
    zone = [at for at in range(min(first_named, 12, len(lines))) if ranks[at] == BOLD_RANK]
    sizes = Counter(line.size for line in lines if line.size is not None)
    usual = sizes.most_common(1)[0][0] if sizes else None
    candidates = [
        at
        for at in zone
        if (len(zone) == 1 and first_named < len(lines))
        or is_capitals(lines[at].text)
        or lines[at].centred
        or (usual is not None and (lines[at].size or 0) > usual)
    ]
    if not candidates:
        return None
    largest = max(lines[at].size or 0 for at in candidates)
    return next(at for at in candidates if (lines[at].size or 0) == largest)
