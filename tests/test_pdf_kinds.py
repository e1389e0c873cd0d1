"""Kinds of PDF pages that people make: each drawn by code, its cells and sentences known."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from pdf_files import build, build_columns, draw, gap, prose, table, vietnamese
from reportlab.lib import colors
from reportlab.lib.pagesizes import A4, landscape
from reportlab.lib.styles import ParagraphStyle

from parsers import pdf
from parsers.elements import Kind, Parsed, Table

Rows = list[list[str]]
TERMS = (
    "Nhân viên phải nộp đầy đủ chứng từ trong vòng ba mươi ngày kể từ khi kết thúc chuyến công "
    "tác. Kế toán kiểm tra và thanh toán vào kỳ lương gần nhất. Mọi trường hợp ngoại lệ do giám "
    "đốc quyết định bằng văn bản."
)
LINE = (0.5, colors.black)
PALE = colors.Color(0.9, 0.93, 1)
FONT = [("FONTNAME", (0, 0), (-1, -1), "Roboto"), ("FONTSIZE", (0, 0), (-1, -1), 9)]
HEAD = [*FONT, ("FONTNAME", (0, 0), (-1, 0), "Roboto-Bold")]
RIGHT = ("ALIGN", (1, 0), (-1, -1), "RIGHT")


def parse(story: list[Any], **options: Any) -> Parsed:
    return pdf.parse(build(story, **options), suffix=".pdf")


def words(length: int, start: int = 0) -> str:
    """Whole words of the terms, about ``length`` characters."""
    return TERMS[start : start + length].rsplit(" ", 1)[0].strip()


def wrapped(rows: Rows, *, bold: bool = True) -> list[list[Any]]:
    """Cells that break their lines."""
    font = vietnamese().styles
    plain = ParagraphStyle("cell", parent=font["body"], fontSize=9, leading=11, spaceAfter=0)
    heavy = ParagraphStyle("head", parent=plain, fontName="Roboto-Bold")
    paragraph = vietnamese().paragraph("").__class__
    return [
        [paragraph(text, heavy if bold and number == 0 else plain) for text in row]
        for number, row in enumerate(rows)
    ]


def grids(parsed: Parsed) -> list[Table]:
    return [element.table for element in parsed.elements if element.table is not None]


def full(grid: Table) -> Rows:
    rows = [[""] * grid.n_cols for _ in range(grid.n_rows)]
    for cell in grid.cells:
        for row in range(cell.row, cell.row + cell.row_span):
            for col in range(cell.col, cell.col + cell.col_span):
                rows[row][col] = cell.text
    return rows


def texts(parsed: Parsed) -> list[str]:
    return [element.text for element in parsed.elements if element.kind is Kind.TEXT]


def between(flowable: Any, **options: Any) -> Parsed:
    """A table between two paragraphs, as it stands in a text."""
    say = vietnamese().paragraph
    return parse([say(TERMS), gap(), flowable, gap(), say(TERMS)], **options)


# --- wrapped cells -------------------------------------------------------------------------------

RISKS = [["Mã", "Mô tả rủi ro", "Mức", "Biện pháp"]] + [
    [f"R{n:02}", words(60 + 12 * n), ("Cao", "Vừa", "Thấp")[n % 3], words(45 + 9 * n, 96)]
    for n in range(1, 8)
]
DRAWN: dict[str, list[Any]] = {
    "white space alone": [("BOTTOMPADDING", (0, 0), (-1, -1), 8)],
    "lines under rows": [("LINEBELOW", (0, 0), (-1, -1), *LINE)],
    "bands of colour": [("ROWBACKGROUNDS", (0, 0), (-1, -1), [PALE, colors.white])],
    "cells of colour": [
        ("BACKGROUND", (col, row), (col, row), PALE) for row in range(0, 8, 2) for col in range(4)
    ],
}


@pytest.mark.parametrize("drawn", DRAWN.values(), ids=DRAWN)
@pytest.mark.parametrize("align", ["TOP", "MIDDLE"])
def test_wrapped_cells_stay_in_their_row(drawn: list[Any], align: str) -> None:
    style = [("VALIGN", (0, 0), (-1, -1), align), *drawn]
    parsed = between(table(wrapped(RISKS), style, (40, 190, 50, 190)))
    assert [full(grid) for grid in grids(parsed)] == [RISKS]
    assert texts(parsed) == [TERMS, TERMS]


def test_wrapped_rows_over_pages_are_one_table() -> None:
    rows = [RISKS[0], *[[f"R{n:02}", *RISKS[1 + n % 7][1:]] for n in range(1, 40)]]
    style = [("VALIGN", (0, 0), (-1, -1), "MIDDLE"), ("LINEBELOW", (0, 0), (-1, -1), *LINE)]
    parsed = between(
        table(wrapped(rows), style, (40, 190, 50, 190), repeatRows=1), head="Sổ rủi ro"
    )
    assert [full(grid) for grid in grids(parsed)] == [rows]


def test_two_line_header_repeated_at_the_top_of_pages_is_no_running_head() -> None:
    rows = [["Mã", "Tên vật tư", "Tồn kho"]]
    rows += [
        [f"VT-{n:03}", f"Vật tư số {n} đóng theo tiêu chuẩn nhà máy", f"{n * 13}"]
        for n in range(60)
    ]
    style = [("VALIGN", (0, 0), (-1, -1), "MIDDLE"), ("LINEBELOW", (0, 0), (-1, -1), *LINE), *HEAD]
    cells = table(wrapped(rows), style, (60, 120, 32), repeatRows=1)
    assert [full(grid) for grid in grids(between(cells))] == [rows]


def test_groups_of_records_between_gaps_are_no_wrapped_cells() -> None:
    rows = [["Ngành", "2023", "2024"]]
    for group in range(4):
        rows += [[f"Mục {group}-{n}", f"{group}{n},5", f"{n}{group},7"] for n in range(4)]
    style = [
        *HEAD,
        RIGHT,
        ("TOPPADDING", (0, 0), (-1, -1), 0),
        ("BOTTOMPADDING", (0, 0), (-1, -1), 0),
    ]
    style += [("TOPPADDING", (0, row), (-1, row), 14) for row in (1, 5, 9, 13)]
    assert [full(grid) for grid in grids(between(table(rows, style, (140, 60, 60))))] == [rows]


@pytest.mark.parametrize("count", [2, 3])
def test_columns_of_sections_set_side_by_side_are_no_table(count: int) -> None:
    say = vietnamese().paragraph
    story = []
    for number in range(7 * count):
        story += [say(f"{number + 1}. Nội dung", "section"), say(words(120))]
    parsed = pdf.parse(build_columns(story, count), suffix=".pdf")
    assert grids(parsed) == []
    assert texts(parsed) == [words(120)] * 7 * count


# --- headers -------------------------------------------------------------------------------------


def test_first_record_without_a_figure_is_no_header() -> None:
    rows = [["Dịch vụ", "Phí (đồng)"], ["Mở tài khoản", "Miễn phí"]]
    rows += [["Chuyển tiền trong nước", "5.500"], ["Chuyển tiền quốc tế", "220.000"]]
    rows += [["Sao kê", "11.000"], ["Phát hành thẻ", "55.000"]]
    (grid,) = grids(between(table(rows, [*HEAD, RIGHT], (220, 100))))
    assert (full(grid), grid.header_rows) == (rows, 1)


def test_headings_left_of_right_aligned_figures_name_their_columns() -> None:
    rows = [["Chỉ tiêu", "Mã số", "Năm nay", "Năm trước"]]
    rows += [["Doanh thu bán hàng", "01", "12.500", "11.200"], ["Giảm trừ", "02", "(120)", "(90)"]]
    rows += [["Doanh thu thuần", "10", "12.380", "11.110"], ["Giá vốn", "11", "8.000", "7.500"]]
    style = [*FONT, ("ALIGN", (2, 1), (-1, -1), "RIGHT")]
    assert [full(grid) for grid in grids(between(table(rows, style, (150, 50, 80, 80))))] == [rows]


@pytest.mark.parametrize("drawn", [[], [("LINEBELOW", (0, 0), (-1, -1), *LINE)]])
def test_years_under_periods_are_header(drawn: list[Any]) -> None:
    rows = [["", "Three months ended", "", "Six months ended", ""]]
    rows += [["", "30 Jun 2025", "30 Jun 2024", "30 Jun 2025", "30 Jun 2024"]]
    rows += [["Revenue", "12,500", "12,370", "25,000", "(12,555)"]]
    rows += [["Cost of revenue", "8,100", "7,970", "16,200", "(8,155)"]]
    rows += [["Selling and marketing", "1,200", "1,070", "2,400", "(1,255)"]]
    rows += [["Operating profit", "2,300", "2,170", "4,600", "(2,355)"]]
    style = [*HEAD, RIGHT, ("SPAN", (1, 0), (2, 0)), ("SPAN", (3, 0), (4, 0)), *drawn]
    style += [("FONTNAME", (0, 1), (-1, 1), "Roboto-Bold")]
    cells = [
        [text.replace("Jun ", "Jun\n") if number == 1 else text for text in row]
        for number, row in enumerate(rows)
    ]
    (grid,) = grids(between(table(cells, style, (140, 62, 62, 62, 62))))
    assert grid.header_rows == 2
    assert full(grid)[1:] == rows[1:]
    assert full(grid)[0][1:] == ["Three months ended"] * 2 + ["Six months ended"] * 2


def test_pairs_under_a_bold_header_are_a_table_without_lines() -> None:
    rows = [["Thông số", "Giá trị"], ["Công suất", "1.500 W"], ["Điện áp", "220 V / 50 Hz"]]
    rows += [["Khối lượng", "12,5 kg"], ["Kích thước", "450 x 300 mm"], ["Bảo hành", "24 tháng"]]
    parsed = between(table(rows, HEAD, (120, 120)))
    assert [full(grid) for grid in grids(parsed)] == [rows]


def test_columns_of_currency_signs_join_their_figures() -> None:
    rows = [["(in millions)", "", "2023", "", "2024"], ["Net sales", "$", "12,450", "$", "13,870"]]
    rows += [
        ["Cost of sales", "", "(8,120", ")", "9,045"],
        ["Gross profit", "$", "4,330", "$", "4,825"],
    ]
    rows = [[*row[:3], row[3] if row[3] == "$" else "", row[4]] for row in rows]
    rows[2][2] = "(8,120)"
    style = [
        *FONT,
        RIGHT,
        ("LEFTPADDING", (1, 0), (-1, -1), 2),
        ("RIGHTPADDING", (1, 0), (-1, -1), 2),
    ]
    (grid,) = grids(between(table(rows, style, (200, 14, 60, 14, 60))))
    assert full(grid) == [
        ["(in millions)", "2023", "2024"],
        ["Net sales", "$12,450", "$13,870"],
        ["Cost of sales", "(8,120)", "9,045"],
        ["Gross profit", "$4,330", "$4,825"],
    ]


def test_empty_columns_keep_their_heading() -> None:
    rows = [
        ["Nhân viên", "T2", "T3", "T4", "T5"],
        ["An", "1", "", "", "4"],
        ["Bình", "2", "3", "", "4"],
    ]
    rows += [["Chi", "", "3", "", "5"], ["Dũng", "1", "2", "", "6"]]
    (grid,) = grids(between(table(rows, HEAD, (90, 50, 50, 50, 50))))
    assert full(grid)[0] == rows[0]
    assert [[row[0], row[1], row[2], row[-1]] for row in full(grid)] == [
        [row[0], row[1], row[2], row[-1]] for row in rows
    ]


# --- whole pages ---------------------------------------------------------------------------------


def test_tables_stacked_under_titles_stay_apart() -> None:
    first = [["Mã", "Giá"], *[[f"A{n}", f"{n * 1500}"] for n in range(1, 6)]]
    second = [["Mã", "Tối thiểu", "Giá"], *[[f"B{n}", f"{n}0", f"{n * 1200}"] for n in range(1, 6)]]
    say = vietnamese().paragraph
    story = [say("Giá bán lẻ"), table(first, FONT, (60, 90), hAlign="LEFT"), gap(14)]
    story += [say("Giá bán buôn"), table(second, FONT, (60, 90, 60), hAlign="LEFT")]
    assert [full(grid) for grid in grids(parse(story))] == [first, second]


def test_lines_in_some_rows_only_part_all_rows() -> None:
    rows = [
        ["STT", "Loại phí", "Mức thu"],
        *[[f"{n}", f"Phí loại {n}", f"{n}5.000"] for n in range(1, 7)],
    ]
    style = [*HEAD, ("BOX", (0, 0), (-1, -1), *LINE)]
    for row in range(1, 7, 2):
        style += [("GRID", (0, row), (-1, row), *LINE)]
    (grid,) = grids(between(table(rows, style, (40, 160, 80))))
    assert (full(grid), grid.header_rows) == (rows, 1)


def test_wide_table_on_a_landscape_page() -> None:
    rows = [["Mã", "Khoản mục", *[f"Tháng {n}" for n in range(1, 13)]]]
    rows += [
        [f"K{r:02}", f"Khoản {r}", *[f"{r * n * 37}" for n in range(1, 13)]] for r in range(1, 60)
    ]
    style = [*HEAD, ("FONTSIZE", (0, 0), (-1, -1), 7), ("ALIGN", (2, 0), (-1, -1), "RIGHT")]
    flowable = table(rows, style, [32, 70, *[46] * 12], repeatRows=1)
    assert [full(grid) for grid in grids(parse([flowable], size=landscape(A4), head="A"))] == [rows]


def test_title_in_capitals_stands_above_chapters_and_articles() -> None:
    say = vietnamese().paragraph
    chapter = ParagraphStyle("chapter", parent=vietnamese().styles["section"], fontSize=14)
    story: list[Any] = [say("QUY CHẾ LƯƠNG", "title")]
    for number in (1, 2):
        story += [say("").__class__(f"Chương {number}. Quy định {number}", chapter)]
        story += [say(f"Điều {number}. Điều khoản {number}", "section"), say(TERMS)]
    levels = [(e.text, e.level) for e in parse(story).elements if e.kind is Kind.HEADING]
    assert levels == [
        ("QUY CHẾ LƯƠNG", 1),
        ("Chương 1. Quy định 1", 2),
        ("Điều 1. Điều khoản 1", 3),
        ("Chương 2. Quy định 2", 2),
        ("Điều 2. Điều khoản 2", 3),
    ]


def _items(canvas: Any) -> None:
    canvas.setFont("Helvetica", 10)
    for number in range(1, 8):
        canvas.drawString(60, 780 - 34 * number, f"{number}.")
        canvas.drawString(90, 780 - 34 * number, prose(1, number)[:60])
        canvas.drawString(90, 767 - 34 * number, prose(1, number + 3)[:40].lower())


def _signatures(canvas: Any) -> None:
    canvas.setFont("Helvetica-Bold", 10)
    canvas.drawString(100, 300, "FOR PARTY A")
    canvas.drawString(380, 300, "FOR PARTY B")
    canvas.setFont("Helvetica", 10)
    for row, (left, right) in enumerate((("Director", "Director"), ("An Nguyen", "Binh Tran"))):
        canvas.drawString(100, 280 - 40 * row, left)
        canvas.drawString(380, 280 - 40 * row, right)


@pytest.mark.parametrize("paint", [_items, _signatures])
def test_lists_and_signatures_are_no_tables(paint: Callable[[Any], None]) -> None:
    assert grids(pdf.parse(draw(paint), suffix=".pdf")) == []
