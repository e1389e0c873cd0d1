"""A database beside mucluc's for Prefect's own tables."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager

import psycopg
from psycopg import sql

from store.embedded import beside

NAME = "mucluc_prefect"
START_LOCK = 0x70726566656374  # "prefect": first starts at once would trip over its tables


@contextmanager
def prepared(url: str, version: str) -> Iterator[str | None]:
    """Make the database that Prefect keeps its runs in; yields its URL for asyncpg.

    A server of a new ``version`` of Prefect makes its tables when it first starts, which only one
    can do at a time: until one has (see ``begun``), this block is entered by one process at a
    time. Yields None where the server does not let us: Prefect then uses a file of its own.
    """
    target = beside(url, NAME)
    try:
        connection = psycopg.connect(url, autocommit=True)
    except psycopg.Error:
        yield None
        return
    with closing(connection):
        try:
            if _begun_by(connection) != version:
                connection.execute("select pg_advisory_lock(%s)", [START_LOCK])
                _make(connection, target)
            if _begun_by(connection) == version:
                connection.execute("select pg_advisory_unlock_all()")
        except psycopg.Error:
            yield None
            return
        yield target.replace("postgresql://", "postgresql+asyncpg://", 1)


def begun(url: str, version: str) -> None:
    """Note that a server of this version of Prefect has started and made its tables."""
    with psycopg.connect(url, autocommit=True) as connection:
        if _begun_by(connection) != version:
            connection.execute(
                sql.SQL("comment on database {} is {}").format(
                    sql.Identifier(NAME), sql.Literal(version)
                )
            )


def _begun_by(connection: psycopg.Connection) -> str | None:
    row = connection.execute(
        "select shobj_description(oid, 'pg_database') from pg_database where datname = %s", [NAME]
    ).fetchone()
    return row[0] if row else None


def _make(connection: psycopg.Connection, target: str) -> None:
    if not connection.execute("select 1 from pg_database where datname = %s", [NAME]).fetchone():
        connection.execute(sql.SQL("create database {}").format(sql.Identifier(NAME)))
    with psycopg.connect(target, autocommit=True) as there:
        # Prefect's migrations ask for it; asked here so that a refusal is known before.
        there.execute("create extension if not exists pg_trgm")
