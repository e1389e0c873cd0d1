"""Ctrl-C: the first one lets what is being written end, the second one ends the process."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType

from store import embedded

INTERRUPTED = 130  # exit code, as shells have it
SHOW_CURSOR = "\x1b[?25h"  # progress bars hide it


class Stopped(Exception):
    """Ctrl-C was pressed: the run goes no further. What it wrote is kept."""


class _Ctrl:
    """Whether Ctrl-C was pressed. No lock: a signal's handler may not wait for one."""

    pressed = False


def go_on() -> None:
    """Return, unless Ctrl-C was pressed. Raises Stopped.

    Threads ask before each piece of work that a later run need not repeat: only the main thread
    gets the interrupt itself, and it waits for them.
    """
    if _Ctrl.pressed:
        raise Stopped


@contextmanager
def stoppable(tell: Callable[[], None], last_words: str) -> Iterator[None]:
    """Let Ctrl-C stop the work of the block after its current piece, a second one at once.

    ``tell`` says so when the first is pressed; KeyboardInterrupt follows. At the second, the last
    words go to standard error and the process ends with exit code 130, as if killed: nothing that
    is half written stays, and the next run finishes it (I8). Where somebody else minds the signal
    (a scheduler, a thread that is not the main one), nothing changes.
    """
    before = signal.getsignal(signal.SIGINT)
    main = threading.current_thread() is threading.main_thread()
    if not main or before is not signal.default_int_handler:
        yield
        return

    def on_ctrl_c(_signal: int, _frame: FrameType | None) -> None:
        if _Ctrl.pressed:
            _end(last_words)
        _Ctrl.pressed = True
        with suppress(RuntimeError):  # the interrupted code was itself writing there
            tell()
        raise KeyboardInterrupt

    signal.signal(signal.SIGINT, on_ctrl_c)
    try:
        yield
    finally:
        # After a Ctrl-C the process is ending, and a second one is for that, too.
        if not _Ctrl.pressed:
            signal.signal(signal.SIGINT, before)


def _end(last_words: str) -> None:
    # Past every finaliser: Prefect's threads would each say what they leave undone.
    cursor = SHOW_CURSOR if sys.stderr.isatty() else ""
    with suppress(OSError):
        os.write(2, f"{cursor}\n{last_words}\n".encode())
    with suppress(Exception):
        embedded.leave()
    os._exit(INTERRUPTED)
