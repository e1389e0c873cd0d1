"""How a name that must be repeated, and is too long, is shortened (docs/chunking.md)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from chunkers.graphemes import boundary_before

ELLIPSIS = "…"


def abbreviate(text: str, cap: int, count: Callable[[str], int]) -> str:
    """Return the first words of ``text`` and "…", within ``cap`` tokens.

    A first word that is too long is cut between graphemes; "…" alone is the least.
    """
    start = text[: 16 * cap]  # no text has more characters to a token
    ends = [i for i, char in enumerate(start) if char == " " and i]
    best = _longest([text[:end] + ELLIPSIS for end in ends], cap, count)
    if best is None:
        stops = sorted({boundary_before(start, i) for i in range(1, len(start))} - {0})
        best = _longest([text[:stop] + ELLIPSIS for stop in stops], cap, count)
    return best or ELLIPSIS


def _longest(candidates: Sequence[str], cap: int, count: Callable[[str], int]) -> str | None:
    low, high = 0, len(candidates)
    while low < high:
        middle = (low + high) // 2
        if count(candidates[middle]) <= cap:
            low = middle + 1
        else:
            high = middle
    return candidates[low - 1] if low else None
