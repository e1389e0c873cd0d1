"""OpenDocument, mail, e-books, rich text, slides and old files, as their readers see them."""

from __future__ import annotations

import io
import os
from pathlib import Path

import pytest
from office_files import ODF, RTF, docx_file, epub_file, grid, letter, odf_file, para, said, tables
from test_table_contract import cut

from parsers import legacy, mail, opendocument, rich
from parsers.charts import chart_text
from parsers.elements import Element, Kind, Unreadable

# --- OpenDocument --------------------------------------------------------------------------------


def test_an_open_text_keeps_headings_lists_notes_and_spans() -> None:
    body = (
        "<text:tracked-changes><text:deletion><text:p>đã xóa</text:p></text:deletion>"
        "</text:tracked-changes>"
        '<text:h text:outline-level="1">Phí</text:h>'
        '<text:p>Giá<text:s text:c="2"/>năm<text:note><text:note-citation>1</text:note-citation>'
        "<text:note-body><text:p>Chưa gồm thuế</text:p></text:note-body></text:note> 2026</text:p>"
        "<text:list><text:list-item><text:p>Một</text:p><text:list><text:list-item>"
        "<text:p>Hai</text:p></text:list-item></text:list></text:list-item></text:list>"
        "<table:table><table:table-header-rows><table:table-row>"
        "<table:table-cell><text:p>Vùng</text:p></table:table-cell>"
        '<table:table-cell table:number-columns-spanned="2"><text:p>Phí</text:p></table:table-cell>'
        "<table:covered-table-cell/></table:table-row></table:table-header-rows>"
        '<table:table-row><table:table-cell table:number-rows-spanned="2"><text:p>Bắc</text:p>'
        "</table:table-cell><table:table-cell><text:p>18</text:p></table:table-cell>"
        "<table:table-cell><text:p>20</text:p></table:table-cell></table:table-row>"
        "<table:table-row><table:covered-table-cell/><table:table-cell "
        'table:number-columns-repeated="2"><text:p>27</text:p></table:table-cell></table:table-row>'
        "</table:table>"
    )
    parsed = opendocument.parse(odf_file("text", body), suffix=".odt")
    assert said(parsed) == [
        ("heading", 1, "Phí"),
        ("text", None, "Giá năm 2026"),
        ("note", None, "Chưa gồm thuế"),
        ("list_item", 1, "Một"),
        ("list_item", 2, "Hai"),
    ]
    (found,) = tables(parsed)
    assert grid(found) == [["Vùng", "Phí", "Phí"], ["Bắc", "18", "20"], ["Bắc", "27", "27"]]
    assert found.header_rows == 1


def test_an_open_sheet_leaves_hidden_parts_out_and_survives_endless_repeats() -> None:
    styles = (
        '<style:style style:name="h" style:family="table">'
        '<style:table-properties table:display="false"/></style:style>'
    )

    def line(*texts: str, more: str = "") -> str:
        inner = "".join(f"<table:table-cell><text:p>{t}</text:p></table:table-cell>" for t in texts)
        empty = '<table:table-cell table:number-columns-repeated="16380"/>'
        return f"<table:table-row {more}>{inner}{empty}</table:table-row>"

    body = (
        '<table:table table:name="Giá"><table:table-column/>'
        '<table:table-column table:visibility="collapse"/><table:table-column/>'
        + line("Mã", "Vốn", "Giá")
        + line("A1", "310", "450")
        + line("A2", "320", "460", more='table:visibility="collapse"')
        + line("A3", "330", "470")
        + '<table:table-row table:number-rows-repeated="1048570"><table:table-cell/>'
        "</table:table-row></table:table>"
        '<table:table table:name="Mật" table:style-name="h">' + line("bí mật") + "</table:table>"
    )
    parsed = opendocument.parse(odf_file("spreadsheet", body, styles), suffix=".ods")
    assert grid(tables(parsed)[0]) == [["Mã", "Giá"], ["A1", "450"], ["A3", "470"]]
    assert len(parsed.warnings) == 3
    assert not any("mật" in text for _, _, text in said(parsed))


# --- mail, books, rich text ----------------------------------------------------------------------


def test_a_mail_is_read_once_with_its_table_and_its_attachments_apart() -> None:
    message = letter()
    message.add_alternative(
        "<p>Giá mới từ 01/04.</p><table><tr><th>Mã</th><th>Giá</th></tr>"
        "<tr><td>A1</td><td>450</td></tr></table>",
        subtype="html",
    )
    message.add_attachment(b"a;b\n1;2\n", maintype="text", subtype="csv", filename="bảng giá.csv")
    parsed = mail.parse(message.as_bytes(), suffix=".eml")
    assert parsed.title == "Thông báo giá mới"
    assert [text for _, _, text in said(parsed)].count("Giá mới từ 01/04.") == 1
    assert grid(tables(parsed)[0]) == [["Mã", "Giá"], ["A1", "450"]]
    assert [(a.name, a.data) for a in parsed.attachments] == [("bảng giá.csv", b"a;b\n1;2\n")]
    assert not parsed.warnings


def test_a_forwarded_mail_stands_under_its_own_subject_and_quotes_stay() -> None:
    outer = letter()
    inner = letter()
    inner.replace_header("Subject", "Sự cố")
    outer.add_attachment(inner)
    parsed = mail.parse(outer.as_bytes(), suffix=".eml")
    headings = [(e.level, e.text) for e in parsed.elements if e.kind is Kind.HEADING]
    assert headings == [(1, "Thông báo giá mới"), (2, "Sự cố")]
    assert [text for _, _, text in said(parsed)].count("Giá cũ bao nhiêu?") == 2


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le"])
def test_a_mail_saved_as_utf16_is_read(encoding: str) -> None:
    source = "Subject: Giá\r\nFrom: a@example.com\r\n\r\nNội dung thư.\r\n".encode(encoding)
    parsed = mail.parse(source, suffix=".eml")
    assert parsed.title == "Giá"
    assert said(parsed)[-1][2] == "Nội dung thư."


def test_a_book_follows_its_spine_and_not_its_file_names() -> None:
    chapters = {"a": "<h1>Hai</h1><p>Pin 40 giờ</p>", "b": "<h1>Một</h1><p>Pin 20 giờ</p>"}
    parsed = rich.parse(epub_file(chapters, ["b", "a"]), suffix=".epub")
    assert [text for _, _, text in said(parsed)] == ["Một", "Pin 20 giờ", "Hai", "Pin 40 giờ"]
    assert (parsed.title, parsed.language) == ("Sổ tay", "vi")


def test_rich_text_keeps_spans_nested_tables_notes_and_code_pages() -> None:
    parsed = rich.parse(RTF, suffix=".rtf")
    assert said(parsed) == [
        ("heading", 1, "Phí"),
        ("text", None, "Giá mưi."),
        ("note", None, "Note text"),
        ("text", None, "The end"),
    ]
    assert grid(tables(parsed)[0])[1:] == [
        ["North", "Basic", "18"],
        ["North", "Plus", "Min | 5\n27"],
    ]


@pytest.mark.slow  # its libraries take ten seconds to import
def test_org_markup_is_read_through_unstructured_without_a_network() -> None:
    pytest.importorskip("unstructured")
    pytest.importorskip("pypandoc")
    source = b"* Fees\nPaid yearly.\n| Plan | Fee |\n|------+-----|\n| Plus | 27 |\n"
    parsed = rich.parse(source, suffix=".org")
    assert said(parsed) == [("heading", 1, "Fees"), ("text", None, "Paid yearly.")]
    assert grid(tables(parsed)[0]) == [["Plan", "Fee"], ["Plus", "27"]]


def test_an_old_file_is_read_as_what_libreoffice_makes_of_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    made = tmp_path / "made.docx"
    made.write_bytes(docx_file(para("Nội dung")))
    program = tmp_path / "soffice"
    # The folder for the result is the last argument but one, as for LibreOffice itself.
    program.write_text(
        f'#!/bin/sh\nfor a; do last=$a; done\ncp "{made}" "$(dirname "$last")/in.docx"\n'
    )
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    parsed = legacy.parse(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", suffix=".doc")
    assert said(parsed) == [("text", None, "Nội dung")]
    assert parsed.parser_id == legacy.parser_id()
    assert parsed.parser_id.endswith("soffice=True")
    made.unlink()
    with pytest.raises(Unreadable) as caught:
        legacy.parse(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", suffix=".doc")
    assert caught.value.code == "damaged"


def test_old_binary_files_ask_for_libreoffice_where_there_is_none(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(Unreadable) as caught:
        legacy.parse(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", suffix=".doc")
    assert caught.value.code == "needs_libreoffice"
    assert "apt install" in caught.value.hint


@pytest.mark.slow  # its libraries take ten seconds to import
def test_an_outlook_message_has_its_subject_body_and_attachments(cases: Path) -> None:
    pytest.importorskip("oxmsg")
    files = sorted((cases / "docs").glob("*.msg"))
    assert files
    for path in files:
        parsed = mail.parse(path.read_bytes(), suffix=".msg")
        assert parsed.title
        assert any(text.startswith("From: ") for _, _, text in said(parsed))
        assert all(a.name and a.data for a in parsed.attachments)
    with pytest.raises(Unreadable) as caught:
        mail.parse(files[0].read_bytes()[:3000], suffix=".msg")
    assert caught.value.code == "damaged"


# --- slides --------------------------------------------------------------------------------------


def deck() -> bytes:
    pptx = pytest.importorskip("pptx")
    from pptx.chart.data import CategoryChartData
    from pptx.enum.chart import XL_CHART_TYPE
    from pptx.util import Inches

    deck = pptx.Presentation()
    first = deck.slides.add_slide(deck.slide_layouts[5])
    first.shapes.title.text = "Lộ trình"
    frame = first.shapes.add_table(3, 3, Inches(1), Inches(3), Inches(6), Inches(1)).table
    rows = (("Kỳ", "Nội dung", "Giờ"), ("T1", "An toàn", "8"), ("", "Bán", "6"))
    for r, texts in enumerate(rows):
        for c, text in enumerate(texts):
            frame.cell(r, c).text = text
    frame.cell(1, 0).merge(frame.cell(2, 0))
    box = first.shapes.add_textbox(Inches(1), Inches(2), Inches(3), Inches(1))
    box.text_frame.text = "Trước bảng"
    first.notes_slide.notes_text_frame.text = "Nghỉ quá 2 buổi phải học lại"
    second = deck.slides.add_slide(deck.slide_layouts[5])
    second.shapes.title.text = "Kết quả"
    data = CategoryChartData()
    data.categories = ["Đạt", "Khá"]
    data.add_series("Khóa 1", (12, 21))
    data.add_series("Khóa 2", (9, 30))
    area = (Inches(1), Inches(2), Inches(5), Inches(3))
    second.shapes.add_chart(XL_CHART_TYPE.COLUMN_CLUSTERED, *area, data)
    hidden = deck.slides.add_slide(deck.slide_layouts[5])
    hidden.shapes.title.text = "Nháp"
    hidden.element.set("show", "0")
    out = io.BytesIO()
    deck.save(out)
    return out.getvalue()


def test_a_chart_in_an_odp_is_lines_and_no_table() -> None:
    chart = (
        f"<office:document-content {ODF}><office:body><office:chart><chart><title>"
        "<text:p>Doanh thu</text:p></title><table:table>"
        "<table:table-row><table:table-cell/><table:table-cell><text:p>Bắc</text:p>"
        "</table:table-cell><table:table-cell><text:p>Nam</text:p></table:table-cell>"
        "</table:table-row><table:table-row><table:table-cell><text:p>Q1</text:p>"
        "</table:table-cell><table:table-cell><text:p>12</text:p></table:table-cell>"
        "<table:table-cell><text:p>9</text:p></table:table-cell></table:table-row>"
        "</table:table></chart></office:chart></office:body></office:document-content>"
    )
    page = "<draw:page><draw:frame><draw:object xlink:href='./Object 1'/></draw:frame></draw:page>"
    data = odf_file("presentation", page, parts={"Object 1/content.xml": chart})
    parsed = opendocument.parse(data, suffix=".odp")
    assert said(parsed) == [("text", None, "Doanh thu\n\nBắc — Q1: 12\n\nNam — Q1: 9")]
    assert not tables(parsed)


def test_a_long_chart_is_cut_between_its_values() -> None:
    labels = {at: f"Tháng {at}/2026" for at in range(40)}
    text = chart_text("Doanh thu", labels, [("Miền Bắc", {at: f"{at},5" for at in labels})])
    chunks = cut([Element(kind=Kind.TEXT, text=text)], 60)
    assert len(chunks) > 5
    lines = [line for found in chunks for line in found.text.split("\n\n")]
    assert lines == ["Doanh thu", *(f"Miền Bắc — Tháng {at}/2026: {at},5" for at in range(40))]


def test_slides_are_pages_with_tables_chart_data_and_notes() -> None:
    from parsers import slides

    parsed = slides.parse(deck(), suffix=".pptx")
    assert said(parsed) == [
        ("heading", 1, "Lộ trình"),
        ("text", None, "Trước bảng"),
        ("note", None, "Nghỉ quá 2 buổi phải học lại"),
        ("heading", 1, "Kết quả"),
        (
            "text",
            None,
            "Khóa 1 — Đạt: 12\n\nKhóa 1 — Khá: 21\n\nKhóa 2 — Đạt: 9\n\nKhóa 2 — Khá: 30",
        ),
    ]
    (shown,) = tables(parsed)
    assert grid(shown)[2] == ["T1", "Bán", "6"]
    assert [e.page_start for e in parsed.elements] == [1, 1, 1, 1, 2, 2]
    assert (parsed.page_native, parsed.warnings) == (True, ("hidden_slides_left_out",))
