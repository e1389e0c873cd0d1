"""The stage tables: each stage reads the rows of the one before and writes its own."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any, LiteralString
from uuid import UUID

import numpy as np
from numpy.typing import NDArray
from pgvector import Vector
from psycopg import Cursor
from psycopg.errors import UniqueViolation
from psycopg.rows import DictRow
from psycopg.types.json import Jsonb

from chunkers.chunk import Chunk
from parsers.elements import Element, Parsed, elements_from_json, elements_to_json
from store.database import Store
from store.errors import StoreError
from store.places import Place, lock_and_find_erased
from store.sql import query


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredRevision:
    """A revision with what the stages need of its document."""

    id: UUID
    document_id: UUID
    sequence: int
    content_sha256: bytes
    raw_sha256: bytes
    suffix: str
    bytes: int
    title: str | None
    language: str | None
    tenant: str
    source: str
    uri: str
    collection: str
    parent_id: UUID | None
    listing_token: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ParseFacts:
    """What a parser said of a revision, apart from its elements."""

    title: str | None
    language: str | None
    page_native: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Placement:
    """A chunk in a revision, with what its context depends on."""

    chunk_id: UUID
    ordinal: int
    page_start: int | None
    table_id: str | None
    heading_path: tuple[str, ...]
    kinds: tuple[str, ...]
    tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredContext:
    """A context as the contextualize stage writes it."""

    chunk_id: UUID
    input_sha256: bytes
    prefix: str
    tokens: int
    fallback: bool
    embedding_key: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Unembedded:
    """A contextual text that no memo holds."""

    key: bytes
    prefix: str
    text: str
    tokens: int


def cut_id(parser_id: str, chunking_id: str) -> str:
    """Name of one parser's elements under one chunking recipe."""
    return hashlib.sha256(f"{parser_id}\0{chunking_id}".encode()).hexdigest()[:16]


def chunk_ids(document: UUID, chunking_id: str, chunks: Sequence[Chunk]) -> list[UUID]:
    """Ids from content and place: document, recipe, heading path, text, n-th occurrence.

    An edit elsewhere in the document leaves them alone. The spans that only repeat are part of
    the content.
    """
    seen: dict[bytes, int] = {}
    ids = []
    for chunk in chunks:
        parts = [
            document.hex,
            chunking_id,
            *chunk.heading_path,
            "",
            chunk.text,
            repr(chunk.added),
        ]
        base = hashlib.sha256("\0".join(parts).encode()).digest()
        occurrence = seen.get(base, 0)
        seen[base] = occurrence + 1
        digest = hashlib.sha256(base + occurrence.to_bytes(4, "big")).digest()
        ids.append(UUID(bytes=digest[:16]))
    return ids


def read_revision(store: Store, revision: UUID) -> StoredRevision:
    """One revision. Raises KeyError when it is gone."""
    with store.reading() as connection:
        row = connection.execute(query("revision"), {"revision": revision}).fetchone()
    if row is None:
        raise KeyError(revision)
    values = dict(row)
    values["content_sha256"] = bytes(row["content_sha256"])
    values["raw_sha256"] = bytes(row["raw_sha256"])
    return StoredRevision(**values)


def has_parse(store: Store, revision: UUID, parser_id: str) -> bool:
    """Whether the parse stage has this revision."""
    with store.reading() as connection:
        row = connection.execute(
            query("has_parse"), {"revision": revision, "parser": parser_id}
        ).fetchone()
    return row is not None


def add_parse(store: Store, run: int, revision: UUID, parser_id: str, parsed: Parsed) -> int:
    """Write a revision's elements; returns rows written."""
    with store.transaction(run) as connection:
        return connection.execute(
            query("add_parse"),
            {
                "revision": revision,
                "parser": parser_id,
                "elements": Jsonb(parsed.elements, dumps=elements_to_json),
                "title": parsed.title,
                "language": parsed.language,
                "page_native": parsed.page_native,
                "warnings": list(parsed.warnings),
            },
        ).rowcount


def read_elements(store: Store, revision: UUID, parser_id: str) -> tuple[Element, ...]:
    """A revision's elements. Raises KeyError when it is not parsed."""
    with store.reading() as connection:
        row = connection.execute(
            query("read_parse"), {"revision": revision, "parser": parser_id}
        ).fetchone()
    if row is None:
        raise KeyError(revision)
    return elements_from_json(row["elements"])


def parse_facts(store: Store, revision: UUID, parser_id: str) -> ParseFacts:
    """What the parser said of a revision. Raises KeyError when it is not parsed."""
    with store.reading() as connection:
        row = connection.execute(
            query("parse_facts"), {"revision": revision, "parser": parser_id}
        ).fetchone()
    if row is None:
        raise KeyError(revision)
    return ParseFacts(**row)


def count_chunks(store: Store, revision: UUID, cut: str) -> int:
    """How many chunks the chunk stage has of this revision."""
    with store.reading() as connection:
        row = connection.execute(query("has_cut"), {"revision": revision, "cut": cut}).fetchone()
    return 0 if row is None else int(row["chunks"])


def add_chunks(
    store: Store,
    run: int,
    revision: StoredRevision,
    cut: str,
    ids: Sequence[UUID],
    chunks: Sequence[Chunk],
) -> tuple[int, int]:
    """Write a revision's chunks and their places; returns (new chunks, rows written)."""
    with store.transaction(run) as connection, connection.cursor() as cursor:
        cursor.executemany(
            query("add_chunks"),
            [
                {
                    "id": chunk_id,
                    "document": revision.document_id,
                    "heading_path": list(chunk.heading_path),
                    "text": chunk.text,
                    "kinds": list(chunk.kinds),
                    "tokens": chunk.tokens,
                    "added": [edge for span in chunk.added for edge in span],
                    "cells": Jsonb([[c.row, c.col, c.start, c.end] for c in chunk.cells])
                    if chunk.cells
                    else None,
                    "warnings": list(chunk.warnings),
                }
                for chunk_id, chunk in zip(ids, chunks, strict=True)
            ],
        )
        new = max(cursor.rowcount, 0)
        cursor.executemany(
            query("add_placements"),
            [
                {
                    "revision": revision.id,
                    "cut": cut,
                    "ordinal": ordinal,
                    "chunk": chunk_id,
                    "table_id": chunk.table_id,
                    "char_start": chunk.char_start,
                    "char_end": chunk.char_end,
                    "page_start": chunk.page_start,
                    "page_end": chunk.page_end,
                }
                for ordinal, (chunk_id, chunk) in enumerate(zip(ids, chunks, strict=True))
            ],
        )
        return new, new + max(cursor.rowcount, 0)


def placements(store: Store, revision: UUID, cut: str) -> list[Placement]:
    """A revision's chunks, in order."""
    with store.reading() as connection:
        rows = connection.execute(
            query("placements"), {"revision": revision, "cut": cut}
        ).fetchall()
    return [
        Placement(
            chunk_id=row["chunk_id"],
            ordinal=row["ordinal"],
            page_start=row["page_start"],
            table_id=row["table_id"],
            heading_path=tuple(row["heading_path"]),
            kinds=tuple(row["kinds"]),
            tokens=row["tokens"],
        )
        for row in rows
    ]


def missing_contexts(
    store: Store, context_id: str, chunks: Sequence[UUID], inputs: Sequence[bytes]
) -> list[tuple[int, str]]:
    """(position in the given pairs, chunk text) of the pairs without a context."""
    with store.reading() as connection:
        rows = connection.execute(
            query("missing_contexts"),
            {"context": context_id, "chunks": list(chunks), "inputs": list(inputs)},
        ).fetchall()
    return [(row["position"] - 1, row["text"]) for row in rows]


def add_contexts(store: Store, run: int, context_id: str, contexts: Sequence[StoredContext]) -> int:
    """Write contexts; returns rows written."""
    if not contexts:
        return 0
    with store.transaction(run) as connection, connection.cursor() as cursor:
        cursor.executemany(
            query("add_contexts"),
            [
                {
                    "chunk": c.chunk_id,
                    "context": context_id,
                    "input": c.input_sha256,
                    "prefix": c.prefix,
                    "tokens": c.tokens,
                    "fallback": c.fallback,
                    "key": c.embedding_key,
                }
                for c in contexts
            ],
        )
        return max(cursor.rowcount, 0)


def missing_embeddings(
    store: Store,
    tenant: str,
    model: str,
    context_id: str,
    chunks: Sequence[UUID],
    inputs: Sequence[bytes],
) -> list[Unembedded]:
    """Contextual texts of these pairs that this tenant never embedded with this model."""
    with store.reading() as connection:
        rows = connection.execute(
            query("missing_embeddings"),
            {
                "tenant": tenant,
                "model": model,
                "context": context_id,
                "chunks": list(chunks),
                "inputs": list(inputs),
            },
        ).fetchall()
    return [
        Unembedded(
            key=bytes(row["key"]), prefix=row["prefix"], text=row["text"], tokens=row["tokens"]
        )
        for row in rows
    ]


def add_embeddings(
    store: Store,
    run: int,
    tenant: str,
    model: str,
    keys: Sequence[bytes],
    vectors: NDArray[np.float32],
) -> int:
    """Write embeddings, float32 of shape (len(keys), dimensions), to the memo by binary COPY.

    Returns rows written: keys that the memo holds by now are left out.
    """
    if not keys:
        return 0
    # The caller has just asked what is missing, so as a rule nothing collides, and a slice goes in
    # without a table to stage it.
    try:
        with store.transaction(run) as connection, connection.cursor() as cursor:
            _copy(cursor, MEMO, (tenant, model), keys, vectors)
        return len(keys)
    except StoreError as error:
        if error.code != UniqueViolation.sqlstate:
            raise
    with store.transaction(run) as connection, connection.cursor() as cursor:
        cursor.execute(
            "create temp table incoming (key bytea, embedding public.vector) on commit drop"
        )
        _copy(cursor, INCOMING, (), keys, vectors)
        cursor.execute(query("memo_from_stage"), {"tenant": tenant, "model": model})
        return max(cursor.rowcount, 0)


MEMO: LiteralString = (
    "copy mucluc.embedding_memo (tenant, model, key, embedding) from stdin (format binary)"
)
INCOMING: LiteralString = "copy incoming (key, embedding) from stdin (format binary)"


def _copy(
    cursor: Cursor[DictRow],
    statement: LiteralString,
    constants: tuple[str, ...],
    keys: Sequence[bytes],
    vectors: NDArray[np.float32],
) -> None:
    with cursor.copy(statement) as copy:
        copy.set_types([*("text" for _ in constants), "bytea", "vector"])
        for key, vector in zip(keys, vectors, strict=True):
            copy.write_row((*constants, key, Vector(vector)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Publication:
    """A revision ready to be shown in a version."""

    revision: StoredRevision
    version: int
    model: str
    context_id: str
    cut: str
    token: str | None
    chunks: tuple[UUID, ...]
    inputs: tuple[bytes, ...]


class Incomplete(Exception):
    """A revision has chunks without an embedding, so it cannot be published."""


def publish(store: Store, run: int, publication: Publication) -> tuple[int, int] | None:
    """Write a revision's entries and make it visible, in one transaction (I1, I8).

    Returns (entries written, rows written), or None when the document was erased meanwhile.
    Raises Incomplete when an embedding is missing.
    """
    revision = publication.revision
    place = Place(
        uri=revision.uri,
        raw_sha256=revision.raw_sha256,
        content_sha256=revision.content_sha256,
    )
    pairs: dict[str, Any] = {
        "version": publication.version,
        "tenant": revision.tenant,
        "model": publication.model,
        "context": publication.context_id,
        "chunks": list(publication.chunks),
        "inputs": list(publication.inputs),
    }
    with store.transaction(run) as connection:
        if lock_and_find_erased(
            connection, store.keys.tombstone, revision.tenant, {revision.document_id: place}
        ):
            return None
        entries = connection.execute(query("publish_entries"), pairs).rowcount
        present = connection.execute(query("count_entries"), pairs).fetchone()
        if present is None or present["present"] != len(publication.chunks):
            raise Incomplete(str(revision.id))
        if entries:
            connection.execute(query("mark_statistics_stale"), pairs)
        shown = connection.execute(
            query("publish_revision"),
            {
                "version": publication.version,
                "revision": revision.id,
                "document": revision.document_id,
                "cut": publication.cut,
                "chunks": len(publication.chunks),
            },
        ).rowcount
        connection.execute(
            query("settle_document"),
            {"document": revision.document_id, "token": publication.token},
        )
        connection.execute(query("release_quarantine"), {"document": revision.document_id})
        connection.execute(query("refresh_validity"), {"documents": [revision.document_id]})
    return entries, entries + shown


def quarantine(
    store: Store,
    run: int,
    document: UUID,
    *,
    reason: str,
    hint: str,
    content_sha256: bytes | None,
    cause: str,
    token: str,
    now: datetime,
) -> None:
    """Put a document aside with a reason; an earlier revision of it goes on showing (I12)."""
    with store.transaction(run) as connection:
        connection.execute(
            query("quarantine"),
            {
                "document": document,
                "reason": reason,
                "hint": hint,
                "content": content_sha256,
                "cause": cause,
                "now": now,
            },
        )
        connection.execute(query("mark_stale"), {"document": document, "token": token})


def quarantined(store: Store, tenant: str, source: str) -> list[DictRow]:
    """A source's quarantined documents: id, uri, reason, hint, attempts, stale."""
    with store.reading() as connection:
        return connection.execute(
            query("quarantined"), {"tenant": tenant, "source": source}
        ).fetchall()


def count_unreadable(store: Store, tenant: str, source: str) -> int:
    """Documents for which no ACL is stated anywhere, so that nobody may read them (I5)."""
    with store.reading() as connection:
        row = connection.execute(
            query("unreadable_by_anyone"), {"tenant": tenant, "source": source}
        ).fetchone()
    return 0 if row is None else int(row["documents"])


def today(now: datetime) -> date:
    """The day of ``now``, in its own time zone."""
    return now.date()
