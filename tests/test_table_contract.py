"""I3: the table contract, over random grids and budgets."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from chunkers.chunk import Chunk, ChunkingRecipe
from chunkers.grid import NO_CELL, Grid, cell_text, expand
from chunkers.structure import chunk
from chunkers.tables import rebuild
from parsers.elements import Cell, Element, Kind, Table


class Words:
    """Counts a token for every four characters of a word, and one for every mark."""

    name = "words"

    def count(self, text: str) -> int:
        total, run = 0, 0
        for char in text:
            if char.isalnum():
                run += 1
                continue
            total += -(-run // 4) + (not char.isspace())
            run = 0
        return total + -(-run // 4)


VOCABULARY = (
    "bảo hành tháng giá sản phẩm miễn phí điều kiện Hà Nội áp dụng từ ngày trừ trường hợp "
    "price months warranty fee plan basic premium ERR_4021 BH-01 429 8.500.000 1,5 12/03/2026"
)
WORDS = [
    *VOCABULARY.split(),
    "|",
    "—",
    "👩‍👩‍👧",
    "Đại_lý_cấp_một_khu_vực_miền_Trung_và_Tây_Nguyên",
]
short_text = st.lists(st.sampled_from(WORDS), min_size=1, max_size=4).map(" ".join)
long_text = st.lists(st.sampled_from(WORDS), min_size=20, max_size=90).map(" ".join)
any_text = st.one_of(st.just(""), short_text, short_text, short_text, short_text, long_text)


@st.composite
def tables(draw: st.DrawFn) -> Table:
    n_rows = draw(st.integers(1, 9))
    n_cols = draw(st.integers(1, 7))
    header_rows = draw(st.integers(0, min(3, n_rows)))
    header_cols = draw(st.integers(0, min(2, n_cols)))
    body = range(header_rows, n_rows)
    sections = tuple(row for row in body if draw(st.integers(0, 5)) == 0)
    taken: set[tuple[int, int]] = set()
    cells = []
    for row in range(n_rows):
        for col in range(n_cols):
            if (row, col) in taken:
                continue
            if row in sections:
                height, width = 1, n_cols - col
            else:
                bottom = header_rows if row < header_rows else n_rows
                height = min(draw(st.sampled_from([1, 1, 1, 1, 2, 3])), bottom - row)
                width = min(draw(st.sampled_from([1, 1, 1, 1, 2, 7])), n_cols - col)
            area = {(r, c) for r in range(row, row + height) for c in range(col, col + width)}
            if area & taken or any(r in sections and r != row for r, _ in area):
                height = width = 1
                area = {(row, col)}
            taken |= area
            # One number in front of each cell makes its text its own.
            text = draw(any_text)
            text = f"{len(cells)}.{text}" if text and draw(st.booleans()) else text
            cells.append(Cell(row=row, col=col, text=text, row_span=height, col_span=width))
    return Table(
        n_rows=n_rows,
        n_cols=n_cols,
        cells=tuple(cells),
        header_rows=header_rows,
        header_cols=header_cols,
        section_rows=sections,
        caption=draw(st.one_of(st.none(), short_text, long_text)),
        notes=draw(st.one_of(st.none(), short_text, long_text)),
        sheet=draw(st.one_of(st.none(), short_text)),
    )


def cut(elements: list[Element], budget: int) -> tuple[Chunk, ...]:
    recipe = ChunkingRecipe(tokenizer="words", body_budget=budget, context_reserve=16)
    return chunk(elements, recipe=recipe, tokenizer=Words())


def table_element(table: Table) -> Element:
    return Element(kind=Kind.TABLE, table=table, page_start=2, page_end=3)


def positions_of(found: Chunk) -> dict[tuple[int, int], list[str]]:
    held: dict[tuple[int, int], list[str]] = {}
    for span in found.cells:
        held.setdefault((span.row, span.col), []).append(found.text[span.start : span.end])
    return held


def check_contract(table: Table, chunks: list[Chunk]) -> None:
    """Every body cell stands in one chunk with its labels and its headers, or that is flagged."""
    grid = Grid.of(table)
    held = [positions_of(found) for found in chunks]
    for row in grid.body:
        for col in range(table.n_cols):
            text = grid.text(row, col)
            if not text:
                continue
            whole = [n for n, places in enumerate(held) if text in places.get((row, col), [])]
            if not whole:
                pieces = [n for n, places in enumerate(held) if (row, col) in places]
                assert pieces
                assert all("cell_split" in chunks[n].warnings for n in pieces)
                whole = pieces
            labels = [(row, c) for c in grid.labels if grid.text(row, c)]
            if grid.is_lone(row) or row in table.section_rows:
                labels = []
            titles = [(r, 0) for r in grid.sections[row] if grid.text(r, 0)]
            heads = [(r, col) for r in grid.header_rows if grid.text(r, col)]
            if grid.is_lone(row) or row in table.section_rows:
                heads = []  # a title or a remark belongs to no column
            # A spanning cell that has no room in another of its rows or columns is abbreviated there.
            flags = {"cell_abbreviated", "label_abbreviated"}
            short = [n for n, item in enumerate(chunks) if flags & set(item.warnings)]
            if not any(
                holds_names(grid, chunks[n], held[n], labels, heads, titles)
                for n in (*whole, *(short if len(grid.covered[grid.at[row][col]]) > 1 else ()))
            ):
                pytest.fail(f"cell {(row, col)} stands alone")


def holds_names(
    grid: Grid,
    found: Chunk,
    held: dict[tuple[int, int], list[str]],
    labels: list[tuple[int, int]],
    heads: list[tuple[int, int]],
    titles: list[tuple[int, int]],
) -> bool:
    for places, flag in (
        (labels, "label_abbreviated"),
        (heads, "header_abbreviated"),
        (titles, "section_abbreviated"),
    ):
        for place in places:
            is_held = any(
                span in held and grid.text(*place) in held[span]
                for span in grid.covered[grid.at[place[0]][place[1]]]
            )
            if not is_held and not {flag, "cell_split", "cell_abbreviated"} & set(found.warnings):
                return False
    return True


def check_spans(found: Chunk) -> None:
    previous = 0
    for start, end in found.added:
        assert previous <= start < end <= len(found.text)
        previous = end
    for span in found.cells:
        assert 0 <= span.start < span.end <= len(found.text)


def check(table: Table, budget: int) -> None:
    chunks = list(cut([table_element(table)], budget))
    for found in chunks:
        assert found.tokens == Words().count(found.text) <= budget
        assert (found.table_id, found.kinds, found.page_start, found.page_end) == (
            "t1",
            ("table",),
            2,
            3,
        )
        check_spans(found)
        assert found.text.strip()
    assert rebuild(chunks, table.n_rows, table.n_cols) == expand(table)
    check_verbatim(table, chunks)
    check_contract(table, chunks)
    held = "\n".join(found.text for found in chunks)
    for words in (table.caption or "", table.notes or ""):
        assert all(word in held for word in words.split())


def check_verbatim(table: Table, chunks: list[Chunk]) -> None:
    """Outside the added spans, each cell is said once and nothing but marks stands between."""
    said: dict[int, str] = {}
    grid = Grid.of(table)
    for found in chunks:
        owned = set()
        for span in found.cells:
            inside = any(a <= span.start and span.end <= b for a, b in found.added)
            index = grid.at[span.row][span.col]
            assert index != NO_CELL
            piece = found.text[span.start : span.end]
            assert piece in cell_text(table.cells[index].text)
            if not inside and (span.start, span.end) not in owned:
                owned.add((span.start, span.end))
                said[index] = said.get(index, "") + piece
    for index, cell in enumerate(table.cells):
        if (
            cell.text
            and index in grid.covered
            and any(r in grid.body or r in grid.header_rows for r, _ in grid.covered[index])
        ):
            assert said[index] == cell_text(cell.text)


@settings(
    max_examples=120,
    deadline=None,
    suppress_health_check=list(HealthCheck),
    phases=[Phase.explicit, Phase.generate],
)
@given(tables(), st.integers(32, 160))
def test_i3_every_cell_keeps_its_label_and_headers(table: Table, budget: int) -> None:
    check(table, budget)


@pytest.mark.slow
@settings(
    max_examples=2500,
    deadline=None,
    suppress_health_check=list(HealthCheck),
    phases=[Phase.explicit, Phase.generate],
)
@given(tables(), st.integers(32, 400))
def test_i3_every_cell_keeps_its_label_and_headers_in_many_tables(
    table: Table, budget: int
) -> None:
    check(table, budget)


@settings(
    max_examples=40,
    deadline=None,
    suppress_health_check=list(HealthCheck),
    phases=[Phase.explicit, Phase.generate],
)
@given(st.lists(tables(), min_size=2, max_size=3), st.integers(32, 120))
def test_i3_no_chunk_mixes_two_tables(found: list[Table], budget: int) -> None:
    elements = [table_element(table) for table in found]
    chunks = cut(elements, budget)
    with_words = [
        table
        for table in found
        if any(expand_all(table)) or table.caption or table.notes or table.sheet
    ]
    ids = list(dict.fromkeys(item.table_id for item in chunks))
    assert ids == [f"t{n + 1}" for n in range(len(with_words))]
    for name, table in zip(ids, with_words, strict=True):
        own = [item for item in chunks if item.table_id == name]
        assert rebuild(own, table.n_rows, table.n_cols) == expand(table)


def expand_all(table: Table) -> list[str]:
    return [text for row in expand(table) for text in row if text]
