"""The example set is what its script makes, says what the golden set quotes, to whom it may."""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from parsers.elements import Table
from parsers.registry import parse_file
from parsers.text import document_text, normalise
from sources.files import Metadata, ReadFile
from sources.folder import list_folder, read_file

ROOT = Path(__file__).resolve().parents[1]
EXAMPLES = ROOT / "examples"
sys.path.insert(0, str(EXAMPLES))
make_examples = importlib.import_module("make_examples")
pdf_files = importlib.import_module("company.pdf_files")

FACTS = json.loads((EXAMPLES / "facts.json").read_text("utf-8"))
GOLDEN = [json.loads(line) for line in (EXAMPLES / "golden.jsonl").read_text("utf-8").splitlines()]
DEMO = json.loads((EXAMPLES / "demo_questions.json").read_text("utf-8"))
DOCUMENTS = {(entry["tenant"], entry["uri"]): entry for entry in FACTS["documents"]}
TENANTS = ("acme", "globex")


def has_font() -> bool:
    try:
        pdf_files.find_fonts()
    except pdf_files.FontMissing:
        return False
    return True


def committed() -> dict[str, bytes]:
    paths = [p for p in (EXAMPLES / "documents").rglob("*") if p.is_file()]
    paths += [EXAMPLES / name for name in ("facts.json", "golden.jsonl", "demo_questions.json")]
    paths.append(ROOT / "docs" / "examples.md")
    return {path.relative_to(ROOT).as_posix(): path.read_bytes() for path in paths}


@pytest.fixture(scope="module")
def read() -> dict[tuple[str, str], ReadFile]:
    """Every example file as the pipeline reads it, by tenant and URI."""
    found = {}
    for tenant in TENANTS:
        listing = list_folder(EXAMPLES / "documents" / tenant)
        assert listing.complete
        assert listing.problems == ()
        found.update({(tenant, file.uri): read_file(file) for file in listing.files})
    return found


def visible(metadata: Metadata, principals: list[str], day: date) -> bool:
    first, last = metadata.valid_from or date.min, metadata.valid_to or date.max
    return bool(set(metadata.acl or ()) & set(principals)) and first <= day <= last


# The script


def test_text_and_office_files_are_what_the_script_makes() -> None:
    made = make_examples.make_files(without_pdf=True)
    kept = {path: data for path, data in committed().items() if not path.endswith(".pdf")}
    assert sorted(made) == sorted(kept)
    assert [path for path in made if made[path] != kept[path]] == []


@pytest.mark.skipif(not has_font(), reason="needs reportlab and font-roboto (extra dev)")
def test_another_process_in_another_time_zone_writes_the_same_bytes(tmp_path: Path) -> None:
    environment = {**os.environ, "PYTHONHASHSEED": "7", "TZ": "Asia/Ho_Chi_Minh"}
    command = [sys.executable, str(EXAMPLES / "make_examples.py"), "--into", str(tmp_path)]
    subprocess.run(command, check=True, env=environment, capture_output=True)
    written = {
        path.relative_to(tmp_path).as_posix(): path.read_bytes()
        for path in tmp_path.rglob("*")
        if path.is_file()
    }
    kept = committed()
    assert sorted(written) == sorted(kept)
    assert [path for path in written if written[path] != kept[path]] == []


def test_the_set_is_small_and_varied() -> None:
    assert sum(len(data) for data in committed().values()) < 2_000_000
    assert len(DOCUMENTS) >= 18
    assert {tenant for tenant, _ in DOCUMENTS} == set(TENANTS)
    suffixes = {uri.rsplit(".", 1)[-1] for _, uri in DOCUMENTS}
    assert suffixes >= {"md", "html", "docx", "xlsx", "csv", "tsv", "txt", "pdf", "eml"}
    roles = {role for entry in DOCUMENTS.values() for role in entry["readers"]}
    assert roles >= {"role:staff", "role:hr", "role:sales", "role:support", "role:legal"}
    rows = [len({cell["row"] for cell in entry["cells"]}) for entry in DOCUMENTS.values()]
    assert max(rows) >= 120  # a table that must be split


# Metadata


def test_sources_state_what_the_facts_say(read: dict[tuple[str, str], ReadFile]) -> None:
    assert set(read) == set(DOCUMENTS)
    for key, entry in DOCUMENTS.items():
        metadata = read[key].metadata
        assert sorted(metadata.acl or ()) == sorted(entry["readers"]), key
        assert metadata.title == entry["title"], key
        for name in ("valid_from", "valid_to"):
            day = getattr(metadata, name)
            assert (day and day.isoformat()) == entry[name], key


def test_one_document_has_no_acl_and_one_folder_denies(
    read: dict[tuple[str, str], ReadFile],
) -> None:
    assert [uri for (_, uri), file in read.items() if file.metadata.acl is None] == [
        "drafts/ke-hoach-tai-co-cau.md"
    ]
    assert "acl: []" in (EXAMPLES / "documents/acme/legal/_meta.yaml").read_text("utf-8")


def test_free_metadata_names_the_employee(read: dict[tuple[str, str], ReadFile]) -> None:
    annex = read["acme", "hr/phu-luc-hop-dong-E042.docx"].metadata
    assert annex.extra["employee"] == "E042"


# Facts against the parsed documents


def bodies(read: dict[tuple[str, str], ReadFile], key: tuple[str, str]) -> tuple[str, list[Table]]:
    file = read[key]
    body = file.data[file.body_offset :]
    parsed = parse_file(body, suffix=Path(key[1]).suffix)
    tables = [element.table for element in parsed.elements if element.table is not None]
    return document_text(parsed.elements)[0], tables


def expand(table: Table) -> list[list[str]]:
    """The grid with every spanned position filled, built apart from the chunkers' own."""
    grid = [["" for _ in range(table.n_cols)] for _ in range(table.n_rows)]
    for cell in table.cells:
        for row in range(cell.row, cell.row + cell.row_span):
            for col in range(cell.col, cell.col + cell.col_span):
                grid[row][col] = normalise(cell.text)
    return grid


def triples(table: Table) -> Iterator[tuple[str, tuple[str, ...], str]]:
    """(a cell of the row, headers of the value's column, value) for every pair in every row."""
    grid = expand(table)
    for row in grid[table.header_rows :]:
        for col, value in enumerate(row):
            names = tuple(dict.fromkeys(grid[h][col] for h in range(table.header_rows)))
            for label in set(row):
                yield label, names, value


@pytest.mark.parametrize("key", DOCUMENTS, ids="/".join)
def test_every_fact_stands_in_the_parsed_document(
    read: dict[tuple[str, str], ReadFile], key: tuple[str, str]
) -> None:
    text, tables = bodies(read, key)
    entry = DOCUMENTS[key]
    assert text.strip()
    assert [quote for quote in entry["quotes"] if normalise(quote) not in text] == []
    found = {triple for table in tables for triple in triples(table)}
    wanted = {
        (normalise(c["row"]), tuple(map(normalise, c["col"])), normalise(c["value"]))
        for c in entry["cells"]
    }
    assert sorted(wanted - found) == []


# Golden questions


def test_golden_set_has_enough_questions_of_each_kind() -> None:
    tags = Counter(tag for row in GOLDEN for tag in row["tags"])
    assert len(GOLDEN) >= 100
    for tag in ("table", "exact_lookup", "synonym_or_acronym", "as_of", "no_diacritics"):
        assert tags[tag] >= 20, tag
    others = ("short", "comparison", "multi_hop", "policy", "security_sensitive", "unanswerable")
    assert min(tags[tag] for tag in others) >= 5
    assert set(Counter(row["language"] for row in GOLDEN)) == {"vi", "en"}
    assert {row["tenant"] for row in GOLDEN} == set(TENANTS)
    assert len({row["id"] for row in GOLDEN}) == len(GOLDEN)


def test_no_question_is_asked_twice_by_the_same_person_on_the_same_day() -> None:
    asked = Counter(
        (row["query"], row["tenant"], row["as_of"], *row["principals"]) for row in GOLDEN
    )
    assert [question for question, times in asked.items() if times > 1] == []


@pytest.mark.parametrize("key", DOCUMENTS, ids="/".join)
def test_every_golden_quote_stands_in_its_document(
    read: dict[tuple[str, str], ReadFile], key: tuple[str, str]
) -> None:
    wanted = [
        source
        for row in GOLDEN
        for source in row["expected"]
        if (row["tenant"], source["uri"]) == key
    ]
    if not wanted:
        assert key in UNASKED
        return
    text, tables = bodies(read, key)
    rows = [row for table in tables for row in expand(table)]
    for source in wanted:
        quote = normalise(source["quote"])
        assert len(quote) >= 3
        assert quote in text
        if "row" in source:
            holders = [row for row in rows if any(quote in cell for cell in row)]
            assert len(holders) == 1, source
            assert normalise(source["row"]) in holders[0]
            assert normalise(source["value"]) in holders[0]


UNASKED = {
    ("acme", "drafts/ke-hoach-tai-co-cau.md"),  # nobody may read it
    ("globex", "people/payroll-2026-11.xlsx"),  # asked for only by those who may not
}


def test_askers_may_read_what_is_expected_and_not_what_is_forbidden(
    read: dict[tuple[str, str], ReadFile],
) -> None:
    for row in GOLDEN:
        day = date.fromisoformat(row["as_of"])
        for source in row["expected"]:
            metadata = read[row["tenant"], source["uri"]].metadata
            assert visible(metadata, row["principals"], day), row["id"]
        for uri in row.get("must_not", ()):
            file = read.get((row["tenant"], uri))
            assert file is None or not visible(file.metadata, row["principals"], day), row["id"]


def test_refused_and_unanswerable_questions_expect_nothing() -> None:
    for row in GOLDEN:
        is_empty = bool({"security_sensitive", "unanswerable"} & set(row["tags"]))
        assert is_empty == (not row["expected"]), row["id"]
        if "security_sensitive" in row["tags"]:
            (uri,) = row["must_not"]
            assert any(uri == known for _, known in DOCUMENTS), row["id"]


def test_joined_questions_need_two_sources_and_plain_ones_have_no_diacritics() -> None:
    for row in GOLDEN:
        if {"comparison", "multi_hop"} & set(row["tags"]):
            assert len(row["expected"]) >= 2, row["id"]
        if "no_diacritics" in row["tags"]:
            assert row["query"].isascii(), row["id"]
            assert row["language"] == "vi", row["id"]


def test_as_of_questions_depend_on_their_day(read: dict[tuple[str, str], ReadFile]) -> None:
    for row in GOLDEN:
        if "as_of" not in row["tags"]:
            assert row["as_of"] == FACTS["today"], row["id"]
            continue
        # On some other day, the same person would be answered from another set of documents.
        uris = [source["uri"] for source in row["expected"]] + row.get("must_not", [])
        metadata = [read[row["tenant"], uri].metadata for uri in uris]
        days = [date.fromisoformat(row["as_of"])]
        days += [edge for m in metadata for edge in (m.valid_from, m.valid_to) if edge]
        answers = {tuple(visible(m, row["principals"], day) for m in metadata) for day in days}
        answers.add(tuple(visible(m, row["principals"], date(2024, 1, 1)) for m in metadata))
        assert len(answers) > 1, row["id"]


# The demo's stories


def test_demo_stories_are_one_of_each_kind(read: dict[tuple[str, str], ReadFile]) -> None:
    plain, code, refused, allowed = DEMO
    assert plain["query"].isascii()
    assert code["query"] == "ERR_4021"
    assert refused["query"] == allowed["query"]
    assert refused["expected"] is None
    assert refused["must_not"] == allowed["expected"]
    hidden = read["acme", refused["must_not"]].metadata
    day = date.fromisoformat(refused["as_of"])
    assert not visible(hidden, refused["principals"], day)
    for story in (plain, code, allowed):
        key = (story["tenant"], story["expected"])
        assert visible(read[key].metadata, story["principals"], date.fromisoformat(story["as_of"]))
        text, _ = bodies(read, key)
        assert normalise(story["quote"]) in text


def test_questions_carry_only_the_documented_keys() -> None:
    keys = {"id", "query", "language", "tags", "tenant", "principals", "as_of", "expected"}
    for row in GOLDEN:
        assert keys <= set(row) <= keys | {"must_not"}, row["id"]
        for source in row["expected"]:
            assert_source(source)


def assert_source(source: dict[str, Any]) -> None:
    assert set(source) in ({"uri", "quote"}, {"uri", "quote", "row", "col", "value"})
