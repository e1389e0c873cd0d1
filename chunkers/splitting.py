"""Cutting a text that is too long, at the best places that it has."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from chunkers.chunk import Tokenizer
from chunkers.graphemes import boundary_before, is_boundary
from chunkers.packing import Unit, content_key, pack
from chunkers.sentences import Span, sentences, spans_between, states_condition

# Joining texts can cost a token more at each seam than the texts have alone.
SEAM = 2

Splitter = Callable[[str], list[Span]]


def _at(pattern: str) -> Splitter:
    compiled = re.compile(pattern)
    return lambda text: spans_between(text, [match.end() for match in compiled.finditer(text)])


def _lines(separator: str) -> Splitter:
    # Code keeps the indentation of its lines, so only the line ends are left out.
    compiled = re.compile(separator)

    def split(text: str) -> list[Span]:
        spans, start = [], 0
        for match in compiled.finditer(text):
            spans.append((start, match.start()))
            start = match.end()
        return [(a, b) for a, b in [*spans, (start, len(text))] if text[a:b].strip()]

    return split


PROSE: tuple[Splitter, ...] = (
    _at(r"\n{2,}"),
    sentences,
    _at(r"\n"),
    _at(r";\s+"),
    _at(r",\s+"),
    # What stands before a colon means nothing without what follows: "Warranty: 12 months".
    _at(r"(?<![:：])\s+"),
    _at(r"\s+"),
)
CODE: tuple[Splitter, ...] = (_lines(r"\n(?:[ \t]*\n)+"), _lines(r"\n+"), _at(r"\s+"))


def break_down(
    text: str,
    start: int,
    end: int,
    *,
    limit: int,
    tokenizer: Tokenizer,
    splitters: Sequence[Splitter] = PROSE,
    rank: int = 0,
) -> list[Unit]:
    """Cut ``text[start:end]`` into units of at most ``limit`` tokens (their estimate included).

    Each splitter is tried in turn on what is still too long; blocks of characters, whole graphemes
    each, are the last resort. A unit's rank is higher the finer the cut before it.
    """
    part = text[start:end]
    tokens = tokenizer.count(part) + SEAM
    if tokens <= limit:
        return [Unit(start, end, tokens, content_key(part), rank)]
    if not splitters:
        return list(_blocks(text, start, end, limit=limit, tokenizer=tokenizer, rank=rank))
    spans = splitters[0](part)
    units: list[Unit] = []
    for number, (a, b) in enumerate(spans):
        below = break_down(
            text,
            start + a,
            start + b,
            limit=limit,
            tokenizer=tokenizer,
            splitters=splitters[1:],
            rank=rank + 1,
        )
        if number == 0:
            below[0] = replace(below[0], rank=rank)
        elif is_glued(part, a, b, splitters[0]):
            below[0] = replace(below[0], glued=True)
        units += below
    return units


def is_glued(part: str, start: int, end: int, splitter: Splitter) -> bool:
    """Whether ``part[start:end]`` belongs to what is before it: a condition, a definition."""
    if splitter is sentences and states_condition(part[start:end]):
        return True
    return part[:start].rstrip().endswith((":", "："))


def settle(
    text: str,
    units: Sequence[Unit],
    *,
    budget: int,
    tokenizer: Tokenizer,
    splitters: Sequence[Splitter] = PROSE,
    limit: int | None = None,
) -> Iterator[tuple[int, int, int]]:
    """Pack ``units`` of ``text`` and yield (start, end, tokens) of each piece.

    Every piece is counted as it stands: where the units' estimates were too low, it is cut again.
    """
    limit = budget if limit is None else limit
    for first, last in pack(units, limit):
        start, end = units[first].start, units[last - 1].end
        tokens = tokenizer.count(text[start:end])
        if tokens <= budget or end - start == 1:
            yield start, end, tokens
            continue
        lower = max(1, min(limit - 1, limit * 3 // 4))
        finer = (
            units[first:last]
            if last - first > 1
            else break_down(text, start, end, limit=lower, tokenizer=tokenizer, splitters=splitters)
        )
        yield from settle(
            text, finer, budget=budget, tokenizer=tokenizer, splitters=splitters, limit=lower
        )


def _blocks(
    text: str, start: int, end: int, *, limit: int, tokenizer: Tokenizer, rank: int
) -> Iterator[Unit]:
    """Cut a text without any white space into blocks of graphemes within the limit."""
    size = max(1, limit // 2)
    while start < end:
        stop = _grapheme_stop(text, start, start + size, end)
        while (tokens := tokenizer.count(text[start:stop]) + SEAM) > limit and stop - start > 1:
            half = start + (stop - start) // 2
            whole = _grapheme_stop(text, start, half, end)
            # One grapheme above the limit (marks piled on a letter) is cut all the same: the
            # limit is hard, and such a grapheme is no text.
            stop = whole if whole < stop else half
        yield Unit(start, stop, tokens, content_key(text[start:stop]), rank)
        start = stop


def _grapheme_stop(text: str, start: int, stop: int, end: int) -> int:
    """Return the grapheme boundary at or before ``stop``, the next one when that is ``start``."""
    if stop >= end:
        return end
    found = boundary_before(text, stop)
    while found <= start and stop < end:
        stop += 1
        found = stop if is_boundary(text, stop) else start
    return found if found > start else end
