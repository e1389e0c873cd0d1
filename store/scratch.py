"""A database that lives as long as a measurement, on a server that is there already."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import psutil
import psycopg
from psycopg import sql

from store.database import Store, open_store
from store.embedded import beside
from store.errors import DatabaseUnusable

PREFIX = "mucluc_scratch_"
KEPT = "mucluc_kept_"


@contextmanager
def scratch_store(url: str, *, keep: bool = False, sweep: bool = False) -> Iterator[Store]:
    """Open a store on a new database of ``url``'s server, and drop the database at the end.

    With ``keep`` it stays, under a name that begins with ``mucluc_kept_``. With ``sweep``, for a
    server of this machine alone, databases go that killed processes left behind. Its secret is
    made up and forgotten. Raises DatabaseUnusable.
    """
    name = f"{KEPT if keep else PREFIX}{os.getpid()}_{secrets.token_hex(4)}"
    try:
        with psycopg.connect(url, autocommit=True) as connection:
            if sweep:
                _drop_left_behind(connection)
            connection.execute(sql.SQL("create database {}").format(sql.Identifier(name)))
            # What a crash loses here is made again.
            connection.execute(
                sql.SQL("alter database {} set synchronous_commit = off").format(
                    sql.Identifier(name)
                )
            )
    except psycopg.Error as exc:
        raise DatabaseUnusable(
            "A measurement needs a database of its own, and this role cannot make one "
            f"(SQLSTATE {exc.sqlstate}). Grant it: ALTER ROLE … CREATEDB; or leave DATABASE_URL "
            "unset, and the embedded server is used."
        ) from None
    try:
        with open_store(beside(url, name), secrets.token_bytes(32)) as store:
            yield store
    finally:
        if not keep:
            with suppress(psycopg.Error), psycopg.connect(url, autocommit=True) as connection:
                _drop(connection, name)


def _drop_left_behind(connection: psycopg.Connection) -> None:
    rows = connection.execute(
        "select datname from pg_database where starts_with(datname, %s)", [PREFIX]
    ).fetchall()
    for (name,) in rows:
        owner = name.removeprefix(PREFIX).partition("_")[0]
        if owner.isdecimal() and not psutil.pid_exists(int(owner)):
            _drop(connection, name)


def _drop(connection: psycopg.Connection, name: str) -> None:
    connection.execute(
        sql.SQL("drop database if exists {} with (force)").format(sql.Identifier(name))
    )
