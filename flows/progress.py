"""Progress bars: one a stage, with rate and time left, on a terminal; silence elsewhere."""

from __future__ import annotations

import sys
from threading import Lock
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    Task,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.text import Text

UNITS = {
    "list": "files",
    "diff": "files",
    "revoke": "documents",
    "parse": "documents",
    "chunk": "documents",
    "contextualize": "chunks",
    "embed": "chunks",
    "write": "documents",
    "index": "indexes",
    "questions": "questions",
}


class _Rate(ProgressColumn):
    """Units a second."""

    def render(self, task: Task) -> Text:
        """Show the speed, once there is one."""
        speed = task.finished_speed or task.speed
        return Text(f"{speed:.1f}/s" if speed else "", style="progress.data.speed")


class StageProgress:
    """Bars of a run's stages. Safe to call from the threads of the tasks."""

    def __init__(self, *, shown: bool) -> None:
        self._lock = Lock()
        self._bars: dict[str, TaskID] = {}
        self._totals: dict[str, int] = {}
        self._progress = Progress(
            TextColumn("{task.description:<14}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[unit]}"),
            _Rate(),
            TimeElapsedColumn(),
            TextColumn("left"),
            TimeRemainingColumn(),
            console=Console(file=sys.stderr),
            disable=not shown,
        )

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._progress.stop()

    def expect(self, stage: str, more: int) -> None:
        """There are so many more units to come in a stage."""
        with self._lock:
            if stage not in self._bars:
                self._totals[stage] = 0
                self._bars[stage] = self._progress.add_task(stage, total=0, unit=UNITS[stage])
            self._totals[stage] += more
            self._progress.update(self._bars[stage], total=self._totals[stage])

    def advance(self, stage: str, by: int = 1) -> None:
        """So many units of a stage are done."""
        with self._lock:
            if stage in self._bars:
                self._progress.advance(self._bars[stage], by)
