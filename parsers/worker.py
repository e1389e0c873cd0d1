"""Parsing in a process of its own, so that no file can take the run with it.

The child is a fresh interpreter without the parent's sockets, secrets or standard output. It reads
one file at a time from a pipe; the parent watches its time and memory and kills it, with every
process it started, when either runs over. It ends by itself when the parent does.

A message is a JSON header of known length and then raw bytes: nothing is unpickled, so that a
child taken over by a hostile file cannot take over the parent.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import select
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from parsers.elements import Attachment, Parsed, Unreadable, elements_from_json, elements_to_json

FILES_PER_CHILD = 200
_LENGTHS = struct.Struct(">II")
_POLL_SECONDS = 0.1
_CHUNK_BYTES = 1 << 16
_RECYCLE_SHARE = 0.5  # of the memory limit that a child may hold between files
_FULL_SHARE = 0.8  # of the memory limit, above which a failure is taken for a lack of memory
_GRACE_SECONDS = 10.0  # for the interpreter to start, apart from the limit for the file
# Secrets and database addresses of the parent stay with it.
_KEPT_VARIABLES = frozenset(
    {"PATH", "HOME", "LANG", "LANGUAGE", "TZ", "PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV"}
    | {"LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "TESSDATA_PREFIX", "COVERAGE_PROCESS_START"}
)
_SET_VARIABLES = {
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "OMP_THREAD_LIMIT": "1",  # tesseract
    "PYTHONUNBUFFERED": "1",
    "DO_NOT_TRACK": "true",
    "SCARF_NO_ANALYTICS": "true",
    "UNSTRUCTURED_DISABLE_NOTICE": "1",
    "HF_HUB_OFFLINE": "1",
}


class ParseWorker:
    """A child process that parses one file at a time, within limits; a context manager.

    The child starts at the first file and anew after a timeout, a crash, a run over its memory,
    or ``files_per_child`` files. Calls from several threads wait for one another.
    """

    def __init__(
        self,
        *,
        seconds: float = 60,
        memory_mb: int = 2048,
        files_per_child: int = FILES_PER_CHILD,
        _target: str = "parsers.registry:parse_file",
    ) -> None:
        self.seconds = seconds
        self.memory_mb = memory_mb
        self.files_per_child = files_per_child
        self._target = _target  # another function of the same form, for tests of the limits
        self._child: subprocess.Popen[bytes] | None = None
        self._directory: Path | None = None
        self._files = 0
        self._lock = threading.Lock()

    def __enter__(self) -> Self:
        """Return the worker; the child starts with the first file."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """End the child."""
        self.close()

    def close(self) -> None:
        """End the child and everything it started, and remove its temporary files."""
        with self._lock:
            self._stop()

    def parse(self, data: bytes, suffix: str) -> Parsed:
        """Parse a file as ``parsers.registry.parse_file`` does.

        Raises ``Unreadable`` with the registry's codes, and with timeout, memory or crashed.
        """
        with self._lock:
            child = self._running()
            self._files += 1
            try:
                _send(child, {"suffix": suffix}, data, time.monotonic() + _GRACE_SECONDS)
                answer, payload = self._answer(child)
            except BaseException:
                # Also on an interrupt: a child that still works on this file is of no use.
                self._stop()
                raise
            if self._files >= self.files_per_child or answer["spent"]:
                self._stop()
        return _parsed(answer, payload)

    def _running(self) -> subprocess.Popen[bytes]:
        if self._child is None or self._child.poll() is not None:
            self._stop()
            self._directory = Path(tempfile.mkdtemp(prefix="mucluc-parse-"))
            self._files = 0
            self._child = subprocess.Popen(
                [sys.executable, "-m", "parsers.worker", *self._arguments()],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env=_environment(self._directory),
                cwd=self._directory,
                start_new_session=True,  # its helpers (tesseract, soffice) are killed with it
                bufsize=0,
            )
        return self._child

    def _arguments(self) -> list[str]:
        # Processor time may exceed wall time on several cores; the wall clock is the real limit.
        return [self._target, str(self.memory_mb), str(int(2 * self.seconds) + 10)]

    def _answer(self, child: subprocess.Popen[bytes]) -> tuple[dict[str, Any], bytes]:
        assert child.stdout is not None
        deadline = time.monotonic() + self.seconds
        received = bytearray()
        used_mb = 0.0
        while True:
            if (message := _message(received)) is not None:
                return message
            if time.monotonic() > deadline:
                raise Unreadable("timeout", f"over {self.seconds:g} seconds")
            ready, _, _ = select.select([child.stdout], [], [], _POLL_SECONDS)
            if not ready:
                used_mb = max(used_mb, _memory_mb(child.pid))
                if used_mb > self.memory_mb:
                    raise Unreadable("memory", f"over {self.memory_mb} MB")
                continue
            part = os.read(child.stdout.fileno(), _CHUNK_BYTES)
            if not part:
                raise _ended(child, is_full=used_mb > _FULL_SHARE * self.memory_mb)
            received += part

    def _stop(self) -> None:
        child, self._child = self._child, None
        if child is not None:
            _kill(child.pid)
            child.wait()
            for pipe in (child.stdin, child.stdout):
                if pipe is not None:
                    with contextlib.suppress(OSError):
                        pipe.close()
        if self._directory is not None:
            shutil.rmtree(self._directory, ignore_errors=True)
            self._directory = None


def _ended(child: subprocess.Popen[bytes], *, is_full: bool) -> Unreadable:
    code = child.wait()
    if is_full and code == -signal.SIGKILL:
        return Unreadable("memory", "the system ended the process")
    if code == -signal.SIGXCPU:
        return Unreadable("timeout", "over the limit of processor time")
    return Unreadable("crashed", f"signal {-code}" if code < 0 else f"exit code {code}")


def _environment(directory: Path) -> dict[str, str]:
    kept = {k: v for k, v in os.environ.items() if k in _KEPT_VARIABLES or k.startswith("LC_")}
    here = str(Path(__file__).resolve().parents[1])
    path = os.pathsep.join(filter(None, (here, kept.get("PYTHONPATH", ""))))
    return {**kept, **_SET_VARIABLES, "PYTHONPATH": path, "TMPDIR": str(directory)}


def _kill(pid: int) -> None:
    """End a process and all that it started, also what left its group."""
    import psutil  # noqa: PLC0415

    with contextlib.suppress(psutil.Error):
        for member in psutil.Process(pid).children(recursive=True):
            with contextlib.suppress(psutil.Error):
                member.kill()
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)


def _memory_mb(pid: int) -> float:
    """Resident memory of a process and those it started, in MB."""
    import psutil  # noqa: PLC0415 (the child, which is this module too, does without)

    total = 0
    with contextlib.suppress(psutil.Error):
        process = psutil.Process(pid)
        for member in (process, *process.children(recursive=True)):
            with contextlib.suppress(psutil.Error):
                total += member.memory_info().rss
    return total / 1_048_576


def _send(
    child: subprocess.Popen[bytes], header: dict[str, Any], payload: bytes, deadline: float
) -> None:
    """Write a message without ever waiting for a child that has stopped to read."""
    assert child.stdin is not None
    descriptor = child.stdin.fileno()
    os.set_blocking(descriptor, False)
    for part in (_framed(header, payload), payload):
        view = memoryview(part)
        while view:
            _, ready, _ = select.select([], [descriptor], [], _POLL_SECONDS)
            if not ready and time.monotonic() > deadline:
                raise Unreadable("crashed", "the process does not read")
            try:
                view = view[os.write(descriptor, view[:_CHUNK_BYTES]) :] if ready else view
            except BlockingIOError:
                continue
            except BrokenPipeError:
                raise _ended(child, is_full=False) from None


def _framed(header: dict[str, Any], payload: bytes) -> bytes:
    text = json.dumps(header, ensure_ascii=False).encode("utf-8", "surrogatepass")
    return _LENGTHS.pack(len(text), len(payload)) + text


def _message(received: bytearray) -> tuple[dict[str, Any], bytes] | None:
    """The message at the start of ``received``, once it is whole."""
    if len(received) < _LENGTHS.size:
        return None
    header, payload = _LENGTHS.unpack_from(received)
    if len(received) < _LENGTHS.size + header + payload:
        return None
    body = memoryview(received)[_LENGTHS.size :]
    values: dict[str, Any] = json.loads(bytes(body[:header]).decode("utf-8", "surrogatepass"))
    return values, bytes(body[header : header + payload])


def _parsed(answer: dict[str, Any], payload: bytes) -> Parsed:
    if "code" in answer:
        raise Unreadable(answer["code"], answer["hint"])
    attachments: list[Attachment] = []
    offset = 0
    for name, size in answer["attachments"]:
        attachments.append(Attachment(name=name, data=payload[offset : offset + size]))
        offset += size
    return Parsed(
        elements=elements_from_json(answer["elements"]),
        parser_id=answer["parser_id"],
        title=answer["title"],
        language=answer["language"],
        page_native=answer["page_native"],
        warnings=tuple(answer["warnings"]),
        attachments=tuple(attachments),
    )


# --- the child -----------------------------------------------------------------------------------


def _serve(target: str, memory_mb: int, processor_seconds: int) -> None:
    """Parse what comes through standard input until it ends."""
    requests, answers = _Requests(os.dup(0)), os.fdopen(os.dup(1), "wb")
    # Libraries print, and their helper programs read, as they like.
    with Path(os.devnull).open("r+b") as nowhere:
        os.dup2(nowhere.fileno(), 0)
        os.dup2(nowhere.fileno(), 1)
    module, name = target.split(":")
    _limit_memory(memory_mb)
    threading.Thread(target=requests.listen, daemon=True).start()
    while True:
        header, data = requests.next()
        _limit_processor_time(processor_seconds)
        answer, payload = _attempt(module, name, header["suffix"], data)
        if answer.get("code") == "damaged" and _peak_mb() > _FULL_SHARE * memory_mb:
            answer["code"] = "memory"  # C libraries call a failed allocation a syntax error
        answer["spent"] = answer.get("code") == "memory" or _peak_mb() > _RECYCLE_SHARE * memory_mb
        for part in (_framed(answer, payload), payload):
            answers.write(part)
        answers.flush()


class _Requests:
    """Reads the pipe in a thread of its own, which notices the parent's end during a parse."""

    def __init__(self, pipe: int) -> None:
        self._pipe = pipe
        self._received = bytearray()
        self._ready = threading.Condition()
        self._parent = os.getppid()

    def listen(self) -> None:
        """Gather bytes; end the process and its helpers with the parent."""
        while True:
            ready, _, _ = select.select([self._pipe], [], [], 1.0)
            part = os.read(self._pipe, _CHUNK_BYTES) if ready else None
            if part == b"" or os.getppid() != self._parent:
                shutil.rmtree(os.environ.get("TMPDIR", ""), ignore_errors=True)
                _kill(os.getpid())
            if part:
                with self._ready:
                    self._received += part
                    self._ready.notify()

    def next(self) -> tuple[dict[str, Any], bytes]:
        """Wait for one whole message."""
        with self._ready:
            while (message := _message(self._received)) is None:
                self._ready.wait()
            self._received.clear()  # the parent sends no other before it has the answer
        return message


def _attempt(module: str, name: str, suffix: str, data: bytes) -> tuple[dict[str, Any], bytes]:
    try:
        parsed: Parsed = getattr(importlib.import_module(module), name)(data, suffix=suffix)
    except Unreadable as exc:
        return {"code": exc.code, "hint": exc.hint}, b""
    except MemoryError:
        return {"code": "memory", "hint": "the limit for one file is reached"}, b""
    except RecursionError:
        return {"code": "damaged", "hint": "its parts are nested without end"}, b""
    except Exception as exc:
        return {"code": "crashed", "hint": type(exc).__name__}, b""
    answer = {
        "elements": elements_to_json(parsed.elements),
        "parser_id": parsed.parser_id,
        "title": parsed.title,
        "language": parsed.language,
        "page_native": parsed.page_native,
        "warnings": parsed.warnings,
        "attachments": [(item.name, len(item.data)) for item in parsed.attachments],
    }
    return answer, b"".join(item.data for item in parsed.attachments)


def _limit_memory(memory_mb: int) -> None:
    import resource  # noqa: PLC0415 (Unix alone; the parent's watch is the limit elsewhere)

    wanted = memory_mb * 1_048_576
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    limit = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    with contextlib.suppress(ValueError, OSError):  # macOS refuses
        resource.setrlimit(resource.RLIMIT_AS, (limit, hard))
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # a core dump would hold the document


def _limit_processor_time(seconds: int) -> None:
    """Let the kernel end a parse that outlives its parent inside a library's own loop."""
    import resource  # noqa: PLC0415

    used = resource.getrusage(resource.RUSAGE_SELF)
    _, hard = resource.getrlimit(resource.RLIMIT_CPU)
    limit = int(used.ru_utime + used.ru_stime) + seconds
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_CPU, (limit, hard))


def _peak_mb() -> float:
    """The most memory that this process held."""
    # Not from getrusage where there is another way: on Linux its figure begins with the size of
    # the process we were forked from, so a large parent would make every child look full.
    with contextlib.suppress(OSError, ValueError, IndexError):
        status = Path("/proc/self/status").read_text(encoding="ascii", errors="replace")
        return int(status.split("VmHWM:", 1)[1].split(None, 1)[0]) / 1024
    import resource  # noqa: PLC0415

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (1_048_576 if sys.platform == "darwin" else 1024)


if __name__ == "__main__":
    _serve(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
