"""Prefect's surroundings, set before Prefect is imported.

A flow needs Prefect's API behind it. Unless ``PREFECT_API_URL`` names a running server, Prefect
starts a temporary one; its tables then live in a database beside mucluc's, where a task costs 6 ms
whatever the number of workers, and not in its SQLite file, which locks up (docs/design.md).
"""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

import psutil

from store.prefect_database import ensure

STARTED_BY = "MUCLUC_STARTED_BY"
SERVER = "prefect.server.api.server:create_app"


def configure(home: Path, store_url: str, *, lasting: bool = False) -> None:
    """Point Prefect at the server that is named, or at a database for a temporary one.

    A command says itself what failed, so Prefect's log, tracebacks that is, stays off standard
    error; and nobody reads that of a server that ends with the run. ``lasting`` is for a server
    that goes on, whose pages show the log.
    """
    defaults = {
        "PREFECT_HOME": str(home / "prefect"),
        "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
        "DO_NOT_TRACK": "1",
        "PREFECT_LOGGING_LEVEL": "ERROR",
        "PREFECT_LOGGING_HANDLERS_CONSOLE_LEVEL": "ERROR" if lasting else "CRITICAL",
        "PREFECT_LOGGING_SERVER_LEVEL": "CRITICAL",
        "PREFECT_RESULTS_PERSIST_BY_DEFAULT": "false",
        "PREFECT_SERVER_EPHEMERAL_STARTUP_TIMEOUT_SECONDS": "180",
    }
    for name, value in defaults.items():
        os.environ.setdefault(name, value)
    if os.environ.get("PREFECT_API_URL"):
        return
    end_orphans(home)
    if not lasting:
        os.environ.setdefault("PREFECT_LOGGING_TO_API_ENABLED", "false")
    os.environ[STARTED_BY] = str(os.getpid())
    if "PREFECT_API_DATABASE_CONNECTION_URL" not in os.environ and (url := ensure(store_url)):
        os.environ["PREFECT_API_DATABASE_CONNECTION_URL"] = url


def end_orphans(home: Path) -> int:
    """End temporary servers whose mucluc was killed and could not end them; returns how many."""
    ended = 0
    for process in psutil.process_iter(["cmdline"]):
        if SERVER not in (process.info["cmdline"] or []):
            continue
        with contextlib.suppress(psutil.Error, KeyError, ValueError):
            environment = process.environ()
            starter = int(environment[STARTED_BY])
            if environment.get("PREFECT_HOME") == str(home / "prefect") and not psutil.pid_exists(
                starter
            ):
                process.terminate()
                ended += 1
    return ended
