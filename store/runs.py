"""Runs: who may write, and what became of each."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from psycopg import Connection, Error, connect
from psycopg.rows import DictRow
from psycopg.types.json import Jsonb

from store.database import Store
from store.errors import LockHeldError, coded
from store.sql import query

INTERRUPTED = {"interrupted": True}  # the report of a run that Ctrl-C ended


@dataclass(slots=True)
class Run:
    """An open run. ``id`` is its epoch; its lock lives as long as its own connection."""

    id: int
    lock_key: str
    started_on: str  # ISO timestamp with offset: the run's one clock
    options: dict[str, Any]
    tenant: str | None
    source: str | None
    _lock: Connection[Any] | None = field(default=None, repr=False)

    def close(self, store: Store, state: str, report: dict[str, Any] | None) -> None:
        """Record how the run ended and release its lock. A lost run stays lost."""
        try:
            with store.transaction() as connection:
                connection.execute(
                    query("close_run"), {"run": self.id, "state": state, "report": Jsonb(report)}
                )
        finally:
            self.release()

    def release(self) -> None:
        """Give the lock back. Done twice, it does nothing."""
        if self._lock is not None:
            # A closed socket frees the lock only when the server notices it.
            with suppress(Error):
                self._lock.execute(query("release_locks"))
            self._lock.close()
            self._lock = None


def open_run(
    store: Store,
    *,
    kind: str,
    lock_key: str,
    tenant: str | None = None,
    source: str | None = None,
    options: dict[str, Any] | None = None,
) -> Run:
    """Take the lock of ``lock_key`` and begin a run, ending what was left of an earlier one.

    Raises LockHeldError when another run holds the lock. The lock is a session advisory lock on
    a connection of its own: it goes when the process goes.
    """
    with coded():
        lock = connect(store.url, autocommit=True, application_name="mucluc lock")
        held = lock.execute(query("take_lock"), {"key": lock_key}).fetchone()
        if not held or not held[0]:
            lock.close()
            raise LockHeldError(lock_key)
    with store.transaction() as connection:
        connection.execute(query("lose_runs"), {"key": lock_key})
        row = connection.execute(
            query("insert_run"),
            {
                "kind": kind,
                "key": lock_key,
                "tenant": tenant,
                "source": source,
                "options": Jsonb(options or {}),
            },
        ).fetchone()
        if row is None:
            raise AssertionError("insert returned no row")
    return Run(
        row["id"],
        lock_key,
        row["started_at"].isoformat(),
        dict(options or {}),
        tenant,
        source,
        lock,
    )


def last_root(store: Store, tenant: str, source: str) -> str | None:
    """The folder that this source was last read from, if it was ever read."""
    with store.transaction() as connection:
        row = connection.execute(
            query("last_root"), {"tenant": tenant, "source": source}
        ).fetchone()
    return None if row is None else row["root"]


def last_options(store: Store, tenant: str, source: str) -> dict[str, Any] | None:
    """What the last sync of a source was asked, whether it ended well or not."""
    with store.transaction() as connection:
        row = connection.execute(
            query("last_options"), {"tenant": tenant, "source": source}
        ).fetchone()
    return None if row is None else row["options"]


def recent_runs(store: Store, limit: int) -> list[DictRow]:
    """The last runs, newest first. ``state`` is that of the table, or interrupted."""
    with store.transaction() as connection:
        return connection.execute(query("recent_runs"), {"limit": limit}).fetchall()
