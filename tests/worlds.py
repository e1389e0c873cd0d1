"""Made-up worlds of documents: drawn, written straight into the tables, and judged in Python.

``visible`` is the reference: it says who sees what from the rules in words (docs/design.md, 4),
day by day, without ranges and without SQL; and ``within`` what a scope leaves of it, word by word,
without patterns.
"""

from __future__ import annotations

import json
import re
import unicodedata
import uuid
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta
from typing import Any
from uuid import UUID

import numpy as np
from hypothesis import strategies as st
from psycopg import Connection

from store.reader import EVERYTHING, Scope

TENANTS = ("acme", "globex")
PRINCIPALS = ("role:a", "role:b", "role:c", "user:d")
COLLECTIONS = ("default", "hr")
FIRST_DAY = date(2026, 1, 1)
DAYS = 4
SPAN = [FIRST_DAY + timedelta(n) for n in range(-3, DAYS + 4)]  # beyond it nothing changes
COMMON = "everywhere"  # a word that every chunk holds
SOURCES = ("files", "mail")
# What a document's number, a revision's sequence and a chunk's number choose from.
SAYINGS = (
    "nghỉ phép năm",
    "nghi phep nam",
    "được hoà giải, rồi hòa\n giải tiếp",
    "mã BH-01 (xem thêm)",
    "mã BH-01-A và 18.500.000 đồng",
    "giá 8.500.000đ; 8.500.000 đồng",
    "policies change / policy",
    "1.Mục đích: 8,500,000 của Điều 12.3",
)
HEADINGS: tuple[tuple[str, ...], ...] = ((), ("Chương II", "Điều 12"), ("Phụ lục BH-01",))
TITLES = (None, "Quy chế nghỉ phép", "Price list GIA-2026-10")
LANGUAGES = (("vi", None), ("en-GB", "vi"), (None, "vi"), (None, None))  # stated, of the parser
METADATA: tuple[dict[str, Any], ...] = (
    {},
    {"dept": "hr"},
    {"dept": ["hr", "it"], "level": 3},
    {"dept": None, "level": "3", "open": True},
    {"dept": {"hr": 1}, "level": [3.5, "4"]},
)
KINDS = (["text"], ["table"], ["text", "list"])
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
    pruned: bool = False  # its days count against the others', and nothing else is left


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

    @property
    def source(self) -> str:
        return SOURCES[self.number % len(SOURCES)]

    @property
    def title(self) -> str | None:
        return TITLES[self.number % len(TITLES)]

    def language(self, revision: Revision) -> tuple[str | None, str | None]:
        """As stated, and as the parser found."""
        return LANGUAGES[(self.number + revision.sequence) % len(LANGUAGES)]

    def metadata(self, revision: Revision) -> dict[str, Any]:
        return METADATA[(2 * self.number + revision.sequence) % len(METADATA)]

    def text(self, number: int) -> str:
        """Of a chunk; its body, from here on, and headings and kinds follow from the numbers."""
        return f"{COMMON} {self.mark} {SAYINGS[(3 * self.number + number) % len(SAYINGS)]}"

    def headings(self, number: int) -> tuple[str, ...]:
        return HEADINGS[(self.number + number) % len(HEADINGS)]

    def kinds(self, number: int) -> list[str]:
        return KINDS[(self.number + 2 * number) % len(KINDS)]

    def held(self, slot: int) -> list[Revision]:
        """Whose days count in a version."""
        return [r for r in self.revisions if slot in r.slots or r.pruned]

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
    """Who asks, for which day, and of what."""

    tenant: str
    principals: tuple[str, ...]
    as_of: date
    scope: Scope = EVERYTHING


@dataclass(frozen=True, slots=True)
class Seen:
    """Everything that one asker got, as sets. Pairs where an id alone says too little."""

    documents: frozenset[UUID]
    revisions: frozenset[UUID]
    published: frozenset[tuple[int, UUID]]
    placements: frozenset[tuple[UUID, str, UUID]]
    chunks: frozenset[UUID]
    entries: frozenset[tuple[UUID, int]]
    searched: tuple[frozenset[UUID], ...]  # by slot, within the asker's scope


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
    """What an asker may see of a version, the scope apart."""
    found = []
    for document in world.documents:
        if document.tenant != asker.tenant or document.deleted:
            continue
        if not may_read(document.acl, asker.principals):
            continue
        revision = in_force(document.held(slot), asker.as_of)
        if revision is not None and not revision.pruned:
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
                for n in r.chunks
                if within(asker.scope, d, r, n, d.held(slot))
            )
            for slot, found in enumerate(by_slot)
        ),
    )


# --- scopes --------------------------------------------------------------------------------------


def within(scope: Scope, d: Document, r: Revision, number: int, held: Sequence[Revision]) -> bool:
    """Whether a scope leaves a visible chunk; ``held`` are the document's revisions in the version."""
    stated, found = d.language(r)
    language = (stated or found or "").lower()
    kept = [
        scope.collections is None or d.collection in scope.collections,
        scope.sources is None or d.source in scope.sources,
        scope.languages is None
        or any(
            language == w.lower() or language.split("-")[0] == w.lower() for w in scope.languages
        ),
        scope.kinds is None or bool(set(scope.kinds) & set(d.kinds(number))),
        all(_states(d.metadata(r), key, values) for key, values in scope.metadata.items()),
        _holds(scope, r, held),
    ]
    parts = [d.title or "", *d.headings(number), d.text(number)]
    return (
        all(kept)
        and all(stands(phrase, parts) for phrase in scope.phrases)
        and not any(stands(phrase, parts) for phrase in scope.without if _tokens(phrase))
    )


def _states(metadata: dict[str, Any], key: str, values: Sequence[str]) -> bool:
    value = metadata.get(key)
    items = value if isinstance(value, list) else [value]
    said = [x if isinstance(x, str) else json.dumps(x) for x in items if x is not None]
    return any(value in said for value in values)


def _holds(scope: Scope, revision: Revision, held: Sequence[Revision]) -> bool:
    if scope.holds_from is None and scope.holds_to is None:
        return True
    # Day by day; beyond the drawn days nothing changes any more.
    first, last = scope.holds_from or SPAN[0], scope.holds_to or SPAN[-1]
    return any(in_force(held, day) is revision for day in SPAN if first <= day <= last)


def stands(phrase: str, parts: Sequence[str]) -> bool:
    """Whether a phrase's words stand in one of the parts, one after the other, codes whole."""
    wanted = _tokens(phrase)
    accents = any(_plain(word) != word for word, _ in wanted)
    as_compared = _tone_last if accents else _plain
    words = [as_compared(word) for word, _ in wanted]
    first, last = _codes_at_the_ends(wanted)
    for part in parts:
        there = _tokens(part)
        for at in range(len(there) - len(words) + 1):
            end = at + len(words)
            if [as_compared(word) for word, _ in there[at:end]] != words:
                continue
            cut_before = at > 0 and there[at][1]
            cut_after = end < len(there) and there[end][1]
            if not (first and cut_before) and not (last and cut_after):
                return True
    return not wanted


def _tokens(text: str) -> list[tuple[str, bool]]:
    """Lower-case words, and whether each is joined to the one before, as the parts of a code are."""
    text = unicodedata.normalize("NFC", text).lower()
    found, before = [], None
    for match in re.finditer(r"[^\W_]+", text):
        between = "" if before is None else text[before : match.start()]
        thousands = between == "," and text[before - 1].isdigit() and match[0][:3].isdigit()  # type: ignore[operator]
        joined = bool(between) and (
            set(between) <= set("-_./") or (thousands and len(match[0]) > 2)
        )
        found.append((match[0], joined))
        before = match.end()
    return found


def _codes_at_the_ends(tokens: list[tuple[str, bool]]) -> tuple[bool, bool]:
    groups: list[str] = []
    for word, joined in tokens:
        groups = [*groups[:-1], groups[-1] + word] if joined else [*groups, word]
    digit = [any(c.isdigit() for c in group) for group in groups]
    return (digit[0], digit[-1]) if digit else (False, False)


def _plain(word: str) -> str:
    letters = unicodedata.normalize("NFD", word.replace("đ", "d"))
    return "".join(c for c in letters if not unicodedata.combining(c))


def _tone_last(word: str) -> str:
    letters = unicodedata.normalize("NFD", word)
    tones = [c for c in letters if c in "\u0300\u0301\u0303\u0309\u0323"]
    rest = "".join(c for c in letters if c not in tones)
    return unicodedata.normalize("NFC", rest) + " ".join(tones)


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
PHRASES = (
    "nghỉ phép", "nghi phep nam", "NGHỈ  PHÉP,", "hoà giải", "hòa giải", "BH-01", "BH 01", "01",
    "8.500.000", "500.000", "18.500.000", "8,500,000", "Điều 12", "dieu 12.3", "mục đích", "muc",
    "policy", "chế nghỉ", "II Điều", "GIA-2026-10", "gia 2026", "!?", "phép\u0301",
)  # fmt: skip
phrases = st.lists(st.sampled_from(PHRASES), min_size=1, max_size=2).map(tuple)
narrowings = st.one_of(
    st.fixed_dictionaries({"collections": st.sampled_from([("hr",), COLLECTIONS, ()])}),
    st.fixed_dictionaries({"sources": st.sampled_from([("mail",), SOURCES, ("nowhere",)])}),
    st.fixed_dictionaries({"languages": st.sampled_from([("vi",), ("EN",), ("en-GB", "fr"), ()])}),
    st.fixed_dictionaries({"kinds": st.sampled_from([("table",), ("list", "text"), ()])}),
    st.fixed_dictionaries(
        {
            "metadata": st.dictionaries(
                st.sampled_from(["dept", "level", "open", "none"]),
                st.sampled_from([("hr",), ("3",), ("it", "4"), ("true", "3.5"), ("null",), ()]),
                min_size=1,
                max_size=2,
            )
        }
    ),
    st.fixed_dictionaries({"holds_from": days}),
    st.fixed_dictionaries({"holds_from": days, "holds_to": days}),
    st.fixed_dictionaries({"holds_to": days}),
    st.fixed_dictionaries({"phrases": phrases}),
    st.fixed_dictionaries({"without": phrases}),
)
scopes = st.one_of(
    st.just(EVERYTHING),
    narrowings.map(lambda one: Scope(**one)),
    narrowings.map(lambda one: Scope(**one)),
    st.tuples(narrowings, narrowings).map(lambda two: Scope(**{**two[0], **two[1]})),
)
askers = st.builds(
    Asker,
    st.sampled_from([TENANTS[0], TENANTS[0], TENANTS[0], TENANTS[1], "nobody's"]),
    st.one_of(some_principals, some_principals, st.just(PRINCIPALS), st.just(())),
    st.one_of(
        days, days, st.sampled_from([FIRST_DAY - timedelta(400), FIRST_DAY + timedelta(400)])
    ),
    scopes,
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
    st.tuples(st.just("prune"), days),
    st.tuples(st.just("prune"), st.just(FIRST_DAY + timedelta(DAYS + 1))),
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


def _pruned(document: Document, before: date) -> Document:
    """Without what the revisions said that ended before a day; a newer one must be shown."""

    def is_over(r: Revision, slot: int) -> bool:
        holds = [day for day in SPAN if in_force(document.held(slot), day) is r]
        if not holds:
            return max(r.seen_on, r.stated_from or r.seen_on) < before
        return holds[-1] < min(before, SPAN[-1])

    shown = [r for r in document.revisions if r.slots and not r.pruned]
    newest = max((r.sequence for r in shown), default=0)
    return replace(
        document,
        revisions=tuple(
            replace(r, pruned=True, slots=frozenset())
            if r in shown and r.sequence < newest and all(is_over(r, s) for s in r.slots)
            else r
            for r in document.revisions
        ),
    )


def changed(world: World, change: tuple[Any, ...]) -> World:
    """The world after a change; numbers wrap around, so that every change means something."""
    kind = change[0]
    if kind == "promote":
        return replace(world, active=frozenset({BUILDING, OTHER}))
    if kind == "cool":
        return world
    if kind == "prune":
        return replace(world, documents=tuple(_pruned(d, change[1]) for d in world.documents))
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
            " model, dimensions, state, modulus)"
            """ values (%s, %s, '{"model": "model"}', %s, 'x', 'model', %s, %s, 2)"""
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
    if change[0] == "prune":
        _prune(connection, [d.id for d in new.documents], change[1])
        assert connection.execute(
            "select array(select id from mucluc.revision where pruned order by id)"
        ).fetchone() == (sorted(d.revision_id(r) for d in new.documents for r in d.revisions
                                if r.pruned),)  # fmt: skip
        return
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


def _prune(connection: Connection[Any], documents: list[UUID], before: date) -> None:
    from store.gc import PRUNED
    from store.sql import query

    values: dict[str, Any] = {"ids": documents, "before": before}
    rows = connection.execute(query("prune_revisions"), values).fetchall()
    values["revisions"] = [row[0] for row in rows]
    for _, statement in PRUNED:
        connection.execute(query(statement), values)
    connection.execute(query("refresh_validity"), {"documents": documents})


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
        " values (%s, %s, %s, %s, %s, %s, case when %s then now() end)"
        " on conflict (id) do update set uri = excluded.uri, collection = excluded.collection,"
        " acl_id = excluded.acl_id, deleted_at = excluded.deleted_at",
        [
            d.id,
            d.tenant,
            d.source,
            f"{d.mark}/{d.place}.md",
            d.collection,
            _acl(connection, d),
            d.deleted,
        ],
    )
    if not d.revisions:
        return
    connection.execute(
        "insert into mucluc.revision (id, document_id, sequence, content_sha256, raw_sha256,"
        " metadata_sha256, suffix, bytes, title, language, metadata, stated_from, stated_to,"
        " seen_on) select x.id, %s, x.sequence, '', '', '', '.md', 1, %s, x.language, x.metadata,"
        " x.start, x.stop, x.seen from unnest(%s::uuid[], %s::int[], %s::text[], %s::jsonb[],"
        " %s::date[], %s::date[], %s::date[])"
        "   as x(id, sequence, language, metadata, start, stop, seen)"
        " on conflict (id) do update set stated_from = excluded.stated_from,"
        " stated_to = excluded.stated_to",
        [
            d.id,
            d.title,
            [d.revision_id(r) for r in d.revisions],
            [r.sequence for r in d.revisions],
            [d.language(r)[0] for r in d.revisions],
            [json.dumps(d.metadata(r)) for r in d.revisions],
            [r.stated_from for r in d.revisions],
            [r.stated_to for r in d.revisions],
            [r.seen_on for r in d.revisions],
        ],
    )
    kept = [r for r in d.revisions if not r.pruned]
    if not kept:
        return
    connection.execute(
        "insert into mucluc.parse (revision_id, parser_id, elements, language, page_native)"
        " select x.id, 'p', '[]', x.language, false from unnest(%s::uuid[], %s::text[])"
        "   as x(id, language) on conflict do nothing",
        [[d.revision_id(r) for r in kept], [d.language(r)[1] for r in kept]],
    )
    placed = [
        (d.revision_id(r), cut, ordinal, d.chunk_id(n, cut))
        for r in kept
        for cut in sorted(set(CUTS.values()))
        for ordinal, n in enumerate(r.chunks)
    ]
    numbers = {
        d.chunk_id(n, cut): n for r in kept for cut in sorted(set(CUTS.values())) for n in r.chunks
    }
    connection.execute(
        "insert into mucluc.chunk (id, document_id, heading_path, text, kinds, tokens)"
        " select x.id, %s, array(select jsonb_array_elements_text(x.headings)), x.text,"
        " array(select jsonb_array_elements_text(x.kinds)), 3"
        " from unnest(%s::uuid[], %s::jsonb[], %s::text[], %s::jsonb[])"
        "   as x(id, headings, text, kinds) on conflict do nothing",
        [
            d.id,
            list(numbers),
            [json.dumps(d.headings(n)) for n in numbers.values()],
            [d.text(n) for n in numbers.values()],
            [json.dumps(d.kinds(n)) for n in numbers.values()],
        ],
    )
    connection.execute(
        "insert into mucluc.revision_chunk (revision_id, cut_id, ordinal, chunk_id, char_start,"
        " char_end) select x.r, x.cut, x.ordinal, x.c, 0, 1"
        " from unnest(%s::uuid[], %s::text[], %s::int[], %s::uuid[]) as x(r, cut, ordinal, c)"
        " on conflict do nothing",
        [list(column) for column in zip(*placed, strict=True)],
    )
    shown = [(slot, r) for r in kept for slot in sorted(r.slots)]
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
        " input_sha256) select x.c, x.v, %s, %s, x.e::public.halfvec, mucluc.entry_lexemes('', %s,"
        " k.heading_path, k.text), 2, '' from unnest(%s::uuid[], %s::int[], %s::text[])"
        "   as x(c, v, e) join mucluc.chunk k on k.id = x.c on conflict do nothing",
        [
            d.tenant,
            d.id,
            d.title,
            [chunk for chunk, _ in entries],
            [version for _, version in entries],
            [vector(chunk) for chunk, _ in entries],
        ],
    )
