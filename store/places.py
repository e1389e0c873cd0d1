"""Keyed hashes of what may have been erased, and the locks under which they are looked at (I9)."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from uuid import UUID

from psycopg import Connection
from psycopg.rows import DictRow

from store.sql import query


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a document is and what it holds: each of the three may carry a tombstone."""

    uri: str
    raw_sha256: bytes
    content_sha256: bytes


def keyed_hash(key: bytes, tenant: str, kind: str, value: bytes) -> bytes:
    """HMAC-SHA256 over tenant, kind (uri, raw, body) and value: 32 bytes."""
    material = b"\0".join([tenant.encode(), kind.encode(), value])
    return hmac.new(key, material, hashlib.sha256).digest()


def place_hashes(key: bytes, tenant: str, place: Place) -> tuple[tuple[str, bytes], ...]:
    """The three (kind, hash) pairs of a place."""
    values = (
        ("uri", place.uri.encode()),
        ("raw", place.raw_sha256),
        ("body", place.content_sha256),
    )
    return tuple((kind, keyed_hash(key, tenant, kind, value)) for kind, value in values)


def lock_and_find_erased(
    connection: Connection[DictRow], key: bytes, tenant: str, places: Mapping[UUID, Place]
) -> set[UUID]:
    """Lock these places to the end of the transaction; return the documents that were erased.

    Writer and eraser lock the same keys in the same order, so neither can slip between the
    other's look at the tombstones and its write.
    """
    hashes = {document: place_hashes(key, tenant, place) for document, place in places.items()}
    lock_keys = {_lock_key(digest) for pairs in hashes.values() for _, digest in pairs}
    connection.execute(query("lock_places"), {"keys": sorted(lock_keys)})
    found = tombstoned(connection, tenant, [d for pairs in hashes.values() for _, d in pairs])
    return {document for document, pairs in hashes.items() if found & set(pairs)}


def lock_and_find_erased_uris(
    connection: Connection[DictRow], key: bytes, places: Iterable[tuple[str, str]]
) -> set[tuple[str, str]]:
    """The same for places alone, as (tenant, URI): which of them were erased."""
    hashes = {place: keyed_hash(key, place[0], "uri", place[1].encode()) for place in places}
    connection.execute(query("lock_places"), {"keys": sorted(map(_lock_key, hashes.values()))})
    erased: set[tuple[str, str]] = set()
    for tenant in {tenant for tenant, _ in hashes}:
        mine = {place: digest for place, digest in hashes.items() if place[0] == tenant}
        found = {digest for _, digest in tombstoned(connection, tenant, mine.values())}
        erased |= {place for place, digest in mine.items() if digest in found}
    return erased


def tombstoned(
    connection: Connection[DictRow], tenant: str, hashes: Iterable[bytes]
) -> set[tuple[str, bytes]]:
    """Which of these hashes have a tombstone, as (kind, hash)."""
    rows = connection.execute(
        query("tombstoned"), {"tenant": tenant, "hashes": list(hashes)}
    ).fetchall()
    return {(row["kind"], bytes(row["hash"])) for row in rows}


def _lock_key(digest: bytes) -> int:
    return int.from_bytes(digest[:8], "big", signed=True)
