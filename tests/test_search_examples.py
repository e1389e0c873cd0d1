"""Exact questions of the golden set over the example documents: text search has them first."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Any

import psycopg
import pytest
from conftest import SECRET
from syncs import sync

from store import embedded
from store.database import Store, open_store
from store.reader import Identity, read_as

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"
EXACT = [
    question
    for line in (EXAMPLES / "golden.jsonl").read_text("utf-8").splitlines()
    if "exact_lookup" in (question := json.loads(line))["tags"] and question["expected"]
]


@pytest.fixture(scope="module")
def examples(server: str) -> Iterator[Store]:
    """Both companies' documents, embedded by a model that costs nothing."""
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute("drop database if exists examples with (force)")
        connection.execute("create database examples template fresh")
    with open_store(embedded.beside(server, "examples"), SECRET, max_connections=4) as store:
        for tenant in ("acme", "globex"):
            sync(store, EXAMPLES / "documents" / tenant, tenant=tenant, acl=())
        yield store
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute("drop database if exists examples with (force)")


def first(store: Store, question: dict[str, Any]) -> tuple[str, str]:
    """URI and text of the best chunk by text search."""
    identity = Identity(
        tenant=question["tenant"],
        principals=tuple(question["principals"]),
        as_of=date.fromisoformat(question["as_of"]),
    )
    with read_as(store, identity) as reader:
        found = reader.text(1, question["query"], 5)
        shown = reader.read(1, [row["chunk_id"] for row in found])
    best = shown[found[0]["chunk_id"]]
    return best["uri"], " ".join(best["text"].split())


def test_the_golden_set_has_exact_questions() -> None:
    assert len(EXACT) >= 20


@pytest.mark.parametrize("question", EXACT, ids=[q["id"] for q in EXACT])
def test_an_exact_question_has_its_answer_first(examples: Store, question: dict[str, Any]) -> None:
    uri, text = first(examples, question)
    assert uri in {e["uri"] for e in question["expected"]}
    quotes = [" ".join(e["quote"].split()) for e in question["expected"] if e["uri"] == uri]
    assert any(quote in text for quote in quotes)
