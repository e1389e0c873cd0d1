"""Charts as SVG: bars by group, and intervals around zero. No scripts, no network, two schemes.

Each chart brings its own style sheet, so that it reads as well in a page as alone in a file, on
light and on dark ground, and states its figures in words for those who do not see it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

LABELS, PLOT, VALUES = 190, 400, 60  # widths in pixels
BAR, GAP, TOP, BOTTOM = 13, 12, 34, 26

_STYLE = """
.c{--ink:#1d2430;--dim:#5b6573;--rule:#d5dae1;--s0:#9aa7b8;--s1:#c26a12;--s2:#1f6fd6;--bad:#b3261e;--g:#fff}
@media (prefers-color-scheme:dark){.c{--ink:#e6e9ee;--dim:#a3adba;--rule:#39424e;--s0:#7f8b9a;
--s1:#e8974a;--s2:#6ea8ff;--bad:#ff8a80;--g:#161a20}}
.c .g{fill:var(--g)}
.c text{font:12px system-ui,sans-serif;fill:var(--ink)}.c .t{font-weight:600;font-size:13px}
.c .d{fill:var(--dim);font-size:11px}.c .r{stroke:var(--rule)}.c .z{stroke:var(--dim)}
.c .s0{fill:var(--s0)}.c .s1{fill:var(--s1)}.c .s2{fill:var(--s2)}
.c .i{stroke:var(--ink);stroke-width:1.5}.c .bad{stroke:var(--bad)}.c circle.bad{fill:var(--bad)}
"""


@dataclass(frozen=True, slots=True)
class Group:
    """Bars that stand together: one value a series, from 0 to 1, None where there is none."""

    label: str
    values: tuple[float | None, ...]
    note: str = ""


@dataclass(frozen=True, slots=True)
class Interval:
    """A change with its bounds, in shares from -1 to 1; ``is_bad`` where it is below zero."""

    label: str
    change: float
    low: float
    high: float
    is_bad: bool = False
    note: str = ""


def bars(title: str, series: Sequence[str], groups: Sequence[Group]) -> str:
    """Draw horizontal bars in percent, a group a row, up to three series."""
    height = TOP + sum(_height(group) for group in groups) + BOTTOM
    parts = _legend(title, series)
    y = TOP
    for group in groups:
        middle = y + (_height(group) - GAP) / 2
        parts += [_label(group.label, group.note, middle)]
        for place, value in enumerate(group.values):
            if value is None:
                continue
            top = y + place * BAR
            width = max(1.0, PLOT * value)
            colour = 3 - len(series) + place
            parts.append(
                f'<rect class="s{colour}" x="{LABELS}" y="{top}" width="{width:.1f}" '
                f'height="{BAR - 2}" rx="2"/>'
                f'<text class="d" x="{LABELS + width + 4:.1f}" y="{top + BAR - 3}">'
                f"{100 * value:.1f}</text>"
            )
        y += _height(group)
    parts += _axis([0, 25, 50, 75, 100], [PLOT * share / 4 for share in range(5)], y)
    words = "; ".join(
        f"{group.label}: "
        + ", ".join(
            f"{name} {100 * value:.1f}"
            for name, value in zip(series, group.values, strict=True)
            if value is not None
        )
        for group in groups
    )
    return _svg(title, words, height, parts)


def intervals(title: str, rows: Sequence[Interval]) -> str:
    """Draw changes with their intervals around zero, in points of a hundred."""
    reach = max((max(abs(r.low), abs(r.high), abs(r.change)) for r in rows), default=0.0)
    reach = max(0.04, math.ceil(25 * reach * 1.05) / 25)  # so that quarters are whole points
    row = BAR + GAP
    height = TOP + row * len(rows) + BOTTOM

    def at(value: float) -> float:
        return LABELS + PLOT * (value + reach) / (2 * reach)

    bottom = TOP + row * len(rows)
    parts = [f'<text class="t" x="0" y="14">{escape(title)}</text>']
    parts.append(
        f'<line class="z" x1="{at(0):.1f}" x2="{at(0):.1f}" y1="{TOP - 6}" y2="{bottom}"/>'
    )
    for number, item in enumerate(rows):
        middle = TOP + number * row + BAR / 2
        bad = " bad" if item.is_bad else ""
        parts.append(_label(item.label, item.note, middle))
        parts.append(
            f'<line class="i{bad}" x1="{at(item.low):.1f}" x2="{at(item.high):.1f}" '
            f'y1="{middle}" y2="{middle}"/>'
            f'<circle class="s2{bad}" cx="{at(item.change):.1f}" cy="{middle}" r="4"/>'
            f'<text class="d" x="{LABELS + PLOT + 8}" y="{middle + 4}">'
            f"{100 * item.change:+.1f}</text>"
        )
    ticks = [-reach, -reach / 2, 0.0, reach / 2, reach]
    parts += _axis(
        [round(100 * tick, 1) for tick in ticks], [at(tick) - LABELS for tick in ticks], bottom
    )
    words = "; ".join(
        f"{r.label}: {100 * r.change:+.1f} ({100 * r.low:+.1f} to {100 * r.high:+.1f})"
        for r in rows
    )
    return _svg(title, words, height, parts)


def _height(group: Group) -> int:
    return BAR * len(group.values) + GAP


def _legend(title: str, series: Sequence[str]) -> list[str]:
    parts = [f'<text class="t" x="0" y="14">{escape(title)}</text>']
    x = LABELS + PLOT + VALUES - 10
    for place in reversed(range(len(series))):
        x -= 18 + 7 * len(series[place])
        colour = 3 - len(series) + place
        parts.append(
            f'<rect class="s{colour}" x="{x}" y="5" width="10" height="10" rx="2"/>'
            f'<text class="d" x="{x + 14}" y="14">{escape(series[place])}</text>'
        )
    return parts


def _label(label: str, note: str, middle: float) -> str:
    side = f' <tspan class="d">{escape(note)}</tspan>' if note else ""
    return f'<text x="0" y="{middle + 4}">{escape(label)}{side}</text>'


def _axis(values: Sequence[float], places: Sequence[float], y: float) -> list[str]:
    parts = [f'<line class="r" x1="{LABELS}" x2="{LABELS + PLOT}" y1="{y}" y2="{y}"/>']
    for value, place in zip(values, places, strict=True):
        parts.append(
            f'<text class="d" text-anchor="middle" x="{LABELS + place:.1f}" y="{y + 15}">'
            f"{value:g}</text>"
        )
    return parts


def _svg(title: str, words: str, height: float, parts: Sequence[str]) -> str:
    # A ground of its own: the page around a file may be light where the reader's scheme is dark.
    width, margin = LABELS + PLOT + VALUES, 10
    left, right, down = -margin, width + 2 * margin, height + 2 * margin
    return (
        '<svg xmlns="http://www.w3.org/2000/svg" class="c" role="img" '
        f'viewBox="{left} {left} {right} {down:g}" width="{right}">'
        f"<title>{escape(title)}</title><desc>{escape(words)}</desc>"
        f"<style>{_STYLE}</style>"
        f'<rect class="g" x="{left}" y="{left}" width="{right}" height="{down:g}" rx="6"/>'
        f"{''.join(parts)}</svg>"
    )
