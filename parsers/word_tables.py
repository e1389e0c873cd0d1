"""Word tables: the grid that gridSpan, vMerge and gridBefore describe."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from parsers.elements import Table
from parsers.grids import infer_headers, table_from_rows
from parsers.packages import Node, attribute, child, children, local
from parsers.spans import Merge
from parsers.word_styles import is_on

_WRAPPERS = frozenset({"sdt", "sdtContent", "ins", "moveTo", "customXml"})


@dataclass(frozen=True, slots=True)
class CellText:
    """A cell's own words, and whether all of them are bold."""

    text: str
    bold: bool


def read_table(tbl: Node, read_cell: Callable[[Node], CellText]) -> Table | None:
    """Build the table of a ``w:tbl``; None where it has no words. Deleted rows are left out."""
    texts: list[dict[int, str]] = []
    open_merges: dict[int, list[int]] = {}  # column -> [row, column, row span, column span]
    merges: list[list[int]] = []
    bold_rows: set[int] = set()
    stated = 0
    for tr in rows_of(tbl):
        properties = child(tr, "trPr")
        if child(properties, "del") is not None:
            continue
        row = len(texts)
        if is_on(properties, "tblHeader") and stated == row:
            stated += 1
        col = _number(attribute(child(properties, "gridBefore"), "val"), 0)
        found: dict[int, str] = {}
        bolds: list[bool] = []
        for tc in _parts(tr, "tc"):
            tc_properties = child(tc, "tcPr")
            width = max(1, _number(attribute(child(tc_properties, "gridSpan"), "val"), 1))
            merge = child(tc_properties, "vMerge")
            if merge is not None and attribute(merge, "val") != "restart" and col in open_merges:
                open_merges[col][2] += 1
            elif _continues_left(tc_properties) and merges and merges[-1][0] == row:
                merges[-1][3] += width
            else:
                cell = read_cell(tc)
                found[col] = cell.text
                if cell.text:
                    bolds.append(cell.bold)
                merges.append([row, col, 1, width])
                for at in range(col, col + width):
                    open_merges.pop(at, None)
                if merge is not None:
                    open_merges[col] = merges[-1]
            col += width
        for at in [at for at, merge_ in open_merges.items() if merge_[0] + merge_[2] <= row]:
            del open_merges[at]
        texts.append(found)
        if bolds and all(bolds):
            bold_rows.add(row)
    if not texts:
        return None
    n_cols = max((m[1] + m[3] for m in merges), default=0)
    rows = [[found.get(col, "") for col in range(n_cols)] for found in texts]
    spans: list[Merge] = [
        (r, c, height, width) for r, c, height, width in merges if (height, width) != (1, 1)
    ]
    return table_from_rows(
        rows,
        merges=spans,
        bold_rows=bold_rows,
        header_rows=_header_rows(rows, spans, bold_rows, stated),
    )


def _header_rows(
    rows: list[list[str]], spans: list[Merge], bold_rows: set[int], stated: int
) -> int | None:
    """Header rows as marked, or more where the first of several alone is marked."""
    if not stated or stated >= len(rows):
        return None
    inferred = infer_headers(rows, merges=spans, bold_rows=bold_rows).header_rows
    reach = max((r + height for r, _, height, _ in spans if r < stated), default=0)
    return min(max(stated, inferred, reach), len(rows) - 1)


def rows_of(tbl: Node) -> Iterator[Node]:
    """Yield a table's own rows, without those of tables inside it."""
    return _parts(tbl, "tr")


def _parts(node: Node, name: str) -> Iterator[Node]:
    """Yield rows or cells, also inside content controls and tracked insertions."""
    for item in children(node):
        if local(item) == name:
            yield item
        elif local(item) in _WRAPPERS:
            yield from _parts(item, name)


def _continues_left(properties: Node | None) -> bool:
    merge = child(properties, "hMerge")
    return merge is not None and attribute(merge, "val") != "restart"


def _number(text: str | None, default: int) -> int:
    return int(text) if text and text.isdecimal() else default
