"""Work that a search does not wait for longer than it may."""

from __future__ import annotations

import time
from collections.abc import Callable
from threading import Event, Thread
from typing import Generic, TypeVar

Result = TypeVar("Result")


class StillRunning(Exception):
    """The work was not done within the time."""

    def __init__(self) -> None:
        super().__init__("not done within the time limit")


class Deadline:
    """A time limit, counted from now; without seconds there is none."""

    def __init__(self, seconds: float | None) -> None:
        self._end = None if seconds is None else time.monotonic() + seconds

    def left(self) -> float | None:
        """Seconds that are left, at least 0; None without a limit."""
        return None if self._end is None else max(0.0, self._end - time.monotonic())

    @property
    def over(self) -> bool:
        """Whether no time is left."""
        return self.left() == 0.0


class Pending(Generic[Result]):
    """Work in a thread of its own, which does not keep the process alive if it hangs."""

    def __init__(self, work: Callable[[], Result]) -> None:
        self._done = Event()
        self._results: list[Result] = []
        self._error: BaseException | None = None
        self.seconds = 0.0
        Thread(target=self._run, args=(work,), daemon=True, name="mucluc search").start()

    def _run(self, work: Callable[[], Result]) -> None:
        begun = time.perf_counter()
        try:
            self._results.append(work())
        except BaseException as exc:  # raised again where it is waited for
            self._error = exc
        self.seconds = time.perf_counter() - begun
        self._done.set()

    def result(self, seconds: float | None) -> Result:
        """Wait for the result.

        Raises StillRunning, or what the work raised.
        """
        if not self._done.wait(seconds):
            raise StillRunning
        if self._error is not None:
            raise self._error
        return self._results[0]
