"""What kind of thing a cell says, by its shape alone: a number, a date, a label, a note."""

from __future__ import annotations

import re
from enum import Enum, auto

_CURRENCY = r"(?:US\$|[$€£¥₫₩฿]|\bUSD|\bVND|\bVNĐ|\bEUR|\bGBP|\bJPY|đồng|đ)"
_NUMBER = r"[+\-−–]?\s?(?:\d{1,3}(?:[.,' ]\d{3})+|\d+)(?:[.,]\d+)?(?:[eE][+-]?\d+)?"
_WORD = r"[^\W\d_]"
_QUANTITY = re.compile(
    rf"[~≈≤≥<>±(+\-]*\s*{_CURRENCY}?\s*\(?{_NUMBER}\s*(?:{_CURRENCY}|[%‰°])?\s*[)*†]*",
    re.IGNORECASE,
)
# A number, then at most two short words: "30 ngày", "12 months", "5 GB/s".
_MEASURE = re.compile(rf"[~≈≤≥<>±]?\s*{_NUMBER}\s?{_WORD}{{1,9}}(?:[ /.]{_WORD}{{1,9}})?\.?")
_RANGE = re.compile(rf"{_NUMBER}\s*(?:-|–|—|to|đến|~)\s*{_NUMBER}(?:\s?{_WORD}{{1,9}}|\s?%)?")
_DATE = re.compile(
    r"\d{1,4}[./-]\d{1,2}[./-]\d{1,4}(?:[ T]\d{1,2}:\d{2}(?::\d{2})?)?|\d{1,2}:\d{2}(?::\d{2})?"
    r"|\d{1,2}[ -][A-Za-z]{3,9}[ -,]+\d{2,4}|[A-Za-z]{3,9} \d{1,2}, \d{4}"
)
_MARK = re.compile(r"[-–—−.…/*✓✔✗✘×xX☐☑☒●○]{1,3}|n/?a|nil|null|tbd|true|false", re.IGNORECASE)
_YEAR = re.compile(r"(?:FY\s?|năm\s+)?(?:19|20)\d{2}(?:[/-](?:\d{2}|\d{4}))?[AEF*]?", re.IGNORECASE)
_UNIT_LINE = re.compile(
    r"[(\[]?\s*(?:đơn vị(?: tính)?|đvt|units?|currency)\s*[:：].*"
    r"|[(\[](?:in|tính bằng|đơn vị)\s.*[)\]]",
    re.IGNORECASE,
)
_NOTE_LINE = re.compile(
    r"(?:ghi chú|chú thích|chú ý|lưu ý|nguồn|notes?|sources?|remarks?|footnotes?)\s*[:：.(].*"
    r"|(?:\*{1,3}|†|‡|\(\*{1,3}\)|\[\d\]|¹|²|³)\s*[^\W\d].*",
    re.IGNORECASE | re.DOTALL,
)
_ORDINAL = re.compile(r"(?:[IVXLC]+|[A-Z]|\d+(?:\.\d+)*)[.)]?")
_LONGEST_VALUE = 48
_LONGEST_LABEL = 160


class CellKind(Enum):
    """The shape of a cell's text."""

    EMPTY = auto()
    TEXT = auto()
    QUANTITY = auto()
    MEASURE = auto()
    DATE = auto()
    YEAR = auto()
    MARK = auto()


def cell_kind(text: str) -> CellKind:
    """Classify a normalised cell text; a year alone is YEAR though it is a number too."""
    if not text:
        return CellKind.EMPTY
    if len(text) > _LONGEST_VALUE:
        return CellKind.TEXT
    for pattern, kind in (
        (_YEAR, CellKind.YEAR),
        (_QUANTITY, CellKind.QUANTITY),
        (_DATE, CellKind.DATE),
        (_MARK, CellKind.MARK),
        (_RANGE, CellKind.MEASURE),
        (_MEASURE, CellKind.MEASURE),
    ):
        if pattern.fullmatch(text):
            return kind
    return CellKind.TEXT


def is_label(text: str) -> bool:
    """Whether a cell can name a row or a column: words, a code or a year, not a paragraph."""
    return len(text) <= _LONGEST_LABEL and cell_kind(text) in (CellKind.TEXT, CellKind.YEAR)


def is_ordinal(text: str) -> bool:
    """Whether a cell only counts: "1", "2.1", "IV", "A."."""
    return _ORDINAL.fullmatch(text) is not None


def is_unit_line(text: str) -> bool:
    """Whether a line states a unit: "Đơn vị tính: VND", "(in millions)"."""
    return _UNIT_LINE.fullmatch(text) is not None


def is_note_line(text: str) -> bool:
    """Whether a line remarks on a table: "Ghi chú: …", "Source: …", "* …", or states a unit."""
    return _NOTE_LINE.fullmatch(text) is not None or is_unit_line(text)
