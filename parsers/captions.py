"""Captions, units and remarks that stand as paragraphs beside a table, joined to it."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import replace

from parsers.cell_types import is_note_line, is_unit_line
from parsers.elements import Element, Kind

_NUMBERED = re.compile(
    r"(?:bảng|table|biểu|tab\.)\s*(?:số\s*)?(?:\d+|[IVXLC]+|[A-Z])(?:[.-]\d+)*\s*(?:[.:–—)-]|$|\s[A-ZĐ])",
    re.IGNORECASE,
)
_LONGEST_CAPTION = 200
_LONGEST_UNIT = 80


def is_caption(text: str) -> bool:
    """Whether a line is numbered like a table's caption: "Bảng 1: …", "Table 2. …"."""
    return len(text) <= _LONGEST_CAPTION and "\n" not in text and bool(_NUMBERED.match(text))


def attach_captions(
    elements: Sequence[Element], styled: Collection[int] = frozenset()
) -> list[Element]:
    """Move captions, unit lines and source lines next to a table into it.

    ``styled`` are positions of paragraphs that the format marks as captions. A caption goes to the
    table right below it, else to the one right above; a caption of anything else stays text.
    """
    kept: list[Element | None] = list(elements)
    for at, element in enumerate(elements):
        if element.table is None:
            continue
        above = at - 1
        while above >= 0 and kept[above] is not None and _joins_above(elements, above, styled):
            _attach(kept, at, elements[above].text, above=True)
            kept[above] = None
            above -= 1
    for at, element in enumerate(elements):
        below = at + 1
        while element.table is not None and below < len(elements) and kept[below] is not None:
            text = elements[below].text
            is_late = (below in styled or is_caption(text)) and _caption(kept[at]) is None
            if elements[below].kind is not Kind.TEXT or not (is_late or is_note_line(text)):
                break
            _attach(kept, at, text, above=False, is_note=not is_late)
            kept[below] = None
            below += 1
    return [element for element in kept if element is not None]


def _caption(element: Element | None) -> str | None:
    return element.table.caption if element is not None and element.table is not None else None


def _joins_above(elements: Sequence[Element], at: int, styled: Collection[int]) -> bool:
    element = elements[at]
    if element.kind is not Kind.TEXT:
        return False
    is_unit = is_unit_line(element.text) and len(element.text) <= _LONGEST_UNIT
    return at in styled or is_caption(element.text) or is_unit


def _attach(
    kept: list[Element | None], at: int, text: str, *, above: bool, is_note: bool | None = None
) -> None:
    element = kept[at]
    if element is None or element.table is None:
        return
    table = element.table
    if is_unit_line(text) if is_note is None else is_note:
        parts = [text, table.notes] if above else [table.notes, text]
        table = replace(table, notes="\n".join(part for part in parts if part))
    else:
        table = replace(table, caption="\n".join(part for part in (text, table.caption) if part))
    kept[at] = replace(element, table=table)
