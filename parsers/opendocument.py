"""OpenDocument files (.odt, .ods, .odp) straight from content.xml."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator
from dataclasses import dataclass, field

from parsers.blocks import Block, finish
from parsers.charts import chart_text
from parsers.elements import Element, Kind, Parsed, Unreadable
from parsers.nested import inline_lines
from parsers.number_formats import general
from parsers.odf_tables import (
    OdfCell,
    first_table,
    grid_table,
    is_hidden_sheet,
    read_grid,
    stated_value,
)
from parsers.odf_text import OdfCounter, OdfStyle, OdfStyles, points, read_paragraph
from parsers.packages import Node, Package, attribute, child, children, local
from parsers.plain_headings import Line, is_typed_item
from parsers.sheets import Sheet, sheet_elements
from parsers.text import normalise
from parsers.versions import family_id

VERSION = 3
DEEPEST = 20

_GENERATED = frozenset({"table-of-content", "illustration-index", "table-index", "object-index"})
_SHAPES = frozenset({"frame", "custom-shape", "text-box", "rect", "ellipse", "g", "a"})
_ROW_STEP = 12.0  # points: frames whose tops are nearer than this read from left to right
_FURNITURE = frozenset({"page-number", "footer", "header", "date-time"})


def parser_id() -> str:
    """Return the id of this family's parser."""
    return family_id("opendocument", VERSION, "lxml")


def parse(data: bytes, *, suffix: str) -> Parsed:
    """Read a text, a spreadsheet or a presentation; which of them, the file itself says.

    Deleted and hidden text, remarks and generated indexes are left out; hidden sheets, rows,
    columns and slides too, with a warning each. Raises ``Unreadable``: encrypted, damaged,
    zip_bomb.
    """
    package = Package(data)
    _refuse_encrypted(package)
    content = package.xml("content.xml")
    roots = [content, *([package.xml("styles.xml")] if "styles.xml" in package else [])]
    reader = _Reader(package, OdfStyles.read(roots))
    body = child(content, "body")
    text, sheet, slides = (child(body, n) for n in ("text", "spreadsheet", "presentation"))
    title: str | None
    if text is not None:
        if any(local(node) == "soft-page-break" for node in text.iter()):
            reader.page = 1
        elements, title = finish(reader.blocks(text))
    elif sheet is not None:
        elements, title = tuple(reader.sheets(sheet)), None
    elif slides is not None:
        elements = tuple(reader.slides(slides))
        title = next((e.text for e in elements if e.kind is Kind.HEADING), None)
    else:
        raise Unreadable("not_supported", "neither a text, a spreadsheet nor a presentation")
    return Parsed(
        elements=elements,
        parser_id=parser_id(),
        title=title,
        page_native=slides is not None,
        warnings=tuple(reader.warnings),
    )


def _refuse_encrypted(package: Package) -> None:
    if "META-INF/manifest.xml" in package:
        manifest = package.xml("META-INF/manifest.xml")
        if any(local(node) == "encryption-data" for node in manifest.iter()):
            raise Unreadable("encrypted", "remove the password and save the file again")


@dataclass(slots=True)
class _Reader:
    package: Package
    styles: OdfStyles
    page: int | None = None
    warnings: list[str] = field(default_factory=list)
    _outline: OdfCounter | None = None
    _lists: dict[str, OdfCounter] = field(default_factory=dict)

    # --- texts -----------------------------------------------------------------------------------

    def blocks(self, container: Node, depth: int = 0, items: int = 0) -> Iterator[Block]:
        """Yield the blocks of a text, a section, a box or a cell; ``items`` is the list depth."""
        if depth > DEEPEST:
            return
        for node in children(container):
            name = local(node)
            if name in ("p", "h"):
                yield from self._paragraph(node, depth, items, "")
            elif name == "list":
                yield from self._list(node, depth, 1, None)
            elif name == "table":
                yield from self._table(node, depth)
            elif name == "soft-page-break":
                self._turn(1)
            elif name == "section" and attribute(node, "display") in ("none", "condition"):
                continue
            elif name in _SHAPES or name in ("section", "numbered-paragraph", "index-body"):
                yield from self.blocks(node, depth + 1, items)

    def _paragraph(self, node: Node, depth: int, items: int, label: str) -> Iterator[Block]:
        style = self.styles.get("paragraph", attribute(node, "style-name"))
        paragraph = read_paragraph(node, self.styles)
        start = self.page
        self._turn(paragraph.breaks)
        text = normalise(paragraph.text)
        level = self._level(node, style)
        if text:
            if level and not label:
                label = self._outline_label(level)
            shown = f"{label} {text}" if label and not text.startswith(label) else text
            is_item = level is None and (items > 0 or is_typed_item(text))
            element = Element(
                kind=Kind.LIST_ITEM if is_item else Kind.TEXT,
                text=shown,
                level=max(1, items) if is_item else None,
                page_start=start,
                page_end=self.page,
            )
            line = Line(
                text=shown,
                bold=paragraph.bold,
                centred=style.centred,
                size=style.size,
                is_item=is_item,
            )
            names = {name.casefold() for name in style.names}
            yield Block(element, line, level, bool(names & {"caption", "table", "illustration"}))
        for box in paragraph.boxes:
            if local(box) == "table":
                yield from self._table(box, depth + 1)
            else:
                yield from self.blocks(box, depth + 1)
        for note in paragraph.notes:
            note_text = normalise("\n".join(self._lines(note)))
            if note_text:
                yield Block(
                    Element(
                        kind=Kind.NOTE, text=note_text, page_start=self.page, page_end=self.page
                    )
                )

    def _level(self, node: Node, style: OdfStyle) -> int | None:
        names = [name.casefold() for name in style.names]
        if any(name in ("title", "tiêu đề") for name in names):
            return 0
        if local(node) == "h":
            stated = attribute(node, "outline-level")
            return int(stated) if stated and stated.isdecimal() else 1
        return None

    def _outline_label(self, level: int) -> str:
        if self._outline is None:
            self._outline = OdfCounter(self.styles.outline)
        return self._outline.label(level)

    def _turn(self, breaks: int) -> None:
        if self.page is not None:
            self.page += breaks

    def _list(
        self, node: Node, depth: int, level: int, counter: OdfCounter | None
    ) -> Iterator[Block]:
        name = attribute(node, "style-name")
        if counter is None or name:
            known = self._lists.get(name or "")
            goes_on = attribute(node, "continue-numbering") == "true" or attribute(
                node, "continue-list"
            )
            if known is None or not goes_on:
                known = OdfCounter(self.styles.lists.get(name or "", {}))
            counter = self._lists[name or ""] = known
        for item in children(node, "list-item", "list-header"):
            label: str | None = None
            for part in children(item):
                if local(part) == "list":
                    yield from self._list(part, depth + 1, level + 1, counter)
                elif local(part) in ("p", "h"):
                    is_first = label is None and local(item) == "list-item"
                    if is_first:
                        label = counter.label(level, attribute(item, "start-value"))
                    yield from self._paragraph(part, depth, level, label or "" if is_first else "")
                else:
                    yield from self.blocks(part, depth + 1, level)

    def _table(self, node: Node, depth: int) -> Iterator[Block]:
        if depth > DEEPEST:
            return
        inner: list[Block] = []
        notes: list[Node] = []
        start = self.page
        grid = read_grid(node, lambda cell: self._cell(cell, inner, notes, depth))
        only = grid.cells.get((0, 0)) if len(grid.cells) == 1 else None
        if only is not None and not inner:
            element = Element(kind=Kind.TEXT, text=only.text, page_start=start, page_end=self.page)
            yield Block(element, Line(text=only.text, bold=only.bold))
        elif (table := grid_table(grid)) is not None:
            yield Block(Element(kind=Kind.TABLE, table=table, page_start=start, page_end=self.page))
        yield from inner
        for note in notes:
            text = normalise("\n".join(self._lines(note)))
            if text:
                yield Block(Element(kind=Kind.NOTE, text=text))

    def _cell(self, cell: Node, inner: list[Block], notes: list[Node], depth: int) -> OdfCell:
        bold: list[bool] = []
        lines = list(self._lines(cell, inner, notes, bold, depth))
        return OdfCell(normalise("\n".join(lines)), bool(bold) and all(bold))

    def _lines(
        self,
        node: Node,
        inner: list[Block] | None = None,
        notes: list[Node] | None = None,
        bold: list[bool] | None = None,
        depth: int = DEEPEST,
    ) -> Iterator[str]:
        """Yield the paragraphs within a cell or note; tables and notes go to the lists."""
        for item in children(node):
            name = local(item)
            if name in ("p", "h"):
                paragraph = read_paragraph(item, self.styles)
                if paragraph.text.strip():
                    yield paragraph.text
                    if bold is not None:
                        bold.append(paragraph.bold)
                if notes is not None:
                    notes.extend(paragraph.notes)
                for box in paragraph.boxes:
                    if local(box) == "table":
                        yield from self._nested(box, inner, depth)
                    else:
                        yield from self._lines(box, inner, notes, bold, depth)
            elif name == "table":
                yield from self._nested(item, inner, depth)
            elif name in _SHAPES or name in ("list", "list-item", "list-header", "section"):
                yield from self._lines(item, inner, notes, bold, depth)

    def _nested(self, node: Node, inner: list[Block] | None, depth: int) -> Iterator[str]:
        """Read a table in a cell: a small one as lines of the cell, another after the table."""
        for block in self._table(node, depth + 1):
            table = block.element.table
            lines = [block.element.text] if table is None else inline_lines(table)
            if lines is not None and block.element.kind is not Kind.NOTE:
                yield from lines
            elif inner is not None:
                inner.append(block)

    # --- spreadsheets ----------------------------------------------------------------------------

    def sheets(self, body: Node) -> list[Element]:
        """Return the elements of every displayed sheet."""
        found: list[Sheet] = []
        for node in children(body, "table"):
            style = self.styles.get("table", attribute(node, "style-name"))
            if is_hidden_sheet(style.properties):
                self._warn("hidden_sheets_left_out")
                continue
            grid = read_grid(node, self._sheet_cell)
            rows, cols = {r for r, _ in grid.cells}, {c for _, c in grid.cells}
            if grid.hidden_rows & rows:
                self._warn("hidden_rows_left_out")
            if grid.hidden_cols & cols:
                self._warn("hidden_columns_left_out")
            found.append(
                Sheet(
                    name=attribute(node, "name") or "",
                    cells={at: cell.text for at, cell in grid.cells.items()},
                    merges=grid.merges,
                    bold=frozenset(at for at, cell in grid.cells.items() if cell.bold),
                    hidden_rows=grid.hidden_rows,
                    hidden_cols=grid.hidden_cols,
                )
            )
        return sheet_elements(found)

    def _sheet_cell(self, cell: Node) -> OdfCell:
        style = self.styles.get("table-cell", attribute(cell, "style-name"))
        text = normalise("\n".join(self._lines(cell)))
        if not text and (value := stated_value(cell)):
            number = attribute(cell, "value-type") in ("float", "percentage", "currency")
            text = general(float(value)) if number else value
        return OdfCell(text, style.bold)

    def _warn(self, code: str) -> None:
        if code not in self.warnings:
            self.warnings.append(code)

    # --- presentations ---------------------------------------------------------------------------

    def slides(self, body: Node) -> Iterator[Element]:
        """Yield the elements of every slide that is shown; its number is the page."""
        for page, slide in enumerate(children(body, "page"), start=1):
            style = self.styles.get("drawing-page", attribute(slide, "style-name"))
            if any(attribute(n, "visibility") == "hidden" for n in style.properties):
                self._warn("hidden_slides_left_out")
                continue
            self.page = page
            frames = _in_reading_order([n for n in children(slide) if local(n) in _SHAPES])
            titles = [n for n in frames if attribute(n, "class") == "title"]
            for node in titles:
                text = " ".join(normalise("\n".join(self._lines(node))).split())
                if text:
                    yield self._placed(Element(kind=Kind.HEADING, text=text, level=1))
            for node in frames:
                if node not in titles and attribute(node, "class") not in _FURNITURE:
                    yield from self._frame(node)
            notes = child(slide, "notes")
            for node in children(notes) if notes is not None else ():
                if attribute(node, "class") == "notes":
                    text = normalise("\n".join(self._lines(node)))
                    if text:
                        yield self._placed(Element(kind=Kind.NOTE, text=text))

    def _frame(self, node: Node) -> Iterator[Element]:
        link = attribute(child(node, "object"), "href")
        if link is not None:
            yield from self._chart(link)
            return
        has_table = any(local(n) == "table" for n in children(node))
        for block in self.blocks(node):
            # Beside a table a frame holds only the picture that stands in for it.
            if block.element.table is not None or not has_table:
                yield block.element

    def _chart(self, link: str) -> Iterator[Element]:
        part = posixpath.normpath(posixpath.join(link, "content.xml"))
        if part not in self.package:
            return
        content = self.package.xml(part)
        node = first_table(content)
        if node is None:
            return
        title = next((n for n in content.iter() if local(n) == "title"), None)
        shown = normalise("\n".join(self._lines(title))) if title is not None else ""
        grid = read_grid(node, lambda cell: self._cell(cell, [], [], DEEPEST))
        # The table that goes with a chart has the categories in its first column and the names
        # of the series in its first row (OpenDocument 1.3, part 3, 11.3).
        labels = {r: cell.text for (r, c), cell in grid.cells.items() if r > 0 and c == 0}
        series = [
            (
                grid.cells[0, col].text if (0, col) in grid.cells else "",
                {r: cell.text for (r, c), cell in grid.cells.items() if r > 0 and c == col},
            )
            for col in sorted({c for _, c in grid.cells} - {0})
        ]
        if text := chart_text(" ".join(shown.split()), labels, series):
            yield self._placed(Element(kind=Kind.TEXT, text=text))

    def _placed(self, element: Element) -> Element:
        return Element(
            kind=element.kind,
            text=element.text,
            level=element.level,
            table=element.table,
            page_start=self.page,
            page_end=self.page,
        )


def _in_reading_order(frames: list[Node]) -> list[Node]:
    tops = {id(n): points(attribute(n, "y")) or 0.0 for n in frames}
    ordered = sorted(frames, key=lambda n: tops[id(n)])
    rows: list[list[Node]] = []
    for node in ordered:
        if rows and tops[id(node)] - tops[id(rows[-1][0])] < _ROW_STEP:
            rows[-1].append(node)
        else:
            rows.append([node])
    return [n for row in rows for n in sorted(row, key=lambda n: points(attribute(n, "x")) or 0.0)]
