"""Runs the command line as a person does: the console script, in a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any, Protocol

import psutil
from conftest import SECRET

MUCLUC = Path(sys.executable).with_name("mucluc")
PATIENCE = 300  # seconds; a loaded machine starts Prefect's server slowly


def environment(home: Path, **values: str | None) -> dict[str, str]:
    """An environment with a home of its own, the tests' secret, and nothing of the caller's."""
    inherited = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("PREFECT_", "MUCLUC_", "DATABASE_URL", "OPENAI_"))
    }
    settings = {
        "MUCLUC_HOME": str(home),
        "MUCLUC_SECRET": SECRET.decode(),
        "COLUMNS": "200",
        "NO_COLOR": "1",
    } | {name: value for name, value in values.items() if value is not None}
    return inherited | settings


def start(
    *arguments: str | Path, env: dict[str, str], cwd: Path | None = None
) -> subprocess.Popen[str]:
    """Start the command and do not wait for it. Its streams close with it, also when killed."""
    return subprocess.Popen(
        [MUCLUC, *map(str, arguments)],
        env=env,
        cwd=cwd,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def mucluc(
    *arguments: str | Path, env: dict[str, str], cwd: Path | None = None
) -> subprocess.CompletedProcess[str]:
    """Run the command to its end."""
    return subprocess.run(
        [MUCLUC, *map(str, arguments)],
        env=env,
        cwd=cwd,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )


class Finished(Protocol):
    """A command that ended, in this process or another."""

    stdout: str
    stderr: str


def last_line(done: Finished) -> dict[str, Any]:
    """The JSON object on the last line of standard output."""
    assert done.stdout, done.stderr
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def servers_of(home: Path, *, patience: float = 10) -> list[str]:
    """Command lines of what a home's commands started and what still runs after some seconds."""
    deadline = time.monotonic() + patience
    while (found := _running(home)) and time.monotonic() < deadline:
        time.sleep(0.2)
    return found


def _running(home: Path) -> list[str]:
    found = []
    for process in psutil.process_iter(["cmdline"]):
        with suppress(psutil.Error):
            words = process.info["cmdline"] or []
            if str(home / "postgres") in words or process.environ().get("MUCLUC_HOME") == str(home):
                found.append(" ".join(words))
    return found
