"""mucluc serve: the nightly job on its schedule, on a Prefect server."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from flows.cli_errors import console
from flows.opening import open_from
from flows.prefect_env import configure
from flows.settings import FILE, Settings
from flows.settings_errors import SettingsError
from flows.syncing import SETTINGS_FILE
from flows.temporary_server import stop, wait_for


def serve_nightly(settings_file: Path | None, port: int) -> None:
    """Serve the nightly deployment until interrupted.

    Raises SettingsError, DatabaseUnusable.
    """
    settings = Settings.load(settings_file)
    if not any(tenant.sources for tenant in settings.tenants):
        raise SettingsError(
            f"there is no source in {settings_file or FILE}, so there is nothing to serve. "
            "Write one with: mucluc init"
        )
    # A scheduled run is a process of its own, which must find the same settings and home.
    os.environ[SETTINGS_FILE] = str((settings_file or Path(FILE)).absolute())
    os.environ["MUCLUC_HOME"] = str(settings.home.absolute())
    # Open for as long as we serve: the embedded server stays up between the nights.
    with open_from(settings) as store:
        configure(settings.home, store.url, lasting=True)
        with _server(port) as api:
            os.environ["PREFECT_API_URL"] = api
            from prefect.schedules import Cron  # noqa: PLC0415  (reads the environment)

            from flows.nightly import nightly  # noqa: PLC0415

            console().print(
                f"Serving [bold]nightly[/] at {settings.schedule.nightly} "
                f"({settings.timezone}) on {api}. Run it now: prefect deployment run "
                "nightly/nightly. Stop with Ctrl-C."
            )
            nightly.serve(
                name="nightly",
                schedule=Cron(settings.schedule.nightly, timezone=settings.timezone),
                description="Every source of mucluc.toml, one after the other.",
                print_starting_message=False,
                limit=1,
            )


@contextmanager
def _server(port: int) -> Iterator[str]:
    """The named Prefect server, or one of our own that ends with us."""
    if named := os.environ.get("PREFECT_API_URL"):
        yield named
        return
    api = f"http://127.0.0.1:{port}/api"
    process = subprocess.Popen(
        [
            sys.executable, "-m", "prefect", "server", "start",
            "--host", "127.0.0.1", "--port", str(port),
        ],
        env=os.environ | {"PREFECT_SERVER_API_HOST": "127.0.0.1"},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        wait_for(
            api,
            process,
            "Is the port taken? Another: mucluc serve --port 4201; or name a running server in "
            "PREFECT_API_URL.",
        )
        yield api
    finally:
        stop(process)
