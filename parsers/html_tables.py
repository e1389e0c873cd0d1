"""HTML tables to grids: spans, header cells, captions, spacer rows and columns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from lxml.html import HtmlElement

from parsers.elements import Table
from parsers.grids import table_from_rows

MAX_COL_SPAN = 1000  # as browsers cut it (HTML Living Standard, "Tables", colspan)
MAX_CELLS = 2_000_000
_PAGE_COLUMN = 1000  # characters

_SECTIONS = ("thead", "tbody", "tfoot")
_BOLD = frozenset({"b", "strong"})


@dataclass(slots=True)
class GridCell:
    """A cell while the grid is being made; ``node`` is its td or th."""

    node: HtmlElement
    text: str
    row: int
    col: int
    row_span: int
    col_span: int
    is_head: bool
    is_bold: bool


@dataclass(slots=True)
class Grid:
    """The cells of a table, placed, with the count of rows in its thead."""

    cells: list[GridCell]
    n_rows: int
    n_cols: int
    thead_rows: int
    caption: str

    @property
    def filled(self) -> list[GridCell]:
        """Cells that hold text."""
        return [cell for cell in self.cells if cell.text]

    def label_beside(self, node: HtmlElement) -> str:
        """The first cell's text in the row of the cell that ``node`` is; empty for that one."""
        row = next((cell.row for cell in self.cells if cell.node is node), -1)
        label = next(
            (cell for cell in self.filled if cell.row <= row < cell.row + cell.row_span), None
        )
        return "" if label is None or label.node is node else label.text

    @property
    def has_marks(self) -> bool:
        """Whether the table says that it is one: header cells or a caption."""
        return bool(self.caption) or self.thead_rows > 0 or any(c.is_head for c in self.filled)


def own_rows(
    table: HtmlElement, is_hidden: Callable[[HtmlElement], bool]
) -> Iterator[tuple[str, list[HtmlElement]]]:
    """Yield (section, rows) of a table without those of tables inside it, thead first."""
    groups: list[tuple[str, list[HtmlElement]]] = []
    for child in table:
        if not isinstance(child.tag, str) or is_hidden(child):
            continue
        if child.tag in _SECTIONS:
            rows = [row for row in child if row.tag == "tr" and not is_hidden(row)]
            groups.append((child.tag, rows))
        elif child.tag == "tr":
            if not groups or groups[-1][0] != "":
                groups.append(("", []))
            groups[-1][1].append(child)
    order = {"thead": 0, "": 1, "tbody": 1, "tfoot": 2}
    yield from sorted(groups, key=lambda group: order[group[0]])


def read_grid(
    table: HtmlElement,
    cell_text: Callable[[HtmlElement], str],
    is_hidden: Callable[[HtmlElement], bool],
) -> Grid:
    """Place a table's cells on a grid; spacer rows and columns are gone, spans are cut to it."""
    cells: list[GridCell] = []
    taken: set[tuple[int, int]] = set()
    n_rows = thead_rows = 0
    for section, rows in own_rows(table, is_hidden):
        for offset, tr in enumerate(rows):
            _place_row(tr, n_rows, len(rows) - offset, cells, taken, cell_text, is_hidden)
            n_rows += 1
            if len(taken) > MAX_CELLS:
                raise MemoryError
        if section == "thead":
            thead_rows += len(rows)
    captions = [
        cell_text(child) for child in table if child.tag == "caption" and not is_hidden(child)
    ]
    n_cols = max((cell.col + cell.col_span for cell in cells), default=0)
    grid = Grid(cells, n_rows, n_cols, thead_rows, "\n".join(filter(None, captions)))
    _drop_spacer_rows(grid)
    _drop_spacer_columns(grid)
    return grid


def is_layout(node: HtmlElement, grid: Grid) -> bool:
    """Whether a table without marks is a frame around other things, not data."""
    if (node.get("role") or "").lower() in {"presentation", "none"}:
        return True
    if grid.n_rows < 2 or grid.n_cols < 2:
        return True
    inner = [cell for cell in grid.filled if any(True for _ in cell.node.iter("table"))]
    if not inner:
        # Cells of several paragraphs each are columns of a page.
        long = [cell for cell in grid.filled if len(cell.text) > _PAGE_COLUMN]
        return len(long) * 2 > len(grid.filled)
    is_marked = any(True for cell in inner for _ in cell.node.iter("th", "caption", "thead"))
    first = [cell for cell in grid.filled if cell.row == 0]
    has_head = len(first) > 1 and all(cell.is_bold and cell not in inner for cell in first)
    total = sum(len(cell.text) for cell in grid.filled)
    within = sum(len(cell.text) for cell in inner)
    return not has_head and (is_marked or within * 2 > total)


def to_table(grid: Grid) -> Table | None:
    """Turn a placed grid into a table, its headers marked or inferred."""
    rows = [[""] * grid.n_cols for _ in range(grid.n_rows)]
    for cell in grid.cells:
        rows[cell.row][cell.col] = cell.text
    merges = [
        (cell.row, cell.col, cell.row_span, cell.col_span)
        for cell in grid.cells
        if cell.row_span > 1 or cell.col_span > 1
    ]
    header_rows = _marked_rows(grid)
    header_cols = _marked_cols(grid, header_rows or 0)
    bold = _bold_rows(grid)
    caption = grid.caption
    if header_rows and header_rows > 1 and (title := _title_row(grid)):
        caption = "\n".join(filter(None, (caption, title)))
        merges = [(r - 1, c, rs, cs) for r, c, rs, cs in merges if r > 0]
        bold = {row - 1 for row in bold}
        rows, header_rows = rows[1:], header_rows - 1
    return table_from_rows(
        rows,
        merges=merges,
        bold_rows=bold,
        header_rows=header_rows,
        header_cols=header_cols or None,
        caption=caption or None,
    )


def _place_row(
    tr: HtmlElement,
    row: int,
    rows_left: int,
    cells: list[GridCell],
    taken: set[tuple[int, int]],
    cell_text: Callable[[HtmlElement], str],
    is_hidden: Callable[[HtmlElement], bool],
) -> None:
    col = 0
    for node in tr:
        if node.tag not in {"td", "th"} or is_hidden(node):
            continue
        while (row, col) in taken:
            col += 1
        row_span = _span(node.get("rowspan"), rows_left, zero=rows_left)
        col_span = _span(node.get("colspan"), MAX_COL_SPAN, zero=1)
        # Where a later span would run into an earlier one it ends before it.
        col_span = next((n for n in range(1, col_span) if (row, col + n) in taken), col_span)
        for r in range(row, row + row_span):
            taken.update((r, c) for c in range(col, col + col_span))
        cells.append(
            GridCell(
                node=node,
                text=cell_text(node),
                row=row,
                col=col,
                row_span=row_span,
                col_span=col_span,
                is_head=node.tag == "th" or node.get("role") in {"columnheader", "rowheader"},
                is_bold=is_bold(node),
            )
        )
        col += col_span


def _span(value: str | None, limit: int, *, zero: int) -> int:
    digits = (value or "").strip()
    if not digits.isdecimal():
        return 1
    number = int(digits[:9])
    return zero if number == 0 else min(number, limit)


def _drop_spacer_rows(grid: Grid) -> None:
    """Remove rows in which no cell with text lives alone, shortening the spans over them."""
    needed = {cell.row for cell in grid.filled if cell.row_span == 1}
    spans = [(cell.row, cell.row_span) for cell in grid.filled if cell.row_span > 1]
    for start, length in spans:
        if not any(row in needed for row in range(start, start + length)):
            needed.add(start)
    gone = [row for row in range(grid.n_rows) if row not in needed]
    if not gone:
        return
    position = _positions(grid.n_rows, gone)
    for cell in grid.cells:
        end = position[cell.row + cell.row_span]
        cell.row = position[cell.row]
        cell.row_span = end - cell.row
    grid.cells = [cell for cell in grid.cells if cell.row_span > 0]
    grid.thead_rows = position[grid.thead_rows]
    grid.n_rows -= len(gone)


def _drop_spacer_columns(grid: Grid) -> None:
    """Remove columns in which no cell with text lives alone, shortening the spans over them."""
    needed = {cell.col for cell in grid.filled if cell.col_span == 1}
    spans = sorted((cell.col_span, cell.col) for cell in grid.filled if cell.col_span > 1)
    for length, start in spans:
        if not any(col in needed for col in range(start, start + length)):
            needed.add(start)
    gone = [col for col in range(grid.n_cols) if col not in needed]
    if not gone:
        return
    position = _positions(grid.n_cols, gone)
    for cell in grid.cells:
        end = position[cell.col + cell.col_span]
        cell.col = position[cell.col]
        cell.col_span = end - cell.col
    grid.cells = [cell for cell in grid.cells if cell.col_span > 0]
    grid.n_cols -= len(gone)


def _positions(size: int, gone: Sequence[int]) -> list[int]:
    """New position of each old one; a removed one takes the place of the next that stays."""
    missing = set(gone)
    position, new = [], 0
    for old in range(size):
        position.append(new)
        new += old not in missing
    return [*position, new]


def _marked_rows(grid: Grid) -> int | None:
    """Header rows as the table marks them; None where it does not."""
    lead = _leading_head_rows(grid)
    if 0 < grid.thead_rows < grid.n_rows:
        # Rows of th may go on below a thead that holds only the first of them.
        return max(grid.thead_rows, lead) if lead < grid.n_rows else grid.thead_rows
    return lead if 0 < lead < grid.n_rows else None


def _leading_head_rows(grid: Grid) -> int:
    has_data = {
        row
        for cell in grid.filled
        if not cell.is_head
        for row in range(cell.row, cell.row + cell.row_span)
    }
    has_head = {
        row
        for cell in grid.filled
        if cell.is_head
        for row in range(cell.row, cell.row + cell.row_span)
    }
    # An empty td in the corner does not make a row of th a body row.
    count = named = 0
    while count < grid.n_rows and count in has_head and count not in has_data:
        heads = [cell for cell in grid.filled if cell.row == count]
        if named and len(heads) == 1 and heads[0].col_span >= grid.n_cols:
            break  # below the columns' names one cell over all of them is a section's title
        named += len(heads) > 1
        count += 1
    return count


def _marked_cols(grid: Grid, header_rows: int) -> int:
    body: Counter[int] = Counter()
    heads: Counter[int] = Counter()
    for cell in grid.filled:
        if cell.row >= header_rows:
            body[cell.col] += 1
            heads[cell.col] += cell.is_head
    count = 0
    while count < grid.n_cols - 1 and 0 < body[count] * 8 <= heads[count] * 10:
        count += 1
    return count


def _title_row(grid: Grid) -> str | None:
    """The text of a first header row that is one cell over all columns."""
    first = [cell for cell in grid.filled if cell.row == 0]
    is_title = len(first) == 1 and first[0].col_span == grid.n_cols > 1 and first[0].row_span == 1
    return first[0].text if is_title else None


def is_bold(node: HtmlElement) -> bool:
    """Whether all text of a cell stands in bold."""
    if "bold" in (node.get("style") or ""):
        return True
    return _all_bold(node)


def _all_bold(node: HtmlElement) -> bool:
    if (node.text or "").strip():
        return False
    found = False
    for child in node:
        if not isinstance(child.tag, str):
            if (child.tail or "").strip():
                return False
            continue
        has_words = any(text.strip() for text in child.itertext())
        is_bold = child.tag in _BOLD or "font-weight:bold" in (child.get("style") or "").replace(
            " ", ""
        )
        if (child.tail or "").strip() or (has_words and not is_bold and not _all_bold(child)):
            return False
        found = found or has_words
    return found


def _bold_rows(grid: Grid) -> set[int]:
    plain = {cell.row for cell in grid.filled if not (cell.is_bold or cell.is_head)}
    return {cell.row for cell in grid.filled} - plain
