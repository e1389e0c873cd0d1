"""Prefect's API for one command, in a process that ends with it, also when it is killed.

Prefect would start one itself, but that one outlives a killed command, and holds its standard
streams open: whoever waits for the command's output would wait for ever.
"""

from __future__ import annotations

import atexit
import os
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from urllib.error import URLError

from store.errors import DatabaseUnusable

STARTUP_SECONDS = 180
GRACE_SECONDS = 10
STARTED: set[str] = set()  # APIs of servers that this process started


def start() -> str:
    """Start a server on a free port and wait until it answers; returns the URL of its API.

    Raises DatabaseUnusable.
    """
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    process = subprocess.Popen(
        [sys.executable, "-m", "flows.temporary_server", str(port), str(os.getpid())],
        env=os.environ | {"PREFECT_UI_ENABLED": "0", "PREFECT__SERVER_EPHEMERAL": "1"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,  # Ctrl-C is for the command, which ends the server last
    )
    atexit.register(stop, process)
    api = f"http://127.0.0.1:{port}/api"
    wait_for(api, process, "Run the command again; or name a running server in PREFECT_API_URL.")
    STARTED.add(api)
    return api


def stop(process: subprocess.Popen[bytes]) -> None:
    """End a server and wait for it."""
    process.terminate()
    try:
        process.wait(GRACE_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def wait_for(api: str, process: subprocess.Popen[bytes], hint: str) -> None:
    """Wait until a server answers. Raises DatabaseUnusable, with the hint, when it does not."""
    deadline = time.monotonic() + STARTUP_SECONDS
    while time.monotonic() < deadline and process.poll() is None:
        try:
            with urllib.request.urlopen(f"{api}/health", timeout=2):  # noqa: S310 - http, local
                return
        except (URLError, OSError):
            time.sleep(0.1)
    raise DatabaseUnusable(f"The Prefect server did not start. {hint}")


def _end_with(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(0.5)
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(GRACE_SECONDS)
    os._exit(1)


def main() -> None:
    """Serve until told to stop, or until the process that started us is gone."""
    import uvicorn  # noqa: PLC0415  (a part of Prefect)

    port, parent = int(sys.argv[1]), int(sys.argv[2])
    threading.Thread(target=_end_with, args=(parent,), daemon=True).start()
    uvicorn.run(
        "prefect.server.api.server:create_app",
        factory=True,
        host="127.0.0.1",
        port=port,
        log_level="critical",
        lifespan="on",
    )


if __name__ == "__main__":
    main()
