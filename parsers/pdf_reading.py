"""What has been read of one file so far, page by page, and what becomes of it at the end."""

from __future__ import annotations

from parsers import ocr
from parsers.elements import Element, Unreadable
from parsers.pdf_blocks import Block, blocks_of
from parsers.pdf_lattice import Grid
from parsers.pdf_layout import read_flows
from parsers.pdf_page import Page
from parsers.pdf_structure import structure
from parsers.pdf_tables import RawTable, annotate, join_tables

GARBLED = 0.5  # share of characters without a known meaning


class Reading:
    """Blocks and tables of the pages added, and counts of what was wrong with them."""

    def __init__(self) -> None:
        self.blocks: list[Block] = []
        self.tables: dict[int, RawTable] = {}
        self.glyphs = self.unmapped = self.scanned = self.damaged = 0

    def add(self, page: Page, ruled: list[Grid]) -> None:
        """Take in a page and the ruled tables found on it."""
        for flow in read_flows(page, ruled):
            for block in blocks_of(flow, page.number):
                if block.grid is not None:
                    box = page.to_displayed(block.grid.box)
                    self.tables[id(block)] = RawTable.of(block.grid, page.number, box)
                    block.grid = Grid(block.grid.xs, block.grid.ys, [])
                block.box = page.to_displayed(block.box) if page.turn else block.box
                self.blocks.append(block)

    def finish(self) -> tuple[list[Element], str | None]:
        """Return the elements of all pages, and the title the first one states."""
        blocks = annotate(self.blocks, self.tables)
        blocks = join_tables(blocks, self.tables)
        return structure(blocks, self.tables)

    def failure(self) -> Unreadable:
        """Say why there are no elements."""
        if self.scanned:
            return Unreadable("scanned", ocr.INSTALL_HINT)
        if self.damaged:
            return Unreadable("damaged", "no page can be read; export the PDF again")
        return Unreadable("no_text", "the PDF has neither text nor pictures of text")

    def warnings(self) -> tuple[str, ...]:
        """Codes of what is wrong with the text that was read."""
        found = []
        if self.unmapped > GARBLED * max(self.glyphs, 1):
            found.append("garbled_text")
        if self.scanned:
            found.append("scanned_pages")
        if self.damaged:
            found.append("damaged_pages")
        return tuple(found)
