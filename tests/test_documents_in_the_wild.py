"""Documents as people make them: what a reader takes from them stands in one chunk."""

from __future__ import annotations

import io
import tomllib
import unicodedata
import zipfile
from datetime import date, datetime

import openpyxl
import pytest
from office_files import bold, cell, docx_file, para, row, table
from openpyxl.styles import Font
from openpyxl.worksheet.table import Table as ListObject
from wild_grids import FORMATS, Fact, Wild, grids

from chunkers.chunk import ChunkingRecipe
from enrich.embedders import load
from evals.facts import score_file
from evals.quality import FLOORS, floors_here, rows_of
from parsers import excel, word
from parsers.elements import Kind
from parsers.registry import parse_file

SMALL = 60  # tokens: tables are cut, so that only what is known of headers and labels holds
USUAL = 400


def rows(data: bytes, suffix: str, budget: int = USUAL) -> list[dict]:
    """Return the chunk rows of a file."""
    embedder = load("hashing:64")
    recipe = ChunkingRecipe(
        tokenizer=embedder.tokenizer.name, body_budget=budget, context_reserve=60
    )
    parsed = parse_file(data, suffix=suffix)
    found = rows_of(
        f"file{suffix}", parsed, recipe=recipe, card=embedder.card, tokenizer=embedder.tokenizer
    )
    return list(found)


def missing(found: list[dict], facts: list[Fact], tables: int | None = None) -> list[object]:
    """Return the facts that do not stand, strictly, in one chunk; and a wrong count of tables."""
    lost: list[object] = []
    for row, col, value in facts:
        fact = {"row": row, "col": col, "value": value}
        truth = {"file": "x.x", "tables": [{"facts": [fact]}], "text_facts": [], "must_not": []}
        scored = score_file({**truth, "expected_tables": None}, found)
        if not scored.found["rows_strict"]:
            lost.append(fact)
    ids = {each["table_id"] for each in found if each["table_id"]}
    if tables is not None and len(ids) != tables:
        lost.append(f"{len(ids)} tables")
    return lost


@pytest.mark.parametrize("budget", [SMALL, USUAL])
@pytest.mark.parametrize("suffix", FORMATS)
@pytest.mark.parametrize("wild", grids(), ids=lambda wild: wild.name)
def test_i3_rows_keep_their_labels_and_headers(wild: Wild, suffix: str, budget: int) -> None:
    if suffix == ".csv" and wild.name == "a value over several rows":
        pytest.skip("a CSV file does not say that a blank is part of the cell above")
    found = rows(FORMATS[suffix](wild), suffix, budget)
    assert missing(found, wild.facts, tables=1) == []


# --- workbooks -----------------------------------------------------------------------------------


def workbook(*rows: list, at: tuple[int, int] = (1, 1), book: openpyxl.Workbook | None = None):
    """Return a workbook with these rows put on its first sheet."""
    book = book or openpyxl.Workbook()
    for r, values in enumerate(rows):
        for c, value in enumerate(values):
            if value not in ("", None):
                book.worksheets[0].cell(at[0] + r, at[1] + c, value)
    return book


def saved(book: openpyxl.Workbook) -> bytes:
    out = io.BytesIO()
    book.save(out)
    return out.getvalue()


def test_tables_side_by_side_have_titles_and_headers_of_their_own() -> None:
    book = workbook(
        ["Doanh thu"], ["Tháng", "Số tiền"], ["Một", 100], ["Hai", 200], ["Ba", 300], ["Tư", 400]
    )
    workbook(
        ["Nhân sự"],
        ["Phòng", "Số người", "Quỹ lương"],
        ["Kế toán", 5, 80],
        ["Kho", 12, 140],
        at=(1, 4),
        book=book,
    )
    found = rows(saved(book), ".xlsx", 20)
    facts = [("Tư", "Số tiền", "400"), ("Kho", ["Nhân sự", "Quỹ lương"], "140")]
    assert missing(found, facts, tables=2) == []
    assert not any("Nhân sự" in each["text"] and "Doanh thu" in each["text"] for each in found)


def test_tables_that_touch_are_told_apart_where_the_sheet_names_them() -> None:
    book = workbook(
        ["Mã", "Tên", "Giá"],
        ["A1", "Bơm", 5],
        ["A2", "Ống", 6],
        ["Kho", "Quản lý", "Điện thoại"],
        ["HN", "Lan", "0901"],
        ["SG", "Minh", "0902"],
    )
    book.active.add_table(ListObject(displayName="T1", ref="A1:C3"))
    book.active.add_table(ListObject(displayName="T2", ref="A4:C6"))
    found = rows(saved(book), ".xlsx")
    assert missing(found, [("SG", "Quản lý", "Minh"), ("A2", "Giá", "6")], tables=2) == []


def test_a_report_keeps_its_title_header_sections_and_total() -> None:
    book = workbook(
        ["CÔNG TY CP MINH LONG"],
        ["12 Lê Lợi, Huế"],
        [],
        ["BÁO CÁO TỒN KHO"],
        ["Từ ngày 01/03/2026 đến ngày 31/03/2026"],
        [],
        ["STT", "Mặt hàng", "Tồn đầu kỳ", "", "Nhập trong kỳ", "", "Ghi chú"],
        ["", "", "SL", "Giá trị", "SL", "Giá trị", ""],
        ["A", "B", "1", "2", "3", "4", "5"],
        ["I", "Nguyên liệu"],
        [1, "Bột mì", 100, 2500, 40, 1000],
        [2, "Đường", 60, 1200, "", ""],
        ["II", "Bao bì"],
        [1, "Hộp giấy", 900, 450, 300, 150, "nhập lại"],
        ["", "Tổng cộng", 1060, 4150, 340, 1150],
        [],
        ["", "Người lập biểu", "", "Kế toán trưởng", "", "Giám đốc"],
    )
    for area in ("A4:G4", "A5:G5", "A7:A8", "B7:B8", "C7:D7", "E7:F7", "G7:G8"):
        book.active.merge_cells(area)
    facts = [
        ("Đường", ["Tồn đầu kỳ", "Giá trị", "Nguyên liệu"], "1200"),
        ("Hộp giấy", ["Nhập trong kỳ", "SL", "Bao bì"], "300"),
        ("Tổng cộng", ["Nhập trong kỳ", "Giá trị", "BÁO CÁO TỒN KHO"], "1150"),
    ]
    found = rows(saved(book), ".xlsx")
    assert missing(found, facts, tables=1) == []
    assert not any("1 | Tổng cộng" in each["text"] for each in found)


@pytest.mark.parametrize("is_bold", [True, False])
def test_groups_set_apart_by_empty_rows_stay_under_one_header(is_bold: bool) -> None:
    book = workbook(
        ["Nhân viên", "Phòng", "Lương"],
        ["Lan", "Kế toán", 12],
        ["Minh", "Kho", 9],
        [],
        ["Hùng", "Vận tải", 10],
        ["Thảo", "Lễ tân", 8],
        [],
        ["Tổng", "", 39],
    )
    for each in book.active[1]:
        each.font = Font(bold=is_bold)
    facts = [("Thảo", ["Phòng", "Lương"], "8"), ("Tổng", "Lương", "39")]
    assert missing(rows(saved(book), ".xlsx", 26), facts, tables=1) == []


def test_words_under_an_empty_row_stay_under_a_bold_header() -> None:
    book = workbook(
        ["Họ tên", "Chức vụ"], ["Lan", "Kế toán"], ["Minh", "Thủ kho"], [], ["Hùng", "Lái xe"]
    )
    for each in book.active[1]:
        each.font = Font(bold=True)
    assert missing(rows(saved(book), ".xlsx"), [("Hùng", "Chức vụ", "Lái xe")], tables=1) == []


def test_another_header_under_an_empty_row_is_another_table() -> None:
    book = workbook(
        ["Mã", "Giá"], ["A1", 5], ["A2", 6], [], ["Kho", "Diện tích"], ["HN", 10], ["SG", 20]
    )
    found = rows(saved(book), ".xlsx")
    assert missing(found, [("SG", "Diện tích", "20")], tables=2) == []


@pytest.mark.parametrize("with_words", [True, False])
def test_narrow_empty_columns_between_columns_part_no_table(with_words: bool) -> None:
    middle = ["Phòng", "Kho", "Xưởng", "Kho"] if with_words else ["Kỳ trước", 7, 8, 9]
    columns = [["Khoản mục", "Lương", "Điện", "Thuê nhà"], middle, ["Thực hiện", 98, 25, 50]]
    book = openpyxl.Workbook()
    for number, texts in enumerate(columns):
        for r, text in enumerate(texts):
            book.active.cell(3 + r, 2 + 2 * number, text)
    found = rows(saved(book), ".xlsx")
    assert missing(found, [("Điện", "Thực hiện", "25")], tables=1) == []


def test_numbers_and_dates_stand_as_the_sheet_shows_them() -> None:
    formats = {
        "Giá trị": (-20, "#,##0.00;(#,##0.00)", "(20.00)"),
        "Tỷ lệ": (0.125, "0.0%", "12.5%"),
        "Ngày": (date(2026, 3, 5), "dd/mm/yyyy", "05/03/2026"),
        "Kế toán": (-1500, '_(* #,##0_);_(* (#,##0);_(* "-"_);_(@_)', "(1,500)"),
        "Kỳ": (datetime(2025, 12, 31), "mmm-yy", "Dec-25"),
        "Tiền": (1234568, "#,##0 [$₫-42A]", "1,234,568 ₫"),
    }
    book = workbook(["Mục", *formats], ["Thu", *(value for value, _, _ in formats.values())])
    for at, (_, shown, _) in enumerate(formats.values(), 2):
        book.active.cell(2, at).number_format = shown
    facts = [("Thu", name, text) for name, (_, _, text) in formats.items()]
    assert missing(rows(saved(book), ".xlsx"), facts, tables=1) == []


def test_formulas_that_were_never_computed_are_worked_out() -> None:
    book = workbook(
        ["Hàng", "SL", "Đơn giá", "Thành tiền", "Hạn", "Loại"],
        ["Bút", 10, 5000, "=B2*C2", date(2026, 1, 5), '=IF(D2>49000,"lớn","nhỏ")'],
        ["Vở", 4, 12000, "=B3*C3*(1-10%)", "=E2+30", '=IF(D3>49000,"lớn","nhỏ")'],
        ["Cộng", "=SUM(B2:B3)", "", "=ROUND(SUM(D2:D3)/3,1)", "", '=Ghi!A1&" đồng"'],
        ["Khác", "=VLOOKUP(A2,A2:B3,2)", "", "=B9", "", "=F5"],
    )
    book.active["E3"].number_format = "dd/mm/yyyy"
    book.create_sheet("Ghi")["A1"] = "nghìn"
    found = rows(saved(book), ".xlsx")
    facts = [
        ("Bút", "Thành tiền", "50000"),
        ("Bút", "Loại", "lớn"),
        ("Vở", "Thành tiền", "43200"),
        ("Vở", "Hạn", "04/02/2026"),
        ("Vở", "Loại", "nhỏ"),
        ("Cộng", "SL", "14"),
        ("Cộng", "Thành tiền", "31066.7"),
        ("Cộng", "Loại", "nghìn đồng"),
    ]
    assert missing(found, facts) == []
    parsed = excel.parse(saved(book), suffix=".xlsx")
    assert parsed.warnings == ("formula_without_value",)  # of VLOOKUP, and of the circle


@pytest.mark.parametrize(
    "source", ["=1/0", "=A1", "=" + "(" * 400 + "1" + ")" * 400, "=SUM(A1:XFD99999)", "=)", "=2^"]
)
def test_i12_a_formula_that_cannot_be_worked_out_is_an_empty_cell(source: str) -> None:
    parsed = excel.parse(saved(workbook([source, "Tên"], ["x", "y"])), suffix=".xlsx")
    assert parsed.warnings == ("formula_without_value",)


CHART = """<c:chartSpace xmlns:c="http://schemas.openxmlformats.org/drawingml/2006/chart"
 xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main"><c:chart>
<c:title><c:tx><c:rich><a:p><a:r><a:t>Sản lượng</a:t></a:r></a:p></c:rich></c:tx></c:title>
<c:plotArea><c:barChart><c:ser>
<c:tx><c:strRef><c:f>{sheet}!$B$1</c:f><c:strCache><c:pt idx="0"><c:v>Xi măng</c:v></c:pt>
</c:strCache></c:strRef></c:tx>
<c:cat><c:strRef><c:f>{sheet}!$A$2:$A$3</c:f><c:strCache><c:pt idx="0"><c:v>Quý I</c:v></c:pt>
<c:pt idx="1"><c:v>Quý II</c:v></c:pt></c:strCache></c:strRef></c:cat>
<c:val><c:numRef><c:f>{sheet}!$B$2:$B$3</c:f><c:numCache><c:pt idx="0"><c:v>120</c:v></c:pt>
<c:pt idx="1"><c:v>135.5</c:v></c:pt></c:numCache></c:numRef></c:val>
</c:ser></c:barChart></c:plotArea></c:chart></c:chartSpace>"""


def with_parts(data: bytes, parts: dict[str, str]) -> bytes:
    """Return an Office file with parts put in or exchanged."""
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(out, "w") as new:
        for name in old.namelist():
            if name not in parts:
                new.writestr(name, old.read(name))
        for name, text in parts.items():
            new.writestr(name, text)
    return out.getvalue()


def drawn_on(sheet_of_data: str) -> bytes:
    """A workbook with a chart and a text box on its only sheet."""
    book = workbook(["Quý", "Xi măng"], ["I", 120], ["II", 135.5])
    relations = "http://schemas.openxmlformats.org/package/2006/relationships"
    office = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    drawing = f"""<xdr:wsDr
 xmlns:xdr="http://schemas.openxmlformats.org/drawingml/2006/spreadsheetDrawing"
 xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main"
 xmlns:c="http://schemas.openxmlformats.org/drawingml/2006/chart" xmlns:r="{office}">
<xdr:twoCellAnchor><xdr:from><xdr:row>9</xdr:row></xdr:from><xdr:graphicFrame><a:graphic>
<a:graphicData><c:chart r:id="r1"/></a:graphicData></a:graphic></xdr:graphicFrame>
</xdr:twoCellAnchor><xdr:twoCellAnchor><xdr:from><xdr:row>5</xdr:row></xdr:from><xdr:sp>
<xdr:txBody><a:p><a:r><a:t>Số liệu </a:t></a:r><a:r><a:t>đã kiểm toán.</a:t></a:r></a:p>
</xdr:txBody></xdr:sp></xdr:twoCellAnchor></xdr:wsDr>"""

    def related(kind: str, target: str) -> str:
        link = f'<Relationship Id="r1" Type="{office}/{kind}" Target="{target}"/>'
        return f'<Relationships xmlns="{relations}">{link}</Relationships>'

    return with_parts(
        saved(book),
        {
            "xl/worksheets/_rels/sheet1.xml.rels": related("drawing", "../drawings/drawing1.xml"),
            "xl/drawings/drawing1.xml": drawing,
            "xl/drawings/_rels/drawing1.xml.rels": related("chart", "../charts/chart1.xml"),
            "xl/charts/chart1.xml": CHART.format(sheet=sheet_of_data),
        },
    )


def test_a_sheets_boxes_are_read_and_its_charts_where_no_cell_says_the_same() -> None:
    texts = [e.text for e in excel.parse(drawn_on("Sheet"), suffix=".xlsx").elements]
    assert texts[-2:] == ["Số liệu đã kiểm toán.", "Sản lượng"]
    texts = [e.text for e in excel.parse(drawn_on("'Nguồn ngoài'"), suffix=".xlsx").elements]
    assert texts[-1].split("\n\n") == [
        "Sản lượng",
        "Xi măng — Quý I: 120",
        "Xi măng — Quý II: 135.5",
    ]


# --- Word ----------------------------------------------------------------------------------------


def test_a_chart_in_a_word_file_is_lines_where_it_stands() -> None:
    office = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    frame = (
        '<w:p><w:r><w:drawing><c:chart xmlns:c="http://schemas.openxmlformats.org/drawingml/'
        '2006/chart" r:id="r9"/></w:drawing></w:r></w:p>'
    )
    data = docx_file(para("Trước") + frame + para("Sau"))
    name = "word/_rels/document.xml.rels"
    with zipfile.ZipFile(io.BytesIO(data)) as package:
        relations = package.read(name).decode()
    link = f'<Relationship Id="r9" Type="{office}/chart" Target="charts/chart1.xml"/>'
    parts = {
        name: relations.replace("</Relationships>", f"{link}</Relationships>"),
        "word/charts/chart1.xml": CHART.format(sheet="Sheet1"),
    }
    parsed = word.parse(with_parts(data, parts), suffix=".docx")
    assert [e.text.split("\n\n")[-1] for e in parsed.elements] == [
        "Trước",
        "Xi măng — Quý II: 135.5",
        "Sau",
    ]


def test_a_table_cut_by_a_page_break_goes_on_under_its_header() -> None:
    turn = '<w:p><w:r><w:br w:type="page"/></w:r></w:p>'
    data = docx_file(
        table(row("Mã", "Tên", "Giá"), row("A1", "Bơm", "450"), row("A2", "Ống", "12"))
        + turn
        + table(row("A3", "Van", "77"), row("A4", "Co", "8"))
    )
    assert missing(rows(data, ".docx", 26), [("A4", ["Tên", "Giá"], "8")], tables=1) == []


def test_a_contract_has_its_articles_table_and_signatures() -> None:
    changed = (
        '<w:p><w:del w:id="1"><w:r><w:delText>50.000</w:delText></w:r></w:del>'
        '<w:ins w:id="2"><w:r><w:t>70.000</w:t></w:r></w:ins></w:p>'
    )
    data = docx_file(
        bold("HỢP ĐỒNG DỊCH VỤ")
        + bold("Điều 1. Phí dịch vụ")
        + para("1.1 Bên A trả cho Bên B phí như sau:")
        + table(
            row("Hạng mục", "Phí (VND)"),
            row("In ấn", changed),
            row("Thiết kế", "5.000.000", properties='<w:del w:id="3"/>'),
            row("Giao hàng", "900.000"),
        )
        + bold("Điều 2. Thanh toán")
        + para(unicodedata.normalize("NFD", "2.1 Thanh toán trong 15 ngày."))
        + table(
            row(
                cell(bold("ĐẠI DIỆN BÊN A") + para("Nguyễn An")),
                cell(bold("ĐẠI DIỆN BÊN B") + para("Trần Bình")),
            )
        )
    )
    found = rows(data, ".docx")
    assert missing(found, [("In ấn", "Phí (VND)", "70.000")], tables=1) == []
    everything = "\n".join(each["text"] for each in found)
    assert not any(word in everything for word in ("50.000", "Thiết kế"))
    paid = next(each for each in found if "15 ngày" in each["text"])
    assert paid["heading_path"][:2] == ["HỢP ĐỒNG DỊCH VỤ", "Điều 2. Thanh toán"]


# --- pages ---------------------------------------------------------------------------------------


def test_a_header_that_stays_in_sight_belongs_to_the_body_that_scrolls() -> None:
    page = (
        "<h1>Giá</h1><table><tr><th>Gói</th><th>Giá</th></tr></table>"
        "<table><tr><td>Cơ bản</td><td>99</td></tr><tr><td>Nâng cao</td><td>199</td></tr></table>"
    )
    found = rows(page.encode(), ".html")
    assert missing(found, [("Nâng cao", "Giá", "199")], tables=1) == []


@pytest.mark.parametrize(
    "page",
    [
        "<div role=table><div role=row><span role=columnheader>Tên</span><span "
        "role=columnheader>Giá</span></div><div role=row><span role=cell>Bơm</span><span "
        "role=cell>450</span></div><div role=row><span role=cell>Van</span><span "
        "role=cell>12</span></div></div>",
        "<div style='display: table'>"
        + "".join(
            "<div style='display:table-row'>"
            + "".join(f"<div style='display:table-cell'>{text}</div>" for text in texts)
            + "</div>"
            for texts in (("Tên", "Giá"), ("Bơm", "450"), ("Van", "12"))
        )
        + "</div>",
    ],
    ids=["role", "style"],
)
def test_a_table_made_of_other_tags_is_one(page: str) -> None:
    found = rows(page.encode(), ".html", 8)
    assert missing(found, [("Van", "Giá", "12"), ("Bơm", "Giá", "450")], tables=1) == []


def test_words_outside_the_cells_of_a_made_up_table_are_not_lost() -> None:
    page = "<div role=table>Ngoài<div role=row><span role=cell>Trong</span></div></div>"
    assert "Ngoài" in rows(page.encode(), ".html")[0]["text"]


def test_section_titles_of_head_cells_head_their_own_rows_alone() -> None:
    page = (
        "<table><tr><th>Tên</th><th>SL</th><th>Giá</th></tr>"
        "<tr><th colspan=3>Bàn phím</th></tr><tr><td>K1</td><td>2</td><td>300</td></tr>"
        "<tr><th colspan=3>Chuột</th></tr><tr><td>K1</td><td>5</td><td>120</td></tr></table>"
    )
    found = rows(page.encode(), ".html", 14)
    mouse = next(each["text"] for each in found if "120" in each["text"])
    assert "Chuột" in mouse
    assert "Bàn phím" not in mouse


def test_a_large_table_in_a_cell_is_a_table_named_by_its_row() -> None:
    steps = "".join(
        f"<tr><td>Bậc {n}</td><td>{n * 10}</td><td>{n * 10 + 9}</td><td>{n * 1000}</td></tr>"
        for n in range(1, 12)
    )
    page = (
        "<table><tr><th>Đối tượng</th><th>Cách tính</th></tr><tr><td>Sinh hoạt</td><td>Theo bậc:"
        f"<table><tr><th>Bậc</th><th>Từ</th><th>Đến</th><th>Giá</th></tr>{steps}</table></td></tr>"
        "<tr><td>Kinh doanh</td><td>Cố định</td></tr></table>"
    )
    found = rows(page.encode(), ".html", 30)
    facts = [("Bậc 9", ["Sinh hoạt", "Giá"], "9000"), ("Kinh doanh", "Cách tính", "Cố định")]
    assert missing(found, facts, tables=2) == []


def test_a_page_saved_from_a_word_processor_has_headings_by_their_look() -> None:
    page = (
        "<p class=MsoNormal><b>1.1 Mục tiêu</b></p><p>Giảm chi phí.</p>"
        "<p><b>Điều 2. Thời hạn</b></p><p>Hết năm 2026.</p>"
    )
    paths = {
        each["text"].split("\n")[-1]: each["heading_path"] for each in rows(page.encode(), ".html")
    }
    assert paths["Giảm chi phí."][-1] == "1.1 Mục tiêu"
    assert paths["Hết năm 2026."][-1] == "Điều 2. Thời hạn"


# --- plain text ----------------------------------------------------------------------------------

DRAWN = {
    "bars": "| Mã | Giá |\n| A1 | 450 |\n| A2 | 77 |",
    "box": "+----+-----+\n| Mã | Giá |\n+----+-----+\n| A1 | 450 |\n| A2 | 77  |\n+----+-----+",
    "grid": "+----+-----+\n| Mã | Giá |\n+====+=====+\n| A1 | 450 |\n+----+-----+\n| A2 | 77  |\n"
    "+----+-----+",
    "lines": "┌────┬─────┐\n│ Mã │ Giá │\n├────┼─────┤\n│ A1 │ 450 │\n│ A2 │  77 │\n└────┴─────┘",
    "rule": " Mã | Giá\n----+-----\n A1 | 450\n A2 |  77",
    "tabs": "Mã\tGiá\nA1\t450\nA2\t77",
    "spaces": "Mã      Giá\nA1      450\nA2       77",
}


@pytest.mark.parametrize("suffix", [".txt", ".md", ".eml"])
@pytest.mark.parametrize("kind", DRAWN)
def test_tables_drawn_with_characters_are_tables(kind: str, suffix: str) -> None:
    if suffix == ".md" and kind in ("tabs", "spaces"):
        pytest.skip("Markdown joins these lines: they are no table there either")
    head = "From: a@x.vn\nMIME-Version: 1.0\nContent-Type: text/plain; charset=utf-8\n" * (
        suffix == ".eml"
    )
    text = f"{head}\nKính gửi anh chị,\n\n{DRAWN[kind]}\n\nTrân trọng.\n"
    found = rows(text.encode(), suffix)
    assert missing(found, [("A2", "Giá", "77"), ("A1", "Giá", "450")], tables=1) == []


@pytest.mark.parametrize(
    "text",
    [
        "Trang chủ | Giới thiệu\nLiên hệ | Tuyển dụng",
        "-   một mục dài\n-   mục hai\n-   mục ba",
        "1.  Mở máy\n2.  Chờ đèn xanh\n3.  Bấm nút",
        "Câu một.  Câu hai dài hơn.\nCâu ba thì ngắn.  Câu bốn.\nHết.  Xong.",
        "    if x:\n        return 1\n    return 2",
    ],
)
def test_lines_that_only_look_alike_are_no_table(text: str) -> None:
    parsed = parse_file(text.encode(), suffix=".txt")
    assert all(element.kind is not Kind.TABLE for element in parsed.elements)


# --- the floors of make quality ------------------------------------------------------------------


def test_floors_are_higher_where_all_optional_tools_are_installed() -> None:
    floors = tomllib.loads(FLOORS.read_text(encoding="utf-8"))
    bare = floors_here(floors, "tesseract=no soffice=yes")
    assert bare == floors_here(floors, "tesseract=eng soffice=yes")
    full = floors_here(floors, "tesseract=eng+osd+vie soffice=yes")
    assert full["all"]["texts"] > bare["all"]["texts"]
    assert all(full["all"][measure] >= floor for measure, floor in bare["all"].items())
