"""Writers of Word and Excel files, byte-identical on every run. Each returns bytes.

Both libraries put the clock into the archive and its properties, so members are stored again
under one fixed date, without compression: another zlib would compress to other bytes.
"""

from __future__ import annotations

import io
import re
import zipfile
from datetime import datetime

import docx
import openpyxl
from docx.enum.style import WD_STYLE_TYPE
from docx.oxml import OxmlElement
from openpyxl.styles import Font
from openpyxl.utils import get_column_letter

from company.model import LEFT, UP, C, Document, H, L, P, T

CLOCK = datetime(2026, 1, 2, 3, 4, 6)
_ZIP_TIME = (2026, 1, 2, 3, 4, 6)
_UNUSED = ("docProps/thumbnail.jpeg", "word/stylesWithEffects.xml")  # of python-docx's template
_TO_UNUSED = re.compile(rb"<(?:Relationship|Override) [^>]*(?:thumbnail|stylesWithEffects)[^>]*/>")
_STAMP = re.compile(rb"(<dcterms:(?:created|modified)[^>]*>)[^<]*")


def write_docx(document: Document) -> bytes:
    """Word: heading and list styles, gridded tables with merged cells and marked header rows."""
    word = docx.Document()
    for style in list(word.styles):  # the template's gallery is 99% of the file
        if style.type == WD_STYLE_TYPE.TABLE and style.name not in ("Normal Table", "Table Grid"):
            style.delete()
    properties = word.core_properties
    properties.title = document.heading
    properties.author = "Acme & Globex"
    properties.created = properties.modified = CLOCK
    for block in document.blocks:
        match block:
            case H():
                word.add_heading(block.text, block.level)
            case P():
                word.add_paragraph(block.text)
            case L():
                for item in block.items:
                    word.add_paragraph(item, "List Number" if block.ordered else "List Bullet")
            case C():
                word.add_paragraph(block.text)
            case T():
                _add_table(word, block)
    out = io.BytesIO()
    word.save(out)
    return _freeze(out.getvalue())


def _add_table(word: docx.document.Document, table: T) -> None:
    if table.caption:
        word.add_paragraph(table.caption, "Caption")
    grid = word.add_table(len(table.rows), len(table.rows[0]), "Table Grid")
    for number, row in enumerate(table.rows):
        if number < table.header_rows:
            properties = grid.rows[number]._tr.get_or_add_trPr()
            properties.append(OxmlElement("w:tblHeader"))
        for col, text in enumerate(row):
            if text in (LEFT, UP):
                continue
            height, width = table.span(number, col)
            cell = grid.cell(number, col)
            if (height, width) != (1, 1):
                cell = cell.merge(grid.cell(number + height - 1, col + width - 1))
            cell.text = text
            if number < table.header_rows:
                cell.paragraphs[0].runs[0].bold = True


def write_xlsx(document: Document) -> bytes:
    """Excel: a sheet a table, with the document's paragraphs above the first.

    Cells such as "12,500" that are written with digits and commas alone become numbers with the
    format ``#,##0``; everything else is text.
    """
    book = openpyxl.Workbook()
    book.remove(book.worksheets[0])
    book.properties.title = document.heading
    book.properties.creator = "Acme & Globex"
    book.properties.created = CLOCK
    for number, table in enumerate(document.tables):
        sheet = book.create_sheet(table.sheet or f"Sheet{number + 1}")
        top = 0
        if number == 0:
            for text in document.texts:
                top += 1
                sheet.cell(top, 1, text)
            sheet.cell(1, 1).font = Font(bold=True, size=14)
            top += 1
        for row, texts in enumerate(table.rows):
            for col, text in enumerate(texts):
                if text in (LEFT, UP):
                    continue
                cell = sheet.cell(top + row + 1, col + 1)
                if row >= table.header_rows and re.fullmatch(r"\d{1,3}(,\d{3})+", text):
                    cell.value, cell.number_format = int(text.replace(",", "")), "#,##0"
                else:
                    cell.value = text
                if row < table.header_rows:
                    cell.font = Font(bold=True)
                height, width = table.span(row, col)
                if (height, width) != (1, 1):
                    sheet.merge_cells(
                        start_row=top + row + 1,
                        start_column=col + 1,
                        end_row=top + row + height,
                        end_column=col + width,
                    )
        for col in range(len(table.rows[0])):
            longest = max(len(row[col]) for row in table.rows)
            sheet.column_dimensions[get_column_letter(col + 1)].width = min(50, longest + 3)
    out = io.BytesIO()
    book.save(out)
    return _freeze(out.getvalue())


def _freeze(data: bytes) -> bytes:
    out = io.BytesIO()
    stamp = CLOCK.strftime("%Y-%m-%dT%H:%M:%SZ").encode()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(out, "w") as new:
        for name in sorted(old.namelist(), key=lambda n: (n != "[Content_Types].xml", n)):
            if name in _UNUSED:
                continue
            member = old.read(name)
            if name == "docProps/core.xml":
                member = _STAMP.sub(rb"\g<1>" + stamp, member)
            if name.endswith((".rels", "[Content_Types].xml")):
                member = _TO_UNUSED.sub(b"", member)
            info = zipfile.ZipInfo(name, _ZIP_TIME)
            info.create_system = 3
            info.external_attr = 0o600 << 16
            new.writestr(info, member)
    return out.getvalue()
