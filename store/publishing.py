"""What a run makes visible, and what it puts aside instead."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from psycopg.rows import DictRow

from store.database import Store
from store.places import Place, lock_and_find_erased
from store.sql import query
from store.stages import StoredRevision


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
