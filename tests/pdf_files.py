"""PDFs made for the tests: tables and texts whose truth is known."""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from reportlab.lib import colors
from reportlab.lib.pagesizes import A4
from reportlab.lib.styles import ParagraphStyle
from reportlab.pdfbase import pdfmetrics
from reportlab.pdfbase.ttfonts import TTFont
from reportlab.pdfgen.canvas import Canvas
from reportlab.platypus import (
    BaseDocTemplate,
    Frame,
    PageTemplate,
    Paragraph,
    SimpleDocTemplate,
    Spacer,
    Table,
)

BODY = ParagraphStyle("body", fontName="Helvetica", fontSize=10, leading=14)
JUSTIFIED = ParagraphStyle("justified", parent=BODY, alignment=4)
TITLE = ParagraphStyle("title", fontName="Helvetica-Bold", fontSize=18, leading=24, spaceAfter=8)
SECTION = ParagraphStyle("section", fontName="Helvetica-Bold", fontSize=13, leading=18)
GRID = [("GRID", (0, 0), (-1, -1), 0.5, colors.black)]
BOLD_HEAD = [("FONT", (0, 0), (-1, 0), "Helvetica-Bold", 9), ("FONTSIZE", (0, 1), (-1, -1), 9)]
WORDS = [
    "staff",
    "must",
    "file",
    "each",
    "claim",
    "within",
    "thirty",
    "days",
    "of",
    "the",
    "trip",
    "and",
    "keep",
    "all",
    "receipts",
]


def prose(count: int, start: int = 0) -> str:
    """``count`` sentences of unequal length, the same each time."""
    sentences = []
    for number in range(start, start + count):
        words = [WORDS[(number * 3 + k * 5) % len(WORDS)] for k in range(7 + number * 5 % 9)]
        sentences.append(" ".join(words).capitalize() + ".")
    return " ".join(sentences)


def build(
    story: Sequence[Any], *, head: str | None = None, size: tuple[float, float] = A4
) -> bytes:
    """A PDF of flowables, with a running head and page numbers if ``head`` is given."""
    data = io.BytesIO()
    template = SimpleDocTemplate(
        data, pagesize=size, topMargin=60, bottomMargin=60, leftMargin=50, rightMargin=50
    )
    template.build(list(story), onFirstPage=_furniture(head), onLaterPages=_furniture(head))
    return data.getvalue()


def build_columns(story: Sequence[Any], count: int) -> bytes:
    """A PDF whose pages are set in ``count`` columns."""
    data = io.BytesIO()
    width = (A4[0] - 80 - 18 * (count - 1)) / count
    frames = [
        Frame(40 + k * (width + 18), 60, width, 720, leftPadding=0, rightPadding=0)
        for k in range(count)
    ]
    template = BaseDocTemplate(data, pagesize=A4)
    template.addPageTemplates([PageTemplate(frames=frames)])
    template.build(list(story))
    return data.getvalue()


def draw(paint: Callable[[Canvas], None]) -> bytes:
    """A PDF painted by hand."""
    data = io.BytesIO()
    canvas = Canvas(data, pagesize=A4)
    canvas.setFont("Helvetica", 10)
    paint(canvas)
    canvas.save()
    return data.getvalue()


def prices(count: int) -> list[list[str]]:
    """A price list: header and ``count`` rows, some cells empty."""
    rows = [["Code", "Article", "Unit", "Price", "Remark"]]
    for n in range(1, count + 1):
        remark = "in stock" if n % 3 else ""
        rows.append([f"SP-{n:03}", f"Device type {n}", "piece", f"{n * 13 + 100}.000", remark])
    return rows


def table(rows: list[list[Any]], style: Sequence[Any], widths: Sequence[float], **kw: Any) -> Table:
    """A reportlab table."""
    return Table(rows, style=list(style), colWidths=list(widths), **kw)


def paragraph(text: str, style: ParagraphStyle = BODY) -> Paragraph:
    """A reportlab paragraph."""
    return Paragraph(text, style)


def gap(height: float = 10) -> Spacer:
    """Empty space."""
    return Spacer(1, height)


def _furniture(head: str | None) -> Callable[[Canvas, Any], None]:
    def paint(canvas: Canvas, template: Any) -> None:
        if head is None:
            return
        canvas.setFont("Helvetica", 7)
        canvas.drawString(40, 820, head)
        canvas.drawRightString(555, 20, f"Page {template.page}")

    return paint


class Vietnamese(NamedTuple):
    """Styles set in a font that has every Vietnamese letter, by name."""

    styles: dict[str, ParagraphStyle]

    def paragraph(self, text: str, style: str = "body") -> Paragraph:
        """A paragraph of Vietnamese text."""
        return Paragraph(text, self.styles[style])


def vietnamese() -> Vietnamese:
    """Register Roboto; skips the test where the package with the font is missing."""
    package = pytest.importorskip("font_roboto", reason="pip install font-roboto")
    folder = Path(package.__file__).parent / "files"
    for name, file in (("Roboto", "Roboto-Regular.ttf"), ("Roboto-Bold", "Roboto-Bold.ttf")):
        pdfmetrics.registerFont(TTFont(name, folder / file))
    return Vietnamese(
        {
            "body": ParagraphStyle("vi", parent=BODY, fontName="Roboto", spaceAfter=4),
            "bold": ParagraphStyle("vi-bold", parent=BODY, fontName="Roboto-Bold"),
            "title": ParagraphStyle("vi-title", parent=TITLE, fontName="Roboto-Bold"),
            "section": ParagraphStyle("vi-section", parent=SECTION, fontName="Roboto-Bold"),
        }
    )
