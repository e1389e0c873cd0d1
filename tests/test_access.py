"""I5: search, raw SQL as the reader and a model in Python see the same, and nothing else."""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import date, timedelta
from typing import Any
from uuid import NAMESPACE_OID, UUID, uuid5

import numpy as np
import psycopg
import pytest
import worlds
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pgvector import Vector
from worlds import Asker, Seen, World

from store import embedded
from store.database import Store, open_store
from store.reader import Identity, read_as, sign
from store.runs import open_run
from store.sql import query
from store.versions import (
    Recipe,
    Version,
    build_indexes,
    cool,
    refresh_statistics,
    version_to_fill,
)

KEY = b"the identity key of these tests.."
# Worlds of each ground, of which there are two: at least as many, however slow the machine, and
# at most, as long as there is time.
QUICK = (250, 400, 45.0)
# The long proof sees to all of its worlds, unless a limit is set, as .ci/run does.
LIMIT = os.environ.get("MUCLUC_PROOF_SECONDS")
LONG = (250 if LIMIT else 2500, 2500, float(LIMIT or "inf"))
TIDY = 100  # worlds; rolled back, they stay in the indexes until a vacuum takes them out

# The same functions with their thresholds out of the way, so that small worlds take every plan.
FORCED = (
    (
        "search_dense",
        "seen > 2000 and seen >= 0.2 * total and 2 * p_k * total <= 1000 * seen",
        "true",
    ),
    # As far as the index goes; and what it found is the answer, never the exact search's instead.
    ("search_dense", "ceil(2 * p_k * total / seen)", "1000"),
    ("search_dense", "cardinality(nearest) = p_k", "true"),
    # What earlier worlds left in it until a vacuum must not use up that reach.
    (
        "dense_hnsw",
        """SET "hnsw.iterative_scan" TO 'off'""",
        "SET hnsw.iterative_scan TO relaxed_order",
    ),
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
select array(select chunk_id || ' ' || plan
             from mucluc.search_dense(%(v)s, 'model', %(q)s::public.vector, 1000, %(c)s::jsonb)),
       array(select chunk_id || ' ' || plan
             from mucluc.search_text(%(v)s, %(w)s, 1000, %(c)s::jsonb)),
       array(select chunk_id from mucluc.read_chunks(%(v)s, %(ids)s::uuid[]))
"""
QUESTION = "[0.5,-0.5,0.5,0.5,0,0,0,0]"


@dataclass(slots=True)
class Tally:
    """What was asked so far, and what the vector indexes, which may lose some, gave of it."""

    checked: int = 0
    asked: int = 0
    plenty: int = 0  # askers who saw something
    plans: set[str] = field(default_factory=set)
    wanted: int = 0
    found: int = 0


def check(
    connection: psycopg.Connection[Any],
    world: World,
    asker: Asker,
    versions: list[int],
    tally: Tally,
) -> None:
    """Ask by every way and compare with the model."""
    expected = worlds.visible(world, asker, versions)
    everything = [
        d.chunk_id(n, cut)
        for d in world.documents
        for r in d.revisions
        for n in r.chunks
        for cut in set(worlds.CUTS.values())
    ]
    plans: set[str] = set()
    graphs: set[int] = set()  # slots that answered from HNSW
    connection.execute("savepoint asking")
    identify(connection, asker)
    documents, revisions, published, placements, chunks, entries = (
        connection.execute(RAW).fetchone() or ([],) * 6
    )
    dense: list[list[UUID]] = []
    text: list[list[UUID]] = []
    read: list[list[UUID]] = []
    for slot, version in enumerate(versions):
        row = connection.execute(
            SEARCHED,
            {
                "v": version,
                "q": QUESTION,
                "w": worlds.COMMON,
                "c": json.dumps(asker.scope.to_json()),
                "ids": everything,
            },
        ).fetchone()
        assert row is not None
        for rows, answers in ((row[0], dense), (row[1], text)):
            answers.append([UUID(found.split()[0]) for found in rows])
            plans.update(found.split()[1] for found in rows)
        if any(found.endswith(" hnsw") for found in row[0]):
            graphs.add(slot)
        read.append(row[2])
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

    for slot, ids in enumerate(dense):
        if slot in graphs:
            # Never anything else; whether all of it is a matter of recall, summed up at the end.
            assert expected.searched[slot].issuperset(ids)
            tally.wanted += len(expected.searched[slot])
            tally.found += len(ids)
            dense[slot] = list(expected.searched[slot])
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
    anywhere = worlds.visible(world, Asker(asker.tenant, asker.principals, asker.as_of), versions)
    assert [frozenset(ids) for ids in read] == list(anywhere.searched)
    tally.asked += 1
    tally.plenty += bool(plans)
    tally.plans |= plans


def prove(
    ground: tuple[psycopg.Connection[Any], list[int], str], least: int, most: int, seconds: float
) -> int:
    """Draw worlds and changes, ``most`` of them or as long as there is time; returns how many.

    However slow the machine, at least ``least``.
    """
    connection, versions, mode = ground
    began = time.monotonic()
    failed = False
    tally = Tally()

    @settings(
        max_examples=most,
        deadline=None,
        database=None,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
    )
    @given(
        worlds.worlds,
        st.lists(worlds.changes, max_size=4),
        st.lists(worlds.askers, min_size=1, max_size=2),
        st.booleans(),
    )
    def run(
        world: World, changes: list[tuple[Any, ...]], askers: list[Asker], counted: bool
    ) -> None:
        nonlocal failed
        # A failure is looked for to the end, or it could not be shrunk and shown.
        if time.monotonic() - began > seconds and tally.checked >= least and not failed:
            return
        # One asker whom the first document's ACL names, so that there is something to see.
        first = world.documents[0]
        named = tuple(entry for entry in first.acl or () if not entry.startswith("!"))
        askers = [*askers, Asker(first.tenant, named, askers[0].as_of)]
        try:
            worlds.write(connection, world, versions)
            if counted:
                _count(connection, versions)
            for asker in askers:
                check(connection, world, asker, versions, tally)
            for change in changes:
                before, world = world, worlds.changed(world, change)
                worlds.write_change(connection, before, world, change, versions)
                for asker in askers:
                    check(connection, world, asker, versions, tally)
        except BaseException:
            failed = True
            raise
        finally:
            connection.rollback()
        tally.checked += 1
        if tally.checked % TIDY == 0:
            _vacuum(connection)

    run()
    wanted = {"exact", "direct"} if mode == "as shipped" else {"hnsw", "two-phase"}
    assert tally.plans >= wanted and tally.plenty >= tally.asked // 6
    print(f"{mode}: {tally.checked} worlds, HNSW gave {tally.found} of {tally.wanted} entries")
    assert tally.found >= 0.999 * tally.wanted
    return tally.checked


def _vacuum(connection: psycopg.Connection[Any]) -> None:
    connection.autocommit = True
    connection.execute("vacuum mucluc.entry, mucluc.document, mucluc.published")
    connection.autocommit = False


def _count(connection: psycopg.Connection[Any], versions: list[int]) -> None:
    for version in versions:
        for tenant in worlds.TENANTS:
            values = {"version": version, "tenant": tenant}
            for name in ("clear_lexeme_stats", "count_lexemes", "count_entries_of_tenant"):
                connection.execute(query(name), values)


def test_i5_every_way_of_asking_sees_what_the_model_sees_and_nothing_else(
    ground: tuple[psycopg.Connection[Any], list[int], str],
) -> None:
    assert prove(ground, *QUICK) >= QUICK[0]


@pytest.mark.slow
def test_i5_in_thousands_of_worlds(
    ground: tuple[psycopg.Connection[Any], list[int], str],
) -> None:
    assert prove(ground, *LONG) >= LONG[0]


# --- a crowd: every plan at its own threshold ----------------------------------------------------

# Every n-th document of the first tenant names the role.
SHARES = {"role:all": 1, "role:half": 2, "role:quarter": 4, "role:tenth": 10, "role:few": 100}
DOCUMENTS = 3000
GROUPS = 40  # documents of one group hold a word that the others do not
ENDED = date(2026, 3, 1)  # every third document has an older revision, which ended on this day
COOLED = date(2026, 6, 1)

CROWD = """
insert into mucluc.acl_set (tenant, principals)
select distinct t, acl from crowd;
insert into mucluc.document (id, tenant, source, uri, acl_id)
select d.id, d.t, 'files', d.n::text, a.id
from crowd d join mucluc.acl_set a on a.tenant = d.t and a.principals = d.acl;
insert into mucluc.revision (id, document_id, sequence, content_sha256, raw_sha256,
                             metadata_sha256, suffix, bytes, stated_from, seen_on)
select md5(d.id || 'r' || s)::uuid, d.id, s, '', '', '', '.md', 1,
       case when s = 2 then %(ended)s end, '2026-01-01'
from crowd d, generate_series(1, 2) s where s = 1 or d.n %% 3 = 0;
insert into mucluc.chunk (id, document_id, heading_path, text, kinds, tokens)
select md5(d.id || 'c' || c)::uuid, d.id, '{}', %(word)s || ' group' || d.n %% %(groups)s, '{}', 2
from crowd d, generate_series(0, 5) c where c < 4 or d.n %% 3 = 0;
insert into mucluc.revision_chunk (revision_id, cut_id, ordinal, chunk_id, char_start, char_end)
select r.id, 'cut', c, md5(r.document_id || 'c' || c + 2 * (r.sequence - 1))::uuid, 0, 1
from mucluc.revision r, generate_series(0, 3) c;
insert into mucluc.published (version_id, revision_id, document_id, cut_id, n_chunks)
select %(version)s, id, document_id, 'cut', 4 from mucluc.revision;
insert into mucluc.entry (chunk_id, version_id, tenant, document_id, embedding, tsv, len,
                          input_sha256)
select c.id, %(version)s, d.t, c.document_id,
       (select array_agg(random() - 0.5) from generate_series(1, 8) where c.id is not null)
         ::public.vector::public.halfvec,
       mucluc.lexemes(c.text), 2, ''
from mucluc.chunk c join crowd d on d.id = c.document_id;
select mucluc.refresh_validity(array(select id from mucluc.document))
"""


@pytest.fixture(scope="module")
def crowd(server: str) -> Iterator[tuple[Store, Version]]:
    """14,000 chunks of one tenant and 1,400 of another, indexed, counted and cooled."""
    name = "access_crowd"
    with psycopg.connect(server, autocommit=True) as admin:
        admin.execute(f"drop database if exists {name} with (force)")  # type: ignore[arg-type]
        admin.execute(f"create database {name} template fresh")  # type: ignore[arg-type]
    recipe = Recipe(
        parsers={},
        chunking={},
        chunking_id="c",
        context_id="x",
        model="m",
        fingerprint="model",
        dimensions=worlds.DIMENSIONS,
    )
    documents = [(worlds.TENANTS[0], n) for n in range(DOCUMENTS)]
    documents += [(worlds.TENANTS[1], n) for n in range(DOCUMENTS // 10)]
    with open_store(embedded.beside(server, name), b"s" * 32) as store:
        version = version_to_fill(store, "main", recipe)
        with store.transaction() as connection:
            connection.execute(
                "create temp table crowd (id uuid, t text, n int, acl text[]) on commit drop"
            )
            with connection.cursor().copy("copy crowd from stdin") as copy:
                for tenant, n in documents:
                    copy.write_row((_crowd_id(tenant, n), tenant, n, _roles(n)))
            values = {
                "version": version.id,
                "ended": ENDED,
                "word": worlds.COMMON,
                "groups": GROUPS,
            }
            connection.execute("select setseed(0.5)")
            for statement in CROWD.split(";\n"):
                connection.execute(statement, values)  # type: ignore[arg-type]
        build_indexes(store, version)
        run = open_run(store, kind="sync", lock_key="crowd")
        for tenant in worlds.TENANTS:
            with store.transaction() as connection:
                connection.execute(
                    query("mark_statistics_stale"), {"version": version.id, "tenant": tenant}
                )
        assert cool(store, run.id, version.id, COOLED) > 0
        for tenant in worlds.TENANTS:
            assert refresh_statistics(store, run.id, version.id, tenant)
        run.close(store, "done", None)
        with store.transaction() as connection:
            connection.execute("analyze")
        yield store, version


def _crowd_id(tenant: str, n: int) -> UUID:
    return uuid5(NAMESPACE_OID, f"{tenant} {n}")


def _roles(n: int) -> list[str]:
    return sorted(role for role, every in SHARES.items() if n % every == 0)


def _crowd_chunks(role: str, day: date, *, group: int | None = None) -> set[UUID]:
    """The reference: chunks that a role of the first tenant sees on a day."""
    found = set()
    for n in range(DOCUMENTS):
        if role not in _roles(n) or (group is not None and n % GROUPS != group):
            continue
        first = 2 if n % 3 == 0 and day >= ENDED else 0
        for c in range(first, first + 4):
            text = f"{_crowd_id(worlds.TENANTS[0], n)}c{c}"
            found.add(UUID(hashlib.md5(text.encode(), usedforsecurity=False).hexdigest()))
    return found


@pytest.mark.parametrize(
    ("role", "day", "dense", "text"),
    [
        ("role:all", date(2026, 7, 1), "hnsw", "two-phase"),
        ("role:half", date(2026, 7, 1), "hnsw", "two-phase"),
        ("role:quarter", date(2026, 7, 1), "exact", "two-phase"),
        ("role:tenth", date(2026, 7, 1), "exact", "two-phase"),
        ("role:few", date(2026, 7, 1), "exact", "direct"),
        # Days before the hot entries begin: ended chunks are in no vector index.
        ("role:all", date(2026, 2, 1), "exact", "two-phase"),
        ("role:half", date(2026, 4, 1), "exact", "two-phase"),
        ("role:few", date(2026, 2, 1), "exact", "direct"),
    ],
)
def test_i5_in_a_crowd_every_plan_keeps_to_what_may_be_seen_and_finds_it(
    crowd: tuple[Store, Version], role: str, day: date, dense: str, text: str
) -> None:
    store, version = crowd
    allowed = _crowd_chunks(role, day)
    with store.transaction() as connection:
        rows = connection.execute(
            "select chunk_id, embedding::text as e from mucluc.entry where chunk_id = any(%s)",
            [list(allowed)],
        ).fetchall()
    ids = [row["chunk_id"] for row in rows]
    assert set(ids) == allowed
    vectors = np.array([json.loads(row["e"]) for row in rows])
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    identity = Identity(tenant=worlds.TENANTS[0], principals=(role,), as_of=day)
    drawn = np.random.default_rng(7)
    recalls = []
    with read_as(store, identity) as reader:
        for _ in range(20):
            question = drawn.standard_normal(worlds.DIMENSIONS)
            best = {ids[at] for at in np.argsort(-(vectors @ question))[:10]}
            found = reader.dense(version.id, "model", Vector(question), 200)
            assert {row["plan"] for row in found} == {dense}
            assert {row["chunk_id"] for row in found} <= allowed
            assert len(found) == min(200, len(allowed))
            recalls.append(len(best & {row["chunk_id"] for row in found[:10]}) / 10)
        assert np.mean(recalls) >= (0.97 if dense == "hnsw" else 0.995)
        found = reader.text(version.id, worlds.COMMON, 300)
        assert {row["plan"] for row in found} == {text}
        assert {row["chunk_id"] for row in found} <= allowed
        assert len(found) == min(300, len(allowed))
        for group in (0, 20):
            found = reader.text(version.id, f"group{group}", 1000)
            assert {row["chunk_id"] for row in found} == _crowd_chunks(role, day, group=group)
        everything = [row["chunk_id"] for row in found] + ids[:50]
        strangers = list(_crowd_chunks("role:all", day) - allowed)[:50]
        assert set(reader.read(version.id, everything + strangers)) == set(everything)


def test_i5_the_vector_index_is_what_answers_where_the_plan_says_so(
    crowd: tuple[Store, Version],
) -> None:
    store, version = crowd
    used = "select coalesce(sum(idx_scan), 0) as n from pg_stat_user_indexes where indexrelname like '%%hnsw'"
    identity = Identity(tenant=worlds.TENANTS[0], principals=("role:half",), as_of=date(2026, 7, 1))
    with psycopg.connect(store.url, autocommit=True) as connection:
        before = connection.execute(used, []).fetchone()
        with read_as(store, identity) as reader:
            reader.dense(version.id, "model", Vector(np.ones(worlds.DIMENSIONS)), 10)
            reader.connection.execute("reset role")
            reader.connection.execute("select pg_stat_force_next_flush()")
        after = connection.execute(used, []).fetchone()
    assert before is not None and after is not None and after[0] == before[0] + 1


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
