"""I5: search, raw SQL as the reader and a model in Python see the same, and nothing else."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import psycopg
import pytest
import worlds
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from worlds import Asker, Seen, World

from store import embedded
from store.reader import sign

KEY = b"the identity key of these tests.."
SECONDS = 25  # for the quick run of one property; the slow run takes all the examples it is given

# The same functions with their thresholds out of the way, so that small worlds take every plan.
FORCED = (
    ("search_dense", "seen >= 0.2 * total and seen > 2000 and i.as_of", "i.as_of"),
    ("search_text", "seen <= 1000", "seen <= 0"),
)


def _database(server: str, name: str, *, forced: bool) -> tuple[str, list[int]]:
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f"drop database if exists {name} with (force)")  # type: ignore[arg-type]
        connection.execute(f"create database {name} template fresh")  # type: ignore[arg-type]
    url = embedded.beside(server, name)
    with psycopg.connect(url) as connection:
        connection.execute("insert into mucluc.signing_key values ('k', %s)", [KEY])
        versions = worlds.open_versions(connection)
        for version in versions:
            for part in range(2):
                partition = f"mucluc.entry_{version}_{part}"
                connection.execute(
                    f"create index on {partition} using hnsw ((embedding::public.halfvec(8))"  # type: ignore[arg-type]
                    " public.halfvec_cosine_ops) where hot"
                )
                connection.execute(f"create index on {partition} using gin (tsv)")  # type: ignore[arg-type]
        if forced:
            for function, shipped, wanted in FORCED:
                row = connection.execute(
                    "select pg_get_functiondef(oid) from pg_proc where proname = %s"
                    " and pronamespace = 'mucluc'::regnamespace",
                    [function],
                ).fetchone()
                assert row is not None and row[0].count(shipped) == 1
                connection.execute(row[0].replace(shipped, wanted))
    return url, versions


@pytest.fixture(scope="module", params=["as shipped", "forced"])
def ground(
    server: str, request: pytest.FixtureRequest
) -> Iterator[tuple[psycopg.Connection[Any], list[int], str]]:
    """A connection to a database with four empty versions."""
    forced = request.param == "forced"
    url, versions = _database(server, f"access_{'forced' if forced else 'shipped'}", forced=forced)
    with psycopg.connect(url) as connection:
        yield connection, versions, request.param
        connection.rollback()


def identify(connection: psycopg.Connection[Any], asker: Asker) -> None:
    """Become the reader with this identity, to the end of the transaction or savepoint."""
    connection.execute("set local role mucluc_reader")
    row = connection.execute("select mucluc.challenge()").fetchone()
    assert row is not None
    payload = json.dumps(
        {
            "tenant": asker.tenant,
            "principals": list(asker.principals),
            "as_of": asker.as_of.isoformat(),
            "challenge": row[0],
        }
    )
    connection.execute("select mucluc.identify(%s, %s)", [payload, sign(KEY, payload)])


RAW = """
select array(select id from mucluc.document),
       array(select id from mucluc.revision),
       array(select version_id || ' ' || revision_id from mucluc.published),
       array(select revision_id || '|' || cut_id || '|' || chunk_id from mucluc.revision_chunk),
       array(select id from mucluc.chunk),
       array(select chunk_id || ' ' || version_id from mucluc.entry)
"""
SEARCHED = """
select array(select chunk_id from mucluc.search_dense(%(v)s, 'model', %(q)s::public.vector, 1000,
                                                      %(c)s::text[])),
       array(select chunk_id from mucluc.search_text(%(v)s, %(w)s, 1000, %(c)s::text[])),
       array(select chunk_id from mucluc.read_chunks(%(v)s, %(ids)s::uuid[])),
       array(select plan from mucluc.search_dense(%(v)s, 'model', %(q)s::public.vector, 1)
             union select plan from mucluc.search_text(%(v)s, %(w)s, 1))
"""
QUESTION = "[0.5,-0.5,0.5,0.5,0,0,0,0]"


def check(
    connection: psycopg.Connection[Any], world: World, asker: Asker, versions: list[int]
) -> set[str]:
    """Ask by every way and compare with the model; returns the plans that ran."""
    from uuid import UUID

    expected = worlds.visible(world, asker, versions)
    everything = [
        d.chunk_id(n, cut)
        for d in world.documents
        for r in d.revisions
        for n in r.chunks
        for cut in set(worlds.CUTS.values())
    ]
    plans: set[str] = set()
    connection.execute("savepoint asking")
    identify(connection, asker)
    documents, revisions, published, placements, chunks, entries = (
        connection.execute(RAW).fetchone() or ([],) * 6
    )
    dense, text, read = [], [], []
    for version in versions:
        row = connection.execute(
            SEARCHED,
            {
                "v": version,
                "q": QUESTION,
                "w": worlds.COMMON,
                "c": None if asker.collections is None else list(asker.collections),
                "ids": everything,
            },
        ).fetchone()
        assert row is not None
        dense.append(row[0])
        text.append(row[1])
        read.append(row[2])
        plans.update(row[3])
    connection.execute("rollback to savepoint asking")

    def pair(value: str) -> tuple[int, UUID]:
        version, _, revision = value.partition(" ")
        return int(version), UUID(revision)

    def entry(value: str) -> tuple[UUID, int]:
        chunk, _, version = value.partition(" ")
        return UUID(chunk), int(version)

    def placement(value: str) -> tuple[UUID, str, UUID]:
        revision, cut, chunk = value.split("|")
        return UUID(revision), cut, UUID(chunk)

    found = Seen(
        documents=frozenset(documents),
        revisions=frozenset(revisions),
        published=frozenset(map(pair, published)),
        placements=frozenset(map(placement, placements)),
        chunks=frozenset(chunks),
        entries=frozenset(map(entry, entries)),
        searched=tuple(map(frozenset, dense)),
    )
    assert found == expected
    for slot, ids in enumerate(text):
        assert len(ids) == len(set(ids)) and frozenset(ids) == expected.searched[slot]
    anywhere = worlds.visible(
        world, Asker(asker.tenant, asker.principals, asker.as_of, None), versions
    )
    assert [frozenset(ids) for ids in read] == list(anywhere.searched)
    return plans


def prove(
    ground: tuple[psycopg.Connection[Any], list[int], str], examples: int, seconds: float | None
) -> int:
    """Draw worlds and changes until there are enough, or the time is up; returns how many."""
    connection, versions, mode = ground
    began = time.monotonic()
    checked, failing = 0, False
    plans: set[str] = set()

    @settings(
        max_examples=examples,
        deadline=None,
        database=None,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
    )
    @given(
        worlds.worlds,
        st.lists(worlds.changes, max_size=4),
        st.lists(worlds.askers, min_size=2, max_size=3),
        st.booleans(),
    )
    def run(
        world: World, changes: list[tuple[Any, ...]], askers: list[Asker], counted: bool
    ) -> None:
        nonlocal checked, failing
        # A failure is looked for to the end, or it could not be shrunk and shown.
        if seconds is not None and not failing and time.monotonic() - began > seconds:
            return
        failing = True
        try:
            worlds.write(connection, world, versions)
            if counted:
                _count(connection, versions)
            for asker in askers:
                plans.update(check(connection, world, asker, versions))
            for change in changes:
                before, world = world, worlds.changed(world, change)
                worlds.write_change(connection, before, world, change, versions)
                for asker in askers:
                    plans.update(check(connection, world, asker, versions))
        finally:
            connection.rollback()
        failing = False
        checked += 1

    run()
    wanted = {"exact", "direct"} if mode == "as shipped" else {"exact", "hnsw", "two-phase"}
    assert plans == wanted
    return checked


def _count(connection: psycopg.Connection[Any], versions: list[int]) -> None:
    from store.sql import query

    for version in versions:
        for tenant in worlds.TENANTS:
            values = {"version": version, "tenant": tenant}
            for name in ("clear_lexeme_stats", "count_lexemes", "count_entries_of_tenant"):
                connection.execute(query(name), values)


def test_i5_every_way_of_asking_sees_what_the_model_sees_and_nothing_else(
    ground: tuple[psycopg.Connection[Any], list[int], str],
) -> None:
    assert prove(ground, 120, SECONDS) >= 40


@pytest.mark.slow
def test_i5_in_thousands_of_worlds(
    ground: tuple[psycopg.Connection[Any], list[int], str],
) -> None:
    assert prove(ground, 2000, None) >= 2000


def test_the_model_of_validity_follows_the_rules_in_words() -> None:
    day = worlds.FIRST_DAY

    def revision(n: int, start: int | None, stop: int | None, seen: int) -> worlds.Revision:
        return worlds.Revision(
            sequence=n,
            stated_from=None if start is None else day + timedelta(start),
            stated_to=None if stop is None else day + timedelta(stop),
            seen_on=day + timedelta(seen),
            chunks=(0,),
            slots=frozenset({0}),
        )

    first, second = revision(1, None, None, 0), revision(2, None, None, 3)
    assert worlds.in_force([second, first], day - timedelta(900)) is first
    assert worlds.in_force([first, second], day + timedelta(2)) is first
    assert worlds.in_force([first, second], day + timedelta(3)) is second
    october, december = revision(1, 0, 2, 0), revision(2, 5, None, 1)
    assert worlds.in_force([october, december], day + timedelta(2)) is october
    assert worlds.in_force([october, december], day + timedelta(3)) is None
    assert worlds.in_force([october, december], day - timedelta(1)) is None
    same = revision(3, 5, 6, 1)
    assert worlds.in_force([december, same], day + timedelta(6)) is same
    assert worlds.in_force([december, same], day + timedelta(7)) is None
