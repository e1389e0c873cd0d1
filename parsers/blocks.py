"""Blocks of a word processor's document, on their way to elements: headings, captions, title."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from parsers.captions import attach_captions
from parsers.continued import join_continued
from parsers.elements import Element, Kind
from parsers.plain_headings import (
    BOLD_RANK,
    LONGEST_HEADING,
    TITLE_RANK,
    Line,
    heading_ranks,
    is_bare_name,
    is_capitals,
    levels_of,
)

_NO_LINE = Line(text="")


@dataclass(frozen=True, slots=True)
class Block:
    """An element and what is known about its look.

    ``level`` is what its style says: 0 for a title, 1–9 for a heading, None for neither. ``line``
    is set for paragraphs, which may be headings by their wording.
    """

    element: Element
    line: Line = field(default=_NO_LINE)
    level: int | None = None
    is_caption: bool = False


def finish(blocks: Iterable[Block]) -> tuple[tuple[Element, ...], str | None]:
    """Return a document's elements, with headings and captions found, and its stated title."""
    found = _joined_tables(_with_headings(list(blocks)))
    styled = {at for at, block in enumerate(found) if block.is_caption}
    elements = attach_captions([block.element for block in found], styled)
    stated = [block.element.text for block in found if block.level == 0]
    headings = [element for element in elements if element.kind is Kind.HEADING]
    top = [element.text for element in headings if element.level == 1]
    if not stated and len(top) == 1 and headings[0].level == 1:
        # One heading above all others names the document; several name its parts.
        stated = top
    return tuple(elements), stated[0] if stated else None


def _joined_tables(blocks: list[Block]) -> list[Block]:
    kept: list[Block] = []
    for block in blocks:
        both = join_continued([kept[-1].element, block.element]) if kept else []
        if len(both) == 1:
            kept[-1] = replace(kept[-1], element=both[0])
        else:
            kept.append(block)
    return kept


def _with_headings(blocks: list[Block]) -> list[Block]:
    """Turn blocks into headings by their style, and by wording where no style says so."""
    shift = 1 if any(block.level == 0 for block in blocks) else 0
    styled = any(block.level for block in blocks)
    ranks = heading_ranks([_NO_LINE if b.level is not None else b.line for b in blocks])
    if styled:
        # Where styles mark headings, a line needs a number of its own to be one beside them.
        ranks = [None if rank in (TITLE_RANK, BOLD_RANK) else rank for rank in ranks]
    found: list[Block] = []
    current = shift
    for block, rank, level in zip(blocks, ranks, levels_of(ranks), strict=True):
        if block.level is not None:
            current = max(1, block.level + shift)
            found.append(_heading(block, current))
        elif rank in (None, BOLD_RANK) and found and _completes(found[-1].element, block):
            last = found.pop()
            text = f"{last.element.text} {' '.join(block.element.text.split())}"
            found.append(replace(last, element=replace(last.element, text=text)))
        elif level is not None and not block.is_caption:
            found.append(_heading(block, level + current))
        else:
            found.append(block)
    return found


def _completes(last: Element, block: Block) -> bool:
    """Whether a line is the title of the "Chương II" that stands alone above it."""
    text = block.element.text
    is_title = block.line.bold or block.line.centred or is_capitals(text)
    return (
        last.kind is Kind.HEADING
        and block.element.kind is Kind.TEXT
        and is_bare_name(last.text)
        and is_title
        and 0 < len(text) <= LONGEST_HEADING
    )


def _heading(block: Block, level: int) -> Block:
    text = " ".join(block.element.text.split())
    return replace(block, element=replace(block.element, kind=Kind.HEADING, level=level, text=text))
