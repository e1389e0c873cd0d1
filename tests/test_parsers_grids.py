"""Header rules for grids without marks, sheets cut into blocks, number formats."""

from __future__ import annotations

from datetime import date, datetime, time, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parsers.captions import attach_captions
from parsers.elements import Element, Kind, Table
from parsers.grids import Headers, infer_headers, table_from_rows
from parsers.number_formats import show
from parsers.sheets import Sheet, sheet_elements

CELLS = st.text(alphabet="ab1.,%- \n", max_size=6)


def built(rows: list[list[str]], **kwargs: object) -> Table:
    table = table_from_rows(rows, **kwargs)  # type: ignore[arg-type]
    assert table is not None
    return table


def texts(table: Table) -> dict[tuple[int, int], str]:
    return {
        (r, c): cell.text
        for cell in table.cells
        for r in range(cell.row, cell.row + cell.row_span)
        for c in range(cell.col, cell.col + cell.col_span)
    }


@pytest.mark.parametrize(
    ("rows", "header_rows", "header_cols"),
    [
        ([["Item", "Price"], ["Laptop", "10.000.000 đ"], ["Mouse", "200.000 đ"]], 1, 1),
        ([["Item", "2024", "2025"], ["A", "1,000", "2"], ["B", "3", "4"]], 1, 1),
        ([["A", "1,000", "2"], ["B", "3", "4"], ["C", "5", "7"]], 0, 1),
        ([["Plan", "12 tháng", "24 tháng"], ["Pro", "90", "150"], ["Max", "99", "160"]], 1, 1),
        ([["Name", "Role", "City"], ["An", "Cook", "Huế"], ["Bo", "Guard", "Hội An"]], 1, 1),
        ([["Họ tên:", "An"], ["Chức vụ:", "Giám đốc"], ["Tuổi:", "30"]], 0, 1),
        ([["Họ tên", "An"], ["Ngày sinh", "01/01/1990"], ["Lương", "5.000.000"]], 0, 1),
        ([["Plan", "Refund"], ["Basic", "14 days"], ["Pro", "30 days"], ["Max", "none"]], 1, 1),
        (
            [["", "Year", ""], ["", "2025", "2024"], ["Cost", "$ 12", "$ 11"], ["Net", "9", "8"]],
            2,
            1,
        ),
        ([["Mã", "Tên", "Giá"], ["(1)", "(2)", "(3)"], ["A1", "Chuột", "5.000"]], 2, 1),
        ([["1", "2", "3"], ["4", "5", "6"]], 0, 0),
        ([["STT", "Tên", "Giá"], ["1", "Chuột", "5.000"], ["2", "Phím", "6.000"]], 1, 2),
        ([["Tier", "Item", "Price"], ["Gold", "A", "5"], ["", "B", "6"], ["Tin", "C", "7"]], 1, 2),
        ([["a", "b", "c"], ["1", "2", "3"], ["2", "4", "6"], ["3", "6", "9"]], 1, 1),
    ],
)
def test_header_counts_follow_the_shape_of_a_grid(
    rows: list[list[str]], header_rows: int, header_cols: int
) -> None:
    found = infer_headers(rows)
    assert (found.header_rows, found.header_cols) == (header_rows, header_cols)


def test_a_header_of_two_levels_is_found_by_its_spans() -> None:
    rows = [
        ["Region", "Price", ""],
        ["", "Retail", "Trade"],
        ["North", "10", "8"],
        ["South", "12", "9"],
    ]
    found = infer_headers(rows, merges=[(0, 0, 2, 1), (0, 1, 1, 2)])
    assert found == Headers(header_rows=2, header_cols=1)


def test_blanks_in_a_header_of_two_levels_become_its_spans() -> None:
    rows = [
        ["Item", "2025", "", "2026", ""],
        ["", "Q1", "Q2", "Q1", "Q2"],
        ["Tea", "5", "6", "7", "8"],
        ["Rice", "50", "61", "72", "83"],
    ]
    table = built(rows)
    assert table.header_rows == 2
    assert [texts(table)[0, c] for c in range(5)] == ["Item", "2025", "2025", "2026", "2026"]
    assert texts(table)[1, 0] == "Item"


def test_blanks_under_a_group_label_become_its_span() -> None:
    table = built(
        [["Tier", "Item", "Price"], ["Gold", "A", "5"], ["", "B", "6"], ["Tin", "C", "7"]]
    )
    assert [texts(table)[r, 0] for r in (1, 2, 3)] == ["Gold", "Gold", "Tin"]


def test_section_rows_are_found_by_one_cell_or_a_full_span() -> None:
    rows = [
        ["Item", "Term", "Note"],
        ["Hardware", "", ""],
        ["Laptop", "24", "on site"],
        ["Mouse", "12", "swap"],
        ["Software", "", ""],
        ["Editor", "6", "mail"],
    ]
    assert infer_headers(rows).section_rows == (1, 4)
    assert infer_headers(rows, merges=[(1, 0, 1, 3), (4, 0, 1, 3)]).section_rows == (1, 4)


def test_titles_units_and_remarks_leave_the_grid() -> None:
    table = built(
        [
            ["", "", "", ""],
            ["", "Bảng giá 2026", "", ""],
            ["", "", "", "Đơn vị tính: VND"],
            ["", "Tên", "Giá", "Số"],
            ["", "Trà", "5000", "6"],
            ["", "Gạo", "7000", "8"],
            ["", "Ghi chú: chưa gồm thuế", "", ""],
        ]
    )
    assert (table.n_rows, table.n_cols, table.header_rows) == (3, 3, 1)
    assert table.caption == "Bảng giá 2026"
    assert table.notes == "Đơn vị tính: VND\nGhi chú: chưa gồm thuế"


def test_a_stated_header_stays_a_header_when_it_names_one_column() -> None:
    table = built([["", "Count"], ["Good", "21"], ["Fair", "9"]], header_rows=1, header_cols=1)
    assert (table.header_rows, table.caption, texts(table)[0, 1]) == (1, None, "Count")


@given(st.lists(st.lists(CELLS, min_size=1, max_size=5), max_size=7), st.data())
def test_no_word_is_lost_and_counts_stay_within_the_grid(
    rows: list[list[str]], data: st.DataObject
) -> None:
    size = (max(1, len(rows)), max([len(row) for row in rows], default=1))
    merge = st.tuples(
        st.integers(0, size[0] - 1),
        st.integers(0, size[1] - 1),
        st.integers(1, 3),
        st.integers(1, 3),
    )
    merges = data.draw(st.lists(merge, max_size=2))
    covered = set()
    for top, left, height, width in merges:
        area = {(r, c) for r in range(top, top + height) for c in range(left, left + width)}
        covered |= area - {(top, left)}
    table = table_from_rows(rows, merges=merges)
    said = (
        ""
        if table is None
        else " ".join([*(c.text for c in table.cells), table.caption or "", table.notes or ""])
    )
    for r, row in enumerate(rows):
        for c, text in enumerate(row):
            if (r, c) not in covered:
                assert all(word in said for word in text.split())
    if table is not None:
        assert 0 <= table.header_rows <= table.n_rows
        assert 0 <= table.header_cols <= table.n_cols
        places = [
            (r, c)
            for cell in table.cells
            for r in range(cell.row, cell.row + cell.row_span)
            for c in range(cell.col, cell.col + cell.col_span)
        ]
        assert len(places) == len(set(places))
        assert all(r < table.n_rows and c < table.n_cols for r, c in places)


def sheet(rows: list[list[str]], name: str = "Sheet1", **kwargs: object) -> Sheet:
    cells = {(r, c): t for r, row in enumerate(rows) for c, t in enumerate(row) if t}
    return Sheet(name=name, cells=cells, **kwargs)  # type: ignore[arg-type]


def test_a_sheet_is_cut_at_empty_rows_and_columns() -> None:
    rows = [
        ["Fee", "Rate", "", "Store", "Area"],
        ["Tax", "8%", "", "Huế", "410"],
        ["Work", "2%", "", "Vinh", "640"],
        ["", "", "", "", ""],
        ["Town", "Days", "", "", ""],
        ["Hanoi", "1", "", "", ""],
    ]
    tables = [e.table for e in sheet_elements([sheet(rows)]) if e.table is not None]
    assert [texts(t)[0, 0] for t in tables] == ["Fee", "Store", "Town"]
    assert all(t.header_rows == 1 and t.sheet == "Sheet1" for t in tables)


def test_tables_that_touch_at_a_corner_are_two() -> None:
    rows = [["A", "B", "", ""], ["x", "1", "", ""], ["", "", "C", "D"], ["", "", "y", "2"]]
    assert sum(e.table is not None for e in sheet_elements([sheet(rows)])) == 2


def test_a_table_that_goes_on_under_an_empty_row_stays_one() -> None:
    rows = [
        ["Item", "Price", "Stock"],
        ["Tea", "5", "1"],
        ["Rice", "7", "2"],
        ["", "", ""],
        ["Salt", "9", "3"],
        ["Oil", "11", "4"],
    ]
    (element,) = sheet_elements([sheet(rows)])
    assert element.table is not None
    assert texts(element.table)[0, 1] == "Price"
    assert texts(element.table)[4, 0] == "Oil"


def test_hidden_rows_and_columns_are_left_out_and_spans_shrink() -> None:
    rows = [
        ["Group", "Item", "Cost", "Price"],
        ["Pumps", "A1", "310", "450"],
        ["", "A2", "320", "460"],
        ["Valves", "B2", "80", "120"],
    ]
    (element,) = sheet_elements(
        [
            sheet(
                rows,
                merges=[(1, 0, 2, 1)],
                hidden_rows=frozenset({1}),
                hidden_cols=frozenset({2}),
            )
        ]
    )
    assert element.table is not None
    shown = texts(element.table)
    assert [shown[1, c] for c in range(3)] == ["Pumps", "A2", "460"]
    assert not {"310", "320", "80", "A1"} & set(shown.values())


def test_a_sheet_has_a_heading_when_its_name_says_something() -> None:
    rows = [["Item", "Price"], ["Tea", "5"], ["Rice", "7"]]
    assert [e.kind for e in sheet_elements([sheet(rows)])] == [Kind.TABLE]
    named = sheet_elements([sheet(rows, "Prices 2026")])
    assert [e.text for e in named if e.kind is Kind.HEADING] == ["Prices 2026"]
    both = sheet_elements([sheet(rows), sheet(rows, "Sheet2")])
    assert sum(e.kind is Kind.HEADING for e in both) == 2


def test_a_caption_goes_to_the_table_below_else_above() -> None:
    table = Element(kind=Kind.TABLE, table=built([["A", "B"], ["x", "1"], ["y", "2"]]))
    before = [Element(kind=Kind.TEXT, text="Bảng 1: Giá"), table]
    after = [table, Element(kind=Kind.TEXT, text="Table 2. Fees")]
    loose = [Element(kind=Kind.TEXT, text="Bảng giá được gửi hằng tháng."), table]
    captions = [
        [e.table.caption for e in attach_captions(x) if e.table] for x in (before, after, loose)
    ]
    assert captions == [["Bảng 1: Giá"], ["Table 2. Fees"], [None]]
    assert len(attach_captions(loose)) == 2


@pytest.mark.parametrize(
    ("value", "number_format", "shown"),
    [
        (3250000, "#,##0", "3,250,000"),
        (3250000, "General", "3250000"),
        (0.08, "0%", "8%"),
        (0.0825, "0.0%", "8.3%"),
        (1599.99, "$#,##0.00;[Red]($#,##0.00)", "$1,599.99"),
        (-1599.99, "$#,##0.00;[Red]($#,##0.00)", "($1,599.99)"),
        (12500, '#,##0 "đ"', "12,500 đ"),
        (12500, "#,##0 [$₫-42A]", "12,500 ₫"),
        (1234567, "#,##0,", "1,235"),
        (0.1 + 0.2, "General", "0.3"),
        (7, "000", "007"),
        (2.5, "# ?/?", "2 1/2"),
        (1980000000.0, "0.00E+00", "1.98E+09"),
        (0, "0;-0;", ""),
        (5, ";;;", ""),
        (-0.001, "0.0", "0.0"),
        (True, "General", "TRUE"),
        (datetime(2026, 5, 15), "dd/mm/yyyy", "15/05/2026"),
        (date(2026, 5, 15), "mm-dd-yy", "2026-05-15"),
        (datetime(2026, 5, 15, 8, 5), "d mmm yyyy h:mm AM/PM", "15 May 2026 8:05 AM"),
        (time(18, 15), "h:mm", "18:15"),
        (timedelta(hours=30, minutes=5), "[h]:mm", "30:05"),
        ("=A1", "@", "=A1"),
    ],
)
def test_values_read_as_the_sheet_shows_them(value: object, number_format: str, shown: str) -> None:
    assert show(value, number_format) == shown  # type: ignore[arg-type]


@given(st.floats(allow_nan=False, allow_infinity=False, width=32), st.text(max_size=12))
def test_any_number_format_gives_some_text(value: float, number_format: str) -> None:
    assert isinstance(show(value, number_format), str)
