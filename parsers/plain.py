"""Plain text: paragraphs, list items, and the headings that its lines make plain.

Headings are taken from numbered clauses of the kinds that Vietnamese and English documents share
(Chương, Mục, Điều; Chapter, Section, Article), from multi-level numbers ("1.2 Title"), from
underlined lines and from short lines in capitals; anything less plain stays text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from parsers.captions import attach_captions
from parsers.elements import Element, Kind, Parsed
from parsers.encodings import decode
from parsers.text import normalise
from parsers.text_tables import Drawn, parts
from parsers.versions import family_id

VERSION = 2

_MAX_HEADING = 120
_MAX_CLAUSE = 350  # articles of law have titles of up to three lines
_MAX_CAPITALS = 100
_TAB = 4

_CLAUSES = (
    (1, re.compile(r"(?:phần|part)\s+(?:thứ\s+\w+|[ivxlc]+|\d+)\b", re.IGNORECASE)),
    (
        1,
        re.compile(r"(?:phụ lục|appendix|annex)\b(?:\s+[ivxlc]+\b|\s+\d+\b|\s+[a-z]\b|\s*$)", re.I),
    ),
    (2, re.compile(r"(?:chương|chapter)\s+(?:[ivxlc]+|\d+)\b", re.IGNORECASE)),
    (3, re.compile(r"(?:mục|section)\s+(?:[ivxlc]+\b|\d+(?:\.\d+)*)", re.IGNORECASE)),
    (4, re.compile(r"(?:điều|article|clause)\s+\d+[a-zđ]?\b", re.IGNORECASE)),
)
_AFTER_CLAUSE = re.compile(r"\s*(?:$|[.:–—-]\s*\S)")
_NUMBERED = re.compile(r"(\d{1,2}(?:\.\d{1,2}){1,4})\.?\s+(?=\S)")
_ROMAN = re.compile(r"[IVX]{1,5}[.)]\s+(?=\S)")
_SINGLE = re.compile(r"(\d{1,2})\.\s+(?=\S)")
_UNDERLINE = re.compile(r"={3,}|-{3,}|~{3,}|\*{3,}")
_BULLET = re.compile(r"(\s*)([-*•●▪◦‣–+])\s+(?=\S)")
_LETTERED = re.compile(r"(\s*)((?:\d{1,3}|[a-zđ])[.)])\s+(?=\S)")
_CAPITALS_RANK = 0
_ROMAN_RANK = 5
_NUMBER_RANK = 6


@dataclass(frozen=True, slots=True)
class _Heading:
    rank: int
    text: str


def parser_id() -> str:
    """Return the id of this family's parser."""
    return family_id("plain", VERSION)


def parse(data: bytes, *, suffix: str) -> Parsed:
    """Parse text in any encoding that ``parsers.encodings`` knows."""
    text, encoding = decode(data)
    warnings = () if encoding.startswith("utf") else (f"encoding:{encoding}",)
    elements = elements_of(text, with_headings=suffix != ".log")
    return Parsed(elements=elements, parser_id=parser_id(), warnings=warnings)


def elements_of(text: str, *, with_headings: bool = True) -> tuple[Element, ...]:
    """Return the elements of a plain text, for any format whose body is plain text."""
    text = text.replace("\r\n", "\n").replace("\r", "\n").replace("\f", "\n\n")
    blocks = list(_parts(text, with_headings=with_headings))
    found: list[Element | _Heading] = []
    for number, lines in enumerate(blocks):
        if isinstance(lines, Drawn):
            found.append(Element(kind=Kind.TABLE, table=lines.table()))
            continue
        after = blocks[number + 1] if number + 1 < len(blocks) else []
        following = [" ".join(after.rows[0])] if isinstance(after, Drawn) else after
        heads, rest = _split_headings(lines, following) if with_headings else ([], lines)
        found += heads
        found += _body(rest)
    return tuple(attach_captions(list(_with_levels(_joined_titles(found)))))


def _parts(text: str, *, with_headings: bool) -> Iterator[list[str] | Drawn]:
    """Blocks of lines, and the tables drawn in them; a log has none."""
    for block in _blocks(text, with_headings=with_headings):
        yield from parts(block) if with_headings else [block]


def _blocks(text: str, *, with_headings: bool) -> Iterator[list[str]]:
    """Runs of lines between blank lines; a numbered clause opens one of its own."""
    for block in re.split(r"\n(?:[^\S\n]*\n)+", text):
        lines: list[str] = []
        for line in block.split("\n"):
            if lines and with_headings and _is_clause(normalise(line)):
                yield lines
                lines = []
            lines.append(line)
        if any(normalise(line) for line in lines):
            yield lines


def _is_clause(line: str) -> bool:
    return _clause_rank(line) is not None


def _clause_rank(line: str) -> int | None:
    """The rank of a line that opens a numbered clause and is its title, not its whole text."""
    for rank, pattern in _CLAUSES:
        if (match := pattern.match(line)) and _AFTER_CLAUSE.match(line, match.end()):
            title = line[match.end() + 1 :]
            is_sentence = line.endswith(".") and line.count(" ") > 12
            is_long = len(line) > _MAX_CLAUSE or (
                len(line) > _MAX_HEADING and re.search(r"[.!?] \w", title.lstrip(" .:")) is not None
            )
            return None if is_sentence or is_long or line.endswith((";", ",")) else rank
    return None


# --- headings ------------------------------------------------------------------------------------


def _split_headings(
    lines: Sequence[str], following: Sequence[str]
) -> tuple[list[_Heading], Sequence[str]]:
    """The headings that a block begins with, and the lines after them."""
    heads: list[_Heading] = []
    rest = list(lines)
    while rest:
        line = normalise(rest[0])
        if len(rest) > 1 and line and _UNDERLINE.fullmatch(rest[1].strip()):
            if len(line) > _MAX_HEADING:
                break
            heads.append(_Heading(0 if rest[1].strip()[0] in "=*" else 1, line))
            rest = rest[2:]
            continue
        rank = _rank(line, rest[1:], following)
        if rank is None or (not following and len(rest) == 1 and not heads and rank > 1):
            break
        heads.append(_Heading(rank, line))
        rest = rest[1:]
    return heads, rest


def _rank(line: str, after: Sequence[str], following: Sequence[str]) -> int | None:
    """The rank of a line that opens a block (0 the highest), or None where it is no heading."""
    if (clause := _clause_rank(line)) is not None:
        return clause
    if not line or len(line) > _MAX_HEADING or line.endswith((";", ",")):
        return None
    if line.endswith((".", ":", "!", "?")) and not re.fullmatch(r"[\d.]+\s.{1,40}\.", line):
        return None
    if match := _NUMBERED.match(line):
        rank = _NUMBER_RANK + match.group(1).count(".")
        is_followed = bool(after or following) and not _NUMBERED.match(
            normalise((after or following)[0])
        )
        return rank if _is_titled(line[match.end() :]) and (is_followed or not after) else None
    if match := _ROMAN.match(line):
        return _ROMAN_RANK if _is_titled(line[match.end() :]) else None
    if match := _SINGLE.match(line):
        # "1. Title" is a heading only where text stands between it and the next number.
        next_line = normalise((after or following or [""])[0])
        is_list = not next_line or _LETTERED.match(next_line) or line.endswith(".")
        return None if is_list or not _is_titled(line[match.end() :]) else _NUMBER_RANK
    return _CAPITALS_RANK if _is_capitals(line) else None


def _is_titled(text: str) -> bool:
    return text[:1].isupper() and len(text) <= _MAX_CAPITALS and "  " not in text


def _is_capitals(line: str) -> bool:
    letters = [char for char in line if char.isalpha()]
    return (
        len(letters) >= 4
        and len(line) <= _MAX_CAPITALS
        and all(char.isupper() for char in letters)
        and len(letters) * 2 > len(line.replace(" ", ""))
        and not re.search(r"[|=<>{}_\\]", line)
    )


def _joined_titles(found: Sequence[Element | _Heading]) -> Iterator[Element | _Heading]:
    """Join "CHƯƠNG II" with the line of capitals under it, and a title over several lines."""
    pending: _Heading | None = None
    for item in found:
        if isinstance(item, _Heading) and item.rank == _CAPITALS_RANK and pending is not None:
            pending = replace(pending, text=f"{pending.text} {item.text}")
            continue
        if pending is not None:
            yield pending
            pending = None
        if isinstance(item, _Heading) and (
            item.rank == _CAPITALS_RANK or re.fullmatch(r"\w+ (?:thứ )?\w+", item.text)
        ):
            pending = item
        else:
            yield item
    if pending is not None:
        yield pending


def _with_levels(found: Iterator[Element | _Heading]) -> Iterator[Element]:
    items = list(found)
    ranks = sorted({item.rank for item in items if isinstance(item, _Heading)})
    for item in items:
        if isinstance(item, _Heading):
            yield Element(kind=Kind.HEADING, text=item.text, level=ranks.index(item.rank) + 1)
        else:
            yield item


# --- paragraphs and lists ------------------------------------------------------------------------


def _body(lines: Sequence[str]) -> Iterator[Element]:
    """Paragraph text and list items; a line without a mark goes on with what is above it."""
    text: list[str] = []
    level: int | None = None
    opened: list[tuple[int, str]] = []  # indent and style of the lists around this line
    for line in lines:
        match = _BULLET.match(line) or _LETTERED.match(line)
        if match is None:
            text.append(line)
            continue
        if text:
            yield _element(text, level)
        indent = len(match.group(1).expandtabs(_TAB))
        style = re.sub(r"\d+", "1", re.sub(r"[^\W\d]", "a", match.group(2)))
        # "a)" below "1." is one deeper without an indent; another "1." closes both.
        opened = [known for known in opened if known[0] <= indent]
        if (indent, style) in opened:
            opened = opened[: opened.index((indent, style))]
        opened.append((indent, style))
        level = len(opened)
        # A number or letter is part of what people cite ("điểm a"); a bullet is decoration.
        text = [line[match.end() :] if _BULLET.match(line) else line]
    if any(normalise(line) for line in text):
        yield _element(text, level)


def _element(lines: Sequence[str], level: int | None) -> Element:
    kind = Kind.TEXT if level is None else Kind.LIST_ITEM
    return Element(kind=kind, text=normalise("\n".join(lines)), level=level)
