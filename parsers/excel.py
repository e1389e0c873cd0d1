"""Excel workbooks (.xlsx, .xlsm, .xls): visible cells as the sheet shows them."""

from __future__ import annotations

import contextlib
import io
import re
import warnings as python_warnings
import zlib
from collections.abc import Iterator, Sequence
from typing import Any
from zipfile import BadZipFile

import openpyxl
from openpyxl.utils.cell import range_boundaries
from openpyxl.workbook.workbook import Workbook
from openpyxl.worksheet.worksheet import Worksheet

from parsers import legacy
from parsers.elements import Parsed, Unreadable
from parsers.formulas import compute
from parsers.number_formats import show
from parsers.packages import Package
from parsers.sheet_drawings import drawn_texts
from parsers.sheets import Sheet, StatedTable, sheet_elements
from parsers.versions import family_id

VERSION = 2

_FORMULA_CELL = re.compile(
    rb"<c\b[^>]*>\s*<f\b(?:[^>]*/>|[^>]*>[^<]*</f>)\s*(?:<v\s*/>|<v></v>)?\s*</c>"
)
# What openpyxl raises over parts that are not what they should be.
_BROKEN = (KeyError, ValueError, TypeError, AttributeError, IndexError, OSError)
_OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"


def parser_id() -> str:
    """Return the id of this family's parser."""
    return family_id("excel", VERSION, "openpyxl", "xlrd")


def parse(data: bytes, *, suffix: str) -> Parsed:
    """Read a workbook: a heading per sheet, a table per block of cells, lines between them.

    Hidden sheets, rows and columns are left out, with a warning each. A formula that was never
    computed is worked out where it is plain (``parsers.formulas``); else its cell is empty, with
    the warning "formula_without_value". Raises ``Unreadable``:
    "encrypted", "damaged", "zip_bomb", "needs_extra" (.xls without xlrd and LibreOffice), and
    what ``legacy.convert`` raises for an old workbook that xlrd cannot read.
    """
    is_old = data.startswith(_OLE) and "EncryptedPackage".encode("utf-16-le") not in data
    sheets, found = _read_old(data) if is_old else _read_new(data)
    elements = sheet_elements(sheets)
    if any(sheet.hidden_rows for sheet in sheets):
        found.append("hidden_rows_left_out")
    if any(sheet.hidden_cols for sheet in sheets):
        found.append("hidden_columns_left_out")
    return Parsed(elements=tuple(elements), parser_id=parser_id(), warnings=tuple(found))


def _read_new(data: bytes) -> tuple[list[Sheet], list[str]]:
    package = Package(data)
    found: list[str] = []
    for name in package.names():
        if name.startswith("xl/worksheets/") and name.endswith(".xml"):
            part = package.read(name)
            if b"<f" in part and _FORMULA_CELL.search(part):
                found.append("formula_without_value")
                break
    try:
        with python_warnings.catch_warnings():
            python_warnings.simplefilter("ignore")
            book = openpyxl.load_workbook(io.BytesIO(data), data_only=True)
    except (*_BROKEN, BadZipFile, zlib.error, EOFError):
        raise Unreadable("damaged", "not a whole workbook") from None
    if found and _computed(book, data):
        found.clear()
    visible = [sheet for sheet in book.worksheets if sheet.sheet_state == "visible"]
    if len(visible) < len(book.worksheets):
        found.append("hidden_sheets_left_out")
    drawn = drawn_texts(package, {sheet.title for sheet in visible})
    return [_sheet(sheet, drawn.get(sheet.title, ())) for sheet in visible], found


def _computed(book: Workbook, data: bytes) -> bool:
    """Work out the formulas that hold no result; False where some needed more."""
    try:
        with python_warnings.catch_warnings():
            python_warnings.simplefilter("ignore")
            return compute(book, openpyxl.load_workbook(io.BytesIO(data)))
    except _BROKEN:
        return False


def _sheet(sheet: Worksheet, drawn: Sequence[str]) -> Sheet:
    cells: dict[tuple[int, int], str] = {}
    bold: set[tuple[int, int]] = set()
    for row in sheet.iter_rows():
        for cell in row:
            if cell.value is None:
                continue
            at = (cell.row - 1, cell.column - 1)
            # Looking a style up costs more than the cell: most cells have none.
            styled = cell.has_style
            number_format = (cell.number_format if styled else None) or "General"
            cells[at] = show(cell.value, number_format)  # type: ignore[arg-type]
            if styled and cell.font and cell.font.b:
                bold.add(at)
    hidden_rows = {
        at - 1
        for at, row in sheet.row_dimensions.items()
        if row.hidden or (row.customHeight and row.height == 0)
    }
    if sheet.sheet_format.zeroHeight:
        shown = {at - 1 for at, row in sheet.row_dimensions.items() if not row.hidden}
        hidden_rows |= {r for r, _ in cells} - shown
    hidden_cols = {
        at - 1
        for col in sheet.column_dimensions.values()
        if col.hidden or (col.customWidth and col.width == 0)
        for at in range(col.min or 0, min((col.max or 0), 20_000) + 1)
    }
    return Sheet(
        name=sheet.title,
        cells=cells,
        merges=[
            (m.min_row - 1, m.min_col - 1, m.max_row - m.min_row + 1, m.max_col - m.min_col + 1)
            for m in sheet.merged_cells.ranges
        ],
        bold=frozenset(bold),
        hidden_rows=frozenset(hidden_rows & {r for r, _ in cells}),
        hidden_cols=frozenset(hidden_cols & {c for _, c in cells}),
        tables=tuple(_stated_tables(sheet)),
        drawn=drawn,
    )


def _stated_tables(sheet: Worksheet) -> Iterator[StatedTable]:
    """Yield the ranges that the sheet itself calls tables, with their header rows."""
    for table in sheet.tables.values():
        with contextlib.suppress(ValueError, TypeError):
            left, top, right, bottom = (int(edge or 0) for edge in range_boundaries(table.ref))
            header_rows = 1 if table.headerRowCount is None else int(table.headerRowCount)
            yield StatedTable((top - 1, left - 1, bottom, right), header_rows)


def _read_old(data: bytes) -> tuple[list[Sheet], list[str]]:
    try:
        import xlrd  # noqa: PLC0415 - of the extra "formats"
    except ImportError:
        if legacy.is_installed():
            return _converted(data)
        raise Unreadable("needs_extra", "pip install 'mucluc[formats]' reads .xls") from None
    try:
        book = xlrd.open_workbook(
            file_contents=data, formatting_info=True, logfile=io.StringIO(), ragged_rows=True
        )
    except Exception as error:
        if isinstance(error, xlrd.XLRDError) and "encrypted" in str(error).casefold():
            raise Unreadable("encrypted", "remove the password and save the file again") from None
        return _converted(data)
    visible = [sheet for sheet in book.sheets() if sheet.visibility == 0]
    found = ["hidden_sheets_left_out"] if len(visible) < book.nsheets else []
    return [_old_sheet(book, sheet) for sheet in visible], found


def _converted(data: bytes) -> tuple[list[Sheet], list[str]]:
    """Read an old workbook that xlrd cannot, by way of LibreOffice where it is installed."""
    try:
        sheets, found = _read_new(legacy.convert(data, suffix=".xls"))
    except Unreadable as refusal:
        if refusal.code != "needs_libreoffice":
            raise
        raise Unreadable("damaged", "not a whole .xls workbook; LibreOffice may read it") from None
    return sheets, [*found, "read_by_libreoffice"]


def _old_sheet(book: Any, sheet: Any) -> Sheet:
    cells: dict[tuple[int, int], str] = {}
    bold: set[tuple[int, int]] = set()
    for row in range(sheet.nrows):
        for col in range(sheet.row_len(row)):
            cell = sheet.cell(row, col)
            if cell.ctype in (0, 6):
                continue
            style = book.xf_list[cell.xf_index]
            cells[row, col] = _old_text(book, cell, book.format_map[style.format_key].format_str)
            if book.font_list[style.font_index].bold:
                bold.add((row, col))
    hidden_rows = {at for at, info in sheet.rowinfo_map.items() if info.hidden}
    hidden_cols = {at for at, info in sheet.colinfo_map.items() if info.hidden}
    return Sheet(
        name=sheet.name,
        cells=cells,
        merges=[(r0, c0, r1 - r0, c1 - c0) for r0, r1, c0, c1 in sheet.merged_cells],
        bold=frozenset(bold),
        hidden_rows=frozenset(hidden_rows & {r for r, _ in cells}),
        hidden_cols=frozenset(hidden_cols & {c for _, c in cells}),
    )


def _old_text(book: Any, cell: Any, number_format: str) -> str:
    import xlrd  # noqa: PLC0415 - of the extra "formats"

    if cell.ctype == xlrd.XL_CELL_NUMBER:
        return show(cell.value, number_format)
    if cell.ctype == xlrd.XL_CELL_DATE:
        try:
            moment = xlrd.xldate_as_datetime(cell.value, book.datemode)
        except (ValueError, OverflowError):
            return show(cell.value)
        return show(moment.time() if 0 <= cell.value < 1 else moment, number_format)
    if cell.ctype == xlrd.XL_CELL_BOOLEAN:
        return show(bool(cell.value))
    if cell.ctype == xlrd.XL_CELL_ERROR:
        return str(xlrd.error_text_from_code.get(cell.value, "#ERR"))
    return str(cell.value)
