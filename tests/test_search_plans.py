"""Ways a search takes on an index that is large enough for them find what the plain ways find."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import psycopg
import pytest
from pgvector import Vector
from psycopg.types.json import Jsonb

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


def _texts(
    store: Store, version: int, role: str, scope: Scope, asked: Sequence[str] = ()
) -> list[list[Any]]:
    identity = Identity(tenant=TENANT, principals=(role,), as_of=DAY)
    found = []
    for question in asked or questions(ASKED):
        with read_as(store, identity) as reader:
            found.append(list(reader.text(version, question, DEPTH, scope)))
    return found


@pytest.mark.parametrize(
    "scope",
    [Scope(), Scope(kinds=("text",)), Scope(without=("year",))],
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


VIETNAMESE = (
    # Marked and plain words, one of them twice with other marks; plain alone; a number like a tone.
    *(question for question in questions(60)[::5]),
    "thời hạn bảo hành của sản phẩm và thỏi vàng, thoi",
    "quyền và nghĩa vụ của người lao động khi nghỉ phép năm",
    "cua2 của cua đ1 d1 d",
)


@pytest.mark.parametrize("role", ["100", "20 elsewhere"])
def test_a_marked_word_and_its_plain_one_are_fetched_once_and_worth_what_both_are(
    filled: tuple[Store, Index, int], role: str
) -> None:
    """Same chunks, scores and order as when each of the two is fetched by itself."""
    store, _, version = filled
    lowered = (
        (">= 500)", ">= 150)"),
        ("limit 400)", "limit 100)"),
        ("cardinality(best) = 400", "cardinality(best) = 100"),
    )
    shipped = _with(store, "search_text", *lowered)
    try:
        found = _texts(store, version, role, Scope(), VIETNAMESE)
        _with(store, "search_text", ("narrowed boolean := true", "narrowed boolean := false"))
        whole = _texts(store, version, role, Scope(), VIETNAMESE)
        twins = _with(store, "twins", ("if y !~", "if true or y !~"))
        apart = _texts(store, version, role, Scope(), VIETNAMESE)
    finally:
        _restore(store, shipped)
        _restore(store, twins)
    assert sum(map(len, apart)) > 200
    assert found == whole == apart


@pytest.mark.parametrize(
    "text", ["Nghỉ phép năm, nghi", "hoà hòa HOÀ", "Đặng 12a b2 =e068", "plain"]
)
def test_whatever_holds_a_marked_word_holds_the_plain_one_that_is_said_to_be_its_twin(
    filled: tuple[Store, Index, int], text: str
) -> None:
    """So what holds the marked one need not be asked whether it holds the plain one."""
    store, _, _ = filled
    with store.transaction() as connection:
        row = connection.execute(
            "select tsvector_to_array(mucluc.lexemes(%(t)s)) as all_of_them, array("
            " select array[marked, plain] from mucluc.twins(%(t)s)) as twins",
            {"t": text},
        ).fetchone()
    assert row is not None
    assert all(word in row["all_of_them"] for twins in row["twins"] for word in twins)
    marked = {word for word in row["all_of_them"] if not word.isascii() or word[-1] in "12345"}
    assert {twins[0] for twins in row["twins"]} == {w for w in marked if w[0] not in "=b"}


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


@pytest.fixture
def estimated(filled: tuple[Store, Index, int]) -> Iterator[tuple[Store, Index, int]]:
    """What is visible is estimated from 200 chunks on; what the estimates say may be changed."""
    store, _, _ = filled
    shipped = _with(store, "visible_size", ("seen >= 20000", "seen >= 200"))
    with store.transaction() as connection:
        kept = connection.execute("select acls from mucluc.version_stat").fetchone()
    assert kept is not None
    yield filled
    with store.transaction() as connection:
        connection.execute("update mucluc.version_stat set acls = %s", [Jsonb(kept["acls"])])
    _restore(store, shipped)


@pytest.mark.parametrize("role", ["100", "50", "20 elsewhere", "10", "1"])
def test_the_size_of_what_is_visible_is_estimated_as_it_is_counted(
    estimated: tuple[Store, Index, int], role: str
) -> None:
    store, index, version = estimated
    identity = Identity(tenant=TENANT, principals=(role,), as_of=DAY)
    seen = int(index.seen[role][index.owners].sum())
    with read_as(store, identity) as reader:
        reader.connection.execute("reset role")

        def size(scope: str | None) -> int:
            row = reader.connection.execute(
                "select mucluc.visible_size(%s, mucluc.scope_of(%s)) as n", [version, scope]
            ).fetchone()
            assert row is not None
            return int(row["n"])

        assert size(None) == seen
        assert size('{"sources": ["s"]}') == seen
        assert size('{"sources": ["nowhere"]}') == 0
        kept = reader.connection.execute("select current_setting('mucluc.size', true) as s")
        assert (kept.fetchone() or {})["s"].startswith(f"{seen} ")  # counted, for the second


@pytest.mark.parametrize("factor", [0, 4])
@pytest.mark.parametrize("role", ["100", "50", "20 elsewhere", "10", "1"])
def test_an_estimate_that_is_long_out_of_date_hides_and_shows_nothing(
    estimated: tuple[Store, Index, int], role: str, factor: int
) -> None:
    """Whatever way it leads to finds as many, of what is visible, and the nearest."""
    store, index, version = estimated
    with store.transaction() as connection:
        connection.execute(
            "update mucluc.version_stat set acls = (select jsonb_object_agg(key,"
            " case when %(f)s = 0 then least(value::int, 1) else %(f)s * value::int end)"
            " from jsonb_each(acls))",
            {"f": factor},
        )
    visible = {index.ids[n] for n in np.flatnonzero(index.seen[role][index.owners])}
    texts = _texts(store, version, role, Scope())
    assert all({row["chunk_id"] for row in rows} <= visible for rows in texts)
    assert [len(rows) for rows in texts] == [
        len(rows) for rows in _texts(store, version, role, Scope(sources=("s",)))
    ]
    stored = index.vectors.astype(np.float16).astype(np.float32)
    stored /= np.linalg.norm(stored, axis=1, keepdims=True)
    places = np.flatnonzero(index.seen[role][index.owners])
    for place in places[:: max(1, len(places) // 5)]:
        best = places[np.argsort(-(stored[places] @ index.vectors[place]))[:10]]
        rows = _nearest(estimated, role, index.vectors[place])
        assert len({index.ids[n] for n in best} & {row["chunk_id"] for row in rows}) >= 9
