"""What an example document is made of: blocks, grids, and what is stated about it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from typing import Any

TODAY = date(2026, 11, 30)  # the day on which the stories are told

LEFT, UP = "<", "^"  # a position covered by the cell at its left, or by the cell above


@dataclass(frozen=True, slots=True)
class H:
    """A heading; level 1 is the document's title."""

    level: int
    text: str


@dataclass(frozen=True, slots=True)
class P:
    """A paragraph."""

    text: str


@dataclass(frozen=True, slots=True)
class L:
    """A list."""

    items: tuple[str, ...]
    ordered: bool = False


@dataclass(frozen=True, slots=True)
class C:
    """A block of code."""

    text: str


@dataclass(frozen=True, slots=True)
class T:
    """A table: rows of equal length, the first ``header_rows`` of which name the columns.

    Column ``label_col`` names the rows. ``LEFT`` and ``UP`` mark positions that a merged cell
    covers. ``sheet`` is the sheet's name in a workbook.
    """

    rows: tuple[tuple[str, ...], ...]
    caption: str = ""
    header_rows: int = 1
    sheet: str = ""
    label_col: int = 0

    def cell(self, row: int, col: int) -> str:
        """Text at a position, after merged cells are expanded."""
        text = self.rows[row][col]
        if text == LEFT:
            return self.cell(row, col - 1)
        return self.cell(row - 1, col) if text == UP else text

    def span(self, row: int, col: int) -> tuple[int, int]:
        """Rows and columns that the cell at its top-left position covers."""
        width = 1
        while col + width < len(self.rows[row]) and self.rows[row][col + width] == LEFT:
            width += 1
        height = 1
        while row + height < len(self.rows) and self.rows[row + height][col] == UP:
            height += 1
        return height, width

    def headers(self, col: int) -> tuple[str, ...]:
        """All column headers above ``col``, outermost first, each once."""
        return tuple(dict.fromkeys(self.cell(row, col) for row in range(self.header_rows)))


Block = H | P | L | C | T


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """One example file.

    ``uri`` is the path below the tenant's folder. ``via`` names the way ``stated`` is stated:
    "front" (front matter), "sidecar", "manifest", or "" when only the folder speaks for it.
    """

    tenant: str
    uri: str
    blocks: tuple[Block, ...]
    via: str = ""
    stated: Mapping[str, Any] = field(default_factory=dict)
    mail: Mapping[str, str] = field(default_factory=dict)  # headers of an .eml file

    @property
    def suffix(self) -> str:
        """The file's extension without its dot."""
        return self.uri.rsplit(".", 1)[-1]

    @property
    def folder(self) -> str:
        """The folder below the tenant's, or an empty string."""
        return self.uri.rpartition("/")[0]

    @property
    def heading(self) -> str:
        """The title that the document itself bears, for a list that people read."""
        return next((b.text for b in self.blocks if isinstance(b, H)), self.uri)

    @property
    def tables(self) -> tuple[T, ...]:
        """The document's tables in order."""
        return tuple(block for block in self.blocks if isinstance(block, T))

    @property
    def texts(self) -> tuple[str, ...]:
        """The words outside tables, one entry a heading, paragraph, list item or code block."""
        parts: list[str] = []
        for block in self.blocks:
            if isinstance(block, L):
                parts.extend(block.items)
            elif not isinstance(block, T):
                parts.append(block.text)
        return tuple(parts)
