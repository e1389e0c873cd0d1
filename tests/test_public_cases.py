"""The small cases from public bug reports: each has its test here, or names the test it has."""

from __future__ import annotations

import json
import os
import re
import unicodedata
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from syncs import search, sync

from chunkers.chunk import Chunk, ChunkingRecipe
from chunkers.structure import chunk
from enrich.embedders import load
from evals.facts import flat, score_file
from evals.quality import chunk_row
from parsers.elements import Parsed
from parsers.registry import parse_file
from parsers.text import document_text
from store.database import Store

CASES = Path(__file__).resolve().parents[1].parent / "shared" / "cases"
# Cases of a whole pipeline, and the test that covers each.
COVERED = {
    "acl-on-late-change": "test_sync.py::test_i14_a_changed_acl_embeds_nothing_and_holds_at_once",
    "acl-context-leak": (
        "test_access.py::test_i5_every_way_of_asking_sees_what_the_model_sees_and_nothing_else"
    ),
    "batch-token-cap": "test_embedders.py::test_openai_batches_are_bounded_by_count_and_by_tokens",
    "cached-failure": "test_public_cases.py::test_a_failure_is_not_kept_as_a_result",
    "rename-no-reembed": "test_sync.py::test_i14_a_changed_date_embeds_nothing_and_holds_at_once",
    "partial-listing-not-deletion": "test_sync.py::test_i13_a_partial_listing_deletes_nothing",
    "cleanup-batch-size": "test_public_cases.py::test_the_size_of_batches_deletes_nothing",
    "deleted-still-found": "test_public_cases.py::test_a_deleted_file_is_not_found_any_more",
    "limit-over-ef": "test_public_cases.py::test_fifty_are_found_where_fifty_are_asked_for",
    "khong-dau": "test_public_cases.py::test_words_are_found_without_their_marks",
    "old-version-next-to-new": "test_public_cases.py::test_one_version_of_a_price_is_found",
    "vectorizer-recreate": (
        "test_backfill.py::test_a_filled_version_shows_what_the_active_one_shows_on_every_day"
    ),
    "reembed-deletes-new": "test_public_cases.py::test_a_changed_document_of_one_chunk_is_found",
}


def all_cases() -> list[dict[str, Any]]:
    path = CASES / "cases.jsonl"
    return [json.loads(line) for line in path.open(encoding="utf-8")] if path.is_file() else []


@pytest.mark.parametrize("case", all_cases(), ids=lambda case: case["id"])
def test_every_case_has_a_test(case: dict[str, Any]) -> None:
    if case["id"] in COVERED:
        file, _, name = COVERED[case["id"]].partition("::")
        source = (Path(__file__).parent / file).read_text(encoding="utf-8")
        assert re.search(rf"^def {name}\(", source, re.MULTILINE)
        return
    assert case["input"], "no input to read: name the test that covers this case in COVERED"
    assert case["row_facts"] or case["text_facts"] or case["id"] in CHECKS
    check_case(case)


def test_no_case_is_named_that_is_not_there(cases: Path) -> None:
    assert COVERED.keys() <= {case["id"] for case in all_cases()}


# --- cases of parsing and chunking ---------------------------------------------------------------


def read(case: dict[str, Any]) -> tuple[Parsed, list[Chunk]]:
    """Parse the case's file and chunk it at its own budget, or at one that cuts."""
    embedder = load("hashing:64")
    recipe = ChunkingRecipe(
        tokenizer=embedder.tokenizer.name,
        body_budget=case["settings"].get("max_tokens", 200),
        context_reserve=40,
    )
    path = CASES / case["input"][0]
    parsed = parse_file(path.read_bytes(), suffix=path.suffix)
    return parsed, list(chunk(parsed.elements, recipe=recipe, tokenizer=embedder.tokenizer))


def check_case(case: dict[str, Any]) -> None:
    parsed, chunks = read(case)
    rows = [chunk_row("x", found, found.text) for found in chunks]
    truth = {
        "file": "x",
        "tables": [{"facts": case["row_facts"]}],
        "text_facts": [],
        "must_not": case["must_not"],
        "expected_tables": None,
    }
    scored = score_file(truth, rows)
    assert scored.found == scored.wanted
    if case["kind"] == "parsing mail":
        attached = [a.data.decode("utf-8", "ignore") for a in parsed.attachments]
        rows += [{"text": text, "heading_path": []} for text in attached]
    for fact in case["text_facts"]:
        sentence, _, path = fact.partition(" => ")
        holding = [row for row in rows if flat(sentence) in flat(row["text"])]
        assert holding
        if path:
            assert path.split(" > ") in [row["heading_path"] for row in holding]
    CHECKS.get(case["id"], lambda *_: None)(parsed, chunks)


def offsets_hold(parsed: Parsed, chunks: list[Chunk]) -> None:
    text, _ = document_text(parsed.elements)
    assert len(chunks) > 1
    assert all(text[found.char_start : found.char_end] == found.text for found in chunks)
    starts = [found.char_start for found in chunks]
    assert starts == sorted(set(starts))


def every_part_repeats_the_header(parsed: Parsed, chunks: list[Chunk]) -> None:
    table = next(element.table for element in parsed.elements if element.table is not None)
    heads = [c.text for c in table.cells if c.row < table.header_rows and c.text]
    parts = [found.text for found in chunks if found.table_id]
    assert heads
    assert len(parts) > 1
    assert all(flat(head) in flat(part) for part in parts for head in heads)


def the_table_is_introduced(parsed: Parsed, chunks: list[Chunk]) -> None:
    found = next(each for each in chunks if each.table_id)
    assert "theo bảng dưới đây" in found.text
    assert found.heading_path


def threads_agree(parsed: Parsed, chunks: list[Chunk]) -> None:
    case = next(case for case in all_cases() if case["id"] == "async-drops-html-table")
    with ThreadPoolExecutor(4) as pool:
        assert all(each == (parsed, chunks) for each in pool.map(read, [case] * 8))


CHECKS: dict[str, Callable[[Parsed, list[Chunk]], None]] = {
    "offset-token-unit": offsets_hold,
    "offset-repeated": offsets_hold,
    "tab-header-sibling": every_part_repeats_the_header,
    "tab-header-lost": every_part_repeats_the_header,
    "multi-row-header": every_part_repeats_the_header,
    "heading-replayed-as-header": every_part_repeats_the_header,
    "docx-text-table-apart": the_table_is_introduced,
    "async-drops-html-table": threads_agree,
}


# --- cases of the pipeline -----------------------------------------------------------------------


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    folder = tmp_path / "docs"
    folder.mkdir()
    (folder / ".mucluc.yaml").write_text("acl: [role:staff]\n")
    return folder


def put(path: Path, text: str, seconds: int = 0) -> None:
    """Write a file, with a time that differs from the last."""
    path.write_text(text, encoding="utf-8")
    os.utime(path, (1_700_000_000 + seconds, 1_700_000_000 + seconds))


def texts(store: Store, query: str, **asked: Any) -> list[str]:
    return [found.text for found in search(store, query, **asked)]


def test_a_failure_is_not_kept_as_a_result(
    store: Store, docs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(docs / "a.md", "# Bơm\n\nBơm BX-77 chạy êm.\n")
    kind = type(load("hashing:64"))

    def fail(*_: object, **__: object) -> None:
        raise ConnectionError

    with monkeypatch.context() as broken:
        broken.setattr(kind, "embed_passages", fail)
        with pytest.raises(ConnectionError):
            sync(store, docs)
    assert sync(store, docs).exit_code == 0
    assert any("BX-77" in text for text in texts(store, "BX-77"))


def test_the_size_of_batches_deletes_nothing(store: Store, docs: Path) -> None:
    for number in range(41):
        put(docs / f"{number}.md", f"# Mục {number}\n\nNội dung của mục {number}.\n")
    assert sync(store, docs, limits={"batch_documents": 20}).documents["new"] == 41
    for size in (3, 20, 200):
        documents = sync(store, docs, limits={"batch_documents": size}).documents
        assert (documents["unchanged"], documents["new"], documents["gone"]) == (41, 0, 0)


def test_a_deleted_file_is_not_found_any_more(store: Store, docs: Path) -> None:
    put(docs / "a.md", "Mã giảm giá TET50 hết hạn 10/02.\n")
    put(docs / "b.md", "Giờ mở cửa: 8 giờ.\n")
    sync(store, docs)
    assert any("TET50" in text for text in texts(store, "mã giảm giá TET50"))
    (docs / "a.md").unlink()
    sync(store, docs)
    assert not any("TET50" in text for text in texts(store, "mã giảm giá TET50"))


def test_fifty_are_found_where_fifty_are_asked_for(store: Store, docs: Path) -> None:
    for number in range(70):
        put(docs / f"{number}.md", f"# Kho {number}\n\nKho số {number} có hàng.\n")
    sync(store, docs)
    assert len(search(store, "kho hàng", k=50)) == 50


def test_words_are_found_without_their_marks(store: Store, docs: Path, cases: Path) -> None:
    source = (cases / "cases" / "khong-dau.md").read_text(encoding="utf-8")
    for number, paragraph in enumerate(re.split(r"\n\s*\n", source.strip())):
        put(docs / f"{number}.md", paragraph + "\n")
    sync(store, docs)
    for query in (
        "duong day nong",
        "đường dây nóng",
        unicodedata.normalize("NFD", "ĐƯỜNG DÂY NÓNG"),
    ):
        first = unicodedata.normalize("NFC", texts(store, query)[0])
        assert "đường dây nóng" in first.casefold()


def test_one_version_of_a_price_is_found(store: Store, docs: Path) -> None:
    put(docs / "price.md", "# Bảng giá\n\nHD-210 giá 3.250.000 đồng.\n")
    sync(store, docs, now=datetime(2026, 1, 5, tzinfo=UTC))
    put(docs / "price.md", "# Bảng giá\n\nHD-210 giá 3.400.000 đồng.\n", seconds=60)
    sync(store, docs, now=datetime(2026, 2, 5, tzinfo=UTC))
    now = "\n".join(texts(store, "HD-210 giá"))
    assert "3.400.000" in now
    assert "3.250.000" not in now
    before = "\n".join(texts(store, "HD-210 giá", as_of=datetime(2026, 1, 20, tzinfo=UTC).date()))
    assert "3.250.000" in before
    assert "3.400.000" not in before


def test_a_changed_document_of_one_chunk_is_found(store: Store, docs: Path) -> None:
    put(docs / "short.md", "Quầy lễ tân ở tầng một.\n")
    sync(store, docs)
    put(docs / "short.md", "Quầy lễ tân ở tầng hai.\n", seconds=60)
    sync(store, docs)
    assert texts(store, "quầy lễ tân") == ["Quầy lễ tân ở tầng hai."]
