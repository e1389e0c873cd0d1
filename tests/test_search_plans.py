"""Ways a search takes on an index that is large enough for them find what the plain ways find."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import psycopg
import pytest
from pgvector import Vector

from bench.search_data import DAY, MODEL, TENANT, Index, fill, planned, questions, version_of
from store import embedded
from store.database import Store, open_store
from store.reader import Identity, Scope, read_as

CHUNKS, ASKED, DEPTH = 4_000, 12, 50
SECRET = b"a secret of the tests, 32 bytes and more"


@pytest.fixture(scope="module")
def filled(server: str) -> Iterator[tuple[Store, Index, int]]:
    """4,000 chunks of real or made-up sentences, roles that see some of them."""
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute("create database plans template fresh")
    index = planned(CHUNKS)
    with open_store(embedded.beside(server, "plans"), SECRET, max_connections=2) as store:
        fill(store, index)
        yield store, index, version_of(store).id
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute("drop database plans with (force)")


def _with(store: Store, function: str, *changes: tuple[str, str]) -> str:
    """Replace parts of a function; returns it as it was."""
    with store.transaction() as connection:
        row = connection.execute(
            "select pg_get_functiondef(oid) as text from pg_proc"
            " where proname = %s and pronamespace = 'mucluc'::regnamespace",
            [function],
        ).fetchone()
        assert row is not None
        text = str(row["text"])
        for shipped, wanted in changes:
            assert text.count(shipped) == 1, shipped
            text = text.replace(shipped, wanted)
        connection.execute(text)
        return str(row["text"])


def _restore(store: Store, text: str) -> None:
    with store.transaction() as connection:
        connection.execute(text)


def _texts(store: Store, version: int, role: str, scope: Scope) -> list[list[Any]]:
    identity = Identity(tenant=TENANT, principals=(role,), as_of=DAY)
    found = []
    for question in questions(ASKED):
        with read_as(store, identity) as reader:
            found.append(list(reader.text(version, question, DEPTH, scope)))
    return found


@pytest.mark.parametrize(
    "scope",
    [Scope(), Scope(kinds=("text",)), Scope(without=("the",))],
    ids=["all", "a kind", "without a word"],
)
@pytest.mark.parametrize("role", ["100", "50", "20 elsewhere"])
def test_phase_one_keeps_the_same_best_when_it_leaves_out_what_cannot_be_among_them(
    filled: tuple[Store, Index, int], role: str, scope: Scope
) -> None:
    """Fewer chunks are fetched, or only the best looked at: same chunks, scores and order."""
    store, _, version = filled
    # Terms count as common from fewer chunks on, so that more is left out, and wrong guesses too.
    shipped = _with(
        store,
        "search_text",
        (">= 500)", ">= 150)"),
        ("limit 400)", "limit 100)"),
        ("cardinality(best) = 400", "cardinality(best) = 100"),
    )
    try:
        found = _texts(store, version, role, scope)
        _with(store, "search_text", ("narrowed boolean := true", "narrowed boolean := false"))
        plain = _texts(store, version, role, scope)
    finally:
        _restore(store, shipped)
    assert {row["plan"] for rows in plain for row in rows} == {
        "two-phase"
    } or role == "20 elsewhere"
    assert found == plain


def test_a_guess_of_phase_one_that_was_wrong_is_found_out(
    filled: tuple[Store, Index, int],
) -> None:
    """Where terms are thought common that are not, the phase runs again in full."""
    store, _, version = filled
    shipped = _with(store, "search_text", (">= 500)", ">= 1)"))
    try:
        found = _texts(store, version, "100", Scope())
        _with(store, "search_text", ("narrowed boolean := true", "narrowed boolean := false"))
        plain = _texts(store, version, "100", Scope())
    finally:
        _restore(store, shipped)
    assert found == plain


def _nearest(filled: tuple[Store, Index, int], role: str, vector: Any, k: int = 10) -> list[Any]:
    store, _, version = filled
    with read_as(store, Identity(tenant=TENANT, principals=(role,), as_of=DAY)) as reader:
        return list(reader.dense(version, MODEL, Vector(vector), k))


@pytest.mark.parametrize("role", ["100", "50", "50 elsewhere"])
def test_what_the_vector_index_is_asked_for_is_what_is_nearest(
    filled: tuple[Store, Index, int], role: str
) -> None:
    """Also where the question lies among chunks that may not be seen: then it is exact."""
    store, index, _ = filled
    shipped = _with(store, "search_dense", ("seen > 2000 and", ""))
    visible = np.flatnonzero(index.seen[role][index.owners])
    hidden = np.flatnonzero(~index.seen[role][index.owners])
    stored = index.vectors[visible].astype(np.float16).astype(np.float32)
    stored /= np.linalg.norm(stored, axis=1, keepdims=True)
    hits = 0
    try:
        for place in (hidden if len(hidden) else visible)[:: CHUNKS // 25]:
            rows = _nearest(filled, role, index.vectors[place])
            assert {row["plan"] for row in rows} == {"hnsw"}
            best = np.argsort(-(stored @ index.vectors[place]))[:10]
            hits += len({index.ids[visible[n]] for n in best} & {row["chunk_id"] for row in rows})
        asked = len((hidden if len(hidden) else visible)[:: CHUNKS // 25])
    finally:
        _restore(store, shipped)
    assert hits >= 0.95 * 10 * asked


def test_the_kept_size_of_what_is_visible_serves_one_scope_and_nobody_can_forge_it(
    filled: tuple[Store, Index, int],
) -> None:
    """A size that somebody sets, or that was counted for another scope, is counted again."""
    store, _, version = filled
    identity = Identity(tenant=TENANT, principals=("100",), as_of=DAY)
    scope = Scope(sources=("nowhere",))
    question = questions(1)[0]
    with read_as(store, identity) as reader:
        assert reader.text(version, question, 5)
        kept = reader.connection.execute("select current_setting('mucluc.size') as s").fetchone()
        assert kept is not None
        assert kept["s"].startswith(f"{CHUNKS} ")
        assert reader.text(version, question, 5, scope) == []
        for forged in (kept["s"].replace(str(CHUNKS), "1", 1), "1", "1 ", "x y", " "):
            reader.connection.execute("select set_config('mucluc.size', %s, true)", [forged])
            assert {row["plan"] for row in reader.text(version, question, 5)} == {"two-phase"}


def test_a_narrower_search_for_the_same_questions_keeps_its_own_size(
    filled: tuple[Store, Index, int],
) -> None:
    """One transaction, two scopes: each search chooses its way by its own size."""
    store, index, version = filled
    identity = Identity(tenant=TENANT, principals=("1",), as_of=DAY)
    seen = int(index.seen["1"][index.owners].sum())
    with read_as(store, identity) as reader:
        rows = reader.text(version, questions(1)[0], 5)
        size = reader.connection.execute("select current_setting('mucluc.size') as s").fetchone()
        assert {row["plan"] for row in rows} <= {"direct"}
        assert size is not None
        assert size["s"].startswith(f"{seen} ")
        narrowed = reader.text(version, questions(1)[0], 5, replace(Scope(), kinds=("none",)))
        assert narrowed == []
