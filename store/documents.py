"""Documents and revisions: what is known of a source, and what a run changes before it parses."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any
from uuid import UUID

from psycopg import Connection
from psycopg.rows import DictRow
from psycopg.types.json import Jsonb

from sources.files import Metadata
from store.database import Store
from store.places import Place, lock_and_find_erased
from store.sql import query

# Document ids of mucluc and of nobody else.
NAMESPACE = uuid.uuid5(uuid.NAMESPACE_DNS, "mucluc")


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownRevision:
    """A revision as the diff sees it."""

    id: UUID
    sequence: int
    content_sha256: bytes
    metadata_sha256: bytes
    suffix: str
    title: str | None = None
    language: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownDocument:
    """A document as the diff sees it: its newest published revision and an unpublished one."""

    id: UUID
    uri: str
    token: str | None
    deleted: bool
    published: KnownRevision | None
    published_here: bool  # in a version that this run writes
    pending: KnownRevision | None
    last_sequence: int  # of the published ones
    quarantine_cause: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """What is stated about a document whose content is as it was."""

    document_id: UUID
    revision_id: UUID
    metadata: Metadata
    collection: str


@dataclass(frozen=True, slots=True, kw_only=True)
class NewRevision:
    """New content of a document, to be parsed."""

    id: UUID
    document_id: UUID
    sequence: int
    suffix: str
    bytes: int
    place: Place
    metadata: Metadata
    collection: str
    new_document: bool
    parent_id: UUID | None = None


def document_id(tenant: str, source: str, uri: str, taken: int = 0) -> UUID:
    """Id of the document first seen at this place.

    ``taken`` counts earlier documents that were first seen here and have moved away since.
    """
    name = "\0".join([tenant, source, uri] + ([str(taken)] if taken else []))
    return uuid.uuid5(NAMESPACE, name)


def revision_id(document: UUID, sequence: int) -> UUID:
    """Id of a document's n-th content."""
    return uuid.uuid5(document, str(sequence))


def known_documents(
    store: Store, tenant: str, source: str, versions: Sequence[int], *, parent: UUID | None = None
) -> list[KnownDocument]:
    """Every document that this source ever listed, or every attachment of a mail, deleted too.

    ``published_here`` says whether one of ``versions`` holds the newest published revision.
    """
    with store.transaction() as connection:
        rows = connection.execute(
            query("known_documents"),
            {
                "tenant": tenant,
                "source": source,
                "versions": list(versions),
                "parent": parent,
            },
        ).fetchall()
    return [
        KnownDocument(
            id=row["id"],
            uri=row["uri"],
            token=row["listing_token"],
            deleted=row["deleted"],
            published=_known_revision(row, "published"),
            published_here=row["published_here"],
            pending=_known_revision(row, "pending"),
            last_sequence=row["last_sequence"],
            quarantine_cause=row["quarantine_cause"],
        )
        for row in rows
    ]


def _known_revision(row: DictRow, which: str) -> KnownRevision | None:
    if row[f"{which}_id"] is None:
        return None
    return KnownRevision(
        id=row[f"{which}_id"],
        sequence=row[f"{which}_sequence"],
        content_sha256=bytes(row[f"{which}_content"]),
        metadata_sha256=bytes(row[f"{which}_metadata"]),
        suffix=row[f"{which}_suffix"],
        title=row.get(f"{which}_title"),
        language=row.get(f"{which}_language"),
    )


def taken_ids(store: Store, ids: Sequence[UUID]) -> set[UUID]:
    """Which of these document ids exist already."""
    with store.transaction() as connection:
        rows = connection.execute(query("taken_ids"), {"ids": list(ids)}).fetchall()
    return {row["id"] for row in rows}


def delete_documents(store: Store, run: int, ids: Sequence[UUID], now: datetime) -> None:
    """Make documents invisible at every date, from this commit on."""
    if ids:
        with store.transaction(run) as connection:
            connection.execute(query("delete_documents"), {"ids": list(ids), "now": now})


def restate(
    store: Store,
    run: int,
    tenant: str,
    statements: Sequence[Statement],
    *,
    moves: Mapping[UUID, str],
    settled: Mapping[UUID, str],
) -> None:
    """Put what is stated about unchanged content in force, in one transaction.

    ``moves`` are new URIs by document; ``settled`` the listing tokens of documents for which this
    is all there is to do. The others' tokens are forgotten, so that a run killed after this one
    finds them again.
    """
    with store.transaction(run) as connection:
        # Away from their old places first: two documents may swap names.
        for step in ("\0", ""):
            for document, uri in moves.items():
                connection.execute(
                    query("move_document"),
                    {"id": document, "uri": uri if not step else f"moving:{document}"},
                )
        _restate_documents(
            connection, tenant, [(s.document_id, s.collection, s.metadata) for s in statements]
        )
        values = [(s.revision_id, s.metadata) for s in statements]
        connection.execute(
            query("restate_revisions"),
            {
                "ids": [revision for revision, _ in values],
                **_metadata_columns([metadata for _, metadata in values]),
            },
        )
        documents = [s.document_id for s in statements]
        connection.execute(
            query("restate_attachments"),
            {
                "documents": documents,
                "froms": [s.metadata.valid_from for s in statements],
                "tos": [s.metadata.valid_to for s in statements],
            },
        )
        connection.execute(
            query("forget_tokens"), {"ids": [d for d in documents if d not in settled]}
        )
        connection.execute(
            query("record_tokens"), {"ids": list(settled), "tokens": list(settled.values())}
        )
        affected = connection.execute(query("with_attachments"), {"ids": documents}).fetchall()
        connection.execute(
            query("refresh_validity"), {"documents": [row["id"] for row in affected]}
        )


def add_bare_documents(
    store: Store,
    run: int,
    tenant: str,
    source: str,
    places: Sequence[tuple[UUID, str]],
    *,
    collection: str,
    now: datetime,
) -> None:
    """Add (id, uri) documents without content or readers, for files that cannot be taken."""
    if not places:
        return
    with store.transaction(run) as connection:
        connection.execute(
            query("add_documents"),
            {
                "tenant": tenant,
                "source": source,
                "now": now,
                "ids": [document for document, _ in places],
                "uris": [uri for _, uri in places],
                "parents": [None] * len(places),
                "collections": [collection] * len(places),
                "acls": [None] * len(places),
                "stated": [True] * len(places),
            },
        )


def add_revisions(
    store: Store,
    run: int,
    tenant: str,
    source: str,
    revisions: Sequence[NewRevision],
    *,
    superseded: Sequence[UUID],
    now: datetime,
    today: date,
) -> set[UUID]:
    """Add new documents and new content, unpublished; put access to known documents in force.

    ``superseded`` are pending revisions whose bytes are gone. Returns the documents that were
    left out because they, their place or their content were erased (I9).
    """
    with store.transaction(run) as connection:
        erased = lock_and_find_erased(
            connection, store.keys.tombstone, tenant, {r.document_id: r.place for r in revisions}
        )
        wanted = [r for r in revisions if r.document_id not in erased]
        connection.execute(query("drop_pending"), {"ids": list(superseded)})
        acls = _intern_acls(connection, tenant, [r.metadata for r in wanted])
        fresh = [(r, acl) for r, acl in zip(wanted, acls, strict=True) if r.new_document]
        connection.execute(
            query("add_documents"),
            {
                "tenant": tenant,
                "source": source,
                "now": now,
                "ids": [r.document_id for r, _ in fresh],
                "uris": [r.place.uri for r, _ in fresh],
                "parents": [r.parent_id for r, _ in fresh],
                "collections": [r.collection for r, _ in fresh],
                "acls": [acl for _, acl in fresh],
                "stated": [r.metadata.acl is not None for r, _ in fresh],
            },
        )
        _restate_documents(
            connection,
            tenant,
            [(r.document_id, r.collection, r.metadata) for r in wanted if not r.new_document],
        )
        connection.execute(query("forget_tokens"), {"ids": [r.document_id for r in wanted]})
        connection.execute(
            query("add_revisions"),
            {
                "ids": [r.id for r in wanted],
                "documents": [r.document_id for r in wanted],
                "sequences": [r.sequence for r in wanted],
                "contents": [r.place.content_sha256 for r in wanted],
                "raws": [r.place.raw_sha256 for r in wanted],
                "suffixes": [r.suffix for r in wanted],
                "bytes": [r.bytes for r in wanted],
                "seen": [today] * len(wanted),
                **_metadata_columns([r.metadata for r in wanted]),
            },
        )
    return erased


def names(store: Store, ids: Iterable[UUID]) -> dict[UUID, str]:
    """URIs by document id, for a terminal (I10)."""
    with store.transaction() as connection:
        rows = connection.execute(query("document_names"), {"ids": list(ids)}).fetchall()
    return {row["id"]: row["uri"] for row in rows}


def split_acl(acl: Sequence[str] | None) -> tuple[list[str], list[str]]:
    """Sorted (principals, denied) of a stated ACL, in which ``!role:x`` denies."""
    entries = set(acl or ())
    denied = {entry[1:] for entry in entries if entry.startswith("!")}
    return sorted(e for e in entries if not e.startswith("!")), sorted(denied)


def _intern_acls(
    connection: Connection[DictRow], tenant: str, metadata: Sequence[Metadata]
) -> list[int | None]:
    known: dict[tuple[tuple[str, ...], tuple[str, ...]], int] = {}
    ids: list[int | None] = []
    for item in metadata:
        principals, denied = split_acl(item.acl)
        if not principals:
            ids.append(None)
            continue
        key = (tuple(principals), tuple(denied))
        if key not in known:
            row = connection.execute(
                query("intern_acl"),
                {"tenant": tenant, "principals": principals, "denied": denied},
            ).fetchone()
            if row is None:  # another transaction made it and its row is not in our snapshot yet
                row = connection.execute(
                    query("intern_acl"),
                    {"tenant": tenant, "principals": principals, "denied": denied},
                ).fetchone()
            if row is None:
                raise AssertionError("an interned ACL has an id")
            known[key] = row["id"]
        ids.append(known[key])
    return ids


def _restate_documents(
    connection: Connection[DictRow],
    tenant: str,
    statements: Sequence[tuple[UUID, str, Metadata]],
) -> None:
    acls = _intern_acls(connection, tenant, [metadata for _, _, metadata in statements])
    connection.execute(
        query("restate_documents"),
        {
            "ids": [document for document, _, _ in statements],
            "collections": [collection for _, collection, _ in statements],
            "acls": acls,
            "stated": [metadata.acl is not None for _, _, metadata in statements],
        },
    )


def _metadata_columns(metadata: Sequence[Metadata]) -> dict[str, list[Any]]:
    return {
        "titles": [m.title for m in metadata],
        "languages": [m.language for m in metadata],
        "froms": [m.valid_from for m in metadata],
        "tos": [m.valid_to for m in metadata],
        "metadata": [Jsonb(dict(m.extra)) for m in metadata],
        "hashes": [m.sha256() for m in metadata],
    }
