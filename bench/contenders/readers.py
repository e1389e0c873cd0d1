"""Plain text of a file by the reader that people reach for first, in document order.

Rows of a table are lines, cells are parted by tabs. No reader for .doc and pictures: they need
LibreOffice or OCR.
"""

from __future__ import annotations

import email
import email.policy
import zipfile
from collections.abc import Callable, Iterable
from pathlib import Path

import charset_normalizer
import docx
import openpyxl
import oxmsg
import pptx
import pypandoc
import pypdfium2
import xlrd
from bs4 import BeautifulSoup
from docx.table import Table as WordTable

SECTION = "\n\n"


def read(path: Path) -> list[str]:
    """Return the texts of a file: one a page for PDF, else one. KeyError for a foreign suffix."""
    return READERS[path.suffix.lower()](path)


def _row(cells: Iterable[object]) -> str:
    return "\t".join("" if cell is None else str(cell) for cell in cells).rstrip()


def _decoded(path: Path) -> list[str]:
    data = path.read_bytes()
    try:
        return [data.decode("utf-8-sig")]
    except UnicodeDecodeError:
        best = charset_normalizer.from_bytes(data).best()
        return [str(best)] if best else [data.decode("utf-8", "replace")]


def _pdf(path: Path) -> list[str]:
    with pypdfium2.PdfDocument(path) as document:
        return [page.get_textpage().get_text_range() for page in document]


def _docx(path: Path) -> list[str]:
    parts = []
    for block in docx.Document(str(path)).iter_inner_content():
        if isinstance(block, WordTable):
            parts.append("\n".join(_row(cell.text for cell in row.cells) for row in block.rows))
        else:
            parts.append(block.text)
    return [SECTION.join(parts)]


def _pptx(path: Path) -> list[str]:
    parts = []
    for slide in pptx.Presentation(str(path)).slides:
        for shape in slide.shapes:
            if shape.has_text_frame:
                parts.append(shape.text_frame.text)
            elif shape.has_table:
                rows = shape.table.rows
                parts.append("\n".join(_row(cell.text for cell in row.cells) for row in rows))
    return [SECTION.join(parts)]


def _xlsx(path: Path) -> list[str]:
    book = openpyxl.load_workbook(path, data_only=True)
    sheets = []
    for sheet in book.worksheets:
        rows = [_row(row) for row in sheet.iter_rows(values_only=True)]
        sheets.append("\n".join([sheet.title, *rows]))
    return [SECTION.join(sheets)]


def _xls(path: Path) -> list[str]:
    sheets = []
    for sheet in xlrd.open_workbook(path).sheets():
        rows = [_row(sheet.row_values(number)) for number in range(sheet.nrows)]
        sheets.append("\n".join([sheet.name, *rows]))
    return [SECTION.join(sheets)]


def _markup(data: bytes, kind: str = "lxml") -> str:
    soup = BeautifulSoup(data, kind)
    for hidden in soup(["script", "style"]):
        hidden.decompose()
    for row in soup("tr"):
        row.replace_with(_row(cell.get_text(" ", strip=True) for cell in row(["td", "th"])) + "\n")
    return soup.get_text("\n", strip=False)


def _html(path: Path) -> list[str]:
    return [_markup(path.read_bytes())]


def _epub(path: Path) -> list[str]:
    with zipfile.ZipFile(path) as book:
        names = [name for name in book.namelist() if name.endswith((".xhtml", ".html", ".htm"))]
        return [SECTION.join(_markup(book.read(name)) for name in names)]


def _opendocument(path: Path) -> list[str]:
    with zipfile.ZipFile(path) as package:
        soup = BeautifulSoup(package.read("content.xml"), "xml")
    for row in soup("table-row"):
        row.replace_with(_row(cell.get_text(" ") for cell in row("table-cell")) + "\n")
    return [soup.get_text("\n")]


def _eml(path: Path) -> list[str]:
    message = email.message_from_bytes(path.read_bytes(), policy=email.policy.default)
    body = message.get_body(preferencelist=("html", "plain"))
    text = "" if body is None else body.get_content()
    if body is not None and body.get_content_subtype() == "html":
        text = _markup(text.encode())
    return [f"{message['subject'] or ''}\n\n{text}"]


def _msg(path: Path) -> list[str]:
    message = oxmsg.Message.load(str(path))
    return [f"{message.subject or ''}\n\n{message.body or ''}"]


def _rtf(path: Path) -> list[str]:
    return [pypandoc.convert_file(str(path), "plain", format="rtf")]


READERS: dict[str, Callable[[Path], list[str]]] = {
    ".csv": _decoded,
    ".docx": _docx,
    ".eml": _eml,
    ".epub": _epub,
    ".html": _html,
    ".md": _decoded,
    ".msg": _msg,
    ".odp": _opendocument,
    ".ods": _opendocument,
    ".odt": _opendocument,
    ".pdf": _pdf,
    ".pptx": _pptx,
    ".rtf": _rtf,
    ".txt": _decoded,
    ".xls": _xls,
    ".xlsx": _xlsx,
}
