"""The line or sentence of a chunk that answers, verbatim."""

from __future__ import annotations

import re
from collections.abc import Sequence

from search.folding import words

LONGEST = 320  # characters
ENOUGH = 100  # a shorter part is shown with what follows it


def quote(
    text: str, query: str, added: Sequence[tuple[int, int]] = (), *, longest: int = LONGEST
) -> str:
    """The part of ``text`` that has most of the question's words, and what follows a short one.

    A substring of ``text``, never longer than ``longest`` characters.

    Parts that lie wholly inside ``added`` spans (repeated headers) are never quoted (I2).
    """
    wanted = set(words(query))
    parts = [
        (start, end)
        for start, end in _parts(text)
        if not any(a <= start and end <= b for a, b in added)
    ]
    if not parts:
        return ""
    held = [set(words(text[start:end])) for start, end in parts]
    scores = []
    for number, (start, end) in enumerate(parts):
        # A word that stands in many parts says little about this one.
        score = sum(1 / sum(word in other for other in held) for word in wanted & held[number])
        # A chunk begins with its heading or with the names of its columns: rather what is below.
        first = 0.5 if number == 0 and len(parts) > 1 else 0.0
        scores.append(score - first - (end - start) / 100_000)
    best = scores.index(max(scores))
    start, end = parts[best]
    for begins, further in parts[best + 1 :]:
        repeats = any(end <= a and b <= begins for a, b in added)
        if repeats or end - start >= ENOUGH or further - start > longest:
            break
        end = further
    found = text[start:end]
    if len(found) <= longest:
        return found
    cut = found.rfind(" ", 0, longest)
    return found[: cut if cut > 0 else longest].rstrip()


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
