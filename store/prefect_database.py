"""A database beside mucluc's for Prefect's own tables."""

from __future__ import annotations

import psycopg
from psycopg import sql

from store.embedded import beside

NAME = "mucluc_prefect"


def ensure(url: str) -> str | None:
    """Make the database that Prefect keeps its runs in; return its URL for asyncpg.

    Returns None where the server does not let us: Prefect then uses a file of its own.
    """
    target = beside(url, NAME)
    try:
        with psycopg.connect(url, autocommit=True) as connection:
            if not connection.execute(
                "select 1 from pg_database where datname = %s", [NAME]
            ).fetchone():
                connection.execute(sql.SQL("create database {}").format(sql.Identifier(NAME)))
        with psycopg.connect(target, autocommit=True) as connection:
            # Prefect's migrations ask for it; asked here so that a refusal is known before.
            connection.execute("create extension if not exists pg_trgm")
    except psycopg.Error:
        return None
    return target.replace("postgresql://", "postgresql+asyncpg://", 1)
