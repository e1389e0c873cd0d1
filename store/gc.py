"""Collecting what nothing needs any more: retired versions, and rows of the stages behind them.

Everything is done in short transactions that can be repeated: a run that is killed is finished by
the next one. What a pending revision, a rollback, the past, or a version that is being built may
still want stays.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any, LiteralString
from uuid import UUID

import psycopg
from psycopg import Connection, sql
from psycopg.rows import DictRow, dict_row

from store.database import Store
from store.errors import StoreError, coded
from store.sql import query
from store.versions import LOCK_NOT_AVAILABLE, Version, refresh_statistics

DOCUMENTS = 100  # in one transaction
ROWS = 5000
LOCK_TIMEOUT = "200ms"  # who waits for us never waits longer
BEGINNING = UUID(int=0)

# Rows that hang on a document, in the order in which they become unused.
STEPS: tuple[tuple[str, LiteralString], ...] = (
    ("revisions", "delete_orphaned_revisions"),
    ("placements", "delete_unused_placements"),
    ("parses", "delete_unused_parses"),
    ("entries", "delete_unplaced_entries"),
    ("chunks", "delete_unplaced_chunks"),
    ("contexts", "delete_unused_contexts"),
)
# And those of pruned revisions.
PRUNED: tuple[tuple[str, LiteralString], ...] = (
    ("published", "unpublish_revisions"),
    ("placements", "delete_placements_of_revisions"),
    ("parses", "delete_parses_of_revisions"),
    *STEPS[3:],
)


@dataclass(frozen=True, slots=True)
class Busy:
    """What is being worked on right now, and so left alone."""

    sources: tuple[tuple[str, str], ...]
    versions: bool  # a backfill or a promotion, which may want any row

    @property
    def tenants(self) -> list[str]:
        """Whose texts may be on their way."""
        return sorted({tenant for tenant, _ in self.sources})

    def values(self) -> dict[str, list[str]]:
        """Parameters of a statement that leaves these sources out."""
        return {
            "tenants": [tenant for tenant, _ in self.sources],
            "sources": [source for _, source in self.sources],
        }


def retirable(store: Store, keep_days: int) -> list[Version]:
    """Versions that no alias names and none can be rolled back to."""
    with store.transaction() as connection:
        rows = connection.execute(query("retirable_versions"), {"keep_days": keep_days}).fetchall()
    return [Version.from_row(row) for row in rows]


def retired(store: Store) -> list[Version]:
    """Versions whose partitions are still to be dropped."""
    with store.transaction() as connection:
        rows = connection.execute(query("retired_versions")).fetchall()
    return [Version.from_row(row) for row in rows]


def retire(store: Store, run: int, version: Version) -> bool:
    """Take a version out of use. Returns False when an alias names it by now."""
    with store.transaction(run) as connection:
        connection.execute(query("lock_index"), {"index": version.index_name})
        return connection.execute(query("retire_version"), {"version": version.id}).rowcount == 1


def drop_version(store: Store, run: int, version: Version, *, patience: float) -> bool:
    """Drop a retired version's partition and everything that was its own.

    Returns False when readers held it for longer than ``patience`` seconds: the next run goes on.
    """
    if not _drop_partition(store, version.id, patience):
        return False
    values = {"version": version.id, "limit": ROWS}
    for name in ("delete_published", "delete_lexeme_stats"):
        while True:
            with store.transaction(run) as connection:
                if connection.execute(query(name), values).rowcount == 0:
                    break
    with store.transaction(run) as connection:
        connection.execute(query("delete_version_stats"), values)
        connection.execute(query("set_version_state"), {"version": version.id, "state": "dropped"})
    return True


def _drop_partition(store: Store, version: int, patience: float) -> bool:
    deadline = time.monotonic() + patience
    partition = sql.Identifier("mucluc", f"entry_{version}")
    steps = {
        "attached": sql.SQL("alter table mucluc.entry detach partition {} concurrently"),
        "pending": sql.SQL("alter table mucluc.entry detach partition {} finalize"),
        "detached": sql.SQL("drop table {}"),
    }
    with (
        coded(version),
        psycopg.connect(store.url, autocommit=True, row_factory=dict_row) as connection,
    ):
        # Detaching waits for old readers without keeping new ones waiting; dropping needs a moment
        # alone on chunk, to which the partition refers: it steps back and tries again.
        connection.execute(f"set lock_timeout = '{LOCK_TIMEOUT}'")
        connection.execute(f"set statement_timeout = {int(patience * 1000)}")
        while (state := _state(connection, version)) != "gone":
            try:
                connection.execute(steps[state].format(partition))
            except (psycopg.errors.LockNotAvailable, psycopg.errors.QueryCanceled):
                if time.monotonic() > deadline:
                    return False
                time.sleep(0.5)
    return True


def _state(connection: Connection[DictRow], version: int) -> str:
    row = connection.execute(query("partition_state"), {"version": version}).fetchone()
    if row is None or not row["exists"]:
        return "gone"
    if row["pending"]:
        return "pending"
    return "attached" if row["attached"] else "detached"


def delete_long_deleted(store: Store, run: int | None, before: datetime) -> int:
    """Delete documents that left their source before a moment; returns how many.

    Without a run it only counts, up to one batch.
    """
    total = 0
    while True:
        with _quiet(store, run) as (connection, busy):
            rows = connection.execute(
                query("long_deleted"), {"before": before, "limit": DOCUMENTS, **busy.values()}
            ).fetchall()
            ids = {"ids": [row["id"] for row in rows]}
            connection.execute(query("mark_stale_of_documents"), ids)
            total += connection.execute(query("delete_rows_of_documents"), ids).rowcount
        if len(rows) < DOCUMENTS or run is None:
            return total


def delete_unused_rows(store: Store, run: int | None) -> Iterator[Counter[str]]:
    """Delete rows of the stages that nothing refers to; yields counts, batch by batch.

    Leaves sources alone that are being synced, and all while a version is being built or promoted
    (counted as ``busy``). Without a run it counts and changes nothing.
    """
    after = BEGINNING
    while True:
        counts: Counter[str] = Counter()
        with _quiet(store, run) as (connection, busy):
            if busy.versions:
                yield Counter(busy=1)
                return
            rows = connection.execute(
                query("documents_after"), {"after": after, "limit": DOCUMENTS, **busy.values()}
            ).fetchall()
            ids = {"ids": [row["id"] for row in rows]}
            counts += _take(connection, STEPS, ids)
        counts["busy"] = len(busy.sources) if after == BEGINNING else 0
        yield counts
        if len(rows) < DOCUMENTS:
            return
        after = rows[-1]["id"]


def prune_history(
    store: Store,
    run: int | None,
    before: date,
    *,
    tenant: str | None = None,
    source: str | None = None,
) -> Iterator[Counter[str]]:
    """Delete what superseded revisions said that ended before a day; yields counts, by batch.

    Their dates stay, so that the revisions around them hold on the days on which they did. With a
    tenant and a source, of these alone, by the run that syncs them. Leaves other sources alone that
    are being synced, and all while a version is being built or promoted (counted as ``busy``).
    Without a run it counts and changes nothing.
    """
    after = BEGINNING
    while True:
        counts: Counter[str] = Counter()
        with _quiet(store, run) as (connection, busy):
            if busy.versions:
                yield Counter(busy=1)
                return
            others = Busy(tuple(s for s in busy.sources if s != (tenant, source)), False)
            limits = {"before": before, "tenant": tenant, "source": source, "limit": DOCUMENTS}
            rows = connection.execute(
                query("documents_with_old_history"), limits | {"after": after} | others.values()
            ).fetchall()
            ids: dict[str, Any] = {"ids": [row["id"] for row in rows], "before": before}
            pruned = connection.execute(query("prune_revisions"), ids).fetchall()
            ids["revisions"] = [row["id"] for row in pruned]
            counts["history"] = len(pruned)
            if pruned:
                counts += _take(connection, PRUNED, ids)
                # A version that never showed them counts their days as well from now on.
                connection.execute(query("refresh_validity"), {"documents": ids["ids"]})
        yield counts
        if len(rows) < DOCUMENTS:
            return
        after = rows[-1]["id"]


def delete_unused_memos(store: Store, run: int | None) -> Iterator[int]:
    """Delete embeddings of models and texts that are gone; yields counts, batch by batch."""
    place: dict[str, Any] = {"tenant": "", "model": "", "key": b""}
    while True:
        with _quiet(store, run) as (connection, busy):
            rows = connection.execute(query("memos_after"), place | {"limit": ROWS}).fetchall()
            if not rows or busy.versions:
                return
            last = rows[-1]
            done = connection.execute(
                query("delete_unused_memos"),
                place
                | {f"last_{name}": value for name, value in last.items()}
                | {"busy": busy.tenants},
            )
            count = done.rowcount
        yield count
        place = dict(last)


def recount(store: Store, run: int) -> int:
    """Count document frequencies again where entries went; returns for how many tenants."""
    with store.transaction() as connection:
        rows = connection.execute(query("stale_statistics")).fetchall()
    return sum(refresh_statistics(store, run, row["version_id"], row["tenant"]) for row in rows)


def _take(
    connection: Connection[DictRow],
    steps: Sequence[tuple[str, LiteralString]],
    values: Mapping[str, Any],
) -> Counter[str]:
    """Execute statements that delete; returns counts by name. Marks what must be counted again."""
    counts: Counter[str] = Counter()
    for name, statement in steps:
        done = connection.execute(query(statement), values)
        counts[name] += done.rowcount
        if name == "entries":
            for version, tenant in {(r["version_id"], r["tenant"]) for r in done}:
                connection.execute(
                    query("mark_counts_stale"), {"version": version, "tenant": tenant}
                )
    return counts


@contextmanager
def _quiet(store: Store, run: int | None) -> Iterator[tuple[Connection[DictRow], Busy]]:
    """A transaction during which no run begins, with what is under way. Undone without a run."""
    with store.transaction(run) as connection:
        _hold_runs(connection, run)
        rows = connection.execute(query("runs_under_way")).fetchall()
        sources = tuple((row["tenant"], row["source"]) for row in rows if row["kind"] == "sync")
        yield connection, Busy(sources, any(row["kind"] != "sync" for row in rows))
        if run is None:
            connection.rollback()


def _hold_runs(connection: Connection[DictRow], run: int | None) -> None:
    connection.execute(f"set local lock_timeout = '{LOCK_TIMEOUT}'")
    for attempt in range(50):
        try:
            with connection.transaction():
                connection.execute(query("hold_runs"))
            return
        except psycopg.errors.LockNotAvailable:
            if attempt == 49:
                raise StoreError(LOCK_NOT_AVAILABLE, run) from None
            time.sleep(0.1)
