"""Tables to chunks that keep the table contract (I3), and back.

docs/chunking.md tells the rules in words, with an example.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from chunkers.abbreviation import abbreviate
from chunkers.chunk import Chunk, Tokenizer
from chunkers.grid import Grid
from chunkers.splitting import SEAM, break_down, settle
from chunkers.table_layout import LAYOUTS, Layout, Rules, TooTight, whole_draft
from chunkers.table_text import LINES, Bit, Draft, Style, place
from parsers.cell_types import is_unit_line
from parsers.elements import Table

_TITLE_SHARE = 5  # of the budget, for a caption and the sentence in front of a table, in each part
_NOTES_SHARE = 6
_ROUGH = 16  # characters per token that no text exceeds by much: more cannot fit


@dataclass(frozen=True, slots=True)
class Introduction:
    """What stands in front of a table: its last sentence, or headings that stand alone there."""

    sentence: str = ""
    headings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class TablePart:
    """The text of one chunk of a table, with its placing and its size."""

    draft: Draft
    tokens: int


def split_table(
    table: Table,
    *,
    budget: int,
    tokenizer: Tokenizer,
    introduction: Introduction | None = None,
    known: Sequence[str] = (),
    style: Style = LINES,
) -> list[TablePart]:
    """Cut a table into parts of at most ``budget`` tokens; none for a table without any words.

    ``known`` are words that the reader of a chunk sees anyway (its heading path): a sheet's name
    among them is not repeated. ``style`` is for measurements (``evals.table_rendering``).
    """
    grid = Grid.of(table)
    introduction = introduction or Introduction()
    titles = _titles(table, known)
    notes = _lines(table.notes)
    if not (grid.body or titles or notes or any(grid.texts)):
        return []
    whole = _whole(grid, style, titles, notes, introduction, budget, tokenizer)
    if whole is not None:
        return _with_all_positions(grid, [whole])
    for rules in (replace(LAYOUTS[0], style=style), *LAYOUTS[1:]):
        try:
            parts = _parts(grid, rules, titles, notes, introduction, budget, tokenizer)
            return _with_all_positions(grid, parts)
        except TooTight:
            continue
    raise AssertionError("the last layout has room for one piece of a cell")


def rebuild(
    chunks: Iterable[Chunk], n_rows: int | None = None, n_cols: int | None = None
) -> tuple[tuple[str, ...], ...]:
    """Return the text at every position of a table's grid, spans expanded, from its chunks.

    ``chunks`` are all chunks of one table, in order. The grid has ``n_rows`` by ``n_cols``
    positions, or reaches as far as there is text. Equal to ``chunkers.grid.expand(table)``.
    """
    first: dict[tuple[int, int], list[str]] = {}
    again: dict[tuple[int, int], str] = {}
    for chunk in chunks:
        for span in chunk.cells:
            position, text = (span.row, span.col), chunk.text[span.start : span.end]
            if any(start <= span.start and span.end <= end for start, end in chunk.added):
                again.setdefault(position, text)
            else:
                first.setdefault(position, []).append(text)
    found = again | {position: "".join(texts) for position, texts in first.items()}
    rows = n_rows if n_rows is not None else max((r for r, _ in found), default=-1) + 1
    cols = n_cols if n_cols is not None else max((c for _, c in found), default=-1) + 1
    return tuple(tuple(found.get((r, c), "") for c in range(cols)) for r in range(rows))


def table_chunks(
    parts: Sequence[TablePart],
    *,
    heading_path: tuple[str, ...],
    char_start: int,
    char_end: int,
    page_start: int | None,
    page_end: int | None,
    table_id: str,
) -> list[Chunk]:
    """Make chunks of a table's parts: what an earlier part has said is ``added`` in later ones."""
    said: set[int] = set()
    chunks = []
    for part in parts:
        placing = place(part.draft, said)
        chunks.append(
            Chunk(
                text=placing.text,
                heading_path=heading_path,
                char_start=char_start,
                char_end=char_end,
                page_start=page_start,
                page_end=page_end,
                kinds=("table",),
                tokens=part.tokens,
                table_id=table_id,
                cells=placing.cells,
                added=placing.added,
                warnings=tuple(sorted(part.draft.warnings)),
            )
        )
    return chunks


def _titles(table: Table, known: Sequence[str]) -> list[str]:
    titles = _lines(table.caption)
    sheet = table.sheet or ""
    if sheet.strip() and sheet not in known and sheet not in titles:
        titles.insert(0, sheet)
    return titles


def _lines(text: str | None) -> list[str]:
    return [line for line in (text or "").split("\n") if line.strip()]


def _with_all_positions(grid: Grid, parts: Sequence[TablePart]) -> list[TablePart]:
    """Let the full text of a cell stand for those of its positions where it is abbreviated."""
    written = {
        position
        for part in parts
        for line in part.draft.lines
        for bit in line
        for position in bit.positions
    }
    missing = {
        cell: left
        for cell, positions in grid.covered.items()
        if grid.texts[cell] and (left := tuple(p for p in positions if p not in written))
    }
    if not missing:
        return list(parts)
    completed = []
    for part in parts:
        lines = [
            tuple(
                replace(bit, positions=(*bit.positions, *missing.pop(bit.cell)))
                if bit.cell in missing
                else bit
                for bit in line
            )
            for line in part.draft.lines
        ]
        completed.append(replace(part, draft=replace(part.draft, lines=tuple(lines))))
    return completed


def _words(lines: Iterable[str]) -> list[tuple[Bit, ...]]:
    return [(Bit(line, repeats=True),) for line in lines]


def _framed(
    draft: Draft, before: Sequence[str], after: Sequence[str], warnings: Iterable[str] = ()
) -> Draft:
    """Put lines around a table's lines, with a blank line between."""
    lines = [*_words(before)]
    if before and draft.lines:
        lines.append(())
    lines += draft.lines
    if after:
        lines += [(), *_words(after)] if draft.lines else _words(after)
    return Draft(tuple(lines), draft.warnings | frozenset(warnings))


def _whole(
    grid: Grid,
    style: Style,
    titles: Sequence[str],
    notes: Sequence[str],
    introduction: Introduction,
    budget: int,
    tokenizer: Tokenizer,
) -> TablePart | None:
    if sum(map(len, grid.texts)) > budget * _ROUGH:
        return None
    draft = whole_draft(grid, style)
    sentence = [introduction.sentence] if introduction.sentence else []
    for headings in dict.fromkeys((introduction.headings, ())):
        framed = _framed(draft, [*headings, *sentence, *titles], notes)
        tokens = tokenizer.count(framed.text)
        if tokens <= budget:
            return TablePart(framed, tokens)
    return None


def _parts(
    grid: Grid,
    rules: Rules,
    titles: Sequence[str],
    notes: Sequence[str],
    introduction: Introduction,
    budget: int,
    tokenizer: Tokenizer,
) -> list[TablePart]:
    """Cut a table that does not fit, under one set of rules."""
    before, after, warnings = _frame(rules, titles, notes, introduction, budget, tokenizer)
    sizes: dict[str, int] = {}

    def part(draft: Draft) -> TablePart:
        framed = _framed(draft, before, after, warnings)
        if framed.text not in sizes:
            sizes[framed.text] = tokenizer.count(framed.text)
        return TablePart(framed, sizes[framed.text])

    frame = _framed(Draft(((Bit("x"),),)), before, after)
    layout = Layout.of(
        grid,
        rules,
        budget=budget,
        room=budget - tokenizer.count(frame.text) - SEAM,
        tokenizer=tokenizer,
        fits=lambda draft: part(draft).tokens <= budget,
    )
    parts = [part(draft) for draft in layout.drafts()]
    if any(item.tokens > budget for item in parts):
        raise TooTight
    titles = titles if not (before and parts) or warnings else ()
    notes = [note for note in notes if not parts or note not in after]
    parts = [
        *_text_parts(titles, budget, tokenizer),
        *parts,
        *_text_parts(notes, budget, tokenizer),
    ]
    if introduction.headings and parts:
        first = parts[0].draft
        headed = Draft((*_words(introduction.headings), *first.lines), first.warnings)
        tokens = tokenizer.count(headed.text)
        if tokens <= budget:
            parts[0] = TablePart(headed, tokens)
    return parts


def _frame(
    rules: Rules,
    titles: Sequence[str],
    notes: Sequence[str],
    introduction: Introduction,
    budget: int,
    tokenizer: Tokenizer,
) -> tuple[list[str], list[str], list[str]]:
    """Return the lines before and after each part of a table, and what was cut in them."""
    if not rules.with_titles:
        return [], [], []
    before, warnings = list(titles), []
    limit = budget // _TITLE_SHARE
    caption = " ".join(titles)
    if tokenizer.count(caption) > limit:
        before, warnings = [abbreviate(caption, limit, tokenizer.count)], ["caption_abbreviated"]
    sentence = introduction.sentence
    if sentence and tokenizer.count("\n".join([sentence, *before])) <= limit:
        before = [sentence, *before]
    return before, _repeated(notes, budget, tokenizer), warnings


def _repeated(notes: Sequence[str], budget: int, tokenizer: Tokenizer) -> list[str]:
    """Return the notes that stand under each part: all, or those that say a unit."""
    units = [note for note in notes if is_unit_line(note)]
    for lines in (list(notes), units):
        if tokenizer.count("\n".join(lines)) <= budget // _NOTES_SHARE:
            return lines
    return []


def _text_parts(lines: Sequence[str], budget: int, tokenizer: Tokenizer) -> list[TablePart]:
    """Cut a caption or notes that are too long to be repeated: said once, in parts of their own."""
    text = "\n".join(lines)
    if not text:
        return []
    units = break_down(text, 0, len(text), limit=budget, tokenizer=tokenizer)
    return [
        TablePart(Draft(((Bit(text[start:end]),),)), tokens)
        for start, end, tokens in settle(text, units, budget=budget, tokenizer=tokenizer)
    ]
