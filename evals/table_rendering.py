"""Which rendering of a table is found best: the measurement behind ``chunkers.table_text``.

    python -m evals.table_rendering ../shared/cases/retrieval/tatqa

Tables of financial reports are cut under each rendering; then it is counted how many answer cells
stand in one chunk with their row's label (on the same line) and their column's header, and how
well the questions find their table among all of them, by vectors and by vectors with BM25.
docs/chunking.md keeps the printed result.
"""

from __future__ import annotations

import argparse
import json
import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chunkers.chunk import Chunk, Tokenizer
from chunkers.grid import Grid
from chunkers.table_text import LINES, MARKDOWN, RECORDS, Style
from chunkers.tables import split_table, table_chunks
from enrich.embedders import load
from parsers.elements import Cell, Table
from parsers.grids import table_from_rows

STYLES: dict[str, Style] = {"lines": LINES, "markdown": MARKDOWN, "records": RECORDS}
_RRF = 60


@dataclass(frozen=True, slots=True)
class Question:
    """A question, the tables that answer it, and the answer's cells as (row, column)."""

    text: str
    tables: frozenset[str]
    cells: tuple[tuple[int, int], ...]


def read_set(folder: Path) -> tuple[dict[str, list[list[str]]], list[Question]]:
    """Read a retrieval set with tables: rows of cell texts by passage id, and its questions.

    Questions are those that can be understood without their document and are answered by a
    table, and those that have answer cells.
    """
    tables = {
        passage["id"]: passage["cells"]
        for line in _lines(folder / "docs.jsonl")
        for passage in line["passages"]
        if passage["kind"] == "table"
    }
    gold: dict[str, set[str]] = {}
    for line in _lines(folder / "qrels.dev.jsonl"):
        gold.setdefault(line["query_id"], set()).add(line["passage_id"])
    questions = []
    for line in _lines(folder / "queries.dev.jsonl"):
        found = frozenset(gold.get(line["id"], set()) & tables.keys())
        cells = tuple((cell["row"], cell["col"]) for cell in line.get("answer_cells") or ())
        is_clear = "specific" in line["tags"] and any(
            tag.startswith("from:table") for tag in line["tags"]
        )
        if found and (cells or is_clear):
            questions.append(Question(line["query"] if is_clear else "", found, cells))
    return tables, questions


def cut(table: Table, *, style: Style, budget: int, tokenizer: Tokenizer) -> list[Chunk]:
    """Cut one table as the chunker does, under ``style``."""
    parts = split_table(table, budget=budget, tokenizer=tokenizer, style=style)
    return table_chunks(
        parts,
        heading_path=(),
        char_start=0,
        char_end=0,
        page_start=None,
        page_end=None,
        table_id="t1",
    )


def keeps_cell(table: Table, chunks: Iterable[Chunk], row: int, col: int) -> bool:
    """Whether one chunk holds a cell, its row's labels on the same line, and its headers."""
    grid = Grid.of(table)
    value = grid.text(row, col)
    labels = [grid.text(row, c) for c in grid.labels]
    names = [grid.texts[cell] for cell in grid.names(col)]
    return any(
        all(name in chunk.text for name in names)
        and any(
            value in line and all(label in line for label in labels)
            for line in chunk.text.split("\n")
        )
        for chunk in chunks
    )


def main() -> None:
    """Print one line per rendering."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--budget", type=int, nargs="+", default=[320, 128])
    parser.add_argument("--tables", type=int, default=300, help="how many to search among")
    options = parser.parse_args()
    rows, questions = read_set(options.folder)
    embedder = load("e5")
    # The tables that questions ask for, filled up with others to search among.
    asked = {name for question in questions if question.text for name in question.tables}
    others = [name for name in sorted(rows) if name not in asked]
    names = sorted(asked) + others[: max(0, options.tables - len(asked))]
    asking = [question for question in questions if question.text]
    vectors = np.array([embedder.embed_query(question.text) for question in asking])
    print(f"{len(rows)} tables, {len(asking)} questions among {len(names)} of them")
    print("budget rendering  chunks tokens  cells kept   dense: MRR R@1 R@5   hybrid: MRR R@1 R@5")
    for budget in options.budget:
        for title, style in STYLES.items():
            kept = _cells_kept(rows, questions, style, budget, embedder.tokenizer)
            owners: list[str] = []
            chunks: list[Chunk] = []
            for name in names:
                table = table_from_rows(rows[name])
                if table is not None:
                    made = cut(table, style=style, budget=budget, tokenizer=embedder.tokenizer)
                    chunks += made
                    owners += [name] * len(made)
            texts = [chunk.text for chunk in chunks]
            dense = vectors @ embedder.embed_passages(texts).T
            words = _bm25([question.text for question in asking], texts)
            hybrid = 1 / (_RRF + _ranks(dense)) + 1 / (_RRF + _ranks(words))
            print(
                f"{budget:6} {title:9} {len(chunks):7} {sum(c.tokens for c in chunks):6}"
                f"  {kept[0]:4}/{kept[1]:<5}  {_scores(dense, owners, asking)}"
                f"  {_scores(hybrid, owners, asking)}",
                flush=True,
            )


def _cells_kept(
    rows: dict[str, list[list[str]]],
    questions: Sequence[Question],
    style: Style,
    budget: int,
    tokenizer: Tokenizer,
) -> tuple[int, int]:
    kept = total = 0
    for question in questions:
        for name in question.tables if len(question.tables) == 1 else ():
            # The grid is read as it stands, so that the answers' rows and columns hold.
            table = _as_it_stands(rows[name])
            chunks = cut(table, style=style, budget=budget, tokenizer=tokenizer)
            body = [cell for cell in question.cells if cell[0] >= table.header_rows and cell[1]]
            total += len(body)
            kept += sum(keeps_cell(table, chunks, row, col) for row, col in body)
    return kept, total


def _as_it_stands(rows: list[list[str]]) -> Table:

    header = next((n for n, row in enumerate(rows) if row[0].strip()), 0)
    return Table(
        n_rows=len(rows),
        n_cols=max(map(len, rows)),
        cells=tuple(
            Cell(row=r, col=c, text=" ".join(text.split()))
            for r, row in enumerate(rows)
            for c, text in enumerate(row)
            if text.strip()
        ),
        header_rows=header,
        header_cols=1,
    )


def _lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def _ranks(scores: NDArray[Any]) -> NDArray[Any]:
    ranks: NDArray[Any] = np.argsort(np.argsort(-scores, axis=1), axis=1) + 1
    return ranks


def _bm25(questions: Sequence[str], texts: Sequence[str]) -> NDArray[Any]:
    """BM25 with k1 1.2, b 0.75: float of shape (questions, texts)."""
    bags = [Counter(re.findall(r"\w+", text.casefold())) for text in texts]
    lengths = np.array([bag.total() for bag in bags], dtype=float)
    norm = 1.2 * (0.25 + 0.75 * lengths / lengths.mean())
    scores = np.zeros((len(questions), len(texts)))
    for number, question in enumerate(questions):
        for word in set(re.findall(r"\w+", question.casefold())):
            counts = np.array([bag[word] for bag in bags], dtype=float)
            found = np.count_nonzero(counts)
            idf = math.log(1 + (len(texts) - found + 0.5) / (found + 0.5))
            scores[number] += idf * counts * 2.2 / (counts + norm)
    return scores


def _scores(scores: NDArray[Any], owners: Sequence[str], asking: Sequence[Question]) -> str:
    ranks = []
    for line, question in zip(scores, asking, strict=True):
        ordered = dict.fromkeys(owners[i] for i in np.argsort(-line))
        ranks.append(next(n for n, name in enumerate(ordered, 1) if name in question.tables))
    found = np.array(ranks)
    mrr = float(np.mean(1 / found))
    return f"{mrr:.3f} {np.mean(found <= 1):.3f} {np.mean(found <= 5):.3f}"


if __name__ == "__main__":
    main()
