"""The stage tables: each stage reads the rows of the one before and writes its own."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from psycopg.types.json import Jsonb

from chunkers.chunk import Chunk
from parsers.elements import Element, Parsed, elements_from_json, elements_to_json
from store.database import Store
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
    deleted: bool


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


def parses(store: Store, revision: UUID) -> list[str]:
    """Ids of the parsers whose elements the parse stage has of a revision."""
    with store.reading() as connection:
        rows = connection.execute(query("parses"), {"revision": revision}).fetchall()
    return [row["parser_id"] for row in rows]


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
