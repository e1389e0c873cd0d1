"""Tables built from rows of texts: outer blanks, titles and remarks taken off, headers found."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from parsers.cell_types import is_note_line, is_ordinal, is_unit_line
from parsers.elements import Cell, Table
from parsers.headers import SHORT_HEADER, Headers, headers_of, is_section, is_title
from parsers.spans import Merge, SpanGrid
from parsers.text import normalise

__all__ = ["Headers", "Merge", "infer_headers", "table_from_rows"]


def infer_headers(
    rows: Sequence[Sequence[str]],
    *,
    merges: Iterable[Merge] = (),
    bold_rows: Collection[int] = (),
    header_rows: int | None = None,
    header_cols: int | None = None,
) -> Headers:
    """Find the header rows, header columns and section rows of a grid by its shape.

    ``rows`` are cell texts, ragged or not; a cell that spans stands at its top left, and
    ``merges`` are (row, column, row span, column span). ``bold_rows`` are rows whose every cell is
    set in bold. Counts that the format states are passed in and kept.
    """
    grid = SpanGrid.build([[normalise(text) for text in row] for row in rows], merges)
    return headers_of(grid, frozenset(bold_rows), header_rows, header_cols)


def table_from_rows(
    rows: Sequence[Sequence[str]],
    *,
    merges: Iterable[Merge] = (),
    bold_rows: Collection[int] = (),
    header_rows: int | None = None,
    header_cols: int | None = None,
    caption: str | None = None,
    notes: str | None = None,
    sheet: str | None = None,
) -> Table | None:
    """Build a table from cell texts; None where no cell has any.

    Empty outer rows and columns and empty rows inside are dropped, title rows above the header
    become the caption, and lines of remarks or units above or below become notes. Counts that are
    None are inferred; given ones count the leading ones of ``rows`` as passed.
    """
    grid = SpanGrid.build([[normalise(text) for text in row] for row in rows], merges)
    kept = [row for row in range(grid.n_rows) if grid.has_words(row)]
    if not kept:
        return None
    filled = [c for c in range(grid.n_cols) if any(grid.full[r][c] for r in kept)]
    columns = list(range(filled[0], filled[-1] + 1))
    captions, remarks = [caption] if caption else [], [notes] if notes else []
    first, last = 0, len(kept)
    if len(columns) > 1 and len(kept) > 1:
        trimmed = grid.keep(kept, columns)
        first = _leading_lines(trimmed, captions, remarks, header_rows is not None)
        last = _trailing_lines(trimmed, first, remarks)
    taken = kept[first:last]
    # A title may be wider than the table under it.
    filled = [c for c in columns if any(grid.full[r][c] for r in taken)]
    columns = list(range(filled[0], filled[-1] + 1))
    grid = grid.keep(taken, columns)
    if header_rows is not None:
        header_rows = sum(row < header_rows for row in taken)
    if header_cols is not None:
        header_cols = sum(col < header_cols for col in columns)
    bold = frozenset(new for new, old in enumerate(taken) if old in bold_rows)
    found = headers_of(grid, bold, header_rows, header_cols)
    grid = _spread_headers(grid, found.header_rows)
    grid = _spread_labels(grid, found)
    return Table(
        n_rows=grid.n_rows,
        n_cols=grid.n_cols,
        cells=tuple(
            Cell(row=r, col=c, text=text, row_span=rs, col_span=cs)
            for r, c, text, rs, cs in grid.cells()
        ),
        header_rows=found.header_rows,
        header_cols=found.header_cols,
        section_rows=found.section_rows,
        caption="\n".join(captions) or None,
        notes="\n".join(remarks) or None,
        sheet=sheet,
    )


# --- lines around the table, and blanks that mean a span -----------------------------------------


def _leading_lines(grid: SpanGrid, captions: list[str], remarks: list[str], is_stated: bool) -> int:
    """Take title and unit rows off the top into the lists; return how many rows they were."""
    count = 0
    while count < grid.n_rows - 1:
        texts = [grid.own[count][c] for c in grid.filled(count)]
        units = [text for text in texts if is_unit_line(text)]
        is_line = is_title(grid, count)
        if is_line and is_stated:
            is_line = grid.span(count, grid.filled(count)[0])[1] >= grid.n_cols
        if not is_line and not (len(texts) == 2 and len(units) == 1 and grid.n_cols > 2):
            break
        count += 1
    below = grid.keep(range(count, grid.n_rows), range(grid.n_cols))
    if count and not is_stated:
        found = headers_of(below, frozenset(), None, None)
        whole = grid.keep(range(count - 1, grid.n_rows), range(grid.n_cols))
        if not found.header_rows and found.section_rows and is_section(whole, 0):
            count -= 1  # the first of several sections in a table without a header
    for row in range(count):
        for col in grid.filled(row):
            text = grid.own[row][col]
            (remarks if is_note_line(text) else captions).append(text)
    return count


def _trailing_lines(grid: SpanGrid, first: int, remarks: list[str]) -> int:
    """Take lines of remarks off the bottom into ``remarks``; return where the table ends."""
    end = grid.n_rows
    while end > first + 1 and grid.is_lone(end - 1):
        col = grid.filled(end - 1)[0]
        text = grid.own[end - 1][col]
        is_sentence = len(text) > SHORT_HEADER and (
            grid.span(end - 1, col)[1] >= grid.n_cols or text.endswith((".", ")"))
        )
        if not is_note_line(text) and not is_sentence:
            break
        end -= 1
    remarks.extend(
        grid.own[row][grid.filled(row)[0]] for row in range(end, grid.n_rows) if grid.filled(row)
    )
    return end


def _spread_headers(grid: SpanGrid, header_rows: int) -> SpanGrid:
    """Turn blanks in a header of several rows into the spans they mean."""
    if header_rows < 2 or any(
        grid.span(r, c) != (1, 1) for r in range(header_rows) for c in grid.filled(r)
    ):
        return grid
    merges: list[Merge] = []
    for row in range(header_rows):
        for col in grid.filled(row):
            width = 1
            while (
                row < header_rows - 1
                and col > 0
                and col + width < grid.n_cols
                and not grid.full[row][col + width]
                and any(grid.own[r][col + width] for r in range(row + 1, header_rows))
                and any(grid.own[r][col] for r in range(row + 1, header_rows))
            ):
                width += 1
            height = 1
            while width == 1 and row + height < header_rows and not grid.own[row + height][col]:
                height += 1
            if (height, width) != (1, 1):
                merges.append((row, col, height, width))
    return grid.merged(merges)


def _spread_labels(grid: SpanGrid, found: Headers) -> SpanGrid:
    """Turn blanks below a group's label into its row span, when two columns name the rows.

    A number that only counts rows names no group: "3", then a total without one.
    """
    labels = [grid.own[r][0] for r in range(found.header_rows, grid.n_rows) if grid.own[r][0]]
    if found.header_cols < 2 or all(map(is_ordinal, labels)):
        return grid
    merges: list[Merge] = []
    stops = set(found.section_rows)
    row = found.header_rows
    while row < grid.n_rows:
        height = 1
        if grid.own[row][0] and row not in stops and grid.span(row, 0) == (1, 1):
            while (
                row + height < grid.n_rows
                and row + height not in stops
                and not grid.full[row + height][0]
                and grid.own[row + height][1]
            ):
                height += 1
        if height > 1:
            merges.append((row, 0, height, 1))
        row += height
    return grid.merged(merges)
