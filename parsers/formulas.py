"""Formulas of a workbook that were never computed: files written by programs hold no results.

Arithmetic, comparisons, text joining and the functions that sums and price lists use are worked
out as a spreadsheet does; what needs more stays without a value.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from decimal import ROUND_DOWN, ROUND_HALF_UP, ROUND_UP, Decimal
from typing import Any

from openpyxl.utils.cell import column_index_from_string
from openpyxl.workbook.workbook import Workbook

MAX_CELLS = 200_000  # of all ranges together that one workbook's formulas may read
_DEEPEST = 150  # formulas that stand on one another, and brackets within one

_TOKEN = re.compile(
    r"""\s*(?:(?P<number>\d+\.?\d*(?:[eE][+-]?\d+)?|\.\d+)
    |(?P<text>"(?:[^"]|"")*")
    |(?P<ref>(?:(?:'(?:[^']|'')+'|[^\W\d][\w.]*)!)?\$?[A-Za-z]{1,3}\$?\d+
        (?::\$?[A-Za-z]{1,3}\$?\d+)?(?![\w(.]))
    |(?P<name>[A-Za-z][A-Za-z0-9.]*)(?=\s*\()
    |(?P<truth>TRUE|FALSE)\b
    |(?P<sign><=|>=|<>|[-+*/^&=<>%(),;]))""",
    re.VERBOSE | re.IGNORECASE,
)
_REF = re.compile(r"\$?([A-Za-z]+)\$?(\d+)")

Value = Any  # float, str, bool, datetime, None, or a list of these for a range


class _NoValue(Exception):
    """A formula needs what is not worked out here, or is an error in the sheet too."""


def compute(shown: Workbook, formulas: Workbook) -> bool:
    """Put results into the empty cells of ``shown`` that hold a formula in ``formulas``.

    ``shown`` was read for its values, ``formulas`` for its formulas. Returns whether no formula
    is left without a value.
    """
    sheets = {sheet.title.casefold(): sheet for sheet in formulas.worksheets}
    values = {sheet.title.casefold(): sheet for sheet in shown.worksheets}
    book = _Book(sheets, values)
    is_whole = True
    for name, sheet in sheets.items():
        for at, row in enumerate(sheet.iter_rows(), 1):
            for col in (n for n, cell in enumerate(row, 1) if cell.data_type == "f"):
                target = values[name].cell(at, col)
                if target.value is not None:
                    continue
                try:
                    target.value = book.value(name, at, col, 0)
                except (_NoValue, ArithmeticError, ValueError, TypeError, RecursionError):
                    is_whole = False
    return is_whole


@dataclass(slots=True)
class _Book:
    formulas: dict[str, Any]
    values: dict[str, Any]
    known: dict[tuple[str, int, int], Value] = field(default_factory=dict)
    open: set[tuple[str, int, int]] = field(default_factory=set)
    read: int = 0

    def value(self, sheet: str, row: int, col: int, depth: int) -> Value:
        """Return a cell's value, working its formula out where need be."""
        at = (sheet, row, col)
        if at in self.known:
            return self.known[at]
        if sheet not in self.formulas or at in self.open or depth > _DEEPEST:
            raise _NoValue
        shown = self.values[sheet].cell(row, col).value
        source = self.formulas[sheet].cell(row, col)
        if shown is None and source.data_type == "f":
            if not isinstance(source.value, str):
                raise _NoValue
            self.open.add(at)
            try:
                shown = _Formula(self, sheet, source.value[1:], depth).result()
            finally:
                self.open.discard(at)
        self.known[at] = shown
        return shown

    def range(self, sheet: str, ref: str, depth: int) -> Value:
        """Return the value of a cell, or the values of a range as a list."""
        if "!" in ref:
            name, _, ref = ref.rpartition("!")
            sheet = name.strip("'").replace("''", "'").casefold()
        corners = [(int(row), column_index_from_string(col)) for col, row in _REF.findall(ref)]
        (top, left), (bottom, right) = corners[0], corners[-1]
        if len(corners) == 1:
            return self.value(sheet, top, left, depth)
        self.read += (bottom - top + 1) * (right - left + 1)
        if self.read > MAX_CELLS:
            raise _NoValue
        return [
            self.value(sheet, row, col, depth)
            for row in range(top, bottom + 1)
            for col in range(left, right + 1)
        ]


class _Formula:
    """A recursive descent over one formula, without its leading sign."""

    def __init__(self, book: _Book, sheet: str, source: str, depth: int) -> None:
        self._book, self._sheet, self._depth = book, sheet, depth + 1
        self._tokens: list[tuple[str, str]] = []
        end = len(source.rstrip())
        at = 0
        while at < end:
            match = _TOKEN.match(source, at)
            if match is None or match.lastgroup is None:
                raise _NoValue
            self._tokens.append((match.lastgroup, match.group(match.lastgroup)))
            at = match.end()
        self._at = 0

    def result(self) -> Value:
        value = self._compared()
        if self._at < len(self._tokens) or isinstance(value, list):
            raise _NoValue
        return value

    def _next(self, *signs: str) -> str | None:
        if self._at < len(self._tokens):
            kind, text = self._tokens[self._at]
            if kind == "sign" and text in signs:
                self._at += 1
                return text
        return None

    def _compared(self) -> Value:
        left = self._joined()
        while sign := self._next("=", "<>", "<", ">", "<=", ">="):
            left = _compare(sign, left, self._joined())
        return left

    def _joined(self) -> Value:
        left = self._sum()
        while self._next("&"):
            left = _text(left) + _text(self._sum())
        return left

    def _sum(self) -> Value:
        left = self._product()
        while sign := self._next("+", "-"):
            left = _added(left, self._product(), 1 if sign == "+" else -1)
        return left

    def _product(self) -> Value:
        left = self._power()
        while sign := self._next("*", "/"):
            right = _number(self._power())
            left = _number(left) * right if sign == "*" else _number(left) / right
        return left

    def _power(self) -> Value:
        left = self._signed()
        while self._next("^"):
            left = _number(left) ** _number(self._signed())
        return left

    def _signed(self) -> Value:
        sign = self._next("+", "-")
        value = self._signed() if sign else self._single()
        return -_number(value) if sign == "-" else value

    def _single(self) -> Value:
        self._depth += 1
        if self._depth > _DEEPEST or self._at >= len(self._tokens):
            raise _NoValue
        kind, text = self._tokens[self._at]
        self._at += 1
        if kind == "number":
            value: Value = float(text)
        elif kind == "text":
            value = text[1:-1].replace('""', '"')
        elif kind == "truth":
            value = text.upper() == "TRUE"
        elif kind == "ref":
            value = self._book.range(self._sheet, text, self._depth)
        elif kind == "name":
            value = self._called(text.upper())
        elif text == "(":
            value = self._compared()
            if not self._next(")"):
                raise _NoValue
        else:
            raise _NoValue
        while self._next("%"):
            value = _number(value) / 100
        self._depth -= 1
        return value

    def _called(self, name: str) -> Value:
        function = _FUNCTIONS.get(name)
        if function is None or not self._next("("):
            raise _NoValue
        values: list[Value] = []
        if not self._next(")"):
            values.append(self._compared())
            while self._next(",", ";"):
                values.append(self._compared())
            if not self._next(")"):
                raise _NoValue
        return function(values)


# --- values --------------------------------------------------------------------------------------


def _number(value: Value) -> float:
    if value is None:
        return 0.0
    if isinstance(value, bool | int | float):
        return float(value)
    raise _NoValue


def _text(value: Value) -> str:
    if isinstance(value, float):
        return f"{value:.10g}"
    if value is None or isinstance(value, str | int):
        return "" if value is None else str(value)
    raise _NoValue


def _added(left: Value, right: Value, sign: int) -> Value:
    moments = [isinstance(value, date) for value in (left, right)]
    if all(moments) and sign < 0:
        return (_moment(left) - _moment(right)) / timedelta(days=1)
    if moments[0] and not moments[1]:
        return _moment(left) + timedelta(days=sign * _number(right))
    return _number(left) + sign * _number(right)


def _moment(value: date) -> datetime:
    return value if isinstance(value, datetime) else datetime(value.year, value.month, value.day)


def _compare(sign: str, left: Value, right: Value) -> bool:
    if isinstance(left, date) and isinstance(right, date):
        left, right = _moment(left), _moment(right)
    elif isinstance(left, str) or isinstance(right, str):
        left, right = _text(left).casefold(), _text(right).casefold()
    else:
        left, right = _number(left), _number(right)
    is_less, is_more = left < right, left > right
    found: bool = {
        "=": not (is_less or is_more),
        "<>": is_less or is_more,
        "<": is_less,
        ">": is_more,
        "<=": not is_more,
        ">=": not is_less,
    }[sign]
    return found


def _flat(values: Sequence[Value]) -> list[Value]:
    return [each for value in values for each in (value if isinstance(value, list) else [value])]


def _numbers(values: Sequence[Value]) -> list[float]:
    """Numbers among the values, as sums see them: words and truths in ranges do not count."""
    flat = _flat(values)
    if any(isinstance(value, date) for value in flat):
        raise _NoValue
    return [float(v) for v in flat if isinstance(v, int | float) and not isinstance(v, bool)]


def _rounded(mode: str) -> Callable[[list[Value]], float]:
    def apply(values: list[Value]) -> float:
        number = Decimal(repr(_number(values[0])))
        places = int(_number(values[1])) if len(values) > 1 else 0
        return float(number.quantize(Decimal(1).scaleb(-places), mode))

    return apply


def _if(values: list[Value]) -> Value:
    if isinstance(values[0], list):
        raise _NoValue
    is_true = _number(values[0]) != 0
    return values[1] if is_true else (values[2] if len(values) > 2 else False)


def _subtotal(values: list[Value]) -> float:
    if _number(values[0]) not in (9, 109):
        raise _NoValue
    return math.fsum(_numbers(values[1:]))


def _average(values: list[Value]) -> float:
    numbers = _numbers(values)
    return math.fsum(numbers) / len(numbers)


def _sumproduct(values: list[Value]) -> float:
    columns = [[_number(v) for v in value] for value in values]
    return math.fsum(math.prod(row) for row in zip(*columns, strict=True))


_FUNCTIONS: dict[str, Callable[[list[Value]], Value]] = {
    "SUM": lambda values: math.fsum(_numbers(values)),
    "PRODUCT": lambda values: math.prod(_numbers(values)),
    "AVERAGE": _average,
    "MIN": lambda values: min(_numbers(values), default=0.0),
    "MAX": lambda values: max(_numbers(values), default=0.0),
    "COUNT": lambda values: float(len(_numbers(values))),
    "COUNTA": lambda values: float(sum(v is not None for v in _flat(values))),
    "ABS": lambda values: abs(_number(values[0])),
    "ROUND": _rounded(ROUND_HALF_UP),
    "ROUNDUP": _rounded(ROUND_UP),
    "ROUNDDOWN": _rounded(ROUND_DOWN),
    "INT": lambda values: float(math.floor(_number(values[0]))),
    "IF": _if,
    "AND": lambda values: all(_number(v) != 0 for v in _flat(values)),
    "OR": lambda values: any(_number(v) != 0 for v in _flat(values)),
    "NOT": lambda values: _number(values[0]) == 0,
    "SUBTOTAL": _subtotal,
    "SUMPRODUCT": _sumproduct,
    "CONCATENATE": lambda values: "".join(map(_text, values)),
    "CONCAT": lambda values: "".join(map(_text, _flat(values))),
}
