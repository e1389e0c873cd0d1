"""What people type: quoted phrases, minus parts, codes, clause numbers."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass

from search.folding import fold, has_diacritics, is_vietnamese

# Straight, curly, low and angle quotes; a straight one opens at a word's start, so that inches
# (5" or 6") are no phrase.
_QUOTED = re.compile(
    r'(?<![\w"])"([^"]+)"(?!\w)|[“„‟]([^“”„‟]+)[”“]|«([^«»]+)»|‹([^‹›]+)›',
)
_QUOTES = '"“”„‟«»‹›'
# A minus that excludes stands at a word's start and before a letter or a quote: not in BH-01, not
# -5 or -3%, not "- item", not --option, and not the one-letter option -r.
_MINUS = r"(?<!\S)[-\u2212]"
_MINUS_WORD = re.compile(_MINUS + r"([^\W\d_]\w[^\s" + _QUOTES + r"]*)")
_MINUS_BEFORE_QUOTE = re.compile(r"(?:^|(?<=\s))[-\u2212]$")

_MARKERS = re.compile("[\0\1]")  # what stands for a part while others are looked for

_SEPARATED = r"[^\W_]+(?:[-_./:]+[^\W_]+)+"
_CODE = re.compile(
    rf"(?<![\w.-])(?:{_SEPARATED}|[^\W\d_]{{1,6}}\d[^\W_]*|\d+[^\W\d_]+\d[^\W_]*|\d{{3,}})(?![\w])"
)
_DATE = re.compile(r"\d{1,2}[-./]\d{1,2}(?:[-./]\d{2,4})?|\d{4}[-./]\d{1,2}(?:[-./]\d{1,2})?")
_RANGE_OR_DECIMAL = re.compile(r"\d+[-.,:/]\d+|\d{1,2}:\d{2}:\d{2}")
_GROUPED = re.compile(r"\d{1,3}(?:\.\d{3})+")
_NUMBER = r"(?:\d+(?:\.\d+)*[a-zđ]?|[IVXLC]+|[A-Zivxlc])"
_VIETNAMESE_CLAUSES = "điều|khoản|mục|chương|phần|phụ lục|tiết|bảng|biểu mẫu|mẫu số|quyển"
_ENGLISH_CLAUSES = (
    r"section|sec\.?|sections|article|art\.?|clause|chapter|appendix|annex|schedule|paragraph|"
    r"para\.?|table|figure|rule|exhibit"
)
_CLAUSE = re.compile(
    rf"(?:(?i:\b(?:{_VIETNAMESE_CLAUSES}|{fold(_VIETNAMESE_CLAUSES)}|{_ENGLISH_CLAUSES}))"
    rf"\s+(?:(?i:số|so|no\.?)\s+)?|§+\s*)({_NUMBER})(?!\w)|(?i:\b(?:điểm|diem))\s+([a-zđ])(?!\w)"
)
_REST = re.compile(r"[^\W_]+")
FEW = 2  # words beside a code that leave the question a look-up: "lỗi ERR_4021", "giá BH-01"
# Folded; they ask, and say nothing of what is looked up.
_ASKING = frozenset(
    """
    la gi nao the co bao nhieu may cua cho ve o
    what which is are does do mean means the a an of for in how much where who
    """.split()  # noqa: SIM905
)


class NothingAsked(ValueError):
    """A question without words: empty, or nothing but what to leave out."""

    def __init__(self) -> None:
        super().__init__("the question is empty or says only what to leave out")


@dataclass(frozen=True, slots=True, kw_only=True)
class ParsedQuery:
    """A question taken apart.

    ``text`` is what is searched and embedded: NFC, minus parts and quote marks gone, quoted words
    still in it. ``codes`` are codes and clause numbers as they are written. An exact look-up has
    only these, or phrases, and at most a few words beside them.
    """

    text: str
    phrases: tuple[str, ...]
    without: tuple[str, ...]
    codes: tuple[str, ...]
    is_exact_lookup: bool
    has_diacritics: bool
    language: str | None  # vi, or None: not known

    @property
    def is_unmarked(self) -> bool:
        """Vietnamese typed without its marks: nghi phep nam."""
        return self.language == "vi" and not self.has_diacritics


def parse(query: str) -> ParsedQuery:
    """Take a question apart.

    Raises NothingAsked.
    """
    left = " ".join(_MARKERS.sub(" ", unicodedata.normalize("NFC", query)).split())
    phrases: list[str] = []
    without: list[str] = []

    def quoted(match: re.Match[str]) -> str:
        phrase = _trimmed(next(group for group in match.groups() if group is not None))
        if _MINUS_BEFORE_QUOTE.search(match.string[: match.start()]):
            without.append(phrase)
            return "\0"  # goes with the minus before it
        phrases.append(phrase)
        return f" \1{len(phrases) - 1}\1 "  # a minus within it is no minus

    def excluded(match: re.Match[str]) -> str:
        without.append(_trimmed(match[1]))
        return " "

    left = _QUOTED.sub(quoted, left)
    left = re.sub("[-\u2212]?\0", " ", left)
    left = _MINUS_WORD.sub(excluded, left)
    left = re.sub("\1(\\d+)\1", lambda match: phrases[int(match[1])], left)
    text = " ".join(re.sub(f"[{_QUOTES}]", " ", left).split())
    if not text:
        raise NothingAsked
    phrases = [phrase for phrase in phrases if _REST.search(phrase)]
    codes = find_codes(text)
    return ParsedQuery(
        text=text,
        phrases=tuple(dict.fromkeys(phrases)),
        without=tuple(dict.fromkeys(w for w in without if _REST.search(w))),
        codes=codes,
        is_exact_lookup=_is_exact_lookup(text, phrases, codes),
        has_diacritics=has_diacritics(text),
        language="vi" if is_vietnamese(text) else None,
    )


def find_codes(text: str) -> tuple[str, ...]:
    """Codes and clause numbers, in order: ERR_4021, 8.500.000, v1.2.3, Điều 12, 45/2019/QH14."""
    found = [(match.start(), match.end()) for match in _CLAUSE.finditer(text)]
    for match in _CODE.finditer(text):
        inside = any(start <= match.start() < end for start, end in found)
        if not inside and _is_code(match[0]):
            found.append((match.start(), match.end()))
    return tuple(dict.fromkeys(text[start:end] for start, end in sorted(found)))


def _is_code(word: str) -> bool:
    if _GROUPED.fullmatch(word):
        return True
    if _DATE.fullmatch(word) or _RANGE_OR_DECIMAL.fullmatch(word):
        return False
    if word.isdecimal():
        # A year or a quantity within a sentence; on its own a number is a code (429).
        return not 1900 <= int(word) <= 2100
    return any(c.isdecimal() for c in word) or "_" in word


def _is_exact_lookup(text: str, phrases: list[str], codes: tuple[str, ...]) -> bool:
    rest = text
    for part in sorted([*phrases, *codes], key=len, reverse=True):
        rest = rest.replace(part, " ")
    beside = [word for word in _REST.findall(fold(rest)) if word not in _ASKING]
    if phrases or any(not code.isdecimal() for code in codes):
        return len(beside) <= FEW
    return bool(codes) and not beside


def _trimmed(part: str) -> str:
    return " ".join(re.sub(f"[{_QUOTES}]", " ", part).split()).strip(" ,;:.!?()[]…")
