"""What a run did: counts, seconds, and what needs somebody's attention."""

from __future__ import annotations

import resource
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from threading import Lock
from typing import Any

STAGES = ("list", "diff", "revoke", "parse", "chunk", "contextualize", "embed", "write", "index")


class Tally:
    """Counts and seconds of a run, safe to add to from the threads of its tasks."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._counts: Counter[str] = Counter()
        self._seconds: Counter[str] = Counter()

    def add(self, name: str, count: int = 1) -> None:
        """Count something."""
        with self._lock:
            self._counts[name] += count

    def __getitem__(self, name: str) -> int:
        return self._counts[name]

    def names(self) -> list[str]:
        """Everything that was counted."""
        return sorted(self._counts)

    @contextmanager
    def timing(self, stage: str) -> Iterator[None]:
        """Add the seconds of the block to a stage. Those of tasks side by side add up."""
        begun = time.perf_counter()
        try:
            yield
        finally:
            with self._lock:
                self._seconds[stage] += time.perf_counter() - begun  # type: ignore[assignment]

    def seconds_of(self, stage: str) -> float:
        """Seconds of one stage."""
        return round(float(self._seconds[stage]), 3)

    def seconds(self) -> dict[str, float]:
        """Seconds by stage, in the order of the stages."""
        return {stage: round(float(self._seconds[stage]), 3) for stage in STAGES}


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """The figures of a run: numbers and ids only, so that Prefect and a log may have them."""

    run_id: int
    version: str
    documents: dict[str, int]
    chunks: dict[str, int]
    embedded: int
    truncated: int
    rows_written: int
    pruned: int  # revisions whose history is no longer kept
    tokens: int
    seconds: dict[str, float]
    peak_rss_mb: int
    withheld: dict[str, Any] = field(default_factory=dict)
    warnings: dict[str, int] = field(default_factory=dict)
    quarantined: tuple[dict[str, str], ...] = ()  # id, reason
    failed: tuple[str, ...] = ()  # codes
    beside: dict[str, Any] = field(default_factory=dict)  # the index's other versions

    def to_json(self) -> dict[str, Any]:
        """The object on the last line of ``mucluc sync --json``, and in the run's row."""
        return {
            "run": self.run_id,
            "version": self.version,
            "documents": self.documents,
            "chunks": self.chunks,
            "embedded": self.embedded,
            "truncated": self.truncated,
            "rows_written": self.rows_written,
            "pruned": self.pruned,
            "tokens": self.tokens,
            "seconds": self.seconds,
            "peak_rss_mb": self.peak_rss_mb,
            "withheld": self.withheld,
            "warnings": self.warnings,
            "quarantined": list(self.quarantined),
            "failed": list(self.failed),
            "beside": self.beside,
        }

    @property
    def exit_code(self) -> int:
        """0 done, 1 failed, 3 done with quarantined or withheld documents."""
        if self.failed:
            return 1
        return 3 if self.quarantined or self.withheld else 0


def peak_rss_mb() -> int:
    """Largest resident size of this process or of a child that ended, in MiB."""
    unit = 1024 * 1024 if sys.platform == "darwin" else 1024
    usages = (
        resource.getrusage(who).ru_maxrss
        for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    )
    return round(max(usages) / unit)
