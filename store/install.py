"""Brings a database to this program's schema, or says why it cannot."""

from __future__ import annotations

import re
from pathlib import Path

import psycopg
from psycopg import Connection

from store.errors import DatabaseUnusable
from store.sql import SCHEMA

MIGRATIONS = Path(__file__).parent / "migrations"
OLDEST_SERVER = 160000
OLDEST_VECTOR = (0, 8)
INSTALL_LOCK = 0x6D75636C7563  # "mucluc": two first starts at once wait for each other


def schema_version() -> int:
    """The schema version this program needs: 1, or that of its newest migration."""
    return max([1, *migrations()])


def migrations() -> dict[int, Path]:
    """Migration files by the version they lead to (``0002_name.sql``)."""
    return {int(path.name[:4]): path for path in sorted(MIGRATIONS.glob("[0-9]*.sql"))}


def install(url: str) -> None:
    """Create the schema at ``url``, or migrate an older one, in one transaction.

    A fresh database gets ``schema.sql``, which states the newest version, and no migration.

    Raises DatabaseUnusable with the missing piece and the command that mends it.
    """
    try:
        with psycopg.connect(url) as connection:
            _install(connection)
    except psycopg.errors.InsufficientPrivilege:
        raise DatabaseUnusable(
            "The role of DATABASE_URL may not read mucluc's tables. Every command of mucluc works "
            "with the rights of the pipeline's role, which owns them; name that role."
        ) from None
    except psycopg.ProgrammingError as exc:
        if exc.sqlstate is not None:
            raise
        # The library quotes what it cannot read, which may be a password.
        raise DatabaseUnusable(
            "DATABASE_URL is not a connection string: write "
            "postgresql://USER:PASSWORD@HOST/DATABASE, or unset it to use the embedded database."
        ) from None
    except psycopg.OperationalError as exc:
        raise DatabaseUnusable(
            "The database does not answer (" + _cause(exc) + "). Check that it runs and that "
            "DATABASE_URL names it; unset DATABASE_URL to use the embedded one."
        ) from None


def _install(connection: Connection) -> None:
    connection.execute("select pg_advisory_xact_lock(%s)", [INSTALL_LOCK])
    found = _found(connection)
    wanted = schema_version()
    if found == wanted:
        return
    if found > wanted:
        raise DatabaseUnusable(
            f"The database has schema version {found}; this mucluc knows {wanted}. "
            "Install the newer mucluc that made it."
        )
    if found == 0:
        _check_server(connection)
        _run(connection, SCHEMA)
        return
    for version, path in migrations().items():
        if version > found:
            _run(connection, path)
            connection.execute("insert into mucluc.schema_version (version) values (%s)", [version])


def _found(connection: Connection) -> int:
    if not connection.execute("select to_regclass('mucluc.schema_version')").fetchone()[0]:  # type: ignore[index]
        return 0
    row = connection.execute("select max(version) from mucluc.schema_version").fetchone()
    return int(row[0]) if row and row[0] else 0


def _check_server(connection: Connection) -> None:
    if connection.info.server_version < OLDEST_SERVER:
        raise DatabaseUnusable(
            f"The server is PostgreSQL {connection.info.server_version // 10000}; mucluc needs 16 "
            "or newer. Unset DATABASE_URL to use the embedded one."
        )
    row = connection.execute(
        "select coalesce(x.extversion, a.default_version), x.extversion is not null, "
        "       n.nspname from pg_available_extensions a "
        "left join pg_extension x on x.extname = a.name "
        "left join pg_namespace n on n.oid = x.extnamespace where a.name = 'vector'"
    ).fetchone()
    if row is None:
        raise DatabaseUnusable(
            "The server lacks pgvector. Install it on the server (Debian: apt-get install "
            "postgresql-16-pgvector, from apt.postgresql.org), then run the command again."
        )
    version, installed, place = row
    if tuple(int(part) for part in re.findall(r"\d+", version)[:2]) < OLDEST_VECTOR:
        raise DatabaseUnusable(
            f"pgvector is {version}; mucluc needs 0.8 or newer. Upgrade it on the server, then: "
            "ALTER EXTENSION vector UPDATE;"
        )
    if installed and place != "public":
        raise DatabaseUnusable(
            f"pgvector is installed in schema {place}; mucluc looks for it in public: "
            "ALTER EXTENSION vector SET SCHEMA public;"
        )
    rights = connection.execute(
        "select rolsuper or rolcreaterole, "
        "       has_database_privilege(current_database(), 'CREATE'), current_user "
        "from pg_roles where rolname = current_user"
    ).fetchone()
    if rights and not rights[0]:
        raise DatabaseUnusable(
            "The role of DATABASE_URL may not create roles, and mucluc_search and mucluc_reader "
            f'are needed. As a superuser: ALTER ROLE "{rights[2]}" CREATEROLE;'
        )
    if rights and not rights[1]:
        raise DatabaseUnusable(
            "The role of DATABASE_URL may not create a schema. As the database's owner: "
            f'GRANT CREATE ON DATABASE "{connection.info.dbname}" TO "{rights[2]}";'
        )


def _run(connection: Connection, path: Path) -> None:
    try:
        connection.execute(path.read_text())
    except psycopg.errors.InsufficientPrivilege as exc:
        raise DatabaseUnusable(
            f"The role of DATABASE_URL may not run {path.name} ({_cause(exc)}). pgvector must be "
            "created by a superuser once: CREATE EXTENSION vector SCHEMA public;"
        ) from None


def _cause(exc: psycopg.Error) -> str:
    # Of a connection or of our own DDL: no row of a document can be in it.
    return str(exc).strip().splitlines()[0] if str(exc).strip() else type(exc).__name__
