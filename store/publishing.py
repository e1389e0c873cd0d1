"""What a run makes visible, and what it puts aside instead."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from psycopg import Connection
from psycopg.rows import DictRow

from store.database import Store
from store.places import Place, lock_and_find_erased
from store.sql import query
from store.stages import StoredRevision


@dataclass(frozen=True, slots=True, kw_only=True)
class Publication:
    """What a version shows of a revision."""

    version: int
    model: str
    context_id: str
    cut: str
    chunks: tuple[UUID, ...]
    inputs: tuple[bytes, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Settlement:
    """What a sync settles with a document's newest revision.

    ``in_step`` are the versions of ``index`` that it believes it must write; ``token`` is the
    listing's.
    """

    index: str
    in_step: tuple[int, ...]
    keep_days: int
    token: str | None


class Incomplete(Exception):
    """A revision has chunks without an embedding in a version, so it cannot be published."""

    def __init__(self, revision: UUID, version: int) -> None:
        super().__init__(str(revision))
        self.version = version


class VersionsChanged(Exception):
    """A version was opened, promoted or retired meanwhile: others must be written now."""


def publish(
    store: Store,
    run: int,
    revision: StoredRevision,
    publications: Sequence[Publication],
    settlement: Settlement | None = None,
) -> tuple[dict[int, int], int] | None:
    """Make a revision visible in versions, in one transaction with its entries (I1, I8).

    With a settlement, as a sync does: the document counts as seen, good and there. Without, as a
    backfill does: a version that has the revision already is left alone, since a sync may have
    written it with a newer title.

    Returns (entries written by version, rows written), or None when the document was erased
    meanwhile. Raises Incomplete, VersionsChanged.
    """
    place = Place(
        uri=revision.uri,
        raw_sha256=revision.raw_sha256,
        content_sha256=revision.content_sha256,
    )
    entries: dict[int, int] = {}
    shown = 0
    with store.transaction(run) as connection:
        if lock_and_find_erased(
            connection, store.keys.tombstone, revision.tenant, {revision.document_id: place}
        ):
            return None
        if settlement is not None:
            _hold_versions(connection, settlement)
        for publication in publications:
            values = _values(revision, publication)
            rank = connection.execute(query("newest_published"), values).fetchone()
            if rank is None:
                raise AssertionError("an aggregate returns a row")
            if settlement is None and rank["present"]:
                continue
            values["newest"] = rank["newest"]
            written = connection.execute(query("publish_entries"), values).rowcount
            present = connection.execute(query("count_entries"), values).fetchone()
            if present is None or present["present"] != len(publication.chunks):
                raise Incomplete(revision.id, publication.version)
            if written:
                connection.execute(query("mark_statistics_stale"), values)
            entries[publication.version] = written
            shown += connection.execute(query("publish_revision"), values).rowcount
        if settlement is not None:
            connection.execute(
                query("settle_document"),
                {"document": revision.document_id, "token": settlement.token},
            )
            connection.execute(query("release_quarantine"), {"document": revision.document_id})
        connection.execute(query("refresh_validity"), {"documents": [revision.document_id]})
    return entries, sum(entries.values()) + shown


def _hold_versions(connection: Connection[DictRow], settlement: Settlement) -> None:
    """Keep aliases and versions as they are to the end of the transaction; check that we know them.

    Who opens a version or moves an alias takes the same lock alone, so after that every
    publication goes to the versions that there are then.
    """
    values = {"index": settlement.index, "keep_days": settlement.keep_days}
    connection.execute(query("share_index"), values)
    found = connection.execute(query("versions_in_step"), values).fetchall()
    if tuple(row["id"] for row in found) != settlement.in_step:
        raise VersionsChanged


def _values(revision: StoredRevision, publication: Publication) -> dict[str, Any]:
    return {
        "version": publication.version,
        "tenant": revision.tenant,
        "revision": revision.id,
        "sequence": revision.sequence,
        "document": revision.document_id,
        "model": publication.model,
        "context": publication.context_id,
        "cut": publication.cut,
        "chunks": list(publication.chunks),
        "inputs": list(publication.inputs),
        "count": len(publication.chunks),
    }


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
