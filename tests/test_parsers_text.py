"""Text formats: normalisation, encodings, plain text, delimited text, Markdown, HTML, dispatch."""

from __future__ import annotations

import io
import json
import os
import unicodedata
import zipfile
from html import escape
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parsers import registry
from parsers.elements import Cell, Element, Kind, Parsed, Table, Unreadable, elements_to_json
from parsers.encodings import decode
from parsers.registry import REASONS, parse_file, parser_id_for
from parsers.text import document_text, normalise, normalise_code, one_line
from parsers.vietnamese import is_vietnamese_syllable

GOLDEN = Path(__file__).parent / "golden" / "parsers"
CASES = Path(__file__).resolve().parents[1].parent / "shared" / "cases"
needs_cases = pytest.mark.skipif(not CASES.exists(), reason="the shared cases are not here")

ODD = st.text(
    st.one_of(
        st.characters(),
        st.sampled_from(
            " \n\t\r\v\f\xa0\xad\u200b\u2028\u2029\ufeff\u0301\u0323aeô\ud800\u1100\u1160"
        ),
    )
)
WORDS = st.text("abcĐđếọ x\n|;\"'<&,", max_size=12)


def lines(text: str, suffix: str) -> list[tuple[str, int | None, str]]:
    parsed = parse_file(text.encode(), suffix=suffix)
    return [(e.kind.value, e.level, e.text) for e in parsed.elements]


def grid(table: Table | None) -> list[list[str]]:
    assert table is not None
    rows = [[""] * table.n_cols for _ in range(table.n_rows)]
    for cell in table.cells:
        for r in range(cell.row, cell.row + cell.row_span):
            for c in range(cell.col, cell.col + cell.col_span):
                rows[r][c] = cell.text
    return rows


def only_table(text: str | bytes, suffix: str) -> Table:
    data = text.encode() if isinstance(text, str) else text
    tables = [e.table for e in parse_file(data, suffix=suffix).elements if e.table]
    assert len(tables) == 1
    return tables[0]


def code_of(data: bytes, suffix: str) -> str:
    with pytest.raises(Unreadable) as caught:
        parse_file(data, suffix=suffix)
    assert caught.value.code in REASONS
    return caught.value.code


# --- normalisation -------------------------------------------------------------------------------


@given(ODD)
def test_i2_normalising_twice_changes_nothing(text: str) -> None:
    for clean in (normalise, normalise_code, one_line):
        assert clean(clean(text)) == clean(text)


@given(ODD)
def test_i2_normalised_text_is_nfc_without_invisible_characters(text: str) -> None:
    clean = normalise(text)
    assert unicodedata.is_normalized("NFC", clean)
    assert not any(unicodedata.category(c) in {"Cc", "Cs"} for c in clean.replace("\n", ""))
    assert "  " not in clean and "\n\n\n" not in clean and " \n" not in clean
    assert clean == clean.strip()


@given(st.text(st.sampled_from("ab \u0301ế\u034f\u115f\u200b"), max_size=20))
def test_i2_the_quick_way_for_clean_lines_agrees_with_the_long_one(text: str) -> None:
    assert normalise(text) == normalise(f"\t{text}")


def test_i2_normalise_knows_the_characters_that_documents_hide() -> None:
    assert normalise("a\xa0b\u2003c\xad\u200bd\x00e\r\n\r\n\r\nf\u2028g ") == "a b cde\n\nf\ng"
    assert normalise("e\u0302\u0301") == "ế"
    assert normalise_code("\n  a\n\n\n\tb  \n") == "  a\n\n\n\tb"


@given(st.lists(st.tuples(st.sampled_from([Kind.TEXT, Kind.CODE, Kind.TABLE]), WORDS), max_size=8))
def test_i2_offsets_give_each_element_back(parts: list[tuple[Kind, str]]) -> None:
    elements = []
    for kind, words in parts:
        cell = Cell(row=1, col=1, text=normalise(words))
        table = Table(n_rows=2, n_cols=2, cells=(cell,), caption="c", notes="n")
        is_table = kind is Kind.TABLE
        text = "" if is_table else normalise(words)
        elements.append(Element(kind=kind, text=text, table=table if is_table else None))
    whole, spans = document_text(elements)
    assert len(spans) == len(elements)
    for element, (start, end) in zip(elements, spans, strict=True):
        if element.table is None:
            assert whole[start:end] == element.text
        else:
            assert whole[start:end].split("\n")[0] == "c"
            assert whole[start:end].split("\n")[-1] == "n"
    joined = "\n\n".join(whole[start:end] for start, end in spans if end > start)
    assert whole == joined


# --- encodings -----------------------------------------------------------------------------------

VIETNAMESE = "Điều 1. Thời hạn bảo hành thiết bị được kể từ ngày xuất hóa đơn, phí sửa chữa lỗi."
VNI = (
    "Ñieàu 1. Thôøi haïn baûo haønh thieát bò ñöôïc keå töø ngaøy xuaát hoùa ñôn, "
    "phí söûa chöõa loãi."
)


@pytest.mark.parametrize(
    ("data", "name"),
    [
        (VIETNAMESE.encode("utf-8-sig"), "utf-8"),
        (VIETNAMESE.encode("utf-16"), "utf-16-le"),
        (b"\xfe\xff" + VIETNAMESE.encode("utf-16-be"), "utf-16-be"),
        (VIETNAMESE.encode("utf-16-le"), "utf-16-le"),
        (VIETNAMESE.encode("utf-16-be"), "utf-16-be"),
        (VNI.encode("cp1252"), "vni"),
        (unicodedata.normalize("NFD", VIETNAMESE).encode(), "utf-8"),
    ],
)
def test_text_in_any_encoding_of_vietnamese_is_the_same_text(data: bytes, name: str) -> None:
    text, encoding = decode(data)
    assert (normalise(text), encoding) == (VIETNAMESE, name)


def cp1258(text: str) -> bytes:
    """Encode as Windows does: base letters with hats and horns, tones as marks of their own."""
    out = bytearray()
    for char in unicodedata.normalize("NFC", text):
        try:
            out += char.encode("cp1258")
        except UnicodeEncodeError:
            parts = unicodedata.normalize("NFD", char)
            tone = next(c for c in parts if c in "\u0300\u0301\u0303\u0309\u0323")
            base = unicodedata.normalize("NFC", parts.replace(tone, ""))
            out += base.encode("cp1258") + tone.encode("cp1258")
    return bytes(out)


def test_windows_1258_is_told_from_windows_1252_by_its_syllables() -> None:
    assert decode(cp1258(VIETNAMESE)) == (VIETNAMESE, "windows-1258")
    for western in ("Le café est très bon, l'été où naît à côté", "Die Straße für Bücher, größer"):
        assert decode(western.encode("cp1252")) == (western, "windows-1252")


def test_tcvn3_words_of_capitals_come_out_as_capitals() -> None:
    data = "QUY \xa7\xdeNH B\xb6O H\xb5NH\n\xa7i\xd2u 1. Th\xeai h\xb9n b\xb6o h\xb5nh".encode(
        "latin-1"
    )
    text, encoding = decode(data)
    assert encoding == "tcvn3"
    assert text == "QUY ĐỊNH BẢO HÀNH\nĐiều 1. Thời hạn bảo hành"


def test_a_slip_in_a_utf8_file_does_not_change_its_encoding() -> None:
    text, encoding = decode(f"{VIETNAMESE}\n".encode() * 5 + b"\xe9")
    assert encoding == "utf-8"
    assert text.startswith(VIETNAMESE)


@pytest.mark.parametrize(
    "word", ["nghỉ", "Nguyễn", "được", "quýt", "giếng", "oà", "thuở", "khuỷu", "ươm", "yêu", "gìn"]
)
def test_vietnamese_syllables_are_recognised(word: str) -> None:
    assert is_vietnamese_syllable(word)


@pytest.mark.parametrize("word", ["café", "für", "ção", "Â°C", "bạch́", "mạf"])
def test_other_words_with_marks_are_not_vietnamese(word: str) -> None:
    assert not is_vietnamese_syllable(word)


def test_binary_under_a_text_name_is_refused() -> None:
    noise = bytes((i * 73 + i // 7) % 256 for i in range(4000))
    assert code_of(noise, ".txt") == "binary"
    assert code_of(noise, ".csv") == "binary"


# --- plain text ----------------------------------------------------------------------------------


def test_numbers_in_running_text_are_no_headings() -> None:
    text = "Theo Điều 5 của Luật này, bên A phải trả.\n\nArticle 7 was struck out in 2024."
    assert [kind for kind, _, _ in lines(text, ".txt")] == ["text", "text"]


def test_a_numbered_list_is_no_row_of_headings() -> None:
    text = "Steps:\n1. Open the box\n2. Plug it in\n3. Wait"
    assert [kind for kind, _, _ in lines(text, ".txt")] == ["text", *["list_item"] * 3]


def test_letters_under_numbers_are_one_level_deeper() -> None:
    text = "1. Một\na) Nhỏ\nb) Nhỏ hơn\n2. Hai"
    assert [level for _, level, _ in lines(text, ".txt")] == [1, 2, 2, 1]


# --- delimited text ------------------------------------------------------------------------------


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_the_delimiter_is_found_though_cells_hold_others(delimiter: str) -> None:
    others = [d for d in ",;|" if d != delimiter]
    rows = [["Code", "Name", "Price"]]
    rows += [[f"A-{n}", f"one{others[n % 2]} two", f"{n}00"] for n in range(6)]
    text = "\n".join(delimiter.join(row) for row in rows)
    table = only_table(text, ".csv")
    assert grid(table) == rows
    assert table.header_rows == 1


def test_titles_totals_and_notes_around_a_csv_table_are_known() -> None:
    text = (
        "Price list;;\n;;\nCode;Price;Note\nA;1;x\nB;2\nCode;Price;Note\nTotal;3;\nNote: net.;;\n"
    )
    table = only_table(text, ".csv")
    assert (table.caption, table.notes, table.header_rows) == ("Price list", "Note: net.", 1)
    assert grid(table) == [
        ["Code", "Price", "Note"],
        ["A", "1", "x"],
        ["B", "2", ""],
        ["Total", "3", ""],
    ]


def test_numbers_from_the_first_row_on_mean_no_header() -> None:
    assert only_table("1,20,x\n2,30,y\n3,40,z\n", ".csv").header_rows == 0


def test_a_short_header_above_longer_rows_is_padded() -> None:
    table = only_table("a1,b1,c1\n1,2,3,4\n5,6,7,8\n", ".csv")
    assert (table.n_cols, table.header_rows) == (4, 1)


def test_a_stray_quote_does_not_swallow_the_rows_after_it() -> None:
    text = 'id,name\n1,"broken\n' + "".join(f"{n},x{n}\n" for n in range(2, 80))
    parsed = parse_file(text.encode(), suffix=".csv")
    table = parsed.elements[0].table
    assert table is not None and table.n_rows == 80
    assert parsed.warnings == ("stray_quote",)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.lists(WORDS, min_size=3, max_size=3), min_size=3, max_size=6),
    st.sampled_from(",;\t"),
)
def test_quoted_cells_come_back_whole(rows: list[list[str]], delimiter: str) -> None:
    rows = [["Head a", "Head b", "Head c"], *[[f"k{n}", *row[1:]] for n, row in enumerate(rows)]]
    rows = [[row[0], *(f"v {cell}" for cell in row[1:])] for row in rows]
    text = "\r\n".join(
        delimiter.join('"' + cell.replace('"', '""') + '"' for cell in row) for row in rows
    )
    assert grid(only_table(text, ".csv")) == [[normalise(cell) for cell in row] for row in rows]


# --- Markdown ------------------------------------------------------------------------------------


def test_no_cell_is_lost_from_a_row_with_bars_in_code_or_too_many_cells() -> None:
    table = only_table("| a | b |\n|---|---|\n| `x|y` | z |\n| 1 | 2 | 3 |\n| p\\|q | r |\n", ".md")
    assert grid(table) == [["a", "b"], ["x|y", "z"], ["1", "2 | 3"], ["p|q", "r"]]


def test_an_html_table_with_blank_lines_stays_one_table() -> None:
    text = "x\n\n<table>\n<tr><th>A</th></tr>\n\n<tr><td>1</td></tr>\n\n</table>\n\n# after\n"
    parsed = parse_file(text.encode(), suffix=".md")
    assert [e.kind.value for e in parsed.elements] == ["text", "table", "heading"]


def test_a_leading_rule_is_not_front_matter() -> None:
    assert lines("---\n\nWords here.\n\n---\n\nMore.", ".md")[0][2] == "Words here."
    assert lines("---\ntitle: Secret\n---\nWords.", ".md") == [("text", None, "Words.")]


def test_hashes_and_bars_in_code_make_neither_headings_nor_tables() -> None:
    text = "# T\n\n```\n# no\n| a | b |\n|---|---|\n```\n"
    assert lines(text, ".md") == [("heading", 1, "T"), ("code", None, "# no\n| a | b |\n|---|---|")]


def test_bold_lines_head_a_document_only_when_nothing_else_does() -> None:
    bold = "**Scope**\n\nText.\n\n**Really?**\n\nText."
    assert [kind for kind, _, _ in lines(bold, ".md")] == ["heading", "text", "text", "text"]
    assert [kind for kind, _, _ in lines(f"# T\n\n{bold}", ".md")].count("heading") == 1


# --- HTML ----------------------------------------------------------------------------------------


def test_hidden_parts_and_furniture_are_left_out() -> None:
    html = """<html><head><style>.h, p#i {display: none}
    @media print {.v {display:none}}</style></head><body>
    <nav>N1</nav><header>N2</header><aside>N3</aside><main><h1>Head</h1>
    <p class="h">N4</p><p id="i" hidden>N5</p><p style="display : none">N6</p><p class="v">seen</p>
    <p>a <span aria-hidden="true">N7</span>b <del>N8</del></p><template>N9</template>
    <script>"<table><tr><td>N10"</script></main><footer>N11</footer></body></html>"""
    assert lines(html, ".html") == [
        ("heading", 1, "Head"),
        ("text", None, "seen"),
        ("text", None, "a b"),
    ]


def test_words_stay_in_reading_order_through_inline_tags() -> None:
    assert lines("a <b>b <i>c</i></b> d<a href=x>e</a><p>f<br>g</p>h", ".html") == [
        ("text", None, "a b c de"),
        ("text", None, "f\ng"),
        ("text", None, "h"),
    ]


def test_a_heading_in_a_cell_heads_nothing_outside() -> None:
    html = "<h1>T</h1><table><tr><th><h2>A</h2><th>B<tr><td>1<td>2</table><p>after</p>"
    assert [kind for kind, _, _ in lines(html, ".html")] == ["heading", "table", "text"]


def test_layout_tables_unfold_and_spacers_go() -> None:
    html = """<table><tr><td><p>Left</p></td><td>
      <table><tr><th>k</th><td></td><th colspan=2>v</th></tr>
      <tr><td>1</td><td></td><td>2</td></tr></table>
    </td></tr></table>"""
    parsed = parse_file(html.encode(), suffix=".html")
    assert [e.kind.value for e in parsed.elements] == ["text", "table"]
    assert grid(parsed.elements[1].table) == [["k", "v"], ["1", "2"]]


def test_a_table_inside_a_data_cell_keeps_its_words_in_that_cell() -> None:
    html = """<table><tr><th>Region</th><th>Mail</th></tr><tr><td>North</td><td>
      <table><tr><td>Day</td><td>d@x</td></tr><tr><td>Night</td><td>n@x</td></tr></table></td></tr></table>"""
    assert grid(only_table(html, ".html"))[1] == ["North", "Day: d@x\nNight: n@x"]


def test_depth_beyond_the_library_loses_no_words() -> None:
    html = "<p>first</p>" + "<div>" * 5000 + "core" + "</div>" * 5000 + "<p>last</p>"
    assert [text for _, _, text in lines(html, ".html")] == ["first", "core", "last"]


@st.composite
def spanned_grids(draw: st.DrawFn) -> tuple[list[Cell], int, int]:
    n_rows, n_cols = draw(st.integers(2, 6)), draw(st.integers(2, 5))
    taken: set[tuple[int, int]] = set()
    cells = []
    for row in range(n_rows):
        for col in range(n_cols):
            if (row, col) in taken:
                continue
            # The first row and column stay unmerged, so that no row or column is a mere spacer.
            most_rows = 1 if row == 0 or col == 0 else n_rows - row
            most_cols = 1 if row == 0 or col == 0 else n_cols - col
            row_span, col_span = draw(st.integers(1, most_rows)), draw(st.integers(1, most_cols))
            while any((row, c) in taken for c in range(col, col + col_span)):
                col_span -= 1
            for r in range(row, row + row_span):
                taken |= {(r, c) for c in range(col, col + col_span)}
            text = f"c{row}.{col} {normalise(draw(WORDS))}".strip()
            cells.append(Cell(row=row, col=col, text=text, row_span=row_span, col_span=col_span))
    return cells, n_rows, n_cols


@settings(max_examples=80, deadline=None)
@given(spanned_grids())
def test_i3_a_grid_with_spans_comes_back_from_html(case: tuple[list[Cell], int, int]) -> None:
    cells, n_rows, n_cols = case
    rows = []
    for row in range(n_rows):
        tag = "th" if row == 0 else "td"
        own = [
            f"<{tag} rowspan={c.row_span} colspan={c.col_span}>"
            f"{escape(c.text).replace(chr(10), '<br>')}</{tag}>"
            for c in cells
            if c.row == row
        ]
        rows.append(f"<tr>{''.join(own)}</tr>")
    table = only_table(f"<table>{''.join(rows)}</table>", ".html")
    assert (table.n_rows, table.n_cols, table.header_rows) == (n_rows, n_cols, 1)
    wanted = Table(n_rows=n_rows, n_cols=n_cols, cells=tuple(cells))
    assert grid(table) == [[normalise(text) for text in row] for row in grid(wanted)]


# --- dispatch ------------------------------------------------------------------------------------


OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"


def zipped(members: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return buffer.getvalue()


def test_every_suffix_leads_to_a_family_and_every_family_to_a_module() -> None:
    assert set(registry.FAMILIES.values()) == set(registry.MODULES)
    assert parser_id_for(".nonsense") is None
    assert (parser_id_for(".HTML") or "").startswith("html-v")


def test_content_wins_over_the_name_and_says_so() -> None:
    parsed = parse_file(b"<html><body><p>exported</p></body></html>", suffix=".xlsx")
    assert [e.text for e in parsed.elements] == ["exported"]
    assert "content_is:.html" in parsed.warnings
    assert parsed.parser_id == parser_id_for(".xlsx")
    table = parse_file(b"Code\tPrice\nA\t1\nB\t2\n", suffix=".xls").elements[0].table
    assert table is not None and table.header_rows == 1


@pytest.mark.parametrize(
    ("data", "suffix", "code"),
    [
        (b"", ".md", "empty_file"),
        (b" \r\n\x00 ", ".txt", "empty_file"),
        (b"words", ".xyz", "not_supported"),
        (b"...\n\n---", ".txt", "no_text"),
        (b"<html><body><script>x</script></body></html>", ".html", "no_text"),
        (b"PK\x03\x04 cut short", ".docx", "damaged"),
        (b"\x7fELF\x02\x01", ".txt", "wrong_type"),
        (OLE + "EncryptedPackage".encode("utf-16-le"), ".docx", "encrypted"),
        (zipped({"word/document.xml": b"<a/>" * 20_000_000}), ".docx", "zip_bomb"),
        (zipped({"anything": b"x"}), ".docx", "wrong_type"),
    ],
)
def test_i12_what_cannot_be_read_has_a_reason(data: bytes, suffix: str, code: str) -> None:
    assert code_of(data, suffix) == code


def test_i10_a_library_that_fails_never_passes_on_its_words(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from parsers import plain

    def fail(data: bytes, *, suffix: str) -> Parsed:
        raise ValueError("Salary of E042")

    monkeypatch.setattr(plain, "parse", fail)
    with pytest.raises(Unreadable) as caught:
        parse_file(b"some words", suffix=".txt")
    assert caught.value.code == "damaged"
    assert "E042" not in str(caught.value) and caught.value.__suppress_context__


def test_a_missing_library_asks_for_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    from parsers import plain

    def fail(data: bytes, *, suffix: str) -> Parsed:
        raise ModuleNotFoundError("No module named 'pptx'", name="pptx")

    monkeypatch.setattr(plain, "parse", fail)
    assert code_of(b"some words", ".txt") == "needs_extra"


def test_capabilities_change_with_what_is_installed(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    before = registry.capabilities()
    for name in ("soffice", "tesseract"):
        program = tmp_path / name
        program.write_text("#!/bin/sh\necho List:\necho eng\necho vie\n")
        program.chmod(0o755)
    after = registry.capabilities()
    assert "soffice=no" in before and "tesseract=no" in before
    assert "soffice=yes" in after and "tesseract=eng+vie" in after


# --- golden files --------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["guide.md", "page.html", "clauses.txt", "prices.csv"])
def test_golden_elements(name: str) -> None:
    """Regenerate with GEN_TEST_DATA=1, and read the difference before committing it."""
    source = GOLDEN / name
    parsed = parse_file(source.read_bytes(), suffix=source.suffix)
    found = {
        "title": parsed.title,
        "language": parsed.language,
        "warnings": list(parsed.warnings),
        "elements": json.loads(elements_to_json(parsed.elements)),
    }
    golden = GOLDEN / f"{name}.json"
    if os.environ.get("GEN_TEST_DATA") == "1":
        golden.write_text(json.dumps(found, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
    assert found == json.loads(golden.read_text(encoding="utf-8"))


# --- the shared cases ----------------------------------------------------------------------------

TEXT_SUFFIXES = {".md", ".html", ".txt", ".csv"}


def row_facts() -> list[tuple[str, dict[str, object]]]:
    if not CASES.exists():
        return []
    truth = json.loads((CASES / "ground_truth.json").read_text(encoding="utf-8"))
    found = [
        (f"docs/{entry['file']}", fact)
        for entry in truth
        if Path(entry["file"]).suffix in TEXT_SUFFIXES
        for table in entry["tables"]
        for fact in table["facts"]
    ]
    for line in (CASES / "cases.jsonl").read_text(encoding="utf-8").splitlines():
        case = json.loads(line)
        for name in case["input"]:
            if Path(name).suffix in TEXT_SUFFIXES:
                found += [(name, fact) for fact in case["row_facts"]]
    return found


def flat(text: object) -> str:
    return "".join(unicodedata.normalize("NFKC", str(text)).casefold().split())


def holds(table: Table, fact: dict[str, object]) -> bool:
    """Whether one row has label and value, in a column under all of the fact's headers."""
    rows = grid(table)
    columns = fact["col"] if isinstance(fact["col"], list) else [fact["col"]]
    values = fact["value"] if isinstance(fact["value"], list) else [fact["value"]]
    for row in rows[table.header_rows :]:
        if not any(flat(fact["row"]) in flat(cell) for cell in row):
            continue
        for col, cell in enumerate(row):
            heads = flat(" ".join(head[col] for head in rows[: max(1, table.header_rows)]))
            if any(flat(v) in flat(cell) for v in values) and all(
                flat(c) in heads for c in columns
            ):
                return True
    return False


@needs_cases
@pytest.mark.parametrize(("name", "fact"), row_facts())
def test_i3_row_facts_of_the_shared_cases(name: str, fact: dict[str, object]) -> None:
    path = CASES / name
    parsed = parse_file(path.read_bytes(), suffix=path.suffix)
    assert any(e.table is not None and holds(e.table, fact) for e in parsed.elements)


@needs_cases
def test_text_facts_of_the_shared_cases() -> None:
    truth = json.loads((CASES / "ground_truth.json").read_text(encoding="utf-8"))
    missing = []
    for entry in truth:
        path = CASES / "docs" / entry["file"]
        if path.suffix not in TEXT_SUFFIXES or not (entry["text_facts"] or entry["must_not"]):
            continue
        elements = parse_file(path.read_bytes(), suffix=path.suffix).elements
        whole = flat(document_text(elements)[0])
        missing += [fact for fact in entry["must_not"] if flat(fact) in whole]
        for fact in entry["text_facts"]:
            heads: list[tuple[int, str]] = []
            paths = []
            for e in elements:
                if e.kind is Kind.HEADING:
                    heads = [h for h in heads if h[0] < (e.level or 1)] + [(e.level or 1, e.text)]
                if flat(fact["sentence"]) in flat(document_text([e])[0]):
                    paths.append([text for _, text in heads])
            wanted = fact["heading_path"] or []
            if not any(all(w in path for w in wanted) for path in paths):
                missing.append(fact)
    assert missing == []


@needs_cases
def test_i12_every_shared_file_is_read_or_refused_with_a_reason() -> None:
    for path in sorted((CASES / "docs").iterdir()):
        if path.suffix in TEXT_SUFFIXES or path.name.startswith("bad_"):
            try:
                parsed = parse_file(path.read_bytes(), suffix=path.suffix)
            except Unreadable as exc:
                assert exc.code in REASONS
            else:
                assert document_text(parsed.elements)[0]
