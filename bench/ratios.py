"""Interleaved pairs and their ratio: the only figure that survives another machine."""

from __future__ import annotations

import json
import platform
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from os import cpu_count, getloadavg
from statistics import median
from typing import Any

PAIRS = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Ratio:
    """Ours by bare, once for each pair. ``aim`` is the limit that was set, if one was."""

    name: str
    pairs: tuple[float, ...]
    aim: float | None = None
    higher_is_better: bool = False
    facts: dict[str, Any] = field(default_factory=dict)

    @property
    def middle(self) -> float:
        """Median of the pairs."""
        return median(self.pairs)

    @property
    def verdict(self) -> str:
        """Whether the aim was met; a dash where there is none."""
        if self.aim is None:
            return "-"
        met = self.middle >= self.aim if self.higher_is_better else self.middle <= self.aim
        return "met" if met else "missed"

    def to_json(self) -> dict[str, Any]:
        """Every field and the median, for a file."""
        return {**asdict(self), "median": round(self.middle, 3), "verdict": self.verdict}


def seconds(call: Callable[[], object]) -> float:
    """Wall seconds of one call."""
    begun = time.perf_counter()
    call()
    return time.perf_counter() - begun


def machine() -> str:
    """The machine's class and how busy it was, without its name."""
    return (
        f"{cpu_count()} cores, {platform.machine()}, Python {platform.python_version()}, "
        f"load {getloadavg()[0]:.1f} at the start, {datetime.now(UTC):%Y-%m-%d}"
    )


def table(ratios: list[Ratio]) -> str:
    """A Markdown table: minimum, median and maximum of the pairs."""
    lines = [
        "| ours / bare | min | median | max | pairs | aim | |",
        "|---|---|---|---|---|---|---|",
    ]
    for ratio in ratios:
        sign = "≥" if ratio.higher_is_better else "≤"
        aim = f"{sign} {ratio.aim:g}" if ratio.aim is not None else "-"
        lines.append(
            f"| {ratio.name} | {min(ratio.pairs):.2f} | **{ratio.middle:.2f}** | "
            f"{max(ratio.pairs):.2f} | {len(ratio.pairs)} | {aim} | {ratio.verdict} |"
        )
    return "\n".join(lines)


def facts(ratios: list[Ratio]) -> str:
    """What each ratio was measured on, one line each."""
    return "\n".join(
        f"  {ratio.name}: {json.dumps(ratio.facts, ensure_ascii=False)}"
        for ratio in ratios
        if ratio.facts
    )
