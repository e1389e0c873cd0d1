"""The stage tables: each stage reads the rows of the one before and writes its own."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from psycopg.types.json import Json, Jsonb

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
class Cutting:
    """A revision's chunks with their ids, as the chunk stage writes them."""

    revision: StoredRevision
    cut: str
    ids: Sequence[UUID]
    chunks: Sequence[Chunk]


@dataclass(frozen=True, slots=True, kw_only=True)
class Placement:
    """A chunk in a revision, with what its context depends on."""

    chunk_id: UUID
    page_start: int | None
    heading_path: tuple[str, ...]


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


def read_revisions(store: Store, revisions: Sequence[UUID]) -> dict[UUID, StoredRevision]:
    """Revisions by id; those that are gone are left out."""
    with store.reading() as connection:
        rows = connection.execute(query("revisions"), {"revisions": list(revisions)}).fetchall()
    found = {}
    for row in rows:
        values = dict(row)
        values["content_sha256"] = bytes(row["content_sha256"])
        values["raw_sha256"] = bytes(row["raw_sha256"])
        found[row["id"]] = StoredRevision(**values)
    return found


def read_revision(store: Store, revision: UUID) -> StoredRevision:
    """One revision. Raises KeyError when it is gone."""
    return read_revisions(store, [revision])[revision]


def has_parse(store: Store, revision: UUID, parser_id: str) -> bool:
    """Whether the parse stage has this revision."""
    with store.reading() as connection:
        row = connection.execute(
            query("has_parse"), {"revision": revision, "parser": parser_id}
        ).fetchone()
    return row is not None


def parses(store: Store, revisions: Sequence[UUID]) -> dict[UUID, list[str]]:
    """Ids of the parsers whose elements the parse stage has, by revision; none is left out."""
    found: dict[UUID, list[str]] = {revision: [] for revision in revisions}
    with store.reading() as connection:
        rows = connection.execute(query("parses"), {"revisions": list(revisions)}).fetchall()
    for row in rows:
        found[row["revision_id"]].append(row["parser_id"])
    return found


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


def parse_facts(store: Store, parsers: Mapping[UUID, str]) -> dict[UUID, ParseFacts]:
    """What its parser said of each revision; those that are not parsed are left out."""
    values = {"revisions": list(parsers), "parsers": list(parsers.values())}
    with store.reading() as connection:
        rows = connection.execute(query("parse_facts"), values).fetchall()
    return {
        row["revision_id"]: ParseFacts(
            title=row["title"], language=row["language"], page_native=row["page_native"]
        )
        for row in rows
    }


def count_chunks(store: Store, cuts: Mapping[UUID, str]) -> dict[UUID, int]:
    """How many chunks the chunk stage has of each revision's cut; none is left out."""
    values = {"revisions": list(cuts), "cuts": list(cuts.values())}
    with store.reading() as connection:
        rows = connection.execute(query("count_cuts"), values).fetchall()
    return {row["revision"]: int(row["chunks"]) for row in rows}


def add_chunks(store: Store, run: int, cuttings: Sequence[Cutting]) -> tuple[int, int]:
    """Write revisions' chunks and their places, in one transaction.

    Returns (new chunks, rows written). What is gone by now is left out.
    """
    placed = [
        (cutting, ordinal, chunk_id, chunk)
        for cutting in cuttings
        for ordinal, (chunk_id, chunk) in enumerate(zip(cutting.ids, cutting.chunks, strict=True))
    ]
    chunks = [
        {
            "id": str(chunk_id),
            "document": str(cutting.revision.document_id),
            "heading_path": chunk.heading_path,
            "text": chunk.text,
            "kinds": chunk.kinds,
            "tokens": chunk.tokens,
            "added": [edge for span in chunk.added for edge in span],
            "cells": [[c.row, c.col, c.start, c.end] for c in chunk.cells] or None,
            "warnings": chunk.warnings,
        }
        for cutting, _, chunk_id, chunk in placed
    ]
    with store.transaction(run) as connection:
        new = connection.execute(query("add_chunks"), {"chunks": Json(chunks)}).rowcount
        rows = connection.execute(
            query("add_placements"),
            {
                "revisions": [cutting.revision.id for cutting, _, _, _ in placed],
                "cuts": [cutting.cut for cutting, _, _, _ in placed],
                "ordinals": [ordinal for _, ordinal, _, _ in placed],
                "chunks": [chunk_id for _, _, chunk_id, _ in placed],
                "table_ids": [chunk.table_id for _, _, _, chunk in placed],
                "char_starts": [chunk.char_start for _, _, _, chunk in placed],
                "char_ends": [chunk.char_end for _, _, _, chunk in placed],
                "page_starts": [chunk.page_start for _, _, _, chunk in placed],
                "page_ends": [chunk.page_end for _, _, _, chunk in placed],
            },
        ).rowcount
        return new, new + rows


def placements(store: Store, cuts: Mapping[UUID, str]) -> dict[UUID, list[Placement]]:
    """The chunks of each revision's cut, in order; no revision is left out."""
    found: dict[UUID, list[Placement]] = {revision: [] for revision in cuts}
    values = {"revisions": list(cuts), "cuts": list(cuts.values())}
    with store.reading() as connection:
        rows = connection.execute(query("placements"), values).fetchall()
    for row in rows:
        found[row["revision_id"]].append(
            Placement(
                chunk_id=row["chunk_id"],
                page_start=row["page_start"],
                heading_path=tuple(row["heading_path"]),
            )
        )
    return found


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
    """Write contexts, in one transaction; returns rows written. What is gone is left out."""
    if not contexts:
        return 0
    with store.transaction(run) as connection:
        return connection.execute(
            query("add_contexts"),
            {
                "context": context_id,
                "chunks": [c.chunk_id for c in contexts],
                "inputs": [c.input_sha256 for c in contexts],
                "prefixes": [c.prefix for c in contexts],
                "tokens": [c.tokens for c in contexts],
                "fallbacks": [c.fallback for c in contexts],
                "keys": [c.embedding_key for c in contexts],
            },
        ).rowcount
