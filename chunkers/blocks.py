"""The blocks of a section: what belongs together and is kept whole when it fits.

A list stands with its lead-in, an item with the items below it, a heading with what follows it,
a paragraph that ends in a colon with the next one, code by itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from chunkers.chunk import Tokenizer
from chunkers.packing import Unit, content_key
from chunkers.sentences import leads_in
from chunkers.splitting import CODE, PROSE, SEAM, break_down
from parsers.elements import Element, Kind

Span = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Placed:
    """An element with its place in the document's normalised text."""

    element: Element
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Block:
    """Elements that belong together; ``glued`` to the block before it where that leads in."""

    elements: tuple[Placed, ...]
    glued: bool = False


def blocks(run: Sequence[Placed]) -> list[Block]:
    """Group the elements of one section, none of them a table, into blocks."""
    found: list[Block] = []
    for placed in run:
        kind = placed.element.kind
        previous = found[-1].elements[-1] if found else None
        if kind is Kind.LIST_ITEM and previous is not None and _opens_list(previous):
            found[-1] = replace(found[-1], elements=(*found[-1].elements, placed))
            continue
        glued = previous is not None and (
            previous.element.kind is Kind.HEADING
            or (previous.element.kind is Kind.TEXT and leads_in(previous.element.text))
        )
        found.append(Block((placed,), glued))
    return found


def block_units(
    text: str, found: Sequence[Block], *, budget: int, tokenizer: Tokenizer
) -> list[Unit]:
    """Return the units of a section's blocks: a block that fits is one, another is cut."""
    units: list[Unit] = []
    room = budget
    for block in found:
        first = block.elements[0]
        below = list(_units(text, block.elements, limit=room, rank=0, tokenizer=tokenizer))
        below[0] = replace(below[0], glued=block.glued)
        units += below
        # What stands under a heading must leave room for it, or the heading would stand alone.
        is_heading = first.element.kind is Kind.HEADING
        room = max(budget // 2, room - below[0].tokens) if is_heading else budget
    return units


def _opens_list(previous: Placed) -> bool:
    if previous.element.kind is Kind.LIST_ITEM:
        return True
    return previous.element.kind is Kind.TEXT and leads_in(previous.element.text)


def _units(
    text: str, elements: Sequence[Placed], *, limit: int, rank: int, tokenizer: Tokenizer
) -> Iterator[Unit]:
    start, end = elements[0].start, elements[-1].end
    if len(elements) == 1:
        is_code = elements[0].element.kind is Kind.CODE
        yield from break_down(
            text,
            start,
            end,
            limit=limit,
            tokenizer=tokenizer,
            splitters=CODE if is_code else PROSE,
            rank=rank,
        )
        return
    whole = text[start:end]
    # A list of many times the limit need not be counted as one to know that it does not fit.
    if len(whole) <= limit * 16:
        tokens = tokenizer.count(whole) + SEAM
        if tokens <= limit:
            yield Unit(start, end, tokens, content_key(whole), rank)
            return
    for number, group in enumerate(_groups(elements)):
        below = list(
            _units(
                text,
                group,
                limit=limit,
                rank=rank if number == 0 else rank + 1,
                tokenizer=tokenizer,
            )
        )
        # The first item is not cut from the lead-in, nor from the item above it.
        is_first = number == 1 and _depth(elements[0]) < _depth(group[0])
        below[0] = replace(below[0], glued=is_first)
        yield from below


def _groups(elements: Sequence[Placed]) -> Iterator[Sequence[Placed]]:
    """Cut a list into its lead-in (or topmost item) and the items with what is below each."""
    depths = [_depth(placed) for placed in elements]
    # The first element of an item's group is that item: go one level down.
    top = min(depths[1:]) if depths[0] < min(depths[1:]) else min(depths)
    first = 0
    for position in range(1, len(elements) + 1):
        if position == len(elements) or depths[position] <= top:
            yield elements[first:position]
            first = position


def _depth(placed: Placed) -> int:
    if placed.element.kind is not Kind.LIST_ITEM:
        return 0
    return placed.element.level or 1
