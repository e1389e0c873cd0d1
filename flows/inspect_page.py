"""mucluc inspect, as a page: a document's elements beside its chunks, in one file of HTML.

The page stands alone: no network, no fonts, and a content security policy that lets nothing run
but its own script, so that a document with a script in it is only text.
"""

from __future__ import annotations

import base64
import hashlib
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from html import escape
from pathlib import Path

from chunkers.chunk import Chunk, ChunkingRecipe
from chunkers.grid import NO_CELL, Grid
from parsers.elements import Element, Kind, Parsed, Table
from parsers.text import document_text

_STYLE = Path(__file__).with_name("inspect_page.css")
_SCRIPT = Path(__file__).with_name("inspect_page.js")
_KEYS = (
    "<kbd>↑</kbd> <kbd>↓</kbd> next &nbsp; <kbd>Enter</kbd> other side &nbsp; "
    "<kbd>/</kbd> filter &nbsp; <kbd>Esc</kbd> clear"
)
_DEEPEST = 6  # HTML has no heading below h6
_SHORT = 10  # characters of a cell that is not broken into lines
_NAMES = {
    Kind.HEADING: ("heading", "headings"),
    Kind.TEXT: ("paragraph", "paragraphs"),
    Kind.LIST_ITEM: ("list item", "list items"),
    Kind.CODE: ("code block", "code blocks"),
    Kind.TABLE: ("table", "tables"),
    Kind.NOTE: ("note", "notes"),
}


def render(
    name: str,
    parsed: Parsed,
    pieces: Sequence[tuple[Chunk, str]],
    *,
    recipe: ChunkingRecipe,
    model: str,
) -> str:
    """Return the page of one document, as HTML.

    ``pieces`` are its chunks in order, each with its contextual text; ``recipe`` and ``model`` are
    what cut them. Every text of the document is escaped.
    """
    style, script = (path.read_text(encoding="utf-8") for path in (_STYLE, _SCRIPT))
    whole, spans = document_text(parsed.elements)
    grids = [Grid.of(e.table) if e.table is not None else None for e in parsed.elements]
    elements = "\n".join(_elements(parsed.elements, grids))
    chunks = "\n".join(
        _chunk(number, chunk, text, _covers(chunk, whole, spans, grids), grids, recipe.body_budget)
        for number, (chunk, text) in enumerate(pieces)
    )
    language = f' lang="{escape(parsed.language)}"' if parsed.language else ""
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{_policy(style, script)}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="generator" content="mucluc inspect">
<title>{escape(name)} – mucluc inspect</title>
<style>{style}</style>
</head>
<body>
<a class="skip" href="#chunks">Go to the chunks</a>
<header>
<h1>{escape(name)}{_title(parsed)}</h1>
{_facts(parsed, whole, [chunk for chunk, _ in pieces], recipe, model)}
{_tools(pieces)}
</header>
<main>
<section class="pane" id="document" aria-labelledby="document-title">
<h2 id="document-title">Document <span><span id="count-elements">{len(parsed.elements)}</span>
elements</span></h2>
<div{language}>
{elements or '<p class="nothing">Nothing was found in this file.</p>'}
</div>
</section>
<section class="pane" id="chunks" aria-labelledby="chunks-title">
<h2 id="chunks-title">Chunks <span><span id="count-chunks">{len(pieces)}</span></span></h2>
<div{language}>
{chunks or '<p class="nothing">No chunk was made.</p>'}
</div>
</section>
</main>
<script>{script}</script>
</body>
</html>
"""


def _policy(style: str, script: str) -> str:
    hashes = [
        base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        for text in (style, script)
    ]
    return (
        f"default-src 'none'; style-src 'sha256-{hashes[0]}'; script-src 'sha256-{hashes[1]}'; "
        "base-uri 'none'; form-action 'none'"
    )


def _title(parsed: Parsed) -> str:
    return f" <small>{escape(parsed.title)}</small>" if parsed.title else ""


def _facts(
    parsed: Parsed, whole: str, chunks: Sequence[Chunk], recipe: ChunkingRecipe, model: str
) -> str:
    kinds = Counter(element.kind for element in parsed.elements)
    pages = max((element.page_end or 0 for element in parsed.elements), default=0)
    tokens = [chunk.tokens for chunk in chunks]
    warned = Counter(warning for chunk in chunks for warning in chunk.warnings)
    facts = {
        "elements": ", ".join(
            f"{count:,} {_NAMES[kind][count != 1]}" for kind, count in kinds.most_common()
        )
        or "none",
        "characters": f"{len(whole):,}",
        "pages": str(pages or ""),
        "chunks": f"{len(chunks):,}",
        "tokens": f"{sum(tokens):,} in all, {min(tokens)} to {max(tokens)} a chunk"
        if tokens
        else "",
        "cut for": f"{model}, {recipe.body_budget} tokens and {recipe.context_reserve} for context",
        "language": parsed.language or "",
        "attachments": str(len(parsed.attachments) or ""),
        "parser": parsed.parser_id,
    }
    lines = [f"<div><dt>{k}</dt><dd>{escape(v)}</dd></div>" for k, v in facts.items() if v]
    codes = [*parsed.warnings, *(f"{code} × {count}" for code, count in warned.items())]
    if codes:
        lines.append(f"<div><dt>warnings</dt><dd>{_warnings(codes)}</dd></div>")
    return f'<dl class="facts">{"".join(lines)}</dl>'


def _warnings(codes: Iterable[str]) -> str:
    return " ".join(
        f'<span class="warning">{escape(code.replace("_", " "))}</span>' for code in codes
    )


def _tools(pieces: Sequence[tuple[Chunk, str]]) -> str:
    box = (
        '<label><input type="checkbox" id="warned"> chunks with warnings only</label>'
        if any(chunk.warnings for chunk, _ in pieces)
        else ""
    )
    return (
        '<div class="tools"><input type="search" id="filter" placeholder="Filter elements and '
        'chunks" aria-label="Filter elements and chunks" autocomplete="off" spellcheck="false">'
        f'{box}<span class="keys">{_KEYS}</span></div>'
    )


# The document's side.


def _elements(elements: Sequence[Element], grids: Sequence[Grid | None]) -> Iterator[str]:
    page = None
    for number, (element, grid) in enumerate(zip(elements, grids, strict=True)):
        if element.page_start is not None and element.page_start != page:
            page = element.page_start
            yield f'<p class="page">page {page}</p>'
        yield _element(number, element, grid)


def _element(number: int, element: Element, grid: Grid | None) -> str:
    level = max(1, element.level or 1)
    classes = {
        Kind.HEADING: f"heading level-{level}",
        Kind.LIST_ITEM: f"list in-{min(level, 4)}",
    }.get(element.kind, element.kind.value)
    about = _NAMES[element.kind][0]
    if element.level is not None:
        about += f" {element.level}"
    if grid is not None:
        about += f", {grid.table.n_rows} × {grid.table.n_cols}"
    if element.page_start is not None and element.page_end not in (None, element.page_start):
        about += f", pages {element.page_start}–{element.page_end}"
    if grid is not None:
        words = _table(grid)
    elif element.kind is Kind.HEADING:
        tag = f"h{min(level + 2, _DEEPEST)}"
        words = f'<{tag} class="words">{escape(element.text)}</{tag}>'
    else:
        words = f'<div class="words">{escape(element.text)}</div>'
    return (
        f'<div class="element {classes}" data-number="{number}" '
        f'tabindex="{-1 if number else 0}">{words}<span class="kind">{about}</span></div>'
    )


def _table(grid: Grid) -> str:
    table = grid.table
    caption = escape(table.caption or "")
    if table.sheet:
        caption += f' <span class="sheet">sheet {escape(table.sheet)}</span>'
    rows = "".join(
        f'<tr class="section">{cells}</tr>' if row in grid.titled else f"<tr>{cells}</tr>"
        for row, cells in enumerate(_rows(grid))
    )
    notes = f'<p class="notes">{escape(table.notes)}</p>' if table.notes else ""
    captioned = f"<caption>{caption}</caption>" if caption else ""
    return f'<div class="grid"><table>{captioned}<tbody>{rows}</tbody></table>{notes}</div>'


def _rows(grid: Grid) -> Iterator[str]:
    """The cells of each row as HTML; what an earlier cell covers is left out."""
    done: set[tuple[int, int]] = set()
    drawn: set[int] = set()
    for row in range(grid.table.n_rows):
        cells = []
        for col in range(grid.table.n_cols):
            if (row, col) in done:
                continue
            height, width = _extent(grid, row, col)
            done |= {(r, c) for r in range(row, row + height) for c in range(col, col + width)}
            index = grid.at[row][col]
            text = "" if index == NO_CELL or index in drawn else grid.table.cells[index].text
            drawn.add(index)
            cells.append(_cell(grid.table, row, col, height, width, text))
        yield "".join(cells)


def _extent(grid: Grid, row: int, col: int) -> tuple[int, int]:
    """(rows, columns) of the rectangle that one cell covers from here on."""
    at, index = grid.at, grid.at[row][col]
    if index == NO_CELL:
        return 1, 1
    right, below = col + 1, row + 1
    while right < grid.table.n_cols and at[row][right] == index:
        right += 1
    while below < grid.table.n_rows and set(at[below][col:right]) == {index}:
        below += 1
    return below - row, right - col


def _cell(table: Table, row: int, col: int, height: int, width: int, text: str) -> str:
    scope = ""
    if row < table.header_rows:
        scope = "colgroup" if width > 1 else "col"
    elif row in table.section_rows and text:
        scope = "rowgroup"
    elif col < table.header_cols:
        scope = "rowgroup" if height > 1 else "row"
    spans = (f' rowspan="{height}"' if height > 1 else "") + (
        f' colspan="{width}"' if width > 1 else ""
    )
    tag, scoped = ("th", f' scope="{scope}"') if scope else ("td", "")
    short = ' class="short"' if len(text) <= _SHORT else ""
    return f'<{tag}{scoped}{spans}{short} data-cell="{row},{col}">{escape(text)}</{tag}>'


# The chunks' side.


def _covers(
    chunk: Chunk,
    whole: str,
    spans: Sequence[tuple[int, int]],
    grids: Sequence[Grid | None],
) -> dict[int, str]:
    """The elements that a chunk covers: the range in each one's words, none for a table.

    Ranges are "start:end" in UTF-16 units, as a browser counts.
    """
    found = {}
    first = max(0, bisect_right(spans, (chunk.char_start, len(whole) + 1)) - 1)
    for number in range(first, len(spans)):
        start, end = spans[number]
        if start >= chunk.char_end:
            break
        low, high = max(start, chunk.char_start), min(end, chunk.char_end)
        if low < high:
            measures = (_units(whole[start:low]), _units(whole[start:high]))
            found[number] = "" if grids[number] else "{}:{}".format(*measures)
    return found


def _units(text: str) -> int:
    return len(text) + sum(char > "\uffff" for char in text)


def _chunk(
    number: int,
    chunk: Chunk,
    contextual: str,
    covers: dict[int, str],
    grids: Sequence[Grid | None],
    budget: int,
) -> str:
    path = " › ".join(chunk.heading_path)
    prefix = contextual.removesuffix(chunk.text).strip()
    context = (
        f'<div class="context"><b>embedded in front, never quoted</b>{escape(prefix)}</div>'
        if prefix
        else ""
    )
    about = [_pages(chunk), ", ".join(kind.replace("_", " ") for kind in chunk.kinds)]
    about.append(f"table {chunk.table_id}" if chunk.table_id else "")
    about.append(f"characters {chunk.char_start:,}–{chunk.char_end:,}")
    facts = "".join(f"<span>{escape(fact)}</span>" for fact in about if fact)
    cells = f' data-cells="{_cells(chunk, covers, grids)}"' if chunk.cells else ""
    ranges = " ".join(
        f"{element}:{extent}" if extent else str(element) for element, extent in covers.items()
    )
    body = "body code" if chunk.kinds == ("code",) else "body"
    return (
        f'<article class="chunk" data-number="{number}" data-covers="{ranges}"{cells} '
        f'tabindex="{-1 if number else 0}"><header>'
        f'<h3><span class="number">{number + 1}.</span> {escape(path) or "–"}</h3>'
        f'<span class="tokens"><meter min="0" max="{budget}" value="{chunk.tokens}"></meter>'
        f"{chunk.tokens} of {budget} tokens</span>{facts}{_warnings(chunk.warnings)}</header>"
        f'{context}<div class="{body}">{_marked(chunk)}</div></article>'
    )


def _pages(chunk: Chunk) -> str:
    if chunk.page_start is None:
        return ""
    if chunk.page_end in (None, chunk.page_start):
        return f"page {chunk.page_start}"
    return f"pages {chunk.page_start}–{chunk.page_end}"


def _cells(chunk: Chunk, covers: Iterable[int], grids: Sequence[Grid | None]) -> str:
    """The cells that stand in a chunk, each by the position where it is drawn."""
    grid = next((grid for number in covers if (grid := grids[number])), None)
    if grid is None:
        return ""
    places = []
    for cell in chunk.cells:
        index = grid.at[cell.row][cell.col]
        row, col = (cell.row, cell.col) if index == NO_CELL else grid.covered[index][0]
        places.append(f"{row},{col}")
    return " ".join(dict.fromkeys(places))


def _marked(chunk: Chunk) -> str:
    """A chunk's text, with what repeats something said elsewhere apart."""
    parts, done = [], 0
    for start, end in chunk.added:
        parts.append(escape(chunk.text[done:start]))
        parts.append(f'<span class="added">{escape(chunk.text[start:end])}</span>')
        done = end
    return "".join(parts) + escape(chunk.text[done:])
