"""Word, Excel, PowerPoint, OpenDocument, mail, e-books and rich text, as their readers see them."""

from __future__ import annotations

import io
import os
from email.message import EmailMessage
from pathlib import Path

import openpyxl
import pytest
from office_files import (
    bold,
    cell,
    docx_file,
    epub_file,
    odf_file,
    para,
    row,
    run,
    table,
    zipped,
)

from parsers import excel, legacy, mail, opendocument, rich, word
from parsers.elements import (
    Element,
    Kind,
    Parsed,
    Table,
    Unreadable,
    elements_from_json,
    elements_to_json,
)

GOLDEN = Path(__file__).parent / "golden" / "parsers" / "office"


def said(parsed: Parsed) -> list[tuple[str, int | None, str]]:
    return [(e.kind.value, e.level, e.text) for e in parsed.elements if e.table is None]


def tables(parsed: Parsed) -> list[Table]:
    return [e.table for e in parsed.elements if e.table is not None]


def grid(found: Table) -> list[list[str]]:
    rows = [["" for _ in range(found.n_cols)] for _ in range(found.n_rows)]
    for each in found.cells:
        for r in range(each.row, each.row + each.row_span):
            for c in range(each.col, each.col + each.col_span):
                rows[r][c] = each.text
    return rows


def read_docx(body: str, **parts: str) -> Parsed:
    return word.parse(docx_file(body, **parts), suffix=".docx")


# --- Word ----------------------------------------------------------------------------------------


def test_numbered_headings_of_a_localised_word_carry_their_numbers() -> None:
    parsed = read_docx(
        para("Hợp đồng", style="Tiu")
        + para("Phạm vi", style="u1")
        + para("Hàng hóa", style="u2")
        + para("Giá", style="u1")
        + para("Thanh toán", style="u2")
    )
    assert said(parsed) == [
        ("heading", 1, "Hợp đồng"),
        ("heading", 2, "Điều 1. Phạm vi"),
        ("heading", 3, "1.1 Hàng hóa"),
        ("heading", 2, "Điều 2. Giá"),
        ("heading", 3, "2.1 Thanh toán"),
    ]
    assert parsed.title == "Hợp đồng"


def test_lists_keep_their_numbers_and_their_nesting() -> None:
    parsed = read_docx(
        para("Phép năm", numbered=(2, 0))
        + para("12 ngày", numbered=(2, 1))
        + para("14 ngày", numbered=(2, 1))
    )
    assert said(parsed) == [
        ("list_item", 1, "Phép năm"),
        ("list_item", 2, "a) 12 ngày"),
        ("list_item", 2, "b) 14 ngày"),
    ]


def test_headings_of_a_contract_are_found_by_their_wording() -> None:
    parsed = read_docx(
        bold("HỢP ĐỒNG MUA BÁN")
        + para("Số: 01/2026")
        + para("Chương I")
        + bold("QUY ĐỊNH CHUNG")
        + bold("Điều 1. Đối tượng")
        + para("Điều 1 của hợp đồng này áp dụng cho mọi đơn hàng.")
        + para("Điều 2. Thanh toán")
        + para("Điều 3. Bên mua trả tiền trong 30 ngày kể từ ngày nhận hàng.")
        + bold("PHỤ LỤC 1. Thiết bị")
    )
    headings = [(e.level, e.text) for e in parsed.elements if e.kind is Kind.HEADING]
    assert headings == [
        (1, "HỢP ĐỒNG MUA BÁN"),
        (2, "Chương I QUY ĐỊNH CHUNG"),
        (3, "Điều 1. Đối tượng"),
        (3, "Điều 2. Thanh toán"),
        (2, "PHỤ LỤC 1. Thiết bị"),
    ]


def test_changes_are_accepted_and_what_is_hidden_is_not_read() -> None:
    parsed = read_docx(
        para(
            run("Gửi trước ")
            + "<w:del><w:r><w:delText>3</w:delText></w:r></w:del>"
            + f"<w:ins>{run('5')}</w:ins>"
            + run(" ngày.")
            + run(" bí mật", "<w:vanish/>")
            + f"<w:moveFrom>{run(' đã chuyển')}</w:moveFrom>"
        )
        + table(
            row("Cấp", "Ngày"),
            row("A", "12", properties="<w:del/>"),
            row("B", "14"),
        )
    )
    assert said(parsed) == [("text", None, "Gửi trước 5 ngày.")]
    assert grid(tables(parsed)[0]) == [["Cấp", "Ngày"], ["B", "14"]]


def test_fields_give_their_results_and_contents_lists_nothing() -> None:
    field = (
        '<w:r><w:fldChar w:fldCharType="begin"/></w:r><w:r><w:instrText> REF x </w:instrText></w:r>'
        '<w:r><w:fldChar w:fldCharType="separate"/></w:r>'
        + run("mục 2.1")
        + '<w:r><w:fldChar w:fldCharType="end"/></w:r>'
    )
    parsed = read_docx(para("Phạm vi....3", style="Mucluc1") + para(run("Xem ") + field + run(".")))
    assert said(parsed) == [("text", None, "Xem mục 2.1.")]


def test_a_text_box_is_read_once_and_a_footnote_where_it_is_cited() -> None:
    box = f"<w:txbxContent>{para('Trong khung')}</w:txbxContent>"
    shape = (
        f"<w:r><mc:AlternateContent><mc:Choice><wps:txbx>{box}</wps:txbx></mc:Choice>"
        f"<mc:Fallback><w:pict><v:textbox>{box}</v:textbox></w:pict></mc:Fallback>"
        "</mc:AlternateContent></w:r>"
    )
    parsed = read_docx(
        para(run("Giá") + '<w:r><w:footnoteReference w:id="2"/></w:r>' + shape) + para("Hết"),
        footnotes=f'<w:footnote w:id="2">{para("Chưa gồm thuế")}</w:footnote>',
    )
    assert [text for _, _, text in said(parsed)] == ["Giá", "Trong khung", "Chưa gồm thuế", "Hết"]
    assert said(parsed)[2][0] == "note"


def test_spans_and_marked_headers_of_a_word_table() -> None:
    restart, goes_on = '<w:vMerge w:val="restart"/>', "<w:vMerge/>"
    parsed = read_docx(
        para("Bảng 2: Phí bảo trì", style="Chuthich")
        + table(
            row(
                cell("Vùng", restart),
                cell("Gói", restart),
                cell("Phí", '<w:gridSpan w:val="2"/>'),
                properties="<w:tblHeader/>",
            ),
            row(cell("", goes_on), cell("", goes_on), "Năm", "Tháng"),
            row(cell("Bắc", restart), "Cơ bản", "18", "2"),
            row(cell("", goes_on), "Nâng cao", "27", "3"),
        )
    )
    (found,) = tables(parsed)
    assert grid(found) == [
        ["Vùng", "Gói", "Phí", "Phí"],
        ["Vùng", "Gói", "Năm", "Tháng"],
        ["Bắc", "Cơ bản", "18", "2"],
        ["Bắc", "Nâng cao", "27", "3"],
    ]
    assert (found.header_rows, found.header_cols, found.caption) == (2, 2, "Bảng 2: Phí bảo trì")


def test_a_small_nested_table_is_words_of_its_cell_and_a_large_one_a_table() -> None:
    small = table(row("Dải đo", "0–100"), row("Sai số", "1,5"))
    large = table(*(row(*(f"{r}.{c}" for c in range(5))) for r in range(6)))
    parsed = read_docx(
        table(
            row("Máy", "Thông số"),
            row("HD-1", cell(small + para(""))),
            row("HD-2", cell(para("xem bảng") + large)),
        )
    )
    outer, inner = tables(parsed)
    assert grid(outer)[1] == ["HD-1", "Dải đo | 0–100\nSai số | 1,5"]
    assert grid(outer)[2] == ["HD-2", "xem bảng"]
    assert (inner.n_rows, inner.n_cols) == (6, 5)


def test_a_table_within_a_run_and_one_in_a_content_control_are_read() -> None:
    inner = table(row("Mã", "Giá"), row("A1", "450"))
    parsed = read_docx(
        f"<w:p><w:r><w:t>Giá:</w:t>{inner}</w:r></w:p>"
        f"<w:sdt><w:sdtContent>{inner}</w:sdtContent></w:sdt>"
    )
    assert [grid(t) for t in tables(parsed)] == [[["Mã", "Giá"], ["A1", "450"]]] * 2


def test_pages_are_counted_only_where_breaks_are_stored() -> None:
    rendered = "<w:r><w:lastRenderedPageBreak/><w:t>Hai</w:t></w:r>"
    assert [e.page_start for e in read_docx(para("Một") + para(rendered)).elements] == [1, 2]
    assert [e.page_start for e in read_docx(para("Một") + para("Hai")).elements] == [None, None]


def test_a_box_drawn_as_a_table_of_one_cell_is_text() -> None:
    parsed = read_docx(table(row(cell(para("Lưu ý") + para("Không tháo nắp")))))
    assert [text for _, _, text in said(parsed)] == ["Lưu ý", "Không tháo nắp"]
    assert not tables(parsed)


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (docx_file(para("x"))[:400], "damaged"),
        (b"PK not a zip at all", "damaged"),
        (zipped({"word/document.xml": "<w:document"}), "damaged"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + "EncryptedPackage".encode("utf-16-le"), "encrypted"),
    ],
)
def test_a_file_that_cannot_be_read_says_why(data: bytes, code: str) -> None:
    for parse, suffix in ((word.parse, ".docx"), (excel.parse, ".xlsx")):
        with pytest.raises(Unreadable) as caught:
            parse(data, suffix=suffix)
        assert caught.value.code == code


def test_a_document_without_words_has_no_elements() -> None:
    assert read_docx(para("")).elements == ()


# --- Excel ---------------------------------------------------------------------------------------


def workbook() -> bytes:
    book = openpyxl.Workbook()
    sheet = book.active
    sheet.title = "Bảng giá"
    sheet.append(["BẢNG GIÁ", None, None, None])
    sheet.append([])
    sheet.append(["Mã", "Giá", "Giảm", "Vốn"])
    sheet.append(["A1", 3250000, 0.08, 1950000])
    sheet.append(["A2", 480000, 0.05, 199000])
    sheet.append(["A3", 990000, 0.05, 299000])
    for at in (4, 5, 6):
        sheet.cell(at, 2).number_format = "#,##0"
        sheet.cell(at, 3).number_format = "0%"
    sheet.cell(8, 1, "Tổng")
    sheet.cell(8, 2, "=SUM(B4:B6)")
    sheet.column_dimensions["D"].hidden = True
    sheet.row_dimensions[5].hidden = True
    secret = book.create_sheet("Lãi")
    secret["A1"] = "Biên lợi nhuận 40%"
    secret.sheet_state = "hidden"
    out = io.BytesIO()
    book.save(out)
    return out.getvalue()


def test_a_workbook_reads_as_its_visible_cells_show() -> None:
    parsed = excel.parse(workbook(), suffix=".xlsx")
    found = tables(parsed)[0]
    assert grid(found) == [
        ["Mã", "Giá", "Giảm"],
        ["A1", "3,250,000", "8%"],
        ["A3", "990,000", "5%"],
    ]
    assert (found.caption, found.header_rows, found.sheet) == ("BẢNG GIÁ", 1, "Bảng giá")
    assert set(parsed.warnings) == {
        "formula_without_value",
        "hidden_sheets_left_out",
        "hidden_rows_left_out",
        "hidden_columns_left_out",
    }
    everything = elements_to_json(parsed.elements)
    assert not any(word in everything for word in ("SUM", "1950000", "Biên", "A2"))


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


def letter() -> EmailMessage:
    message = EmailMessage()
    message["Subject"] = "Thông báo giá mới"
    message["From"] = "Phòng Kinh doanh <ban@example.com>"
    message["To"] = "dai-ly@example.com"
    message.set_content("Giá mới từ 01/04.\n\n> Giá cũ bao nhiêu?\n")
    return message


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


RTF = rb"""{\rtf1\ansi\ansicpg1252{\fonttbl{\f0\fcharset0 Arial;}{\f1\fcharset163 Arial;}}
{\header Company}{\stylesheet{\s1\b heading 1;}}
\pard\s1\b Ph\u237?\b0\par
\pard Gi\'e1 {\v hidden}{\deleted old }m\f1\'fdi{\footnote Note text}.\f0\par
\trowd\clvmgf\cellx1000\cellx2000\cellx3000\pard\intbl Zone\cell Plan\cell Fee\cell\row
\trowd\clvmgf\cellx1000\cellx2000\cellx3000\pard\intbl North\cell Basic\cell 18\cell\row
\trowd\clvmrg\cellx1000\cellx2000\cellx3000\pard\intbl\cell Plus\cell
\pard\intbl\itap2 Min\nestcell 5\nestcell{\*\nesttableprops\trowd\cellx2500\cellx3000\nestrow}
\pard\intbl 27\cell\row
\pard The end\par}"""


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


def test_slides_are_pages_with_tables_chart_data_and_notes() -> None:
    from parsers import slides

    parsed = slides.parse(deck(), suffix=".pptx")
    assert said(parsed) == [
        ("heading", 1, "Lộ trình"),
        ("text", None, "Trước bảng"),
        ("note", None, "Nghỉ quá 2 buổi phải học lại"),
        ("heading", 1, "Kết quả"),
    ]
    shown, chart = tables(parsed)
    assert grid(shown)[2] == ["T1", "Bán", "6"]
    assert grid(chart) == [["", "Khóa 1", "Khóa 2"], ["Đạt", "12", "9"], ["Khá", "21", "30"]]
    assert [e.page_start for e in parsed.elements] == [1, 1, 1, 1, 2, 2]
    assert (parsed.page_native, parsed.warnings) == (True, ("hidden_slides_left_out",))


# --- golden files and the shared cases -----------------------------------------------------------


def agreement() -> bytes:
    return docx_file(
        bold("HỢP ĐỒNG CUNG CẤP")
        + para("Số: 118/2026")
        + bold("Điều 1. Giá")
        + para("Giá theo bảng sau:")
        + para("Bảng 1: Giá", style="Chuthich")
        + table(row("Mã", "Giá (đồng)"), row("A1", "450.000"), row("A2", "990.000"))
        + para("Nguồn: phòng kinh doanh")
        + bold("Điều 2. Giao hàng")
        + para("Giao tận kho", numbered=(2, 0))
        + para("trong 3 ngày", numbered=(2, 1))
    )


def parsed_files() -> dict[str, tuple[Element, ...]]:
    return {
        "agreement.docx": word.parse(agreement(), suffix=".docx").elements,
        "prices.xlsx": excel.parse(workbook(), suffix=".xlsx").elements,
        "fees.rtf": rich.parse(RTF, suffix=".rtf").elements,
        "notice.eml": mail.parse(letter().as_bytes(), suffix=".eml").elements,
    }


@pytest.mark.parametrize("name", ["agreement.docx", "prices.xlsx", "fees.rtf", "notice.eml"])
def test_elements_equal_the_golden_file(name: str) -> None:
    elements = parsed_files()[name]
    golden = GOLDEN / f"{name}.json"
    if os.environ.get("GEN_TEST_DATA") == "1":
        golden.parent.mkdir(parents=True, exist_ok=True)
        golden.write_text(elements_to_json(elements) + "\n", encoding="utf-8")
    assert elements == elements_from_json(golden.read_text(encoding="utf-8"))


def test_every_shared_office_file_is_read_or_refused_with_a_code(cases: Path) -> None:
    from parsers import slides

    families = {
        ".docx": word,
        ".xlsx": excel,
        ".xls": excel,
        ".pptx": slides,
        ".eml": mail,
        ".odt": opendocument,
        ".ods": opendocument,
        ".odp": opendocument,
        ".epub": rich,
        ".rtf": rich,
    }
    read = 0
    for path in sorted((cases / "docs").iterdir()):
        family = families.get(path.suffix)
        if family is None:
            continue
        try:
            parsed = family.parse(path.read_bytes(), suffix=path.suffix)
        except Unreadable as refusal:
            assert path.name.startswith("bad_"), refusal.code
            continue
        read += 1
        assert parsed.elements or path.name.startswith("bad_")
        assert elements_from_json(elements_to_json(parsed.elements)) == parsed.elements
    assert read > 40
