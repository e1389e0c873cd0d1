"""The line or sentence of a chunk that answers, verbatim."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

LONGEST = 320  # characters


def quote(
    text: str, query: str, added: Sequence[tuple[int, int]] = (), *, longest: int = LONGEST
) -> str:
    """The part of ``text`` with most of the question's words; a substring of it, never longer
    than ``longest`` characters.

    Parts that lie wholly inside ``added`` spans (repeated headers) are never quoted (I2).
    """
    wanted = _words(query)
    best, best_score = "", -1.0
    for start, end in _parts(text):
        if any(a <= start and end <= b for a, b in added):
            continue
        part = text[start:end]
        words = _words(part)
        score = len(wanted & words) - len(part) / 100_000  # of equals, the shorter
        if score > best_score:
            best, best_score = part, score
    if len(best) <= longest:
        return best
    return best[: best.rfind(" ", 0, longest)].rstrip() if " " in best[:longest] else best[:longest]


def _parts(text: str) -> list[tuple[int, int]]:
    """Lines, and sentences of long lines, as (start, end)."""
    found = []
    for line in re.finditer(r"[^\n]+", text):
        start = line.start()
        for stop in re.finditer(r"(?<=[.!?;])\s+", line[0]):
            if line.start() + stop.start() - start > 80:
                found.append((start, line.start() + stop.start()))
                start = line.start() + stop.end()
        if start < line.end():
            found.append((start, line.end()))
    return found


def _words(text: str) -> set[str]:
    plain = unicodedata.normalize("NFD", text.lower()).replace("đ", "d")
    return set(re.findall(r"\w+", "".join(c for c in plain if not unicodedata.combining(c))))
