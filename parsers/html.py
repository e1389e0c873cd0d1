"""HTML: the page as its reader sees it, tables with their spans, the site's furniture left out."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from lxml.html import HtmlElement

from parsers.blocks import Block, finish
from parsers.captions import attach_captions
from parsers.continued import join_continued
from parsers.elements import Element, Kind, Parsed, Table, Unreadable
from parsers.encodings import decode
from parsers.html_parts import (
    HEADINGS,
    definition_parts,
    figure_caption,
    first_number,
    has_blocks,
    is_footnotes,
    is_table_caption,
    is_unmarked,
    language_of,
    numeral,
    preformatted,
    tree_of,
)
from parsers.html_roles import give_tags
from parsers.html_tables import Grid, is_bold, is_layout, read_grid, to_table
from parsers.html_visibility import Visibility
from parsers.nested import LARGEST_INLINE
from parsers.plain_headings import Line
from parsers.text import normalise, one_line
from parsers.versions import family_id

VERSION = 2

MAX_DEPTH = 150  # deeper parts lose their structure, not their words

_BLOCK_NAMES = (
    "address article aside blockquote body caption center dd details dialog dir div dt fieldset "
    "figcaption figure footer form header hgroup hr html legend li main menu nav p search section "
    "summary tbody td tfoot th thead tr"
)
_BLOCKS = frozenset(_BLOCK_NAMES.split())
_LISTS = frozenset({"ul", "ol", "menu", "dir"})
_WHITE = re.compile(r"[ \t\n\r\f]+")
_META_CHARSET = re.compile(
    rb"<meta[^>]+charset\s*=\s*[\"']?\s*([\w.:-]+)|<\?xml[^>]+encoding\s*=\s*[\"']([\w.:-]+)", re.I
)
_NUMBER = re.compile(r"\s*\w{1,8}\.\s*")  # of a list item, whose text may stand in a block
_SHORT_CELL = 200


def parser_id() -> str:
    """Return the id of this family's parser."""
    return family_id("html", VERSION, "lxml")


def parse(data: bytes, *, suffix: str) -> Parsed:
    """Parse a page in the encoding it states or shows. Raises ``Unreadable`` (binary, damaged)."""
    match = _META_CHARSET.search(data[:4096])
    declared = next(filter(None, match.groups())).decode("ascii") if match else None
    text, encoding = decode(data, declared=declared)
    root = tree_of(text)
    if root is None:
        raise Unreadable("no_text")
    title = next((one_line("".join(node.itertext())) for node in root.iter("title")), "")
    return Parsed(
        elements=tuple(_page(root)),
        parser_id=parser_id(),
        title=title or None,
        language=language_of(root),
        warnings=() if encoding.startswith("utf") else (f"encoding:{encoding}",),
    )


def fragment_elements(text: str) -> tuple[Element, ...]:
    """Return the elements of a piece of HTML, for formats that hold some (Markdown, mail)."""
    root = tree_of(text)
    return () if root is None else tuple(_elements(root))


def _page(root: HtmlElement) -> Sequence[Element]:
    walk = _walked(root)
    if any(element.kind is Kind.HEADING for element in walk.elements):
        return attach_captions(join_continued(walk.elements))
    # Saved from a word processor: what heads a part shows by its wording and its bold type alone.
    lines = [
        Line(text=element.text if element.kind is Kind.TEXT else "", bold=at in walk.bold)
        for at, element in enumerate(walk.elements)
    ]
    return finish(map(Block, walk.elements, lines))[0]


def _elements(root: HtmlElement) -> list[Element]:
    return join_continued(_walked(root).elements)


def _walked(root: HtmlElement) -> _Walk:
    give_tags(root)
    walk = _Walk(Visibility.of(root))
    walk.block(root, 0)
    walk.flush()
    return walk


@dataclass(slots=True)
class _Walk:
    """One pass over a page, in reading order."""

    seen: Visibility
    elements: list[Element] = field(default_factory=list)
    buffer: list[str] = field(default_factory=list)
    kind: Kind = Kind.TEXT
    level: int | None = None
    lists: list[tuple[str, int]] = field(default_factory=list)  # open lists: tag, next number
    language: str | None = None
    bold: set[int] = field(default_factory=set)  # elements that are one bold paragraph
    inner: list[tuple[HtmlElement, Table]] = field(default_factory=list)  # large ones, in a cell

    # --- blocks ----------------------------------------------------------------------------------

    def flush(self) -> None:
        """End the running paragraph."""
        text = normalise("".join(self.buffer))
        self.buffer.clear()
        if text:
            self.add(Element(kind=self.kind, text=text, level=self.level))
            # What follows in the same list item is its continuation, not another item.
            if self.kind is Kind.LIST_ITEM:
                self.kind, self.level = Kind.TEXT, None

    def add(self, element: Element) -> None:
        """Keep an element, with the language of the part it stands in."""
        self.elements.append(replace(element, language=self.language))

    def block(self, node: HtmlElement, depth: int) -> None:
        """Walk the children of ``node``, its own text first."""
        if depth > MAX_DEPTH:
            self.text(" ".join(self.words(node)))
            return
        self.text(node.text)
        for child in node:
            if isinstance(child.tag, str):
                self.child(child, depth)
            self.text(child.tail)

    def child(self, node: HtmlElement, depth: int) -> None:
        """Walk one element of the page."""
        if self.seen.is_hidden(node) or self.seen.is_boilerplate(node):
            if node.tag in _BLOCKS:
                self.break_line()
            return
        tag = node.tag
        language = self.language
        if depth and (own := language_of(node)):
            self.language = own
        if tag in HEADINGS:
            self.heading(node, HEADINGS[tag])
        elif tag == "table":
            self.table(node, depth)
        elif tag in _LISTS:
            self.list(node, depth)
        elif tag == "dl":
            self.definitions(node, depth)
        elif tag == "figcaption" and is_table_caption(node):
            return
        elif tag in {"pre", "listing", "xmp"}:
            self.flush()
            self.add(Element(kind=Kind.CODE, text=preformatted(node)))
        elif tag in _BLOCKS:
            self.paragraph(node, depth)
        else:
            self.inline(node, depth)
        self.language = language

    def paragraph(self, node: HtmlElement, depth: int) -> None:
        """Walk a block that is a paragraph of its own, or a line of a list item."""
        if self.lists and self.kind is Kind.LIST_ITEM:
            self.break_line()
            self.block(node, depth + 1)
            self.break_line()
            return
        self.flush()
        kind, before = self.kind, len(self.elements)
        if is_footnotes(node):
            self.kind = Kind.NOTE
        self.block(node, depth + 1)
        self.flush()
        self.kind = kind
        if len(self.elements) == before + 1 and is_bold(node):
            self.bold.add(before)

    def heading(self, node: HtmlElement, level: int) -> None:
        """Keep a heading as one line; a table inside it follows it."""
        self.flush()
        text = one_line(self.cell_text(node))
        if text:
            self.add(Element(kind=Kind.HEADING, text=text, level=level))

    def list(self, node: HtmlElement, depth: int) -> None:
        """Walk a list; each item is an element at its depth."""
        self.flush()
        kind, level = self.kind, self.level
        in_notes = kind is Kind.NOTE or is_footnotes(node)
        self.lists.append((node.tag, first_number(node)))
        for child in node:
            if not isinstance(child.tag, str) or self.seen.is_hidden(child):
                continue
            if child.tag in _LISTS:  # a list straight inside a list, as old editors write it
                self.list(child, depth + 1)
                continue
            self.kind = Kind.NOTE if in_notes else Kind.LIST_ITEM
            self.level = len(self.lists)
            self.number(child)
            self.block(child, depth + 1)
            self.flush()
        self.lists.pop()
        self.kind, self.level = kind, level

    def number(self, item: HtmlElement) -> None:
        """Write the number of an ordered list's item, which people cite."""
        tag, number = self.lists[-1]
        if tag != "ol" or item.tag != "li":
            return
        value = item.get("value") or ""
        number = int(value) if value.isdecimal() and len(value) < 9 else number
        self.lists[-1] = (tag, number + 1)
        parent = item.getparent()
        style = parent.get("type") if parent is not None else None
        if not is_unmarked(parent):
            self.buffer.append(f"{numeral(number, style)}. ")

    def definitions(self, node: HtmlElement, depth: int) -> None:
        """Keep each term with what is said about it."""
        self.flush()
        kind, level = self.kind, self.level
        was_term = False
        for child in definition_parts(node):
            if self.seen.is_hidden(child):
                continue
            if child.tag == "dt" and not was_term:
                self.flush()
            else:
                self.break_line()
            self.kind, self.level = Kind.LIST_ITEM, len(self.lists) + 1
            self.lists.append(("dl", 1))
            self.block(child, depth + 1)
            self.lists.pop()
            was_term = child.tag == "dt"
        self.flush()
        self.kind, self.level = kind, level

    # --- inline ----------------------------------------------------------------------------------

    def text(self, text: str | None) -> None:
        """Write running text; white space counts once."""
        if text:
            self.buffer.append(_WHITE.sub(" ", text))

    def break_line(self) -> None:
        """End the line within the running paragraph."""
        is_number = len(self.buffer) <= 2 and _NUMBER.fullmatch("".join(self.buffer))
        if self.buffer and not is_number and not self.buffer[-1].endswith("\n"):
            self.buffer.append("\n")

    def inline(self, node: HtmlElement, depth: int) -> None:
        """Walk an element that stands within a line."""
        tag = node.tag
        if tag == "br":
            self.buffer.append("\n")
        elif tag == "img":
            self.text(node.get("alt"))
        elif tag == "math" and (tex := next(iter(node.iter("annotation")), None)) is not None:
            self.text(tex.text)
        elif tag == "sup":
            self.raised(node, depth)
        else:
            self.block(node, depth + 1)

    def raised(self, node: HtmlElement, depth: int) -> None:
        """Keep exponents and marks of footnotes apart from the digits before them."""
        before = "".join(self.buffer[-2:]).rstrip(" ")[-1:]
        inside = "".join(self.words(node)).strip()
        if any(True for _ in node.iter("a")) and re.fullmatch(r"[\w*†‡]{1,3}", inside):
            self.buffer.append(f"[{inside}]")
        elif before.isdigit() and re.fullmatch(r"[-−]?\d+", inside):
            self.buffer.append(f"^{inside}")
        else:
            self.block(node, depth + 1)

    def words(self, node: HtmlElement) -> Iterator[str]:
        """Yield the visible text below ``node`` without recursion."""
        hidden: set[HtmlElement] = set()
        for part in node.iter():
            parent = part.getparent()
            if parent in hidden or not isinstance(part.tag, str) or self.seen.is_hidden(part):
                hidden.add(part)
            else:
                yield part.text or ""
            if part is not node and parent not in hidden:
                yield part.tail or ""

    # --- tables ----------------------------------------------------------------------------------

    def table(self, node: HtmlElement, depth: int) -> None:
        """Keep a table of data as a grid; unfold one that only lays out the page."""
        caption = figure_caption(node)
        self.inner.clear()
        grid = read_grid(node, self.cell_text, self.seen.is_hidden)
        inner = list(self.inner)
        if not grid.has_marks and caption is None and is_layout(node, grid):
            self.unfold(node, grid, depth)
            return
        if self.lists and self.kind is Kind.LIST_ITEM and not "".join(self.buffer).strip():
            self.buffer.clear()
        self.flush()
        table = to_table(grid)
        if table is None:
            return
        if caption is not None and not grid.caption:
            words = filter(None, (normalise(self.cell_text(caption)), table.caption))
            table = replace(table, caption="\n".join(words) or None)
        self.add(Element(kind=Kind.TABLE, table=table))
        for cell, found in inner:
            name = found.caption or grid.label_beside(cell)
            self.add(Element(kind=Kind.TABLE, table=replace(found, caption=name or None)))

    def unfold(self, node: HtmlElement, grid: Grid, depth: int) -> None:
        """Walk the cells of a layout table, those of one row of short texts as one line."""
        by_row: dict[int, list[HtmlElement]] = {}
        for cell in grid.filled:
            by_row.setdefault(cell.row, []).append(cell.node)
        texts = {id(cell.node): cell.text for cell in grid.filled}
        for row in sorted(by_row):
            cells = by_row[row]
            is_line = len(cells) > 1 and all(
                len(texts[id(cell)]) < _SHORT_CELL and not has_blocks(cell) for cell in cells
            )
            if not is_line:
                for cell in cells:
                    self.paragraph(cell, depth + 1)
                continue
            self.break_line() if self.lists else self.flush()
            self.buffer.append(" ".join(one_line(texts[id(cell)]) for cell in cells))
            self.break_line() if self.lists else self.flush()

    def cell_text(self, node: HtmlElement) -> str:
        """Return the text of a cell, one line for each block, item or row inside it."""
        walk = _Cell(self.seen, lists=[], kind=Kind.LIST_ITEM)
        walk.block(node, 0)
        self.inner += [(node, table) for _, table in walk.inner]
        return normalise("".join(walk.buffer))


@dataclass(slots=True)
class _Cell(_Walk):
    """A walk inside a table cell, where every block is a line and nothing an element."""

    def flush(self) -> None:
        self.break_line()

    def add(self, element: Element) -> None:
        self.break_line()
        self.buffer.append(element.text)
        self.break_line()

    def paragraph(self, node: HtmlElement, depth: int) -> None:
        self.break_line()
        self.block(node, depth + 1)
        self.break_line()

    def table(self, node: HtmlElement, depth: int) -> None:
        """Write a table within a cell: a line for each row, a name before its value.

        A larger one is a table of its own, after the one around it.
        """
        grid = read_grid(node, self.cell_text, self.seen.is_hidden)
        is_large = grid.n_rows * grid.n_cols > LARGEST_INLINE
        if is_large and not is_layout(node, grid) and (table := to_table(grid)) is not None:
            self.inner.append((node, table))
            return
        separator = ": " if grid.n_cols == 2 and not grid.has_marks else " – "
        rows: dict[int, list[str]] = {}
        for cell in grid.filled:
            rows.setdefault(cell.row, []).append(one_line(cell.text))
        self.break_line()
        if grid.caption:
            self.buffer.append(f"{grid.caption}\n")
        for row in sorted(rows):
            self.buffer.append(separator.join(rows[row]) + "\n")
