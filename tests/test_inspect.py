"""mucluc inspect as a page: everything shown, nothing run, both sides tied to each other."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path

import pytest
from browser import Browser, chromium
from typer.testing import CliRunner, Result

from chunkers.chunk import Chunk, ChunkingRecipe
from enrich.embedders import load
from enrich.tokenizers import recipe_for
from evals.quality import chunks_of
from flows.cli import app
from flows.inspect_page import render
from parsers.elements import Cell, Element, Kind, Parsed, Table
from parsers.text import document_text

ROOT = Path(__file__).resolve().parents[1]
DOCUMENTS = ROOT / "examples" / "documents"
ATTACK = '<script>window.harm = 1</script><img src="http://192.0.2.1/x.png" onerror="harm = 1">'

FEES = Table(
    n_rows=6,
    n_cols=4,
    header_rows=2,
    header_cols=1,
    section_rows=(2,),
    caption="Fees & charges",
    notes="in million dong",
    sheet="2026",
    cells=(
        Cell(row=0, col=0, text="Plan", row_span=2),
        Cell(row=0, col=1, text="Fee", col_span=2),
        Cell(row=1, col=1, text="1–10"),
        Cell(row=1, col=2, text="over 10"),
        Cell(row=0, col=3, text="Note", row_span=2),
        Cell(row=2, col=0, text="North", col_span=4),
        Cell(row=3, col=0, text="Basic"),
        Cell(row=3, col=1, text="18"),
        Cell(row=3, col=2, text="42", row_span=2),
        Cell(row=4, col=0, text="Plus"),
        Cell(row=4, col=1, text="27"),
        Cell(row=5, col=0, text=ATTACK),
        Cell(row=5, col=1, text="a < b"),
    ),
)
ELEMENTS = (
    Element(kind=Kind.HEADING, text=f"Terms {ATTACK}", level=1, page_start=1, page_end=1),
    Element(kind=Kind.TEXT, text="𝒳 and 🙂 come first. Then " + "a word " * 500, page_start=1),
    Element(kind=Kind.LIST_ITEM, text="first", level=1, page_start=2),
    Element(kind=Kind.CODE, text="if a < b:\n    return", page_start=2),
    Element(kind=Kind.TABLE, table=FEES, page_start=2, page_end=3),
    Element(kind=Kind.NOTE, text="a note", page_start=3, page_end=3),
)
PARSED = Parsed(
    elements=ELEMENTS,
    parser_id="test-v1",
    title=f"Title {ATTACK}",
    page_native=True,
    warnings=("hidden_text_left_out",),
)


class Reader(HTMLParser):
    """What a browser would make of a page: its tags with their attributes and their text."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str]]] = []
        self.texts: list[list[str]] = []
        self._open: list[int] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, {name: value or "" for name, value in attrs}))
        self.texts.append([])
        if tag not in ("meta", "input", "br", "img", "link"):
            self._open.append(len(self.tags) - 1)

    def handle_endtag(self, tag: str) -> None:
        assert self.tags[self._open.pop()][0] == tag, f"</{tag}> closes another"

    def handle_data(self, data: str) -> None:
        for number in self._open:
            self.texts[number].append(data)

    def find(self, tag: str, **attributes: str) -> list[tuple[dict[str, str], str]]:
        """(attributes, text) of the tags whose attributes hold the given words."""
        return [
            (attrs, "".join(text))
            for (name, attrs), text in zip(self.tags, self.texts, strict=True)
            if name == tag
            and all(
                word in attrs.get(key.rstrip("_"), "").split() for key, word in attributes.items()
            )
        ]


def pieces_of(parsed: Parsed) -> tuple[list[tuple[Chunk, str]], ChunkingRecipe]:
    model = load("hashing:64")
    recipe = recipe_for(model.card, model.tokenizer)
    pieces = chunks_of(parsed, recipe=recipe, card=model.card, tokenizer=model.tokenizer)
    return list(pieces), recipe


def page_of(parsed: Parsed, name: str = "terms.docx") -> str:
    pieces, recipe = pieces_of(parsed)
    return render(name, parsed, pieces, recipe=recipe, model="hashing:64")


@pytest.fixture(scope="module")
def page() -> str:
    return page_of(PARSED, f"{ATTACK}.docx")


@pytest.fixture
def reader(page: str) -> Reader:
    return Reader(page)


def test_nothing_of_a_document_becomes_markup(page: str, reader: Reader) -> None:
    assert len(reader.find("script")) == 1
    assert reader.find("img") == []
    assert page.count("&lt;script&gt;window.harm") >= 5  # name, title, heading, cell, chunk
    policies = [a["content"] for a, _ in reader.find("meta") if "http-equiv" in a]
    assert len(policies) == 1
    assert policies[0].startswith("default-src 'none'; style-src 'sha256-")
    assert "unsafe" not in policies[0]
    assert not [a for _, a in reader.tags if {"src", "style", "onclick"} & set(a)]
    assert [a["href"] for _, a in reader.tags if "href" in a] == ["#chunks"]


def test_header_cells_are_header_cells_and_spans_are_kept(reader: Reader) -> None:
    cells = {
        attrs["data-cell"]: (tag, attrs, "".join(text))
        for (tag, attrs), text in zip(reader.tags, reader.texts, strict=True)
        if "data-cell" in attrs
    }
    assert {place for place, (tag, _, _) in cells.items() if tag == "th"} == {
        "0,0", "0,1", "0,3", "1,1", "1,2", "2,0", "3,0", "4,0", "5,0",
    }  # fmt: skip
    assert (cells["0,0"][1]["rowspan"], cells["0,0"][1]["scope"]) == ("2", "col")
    assert (cells["0,1"][1]["colspan"], cells["0,1"][1]["scope"]) == ("2", "colgroup")
    assert (cells["2,0"][1]["colspan"], cells["2,0"][1]["scope"]) == ("4", "rowgroup")
    assert cells["3,2"][1]["rowspan"] == "2"
    assert cells["3,0"][1]["scope"] == "row"
    assert (cells["3,3"][0], cells["3,3"][2]) == ("td", "")  # no cell covers it
    assert cells["5,1"][2] == "a < b"
    area = sum(
        int(attrs.get("rowspan", 1)) * int(attrs.get("colspan", 1))
        for _, attrs, _ in cells.values()
    )
    assert area == FEES.n_rows * FEES.n_cols
    assert [text for _, text in reader.find("caption")] == ["Fees & charges sheet 2026"]
    assert [text for _, text in reader.find("p", class_="notes")] == ["in million dong"]
    assert len(reader.find("tr", class_="section")) == 1


def test_cells_that_overlap_or_leave_the_grid_are_drawn_within_it() -> None:
    table = Table(
        n_rows=2,
        n_cols=2,
        cells=(
            Cell(row=0, col=0, text="wide", col_span=9, row_span=9),
            Cell(row=1, col=1, text="under it"),
        ),
    )
    parsed = Parsed(elements=(Element(kind=Kind.TABLE, table=table),), parser_id="test-v1")
    (attrs, text), *more = Reader(page_of(parsed)).find("td")
    assert (attrs["rowspan"], attrs["colspan"], text, more) == ("2", "2", "wide", [])


def test_the_counts_on_top_are_those_of_the_document(reader: Reader) -> None:
    pieces, recipe = pieces_of(PARSED)
    facts = dict(
        zip(
            (text for _, text in reader.find("dt")),
            (text for _, text in reader.find("dd")),
            strict=True,
        )
    )
    assert facts["chunks"] == str(len(pieces)) == str(len(reader.find("article", class_="chunk")))
    assert facts["elements"] == (
        "1 heading, 1 paragraph, 1 list item, 1 code block, 1 table, 1 note"
    )
    tokens = [chunk.tokens for chunk, _ in pieces]
    assert facts["tokens"] == f"{sum(tokens):,} in all, {min(tokens)} to {max(tokens)} a chunk"
    assert facts["pages"] == "3"
    assert facts["warnings"].startswith("hidden text left out")
    assert [text for _, text in reader.find("p", class_="page")] == ["page 1", "page 2", "page 3"]
    meters = [attrs for attrs, _ in reader.find("meter")]
    assert [int(m["value"]) for m in meters] == tokens
    assert {int(m["max"]) for m in meters} == {recipe.body_budget}


def test_every_chunk_is_shown_whole_with_what_was_added_and_its_context_apart(
    reader: Reader,
) -> None:
    pieces, _ = pieces_of(PARSED)
    assert [text for _, text in reader.find("div", class_="body")] == [c.text for c, _ in pieces]
    added = [c.text[start:end] for c, _ in pieces for start, end in c.added]
    assert added, "nothing is repeated in any chunk: the test says nothing"
    assert [text for _, text in reader.find("span", class_="added")] == added
    contexts = [text for _, text in reader.find("div", class_="context")]
    assert len(contexts) == len(pieces)
    assert all(
        f"(page {chunk.page_start})" in c for c, (chunk, _) in zip(contexts, pieces, strict=True)
    )


def test_a_chunk_names_the_exact_words_it_covers(reader: Reader) -> None:
    """Ranges count as a browser does: a letter beyond the basic plane is two units."""
    whole, spans = document_text(PARSED.elements)
    pieces, _ = pieces_of(PARSED)
    seen: dict[int, list[tuple[int, int]]] = {}
    for (attrs, _), (chunk, _) in zip(reader.find("article"), pieces, strict=True):
        for entry in attrs["data-covers"].split():
            number, *extent = map(int, entry.split(":"))
            start, end = spans[number]
            assert max(start, chunk.char_start) < min(end, chunk.char_end)
            if extent:
                units = whole[start:end].encode("utf-16-le")
                words = units[2 * extent[0] : 2 * extent[1]].decode("utf-16-le")
                assert words == whole[max(start, chunk.char_start) : min(end, chunk.char_end)]
                seen.setdefault(number, []).append((extent[0], extent[1]))
    assert len(seen[1]) > 1, "the long paragraph was not split"
    assert all(before[1] <= after[0] for before, after in pairwise(seen[1]))


def test_an_empty_document_says_so() -> None:
    shown = page_of(Parsed(elements=(), parser_id="test-v1"))
    assert "Nothing was found in this file." in shown
    assert "No chunk was made." in shown


@pytest.fixture
def call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Result]:
    monkeypatch.setenv("MUCLUC_HOME", str(tmp_path / "home"))
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    (tmp_path / "leave.md").write_text("# Leave\n\nFourteen days a year.\n")
    return lambda *arguments: CliRunner().invoke(
        app, ["inspect", *map(str, arguments), "--model", "hashing:64"]
    )


def test_one_file_becomes_a_page_and_the_command_says_where(
    call: Callable[..., Result], tmp_path: Path
) -> None:
    done = call(tmp_path / "leave.md")
    assert done.exit_code == 0, done.output
    assert "leave.md.inspect.html" in done.output
    assert "Fourteen days" not in done.output
    assert "Fourteen days a year." in (tmp_path / "here" / "leave.md.inspect.html").read_text()


def test_what_is_asked_for_is_what_is_written(call: Callable[..., Result], tmp_path: Path) -> None:
    here, file = tmp_path / "here", tmp_path / "leave.md"
    assert "Fourteen days" in call(file, "--terminal").output
    assert call(file, "--jsonl", "chunks.jsonl").exit_code == 0
    assert [path.name for path in here.iterdir()] == ["chunks.jsonl"]
    assert call(file, "--html", "named.html").exit_code == 0
    assert sorted(path.name for path in here.iterdir()) == ["chunks.jsonl", "named.html"]
    assert call(file, "--html", "-").stdout.startswith("<!DOCTYPE html>")
    assert "Fourteen days" in call(tmp_path, "--terminal").output
    refused = call(tmp_path, "--html", "named.html")
    assert (refused.exit_code, "one file" in refused.output) == (2, True)
    nowhere = call(file, "--html", tmp_path / "absent" / "named.html")
    assert (nowhere.exit_code, "cannot be written" in nowhere.output) == (1, True)


# In a real browser.


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with chromium(tmp_path_factory.mktemp("chromium")) as started:
        yield started


@pytest.fixture
def opened(browser: Browser, page: str, tmp_path: Path) -> Browser:
    path = tmp_path / "page.html"
    path.write_text(page, encoding="utf-8")
    browser.open(path)
    return browser


LIT = "[...document.querySelectorAll('{}')].map((node) => Number(node.dataset.number))"
CONTRAST = """(() => {
  const paint = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const rgb = (color) => {
    paint.clearRect(0, 0, 1, 1); paint.fillStyle = color; paint.fillRect(0, 0, 1, 1);
    return [...paint.getImageData(0, 0, 1, 1).data];
  };
  const light = (color) => {
    const [r, g, b] = rgb(color).slice(0, 3).map((v) => v / 255)
      .map((v) => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const back = (node) => {
    for (; node; node = node.parentElement) {
      const color = getComputedStyle(node).backgroundColor;
      if (rgb(color)[3] === 255) return color;
    }
    return getComputedStyle(document.documentElement).backgroundColor;
  };
  let worst = [99, ""];
  for (const node of document.querySelectorAll("body *")) {
    const said = [...node.childNodes].some((child) => child.nodeType === 3 && child.data.trim());
    if (!said || node.matches("script, .skip") || getComputedStyle(node).opacity === "0") continue;
    const [a, b] = [light(getComputedStyle(node).color), light(back(node))];
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (ratio < worst[0]) worst = [ratio, `${node.tagName}.${node.className}`];
  }
  return worst;
})()"""


@pytest.mark.parametrize("dark", [False, True])
def test_a_page_opens_without_a_network_without_trouble_and_can_be_read(
    browser: Browser, page: str, tmp_path: Path, dark: bool
) -> None:
    path = tmp_path / "page.html"
    path.write_text(page, encoding="utf-8")
    browser.open(path, dark=dark)
    shown = browser.run("getComputedStyle(document.body).backgroundColor")
    assert (sum(map(int, re.findall(r"\d+", shown))) < 200) is dark
    ratio, place = browser.run(CONTRAST)
    assert ratio >= 4.5, place
    # Also while everything is lit.
    browser.run(
        "document.querySelectorAll('.chunk, .element, td, th').forEach((n) => light(n, 'lit'))"
    )
    ratio, place = browser.run(CONTRAST)
    assert ratio >= 4.5, place
    assert browser.run("window.harm") is None
    assert browser.trouble == []
    assert browser.requests == [path.resolve().as_uri()]


def test_a_chunk_lights_what_it_covers_and_an_element_its_chunks(opened: Browser) -> None:
    covers = opened.run("covers.map((all) => all.map((one) => one.element))")
    first = next(number for number, covered in enumerate(covers) if covered)
    opened.point(f".chunk[data-number='{first}']")
    assert opened.run(LIT.format(".element.lit")) == covers[first]
    opened.point(".element[data-number='1']")
    assert opened.run(LIT.format(".chunk.lit")) == [n for n, all_ in enumerate(covers) if 1 in all_]


def test_a_table_cell_lights_the_chunk_that_holds_it_and_back(opened: Browser) -> None:
    opened.point("[data-cell='4,1']", click=True)
    holding = opened.run(LIT.format(".chunk.lit"))
    assert holding
    texts = opened.run("[...document.querySelectorAll('.chunk.lit .body')].map((n) => n.innerText)")
    assert all("Plus" in text and "27" in text for text in texts)
    opened.point(f".chunk[data-number='{holding[0]}']", click=True)
    lit = opened.run("[...document.querySelectorAll('td.lit')].map((n) => n.innerText)")
    assert "27" in lit


def test_the_part_of_a_split_paragraph_is_marked_exactly(opened: Browser) -> None:
    chunk = opened.run("covering[1][1]")
    opened.run(f"choose(chunks[{chunk}]), 0")
    marked, said = opened.run(
        f"[[...exact].map(String).join(''), document.querySelectorAll('.body')[{chunk}].innerText]"
    )
    assert marked.split() == said.split()


def test_the_page_can_be_used_by_keys_alone(opened: Browser) -> None:
    opened.run("chunks[0].focus(), 0")
    opened.press("ArrowDown")
    assert opened.run("document.activeElement.dataset.number") == "1"
    assert opened.run("document.activeElement.getAttribute('aria-current')") == "true"
    opened.press("Enter")
    assert opened.run("document.activeElement.classList.contains('element')")
    opened.press("End")
    assert opened.run("document.activeElement.dataset.number") == str(len(ELEMENTS) - 1)
    opened.press("/")
    assert opened.run("document.activeElement.id") == "filter"
    opened.press("Escape")
    assert opened.run("document.querySelectorAll('.lit, .here').length") == 0


def test_the_filter_finds_words_without_their_accents(browser: Browser, tmp_path: Path) -> None:
    parsed = Parsed(
        elements=(
            Element(kind=Kind.HEADING, text="Điều khoản", level=1),
            Element(kind=Kind.TEXT, text="Bảo hành mười hai tháng."),
            Element(kind=Kind.HEADING, text="Giá", level=1),
            Element(kind=Kind.TEXT, text="Chưa gồm thuế."),
        ),
        parser_id="test-v1",
    )
    path = tmp_path / "page.html"
    path.write_text(page_of(parsed), encoding="utf-8")
    browser.open(path)
    shown = "[...document.querySelectorAll('.chunk, .element')].filter((n) => !n.hidden).length"
    assert browser.run(shown) == 6
    browser.run("filter.value = 'bao hanh', filter.dispatchEvent(new Event('input')), 0")
    assert browser.run(shown) == 2
    assert browser.run("document.querySelector('#count-chunks').textContent") == "1 of 2"
    browser.run("filter.value = 'DIEU', filter.dispatchEvent(new Event('input')), 0")
    assert browser.run("document.querySelector('#count-elements').textContent") == "1 of 4"


def test_two_thousand_chunks_open_and_answer_quickly(browser: Browser, tmp_path: Path) -> None:
    elements = [
        Element(kind=kind, text=text, level=1 if kind is Kind.HEADING else None)
        for number in range(2000)
        for kind, text in (
            (Kind.HEADING, f"Section {number}"),
            (Kind.TEXT, f"Clause {number} holds for a year. " * 20),
        )
    ]
    path = tmp_path / "page.html"
    path.write_text(
        page_of(Parsed(elements=tuple(elements), parser_id="test-v1")), encoding="utf-8"
    )
    browser.open(path)
    assert browser.run("chunks.length") >= 2000
    took = browser.run(
        "(() => { const start = performance.now(); choose(chunks[1500]);"
        "document.body.offsetHeight; return performance.now() - start; })()"
    )
    assert took < 1000, "milliseconds; a tenth is usual"
    assert browser.run("elements[3001].getBoundingClientRect().top < innerHeight")
    assert browser.trouble == []


@pytest.mark.parametrize(
    "name",
    [
        "acme/sales/bang-gia-2026-12.xlsx",
        "acme/support/dieu-khoan-bao-hanh.docx",
        "globex/rates/sea-freight-2026-q4.pdf",
    ],
)
def test_pages_of_real_documents_open(
    browser: Browser, call: Callable[..., Result], tmp_path: Path, name: str
) -> None:
    done = call(DOCUMENTS / name, "--html", "page.html")
    assert done.exit_code == 0, done.output
    browser.open(tmp_path / "here" / "page.html", dark=True)
    assert browser.run("document.querySelectorAll('th[scope]').length") >= 4
    assert browser.run("covers.every((all) => all.length > 0)")
    assert browser.trouble == []
    assert len(browser.requests) == 1
