"""The store: one pool, the keys, and transactions that a stale run cannot commit."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pgvector.psycopg import register_vector
from psycopg import Connection
from psycopg.rows import DictRow, dict_row
from psycopg_pool import ConnectionPool

from store import embedded
from store.errors import DatabaseUnusable, coded
from store.install import install
from store.keys import derive_key, key_id
from store.sql import query


@dataclass(frozen=True, slots=True, kw_only=True)
class Keys:
    """Keys derived from the one secret, each for one purpose."""

    identity: bytes
    memo: bytes
    tombstone: bytes
    golden: bytes

    @classmethod
    def from_secret(cls, secret: bytes) -> Keys:
        """Derive every key."""
        return cls(
            identity=derive_key(secret, "identity"),
            memo=derive_key(secret, "memo"),
            tombstone=derive_key(secret, "tombstone"),
            golden=derive_key(secret, "golden"),
        )


@dataclass(frozen=True, slots=True)
class Store:
    """An open database. Make one with ``open_store``, use it as a context manager."""

    url: str
    keys: Keys
    pool: ConnectionPool[Connection[DictRow]]

    @contextmanager
    def transaction(self, run_id: int | None = None) -> Iterator[Connection[DictRow]]:
        """A transaction that commits at the end of the block.

        With a run id it first takes the run's fence, so that a run that lost its lock cannot
        write. Raises StoreError (a code, no values) and FencedError.
        """
        with coded(run_id), self.pool.connection() as connection:
            if run_id is not None:
                connection.execute(query("fence"), {"run": run_id})
            yield connection

    @contextmanager
    def reading(self) -> Iterator[Connection[DictRow]]:
        """A connection for single reads, each its own snapshot.

        Without a transaction around it a read is one round trip instead of three, and a sync
        makes more than a dozen for every document. Raises StoreError.
        """
        with coded(), self.pool.connection() as connection:
            connection.autocommit = True
            try:
                yield connection
            finally:
                if not connection.closed:
                    connection.autocommit = False

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_: object) -> None:
        self.pool.close()


def database_url(url: str | None, home: Path) -> str:
    """``url``, or that of the embedded server under ``home``, started if it does not run."""
    return url or embedded.start(home / "postgres")


def open_store(url: str, secret: bytes, *, max_connections: int = 8) -> Store:
    """Bring the database to this program's schema and open a pool on it.

    Raises DatabaseUnusable.
    """
    install(url)
    keys = Keys.from_secret(secret)
    pool: ConnectionPool[Connection[DictRow]] = ConnectionPool(
        url,
        min_size=1,
        max_size=max_connections,
        timeout=10,  # seconds; a task whose server went away tries again three times
        kwargs={"row_factory": dict_row, "application_name": "mucluc"},
        configure=_configure,
        open=True,
    )
    store = Store(url, keys, pool)
    try:
        with store.transaction() as connection:
            _register_keys(connection, keys)
    except BaseException:
        pool.close()
        raise
    return store


def _configure(connection: Connection[Any]) -> None:
    register_vector(connection)
    connection.commit()


def _register_keys(connection: Connection[DictRow], keys: Keys) -> None:
    foreign = connection.execute(
        query("foreign_tombstone_key"), {"key_id": key_id(keys.tombstone)}
    ).fetchone()
    if foreign:
        raise DatabaseUnusable(
            f"Tombstones of erased documents were written under key {foreign['key_id']}, and this "
            "secret makes another: erased documents could come back. Set MUCLUC_SECRET (or "
            "secret.key in MUCLUC_HOME) to the secret that this database was used with."
        )
    present = connection.execute(
        query("has_signing_key"), {"key_id": key_id(keys.identity)}
    ).fetchone()
    if not present:
        connection.execute(
            query("add_signing_key"), {"key_id": key_id(keys.identity), "key": keys.identity}
        )
