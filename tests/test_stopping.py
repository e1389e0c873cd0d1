"""Ctrl-C stops a job after its piece of work in hand; a second one ends it at once."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from syncs import request, rows, run_stages, sync

from flows import stopping
from flows.job import open_job
from flows.progress import StageProgress
from flows.syncing import ended
from store.database import Store
from store.runs import open_run, recent_runs

WORKER = """
import sys, threading, time
import typer
from flows.cli_errors import stoppable, told
from flows.stopping import Stopped, go_on

ended = threading.Event()

def work(how):
    print("at work", flush=True)
    try:
        while True:
            go_on()
            time.sleep(0.01)
    except Stopped:
        print("stopped", flush=True)
    if how == "soft":
        ended.set()

def command(how: str):
    with told(), stoppable():
        threading.Thread(target=work, args=[how], daemon=True).start()
        try:
            ended.wait()
        finally:
            ended.wait()

typer.run(command)
"""


@pytest.mark.parametrize("how", ["soft", "hard"])
def test_the_first_ctrl_c_stops_work_and_the_second_ends_the_process(how: str) -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", WORKER, how],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stderr is not None
    assert process.stdout.readline() == "at work\n"
    process.send_signal(signal.SIGINT)
    first = process.stderr.readline()  # a second one at once could cut these words short
    if how == "hard":  # a piece of work that does not end
        process.send_signal(signal.SIGINT)
    _, rest = process.communicate(timeout=120)
    err = first + rest
    assert process.returncode == 130
    assert err.startswith("Stopping after the piece of work in hand")
    assert ("Ended at once" in err) == (how == "hard")
    assert "Run the same command again" in err
    assert "Traceback" not in err


def test_a_job_that_is_not_the_main_threads_leaves_the_signal_alone() -> None:
    before = signal.getsignal(signal.SIGINT)
    during: list[Any] = []

    def job() -> None:
        with stopping.stoppable(lambda: None, ""):
            during.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=job)
    thread.start()
    thread.join()
    with stopping.stoppable(lambda: None, ""):
        assert signal.getsignal(signal.SIGINT) is not before
    assert [*during, signal.getsignal(signal.SIGINT)] == [before, before]


def test_what_ctrl_c_stops_is_no_defect_of_a_document_and_the_next_run_takes_it(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for n in range(3):
        (tmp_path / f"note-{n}.md").write_text(f"# Note {n}\n\nNumber {n} names ERR_{n}021.\n")
    for stage in ("parse", "chunk", "contextualize", "embed", "write"):
        job = open_job(store, request(tmp_path), StageProgress(shown=False))

        def press(name: str, stage: str = stage) -> None:
            monkeypatch.setattr(stopping._Ctrl, "pressed", name == stage)

        with pytest.raises(KeyboardInterrupt), ended(job):
            run_stages(job, press)
        assert recent_runs(store, 1)[0]["state"] == "interrupted"
    monkeypatch.setattr(stopping._Ctrl, "pressed", False)
    assert rows(store, "select 1 from mucluc.quarantine") == []
    assert sync(store, tmp_path).chunks == {"written": 0, "reused": 0}
    assert len(rows(store, "select 1 from mucluc.published")) == 3


def test_a_run_that_nobody_works_on_any_more_is_not_shown_as_running(store: Store) -> None:
    run = open_run(store, kind="sync", lock_key="sync:acme:docs", tenant="acme", source="docs")
    assert recent_runs(store, 1)[0]["state"] == "running"
    run.release()  # as when its process is killed
    assert recent_runs(store, 1)[0]["state"] == "lost"
