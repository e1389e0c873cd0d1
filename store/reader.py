"""The read side's door: one snapshot, the reader role, and a signed identity."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import date
from typing import Any
from uuid import UUID

from psycopg import Connection
from psycopg.rows import DictRow
from psycopg.types.json import Jsonb

from store.database import Store
from store.errors import coded
from store.sql import query


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """Who asks, and for which day."""

    tenant: str
    principals: tuple[str, ...]
    as_of: date


def sign(key: bytes, payload: str) -> str:
    """Hex signature of a payload: SHA-256 nested over the key, as ``mucluc.sign`` checks it."""
    inner = hashlib.sha256(key + payload.encode()).digest()
    return hashlib.sha256(key + inner).hexdigest()


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """What of the visible a search may return; ``None``, and no key or phrase, ask for nothing.

    ``metadata`` names a key and the values of which one must be stated. A revision holds within
    ``holds_from`` to ``holds_to`` (inclusive) when its effective range and these days meet.
    A language stands for its regions too (en for en-GB); an empty tuple of collections, sources,
    languages or kinds allows none. ``phrases`` must all stand in a chunk, ``without`` must not:
    its text, headings and title, compared folded, or with their accents where the phrase has any;
    whole words and codes, any punctuation and white space alike.
    """

    collections: tuple[str, ...] | None = None
    sources: tuple[str, ...] | None = None
    languages: tuple[str, ...] | None = None
    kinds: tuple[str, ...] | None = None
    metadata: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    holds_from: date | None = None
    holds_to: date | None = None
    phrases: tuple[str, ...] = ()
    without: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any] | None:
        """As the search functions take it; None when it narrows nothing."""
        found: dict[str, Any] = {
            name: list(values)
            for name in ("collections", "sources", "languages", "kinds")
            if (values := getattr(self, name)) is not None
        }
        found |= {
            name: list(values) for name in ("phrases", "without") if (values := getattr(self, name))
        }
        found |= {
            name: day.isoformat()
            for name in ("holds_from", "holds_to")
            if (day := getattr(self, name)) is not None
        }
        if self.metadata:
            found["metadata"] = {key: list(values) for key, values in self.metadata.items()}
        return found or None


EVERYTHING = Scope()


@dataclass(frozen=True, slots=True)
class Reader:
    """One search's transaction: every call sees the same snapshot as the same person."""

    connection: Connection[DictRow]

    def resolve(self, index: str, alias: str = "active") -> DictRow | None:
        """The version an alias points at: version_id, name, model, recipe, dimensions."""
        return self.connection.execute(
            query("resolve"), {"index": index, "alias": alias}
        ).fetchone()

    def resolve_version(self, index: str, name: str) -> DictRow | None:
        """A version by its name, active or not, in the same form; None if it cannot be searched."""
        return self.connection.execute(
            query("resolve_version"), {"index": index, "name": name}
        ).fetchone()

    @contextmanager
    def step(self, seconds: float | None = None) -> Iterator[None]:
        """A part of the search that may fail, or take too long, without ending it.

        Raises StoreError (57014 when a statement took longer than ``seconds``).
        """
        milliseconds = 0 if seconds is None else max(1, int(seconds * 1000))
        with coded(), self.connection.transaction():
            self.connection.execute(query("limit_statements"), {"limit": str(milliseconds)})
            yield

    def holding(self, documents: Sequence[UUID]) -> set[UUID]:
        """Which of these documents have a revision that the asker may see on the day."""
        rows = self.connection.execute(
            query("visible_documents"), {"documents": list(documents)}
        ).fetchall()
        return {row["id"] for row in rows}

    def values(self, version: int) -> list[DictRow]:
        """Rows of collection, source and language that visible documents of the day have."""
        return self.connection.execute(query("visible_values"), {"version": version}).fetchall()

    def kinds(self) -> set[str]:
        """Kinds of the visible chunks of the day."""
        rows = self.connection.execute(query("visible_kinds")).fetchall()
        return {row["kind"] for row in rows}

    def dense(
        self, version: int, model: str, vector: Any, k: int, scope: Scope = EVERYTHING
    ) -> list[DictRow]:
        """Rows of rank, chunk_id, distance (cosine), plan."""
        return self.connection.execute(
            query("search_dense"),
            {
                "version": version,
                "model": model,
                "vector": vector,
                "k": k,
                "scope": _json(scope),
            },
        ).fetchall()

    def text(self, version: int, question: str, k: int, scope: Scope = EVERYTHING) -> list[DictRow]:
        """Rows of rank, chunk_id, score (BM25), plan, codes, phrase.

        Ordered by the number of the question's codes that a chunk holds whole, then by whether it
        holds the question's words as a phrase, then by score.
        """
        return self.connection.execute(
            query("search_text"),
            {"version": version, "question": question, "k": k, "scope": _json(scope)},
        ).fetchall()

    def read(self, version: int, chunks: Sequence[UUID]) -> dict[UUID, DictRow]:
        """What there is to show of these chunks, by id; those not visible are absent."""
        rows = self.connection.execute(
            query("read_chunks"), {"version": version, "chunks": list(chunks)}
        ).fetchall()
        return {row["chunk_id"]: row for row in rows}


def _json(scope: Scope) -> Jsonb | None:
    asked = scope.to_json()
    return None if asked is None else Jsonb(asked)


@contextmanager
def read_as(store: Store, identity: Identity) -> Iterator[Reader]:
    """Open one read-only snapshot as the reader role with a signed identity.

    Raises StoreError.
    """
    with coded(), store.pool.connection() as connection:
        # Begun by hand: the transaction, the role and the challenge are one round trip then. What
        # is raised inside reaches the pool, which closes or rolls back what it cannot reuse.
        connection.autocommit = True
        try:
            yield _begin(connection, identity, store.keys.identity)
        finally:
            if not connection.closed:
                connection.execute("rollback")
                connection.autocommit = False


def _begin(connection: Connection[DictRow], identity: Identity, key: bytes) -> Reader:
    # Three statements cannot be prepared, which psycopg would do with the sixth of these.
    cursor = connection.execute(query("begin_reading"), prepare=False)
    while cursor.nextset():
        pass
    row = cursor.fetchone()
    return _sign(connection, identity, key, row)


def identify(connection: Connection[DictRow], store: Store, identity: Identity) -> None:
    """Sign who asks, for the rest of the connection's transaction."""
    row = connection.execute(query("challenge")).fetchone()
    _sign(connection, identity, store.keys.identity, row)


def _sign(
    connection: Connection[DictRow], identity: Identity, key: bytes, row: DictRow | None
) -> Reader:
    payload = json.dumps(
        {
            "tenant": identity.tenant,
            "principals": sorted(identity.principals),
            "as_of": identity.as_of.isoformat(),
            "challenge": row and row["challenge"],
        },
        ensure_ascii=False,
    )
    connection.execute(query("identify"), {"payload": payload, "signature": sign(key, payload)})
    return Reader(connection)
