"""Tables drawn with characters: bars, boxes, tabs, or columns set apart by spaces."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from parsers.cell_types import CellKind, cell_kind
from parsers.elements import Table
from parsers.grids import table_from_rows

_BOXES = str.maketrans(
    dict.fromkeys("┌┬┐├┼┤└┴┘╔╦╗╠╬╣╚╩╝╒╤╕╞╪╡╘╧╛╭╮╰╯", "+")
    | dict.fromkeys("─━", "-")
    | dict.fromkeys("═", "=")
    | dict.fromkeys("│┃║", "|")
)
_BORDER = re.compile(r"\s*\+(?:[-=:]+\+)+\s*")
_RULE = re.compile(r"\s*[|+]?[ :]*[-=]{2,}[ :]*(?:[|+][ :]*[-=]{2,}[ :]*)+[|+]?\s*")
_BAR = re.compile(r"(?<!\\)\|")
_GAP = re.compile(r"\S(?: {2,}|\t)\s*\S")
_UNDERLINES = re.compile(r"[-=\s]*[-=]{3,}[-=\s]*")
_BULLET = re.compile(r"[-–*•+●▪]|\(?(?:\d{1,3}|[a-zđ]|[ivx]+)[.)]", re.IGNORECASE)
_FEWEST_ALIGNED = 3  # lines

Rows = list[list[str]]


@dataclass(frozen=True, slots=True)
class Drawn:
    """A table's rows, and how many of them a line was drawn under; None where none was."""

    rows: Rows
    header_rows: int | None

    def table(self) -> Table | None:
        """Return it as a grid."""
        return table_from_rows(self.rows, header_rows=self.header_rows)


def parts(lines: Sequence[str], *, spaced: bool = True) -> Iterator[list[str] | Drawn]:
    """Cut a block of lines into those of text and the tables drawn among them.

    Without ``spaced`` only bars and boxes make a table, as where line ends mean nothing.
    """
    text: list[str] = []
    at = 0
    while at < len(lines):
        found = _drawn(lines, at, spaced=spaced)
        if found is None:
            text.append(lines[at])
            at += 1
            continue
        if text:
            yield text
            text = []
        drawn, at = found
        yield drawn
    if text:
        yield text


def is_drawn(text: str) -> bool:
    """Whether a text has a bar in it, and so may hold a table of bars or boxes."""
    return "|" in text or "│" in text or "┃" in text or "║" in text


def _drawn(lines: Sequence[str], at: int, *, spaced: bool) -> tuple[Drawn, int] | None:
    """The table that begins at a line, and the line after it."""
    plain = lines[at].translate(_BOXES)
    if "|" not in plain and not _BORDER.fullmatch(plain):
        return _spaced(lines, at) if spaced else None
    end = at
    drawn: list[str] = []
    while end < len(lines) and (
        "|" in (line := lines[end].translate(_BOXES)) or _is_line(line, drawn)
    ):
        drawn.append(line)
        end += 1
    found = _boxed(drawn) if _BORDER.fullmatch(drawn[0]) else _barred(drawn)
    return None if found is None else (found, end)


def _is_line(line: str, drawn: Sequence[str]) -> bool:
    return _BORDER.fullmatch(line) is not None or (
        bool(drawn) and _RULE.fullmatch(line) is not None
    )


def _boxed(lines: Sequence[str]) -> Drawn | None:
    """Rows between borders; where only the header has one under it, each line is a row."""
    groups: list[list[list[str]]] = [[]]
    header: int | None = None
    for line in lines:
        if _BORDER.fullmatch(line):
            if groups[-1]:
                if "=" in line and header is None and line is not lines[-1]:
                    header = len(groups)
                groups.append([])
        else:
            groups[-1].append(_cells(line))
    groups = [group for group in groups if group]
    widths = {len(cells) for group in groups for cells in group}
    if not groups or len(widths) != 1:
        return None
    if header is None and len(groups) == 2:
        return Drawn([_merged(groups[0]), *groups[1]], 1)
    if len(groups) == 1:
        return Drawn(groups[0], None)
    return Drawn([_merged(group) for group in groups], header)


def _merged(lines: list[list[str]]) -> list[str]:
    return [" ".join(filter(None, texts)) for texts in zip(*lines, strict=True)]


def _barred(lines: Sequence[str]) -> Drawn | None:
    rows: Rows = []
    header: int | None = None
    for line in lines:
        if _RULE.fullmatch(line):
            header = len(rows) if header is None and rows else header
        else:
            rows.append(_cells(line))
    is_even = len({len(cells) for cells in rows}) == 1
    if len(rows) < 2 or not is_even or len(rows[0]) < 2:
        return None
    is_framed = all(line.strip().startswith("|") and line.strip().endswith("|") for line in lines)
    # "a | b" twice may be a menu; a frame or a rule makes it a table, and so does a third line.
    return Drawn(rows, header) if is_framed or header or len(rows) > 2 else None


def _cells(line: str) -> list[str]:
    inner = line.strip()
    inner = inner.removeprefix("|")
    inner = inner[:-1] if inner.endswith("|") and not inner.endswith("\\|") else inner
    return [cell.strip().replace("\\|", "|") for cell in _BAR.split(inner)]


# --- columns set apart by white space ------------------------------------------------------------


def _spaced(lines: Sequence[str], at: int) -> tuple[Drawn, int] | None:
    end = at
    while end < len(lines) and (
        _GAP.search(lines[end].strip()) or (end > at and _UNDERLINES.fullmatch(lines[end]))
    ):
        end += 1
    run = [unicodedata.normalize("NFC", line.rstrip()) for line in lines[at:end]]
    ruled = [number for number, line in enumerate(run) if _UNDERLINES.fullmatch(line)]
    texts = [line for number, line in enumerate(run) if number not in ruled]
    if len(texts) < 2:
        return None
    rows = _tabbed(texts) or _aligned(texts)
    if rows is None or _is_list(rows):
        return None
    if not ruled and len(rows[0]) == 2 and not _has_figures(rows):
        return None
    return Drawn(rows, ruled[0] if ruled and 0 < ruled[0] < len(texts) else None), end


def _tabbed(lines: Sequence[str]) -> Rows | None:
    if not all("\t" in line.strip() for line in lines):
        return None
    rows = [[cell.strip() for cell in line.strip(" ").split("\t")] for line in lines]
    if len({len(row) for row in rows}) != 1:
        rows = [[cell.strip() for cell in re.split(r"\t+", line.strip())] for line in lines]
    return rows if len({len(row) for row in rows}) == 1 else None


def _aligned(lines: Sequence[str]) -> Rows | None:
    """Cut lines where all of them have a space, and most of them two."""
    if len(lines) < _FEWEST_ALIGNED:
        return None
    shown = [line.expandtabs(8) for line in lines]
    width = max(map(len, shown))
    padded = [line.ljust(width) for line in shown]
    free = [all(line[col] == " " for line in padded) for col in range(width)]
    cuts, start = [], None
    for col in range(width + 1):
        is_free = col < width and free[col]
        if is_free and start is None:
            start = col
        elif not is_free and start is not None:
            if start > 0 and col < width and _is_wide(padded, start, col):
                cuts.append((start, col))
            start = None
    edges = [0, *(at for cut in cuts for at in cut), width]
    pairs = zip(edges[::2], edges[1::2], strict=True)
    spans = list(pairs)
    rows = [[line[a:b].strip() for a, b in spans] for line in padded]
    full = sum(all(row) for row in rows)
    return rows if len(spans) > 1 and full * 3 >= len(rows) * 2 else None


def _is_wide(lines: Sequence[str], start: int, end: int) -> bool:
    """Whether most lines have at least two spaces where all have one."""
    wide = sum(
        end - start > 1 or line[start - 1 : start] == " " or line[end : end + 1] == " "
        for line in lines
    )
    return wide * 3 >= len(lines) * 2


def _is_list(rows: Rows) -> bool:
    """Whether the first column only marks items."""
    return len(rows[0]) == 2 and all(_BULLET.fullmatch(row[0]) for row in rows)


def _has_figures(rows: Rows) -> bool:
    """Whether the last of two columns holds figures below its name."""
    kinds = [cell_kind(row[-1]) for row in rows[1:]]
    return len(rows) > 2 and all(k not in (CellKind.TEXT, CellKind.EMPTY) for k in kinds)
