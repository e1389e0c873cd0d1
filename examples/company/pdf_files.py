"""Writer of PDF files with Vietnamese text, byte-identical on every run.

The letters come from Roboto (Apache 2.0), which the PyPI package ``font-roboto`` carries; the PDF
embeds the part of it that it uses, so only this script needs the package.
"""

# ruff: noqa: PLC0415 - without the PDF files, everything else is made without reportlab

from __future__ import annotations

import importlib.util
import io
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

from company.model import LEFT, UP, C, Document, H, L, P, T

_WIDTH = 483  # points between the margins of an A4 page


class FontMissing(Exception):
    """The font's package is absent: ``pip install font-roboto reportlab`` brings both."""


def find_fonts() -> tuple[Path, Path]:
    """Regular and bold Roboto. Raises ``FontMissing``."""
    spec = importlib.util.find_spec("font_roboto")
    if spec is None or spec.origin is None or importlib.util.find_spec("reportlab") is None:
        raise FontMissing("pip install font-roboto reportlab")
    files = Path(spec.origin).parent / "files"
    return files / "Roboto-Regular.ttf", files / "Roboto-Bold.ttf"


def write_pdf(document: Document) -> bytes:
    """A4 pages with headings, ruled tables whose header repeats, and a running foot.

    Raises ``FontMissing``.
    """
    regular, bold = find_fonts()
    from reportlab.lib.pagesizes import A4
    from reportlab.pdfbase import pdfmetrics
    from reportlab.pdfbase.ttfonts import TTFont
    from reportlab.platypus import SimpleDocTemplate

    pdfmetrics.registerFont(TTFont("Roboto", str(regular)))
    pdfmetrics.registerFont(TTFont("Roboto-Bold", str(bold)))
    out = io.BytesIO()
    # Invariant: no clock in dates and ids. Without compression: another zlib, other bytes.
    template = SimpleDocTemplate(
        out,
        pagesize=A4,
        title=document.heading,
        author="Acme & Globex",
        invariant=1,
        pageCompression=0,
        leftMargin=56,
        rightMargin=56,
        topMargin=56,
        bottomMargin=64,
    )

    def draw_foot(canvas: Any, page: Any) -> None:
        canvas.setFont("Roboto", 8)
        canvas.drawString(56, 36, document.heading)
        canvas.drawRightString(A4[0] - 56, 36, f"{page.page}")

    template.build(_flow(document), onFirstPage=draw_foot, onLaterPages=draw_foot)
    return out.getvalue()


def _flow(document: Document) -> list[Any]:
    from reportlab.lib.styles import ParagraphStyle
    from reportlab.platypus import Paragraph, Spacer

    body = ParagraphStyle("body", fontName="Roboto", fontSize=10, leading=14, spaceAfter=6)
    bold = ParagraphStyle("bold", parent=body, fontName="Roboto-Bold", keepWithNext=1)
    heads = {
        1: ParagraphStyle("h1", parent=bold, fontSize=18, leading=23, spaceAfter=10),
        2: ParagraphStyle("h2", parent=bold, fontSize=13, leading=17, spaceBefore=8),
        3: ParagraphStyle("h3", parent=bold, fontSize=11, leading=15, spaceBefore=4),
    }
    item = ParagraphStyle("item", parent=body, leftIndent=16, bulletIndent=4, spaceAfter=3)
    story: list[Any] = []
    for block in document.blocks:
        match block:
            case H():
                story.append(Paragraph(escape(block.text), heads[block.level]))
            case P() | C():
                story.append(Paragraph(escape(block.text), body))
            case L():
                for number, text in enumerate(block.items, 1):
                    mark = f"{number}." if block.ordered else "•"
                    story.append(Paragraph(escape(text), item, bulletText=mark))
            case T():
                if block.caption:
                    # Kept with a long table, the caption would take it to the next page whole.
                    style = bold if len(block.rows) < 30 else body
                    story.append(Paragraph(escape(block.caption), style))
                story += [_table(block, body), Spacer(1, 8)]
    return story


def _table(table: T, body: Any) -> Any:
    from reportlab.lib import colors
    from reportlab.lib.styles import ParagraphStyle
    from reportlab.platypus import Paragraph, Table

    plain = ParagraphStyle("cell", parent=body, fontSize=9, leading=12, spaceAfter=0)
    head = ParagraphStyle("head", parent=plain, fontName="Roboto-Bold")
    style: list[tuple[Any, ...]] = [
        ("GRID", (0, 0), (-1, -1), 0.5, colors.black),
        ("VALIGN", (0, 0), (-1, -1), "TOP"),
        ("BACKGROUND", (0, 0), (-1, table.header_rows - 1), colors.Color(0.9, 0.9, 0.9)),
    ]
    rows: list[list[Any]] = []
    for number, texts in enumerate(table.rows):
        cells: list[Any] = []
        for col, text in enumerate(texts):
            if text in (LEFT, UP):
                cells.append("")
                continue
            height, width = table.span(number, col)
            if (height, width) != (1, 1):
                style.append(("SPAN", (col, number), (col + width - 1, number + height - 1)))
            font = head if number < table.header_rows else plain
            cells.append(Paragraph(escape(text), font))
        rows.append(cells)
    return Table(rows, colWidths=_column_widths(table), repeatRows=table.header_rows, style=style)


def _column_widths(table: T) -> list[float]:
    """Points for each column: its longest word whole, the rest of the page by length of text."""
    from reportlab.pdfbase.pdfmetrics import stringWidth

    columns = [[row[col] for row in table.rows] for col in range(len(table.rows[0]))]
    words = [" ".join(column).split() for column in columns]
    least = [max(stringWidth(w, "Roboto-Bold", 9) for w in column) + 14 for column in words]
    shares = [min(max(map(len, column)), 40) for column in columns]
    rest = _WIDTH - sum(least)
    return [a + rest * share / sum(shares) for a, share in zip(least, shares, strict=True)]
