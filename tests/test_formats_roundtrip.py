"""Random documents with a table, written in four formats: parsed and chunked, nothing is lost."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from html import escape

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from office_files import cell, docx_file, para, row, table
from test_parsers_office_roundtrip import as_xlsx
from test_table_contract import (
    WORDS,
    Words,
    check_contract,
    check_spans,
    check_verbatim,
    cut,
    expand_all,
)

from chunkers.chunk import Chunk
from chunkers.grid import expand
from chunkers.tables import rebuild
from parsers.elements import Parsed, Table
from parsers.registry import parse_file
from parsers.text import document_text, normalise

Merge = tuple[int, int, int, int]  # row, column, row span, column span

SIGNS = ["a<b", "<b>", "</td>", "&amp;", '"trích"', "l'an", "a|b", "\\", "*sao*", "_x_", "`mã`"]
NUMBERS = ["12", "1.250.000", "3,5%", "2026", "(1.200)", "15/03/2026", "-4"]
names = st.lists(st.sampled_from(WORDS), min_size=1, max_size=3).map(" ".join)
signs = st.lists(st.sampled_from([*WORDS, *SIGNS]), min_size=1, max_size=4).map(" ".join)
long = st.lists(st.sampled_from([*WORDS, *SIGNS]), min_size=20, max_size=60).map(" ".join)
values = st.one_of(st.sampled_from(NUMBERS), st.sampled_from(NUMBERS), signs, long, st.just(""))
sentences = st.lists(
    st.sampled_from([*(word for word in WORDS if word.isalpha()), *SIGNS]), min_size=3, max_size=25
).map(" ".join)
prose = st.lists(sentences, max_size=3)


@dataclass(frozen=True)
class Source:
    """A document before it is written: a heading, paragraphs, one table, paragraphs."""

    heading: str
    before: list[str]
    rows: list[list[str]]
    merges: list[Merge]
    header_rows: int
    header_cols: int
    after: list[str]

    @property
    def texts(self) -> list[str]:
        return [text for texts in self.rows for text in texts if text]


@st.composite
def sources(draw: st.DrawFn, with_spans: bool = True) -> Source:
    n_rows, n_cols = (
        draw(st.one_of(st.integers(1, most), st.integers(3, most))) for most in (7, 6)
    )
    header_rows = draw(st.integers(0, min(2 if with_spans else 1, n_rows)))
    header_cols = draw(st.integers(0, min(2, n_cols - 1)))
    rows = [
        [draw(names if r < header_rows or c < header_cols else values) for c in range(n_cols)]
        for r in range(n_rows)
    ]
    # A table without any word is none.
    rows[0][0] = rows[0][0] or "Tên"
    merges: list[Merge] = []
    if with_spans and n_cols > 1:
        merges += [
            (r, 0, 1, n_cols) for r in range(header_rows, n_rows) if draw(st.integers(0, 6)) == 0
        ]
        taken = {(r, c) for r, _, _, width in merges for c in range(width)}
        for _ in range(draw(st.integers(0, 3))):
            top, left = draw(st.integers(0, n_rows - 1)), draw(st.integers(0, n_cols - 1))
            bottom = header_rows if top < header_rows else n_rows
            height = min(draw(st.integers(1, 3)), bottom - top)
            width = min(draw(st.integers(1, 3)), n_cols - left)
            area = {(r, c) for r in range(top, top + height) for c in range(left, left + width)}
            if len(area) > 1 and not area & taken:
                taken |= area
                merges.append((top, left, height, width))
    for top, left, height, width in merges:
        rows[top][left] = rows[top][left] or draw(names)
        for r in range(top, top + height):
            for c in range(left, left + width):
                if (r, c) != (top, left):
                    rows[r][c] = ""
    heading = " ".join(draw(st.lists(st.sampled_from(["Giá", "Điều", "Bảng"]), min_size=1)))
    return Source(heading, draw(prose), rows, merges, header_rows, header_cols, draw(prose))


# --- the four formats -----------------------------------------------------------------------------


def as_html(source: Source) -> bytes:
    spans = {(top, left): (height, width) for top, left, height, width in source.merges}
    hidden = covered(source.merges) - set(spans)
    lines = []
    for r, texts in enumerate(source.rows):
        cells = ""
        for c, text in enumerate(texts):
            if (r, c) in hidden:
                continue
            height, width = spans.get((r, c), (1, 1))
            tag = "th" if r < source.header_rows or c < source.header_cols else "td"
            cells += f'<{tag} rowspan="{height}" colspan="{width}">{escape(text)}</{tag}>'
        lines.append(f"<tr>{cells}</tr>")
    parts = [
        f"<h1>{escape(source.heading)}</h1>",
        *(f"<p>{escape(text)}</p>" for text in source.before),
        f"<table>{''.join(lines)}</table>",
        *(f"<p>{escape(text)}</p>" for text in source.after),
    ]
    return f"<html><body><main>{''.join(parts)}</main></body></html>".encode()


def as_markdown(source: Source) -> bytes:
    n_cols = len(source.rows[0])
    head = source.rows[:1] if source.header_rows else [[""] * n_cols]
    lines = [head[0], ["---"] * n_cols, *source.rows[len(head) if source.header_rows else 0 :]]
    shown = [
        f"| {' | '.join(text if n == 1 else marked(text) for text in texts)} |"
        for n, texts in enumerate(lines)
    ]
    parts = [
        f"# {marked(source.heading)}",
        *map(marked, source.before),
        "\n".join(shown),
        *map(marked, source.after),
    ]
    return ("\n\n".join(parts) + "\n").encode()


def marked(text: str) -> str:
    """Every mark that Markdown may read is escaped."""
    return re.sub(r"([!-/:-@\[-`{-~])", r"\\\1", text)


def as_docx(source: Source) -> bytes:
    spans = {(top, left): (height, width) for top, left, height, width in source.merges}
    lines = []
    for r in range(len(source.rows)):
        cells, c = [], 0
        while c < len(source.rows[0]):
            height, width = spans.get((r, c), (1, 1))
            mark = '<w:vMerge w:val="restart"/>' if height > 1 else ""
            above = [w for (t, left), (h, w) in spans.items() if t < r < t + h and left == c]
            if above:
                width, mark = above[0], "<w:vMerge/>"
            cells.append(
                cell(escape(source.rows[r][c], quote=False), f'<w:gridSpan w:val="{width}"/>{mark}')
            )
            c += width
        lines.append(row(*cells, properties="<w:tblHeader/>" if r < source.header_rows else ""))
    return docx_file(
        para(source.heading, style="u1")
        + "".join(para(escape(text, quote=False)) for text in source.before)
        + table(*lines)
        + "".join(para(escape(text, quote=False)) for text in source.after)
    )


def as_workbook(source: Source) -> bytes:
    """A title, an empty row, the table; as in a sheet that people read."""
    n_cols = len(source.rows[0])
    above = [[source.heading, *[""] * (n_cols - 1)], [""] * n_cols]
    merges = [(top + len(above), left, h, w) for top, left, h, w in source.merges]
    return as_xlsx([*above, *source.rows], merges)


def covered(merges: list[Merge]) -> set[tuple[int, int]]:
    return {
        (r, c)
        for top, left, height, width in merges
        for r in range(top, top + height)
        for c in range(left, left + width)
    }


FORMATS: dict[str, Callable[[Source], bytes]] = {
    ".html": as_html,
    ".md": as_markdown,
    ".docx": as_docx,
    ".xlsx": as_workbook,
}


# --- what must hold -------------------------------------------------------------------------------


def check(source: Source, suffix: str, budget: int) -> None:
    parsed = parse_file(FORMATS[suffix](source), suffix=suffix)
    check_nothing_is_lost(source, parsed, suffix)
    chunks = cut(list(parsed.elements), budget)
    for found in chunks:
        assert found.tokens == Words().count(found.text) <= budget  # I4
        check_spans(found)
    check_places(source, parsed)
    check_prose(parsed, [found for found in chunks if found.table_id is None])
    found_tables = [e.table for e in parsed.elements if e.table is not None]
    with_words = [t for t in found_tables if expand_all(t) or t.caption or t.notes or t.sheet]
    ids = list(dict.fromkeys(found.table_id for found in chunks if found.table_id))
    assert ids == [f"t{n + 1}" for n in range(len(with_words))]
    for name, found_table in zip(ids, with_words, strict=True):
        check_table(found_table, [found for found in chunks if found.table_id == name])


def check_nothing_is_lost(source: Source, parsed: Parsed, suffix: str) -> None:
    said = [e.text for e in parsed.elements]
    for found in (e.table for e in parsed.elements if e.table is not None):
        said += [found.caption or "", found.notes or "", *(each.text for each in found.cells)]
    whole = " ".join(" ".join(said).split())
    for text in [source.heading, *source.texts]:
        assert normalise(text) in whole
    if suffix != ".xlsx":
        for text in (*source.before, *source.after):
            assert normalise(text) in whole


def check_places(source: Source, parsed: Parsed) -> None:
    """A table that lost no row to its caption has each text where it stood, spans expanded."""
    for found in (e.table for e in parsed.elements if e.table is not None):
        full = expand(found)
        if (found.n_rows, found.n_cols) != (len(source.rows), len(source.rows[0])):
            continue
        for r, texts in enumerate(source.rows):
            for c, text in enumerate(texts):
                assert not text or full[r][c] == normalise(text)
        for top, left, height, width in source.merges:
            area = {full[r][c] for r in range(top, top + height) for c in range(left, left + width)}
            assert area == {normalise(source.rows[top][left])}


def check_prose(parsed: Parsed, chunks: list[Chunk]) -> None:
    """I2: prose is quoted from the document, at its place, and all of it stands somewhere."""
    text, spans = document_text(parsed.elements)
    held: set[int] = set()
    for found in chunks:
        assert found.text == text[found.char_start : found.char_end]
        assert not found.cells and not found.added
        held.update(range(found.char_start, found.char_end))
    for element, (start, end) in zip(parsed.elements, spans, strict=True):
        if element.table is None and element.kind != "heading":
            assert all(at in held or text[at].isspace() for at in range(start, end))


def check_table(found: Table, chunks: list[Chunk]) -> None:
    """I2 and I3 of one table, and the way back from its chunks."""
    assert all(each.kinds == ("table",) for each in chunks)
    assert rebuild(chunks, found.n_rows, found.n_cols) == expand(found)
    check_verbatim(found, chunks)
    check_contract(found, chunks)


def profile(examples: int) -> settings:
    return settings(
        max_examples=examples,
        deadline=None,
        suppress_health_check=list(HealthCheck),
        phases=[Phase.explicit, Phase.generate],
    )


@pytest.mark.parametrize("suffix", FORMATS)
@profile(40)
@given(st.data(), st.integers(32, 400))
def test_i2_i3_i4_hold_from_the_file_to_the_chunks(
    suffix: str, data: st.DataObject, budget: int
) -> None:
    check(data.draw(sources(with_spans=suffix != ".md")), suffix, budget)


@pytest.mark.slow
@pytest.mark.parametrize("suffix", FORMATS)
@profile(525)
@given(st.data(), st.integers(32, 400))
def test_i2_i3_i4_hold_from_thousands_of_files_to_their_chunks(
    suffix: str, data: st.DataObject, budget: int
) -> None:
    check(data.draw(sources(with_spans=suffix != ".md")), suffix, budget)
