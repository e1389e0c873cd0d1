"""Cell values as a spreadsheet shows them: Excel number formats (ECMA-376 part 1, 18.8.31)."""

from __future__ import annotations

import math
import re
from datetime import date, datetime, time, timedelta
from decimal import ROUND_HALF_UP, Context, Decimal, localcontext
from fractions import Fraction
from functools import lru_cache

Value = str | int | float | bool | datetime | date | time | timedelta | None

_TOKEN = re.compile(
    r'"(?P<quoted>[^"]*)"|\\(?P<escaped>.)|_(?P<pad>.)|\*(?P<fill>.)|\[(?P<bracket>[^\]]*)\]'
    r"|(?P<ampm>AM/PM|A/P)|(?P<exp>[Ee][+-])|(?P<date>[yYdDhHsS]+|[mM]+|\.0+(?=[^\d#?]|$))"
    r"|(?P<digits>[0#?.,/]+)|(?P<percent>%)|(?P<text>@)|(?P<other>.)",
    re.DOTALL,
)
_SECTION = re.compile(r'(?:"[^"]*"|\\.|\[[^\]]*\]|[^;"\\\[])*')
_MONTHS = (
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
)
_DAYS = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]
# "05-04-2026" is taken for a sort of ISO date and misread: it is written as one.
_DASHED = re.compile(r"(?:d{1,2}-m{1,2}|m{1,2}-d{1,2})-y")
# Built-in formats that Excel shows in the reader's own order: written as ISO dates instead.
_LOCAL_DATES = frozenset(
    {"mm-dd-yy", "m/d/yy", "m/d/yyyy h:mm", "m/d/yy h:mm", "[$-f800]dddd, mmmm dd, yyyy"}
)


def show(value: Value, number_format: str = "General") -> str:
    """Return a cell's value as the sheet displays it, with English separators.

    Dates in a format whose order follows the reader's locale, and numeric dates with dashes, are
    written as ISO dates. Text and unknown formats come through unchanged.
    """
    if value is None:
        return ""
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, datetime | date | time | timedelta):
        return _show_date(value, number_format)
    if isinstance(value, str):
        return value
    return _show_number(value, number_format)


def general(value: float) -> str:
    """Write a number as the format General does: up to eleven significant digits."""
    if isinstance(value, int) or value.is_integer():
        return str(int(value)) if abs(value) < 1e15 else f"{value:.5E}"
    if 1e-9 < abs(value) < 1e11:
        return f"{value:.10g}" if abs(value) >= 1e-4 else f"{value:.9f}".rstrip("0")
    return f"{value:.5E}"


def _show_number(value: float, number_format: str) -> str:
    sections = _sections(number_format)
    if not math.isfinite(value):
        return str(value)
    at = 0
    if len(sections) > 2 and value == 0:
        at = 2
    elif len(sections) > 1 and value < 0:
        at = 1
    section = sections[at]
    shown = abs(value) if at == 1 else value
    if section.strip().casefold() in ("general", "@", "standard"):
        return general(shown)
    with localcontext(Context(prec=400)):
        return _fill(shown, _tokens(section)) if section else ""


def _fill(value: float, tokens: tuple[tuple[str, str], ...]) -> str:
    """Put a number into a format section's placeholders."""
    pattern = "".join(text for kind, text in tokens if kind == "digits")
    if not pattern.strip(",./"):
        literal = "".join(text for kind, text in tokens if kind == "literal")
        return literal if literal.strip() else (general(value) if not tokens else literal.strip())
    percents = sum(kind == "percent" for kind, _ in tokens)
    scaled = float(Decimal(repr(value)).scaleb(2 * percents))
    exponent = any(kind == "exp" for kind, _ in tokens)
    if "/" in pattern:
        digits = _fraction(scaled, pattern)
    elif exponent:
        digits = f"{scaled:.{_decimals(pattern.split('0', 1)[0] + pattern)}E}"
    else:
        digits = _decimal(scaled, pattern)
    out, placed = [], False
    for kind, text in tokens:
        if kind == "digits" and not placed:
            out.append(digits)
            placed = True
        elif kind in ("literal", "percent"):
            out.append("%" if kind == "percent" else text)
    shown = "".join(out).strip()
    # "$-5" reads wrong: the sign goes to the front, as the sheet shows it.
    return (
        "-" + shown.replace("-", "", 1)
        if value < 0 and "-" in shown[1:] and shown[0] != "-"
        else shown
    )


def _decimal(value: float, pattern: str) -> str:
    whole, _, places = pattern.partition(".")
    scale = (
        len(whole) - len(whole.rstrip(",")) if not places else len(places) - len(places.rstrip(","))
    )
    exact = Decimal(repr(value)).scaleb(-3 * scale)
    grouped = "," in whole.rstrip(",")
    places = places.rstrip(",")
    required = places.count("0")
    # Sheets round halves away from zero, by the decimal digits that they show.
    rounded = exact.quantize(Decimal(1).scaleb(-len(places)), ROUND_HALF_UP)
    text = f"{rounded:,f}" if grouped else f"{rounded:f}"
    if len(places) > required and "." in text:
        keep = len(text) - (len(places) - required)
        while len(text) > keep and text.endswith("0"):
            text = text[:-1]
        text = text.rstrip(".")
    zeros = whole.replace(",", "").count("0")
    sign, digits = ("-", text[1:]) if text.startswith("-") else ("", text)
    head, dot, tail = digits.partition(".")
    if not grouped:
        head = head.zfill(zeros)
    if not zeros and head == "0" and dot:
        head = ""
    if sign and not any(char in "123456789" for char in head + tail):
        sign = ""  # rounded to nothing
    return f"{sign}{head}{dot}{tail}"


def _decimals(pattern: str) -> int:
    return len(pattern.partition(".")[2].split("E")[0].rstrip("0#?,")) or pattern.count("0") - 3


def _fraction(value: float, pattern: str) -> str:
    numerator, _, denominator = pattern.partition("/")
    if denominator.isdecimal() and denominator.strip("0"):
        bottom = int(denominator)
        top = round(abs(value) * bottom)
    else:
        found = Fraction(abs(value)).limit_denominator(10 ** max(1, len(denominator)) - 1)
        top, bottom = found.numerator, found.denominator
    sign = "-" if value < 0 else ""
    whole, rest = divmod(top, bottom) if len(numerator) > 1 else (0, top)
    if not rest:
        return f"{sign}{whole}"
    return f"{sign}{whole} {rest}/{bottom}" if whole else f"{sign}{rest}/{bottom}"


@lru_cache(maxsize=512)
def _sections(number_format: str) -> tuple[str, ...]:
    sections, at = [], 0
    while at <= len(number_format):
        match = _SECTION.match(number_format, at)
        end = match.end() if match else len(number_format)
        sections.append(number_format[at:end])
        if end < len(number_format) and number_format[end] != ";":
            return (number_format,)
        at = end + 1
    return tuple(sections)


@lru_cache(maxsize=512)
def _tokens(section: str) -> tuple[tuple[str, str], ...]:
    """Cut a section into ("digits" | "date" | "elapsed" | "literal" | …, text)."""
    out: list[tuple[str, str]] = []
    for match in _TOKEN.finditer(section):
        kind, text = match.lastgroup or "other", match.group()
        if kind in ("quoted", "escaped"):
            out.append(("literal", match.group(kind)))
        elif kind == "pad":
            out.append(("literal", " "))
        elif kind == "bracket":
            inner = match.group("bracket")
            if inner.startswith("$"):
                out.append(("literal", inner[1:].split("-")[0]))
            elif inner and set(inner.casefold()) <= set("hms"):
                out.append(("elapsed", inner.casefold()))
        elif kind == "date" and text.startswith(".0"):
            out.append(("digits", text))
        elif kind == "other":
            out.append(("literal", text))
        elif kind != "fill":
            out.append((kind, text))
    return tuple(out)


def _show_date(value: datetime | date | time | timedelta, number_format: str) -> str:
    section = _sections(number_format)[0]
    if isinstance(value, timedelta):
        return _show_elapsed(value, section)
    if isinstance(value, time):
        moment = datetime.combine(date(1900, 1, 1), value)
    elif isinstance(value, datetime):
        moment = value
    else:
        moment = datetime.combine(value, time())
    tokens = _tokens(section)
    dated = [text.casefold() for kind, text in tokens if kind == "date"]
    is_dashed = _DASHED.search("".join(text for _, text in tokens).casefold()) is not None
    if section.casefold() in _LOCAL_DATES or is_dashed or not dated:
        return _iso(value, moment)
    twelve = any(kind == "ampm" for kind, _ in tokens)
    out = []
    for at, (kind, text) in enumerate(tokens):
        if kind == "date":
            out.append(_date_part(moment, text.casefold(), _is_minute(tokens, at), twelve))
        elif kind == "ampm":
            out.append("AM" if moment.hour < 12 else "PM")
        elif kind in ("literal", "digits"):
            out.append("" if kind == "digits" and text.startswith(".0") else text)
    return "".join(out).strip()


def _iso(value: datetime | date | time, moment: datetime) -> str:
    if isinstance(value, time):
        return moment.strftime("%H:%M:%S")
    has_time = isinstance(value, datetime) and (moment.hour or moment.minute or moment.second)
    return moment.strftime("%Y-%m-%d %H:%M:%S" if has_time else "%Y-%m-%d")


def _is_minute(tokens: tuple[tuple[str, str], ...], at: int) -> bool:
    """Whether an "m" means minutes: right after hours or right before seconds."""
    before = next((t[-1] for k, t in reversed(tokens[:at]) if k in ("date", "elapsed")), "")
    after = next((t[0] for k, t in tokens[at + 1 :] if k in ("date", "elapsed")), "")
    return before.casefold() == "h" or after.casefold() == "s"


def _date_part(moment: datetime, code: str, is_minute: bool, twelve: bool) -> str:
    letter, width = code[0], len(code)
    if letter == "y":
        return f"{moment.year:04d}" if width > 2 else f"{moment.year % 100:02d}"
    if letter == "m" and not is_minute:
        name = _MONTHS[moment.month - 1]
        return (str(moment.month), f"{moment.month:02d}", name[:3], name, name[0])[
            min(width, 5) - 1
        ]
    if letter == "d":
        day = _DAYS[moment.weekday()]
        return (str(moment.day), f"{moment.day:02d}", day[:3], day)[min(width, 4) - 1]
    number = {"h": moment.hour, "m": moment.minute, "s": moment.second}.get(letter, 0)
    if letter == "h" and twelve:
        number = number % 12 or 12
    return f"{number:02d}" if width > 1 else str(number)


def _show_elapsed(value: timedelta, section: str) -> str:
    seconds = round(value.total_seconds())
    sign, seconds = ("-", -seconds) if seconds < 0 else ("", seconds)
    hours, rest = divmod(seconds, 3600)
    minutes, rest = divmod(rest, 60)
    if "s" in section.casefold() or rest:
        return f"{sign}{hours}:{minutes:02d}:{rest:02d}"
    return f"{sign}{hours}:{minutes:02d}"
