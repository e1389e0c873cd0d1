"""Words compared as people compare them: without case, marks, width or punctuation."""

from __future__ import annotations

import re
import unicodedata

_MARKS = re.compile("[\u0300-\u036f]")
_WITH_MARK = re.compile("[\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u024f\u1e00-\u1eff\u0300-\u036f]")
_WORD = re.compile(r"\w+")
# A Vietnamese syllable without its marks: onset, vowels, coda. Hardly a longer English word is one.
_SYLLABLE = re.compile(
    "(?:ngh|ng|nh|gh|gi|kh|ph|qu|th|tr|ch|[bcdghklmnprstvx])?"
    "(?:oa[iyo]|oeo|uay|uo[iu]|ieu|yeu|uy[aeu]|a[iouy]|e[ou]|i[aeu]|o[aeio]|u[aeiouy]|ye|[aeiouy])"
    "(?:ch|ng|nh|[cmnpt])?"
)
MOSTLY = 2 / 3  # of a question's words; English ones of the measured sets reach 0.6


def fold(text: str) -> str:
    """Lower case, compatibility forms made plain, no diacritics, đ as d."""
    plain = unicodedata.normalize("NFKC", text).casefold().replace("đ", "d")
    return _MARKS.sub("", unicodedata.normalize("NFD", plain))


def has_diacritics(text: str) -> bool:
    """Whether a letter carries a mark (đ does): such words are meant as they are written."""
    return _WITH_MARK.search(text) is not None


def is_vietnamese(text: str) -> bool:
    """Whether most words of a text, three or more, are Vietnamese syllables, marked or not."""
    spoken = [word for word in words(text) if len(word) > 1 and word.isalpha()]
    syllables = sum(_SYLLABLE.fullmatch(word) is not None for word in spoken)
    return len(spoken) >= 3 and syllables >= MOSTLY * len(spoken)


def words(text: str) -> list[str]:
    """Folded words in order."""
    return _WORD.findall(fold(text))


def same_word(asked: str, known: str) -> bool:
    """Whether two words are one: marks count only where both have some, their order never.

    So ``phep`` is ``phép``, ``hoà`` is ``hòa``, and ``cấp`` is not ``cáp``.
    """
    if fold(asked) != fold(known):
        return False
    mine, theirs = _marks(asked), _marks(known)
    return not mine or not theirs or mine == theirs


def _marks(word: str) -> list[str]:
    lowered = word.casefold()
    marks = _MARKS.findall(unicodedata.normalize("NFD", lowered))
    return sorted([*marks, *("đ" * lowered.count("đ"))])
