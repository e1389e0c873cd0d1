"""Golden files of the parsers that have none elsewhere: GEN_TEST_DATA=1 writes them anew.

Word, Excel, RTF and mail have theirs in test_parsers_office, text formats in test_parsers_text.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from html import escape
from pathlib import Path

import pytest
from office_files import epub_file, odf_file
from pdf_files import build, gap, paragraph, prices, prose, table
from reportlab.lib import colors
from reportlab.lib.styles import ParagraphStyle
from test_documents_in_the_wild import DRAWN
from test_parsers_open_formats import deck
from wild_grids import Wild, as_html, as_odt, grids

from parsers.elements import elements_from_json, elements_to_json
from parsers.registry import parse_file

GOLDEN = Path(__file__).parent / "golden" / "parsers" / "made"


def wild(name: str) -> Wild:
    return next(each for each in grids() if each.name == name)


def open_sheet(rows: list[list[str]]) -> bytes:
    lines = "".join(
        "<table:table-row>"
        + "".join(
            f"<table:table-cell><text:p>{escape(text)}</text:p></table:table-cell>"
            for text in texts
        )
        + "</table:table-row>"
        for texts in rows
    )
    return odf_file("spreadsheet", f'<table:table table:name="Giá">{lines}</table:table>')


def slides() -> bytes:
    """A title, a list and a table, and the speaker's notes."""
    rows = "".join(
        "<table:table-row>"
        + "".join(f"<table:table-cell><text:p>{t}</text:p></table:table-cell>" for t in texts)
        + "</table:table-row>"
        for texts in (["Gói", "Giá"], ["Cơ bản", "120.000"])
    )
    return odf_file(
        "presentation",
        '<draw:page draw:name="p1"><draw:frame presentation:class="title"><draw:text-box>'
        "<text:p>Bảng giá</text:p></draw:text-box></draw:frame><draw:frame><draw:text-box>"
        "<text:list><text:list-item><text:p>Có hiệu lực ngay</text:p></text:list-item></text:list>"
        f"</draw:text-box></draw:frame><draw:frame><table:table>{rows}</table:table></draw:frame>"
        "<presentation:notes><draw:frame presentation:class='notes'><draw:text-box><text:p>Nói chậm.</text:p></draw:text-box>"
        "</draw:frame></presentation:notes></draw:page>",
    )


def printed() -> bytes:
    """Two pages under a running head: a heading, a sentence, a table that goes over the page."""
    ruled = [("GRID", (0, 0), (-1, -1), 0.5, colors.black)]
    return build(
        [
            paragraph("1. Prices", ParagraphStyle("head", fontName="Helvetica-Bold", fontSize=15)),
            gap(12),
            paragraph("Prices in dong, of the first quarter:"),
            table(prices(45), ruled, [60, 130, 50, 80, 80], repeatRows=1),
            paragraph(prose(3)),
        ],
        head="Nova Ltd, internal",
    )


MADE: dict[str, Callable[[], bytes]] = {
    "sections.html": lambda: as_html(wild("sections as merged rows")),
    "quarters.odt": lambda: as_odt(wild("two header rows, merged, with a total")),
    "fees.ods": lambda: open_sheet(wild("measures as headers").rows),
    "book.epub": lambda: epub_file(
        {"a": "<h1>Giá</h1><table><tr><td>Gói</td><td>Giá</td></tr><tr><td>A</td><td>9</td></tr>"
         "</table>", "b": "<h1>Hạn</h1><p>Cuối năm.</p>"},
        ["a", "b"],
    ),
    "deck.pptx": deck,
    "slides.odp": slides,
    "printed.pdf": printed,
    "drawn.txt": lambda: "\n\n".join(DRAWN.values()).encode(),
    "drawn.md": f"# Giá\n\n{DRAWN['grid']}\n\n{DRAWN['lines']}\n".encode,
}  # fmt: skip


@pytest.mark.parametrize("name", MADE)
def test_elements_equal_the_golden_file(name: str) -> None:
    elements = parse_file(MADE[name](), suffix=Path(name).suffix).elements
    golden = GOLDEN / f"{name}.json"
    if os.environ.get("GEN_TEST_DATA") == "1":
        golden.parent.mkdir(parents=True, exist_ok=True)
        golden.write_text(elements_to_json(elements) + "\n", encoding="utf-8")
    assert elements == elements_from_json(golden.read_text(encoding="utf-8"))
