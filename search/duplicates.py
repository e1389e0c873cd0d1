"""Chunks that say the same, shown once."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from unicodedata import normalize

from search.folding import fold, words

SHINGLE = 5  # words (Broder 1997)
ALIKE = 0.9  # Jaccard similarity of two chunks' shingles from which they are one
SHORT = 50  # words; a shorter chunk is the same or another: one word is too much of it

_WITH_DIGIT = re.compile(r"[^\s|]*\d[^\s|]*")
# Words that turn a rule around, and numbers and months in words: where these differ, chunks do.
# As written: folded, năm (year, five) and nam, or hai (two) and hại would be one word.
_DECISIVE = frozenset(
    """
    không chưa chẳng đừng cấm trừ ngoại
    not no never none without except unless cannot excluding
    một hai ba bốn tư năm sáu bảy tám chín mười mươi trăm nghìn ngàn triệu tỷ nửa rưỡi
    one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen
    sixteen seventeen eighteen nineteen twenty thirty forty fifty sixty seventy eighty ninety
    hundred thousand million half double first second third fourth
    january february march april may june july august september october november december
    """.split()  # noqa: SIM905
)


@dataclass(frozen=True, slots=True)
class Passage:
    """What of a chunk decides whether another says the same."""

    title: str
    headings: tuple[str, ...]
    text: str


def collapse(passages: Sequence[Passage]) -> list[list[int]]:
    """Groups of passages that say the same, by position: the best first, groups in its order.

    Two are one when they are equal but for case, marks and white space, or, of some length, when
    nine tenths of their five-word shingles are shared and no negation or number in words differs.
    Every number and code in text, headings and title must be the same, and every month of these
    two: price lists of two years never are one.
    """
    groups: list[list[int]] = []
    kinds: dict[object, list[_Kept]] = {}
    for position, passage in enumerate(passages):
        mine = _Kept(passage, len(groups))
        alike = kinds.setdefault(_numbers(passage), [])
        for other in alike:
            if mine.same_as(other):
                groups[other.group].append(position)
                break
        else:
            alike.append(mine)
            groups.append([position])
    return groups


class _Kept:
    """A passage as it is compared. Shingles are made when two are long enough to need them."""

    def __init__(self, passage: Passage, group: int) -> None:
        self.group = group
        # The nearest heading says whose rule it is: one sentence below two headings is two.
        nearest = passage.headings[-1] if passage.headings else ""
        self._body = " ".join(fold(f"{nearest}\n{passage.text}").split())
        self._words = words(self._body)
        self._decisive = _decisive(passage.text)
        self._made: set[tuple[str, ...]] | None = None

    def same_as(self, other: _Kept) -> bool:
        if self._body == other._body:
            return True
        few, many = sorted((len(self._words), len(other._words)))
        if few < SHORT or few < ALIKE * many or self._decisive != other._decisive:
            return False
        mine, theirs = self._shingles(), other._shingles()
        shared = len(mine & theirs)
        return shared >= ALIKE * (len(mine) + len(theirs) - shared)

    def _shingles(self) -> set[tuple[str, ...]]:
        if self._made is None:
            self._made = set(zip(*(self._words[n:] for n in range(SHINGLE)), strict=False))
        return self._made


def _numbers(passage: Passage) -> object:
    """What must be equal in any case: numbers and codes in order, decisive words of headings."""
    headings = "\n".join((passage.title, *passage.headings))
    return (
        tuple(
            tuple(found.strip(".,;:()[]“”\"'").casefold() for found in _WITH_DIGIT.findall(part))
            for part in (headings, passage.text)
        ),
        _decisive(headings),
    )


def _decisive(text: str) -> frozenset[tuple[str, int]]:
    """How often each decisive word stands in a text."""
    spoken = re.findall(r"\w+", normalize("NFC", text).casefold())
    return frozenset(Counter(word for word in spoken if word in _DECISIVE).items())
