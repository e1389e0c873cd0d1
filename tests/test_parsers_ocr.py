"""Pictures and scanned PDFs: pages drawn by code, made to look scanned, read by tesseract."""

from __future__ import annotations

import io
from collections.abc import Sequence

import numpy as np
import pypdfium2
import pytest
from pdf_files import GRID, build, build_columns, gap, table, vietnamese
from PIL import Image, ImageFilter

from parsers import image, ocr, pdf
from parsers.elements import Kind, Parsed, Table, Unreadable
from parsers.ocr import _close_brackets, _snapped
from parsers.pdf_drawings import Rule
from parsers.pdf_words import Word

needs_tesseract = pytest.mark.skipif(
    not ocr.is_installed(), reason=f"tesseract with vie and eng is missing: {ocr.INSTALL_HINT}"
)

PRICES = [
    ["Mã hàng", "Tên thiết bị", "Đơn vị", "Đơn giá (đồng)", "Bảo hành (tháng)"],
    ["TB-101", "Máy bơm nước", "cái", "2.450.000", "24"],
    ["TB-102", "Đồng hồ áp suất", "cái", "385.000", "12"],
    ["TB-103", "Ống dẫn khí", "mét", "47.500", "6"],
    ["TB-104", "Van điều khiển", "bộ", "1.120.000", "36"],
    ["TB-105", "Tủ điện", "bộ", "8.900.000", "18"],
]
RULES = (
    "Khách hàng phải gửi phiếu bảo hành kèm theo thiết bị. Công ty kiểm tra trong ba ngày làm việc "
    "và thông báo kết quả bằng văn bản."
)


def scan(
    data: bytes, *, number: int = 0, dpi: int = 200, skew: float = 0.6, grain: float = 9, turns=0
) -> Image.Image:
    """One page of a PDF as a scanner would give it: turned a little, soft, with noise on it."""
    picture = pypdfium2.PdfDocument(data)[number].render(scale=dpi / 72).to_pil().convert("L")
    picture = picture.rotate(skew, resample=Image.Resampling.BICUBIC, fillcolor=255)
    picture = picture.filter(ImageFilter.GaussianBlur(0.5))
    noise = np.random.default_rng(7).normal(0, grain, (picture.height, picture.width))
    pixels = np.clip(np.asarray(picture, dtype=np.float32) * 0.93 + noise, 0, 255)
    return Image.fromarray(np.rot90(pixels.astype(np.uint8), turns))


def as_png(picture: Image.Image, dpi: int = 200) -> bytes:
    data = io.BytesIO()
    picture.save(data, "PNG", dpi=(dpi, dpi))
    return data.getvalue()


def as_pdf(pictures: Sequence[Image.Image], dpi: int = 200) -> bytes:
    data = io.BytesIO()
    first, *rest = pictures
    first.save(data, "PDF", resolution=dpi, save_all=True, append_images=rest)
    return data.getvalue()


def grids(parsed: Parsed) -> list[Table]:
    return [element.table for element in parsed.elements if element.table is not None]


def rows_of(grid: Table) -> list[list[str]]:
    rows = [[""] * grid.n_cols for _ in range(grid.n_rows)]
    for cell in grid.cells:
        for row in range(cell.row, cell.row + cell.row_span):
            for col in range(cell.col, cell.col + cell.col_span):
                rows[row][col] = cell.text
    return rows


def cells_right(found: list[list[str]], wanted: list[list[str]]) -> float:
    """The share of cells that are right, apart from spaces."""
    assert (len(found), {len(row) for row in found}) == (len(wanted), {len(wanted[0])})
    pairs = [
        ("".join(a.split()), "".join(b.split()))
        for mine, theirs in zip(found, wanted, strict=True)
        for a, b in zip(mine, theirs, strict=True)
    ]
    return sum(a == b for a, b in pairs) / len(pairs)


def page_of_prices(style: Sequence[object]) -> bytes:
    font = vietnamese()
    rows = table(
        PRICES, [("FONTNAME", (0, 0), (-1, -1), "Roboto"), *style], (60, 130, 60, 100, 110)
    )
    return build(
        [
            font.paragraph("Bảng giá thiết bị năm 2026", "title"),
            font.paragraph("1. Điều kiện", "section"),
            font.paragraph(RULES),
            gap(14),
            rows,
        ]
    )


@needs_tesseract
@pytest.mark.parametrize("style", [GRID, []], ids=["ruled", "borderless"])
@pytest.mark.parametrize("skew", [-1.2, 0.6])
def test_scanned_price_table_is_a_grid_under_its_headings(style, skew) -> None:  # type: ignore[no-untyped-def]
    picture = scan(page_of_prices(style), skew=skew)
    parsed = image.parse(as_png(picture), suffix=".png")
    assert len(grids(parsed)) == 1
    assert cells_right(rows_of(grids(parsed)[0]), PRICES) >= 0.9
    assert grids(parsed)[0].header_rows == 1
    headings = [e.text for e in parsed.elements if e.kind is Kind.HEADING]
    assert headings == ["Bảng giá thiết bị năm 2026", "1. Điều kiện"]


@needs_tesseract
def test_small_coarse_scan_is_scaled_up() -> None:
    parsed = image.parse(as_png(scan(page_of_prices(GRID), dpi=110, grain=4), 110), suffix=".png")
    assert cells_right(rows_of(grids(parsed)[0]), PRICES) >= 0.75


@needs_tesseract
@pytest.mark.parametrize("turns", [1, 2, 3])
def test_page_scanned_sideways_or_upside_down_is_turned(turns: int) -> None:
    parsed = image.parse(as_png(scan(page_of_prices(GRID), turns=turns)), suffix=".png")
    assert cells_right(rows_of(grids(parsed)[0]), PRICES) >= 0.9


@needs_tesseract
def test_scanned_columns_are_read_one_after_the_other() -> None:
    font = vietnamese()
    story = []
    for topic in ("Nghỉ phép", "Tăng ca", "Công tác", "Đào tạo"):
        story += [font.paragraph(topic, "section"), *[font.paragraph(RULES)] * 3]
    parsed = image.parse(as_png(scan(build_columns(story, 2))), suffix=".png")
    order = [e.text for e in parsed.elements if e.kind is Kind.HEADING]
    assert order == ["Nghỉ phép", "Tăng ca", "Công tác", "Đào tạo"]
    assert not grids(parsed)


@needs_tesseract
def test_pages_of_a_scan_keep_their_order_and_join_their_table() -> None:
    rows = [PRICES[0], *[[f"TB-{n}", *PRICES[1 + n % 5][1:]] for n in range(101, 171)]]
    font = [*GRID, ("FONTNAME", (0, 0), (-1, -1), "Roboto")]
    vietnamese()
    data = build([table(rows, font, (60, 130, 60, 100, 110), repeatRows=1)])
    pictures = [scan(data, number=n, dpi=150, grain=5) for n in range(2)]
    parsed = pdf.parse(as_pdf(pictures, 150), suffix=".pdf")
    assert [(e.page_start, e.page_end) for e in parsed.elements if e.table] == [(1, 2)]
    assert cells_right(rows_of(grids(parsed)[0]), rows) >= 0.9


@needs_tesseract
def test_scanned_page_among_pages_with_text_is_read() -> None:
    both = pypdfium2.PdfDocument.new()
    both.import_pages(pypdfium2.PdfDocument(build([vietnamese().paragraph(RULES)])))
    both.import_pages(pypdfium2.PdfDocument(as_pdf([scan(page_of_prices(GRID))])))
    data = io.BytesIO()
    both.save(data)
    parsed = pdf.parse(data.getvalue(), suffix=".pdf")
    assert [(e.page_start, e.page_end) for e in parsed.elements if e.table] == [(2, 2)]
    assert parsed.elements[0].text == RULES
    assert parsed.warnings == ()


def test_without_vietnamese_data_a_scan_waits_for_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path
) -> None:  # type: ignore[no-untyped-def]
    program = tmp_path / "tesseract"
    monkeypatch.setenv("PATH", str(tmp_path))
    ids = set()
    for known in ("eng", "eng osd", "eng vie"):
        program.write_text(f"#!/bin/sh\necho {known}\n")
        program.chmod(0o755)
        ocr._data_of.cache_clear()
        ids.add((image.parser_id(), pdf.parser_id()))
        assert ocr.is_installed() == ("vie" in known)
        if "vie" not in known:
            with pytest.raises(Unreadable, match="apt install tesseract-ocr tesseract-ocr-vie"):
                image.parse(as_png(Image.new("L", (40, 40), "white")), suffix=".png")
    ocr._data_of.cache_clear()
    assert len(ids) == 2  # another id makes the next sync read the file again


def _word(text: str, x1: float) -> Word:
    return Word(text, x1 - 30, 10, x1, 20, 10.0, bold=False)


def test_bracket_lost_in_a_ruling_line_is_given_back() -> None:
    line = [_word("Term", 40), _word("(months,", 99), _word("Fee", 150), _word("(dong", 300)]
    _close_brackets(line, [Rule(False, 100.0, 0.0, 80.0), Rule(False, 200.0, 0.0, 80.0)])
    assert [word.text for word in line] == ["Term", "(months)", "Fee", "(dong"]


def test_measured_sizes_part_at_gaps() -> None:
    snapped = _snapped([8.2, 8.4, 8.5, 8.9, 9.7, 9.8, 9.9, 17.2])
    assert set(snapped.values()) == {8.5, 10.0, 17.0}
    assert snapped[9.7] == snapped[9.9]
