"""The parse worker: limits on time and memory, crashes, and the end of its parent."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from parsers.elements import Unreadable, elements_to_json
from parsers.registry import REASONS, parse_file
from parsers.worker import ParseWorker

CASES = Path(__file__).resolve().parents[1].parent / "shared" / "cases"

# Parses like the registry, unless the file's text is one of these commands.
MISBEHAVING = """
import ctypes, os, subprocess, sys, time
from parsers.elements import Attachment, Element, Kind, Parsed, Unreadable
from parsers.registry import parse_file


def parse(data, *, suffix):
    command = data.decode("utf-8", "ignore")
    if command.startswith("sleep"):
        subprocess.Popen(["sleep", "30"])
        time.sleep(30)
    elif command == "hog":
        hoard = [bytearray(50_000_000) for _ in range(1000)]
    elif command == "helper hog":
        code = "import time; x = bytearray(b'1' * 130_000_000); time.sleep(30)"
        helpers = [subprocess.Popen([sys.executable, "-c", code]) for _ in range(4)]
        helpers[0].wait()
    elif command == "exit":
        os._exit(3)
    elif command == "segfault":
        ctypes.string_at(0)
    elif command == "print":
        print("noise" * 100_000, flush=True)
        os.system("echo noise; cat")
    elif command == "raise":
        raise RuntimeError("Salary of E042")
    elif command == "refuse":
        raise Unreadable("encrypted", "a hint")
    elif command == "environment":
        files = [f"/proc/self/fd/{name}" for name in os.listdir("/proc/self/fd")]
        sockets = [f for f in files if os.path.exists(f) and "socket" in os.readlink(f)]
        text = f"{os.environ.get('MUCLUC_TEST_SECRET')} {os.environ['OMP_NUM_THREADS']} {sockets}"
        return Parsed(elements=(Element(kind=Kind.TEXT, text=text),), parser_id="test")
    elif command == "pid":
        return Parsed(elements=(Element(kind=Kind.TEXT, text=str(os.getpid())),), parser_id="test")
    elif command == "attach":
        parts = (Attachment(name="một.bin", data=bytes(range(256))), Attachment(name="b", data=b""))
        return Parsed(elements=(), parser_id="test", attachments=parts, page_native=True)
    return parse_file(data, suffix=suffix)
"""


@pytest.fixture
def worker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ParseWorker]:
    (tmp_path / "misbehaving.py").write_text(MISBEHAVING)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setenv("MUCLUC_TEST_SECRET", "secret")
    with ParseWorker(seconds=20, memory_mb=400, _target="misbehaving:parse") as worker:
        yield worker


def text_of(worker: ParseWorker, text: str) -> str:
    return worker.parse(text.encode(), ".txt").elements[0].text


def failure(worker: ParseWorker, command: str) -> str:
    with pytest.raises(Unreadable) as caught:
        worker.parse(command.encode(), ".txt")
    assert caught.value.code in REASONS
    return caught.value.code


def is_running(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def wait_until_gone(pid: int, seconds: float = 10) -> bool:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if not is_running(pid):
            return True
        time.sleep(0.05)
    return False


def test_the_worker_gives_what_the_registry_gives() -> None:
    data = "# Tiêu đề\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n```\n  x\n```\n".encode()
    with ParseWorker() as worker:
        assert worker.parse(data, ".md") == parse_file(data, suffix=".md")


def test_i12_a_sleeping_parse_is_a_timeout_and_the_next_file_parses(worker: ParseWorker) -> None:
    pid = int(text_of(worker, "pid"))
    worker.seconds = 1
    started = time.monotonic()
    assert failure(worker, "sleep") == "timeout"
    assert time.monotonic() - started < 10
    assert wait_until_gone(pid)
    worker.seconds = 20
    assert text_of(worker, "still here") == "still here"


@pytest.mark.parametrize("command", ["hog", "helper hog"])
def test_i12_a_memory_hog_is_stopped_and_the_next_file_parses(
    worker: ParseWorker, command: str
) -> None:
    assert failure(worker, command) == "memory"
    assert text_of(worker, "still here") == "still here"


@pytest.mark.parametrize("command", ["exit", "segfault", "raise"])
def test_i12_a_crash_is_told_and_the_next_file_parses(worker: ParseWorker, command: str) -> None:
    assert failure(worker, command) == "crashed"
    assert text_of(worker, "still here") == "still here"


def test_i10_no_words_of_a_foreign_exception_come_out(worker: ParseWorker) -> None:
    with pytest.raises(Unreadable) as caught:
        worker.parse(b"raise", ".txt")
    assert "E042" not in str(caught.value)


def test_refusals_keep_their_code_and_hint(worker: ParseWorker) -> None:
    with pytest.raises(Unreadable) as caught:
        worker.parse(b"refuse", ".txt")
    assert (caught.value.code, caught.value.hint) == ("encrypted", "a hint")


def test_printing_libraries_and_helpers_do_not_disturb(worker: ParseWorker) -> None:
    assert text_of(worker, "print") == "print"


def test_attachments_come_whole(worker: ParseWorker) -> None:
    parsed = worker.parse(b"attach", ".eml")
    assert [(a.name, a.data) for a in parsed.attachments] == [
        ("một.bin", bytes(range(256))),
        ("b", b""),
    ]
    assert parsed.page_native


def test_the_child_has_neither_secrets_nor_sockets_of_its_parent(worker: ParseWorker) -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        assert text_of(worker, "environment") == "None 1 []"


def test_the_child_serves_many_files_and_is_renewed_in_time(worker: ParseWorker) -> None:
    worker.files_per_child = 3
    pids = [text_of(worker, "pid") for _ in range(7)]
    assert pids[0] == pids[2] != pids[3] == pids[5] != pids[6]


def test_a_file_larger_than_the_pipe_goes_through(worker: ParseWorker) -> None:
    words = "Một đoạn văn dài. " * 60_000
    assert text_of(worker, words) == words.strip()


def test_threads_wait_for_one_another(worker: ParseWorker) -> None:
    found: dict[int, str] = {}

    def run(number: int) -> None:
        found[number] = text_of(worker, f"file {number}")

    threads = [threading.Thread(target=run, args=(n,)) for n in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == {n: f"file {n}" for n in range(6)}


def test_closing_ends_the_child_and_its_temporary_files(worker: ParseWorker) -> None:
    pid = int(text_of(worker, "pid"))
    directory = worker._directory
    assert directory is not None and directory.exists()
    worker.close()
    assert wait_until_gone(pid)
    assert not directory.exists()


@pytest.mark.parametrize("is_busy", [False, True])
def test_the_child_dies_with_a_parent_that_is_killed(tmp_path: Path, is_busy: bool) -> None:
    (tmp_path / "misbehaving.py").write_text(MISBEHAVING)
    code = """if True:
        import sys
        from parsers.worker import ParseWorker
        worker = ParseWorker(seconds=60, _target="misbehaving:parse")
        print(worker.parse(b"pid", ".txt").elements[0].text, flush=True)
        worker.parse(b"sleep", ".txt") if sys.argv[1] == "True" else sys.stdin.read()
    """
    root = Path(__file__).resolve().parents[1]
    parent = subprocess.Popen(
        [sys.executable, "-c", code, str(is_busy)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        cwd=root,
        env={**os.environ, "PYTHONPATH": f"{root}{os.pathsep}{tmp_path}"},
    )
    assert parent.stdout is not None and parent.stdin is not None
    child = int(parent.stdout.readline())
    helpers = []
    deadline = time.monotonic() + 10
    while is_busy and not helpers and time.monotonic() < deadline:
        helpers = psutil.Process(child).children(recursive=True)
        time.sleep(0.05)
    assert bool(helpers) is is_busy
    os.kill(parent.pid, signal.SIGKILL)
    parent.wait()
    assert wait_until_gone(child)
    assert all(wait_until_gone(helper.pid) for helper in helpers)
    parent.stdin.close()
    parent.stdout.close()


def test_the_child_is_ready_without_loading_parsers() -> None:
    code = "import sys, parsers.worker; print(*sorted(sys.modules))"
    root = Path(__file__).resolve().parents[1]
    answer = subprocess.run(
        [sys.executable, "-c", code], cwd=root, capture_output=True, text=True, check=True
    )
    loaded = {name.split(".")[0] for name in answer.stdout.split()}
    assert not loaded & {"lxml", "docx", "openpyxl", "pdfplumber", "unstructured", "psutil"}


@pytest.mark.skipif(not CASES.exists(), reason="the shared cases are not here")
def test_i7_two_workers_give_the_same_bytes() -> None:
    paths = [
        CASES / "cases" / "async-drops-html-table.md",
        CASES / "docs" / "en_warranty_terms.html",
    ]
    with ParseWorker() as one, ParseWorker() as other:
        for path in paths:
            data = path.read_bytes()
            first = elements_to_json(one.parse(data, path.suffix).elements)
            assert first == elements_to_json(other.parse(data, path.suffix).elements)


def test_a_large_parent_does_not_make_its_child_look_full(worker: ParseWorker) -> None:
    ballast = bytearray(int(worker.memory_mb * 1024 * 1024 * 0.7))
    ballast[::4096] = b"x" * len(ballast[::4096])
    first = text_of(worker, "pid")
    assert text_of(worker, "pid") == first
    del ballast
