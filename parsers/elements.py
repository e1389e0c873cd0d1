"""The element model: what every parser emits and everything downstream works on.

A document is a sequence of elements in reading order. Prose elements carry normalised text; a
table carries a grid of cells. HTML and Markdown are renderings of a grid, never its source.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any


class Kind(StrEnum):
    """What an element is in the document's structure."""

    HEADING = "heading"
    TEXT = "text"
    LIST_ITEM = "list_item"
    CODE = "code"
    TABLE = "table"
    NOTE = "note"  # footnotes, speaker notes, comments that belong to the text


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One cell of a grid, at its top-left position, before its spans are expanded."""

    row: int
    col: int
    text: str
    row_span: int = 1
    col_span: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """A grid of cells.

    Positions that no cell covers are empty. ``header_rows`` and ``header_cols`` count the leading
    rows that name the columns and the leading columns that name the rows. ``section_rows`` are
    body rows that hold a title for the rows below them, up to the next section row.
    """

    n_rows: int
    n_cols: int
    cells: tuple[Cell, ...]
    header_rows: int = 0
    header_cols: int = 0
    section_rows: tuple[int, ...] = ()
    caption: str | None = None
    notes: str | None = None  # units ("VND, before VAT"), source lines, remarks under the table
    sheet: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Element:
    """One block of a document, in reading order.

    ``text`` is normalised (see ``parsers.text.normalise``) and empty for a table, whose words are
    in ``table``. ``level`` is the depth of a heading (1 is the highest) or the nesting of a list
    item (1 is the outermost). Pages count from 1 and are None where the format has none; ``bbox``
    is (left, top, right, bottom) in points from the page's top left.
    """

    kind: Kind
    text: str = ""
    level: int | None = None
    page_start: int | None = None
    page_end: int | None = None
    bbox: tuple[float, float, float, float] | None = None
    language: str | None = None
    table: Table | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Attachment:
    """A file inside a file (of a mail), to be indexed as a document of its own."""

    name: str
    data: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Parsed:
    """What a parser made of one file."""

    elements: tuple[Element, ...]
    parser_id: str  # the family, its version and the versions of its libraries
    title: str | None = None  # a title that the document itself states; never its file name
    language: str | None = None
    page_native: bool = False  # pages are part of the format (pdf, pptx), not of one rendering
    warnings: tuple[str, ...] = ()
    attachments: tuple[Attachment, ...] = ()


class Unreadable(Exception):
    """A file cannot be parsed. It is quarantined under ``code``; the run goes on.

    ``code`` is one of a fixed set (see ``parsers.registry.REASONS``), ``hint`` says what to do in
    words that hold no name and no text of the document.
    """

    def __init__(self, code: str, hint: str = "") -> None:
        super().__init__(f"{code}: {hint}" if hint else code)
        self.code = code
        self.hint = hint


def _compact(value: dict[str, Any]) -> dict[str, Any]:
    return {key: item for key, item in value.items() if item is not None and item != ()}


def elements_to_json(elements: Iterable[Element]) -> str:
    """Serialise elements to a JSON array, leaving out what is unset."""
    rows = []
    for element in elements:
        row = _compact(asdict(element))
        if element.table is not None:
            row["table"] = _compact(asdict(element.table))
            row["table"]["cells"] = [
                [c.row, c.col, c.text, c.row_span, c.col_span] for c in element.table.cells
            ]
        rows.append(row)
    return json.dumps(rows, ensure_ascii=False, separators=(",", ":"))


def elements_from_json(data: str | Sequence[dict[str, Any]]) -> tuple[Element, ...]:
    """Read what ``elements_to_json`` wrote, as text or already decoded."""
    rows = json.loads(data) if isinstance(data, str) else data
    return tuple(_element(row) for row in rows)


def _element(row: dict[str, Any]) -> Element:
    values = dict(row)
    values["kind"] = Kind(values["kind"])
    if "bbox" in values:
        values["bbox"] = tuple(values["bbox"])
    if "table" in values:
        table = dict(values["table"])
        table["section_rows"] = tuple(table.get("section_rows", ()))
        table["cells"] = tuple(
            Cell(row=r, col=c, text=text, row_span=rs, col_span=cs)
            for r, c, text, rs, cs in table.get("cells", ())
        )
        values["table"] = Table(**table)
    return Element(**values)
