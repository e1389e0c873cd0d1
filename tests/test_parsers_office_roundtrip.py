"""Random grids with spans, written as Word and Excel files, come back as they were."""

from __future__ import annotations

import io
from xml.sax.saxutils import escape

import docx
import openpyxl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from office_files import cell, docx_file, row, table

from parsers import excel, word
from parsers.elements import Parsed, Table
from parsers.text import normalise

WORDS = st.text(alphabet="abcđêư<>&|\"' 019", min_size=1, max_size=8).filter(
    lambda text: normalise(text) == text and any(char.isalnum() for char in text)
)


@st.composite
def grids(draw: st.DrawFn) -> tuple[list[list[str]], list[tuple[int, int, int, int]]]:
    """Rows without blanks and spans narrower than the table, which touch nobody's title rule."""
    n_rows, n_cols = draw(st.integers(2, 6)), draw(st.integers(4, 7))
    rows = [[draw(WORDS) for _ in range(n_cols)] for _ in range(n_rows)]
    merges: list[tuple[int, int, int, int]] = []
    taken: set[tuple[int, int]] = set()
    for _ in range(draw(st.integers(0, 2))):
        height, width = draw(st.integers(1, 2)), draw(st.integers(1, 2))
        top, left = draw(st.integers(0, n_rows - height)), draw(st.integers(0, n_cols - width))
        area = {(r, c) for r in range(top, top + height) for c in range(left, left + width)}
        if len(area) > 1 and not area & taken:
            taken |= area
            merges.append((top, left, height, width))
    for top, left, height, width in merges:
        for r in range(top, top + height):
            for c in range(left, left + width):
                if (r, c) != (top, left):
                    rows[r][c] = ""
    return rows, merges


def expanded(
    rows: list[list[str]], merges: list[tuple[int, int, int, int]]
) -> dict[tuple[int, int], str]:
    full = {(r, c): text for r, row in enumerate(rows) for c, text in enumerate(row)}
    for top, left, height, width in merges:
        for r in range(top, top + height):
            for c in range(left, left + width):
                full[r, c] = rows[top][left]
    return full


def read_back(table: Table) -> dict[tuple[int, int], str]:
    return {
        (r, c): cell.text
        for cell in table.cells
        for r in range(cell.row, cell.row + cell.row_span)
        for c in range(cell.col, cell.col + cell.col_span)
    }


def as_docx(rows: list[list[str]], merges: list[tuple[int, int, int, int]]) -> bytes:
    document = docx.Document()
    made = document.add_table(rows=len(rows), cols=len(rows[0]))
    for r, texts in enumerate(rows):
        for c, text in enumerate(texts):
            if text:
                made.cell(r, c).text = text
    for top, left, height, width in merges:
        made.cell(top, left).merge(made.cell(top + height - 1, left + width - 1))
    return saved(document)


def as_xlsx(rows: list[list[str]], merges: list[tuple[int, int, int, int]]) -> bytes:
    book = openpyxl.Workbook()
    sheet = book.active
    for texts in rows:
        sheet.append([text or None for text in texts])
    for top, left, height, width in merges:
        sheet.merge_cells(
            start_row=top + 1, start_column=left + 1, end_row=top + height, end_column=left + width
        )
    return saved(book)


def as_plain_docx(rows: list[list[str]], merges: list[tuple[int, int, int, int]]) -> bytes:
    """The same without python-docx, which is too slow for thousands of files."""
    spans = {(top, left): (height, width) for top, left, height, width in merges}
    lines = []
    for r in range(len(rows)):
        cells, c = [], 0
        while c < len(rows[0]):
            height, width = spans.get((r, c), (1, 1))
            mark = '<w:vMerge w:val="restart"/>' if height > 1 else ""
            above = next(
                (w for (t, left), (h, w) in spans.items() if t < r < t + h and left == c), None
            )
            if above is not None:
                width, mark = above, "<w:vMerge/>"
            cells.append(cell(escape(rows[r][c]), f'<w:gridSpan w:val="{width}"/>{mark}'))
            c += width
        lines.append(row(*cells))
    return docx_file(table(*lines))


def saved(document: object) -> bytes:
    out = io.BytesIO()
    document.save(out)  # type: ignore[attr-defined]
    return out.getvalue()


Grid = tuple[list[list[str]], list[tuple[int, int, int, int]]]


def check(parsed: Parsed, rows: list[list[str]], merges: list[tuple[int, int, int, int]]) -> None:
    (found,) = [e.table for e in parsed.elements if e.table is not None]
    assert read_back(found) == expanded(rows, merges)
    assert (found.n_rows, found.n_cols) == (len(rows), len(rows[0]))
    assert found.header_rows < found.n_rows


@settings(max_examples=40, suppress_health_check=[HealthCheck.too_slow])
@given(grids())
def test_a_word_table_comes_back_cell_by_cell(
    grid: Grid,
) -> None:
    rows, merges = grid
    parsed = word.parse(as_docx(rows, merges), suffix=".docx")
    check(parsed, rows, merges)


@settings(max_examples=40, suppress_health_check=[HealthCheck.too_slow])
@given(grids())
def test_a_sheet_comes_back_cell_by_cell(
    grid: Grid,
) -> None:
    rows, merges = grid
    parsed = excel.parse(as_xlsx(rows, merges), suffix=".xlsx")
    check(parsed, rows, merges)


@pytest.mark.slow
@settings(max_examples=2000, suppress_health_check=[HealthCheck.too_slow])
@given(grids())
def test_thousands_of_word_tables_come_back_cell_by_cell(grid: Grid) -> None:
    rows, merges = grid
    check(word.parse(as_plain_docx(rows, merges), suffix=".docx"), rows, merges)


@pytest.mark.slow
@settings(max_examples=2000, suppress_health_check=[HealthCheck.too_slow])
@given(grids())
def test_thousands_of_sheets_come_back_cell_by_cell(grid: Grid) -> None:
    rows, merges = grid
    check(excel.parse(as_xlsx(rows, merges), suffix=".xlsx"), rows, merges)
