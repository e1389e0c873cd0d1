"""Prefect's surroundings, set before Prefect is imported.

A flow needs Prefect's API behind it. Unless ``PREFECT_API_URL`` names a running server, a
temporary one is started; its tables then live in a database beside mucluc's, where a task costs
6 ms whatever the number of workers, and not in its SQLite file, which locks up (docs/design.md).
"""

from __future__ import annotations

import os
from contextlib import nullcontext
from importlib import metadata
from pathlib import Path

from flows import temporary_server
from store.prefect_database import begun, prepared

RUNS_KEPT = 30  # days that Prefect's own record of a run is kept; mucluc's is the table run
DATABASE = "PREFECT_API_DATABASE_CONNECTION_URL"


def configure(home: Path, store_url: str, *, lasting: bool = False) -> None:
    """Point Prefect at the server that is named, or at a database for a temporary one.

    A command says itself what failed, so Prefect's log, tracebacks that is, stays off standard
    error; and nobody reads that of a server that ends with the run. ``lasting`` is for a server
    that goes on, whose pages show the log. Raises DatabaseUnusable when no server comes up.
    """
    defaults = {
        "PREFECT_HOME": str(home / "prefect"),
        "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
        "DO_NOT_TRACK": "1",
        "PREFECT_LOGGING_LEVEL": "ERROR",
        "PREFECT_LOGGING_HANDLERS_CONSOLE_LEVEL": "ERROR" if lasting else "CRITICAL",
        "PREFECT_LOGGING_SERVER_LEVEL": "CRITICAL",
        "PREFECT_RESULTS_PERSIST_BY_DEFAULT": "false",
        # Of a server that goes on; the runs of a temporary one are deleted by mucluc gc.
        "PREFECT_SERVER_SERVICES_DB_VACUUM_ENABLED": "events,flow_runs",
        "PREFECT_SERVER_SERVICES_DB_VACUUM_RETENTION_PERIOD": str(RUNS_KEPT * 24 * 3600),
    }
    for name, value in defaults.items():
        os.environ.setdefault(name, value)
    # Prefect makes the last folder of it alone, and its SQLite file needs one to be in.
    Path(os.environ["PREFECT_HOME"]).mkdir(parents=True, exist_ok=True)
    if os.environ.get("PREFECT_API_URL"):
        return
    version = metadata.version("prefect")
    with nullcontext() if DATABASE in os.environ else prepared(store_url, version) as url:
        if url:
            os.environ[DATABASE] = url
        if not lasting:
            os.environ.setdefault("PREFECT_LOGGING_TO_API_ENABLED", "false")
            os.environ["PREFECT_API_URL"] = temporary_server.start()
            if url:
                begun(store_url, version)
