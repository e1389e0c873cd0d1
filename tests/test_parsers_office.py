"""Word and Excel files as their readers see them; golden files; the shared office files."""

from __future__ import annotations

import io
import os
from pathlib import Path

import openpyxl
import pytest
from office_files import (
    RTF,
    bold,
    cell,
    docx_file,
    grid,
    letter,
    para,
    row,
    run,
    said,
    table,
    tables,
    zipped,
)

from parsers import excel, mail, opendocument, rich, word
from parsers.elements import (
    Element,
    Kind,
    Parsed,
    Unreadable,
    elements_from_json,
    elements_to_json,
)

GOLDEN = Path(__file__).parent / "golden" / "parsers" / "office"


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
        ["Tổng", "4720000", ""],  # worked out: the file holds the formula alone
    ]
    assert (found.caption, found.header_rows, found.sheet) == ("BẢNG GIÁ", 1, "Bảng giá")
    assert set(parsed.warnings) == {
        "hidden_sheets_left_out",
        "hidden_rows_left_out",
        "hidden_columns_left_out",
    }
    everything = elements_to_json(parsed.elements)
    assert not any(word in everything for word in ("SUM", "1950000", "Biên", "A2"))


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
