"""PDF: tables ruled and not, over pages and turned; reading order; headings; bad files."""

from __future__ import annotations

import io
import json
import os
import stat
from pathlib import Path

import pypdfium2
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pdf_files import (
    BODY,
    BOLD_HEAD,
    GRID,
    JUSTIFIED,
    SECTION,
    TITLE,
    build,
    build_columns,
    draw,
    gap,
    paragraph,
    prices,
    prose,
    table,
)
from PIL import Image
from reportlab.lib import colors

from parsers import image, ocr, pdf
from parsers.elements import Element, Kind, Parsed, Table, Unreadable
from parsers.pdf_structure import join_lines

CASES = Path(__file__).resolve().parents[1].parent / "shared" / "cases"
needs_cases = pytest.mark.skipif(
    not (CASES / "ground_truth.json").is_file(),
    reason="the shared cases are not beside the checkout",
)
WIDTHS = (60, 140, 60, 80, 80)


def parse(data: bytes) -> Parsed:
    return pdf.parse(data, suffix=".pdf")


def tables(parsed: Parsed) -> list[Table]:
    return [element.table for element in parsed.elements if element.table is not None]


def only_table(data: bytes) -> Table:
    found = tables(parse(data))
    assert len(found) == 1
    return found[0]


def expanded(grid: Table) -> list[list[str]]:
    rows = [[""] * grid.n_cols for _ in range(grid.n_rows)]
    for cell in grid.cells:
        for r in range(cell.row, cell.row + cell.row_span):
            for c in range(cell.col, cell.col + cell.col_span):
                rows[r][c] = cell.text
    return rows


def texts(parsed: Parsed, kind: Kind = Kind.TEXT) -> list[str]:
    return [element.text for element in parsed.elements if element.kind is kind]


# --- ruled tables --------------------------------------------------------------------------------


def test_ruled_table_keeps_every_cell_in_its_place() -> None:
    rows = prices(5)
    grid = only_table(build([table(rows, GRID + BOLD_HEAD, WIDTHS)]))
    assert expanded(grid) == rows
    assert (grid.header_rows, grid.header_cols) == (1, 1)


def test_missing_lines_make_merged_cells() -> None:
    rows = [
        ["Region", "Plan", "Fee (million)", "", ""],
        ["", "", "< 10 devices", "10-50", "> 50"],
        ["North", "Basic", "18", "42", "75"],
        ["", "Plus", "27", "63", "110"],
    ]
    spans = [("SPAN", (0, 0), (0, 1)), ("SPAN", (1, 0), (1, 1)), ("SPAN", (2, 0), (4, 0))]
    grid = only_table(build([table(rows, [*GRID, *spans, ("SPAN", (0, 2), (0, 3))], WIDTHS)]))
    assert grid.header_rows == 2
    assert expanded(grid)[3] == ["North", "Plus", "27", "63", "110"]
    assert expanded(grid)[0][2:] == ["Fee (million)"] * 3


def test_wrapped_cells_are_one_text_each() -> None:
    rows = [["Position", "Condition", "Amount"]]
    rows += [[f"Grade {n}", prose(3, n), f"{n}00.000"] for n in range(1, 5)]
    cells = [[paragraph(text) for text in row] for row in rows]
    assert expanded(only_table(build([table(cells, GRID, (80, 250, 80))]))) == rows


def test_records_without_lines_between_them_are_parted() -> None:
    rows = prices(6)
    style = [
        ("BOX", (0, 0), (-1, -1), 0.5, colors.black),
        ("LINEBEFORE", (1, 0), (-1, -1), 0.5, colors.black),
        ("LINEBELOW", (0, 0), (-1, 0), 0.5, colors.black),
    ]
    assert expanded(only_table(build([table(rows, style, WIDTHS)]))) == rows


def test_row_cut_by_a_page_break_is_mended() -> None:
    rows = [["Step", "What to do", "Days"]]
    rows += [[f"Step {n}", prose(6, n), f"{n} days"] for n in range(1, 14)]
    cells = [[paragraph(text) for text in row] for row in rows]
    data = build([paragraph(prose(37)), table(cells, GRID, (60, 330, 60), splitInRow=1)])
    assert expanded(only_table(data)) == rows


def test_two_tables_close_together_stay_apart() -> None:
    first, second = prices(3), [row[:3] for row in prices(4)]
    data = build([table(first, GRID, WIDTHS), gap(6), table(second, GRID, WIDTHS[:3])])
    assert [expanded(grid) for grid in tables(parse(data))] == [first, second]


def test_caption_and_notes_belong_to_their_table() -> None:
    data = build(
        [
            paragraph("Table 1: Prices of the North (dong)"),
            table(prices(3), GRID, WIDTHS),
            paragraph("Source: sales department."),
            gap(),
            paragraph(prose(4)),
        ]
    )
    parsed = parse(data)
    assert tables(parsed)[0].caption == "Table 1: Prices of the North (dong)"
    assert tables(parsed)[0].notes == "Source: sales department."
    assert texts(parsed) == [prose(4)]


@pytest.mark.parametrize("turns", [1, 2, 3])
@pytest.mark.parametrize("is_flag", [True, False])
def test_turned_pages_read_upright(turns: int, is_flag: bool) -> None:
    rows = prices(5)
    source = pypdfium2.PdfDocument(
        build([paragraph("Price list", TITLE), table(rows, GRID, WIDTHS)])
    )
    if is_flag:
        source[0].set_rotation(90 * turns)
    else:
        source = _turned(source, turns)
    data = io.BytesIO()
    source.save(data)
    parsed = parse(data.getvalue())
    assert [expanded(grid) for grid in tables(parsed)] == [rows]
    assert texts(parsed, Kind.HEADING) == ["Price list"]


def _turned(source: pypdfium2.PdfDocument, turns: int) -> pypdfium2.PdfDocument:
    """The same page with its content turned, not its viewer."""
    matrix = {
        1: pypdfium2.PdfMatrix(0, -1, 1, 0, 0, 595),
        2: pypdfium2.PdfMatrix(-1, 0, 0, -1, 595, 842),
        3: pypdfium2.PdfMatrix(0, 1, -1, 0, 842, 0),
    }[turns]
    document = pypdfium2.PdfDocument.new()
    page = document.new_page(*((842, 595) if turns % 2 else (595, 842)))
    content = source.page_as_xobject(0, document).as_pageobject()
    content.transform(matrix)
    page.insert_obj(content)
    page.gen_content()
    return document


# --- tables over pages ---------------------------------------------------------------------------


@pytest.mark.parametrize("style", [GRID + BOLD_HEAD, BOLD_HEAD], ids=["ruled", "borderless"])
@pytest.mark.parametrize("repeat", [0, 1], ids=["header once", "header repeated"])
def test_table_over_pages_is_one_under_one_header(style: list[object], repeat: int) -> None:
    rows = prices(100)
    story = [paragraph("Price list", TITLE), table(rows, style, WIDTHS, repeatRows=repeat)]
    parsed = parse(build(story, head="Company rules"))
    assert [expanded(grid) for grid in tables(parsed)] == [rows]
    element = next(e for e in parsed.elements if e.kind is Kind.TABLE)
    assert (element.page_start, element.page_end) == (1, 3)
    assert texts(parsed) == []


def test_merged_label_goes_on_over_a_page_break() -> None:
    rows, style = [["Area", "Shop", "Sales"]], list(GRID)
    for area in range(4):
        first = len(rows)
        rows += [[f"Area {area}" if k == 0 else "", f"Shop {area}-{k}", str(k)] for k in range(22)]
        style.append(("SPAN", (0, first), (0, first + 21)))
    grid = only_table(build([table(rows, style, (80, 120, 60), repeatRows=1)]))
    for row in expanded(grid)[1:]:
        assert row[1].startswith(f"Shop {row[0][5:]}-")


# --- tables without lines ------------------------------------------------------------------------


def test_borderless_table_with_wrapped_cells() -> None:
    rows = [["Service", "Scope", "Price", "Lead time"]]
    rows += [[f"Visit {n}", prose(1, n + 8), f"{n}40.00", f"{n} days"] for n in range(1, 6)]
    cells = [[paragraph(text) for text in row] for row in rows]
    style = [("VALIGN", (0, 0), (-1, -1), "TOP")]
    data = build([paragraph(prose(3)), table(cells, style, (80, 180, 70, 70)), paragraph(prose(4))])
    parsed = parse(data)
    assert [expanded(grid) for grid in tables(parsed)] == [rows]
    assert texts(parsed) == [prose(3), prose(4)]


@pytest.mark.parametrize("is_ruled", [True, False])
def test_headings_over_several_columns(is_ruled: bool) -> None:
    rows = [["Branch", "Year 2024 (million)", "", "Year 2025 (million)", ""]]
    rows += [["", "Q1", "Q2", "Q1", "Q2"], ["Hanoi", "120", "130", "150", "160"]]
    rows += [["Danang", "80", "85", "90", "95"], ["Cantho", "60", "61", "70", "72"]]
    style = [
        ("SPAN", (1, 0), (2, 0)),
        ("SPAN", (3, 0), (4, 0)),
        ("ALIGN", (1, 0), (-1, -1), "CENTER"),
    ]
    if is_ruled:
        style += [("LINEABOVE", (0, 0), (-1, 0), 1, colors.black)]
        style += [("LINEBELOW", (c, 0), (c + 1, 0), 0.5, colors.black) for c in (1, 3)]
        style += [("LINEBELOW", (0, 1), (-1, 1), 0.5, colors.black)]
        style += [("LINEBELOW", (0, -1), (-1, -1), 1, colors.black)]
    grid = only_table(build([table(rows, style, (100, 65, 65, 65, 65))]))
    assert grid.header_rows == 2
    full = expanded(grid)
    assert [full[0][4], full[1][4], full[2][4]] == ["Year 2025 (million)", "Q2", "160"]


def test_text_table_between_horizontal_lines() -> None:
    rows = [
        ["Unit", "Head", "Place"],
        ["Books", "Ms An", "Floor 2"],
        ["Store", "Mr Binh", "Hall B"],
    ]
    style = [("LINEBELOW", (0, 0), (-1, -1), 0.5, colors.grey), *BOLD_HEAD]
    parsed = parse(
        build([paragraph(prose(4)), table(rows, style, (120, 150, 100)), paragraph(prose(5))])
    )
    assert [expanded(grid) for grid in tables(parsed)] == [rows]


def test_group_titles_are_section_rows() -> None:
    rows = [["No", "Article", "Unit", "Price"]]
    for group in range(3):
        rows.append([f"Group {group}: sensors", "", "", ""])
        rows += [
            [f"{group * 4 + n}", f"Sensor {group}-{n}", "piece", f"{n}5.000"] for n in range(1, 5)
        ]
    style = [*GRID, *(("SPAN", (0, r), (-1, r)) for r in (1, 6, 11))]
    assert only_table(build([table(rows, style, (40, 200, 60, 110))])).section_rows == (1, 6, 11)


@pytest.mark.parametrize("count", [2, 3])
def test_columns_of_prose_are_read_one_after_the_other_and_are_no_table(count: int) -> None:
    bodies = [prose(9, 7 * n) for n in range(4 * count)]
    story = []
    for number, body in enumerate(bodies):
        story += [paragraph(f"Topic {number}", SECTION), paragraph(body, JUSTIFIED)]
    parsed = parse(build_columns(story, count))
    assert tables(parsed) == []
    assert texts(parsed) == bodies
    assert texts(parsed, Kind.HEADING) == [f"Topic {n}" for n in range(len(bodies))]


def test_table_inside_a_column_takes_nothing_from_its_neighbour() -> None:
    rows = [
        ["Model", "Acc", "F1"],
        ["Base", "81.2", "80.1"],
        ["Large", "85.4", "84.9"],
        ["XL", "87.0", "86.2"],
    ]
    story = [
        paragraph(prose(30), JUSTIFIED),
        table(rows, BOLD_HEAD, (80, 50, 50)),
        paragraph(prose(60, 3), JUSTIFIED),
    ]
    assert [expanded(grid) for grid in tables(parse(build_columns(story, 2)))] == [rows]


@pytest.mark.parametrize("leader", ["", "."])
def test_contents_and_forms_are_no_tables(leader: str) -> None:
    def paint(canvas) -> None:  # type: ignore[no-untyped-def]
        for n in range(1, 12):
            canvas.drawString(60, 760 - 18 * n, f"{n}. Chapter about matter {n} " + leader * 100)
            canvas.drawRightString(530, 760 - 18 * n, str(n * 3))
        for n, label in enumerate(("Name:", "Unit:", "Date:", "Reason:")):
            canvas.drawString(60, 400 - 18 * n, label)
            canvas.drawString(160, 400 - 18 * n, f"value {n}")

    assert tables(parse(draw(paint))) == []


# --- text ----------------------------------------------------------------------------------------


def test_headings_get_levels_by_size_and_numbering() -> None:
    parsed = parse(
        build(
            [
                paragraph("HR policy", TITLE),
                paragraph("1 Overtime", SECTION),
                paragraph(prose(3)),
                paragraph("1.1 Reporting", SECTION),
                paragraph(prose(3, 5)),
                paragraph("2 Leave", SECTION),
                paragraph(prose(3, 9)),
            ]
        )
    )
    found = [(e.text, e.level) for e in parsed.elements if e.kind is Kind.HEADING]
    assert found == [("HR policy", 1), ("1 Overtime", 2), ("1.1 Reporting", 3), ("2 Leave", 2)]
    assert parsed.title == "HR policy"


def test_running_heads_and_page_numbers_are_dropped_and_paragraphs_joined() -> None:
    body = prose(140)
    parsed = parse(build([paragraph(body)], head="Company rules AB-12"))
    assert texts(parsed) == [body]
    assert (parsed.elements[0].page_start, parsed.elements[0].page_end) == (1, 2)


def test_page_printed_twice_is_kept_twice() -> None:
    one = pypdfium2.PdfDocument(
        build([paragraph("To whom it may concern", BODY), paragraph(prose(3))])
    )
    both = pypdfium2.PdfDocument.new()
    both.import_pages(one)
    both.import_pages(one)
    data = io.BytesIO()
    both.save(data)
    assert len(texts(parse(data.getvalue()))) == 4


def test_line_numbers_go_and_item_numbers_stay() -> None:
    def transcript(canvas) -> None:  # type: ignore[no-untyped-def]
        for n in range(1, 13):
            canvas.drawRightString(60, 760 - 24 * n, str(n))
            canvas.drawString(
                90, 760 - 24 * n, "the court of the state heard the argument of both sides"
            )

    assert "12" not in " ".join(texts(parse(draw(transcript)))).split()
    rows = [["No", "Article", "Price"]] + [
        [str(n), f"Device {n} of all", f"{n}5.000"] for n in range(1, 13)
    ]
    assert expanded(only_table(build([table(rows, BOLD_HEAD, (40, 200, 80))]))) == rows


def test_white_text_on_white_is_not_read() -> None:
    def paint(canvas) -> None:  # type: ignore[no-untyped-def]
        canvas.drawString(60, 700, "what everybody sees")
        canvas.setFillColorRGB(1, 1, 1)
        canvas.drawString(60, 650, "what nobody sees")
        canvas.setFillColorRGB(0.1, 0.2, 0.5)
        canvas.rect(50, 590, 300, 30, stroke=0, fill=1)
        canvas.setFillColorRGB(1, 1, 1)
        canvas.drawString(60, 600, "white on blue")

    assert texts(parse(draw(paint))) == ["what everybody sees", "white on blue"]


@pytest.mark.parametrize(
    ("lines", "words", "joined"),
    [
        (["the commu-", "nity of"], set(), "the community of"),
        (
            ["a first-", "professional degree"],
            {"first-professional"},
            "a first-professional degree",
        ),
        (["a well-", "known case"], set(), "a well-known case"),
        (["Table 3-", "5 shows"], set(), "Table 3-5 shows"),
        (["two", "lines"], set(), "two lines"),
    ],
)
def test_hyphens_at_line_ends(lines: list[str], words: set[str], joined: str) -> None:
    assert join_lines(lines, words) == joined


# --- bad files -----------------------------------------------------------------------------------


def test_bad_files_have_a_code() -> None:
    good = build([paragraph(prose(3))])
    blank = pypdfium2.PdfDocument.new()
    blank.new_page(200, 200)
    empty = io.BytesIO()
    blank.save(empty)
    for data, code in ((b"", "empty_file"), (good[:300], "damaged"), (empty.getvalue(), "no_text")):
        with pytest.raises(Unreadable) as caught:
            parse(data)
        assert caught.value.code == code


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.data())
def test_broken_bytes_end_in_text_or_in_a_code(data: st.DataObject) -> None:
    broken = bytearray(SAMPLE)
    for _ in range(data.draw(st.integers(1, 30))):
        broken[data.draw(st.integers(0, len(broken) - 1))] = data.draw(st.integers(0, 255))
    try:
        assert parse(bytes(broken[: data.draw(st.integers(1, len(broken)))])).elements
    except Unreadable as error:
        assert error.code in {"damaged", "encrypted", "no_text", "scanned", "empty_file"}


SAMPLE = build([paragraph(prose(3)), table(prices(3), GRID, WIDTHS)])


def _scan() -> bytes:
    page = pypdfium2.PdfDocument(SAMPLE)[0].render(scale=1.5).to_pil()
    data = io.BytesIO()
    page.convert("L").save(data, "PDF", resolution=108)
    return data.getvalue()


def test_scan_without_tesseract_names_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    picture = io.BytesIO()
    Image.new("L", (50, 50), "white").save(picture, "PNG")
    for module, data, suffix in ((pdf, _scan(), ".pdf"), (image, picture.getvalue(), ".png")):
        with pytest.raises(Unreadable) as caught:
            module.parse(data, suffix=suffix)
        assert caught.value.code == "scanned"
        assert "tesseract-ocr-vie" in caught.value.hint


def test_words_from_tesseract_run_through_the_same_layout(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A stand-in for tesseract answers with the boxes of the words that the page really shows."""
    page = pypdfium2.PdfDocument(SAMPLE)[0]
    from parsers.pdf_page import read_page

    known = read_page(pypdfium2.PdfDocument(SAMPLE), 0)
    scale = ocr.RENDER_DPI / 72
    rows = ["level\tblock_num\tpar_num\tline_num\tleft\ttop\twidth\theight\tconf\ttext"]
    for word in known.words:
        top, height = word.top + 0.2 * word.size, 0.75 * word.size
        box = [round(v * scale) for v in (word.x0, top, word.x1 - word.x0, height)]
        rows.append(
            "\t".join(["5", "1", "1", str(round(word.top)), *map(str, box), "90", word.text])
        )
    (tmp_path / "answer").write_text("\n".join(rows), encoding="utf-8")
    program = tmp_path / "tesseract"
    program.write_text(
        '#!/bin/sh\ncase "$1" in --list-langs) echo eng vie;; *) cat >/dev/null; cat "$0.tsv";; esac\n'
    )
    (tmp_path / "answer").rename(tmp_path / "tesseract.tsv")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    page.close()
    parsed = parse(_scan())
    assert [expanded(grid) for grid in tables(parsed)] == [prices(3)]
    assert prose(3) in " ".join(texts(parsed))


# --- the shared files ----------------------------------------------------------------------------


def _facts_held(element: Element, row: str, cols: list[str], values: list[str]) -> bool:
    grid = element.table
    assert grid is not None
    full = expanded(grid)
    flat = lambda text: "".join(text.casefold().split()).replace("–", "-")  # noqa: E731
    section = ""
    for number, cells in enumerate(full):
        if number in grid.section_rows:
            section = " ".join(dict.fromkeys(cells))
        for col, cell in enumerate(cells):
            above = [full[r][col] for r in range(grid.header_rows)]
            names = flat(
                " ".join([*above, section, *cells[: grid.header_cols or 1], grid.caption or ""])
            )
            is_there = flat(cell) in {flat(value) for value in values}
            if (
                is_there
                and flat(row) in flat(" ".join(cells))
                and all(flat(c) in names for c in cols)
            ):
                return True
    return False


@needs_cases
def test_shared_row_facts_stand_in_one_grid_with_their_headers() -> None:
    truth = json.loads((CASES / "ground_truth.json").read_text(encoding="utf-8"))
    missing, total = [], 0
    for entry in truth:
        if not entry["file"].endswith(".pdf") or entry["needs_ocr"] or not entry["tables"]:
            continue
        parsed = parse((CASES / "docs" / entry["file"]).read_bytes())
        grids = [element for element in parsed.elements if element.table is not None]
        for stated in entry["tables"]:
            for fact in stated["facts"]:
                total += 1
                cols = fact["col"] if isinstance(fact["col"], list) else [fact["col"]]
                values = fact["value"] if isinstance(fact["value"], list) else [fact["value"]]
                if not any(_facts_held(e, fact["row"], cols, values) for e in grids):
                    missing.append((entry["file"], fact))
    assert total > 40
    assert missing == []
