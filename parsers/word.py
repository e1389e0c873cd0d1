"""Word documents (.docx): the body in reading order, as it looks with all changes accepted."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from parsers.blocks import Block, finish
from parsers.charts import chart_texts, diagram_texts
from parsers.elements import Element, Kind, Parsed, Unreadable
from parsers.nested import inline_lines
from parsers.packages import Node, Package, attribute, child, children, local
from parsers.plain_headings import Line, is_motto, is_typed_item
from parsers.text import normalise
from parsers.versions import family_id
from parsers.word_runs import Paragraph, RunReader
from parsers.word_styles import BULLET, Numbering, Style, read_styles
from parsers.word_tables import CellText, read_table, rows_of

VERSION = 2
DEEPEST = 20  # tables and boxes nested deeper than this are dropped

_CONTENTS = re.compile(r"(?:toc|mục lục|table of figures)\s*\d*|toc heading", re.IGNORECASE)
_DRAWN = {"chart": chart_texts, "diagramData": diagram_texts}
# Wrappers around blocks that change nothing about them.
_WRAPPERS = frozenset({"sdt", "sdtContent", "ins", "moveTo", "customXml", "smartTag"})


def parser_id() -> str:
    """Return the id of this family's parser."""
    return family_id("word", VERSION, "lxml")


def parse(data: bytes, *, suffix: str) -> Parsed:
    """Read a .docx: headings, paragraphs, list items, tables, notes; headers and footers apart.

    Insertions are in, deletions and hidden text out; comments and tables of contents are left
    out. Pages are known only where the file stores page breaks. Raises ``Unreadable`` with
    "encrypted", "damaged" or "zip_bomb".
    """
    package = Package(data)
    reader = _Reader.open(package)
    elements, title = finish(reader.blocks(reader.body))
    return Parsed(elements=elements, parser_id=parser_id(), title=title)


@dataclass(slots=True)
class _Reader:
    """Walks a document's blocks, counting list numbers and pages as it goes."""

    body: Node
    styles: dict[str, Style]
    numbering: Numbering
    runs: RunReader
    notes: dict[tuple[str, str], Node]
    page: int | None
    drawings: dict[str, list[str]]  # words of charts and diagrams by relation
    _default: str = ""
    _seen_notes: set[tuple[str, str]] = field(default_factory=set)

    @classmethod
    def open(cls, package: Package) -> _Reader:
        main = next(
            (target for kind, target in package.relations("").values() if kind == "officeDocument"),
            "word/document.xml",
        )
        body = child(package.xml(main), "body")
        if body is None:
            raise Unreadable("damaged", "the document has no body")
        parts = {kind: name for kind, name in package.relations(main).values() if name in package}
        style_root = package.xml(parts["styles"]) if "styles" in parts else None
        styles = read_styles(style_root)
        numbering = Numbering.read(
            package.xml(parts["numbering"]) if "numbering" in parts else None
        )
        notes = {
            (kind, attribute(node, "id") or ""): node
            for kind in ("footnote", "endnote")
            if kind + "s" in parts
            for node in children(package.xml(parts[kind + "s"]), kind)
            if attribute(node, "type") in (None, "normal")
        }
        names = {local(node) for node in body.iter() if local(node) != "br"}
        breaks = any(local(n) == "br" and attribute(n, "type") == "page" for n in body.iter())
        rendered = "lastRenderedPageBreak" in names
        default = next(
            (
                attribute(node, "styleId") or ""
                for node in (children(style_root, "style") if style_root is not None else ())
                if attribute(node, "default") in ("1", "true")
                and attribute(node, "type") == "paragraph"
            ),
            "",
        )
        runs = RunReader(styles, rendered)
        page = 1 if rendered or breaks else None
        drawings = {
            key: list(_DRAWN[kind](package.xml(name)))
            for key, (kind, name) in package.relations(main).items()
            if kind in _DRAWN and name in package
        }
        return cls(body, styles, numbering, runs, notes, page, drawings, default)

    def blocks(self, container: Node, depth: int = 0) -> Iterator[Block]:
        """Yield the blocks of a body, a text box or a box drawn as a table of one cell."""
        if depth > DEEPEST:
            return
        for node in children(container):
            name = local(node)
            if name == "p":
                yield from self._paragraph(node, depth)
            elif name == "tbl":
                yield from self._table(node, depth)
            elif name in _WRAPPERS:
                yield from self.blocks(node, depth)

    def _paragraph(self, node: Node, depth: int) -> Iterator[Block]:
        style = self._style(node)
        paragraph = self.runs.read(node)
        start = self._turn(paragraph.breaks_before)
        end = self._turn(paragraph.breaks_after)
        text = normalise(paragraph.text)
        if _CONTENTS.fullmatch(style.name.strip()):
            text = ""
        if text:
            yield self._block(node, style, paragraph, text, (start, end))
        for box in paragraph.boxes:
            yield from self.blocks(box, depth + 1)
        for table in paragraph.tables:
            yield from self._table(table, depth + 1)
        for words in self._drawn(paragraph):
            element = Element(kind=Kind.TEXT, text=words, page_start=end, page_end=end)
            yield Block(element)
        yield from self._notes(paragraph.notes)

    def _drawn(self, paragraph: Paragraph) -> Iterator[str]:
        for key in paragraph.drawn:
            yield from self.drawings.get(key, ())

    def _block(
        self,
        node: Node,
        style: Style,
        paragraph: Paragraph,
        text: str,
        pages: tuple[int | None, int | None],
    ) -> Block:
        properties = child(node, "pPr")
        label, depth = self._label(properties, style)
        if label and label != BULLET and not text.startswith(label):
            text = f"{label} {text}"
        outline = attribute(child(properties, "outlineLvl"), "val")
        level = style.level
        if outline is not None and outline.isdecimal():
            level = int(outline) + 1 if int(outline) < 9 else None
        is_item = level is None and (bool(label) or is_typed_item(text))
        element = Element(
            kind=Kind.LIST_ITEM if is_item else Kind.TEXT,
            text=text,
            level=depth + 1 if is_item else None,
            page_start=pages[0],
            page_end=pages[1],
        )
        line = Line(
            text=text,
            bold=paragraph.bold,
            centred=attribute(child(properties, "jc"), "val") == "center",
            size=paragraph.size,
            is_item=is_item,
        )
        is_caption = style.name.strip().casefold() in ("caption", "chú thích", "table caption")
        return Block(element, line, level, is_caption)

    def _label(self, properties: Node | None, style: Style) -> tuple[str | None, int]:
        own = child(properties, "numPr")
        num_id = attribute(child(own, "numId"), "val") or style.num_id
        stated = attribute(child(own, "ilvl"), "val")
        level = int(stated) if stated and stated.isdecimal() else style.num_level
        if stated is None and style.level and style.num_id:
            level = max(style.num_level, style.level - 1)
        return (self.numbering.label(num_id, level) if num_id else None), level

    def _style(self, node: Node) -> Style:
        style_id = attribute(child(node, "pPr", "pStyle"), "val") or self._default
        return self.styles.get(style_id, Style(name=style_id))

    def _turn(self, breaks: int) -> int | None:
        if self.page is not None:
            self.page += breaks
        return self.page

    def _table(self, node: Node, depth: int) -> Iterator[Block]:
        if depth > DEEPEST:
            return
        cells = list(_cells(node))
        if len(cells) == 1 or _is_letterhead(cells) or _is_line(node):
            # One row names no columns: its cells stand beside each other for the eye alone.
            for tc in cells:
                yield from self.blocks(tc, depth + 1)
            return
        start = self.page
        inner: list[Block] = []
        noted: list[tuple[str, str]] = []

        def read_cell(tc: Node) -> CellText:
            lines: list[str] = []
            bold: list[bool] = []
            self._cell_lines(tc, lines, bold, inner, noted, depth)
            return CellText("\n".join(lines), bool(bold) and all(bold))

        table = read_table(node, read_cell)
        if table is not None:
            element = Element(kind=Kind.TABLE, table=table, page_start=start, page_end=self.page)
            yield Block(element)
        yield from inner
        yield from self._notes(noted)

    def _cell_lines(
        self,
        node: Node,
        lines: list[str],
        bold: list[bool],
        inner: list[Block],
        noted: list[tuple[str, str]],
        depth: int,
    ) -> None:
        for item in children(node):
            name = local(item)
            if name == "tbl":
                self._nested(item, lines, inner, depth)
            elif name in _WRAPPERS:
                self._cell_lines(item, lines, bold, inner, noted, depth)
            elif name == "p":
                paragraph = self.runs.read(item)
                self._turn(paragraph.breaks_before + paragraph.breaks_after)
                text = normalise(paragraph.text)
                if text:
                    label, _ = self._label(child(item, "pPr"), self._style(item))
                    lines.append(f"{label} {text}" if label and label != BULLET else text)
                    bold.append(paragraph.bold)
                for table in paragraph.tables:
                    self._nested(table, lines, inner, depth)
                lines.extend(self._drawn(paragraph))
                noted.extend(paragraph.notes)
                for box in paragraph.boxes:
                    self._cell_lines(box, lines, bold, inner, noted, depth)

    def _nested(self, node: Node, lines: list[str], inner: list[Block], depth: int) -> None:
        """Read a table in a cell: a small one into the cell's lines, another after the table."""
        blocks = list(self._table(node, depth + 1))
        for block in blocks:
            table = block.element.table
            texts = [block.element.text] if table is None else inline_lines(table)
            if texts is None or block.element.kind is Kind.NOTE:
                inner.append(block)
            else:
                lines.extend(texts)

    def _notes(self, references: Sequence[tuple[str, str]]) -> Iterator[Block]:
        for reference in references:
            note = self.notes.get(reference)
            if note is None or reference in self._seen_notes:
                continue
            self._seen_notes.add(reference)
            lines: list[str] = []
            self._cell_lines(note, lines, [], [], [], DEEPEST)
            if lines:
                element = Element(
                    kind=Kind.NOTE, text="\n".join(lines), page_start=self.page, page_end=self.page
                )
                yield Block(element)


def _is_letterhead(cells: list[Node]) -> bool:
    """Whether a table only sets the sender beside the national motto, as official letters do."""
    if not 2 <= len(cells) <= 6:
        return False
    words = ["".join(n.text or "" for n in tc.iter() if local(n) == "t") for tc in cells[:2]]
    return any(is_motto(normalise(text)) for text in words)


def _is_line(tbl: Node) -> bool:
    """Whether a table has words in one row alone, in cells of several paragraphs: no table."""
    rows = [row for row in rows_of(tbl) if _has_words(row)]
    return len(rows) == 1 and any(
        sum(_has_words(p) for p in children(tc, "p")) > 1 for tc in _cells(rows[0])
    )


def _has_words(node: Node) -> bool:
    return any((n.text or "").strip() for n in node.iter() if local(n) == "t")


def _cells(tbl: Node) -> Iterator[Node]:
    for item in children(tbl):
        if local(item) == "tc":
            yield item
        elif local(item) in _WRAPPERS or local(item) == "tr":
            yield from _cells(item)
