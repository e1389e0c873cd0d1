"""Made-up worlds of documents: drawn, written straight into the tables, and judged in Python.

``visible`` is the reference: it says who sees what from the rules in words (docs/design.md, 4),
day by day, without ranges and without SQL.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta
from typing import Any
from uuid import UUID

import numpy as np
from hypothesis import strategies as st
from psycopg import Connection

TENANTS = ("acme", "globex")
PRINCIPALS = ("role:a", "role:b", "role:c", "user:d")
COLLECTIONS = ("default", "hr")
FIRST_DAY = date(2026, 1, 1)
DAYS = 4
COMMON = "everywhere"  # a word that every chunk holds
DIMENSIONS = 8

MAIN, BUILDING, OTHER, RETIRED = 0, 1, 2, 3  # slots of versions
CUTS = {MAIN: "cut one", BUILDING: "cut two", OTHER: "cut one", RETIRED: "cut one"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Revision:
    """A content of a document; chunks are numbers in the document's own pool."""

    sequence: int
    stated_from: date | None
    stated_to: date | None
    seen_on: date
    chunks: tuple[int, ...]
    slots: frozenset[int]  # versions in which it is published


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """A document with all its revisions."""

    number: int
    tenant: str
    collection: str
    acl: tuple[str, ...] | None
    deleted: bool
    place: int
    revisions: tuple[Revision, ...]

    @property
    def id(self) -> UUID:
        return uuid.uuid5(uuid.NAMESPACE_OID, f"document {self.number}")

    @property
    def mark(self) -> str:
        """A word that this document's name and chunks hold, and no other's."""
        return f"mark{self.number:04d}"

    def revision_id(self, revision: Revision) -> UUID:
        return uuid.uuid5(self.id, str(revision.sequence))

    def chunk_id(self, number: int, cut: str) -> UUID:
        """Chunks of even number come out alike under both cuts, as when only a parser changed."""
        return uuid.uuid5(self.id, f"chunk {number} {'' if number % 2 == 0 else cut}")


@dataclass(frozen=True, slots=True)
class World:
    """Every document, and the versions that are active in some index."""

    documents: tuple[Document, ...]
    active: frozenset[int] = frozenset({MAIN, OTHER})


@dataclass(frozen=True, slots=True)
class Asker:
    """Who asks, for which day, of which collections."""

    tenant: str
    principals: tuple[str, ...]
    as_of: date
    collections: tuple[str, ...] | None


@dataclass(frozen=True, slots=True)
class Seen:
    """Everything that one asker got, as sets. Pairs where an id alone says too little."""

    documents: frozenset[UUID]
    revisions: frozenset[UUID]
    published: frozenset[tuple[int, UUID]]
    placements: frozenset[tuple[UUID, str, UUID]]
    chunks: frozenset[UUID]
    entries: frozenset[tuple[UUID, int]]
    searched: tuple[frozenset[UUID], ...]  # by slot, of the asker's collections


# --- the rules -----------------------------------------------------------------------------------


def may_read(acl: Sequence[str] | None, principals: Iterable[str]) -> bool:
    """No ACL is nobody; one of the asker's principals must be named, and none denied."""
    mine = set(principals)
    stated = acl or ()
    return any(entry in mine for entry in stated) and not any(f"!{p}" in stated for p in mine)


def in_force(revisions: Sequence[Revision], day: date) -> Revision | None:
    """The revision that holds on a day: of those begun by then the one that began last."""
    begun: list[tuple[date, int, Revision]] = []
    for revision in revisions:
        first = all(revision.sequence <= other.sequence for other in revisions)
        start = revision.stated_from or (date.min if first else revision.seen_on)
        if start <= day:
            begun.append((start, revision.sequence, revision))
    if not begun:
        return None
    newest = max(begun, key=lambda item: item[:2])[2]
    expired = newest.stated_to is not None and day > newest.stated_to
    return None if expired else newest


def visible_revisions(world: World, asker: Asker, slot: int) -> list[tuple[Document, Revision]]:
    """What an asker may see of a version, collections apart."""
    found = []
    for document in world.documents:
        if document.tenant != asker.tenant or document.deleted:
            continue
        if not may_read(document.acl, asker.principals):
            continue
        held = [r for r in document.revisions if slot in r.slots]
        revision = in_force(held, asker.as_of)
        if revision is not None:
            found.append((document, revision))
    return found


def visible(world: World, asker: Asker, versions: Sequence[int]) -> Seen:
    """The reference: what this asker gets, by every way there is; ``versions`` are ids by slot."""
    by_slot = [visible_revisions(world, asker, slot) for slot in range(len(versions))]
    shown = [(slot, d, r) for slot in sorted(world.active) for d, r in by_slot[slot]]
    return Seen(
        documents=frozenset(d.id for _, d, _ in shown),
        revisions=frozenset(d.revision_id(r) for _, d, r in shown),
        published=frozenset((versions[slot], d.revision_id(r)) for slot, d, r in shown),
        placements=frozenset(
            (d.revision_id(r), CUTS[slot], d.chunk_id(n, CUTS[slot]))
            for slot, d, r in shown
            for n in r.chunks
        ),
        chunks=frozenset(d.chunk_id(n, CUTS[slot]) for slot, d, r in shown for n in r.chunks),
        entries=frozenset(
            (d.chunk_id(n, CUTS[slot]), versions[slot]) for slot, d, r in shown for n in r.chunks
        ),
        searched=tuple(
            frozenset(
                d.chunk_id(n, CUTS[slot])
                for d, r in found
                if asker.collections is None or d.collection in asker.collections
                for n in r.chunks
            )
            for slot, found in enumerate(by_slot)
        ),
    )


# --- drawing -------------------------------------------------------------------------------------

# Likely things come up often: a world in which nobody sees anything proves little.
days = st.integers(0, DAYS).map(lambda n: FIRST_DAY + timedelta(days=n))
stated = st.one_of(st.none(), st.none(), days)
some_principals = st.lists(st.sampled_from(PRINCIPALS), min_size=1, max_size=3, unique=True).map(
    tuple
)
denials = st.sampled_from([f"!{p}" for p in PRINCIPALS])
acls = st.one_of(
    st.just(PRINCIPALS),
    some_principals,
    some_principals,
    st.tuples(some_principals, denials).map(lambda drawn: (*drawn[0], drawn[1])),
    st.sampled_from([None, (), ("!role:a",)]),
)
slot_sets = st.sampled_from(
    [
        frozenset({MAIN, OTHER}),
        frozenset({MAIN, OTHER, BUILDING}),
        frozenset({MAIN, BUILDING, RETIRED}),
        frozenset({MAIN}),
        frozenset({BUILDING}),
        frozenset({OTHER, RETIRED}),
        frozenset(),
    ]
)
chunk_lists = st.lists(st.integers(0, 4), min_size=1, max_size=3, unique=True).map(tuple)
contents = st.tuples(stated, stated, days, chunk_lists, slot_sets)
askers = st.builds(
    Asker,
    st.sampled_from([TENANTS[0], TENANTS[0], TENANTS[0], TENANTS[1], "nobody's"]),
    st.one_of(some_principals, some_principals, st.just(PRINCIPALS), st.just(())),
    st.one_of(
        days, days, st.sampled_from([FIRST_DAY - timedelta(400), FIRST_DAY + timedelta(400)])
    ),
    st.one_of(st.none(), st.sampled_from([None, ("hr",), COLLECTIONS, ()])),
)
changes = st.one_of(
    st.tuples(st.just("acl"), st.integers(0, 9), acls),
    st.tuples(st.just("validity"), st.integers(0, 9), st.integers(0, 9), stated, stated),
    st.tuples(st.just("delete"), st.integers(0, 9)),
    st.tuples(st.just("revive"), st.integers(0, 9)),
    st.tuples(st.just("move"), st.integers(0, 9), st.sampled_from(COLLECTIONS)),
    st.tuples(st.just("content"), st.integers(0, 9), contents),
    st.tuples(st.just("forget"), st.integers(0, 9), st.integers(0, 9)),
    st.tuples(st.just("promote")),
    st.tuples(st.just("cool"), days),
    st.tuples(st.just("cool"), st.just(FIRST_DAY + timedelta(DAYS))),
)


def _revision(sequence: int, content: tuple[Any, ...]) -> Revision:
    start, stop, seen, chunks, slots = content
    return Revision(
        sequence=sequence,
        stated_from=start,
        stated_to=stop,
        seen_on=seen,
        chunks=chunks,
        slots=slots,
    )


def _document(number: int, drawn: tuple[Any, ...]) -> Document:
    tenant, collection, acl, deleted, content = drawn
    return Document(
        number=number,
        tenant=tenant,
        collection=collection,
        acl=acl,
        deleted=deleted,
        place=number,
        revisions=tuple(_revision(n, c) for n, c in enumerate(content, start=1)),
    )


worlds = st.lists(
    st.tuples(
        st.sampled_from([TENANTS[0], TENANTS[0], TENANTS[1]]),
        st.sampled_from(COLLECTIONS),
        acls,
        st.sampled_from([False, False, False, True]),
        st.lists(contents, min_size=1, max_size=3),
    ),
    min_size=2,
    max_size=6,
).map(lambda drawn: World(tuple(_document(n, d) for n, d in enumerate(drawn))))


def changed(world: World, change: tuple[Any, ...]) -> World:
    """The world after a change; numbers wrap around, so that every change means something."""
    kind = change[0]
    if kind == "promote":
        return replace(world, active=frozenset({BUILDING, OTHER}))
    if kind == "cool":
        return world
    at = change[1] % len(world.documents)
    old = world.documents[at]
    if kind == "acl":
        new = replace(old, acl=change[2])
    elif kind == "delete":
        new = replace(old, deleted=True)
    elif kind == "revive":
        new = replace(old, deleted=False)
    elif kind == "move":
        new = replace(old, place=old.place + 1000, collection=change[2])
    elif kind == "content":
        last = max((r.sequence for r in old.revisions), default=0)
        new = replace(old, revisions=(*old.revisions, _revision(last + 1, change[2])))
    elif old.revisions:
        which = change[2] % len(old.revisions)
        before, after = old.revisions[:which], old.revisions[which + 1 :]
        if kind == "forget":
            new = replace(old, revisions=before + after)
        else:
            corrected = replace(old.revisions[which], stated_from=change[3], stated_to=change[4])
            new = replace(old, revisions=(*before, corrected, *after))
    else:
        new = old
    return replace(world, documents=(*world.documents[:at], new, *world.documents[at + 1 :]))


# --- writing -------------------------------------------------------------------------------------


def open_versions(connection: Connection[Any]) -> list[int]:
    """Four versions with partitions, by slot: active, building, active in another index, retired."""
    ids = []
    for slot, (index, state) in enumerate(
        [("main", "ready"), ("main", "building"), ("other", "ready"), ("main", "retired")]
    ):
        row = connection.execute(
            "insert into mucluc.index_version (index_name, name, recipe, chunking_id, context_id,"
            " model, dimensions, state, modulus) values (%s, %s, '{}', %s, 'x', 'model', %s, %s, 2)"
            " returning id",
            [index, f"v{slot}", CUTS[slot], DIMENSIONS, state],
        ).fetchone()
        assert row is not None
        ids.append(row[0])
        connection.execute("select mucluc.open_partition(%s)", [row[0]])
    return ids


def point(connection: Connection[Any], index: str, version: int) -> None:
    """Make a version active."""
    connection.execute(
        "with p as (insert into mucluc.promotion (index_name, alias, to_version, kind, gates,"
        " passed) values (%(i)s, 'active', %(v)s, 'promote', '{}', true) returning id)"
        " insert into mucluc.alias select %(i)s, 'active', %(v)s, id from p"
        " on conflict (index_name, name) do update set version_id = excluded.version_id,"
        " promotion_id = excluded.promotion_id",
        {"i": index, "v": version},
    )


def vector(chunk: UUID) -> str:
    """A unit vector that follows from the chunk's id."""
    values = np.random.default_rng(chunk.int % 2**63).standard_normal(DIMENSIONS)
    values /= np.linalg.norm(values)
    return "[" + ",".join(f"{x:.4f}" for x in values) + "]"


def write(connection: Connection[Any], world: World, versions: Sequence[int]) -> None:
    """Write a whole world, in the present transaction."""
    point(connection, "main", versions[MAIN])
    point(connection, "other", versions[OTHER])
    for document in world.documents:
        _write_document(connection, document, versions)
    connection.execute(
        "select mucluc.refresh_validity(%s)", [[document.id for document in world.documents]]
    )


def write_change(
    connection: Connection[Any],
    old: World,
    new: World,
    change: tuple[Any, ...],
    versions: Sequence[int],
) -> None:
    """Bring the tables from one world to the next, as the pipeline would."""
    if change[0] == "promote":
        point(connection, "main", versions[BUILDING])
    if change[0] == "cool":
        _cool(connection, change[1], versions)
    for before, after in zip(old.documents, new.documents, strict=True):
        if before == after:
            continue
        gone = {r.sequence for r in before.revisions} - {r.sequence for r in after.revisions}
        connection.execute(
            "delete from mucluc.revision where document_id = %s and sequence = any(%s)",
            [after.id, list(gone)],
        )
        _write_document(connection, after, versions)
        connection.execute("select mucluc.refresh_validity(%s)", [[after.id]])


def _cool(connection: Connection[Any], day: date, versions: Sequence[int]) -> None:
    from store.sql import query

    for version in versions:
        values = {"version": version, "today": day}
        if connection.execute(query("newly_ended"), values).fetchone():
            connection.execute(query("cool_entries"), values)
            connection.execute(query("set_hot_from"), values)


def _acl(connection: Connection[Any], document: Document) -> int | None:
    from store.documents import split_acl

    allowed, denied = split_acl(document.acl)
    if not allowed:
        return None
    row = connection.execute(
        "insert into mucluc.acl_set (tenant, principals, denied) values (%s, %s, %s)"
        " on conflict (tenant, principals, denied) do update set tenant = excluded.tenant"
        " returning id",
        [document.tenant, allowed, denied],
    ).fetchone()
    assert row is not None
    return int(row[0])


def _write_document(connection: Connection[Any], d: Document, versions: Sequence[int]) -> None:
    connection.execute(
        "insert into mucluc.document (id, tenant, source, uri, collection, acl_id, deleted_at)"
        " values (%s, %s, 'files', %s, %s, %s, case when %s then now() end)"
        " on conflict (id) do update set uri = excluded.uri, collection = excluded.collection,"
        " acl_id = excluded.acl_id, deleted_at = excluded.deleted_at",
        [d.id, d.tenant, f"{d.mark}/{d.place}.md", d.collection, _acl(connection, d), d.deleted],
    )
    if not d.revisions:
        return
    connection.execute(
        "insert into mucluc.revision (id, document_id, sequence, content_sha256, raw_sha256,"
        " metadata_sha256, suffix, bytes, stated_from, stated_to, seen_on)"
        " select x.id, %s, x.sequence, '', '', '', '.md', 1, x.start, x.stop, x.seen"
        " from unnest(%s::uuid[], %s::int[], %s::date[], %s::date[], %s::date[])"
        "   as x(id, sequence, start, stop, seen)"
        " on conflict (id) do update set stated_from = excluded.stated_from,"
        " stated_to = excluded.stated_to",
        [
            d.id,
            [d.revision_id(r) for r in d.revisions],
            [r.sequence for r in d.revisions],
            [r.stated_from for r in d.revisions],
            [r.stated_to for r in d.revisions],
            [r.seen_on for r in d.revisions],
        ],
    )
    placed = [
        (d.revision_id(r), cut, ordinal, d.chunk_id(n, cut))
        for r in d.revisions
        for cut in sorted(set(CUTS.values()))
        for ordinal, n in enumerate(r.chunks)
    ]
    chunks = sorted({chunk for *_, chunk in placed})
    connection.execute(
        "insert into mucluc.chunk (id, document_id, heading_path, text, kinds, tokens)"
        " select x, %s, '{}', %s, '{text}', 3 from unnest(%s::uuid[]) x on conflict do nothing",
        [d.id, f"{COMMON} {d.mark}", chunks],
    )
    connection.execute(
        "insert into mucluc.revision_chunk (revision_id, cut_id, ordinal, chunk_id, char_start,"
        " char_end) select x.r, x.cut, x.ordinal, x.c, 0, 1"
        " from unnest(%s::uuid[], %s::text[], %s::int[], %s::uuid[]) as x(r, cut, ordinal, c)"
        " on conflict do nothing",
        [list(column) for column in zip(*placed, strict=True)],
    )
    shown = [(slot, r) for r in d.revisions for slot in sorted(r.slots)]
    connection.execute(
        "insert into mucluc.published (version_id, revision_id, document_id, cut_id, n_chunks)"
        " select x.v, x.r, %s, x.cut, x.n"
        " from unnest(%s::int[], %s::uuid[], %s::text[], %s::int[]) as x(v, r, cut, n)"
        " on conflict do nothing",
        [
            d.id,
            [versions[slot] for slot, _ in shown],
            [d.revision_id(r) for _, r in shown],
            [CUTS[slot] for slot, _ in shown],
            [len(r.chunks) for _, r in shown],
        ],
    )
    entries = sorted(
        {(d.chunk_id(n, CUTS[slot]), versions[slot]) for slot, r in shown for n in r.chunks}
    )
    connection.execute(
        "insert into mucluc.entry (chunk_id, version_id, tenant, document_id, embedding, tsv, len,"
        " input_sha256) select x.c, x.v, %s, %s, x.e::public.halfvec, mucluc.lexemes(%s), 2, ''"
        " from unnest(%s::uuid[], %s::int[], %s::text[]) as x(c, v, e) on conflict do nothing",
        [
            d.tenant,
            d.id,
            f"{COMMON} {d.mark}",
            [chunk for chunk, _ in entries],
            [version for _, version in entries],
            [vector(chunk) for chunk, _ in entries],
        ],
    )
