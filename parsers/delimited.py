"""CSV and TSV: the encoding, the delimiter and the header are found in the content."""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Sequence
from typing import Literal

from parsers.elements import Element, Kind, Parsed, Table, Unreadable
from parsers.encodings import decode
from parsers.grids import table_from_rows
from parsers.plain import elements_of
from parsers.text import normalise
from parsers.versions import family_id

VERSION = 2

# In order of trust: a tab is seldom part of a value, a comma often is.
_DELIMITERS = ("\t", ";", "|", ",")
_SAMPLE_ROWS = 300
_STEADY = 0.85  # share of rows with the usual number of fields
_STRAY_QUOTE_LINES = 40  # a cell of more lines has probably swallowed rows after a stray quote
_CUT_QUOTE = re.compile(r'"[,;\t|]|[,;\t|]"')
_STATED = re.compile(r'^"?sep=(.)"?\r?\n', re.IGNORECASE)

Rows = list[list[str]]


def parser_id() -> str:
    """Return the id of this family's parser."""
    return family_id("delimited", VERSION)


def parse(data: bytes, *, suffix: str) -> Parsed:
    """Parse delimited text into one table, or several where blank lines divide them.

    A file of one column that reads as prose becomes text. Raises ``Unreadable`` (binary, no_text).
    """
    text, encoding = decode(data)
    warnings: tuple[str, ...] = () if encoding.startswith("utf") else (f"encoding:{encoding}",)
    rows, is_repaired = read_rows(text, hint="\t" if suffix == ".tsv" else None)
    if is_repaired:
        warnings += ("stray_quote",)
    if _is_prose(rows):
        return Parsed(elements=elements_of(text), parser_id=parser_id(), warnings=warnings)
    tables = [_table(block) for block in _blocks(rows)]
    elements = tuple(Element(kind=Kind.TABLE, table=table) for table in tables if table)
    if not elements:
        raise Unreadable("no_text")
    return Parsed(elements=elements, parser_id=parser_id(), warnings=warnings)


def read_rows(text: str, *, hint: str | None = None) -> tuple[Rows, bool]:
    """Split ``text`` into rows of normalised cells; True where quotes had to be ignored.

    ``hint`` is the delimiter to prefer where several fit.
    """
    text = text.lstrip("\ufeff").replace("\x00", "")
    if stated := _STATED.match(text):
        delimiter, text = stated.group(1), text[stated.end() :]
    else:
        delimiter = _delimiter(text, hint)
    rows = _split(text, delimiter)
    longest = max((cell.count("\n") for row in rows for cell in row), default=0)
    is_repaired = longest > _STRAY_QUOTE_LINES
    if is_repaired:
        rows = _split(text, delimiter, is_quoted=False)
    return [[normalise(cell) for cell in row] for row in rows], is_repaired


def _split(text: str, delimiter: str, *, is_quoted: bool = True, limit: int = 0) -> Rows:
    # A cell may be as long as the file: the limit on the file's size is the only one.
    csv.field_size_limit(max(131_072, len(text) + 1))
    quoting: Literal[0, 3] = csv.QUOTE_MINIMAL if is_quoted else csv.QUOTE_NONE
    reader = csv.reader(
        io.StringIO(text, newline=""), delimiter=delimiter, skipinitialspace=True, quoting=quoting
    )
    rows: Rows = []
    for row in reader:
        rows.append(row)
        if limit and len(rows) >= limit:
            break
    return rows


def _delimiter(text: str, hint: str | None) -> str:
    fits: dict[str, tuple[float, int]] = {}
    for delimiter in _DELIMITERS:
        rows = _split(text, delimiter, limit=_SAMPLE_ROWS)
        # Titles and remarks stand alone on their line in every reading of the file.
        widths = Counter(len(row) for row in rows if len(row) > 1)
        full = sum(1 for row in rows if any(cell.strip() for cell in row))
        if not widths:
            continue
        width, count = widths.most_common(1)[0]
        alone = sum(1 for row in rows if len(row) == 1 and row[0].strip())
        steady = count / max(1, full - min(alone, full // 3))
        # Quotes beside another delimiter were cut through: they belong to that one.
        steady -= sum(1 for row in rows if any(map(_CUT_QUOTE.search, row))) / max(1, full)
        fits[delimiter] = (steady, width)
    steady_ones = [d for d in _DELIMITERS if d in fits and fits[d][0] >= _STEADY]
    if hint in steady_ones:
        return hint
    if steady_ones:
        return steady_ones[0]
    return max(fits, key=lambda d: fits[d]) if fits else ","


def _is_prose(rows: Rows) -> bool:
    """Whether the file has one column of whole sentences: no table at all."""
    filled = [[cell for cell in row if cell] for row in rows]
    filled = [row for row in filled if row]
    if not filled or any(len(row) > 1 for row in filled):
        return False
    return sum(len(row[0]) for row in filled) / len(filled) > 60


def _blocks(rows: Rows) -> list[Rows]:
    """The tables of a file: a blank line divides them where another header follows it."""
    blocks: list[Rows] = [[]]
    for number, row in enumerate(rows):
        if any(row) or not any(any(cells) for cells in blocks[-1]):
            blocks[-1].append(row)
        elif _opens_table(blocks[-1], rows[number + 1 :]):
            blocks.append([])
    return [block for block in blocks if any(any(row) for row in block)]


def _opens_table(above: Rows, below: Rows) -> bool:
    block: Rows = []
    for row in below:
        if any(row):
            block.append(row)
        elif block:
            break
        if len(block) >= _SAMPLE_ROWS:
            break
    wide_above = [row for row in above if _filled(row) > 1]
    wide_below = [row for row in block if _filled(row) > 1]
    if len(wide_above) < 2 or len(wide_below) < 2:
        return False
    table = table_from_rows(block)
    has_header = table is not None and table.header_rows > 0
    first, other = wide_above[0], wide_below[0]
    is_titled = _filled(block[0]) == 1
    return has_header and first != other and (is_titled or _filled(first) != _filled(other))


def _filled(row: Sequence[str]) -> int:
    return sum(1 for cell in row if cell)


def _table(rows: Rows) -> Table | None:
    rows = _without_repeats(rows)
    table = table_from_rows(rows)
    if table is None or table.header_rows or table.n_rows < 2 or _is_headless(table):
        return table
    # Exported tables have a header unless their first row is data by its look.
    return table_from_rows(rows, header_rows=_first_full(rows) + 1)


def _first_full(rows: Rows) -> int:
    return next((number for number, row in enumerate(rows) if _filled(row) > 1), 0)


def _is_headless(table: Table) -> bool:
    """Whether a number of the first row stands above numbers alone, or a value comes again."""
    head = {cell.col: cell.text for cell in table.cells if cell.row == 0 and cell.text}
    below: dict[int, list[str]] = {}
    for cell in table.cells:
        if 0 < cell.row <= _SAMPLE_ROWS and cell.text:
            below.setdefault(cell.col, []).append(cell.text)
    return any(
        text in below[col] or (_is_number(text) and all(map(_is_number, below[col])))
        for col, text in head.items()
        if col in below
    )


def _is_number(text: str) -> bool:
    return re.fullmatch(r"[-+(]?[\d.,/:\s-]*\d[\d.,/:\s)%-]*", text) is not None


def _without_repeats(rows: Rows) -> Rows:
    """Drop later copies of the header, as joined exports have them."""
    first = _first_full(rows)
    head = rows[first] if first < len(rows) else []
    if _filled(head) < 2 or any(_is_number(cell) for cell in head):
        return rows
    return [row for number, row in enumerate(rows) if number <= first or row != head]
