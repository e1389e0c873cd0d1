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


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """A revision, what each version shows of it, and what a sync settles with it."""

    revision: StoredRevision
    publications: Sequence[Publication]
    settlement: Settlement | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Published:
    """What became of revisions: entries written by version, rows written, erased meanwhile."""

    entries: dict[int, int]
    rows: int
    erased: frozenset[UUID]


class Incomplete(Exception):
    """A revision has chunks without an embedding in a version, so it cannot be published."""

    def __init__(self, revision: UUID, version: int) -> None:
        super().__init__(str(revision))
        self.version = version


class VersionsChanged(Exception):
    """A version was opened, promoted or retired meanwhile: others must be written now."""


def publish(store: Store, run: int, shown: Sequence[Shown]) -> Published:
    """Make revisions visible in versions, in one transaction with their entries (I1, I8).

    They are of one tenant, and each of another document. With a settlement, as in a sync: the
    document counts as seen, good and there. Without, as in a backfill: a version that has the
    revision already is left alone, since a sync may have written it with a newer title.

    What was erased meanwhile is left out. Raises VersionsChanged, and Incomplete when one of them
    is: then none is published.
    """
    with store.transaction(run) as connection:
        places = {
            item.revision.document_id: Place(
                uri=item.revision.uri,
                raw_sha256=item.revision.raw_sha256,
                content_sha256=item.revision.content_sha256,
            )
            for item in shown
        }
        tenant = shown[0].revision.tenant
        erased = lock_and_find_erased(connection, store.keys.tombstone, tenant, places)
        left = [item for item in shown if item.revision.document_id not in erased]
        settlements = {item.revision.document_id: item.settlement for item in left}
        settled = {document: found for document, found in settlements.items() if found is not None}
        for settlement in {(s.index, s.in_step): s for s in settled.values()}.values():
            _hold_versions(connection, settlement)
        entries: dict[int, int] = {}
        rows = 0
        for group in _by_version(left):
            written, added = _publish_in(connection, group)
            if written is not None:
                version = group[0][1].version
                entries[version] = written
                rows += written + added
        if settled:
            connection.execute(
                query("settle_documents"),
                {
                    "documents": list(settled),
                    "tokens": [settlement.token for settlement in settled.values()],
                },
            )
            connection.execute(query("release_quarantine"), {"documents": list(settled)})
        if left:
            connection.execute(query("refresh_validity"), {"documents": sorted(settlements)})
    gone = frozenset(item.revision.id for item in shown if item.revision.document_id in erased)
    return Published(entries=entries, rows=rows, erased=gone)


_One = tuple[Shown, Publication]


def _by_version(shown: Sequence[Shown]) -> list[list[_One]]:
    """What each version gets, in the order in which the publications name the versions."""
    found: dict[int, list[_One]] = {}
    for item in shown:
        for publication in item.publications:
            found.setdefault(publication.version, []).append((item, publication))
    return list(found.values())


def _publish_in(connection: Connection[DictRow], group: Sequence[_One]) -> tuple[int | None, int]:
    """Publish revisions in one version; returns (entries, or None where all were there, rows)."""
    revisions = [item.revision for item, _ in group]
    first = group[0][1]
    values: dict[str, Any] = {
        "version": first.version,
        "tenant": revisions[0].tenant,
        "model": first.model,
        "context": first.context_id,
        "revisions": [revision.id for revision in revisions],
        "documents": [revision.document_id for revision in revisions],
        "sequences": [revision.sequence for revision in revisions],
    }
    ranks = {
        row["revision"]: row
        for row in connection.execute(query("newest_published"), values).fetchall()
    }
    taken = [
        (item, publication)
        for item, publication in group
        if item.settlement is not None or not ranks[item.revision.id]["present"]
    ]
    if not taken:
        return None, 0
    pairs = [
        (item.revision.id, chunk, context)
        for item, publication in taken
        for chunk, context in zip(publication.chunks, publication.inputs, strict=True)
    ]
    values |= {
        "of": [revision for revision, _, _ in pairs],
        "chunks": [chunk for _, chunk, _ in pairs],
        "inputs": [context for _, _, context in pairs],
        "newest": [ranks[revision]["newest"] for revision, _, _ in pairs],
    }
    written = connection.execute(query("publish_entries"), values).rowcount
    counted = connection.execute(query("count_entries"), values).fetchall()
    present = {row["revision"]: row["present"] for row in counted}
    for item, publication in taken:
        if present.get(item.revision.id, 0) != len(publication.chunks):
            raise Incomplete(item.revision.id, publication.version)
    if written:
        connection.execute(query("mark_statistics_stale"), values)
    values |= {
        "revisions": [item.revision.id for item, _ in taken],
        "documents": [item.revision.document_id for item, _ in taken],
        "cuts": [publication.cut for _, publication in taken],
        "counts": [len(publication.chunks) for _, publication in taken],
    }
    return written, connection.execute(query("publish_revisions"), values).rowcount


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
