"""The store's errors: a code and, where one is known, an id. Never a value (I10)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import psycopg


class StoreError(Exception):
    """A database call failed. ``code`` is the SQLSTATE (or a name of ours), ``about`` an id."""

    def __init__(self, code: str, about: object = None) -> None:
        super().__init__(f"database error {code}" + (f" at {about}" if about is not None else ""))
        self.code = code
        self.about = about

    @property
    def transient(self) -> bool:
        """Whether trying again can help: lost connections, serialisation, deadlocks, locks."""
        return self.code[:2] in {"08", "40", "53", "57"} or self.code in {"55P03", "connection"}


class LockHeldError(Exception):
    """Another run works on the same source or version."""

    def __init__(self, lock_key: str) -> None:
        super().__init__("another run holds the lock")
        self.lock_key = lock_key


class FencedError(Exception):
    """This run lost its lock to a later one, and may no longer write (I8)."""

    def __init__(self, run_id: int) -> None:
        super().__init__(f"run {run_id} no longer holds its lock")
        self.run_id = run_id


class DatabaseUnusable(Exception):
    """The database cannot be used as it is. The message says what is missing and what to run."""


@contextmanager
def coded(about: object = None) -> Iterator[None]:
    """Re-raise database errors as codes: their texts print rows, vectors and all (I10)."""
    try:
        yield
    except psycopg.Error as exc:
        code = exc.sqlstate or ("connection" if isinstance(exc, psycopg.OperationalError) else "?")
        if code == "MU001":
            raise FencedError(about if isinstance(about, int) else -1) from None
        raise StoreError(code, about) from (
            exc if __import__("os").environ.get("MUCLUC_DEBUG") else None
        )
