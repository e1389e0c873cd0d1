"""Blocks of all pages to elements: paragraphs joined over breaks, headings with levels, lists."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from statistics import median

from parsers.elements import Element, Kind
from parsers.pdf_blocks import Block, is_listed, strip_bullet
from parsers.pdf_tables import RawTable
from parsers.pdf_words import SOFT_HYPHEN
from parsers.text import has_text, one_line

MAX_LEVEL = 6
TITLE_SIZE = 1.25  # times the usual size of numbered headings
_ENDS = (".", "!", "?", ":", ";", "”", "…", ".”", ")")
_WORD = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)*")
_HALVES = re.compile(rf"(?<={SOFT_HYPHEN})")  # a cell's text after each hyphen in doubt
_PIECES = re.compile(rf"\S*{SOFT_HYPHEN}\S*")
_BROKEN = re.compile(rf"([^\W\d_]{{2,}})[-{SOFT_HYPHEN}]$")
_LEGAL = (
    re.compile(r"^(phần|part)\s+(thứ\s+\w+|[ivxlc]+|\d+|[a-z])\b", re.I),
    re.compile(r"^(chương|chapter)\s+([ivxlc]+|\d+)\b", re.I),
    re.compile(r"^(mục|tiểu mục|section)\s+([ivxlc]+|\d+)\b", re.I),
    re.compile(r"^(điều|article|clause)\s+\d+[a-z]?\s*([.:–-]|$)", re.I),
)
_APPENDIX = re.compile(r"^(phụ lục|appendix|annex)\b", re.I)
_DECIMAL = re.compile(r"^(\d{1,2}(?:\.\d{1,2}){0,4})\.?\s+\S")
_LEADERS = re.compile(r"(?:[.·_]\s?){7,}")
_ROMAN = re.compile(r"^[IVX]{1,5}[.)]\s+\S")
_LETTER = re.compile(r"^[A-ZĐ][.)]\s+\S")
# Prefixes that keep their hyphen when a line ends after them.
# fmt: off
_COMPOUND = frozenset((
    "self", "non", "first", "second", "third", "long", "short", "high", "low", "mid", "well",
    "full", "part", "pre", "post", "multi", "semi", "cross", "co", "anti", "all", "half", "inter",
    "year", "end", "on", "off", "up", "in", "ex", "e",
))
# fmt: on


def structure(
    blocks: Sequence[Block], tables: dict[int, RawTable]
) -> tuple[list[Element], str | None]:
    """Turn blocks into elements; also return the title that the first page sets largest."""
    words = _vocabulary(blocks, tables.values())
    joined = _join_over_breaks(blocks)
    body = _body_style(blocks, tables)
    styles = [_heading_style(first, joined, i, body) for i, (first, _) in enumerate(joined)]
    levels = _levels([style for style in styles if style is not None])
    elements: list[Element] = []
    indents: list[float] = []
    for (first, rest), style in zip(joined, styles, strict=True):
        raw = tables.get(id(first))
        if raw is not None:
            table = raw.build(lambda text: join_lines(_HALVES.split(text), words))
            if table is not None:
                elements.append(
                    Element(
                        kind=Kind.TABLE,
                        table=table,
                        page_start=raw.page,
                        page_end=raw.page_end,
                        bbox=_rounded(raw.box),
                    )
                )
            continue
        text = one_line(
            _LEADERS.sub(
                " … ", join_lines([line for block in (first, *rest) for line in block.lines], words)
            )
        )
        if not has_text((text,)):
            continue
        element = Element(
            kind=Kind.TEXT,
            text=text,
            page_start=first.page,
            page_end=rest[-1].page if rest else first.page,
            bbox=_rounded(first.box),
        )
        if style is not None:
            indents = []
            element = replace(element, kind=Kind.HEADING, level=levels[style])
        elif is_listed(text) and strip_bullet(text):
            while indents and first.box[0] < indents[-1] - 3:
                indents.pop()
            if not indents or first.box[0] > indents[-1] + 3:
                indents.append(first.box[0])
            item = one_line(strip_bullet(text))
            element = replace(element, kind=Kind.LIST_ITEM, text=item, level=len(indents))
        else:
            indents = []
        elements.append(element)
    return elements, _title(elements, joined, styles, body)


def _rounded(box: tuple[float, float, float, float]) -> tuple[float, float, float, float]:
    return (round(box[0], 1), round(box[1], 1), round(box[2], 1), round(box[3], 1))


# --- text ----------------------------------------------------------------------------------------


def _vocabulary(blocks: Iterable[Block], tables: Iterable[RawTable]) -> set[str]:
    """Words that stand whole somewhere in the document, to undo hyphenation by."""
    words: set[str] = set()
    for block in blocks:
        for line in block.lines:
            found = _WORD.findall(line.casefold())
            words.update(found[:-1] if line.endswith(("-", SOFT_HYPHEN)) else found)
    for raw in tables:
        for cell in raw.cells:
            words.update(_WORD.findall(_PIECES.sub(" ", cell.text.casefold())))
    return words


def join_lines(lines: Sequence[str], words: set[str]) -> str:
    """Join lines to one text. A hyphen at a line's end goes where the whole word is known, or
    where nothing speaks for a compound; in front of a capital or a figure it always stays.
    """
    text = ""
    for line in lines:
        broken = _BROKEN.search(text)
        following = _WORD.match(line)
        if broken and following and line[:1].islower():
            stem, rest = broken.group(1).casefold(), following.group().casefold()
            text = text[:-1] + ("-" if _is_compound(stem, rest, words) else "") + line
        elif (
            text.endswith(("-", SOFT_HYPHEN, "/")) and text[-2:-1].isalnum() and line[:1].isalnum()
        ):
            text += line
        else:
            text = f"{text} {line}" if text else line
    return text.replace(SOFT_HYPHEN, "-")


def _is_compound(stem: str, rest: str, words: set[str]) -> bool:
    if f"{stem}-{rest}" in words:
        return True
    if stem + rest in words:
        return False
    return stem in _COMPOUND or (stem in words and rest in words and len(stem) > 3)


def _join_over_breaks(blocks: Sequence[Block]) -> list[tuple[Block, list[Block]]]:
    """Give each block the blocks that continue its text in another column or on another page."""
    joined: list[tuple[Block, list[Block]]] = []
    last_text: int | None = None
    for block in blocks:
        if block.grid is None and block.opens and last_text is not None:
            head, rest = joined[last_text]
            tail = rest[-1] if rest else head
            floats_only = all(first.grid is not None for first, _ in joined[last_text + 1 :])
            if floats_only and block.page - tail.page <= 1 and _runs_on(tail, block):
                rest.append(block)
                continue
        joined.append((block, []))
        if block.grid is None:
            last_text = len(joined) - 1
    return joined


def _runs_on(upper: Block, lower: Block) -> bool:
    if abs(upper.size - lower.size) > 0.6 or upper.bold != lower.bold or not upper.lines:
        return False
    end, start = upper.lines[-1].rstrip(), lower.lines[0]
    if is_listed(start) or not end:
        return False
    if end.endswith(("-", SOFT_HYPHEN)) and start[:1].islower():
        return True
    if end.endswith(_ENDS) and not end.endswith(")"):
        return False
    if start[:1].islower() or end.endswith(","):
        return True
    return upper.full and len(upper.lines) > 1 and not upper.bold and len(lower.lines) > 1


# --- headings ------------------------------------------------------------------------------------

Style = tuple[float, int, int]  # size, negative; 0 for bold; rank by numbering


def _body_style(blocks: Iterable[Block], tables: dict[int, RawTable]) -> tuple[float, bool]:
    """The font size that most text has, and whether most of that is bold.

    A document of nothing but tables and their titles is measured by its tables.
    """
    sizes: Counter[float] = Counter()
    bold: Counter[float] = Counter()
    for block in blocks:
        if block.grid is not None:
            continue
        if len(block.lines) > 1 or len(block.text) > 60 or block.text.endswith((".", ";")):
            weight = sum(len(line) for line in block.lines)
            sizes[block.size] += weight
            bold[block.size] += weight if block.bold else 0
    if not sizes:
        for raw in tables.values():
            sizes[raw.size] += sum(len(cell.text) for cell in raw.cells)
    if not sizes:
        for block in blocks:
            sizes[block.size] += len(block.text)
            bold[block.size] += len(block.text) if block.bold else 0
    if not sizes:
        return 10.0, False
    size = sizes.most_common(1)[0][0]
    return size, bold[size] > 0.6 * sizes[size]


def _heading_style(
    block: Block,
    joined: Sequence[tuple[Block, list[Block]]],
    index: int,
    body: tuple[float, bool],
) -> Style | None:
    """The style of a heading, or None for other blocks."""
    if block.grid is not None or joined[index][1] or block.parted:
        return None
    text = one_line(" ".join(block.lines))
    letters = [char for char in text if char.isalpha()]
    if not len(letters) >= 2 or len(text) > 220 or len(block.lines) > 4:
        return None
    size, all_bold = body
    legal = next((rank for rank, rule in enumerate(_LEGAL) if rule.match(text)), None)
    caps = len(letters) > 3 and all(not char.islower() for char in letters)
    larger = block.size > size * 1.12
    bold = block.bold and not all_bold
    ends_open = text.endswith((",", ";")) or (text.endswith(".") and not _DECIMAL.match(text))
    is_heading = (
        (larger and not ends_open)
        or (bold and len(text) <= 150 and not ends_open and block.size > size * 0.85)
        or (legal is not None and len(text) <= 150 and not text.endswith((";", ",")))
        or (_APPENDIX.match(text) is not None and len(text) <= 100 and (caps or block.centred))
        or (caps and block.centred and not block.fixed and len(text) <= 100 and block.gap > 0.5)
    )
    if is_heading and legal == 3 and not (bold or larger):
        is_heading = not text.endswith(".") or len(text) < 90
    if not is_heading or (is_listed(text) and strip_bullet(text) != text):
        return None
    return (-block.size, 0 if block.bold else 1, _rank(text, legal, caps=caps))


def _rank(text: str, legal: int | None, *, caps: bool) -> int:
    """How deep a heading's numbering puts it among headings set alike."""
    if legal is not None:
        return (0, 1, 2, 3)[legal]
    if _APPENDIX.match(text):
        return 1
    decimal = _DECIMAL.match(text)
    if decimal:
        return 4 + decimal.group(1).count(".")
    if _ROMAN.match(text):
        return 2
    if _LETTER.match(text):
        return 3
    return 1 if caps else 4


def _levels(styles: Sequence[Style]) -> dict[Style, int]:
    """Number the heading styles: larger before smaller, bold before plain, then by numbering."""
    legal = [style for style in styles if style[2] <= 3]
    if legal:
        # The title in capitals is no chapter, though it is set like their names.
        usual = median(style[0] for style in legal)
        legal = [style for style in legal if style[0] > TITLE_SIZE * usual]
    top = min((style[0] for style in legal), default=0.0)
    sizes = sorted({style[0] for style in styles})
    bucket: dict[float, float] = {}
    for size in sizes:
        near = [known for known in bucket.values() if abs(known - size) <= 0.04 * abs(size)]
        bucket[size] = near[0] if near else size

    def key(style: Style) -> tuple[float, int, int]:
        numbered = style in legal and style[2] in {1, 2, 3}
        numbered = numbered and sum(s[2] == style[2] for s in legal) > 1
        return (bucket[top] if numbered else bucket[style[0]], style[1], style[2])

    keys = sorted({key(style) for style in styles})
    return {style: min(keys.index(key(style)) + 1, MAX_LEVEL) for style in styles}


def _title(
    elements: Sequence[Element],
    joined: Sequence[tuple[Block, list[Block]]],
    styles: Sequence[Style | None],
    body: tuple[float, bool],
) -> str | None:
    first_page = [
        (block.size, -index)
        for index, ((block, _), style) in enumerate(zip(joined, styles, strict=True))
        if style is not None and block.page == 1
    ]
    if not first_page or max(first_page)[0] < 1.12 * body[0]:
        return None
    size = max(first_page)[0]
    largest = max((block.size for block, _ in joined if block.grid is None), default=size)
    if size < largest:
        return None
    level_one = next((e for e in elements if e.kind is Kind.HEADING and e.page_start == 1), None)
    return level_one.text if level_one is not None and level_one.level == 1 else None
