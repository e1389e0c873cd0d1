"""Sentences of Vietnamese and English text, found without a model."""

from __future__ import annotations

import re

Span = tuple[int, int]

_END = re.compile(r"""(?:[.!?…]+["'”’»)\]]*(?=\s)|[。！？]+["'”’»)\]」』]*)\s*""")
_LAST_WORD = re.compile(r"[^\s(\[“\"'«]*$")
_ORDINAL = re.compile(r"\d+(?:\.\d+)*[a-zđ]?|[IVXLCDM]+|[a-zđ]", re.IGNORECASE)
# A line that begins like an item begins a sentence, whatever the line above ended with.
_ITEM = re.compile(r"\n(?=\s*(?:[-–—•*+▪●○]\s|\(?(?:\d{1,3}(?:\.\d+)*|[a-zđ])[.)]\s))")

# What stands before a full stop without ending a sentence. A number after one of the words in
# _NUMBERED ("Điều 5.", "Section 2.") does not end one either.
_ABBREVIATIONS = re.compile(
    r"mr|mrs|ms|dr|prof|st|jr|sr|inc|ltd|co|corp|vs|etc|nos?|figs?|eq|arts?|secs?|ch|paras?|vol|"
    r"eds?|approx|dept|est|min|max|incl|excl|resp|cf|ca|al|pp?|jan|feb|mar|apr|jun|jul|aug|sept?|"
    r"oct|nov|dec|mon|tue|wed|thu|fri|tel|ext|ref|"
    r"tp|tx|q|ph|tt|ths|ts|pgs|gs|bs|ks|cn|gv|hs|nxb|stt|đt|đc|vd|ubnd|hđ|qđ|nđ|xb|tr|th|đ",
    re.IGNORECASE,
)
_NUMBERED = re.compile(
    r"điều|khoản|mục|chương|phần|điểm|phụ|lục|bảng|hình|biểu|mẫu|số|quyển|tập|bước|câu|tiết|"
    r"articles?|sections?|clauses?|chapter|part|appendix|annex|table|figure|schedule|item|step|"
    r"exhibit|paragraph|number",
    re.IGNORECASE,
)
_CONDITION = re.compile(
    r"(?:trừ|ngoại trừ|tuy nhiên|nhưng|nếu không|trong đó|với điều kiện|"
    r"except|unless|provided|however|but|otherwise|where|this does not)\b",
    re.IGNORECASE,
)
_LEADS_IN = re.compile(
    r"[:：]\W*$|\b(?:như sau|sau đây|dưới đây|bên dưới|following|as follows|below)\b",
    re.IGNORECASE,
)


def sentences(text: str) -> list[Span]:
    """Return the (start, end) of each sentence, without the white space between them.

    A full stop ends none after an abbreviation, an initial, an item's number or the number of an
    article, inside a number or a date, or before a small letter.
    """
    cuts = {match.end() for match in _END.finditer(text) if _ends_sentence(text, match)}
    cuts |= {match.end() for match in _ITEM.finditer(text)}
    return spans_between(text, sorted(cuts))


def spans_between(text: str, cuts: list[int]) -> list[Span]:
    """Return the parts of ``text`` between ``cuts``, trimmed of white space; empty ones go."""
    spans = []
    for start, end in zip([0, *cuts], [*cuts, len(text)], strict=True):
        part = text[start:end]
        lead = len(part) - len(part.lstrip())
        length = len(part.strip())
        if length:
            spans.append((start + lead, start + lead + length))
    return spans


def states_condition(sentence: str) -> bool:
    """Whether a sentence limits the one before it ("Except …", "Trừ trường hợp …")."""
    return _CONDITION.match(sentence) is not None


def leads_in(text: str) -> bool:
    """Whether a paragraph announces what follows it ("… as follows:")."""
    spans = sentences(text)
    return bool(spans) and _LEADS_IN.search(text[spans[-1][0] :]) is not None


def _ends_sentence(text: str, match: re.Match[str]) -> bool:
    if match.end() == len(text):
        return False
    mark = match.group().rstrip()
    if mark[0] in "。！？":
        return True
    if text[match.end()].islower():
        return False
    return mark[0] != "." or mark.startswith("..") or not _is_inner_stop(text, match.start())


def _is_inner_stop(text: str, position: int) -> bool:
    """Whether the full stop at ``position`` belongs to the word or the number before it."""
    last = _LAST_WORD.search(text, 0, position)
    word = last.group() if last else ""
    is_initial = len(word) == 1 and word.isalpha()
    has_stops = "." in word and not word[0].isdigit()
    if is_initial or has_stops or _ABBREVIATIONS.fullmatch(word):
        return True
    if _ORDINAL.fullmatch(word) is None:
        return False
    line = text[text.rfind("\n", 0, position) + 1 : position - len(word)].rstrip()
    words = line.strip("-–—•*( ").split()
    if not words or line.endswith((".", "!", "?")):
        return True  # "1. Scope", at the beginning of a line or after a sentence
    return _NUMBERED.fullmatch(words[-1].strip("(“\"'")) is not None
