"""Retrieval sets: read as given, built as a document would be, and what a chunk holds of them."""

from __future__ import annotations

import json
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chunkers.structure import chunk
from enrich.embedders import load
from enrich.tokenizers import recipe_for
from evals.benchmark import BenchmarkProblem, day_of, read_benchmark
from evals.passages import elements_of, held_passages, holds_answer, paragraphs
from parsers.elements import Kind
from parsers.text import document_text, normalise

MODEL = load("hashing:64")
RECIPE = recipe_for(MODEL.card, MODEL.tokenizer, body_budget=60, context_reserve=20)


def write(folder: Path, name: str, rows: list[dict[str, Any]]) -> Path:
    path = folder / name
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def a_set(folder: Path, **changes: Any) -> tuple[Path, Path, Path]:
    docs = [
        {
            "id": "d1",
            "title": "Terms",
            "passages": [{"id": "p1", "text": "Ten days."}],
            "valid_to": "2020-12-31",
        },
        {"id": "d2", "title": "", "passages": [{"id": "p2", "text": "Twenty days."}]},
    ]
    queries = [
        {
            "id": "q1",
            "query": "How long?",
            "answer": ["ten days", "10 days"],
            "tags": ["en", "short"],
        },
        {"id": "q2", "query": "How long?", "must_contain": "Twenty", "as_of": "2026-01-01"},
        {"id": "q3", "query": "Nobody judged this"},
    ]
    qrels = [
        {"query_id": "q1", "doc_id": "d1", "passage_id": "p1", "relevance": 1},
        {"query_id": "q2", "doc_id": "d2", "passage_id": "p2"},
        {"query_id": "q2", "doc_id": "d1", "passage_id": "p1", "relevance": 0},
    ]
    rows = {"docs": docs, "queries": queries, "qrels": qrels} | changes
    docs_file, queries_file, qrels_file = (write(folder, f"{n}.jsonl", r) for n, r in rows.items())
    return docs_file, queries_file, qrels_file


def test_a_set_is_read_with_its_judgements_days_and_answers(tmp_path: Path) -> None:
    found = read_benchmark(*a_set(tmp_path))
    first, second = found.questions
    assert (first.gold, first.answers, first.language) == (
        (("d1", "p1"),),
        ("ten days", "10 days"),
        "en",
    )
    assert (second.gold, second.as_of, second.language) == ((("d2", "p2"),), date(2026, 1, 1), None)
    assert found.unjudged == 1
    assert found.documents["d2"].title is None


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"docs": [{"id": "d1", "passages": []}]}, "line 1: no passages"),
        ({"docs": [{"id": "d1", "passages": [{"id": "p", "text": 5}]}]}, "a text"),
        ({"queries": [{"query": "no id"}]}, "line 1: no id"),
        ({"qrels": [{"query_id": "q1", "doc_id": "d1", "passage_id": "p9"}]}, "no passage p9"),
        ({"qrels": [{"query_id": "q9", "doc_id": "d1", "passage_id": "p1"}]}, "no question"),
        ({"queries": [{"id": "q1", "query": "x", "as_of": "soon"}]}, "as_of is no day"),
    ],
)
def test_a_wrong_set_is_refused_with_its_file_and_line(
    tmp_path: Path, changes: dict[str, Any], said: str
) -> None:
    with pytest.raises(BenchmarkProblem, match=said):
        read_benchmark(*a_set(tmp_path, **changes))


def test_what_is_no_json_is_refused_with_its_line(tmp_path: Path) -> None:
    files = a_set(tmp_path)
    files[1].write_text('{"id": "q1", "query": "x"}\nnot json\n', encoding="utf-8")
    with pytest.raises(BenchmarkProblem, match="line 2: not JSON"):
        read_benchmark(*files)
    with pytest.raises(BenchmarkProblem, match="is not there"):
        read_benchmark(tmp_path / "missing.jsonl", files[1], files[2])


def test_a_question_without_a_day_about_an_ended_document_is_asked_for_its_last_day(
    tmp_path: Path,
) -> None:
    found = read_benchmark(*a_set(tmp_path))
    first, second = found.questions
    assert day_of(first, found.documents, date(2026, 11, 30)) == (date(2020, 12, 31), True)
    assert day_of(first, found.documents, date(2020, 3, 1)) == (date(2020, 3, 1), False)
    assert day_of(second, found.documents, date(2026, 11, 30)) == (date(2026, 1, 1), False)


# Elements of passages.


def test_a_heading_stands_where_the_path_changes_and_is_not_said_twice() -> None:
    elements, placed = elements_of(
        [
            {
                "id": "a",
                "heading_path": ["Part I", "Article 1. Scope"],
                "text": "Article 1. Scope\nThis law.",
            },
            {"id": "b", "heading_path": ["Part I", "Article 2"], "text": "Who it binds."},
            {"id": "c", "heading_path": ["Part I", "Article 2"], "text": "More of it."},
        ]
    )
    assert [(e.kind, e.level, e.text) for e in elements] == [
        (Kind.HEADING, 1, "Part I"),
        (Kind.HEADING, 2, "Article 1. Scope"),
        (Kind.TEXT, None, "This law."),
        (Kind.HEADING, 2, "Article 2"),
        (Kind.TEXT, None, "Who it binds."),
        (Kind.TEXT, None, "More of it."),
    ]
    text, _ = document_text(elements)
    spans = {p.id: text[p.start : p.end] for p in placed}
    assert spans == {
        "a": "Article 1. Scope\n\nThis law.",
        "b": "Who it binds.",
        "c": "More of it.",
    }


def test_cells_become_a_table_with_its_header() -> None:
    (element,), (placed,) = elements_of(
        [{"id": "t", "text": "…", "cells": [["Item", "2019"], ["Fees", "1,200"], ["Rent", "900"]]}]
    )
    assert element.table is not None
    assert (element.table.header_rows, element.table.header_cols) == (1, 1)
    assert placed.end > placed.start


def test_code_is_told_by_its_looks_and_keeps_its_indentation() -> None:
    code = "fn main() {\n    let x = 1;\n    run(x);\n}\n"
    (element,), _ = elements_of([{"id": "c", "text": code}])
    assert (element.kind, element.text) == (Kind.CODE, code.rstrip("\n"))
    (prose,), _ = elements_of([{"id": "p", "kind": "text", "text": "One sentence. And another."}])
    assert prose.kind is Kind.TEXT


def test_lines_are_paragraphs_unless_they_are_one_that_was_wrapped() -> None:
    assert paragraphs("1. Ten days.\n2. Twenty days.") == ["1. Ten days.", "2. Twenty days."]
    wrapped = "The lease begins on\nthe first day of May\nand ends one year later."
    assert paragraphs(wrapped) == [wrapped]


@given(st.lists(st.text(alphabet="abc .\n", min_size=1, max_size=60), min_size=1, max_size=6))
def test_every_passage_stands_where_it_is_said_to_stand(texts: list[str]) -> None:
    elements, placed = elements_of([{"id": str(n), "text": t} for n, t in enumerate(texts)])
    whole, _ = document_text(elements)
    for text, passage in zip(texts, placed, strict=True):
        assert "".join(whole[passage.start : passage.end].split()) == "".join(
            normalise(text).split()
        )


# What a chunk holds.


def held(passages: list[dict[str, Any]]) -> list[tuple[str, tuple[str, ...]]]:
    elements, placed = elements_of(passages)
    made = chunk(elements, recipe=RECIPE, tokenizer=MODEL.tokenizer)
    return [(item.text, held_passages(item, placed)) for item in made]


def test_a_chunk_holds_each_passage_of_which_it_has_half() -> None:
    short = [{"id": "a", "text": "One two three."}, {"id": "b", "text": "Four five six."}]
    assert [ids for _, ids in held(short)] == [("a", "b")]
    long = [{"id": "l", "text": " ".join(f"word{n}" for n in range(150)) + "."}]
    assert all(ids == ("l",) for _, ids in held(long))
    assert len(held(long)) > 1


def test_every_part_of_a_table_with_rows_of_its_own_holds_it_and_no_other_passage() -> None:
    rows = [["Part", "Price"], *([f"spare part number {n}", str(10 * n)] for n in range(1, 40))]
    found = held(
        [{"id": "a", "text": "The prices of parts:"}, {"id": "t", "text": "", "cells": rows}]
    )
    parts = [ids for text, ids in found if "spare part" in text]
    assert len(parts) > 2
    assert set(parts) == {("t",)}


def test_answers_are_compared_without_case_composition_and_white_space() -> None:
    assert holds_answer("Nghỉ  PHÉP\nnăm", ["nghỉ phép năm"])
    assert holds_answer("ngh\u0069\u0309 phe\u0301p", ["NGHỈ PHÉP"])
    assert not holds_answer("nghi phep", ["nghỉ phép"])
    assert not holds_answer("anything", [])
