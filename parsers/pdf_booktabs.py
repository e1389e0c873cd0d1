"""Tables between horizontal lines alone, as they are printed in books and reports."""

from __future__ import annotations

import re
from collections.abc import Sequence

from parsers.pdf_columns import Columns, Row, best_edges, is_figures, looks_tabular
from parsers.pdf_drawings import Rule

MAX_HEADER_LINES = 6
TRIES = 12  # ends of a table that are tried for each line that may begin it
_CAPTION = re.compile(
    r"^(table|tab\.|bảng|biểu|exhibit|tabelle|tableau)(\s+số)?\s*:?\s*[A-Z]{0,2}[-.]?\d+([-.]\d+)*\b",
    re.I,
)


def is_caption(text: str) -> bool:
    """Whether a line names a table by its number."""
    return bool(_CAPTION.match(text))


def between_rules(rows: list[Row], rules: Sequence[Rule]) -> list[tuple[int, int]]:
    """Row ranges between three or more horizontal lines of one width, the second under a header."""
    ranges: list[tuple[int, int]] = []
    groups: list[list[Rule]] = []
    for rule in sorted(rules, key=lambda item: item.at):
        if rule.length < 60:
            continue
        for group in groups:
            if abs(group[0].start - rule.start) < 6 and abs(group[0].end - rule.end) < 6:
                group.append(rule)
                break
        else:
            groups.append([rule])
    for group in groups:
        index = 0
        while index + 2 < len(group):
            found = None
            for last in range(len(group) - 1, max(index + 1, len(group) - 1 - TRIES), -1):
                inside = _rows_between(rows, group[index], group[last])
                head = _rows_between(rows, group[index], group[index + 1])
                if (
                    inside
                    and head
                    and len(head) <= MAX_HEADER_LINES
                    and _is_booktabs(rows, inside, head)
                ):
                    found = (last, (inside[0], inside[-1]))
                    break
            if found is None:
                index += 1
            else:
                index = found[0]
                if not any(a <= found[1][1] and found[1][0] <= b for a, b in ranges):
                    ranges.append(found[1])
    return sorted(ranges)


def _rows_between(rows: list[Row], upper: Rule, lower: Rule) -> list[int]:
    return [
        index
        for index, row in enumerate(rows)
        if upper.at - 2 < row.line.middle_y < lower.at + 2
        and row.line.x0 > upper.start - 12
        and row.line.x1 < upper.end + 12
    ]


def _is_booktabs(rows: list[Row], inside: list[int], head: list[int]) -> bool:
    if inside[-1] - inside[0] + 1 != len(inside) or any(
        is_caption(rows[i].line.text) for i in head
    ):
        return False
    picked = [rows[index] for index in inside]
    multi = [row for row in picked if len(row.parts) > 1]
    if (
        len(multi) < 2
        or len(multi) < 0.4 * len(picked)
        or not any(len(rows[i].parts) > 1 for i in head)
    ):
        return False
    xs = best_edges(multi)
    return len(xs) > 2 and looks_tabular(
        [row for row in multi if is_figures(row)] or multi, xs, relaxed=True
    )


def widened(rows: list[Row], first: int, last: int, rules: Sequence[Rule]) -> tuple[int, int]:
    """A range between rules with the row above its first line and below its last one, if alike.

    Lines under every row leave the header outside, lines above every row the last record.
    """
    multi = [row for row in rows[first : last + 1] if len(row.parts) > 1]
    xs = best_edges(multi)
    if len(xs) < 3:
        return first, last
    columns = Columns.of(multi, xs)

    def fits(index: int, near: int) -> bool:
        row = rows[index]
        upper, lower = sorted((row.line, rows[near].line), key=lambda line: line.top)
        return (
            len(row.parts) > 1
            and lower.top - upper.bottom < 1.6 * row.line.size
            and len({columns.span(part) for part in row.parts}) == len(row.parts)
            and not is_caption(row.line.text)
        )

    if first > 0 and fits(first - 1, first):
        spans = [columns.span(part) for part in rows[first - 1].parts]
        # Headings over several columns, above a line of headings that leaves the labels' free.
        is_over = spans[0][0] > 0 and any(stop - start > 1 for start, stop in spans)
        is_under = columns.span(rows[first].parts[0])[0] > 0
        if len(spans) == len(xs) - 1 or (is_over and is_under):
            first -= 1
    if last + 1 < len(rows) and fits(last + 1, last):
        last += 1
    return first, last
