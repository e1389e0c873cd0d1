"""Elements to chunks: sections, blocks, splits and merges, in passes that can be tested alone."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from chunkers.blocks import Placed, block_units, blocks
from chunkers.chunk import Chunk, ChunkingRecipe, Tokenizer
from chunkers.sentences import leads_in, sentences
from chunkers.splitting import settle
from chunkers.tables import Introduction, split_table, table_chunks
from parsers.elements import Element, Kind
from parsers.text import document_text

_TABLE_WORDS = re.compile(r"\b(?:bảng|biểu|đơn vị tính|đvt|table|schedule|unit)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Run:
    """Elements in a row under one heading: prose, or one table with what introduces it.

    ``lead`` is, for a table, the prose directly in front of it under the same heading; headings
    that stand there alone have no chunk of their own.
    """

    heading_path: tuple[str, ...]
    elements: tuple[Placed, ...]
    lead: tuple[Placed, ...] = ()


def chunk(
    elements: Sequence[Element], *, recipe: ChunkingRecipe, tokenizer: Tokenizer
) -> tuple[Chunk, ...]:
    """Cut a document's elements into chunks of at most ``recipe.body_budget`` tokens.

    Prose chunks are substrings of the document's normalised text (I2), together they hold all of
    it; a heading with text or a table below it stands in the first chunk below it. Tables keep I3
    (``chunkers.tables``) and are numbered t1, t2, … in the document's order.

    Raises ``ValueError`` when ``tokenizer`` is not the one that the recipe names.
    """
    if tokenizer.name != recipe.tokenizer:
        raise ValueError(f"the recipe counts with {recipe.tokenizer}, not with {tokenizer.name}")
    text, spans = document_text(elements)
    placed = [
        Placed(element, start, end)
        for element, (start, end) in zip(elements, spans, strict=True)
        if end > start or element.table is not None
    ]
    chunks: list[Chunk] = []
    n_tables = 0
    for run in sections(placed):
        if run.elements[0].element.table is None:
            chunks += prose_chunks(text, run, budget=recipe.body_budget, tokenizer=tokenizer)
        else:
            made = tables_of(run, f"t{n_tables + 1}", recipe.body_budget, tokenizer)
            n_tables += bool(made)
            chunks += made
            if not made and run.lead and _is_bare(run.lead):
                alone = Run(run.heading_path, run.lead)
                chunks += prose_chunks(text, alone, budget=recipe.body_budget, tokenizer=tokenizer)
    return tuple(chunks)


def sections(placed: Sequence[Placed]) -> Iterator[Run]:
    """Cut a document at its headings and tables, each part with the path of open headings.

    A heading directly below a higher one shares its run; before a table, headings without prose
    are the table's lead.
    """
    stack: list[tuple[int, str]] = []
    run: list[Placed] = []
    for item in placed:
        path = tuple(title for _, title in stack)
        if item.element.table is not None:
            if not _is_bare(run):
                yield Run(path, tuple(run))
            yield Run(path, (item,), tuple(run))
            run = []
        elif item.element.kind is Kind.HEADING:
            level = item.element.level or (stack[-1][0] if stack else 1)
            is_deeper = not stack or level > stack[-1][0]
            if run and not (_is_bare(run) and is_deeper):
                yield Run(path, tuple(run))
                run = []
            while stack and stack[-1][0] >= level:
                stack.pop()
            stack.append((level, " ".join(item.element.text.split())))
            run.append(item)
        else:
            run.append(item)
    if run:
        yield Run(tuple(title for _, title in stack), tuple(run))


def prose_chunks(text: str, run: Run, *, budget: int, tokenizer: Tokenizer) -> Iterator[Chunk]:
    """Cut one run of prose: its blocks, what of them is too long, and small neighbours merged."""
    units = block_units(text, blocks(run.elements), budget=budget, tokenizer=tokenizer)
    ends = [placed.end for placed in run.elements]
    starts = [placed.start for placed in run.elements]
    for start, end, tokens in settle(text, units, budget=budget, tokenizer=tokenizer):
        covered = run.elements[bisect_right(ends, start) : bisect_left(starts, end)]
        pages = [
            page
            for placed in covered
            for page in (placed.element.page_start, placed.element.page_end)
            if page is not None
        ]
        yield Chunk(
            text=text[start:end],
            heading_path=run.heading_path,
            char_start=start,
            char_end=end,
            page_start=min(pages, default=None),
            page_end=max(pages, default=None),
            kinds=tuple(sorted({str(placed.element.kind) for placed in covered})),
            tokens=tokens,
        )


def tables_of(run: Run, table_id: str, budget: int, tokenizer: Tokenizer) -> list[Chunk]:
    """Cut one table; no chunks for one without words."""
    placed = run.elements[0]
    if placed.element.table is None:
        return []
    parts = split_table(
        placed.element.table,
        budget=budget,
        tokenizer=tokenizer,
        introduction=introduction(run),
        known=run.heading_path,
    )
    return table_chunks(
        parts,
        heading_path=run.heading_path,
        char_start=placed.start,
        char_end=placed.end,
        page_start=placed.element.page_start,
        page_end=placed.element.page_end or placed.element.page_start,
        table_id=table_id,
    )


def introduction(run: Run) -> Introduction:
    """Return what stands in front of a table and says what it is."""
    if _is_bare(run.lead):
        return Introduction(headings=tuple(placed.element.text for placed in run.lead))
    last = run.lead[-1].element
    if last.kind in (Kind.HEADING, Kind.CODE):
        return Introduction()
    found = sentences(last.text)
    sentence = " ".join(last.text[found[-1][0] : found[-1][1]].split()) if found else ""
    is_about = leads_in(last.text) or _TABLE_WORDS.search(sentence) is not None
    return Introduction(sentence=sentence if is_about else "")


def _is_bare(run: Sequence[Placed]) -> bool:
    return all(placed.element.kind is Kind.HEADING for placed in run)
