"""Passages of a set as elements of a document, and which passages a chunk holds."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from chunkers.chunk import Chunk
from parsers.elements import Element, Kind
from parsers.grids import table_from_rows
from parsers.text import document_text, normalise, normalise_code

_SENTENCE_END = re.compile(r"[.;:!?…][)\"'”’\]]*$")
_CODE_LINE = re.compile(r"^(?:\t| {2,})\S|[{};]$|^\s*(?://|#|/?\*)")
_CODE_SHARE = 0.5  # of the lines that are indented or end as statements and blocks do
_WRAPPED = 120  # characters: longer lines are paragraphs, not lines of one


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacedPassage:
    """A passage and where it stands in its document's normalised text, start to end."""

    id: str
    start: int
    end: int
    text: str  # as the set gives it; of a table without a text its cells


def elements_of(
    passages: Sequence[Mapping[str, Any]],
) -> tuple[tuple[Element, ...], tuple[PlacedPassage, ...]]:
    """Make the elements of a document from its passages, in order.

    A heading stands where the path of headings changes; a first line that repeats it is the
    heading itself.
    """
    is_code = _looks_like_code([str(p.get("text", "")) for p in passages if not p.get("cells")])
    elements: list[Element] = []
    owners: list[tuple[int, int]] = []  # of each passage: its elements, first to last + 1
    path: tuple[str, ...] = ()
    for passage in passages:
        before = len(elements)
        given = passage.get("heading_path")
        if given is not None:
            wanted = tuple(normalise(str(name)) for name in given)
            elements += _headings(path, wanted)
            path = wanted
        opened = len(elements) > before
        # A passage's own heading belongs to it, those of the parts around it do not.
        text = str(passage.get("text", ""))
        repeats = bool(path) and opened and _first_line(text) == path[-1]
        first = len(elements) - 1 if repeats else len(elements)
        text = text.lstrip().partition("\n")[2] if repeats else text
        elements += _body(passage, text, is_code)
        owners.append((first, len(elements)))
    _, spans = document_text(elements)
    placed = []
    for passage, (first, last) in zip(passages, owners, strict=True):
        inside = spans[first:last] or [(0, 0)]
        placed.append(
            PlacedPassage(
                id=str(passage["id"]),
                start=inside[0][0],
                end=inside[-1][1],
                text=str(passage.get("text") or "") or _cells_text(passage),
            )
        )
    return tuple(elements), tuple(placed)


def _cells_text(passage: Mapping[str, Any]) -> str:
    rows = passage.get("cells") or ()
    return "\n".join(" | ".join(str(cell or "") for cell in row) for row in rows)


def _headings(before: tuple[str, ...], wanted: tuple[str, ...]) -> list[Element]:
    same = 0
    while same < min(len(before), len(wanted)) and before[same] == wanted[same]:
        same += 1
    return [
        Element(kind=Kind.HEADING, text=name, level=depth)
        for depth, name in enumerate(wanted[same:], start=same + 1)
        if name
    ]


def _first_line(text: str) -> str:
    return normalise(text.lstrip().partition("\n")[0])


def _body(passage: Mapping[str, Any], text: str, is_code: bool) -> list[Element]:
    table = table_from_rows(
        [[str(cell or "") for cell in row] for row in passage.get("cells") or ()],
        caption=passage.get("caption"),
    )
    if table is not None:
        return [Element(kind=Kind.TABLE, table=table)]
    if passage.get("kind") == "code" or (passage.get("kind") is None and is_code):
        code = normalise_code(text)
        return [Element(kind=Kind.CODE, text=code)] if code.strip() else []
    return [Element(kind=Kind.TEXT, text=part) for part in paragraphs(text)]


def paragraphs(text: str) -> list[str]:
    """Cut a text at its blank lines, and at line ends unless the lines are a wrapped paragraph."""
    found = []
    for block in normalise(text).split("\n\n"):
        lines = block.split("\n")
        ended = sum(bool(_SENTENCE_END.search(line)) for line in lines[:-1])
        is_wrapped = (
            len(lines) > 2 and max(map(len, lines)) <= _WRAPPED and ended * 2 < len(lines) - 1
        )
        found += [block] if is_wrapped else lines
    return [part for part in found if part.strip()]


def _looks_like_code(texts: Iterable[str]) -> bool:
    """Whether most lines of a document look like a program's."""
    lines = [line.rstrip() for text in texts for line in text.splitlines() if line.strip()]
    coded = [line for line in lines if _CODE_LINE.search(line)]
    indented = sum(line[0] in " \t" for line in lines)
    return len(lines) > 2 and len(coded) > _CODE_SHARE * len(lines) and indented > 0


def held_passages(chunk: Chunk, passages: Sequence[PlacedPassage]) -> tuple[str, ...]:
    """Ids of the passages of its document that a chunk holds.

    A chunk holds a passage when they share at least half of the shorter of the two, in
    characters. What a part of a table shares with its table are the rows that are its own: not
    those that it repeats, and nothing where it holds a caption or notes alone.
    """
    if chunk.table_id is not None and not _own_cells(chunk):
        return ()
    held = []
    for passage in passages:
        shared = min(chunk.char_end, passage.end) - max(chunk.char_start, passage.start)
        if chunk.table_id is not None:
            # Every part of a table is placed where the whole table is, and lies inside it.
            is_held = shared > 0
        else:
            shorter = min(chunk.char_end - chunk.char_start, passage.end - passage.start)
            is_held = shared > 0 and 2 * shared >= shorter
        if is_held:
            held.append(passage.id)
    return tuple(held)


def _own_cells(chunk: Chunk) -> bool:
    return any(
        not any(start <= cell.start and cell.end <= end for start, end in chunk.added)
        for cell in chunk.cells
        if cell.end > cell.start
    )


def folded_text(text: str) -> str:
    """Return a text as answers are compared: NFC, without case, runs of white space as one."""
    folded = unicodedata.normalize("NFC", text).casefold()
    return " ".join(unicodedata.normalize("NFC", folded).split())


def holds_answer(text: str, answers: Iterable[str]) -> bool:
    """Whether a text holds one of the spellings of an answer."""
    within = folded_text(text)
    return any(folded_text(answer) in within for answer in answers)
