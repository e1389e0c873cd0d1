"""How much of what stands in the documents stands in the chunks: ``make quality``.

    python -m evals.quality --cases ../shared/cases

Parses and chunks every file of a set with a ground truth, scores the chunks, prints a table per
kind of file, and exits with 1 when a figure is below its floor in ``evals/quality.toml``: one set
of floors for a bare machine, one where tesseract and LibreOffice are installed.
"""

from __future__ import annotations

import argparse
import json
import sys
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table as Grid

from chunkers.chunk import Chunk, ChunkingRecipe, Tokenizer
from chunkers.structure import chunk
from enrich.contextualize import ContextInput, contextualize
from enrich.embedders import load
from enrich.models import ModelCard
from enrich.tokenizers import recipe_for
from evals.facts import MEASURES, Scored, score_file
from parsers.elements import Parsed, Unreadable
from parsers.registry import capabilities as installed
from parsers.registry import parse_file

FLOORS = Path(__file__).with_name("quality.toml")


def chunk_row(file: str, found: Chunk, contextual_text: str) -> dict[str, Any]:
    """Return one line of ``mucluc inspect --jsonl``: plain JSON values."""
    return {
        "file": file,
        "text": found.text,
        "contextual_text": contextual_text,
        "heading_path": list(found.heading_path),
        "page_start": found.page_start,
        "page_end": found.page_end,
        "table_id": found.table_id,
        "char_start": found.char_start,
        "char_end": found.char_end,
        "added": [list(span) for span in found.added],
        "tokens": found.tokens,
        "kinds": list(found.kinds),
        "warnings": list(found.warnings),
    }


def rows_of(
    file: str,
    parsed: Parsed,
    *,
    recipe: ChunkingRecipe,
    card: ModelCard,
    tokenizer: Tokenizer,
) -> Iterator[dict[str, Any]]:
    """Chunk a parsed file and yield its rows, with the text that would be embedded."""
    pieces = chunks_of(parsed, recipe=recipe, card=card, tokenizer=tokenizer)
    return (chunk_row(file, found, contextual) for found, contextual in pieces)


def chunks_of(
    parsed: Parsed, *, recipe: ChunkingRecipe, card: ModelCard, tokenizer: Tokenizer
) -> Iterator[tuple[Chunk, str]]:
    """Chunk a parsed file and yield each chunk with the text that would be embedded."""
    for found in chunk(parsed.elements, recipe=recipe, tokenizer=tokenizer):
        context = ContextInput(
            title=parsed.title,
            heading_path=found.heading_path,
            page=found.page_start if parsed.page_native else None,
        )
        whole = contextualize(context, found.text, recipe=recipe, card=card, tokenizer=tokenizer)
        yield found, whole.text


def rows_under(
    folder: Path, names: Iterable[str]
) -> Iterator[tuple[str, list[dict[str, Any]], str]]:
    """Yield (name, rows, reason) of each file; a file that cannot be read has a reason, no rows."""
    embedder = load("e5")
    recipe = recipe_for(embedder.card, embedder.tokenizer)
    for name in names:
        path = folder / name
        try:
            parsed = parse_file(path.read_bytes(), suffix=path.suffix)
        except Unreadable as refusal:
            yield name, [], refusal.code
            continue
        rows = rows_of(
            name, parsed, recipe=recipe, card=embedder.card, tokenizer=embedder.tokenizer
        )
        yield name, list(rows), ""


def totals(scored: Iterable[Scored]) -> dict[str, tuple[Counter[str], Counter[str]]]:
    """Sum (wanted, found) by kind of file, and over all under "all" and "all OCR"."""
    sums: dict[str, tuple[Counter[str], Counter[str]]] = {}
    for item in scored:
        whole = "all OCR" if item.kind.startswith("OCR") else "all"
        for kind in (item.kind, whole):
            wanted, found = sums.setdefault(kind, (Counter(), Counter()))
            wanted.update(item.wanted)
            found.update(item.found)
    return dict(sorted(sums.items()))


def below_floor(
    sums: dict[str, tuple[Counter[str], Counter[str]]], floors: dict[str, dict[str, float]]
) -> list[str]:
    """Return a line for each figure that is below its floor (shares of 1, by kind of file)."""
    lines = []
    for kind, figures in floors.items():
        wanted, found = sums.get(kind, (Counter(), Counter()))
        for measure, floor in figures.items():
            share = found[measure] / wanted[measure] if wanted[measure] else 0.0
            if share < floor:
                lines.append(f"{kind}: {measure} {share:.3f} is below {floor:.3f}")
    return lines


def report(sums: dict[str, tuple[Counter[str], Counter[str]]]) -> Grid:
    """Draw the figures: found / wanted by kind of file."""
    grid = Grid("kind", *MEASURES, title="facts kept in chunks")
    for kind, (wanted, found) in sums.items():
        figures = [f"{found[m]}/{wanted[m]}" if wanted[m] else "" for m in MEASURES]
        grid.add_row(kind, *figures, end_section=False, style="bold" if kind == "all" else "")
    return grid


def main() -> int:
    """Measure, print, compare with the floors; 0 when all hold, else 1."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0] if __doc__ else "")
    parser.add_argument("--cases", type=Path, required=True, help="folder with ground_truth.json")
    parser.add_argument("--jsonl", type=Path, help="also write the chunks there")
    parser.add_argument("--verbose", action="store_true", help="name files with facts missing")
    options = parser.parse_args()
    if not (options.cases / "ground_truth.json").is_file():
        print(f"No ground_truth.json in {options.cases}: name a set of cases with --cases.")
        return 2
    truths = json.loads((options.cases / "ground_truth.json").read_text(encoding="utf-8"))
    by_name = {truth["file"]: truth for truth in truths}
    console = Console(width=110)
    scored: list[Scored] = []
    lines: list[str] = []
    for name, rows, reason in rows_under(options.cases / "docs", by_name):
        result = score_file(by_name[name], rows)
        scored.append(result)
        lines += [json.dumps(row, ensure_ascii=False) for row in rows]
        if options.verbose and (reason or result.found != result.wanted):
            missing = {k: v - result.found[k] for k, v in result.wanted.items()}
            console.print(name, reason, {k: v for k, v in missing.items() if v})
    if options.jsonl:
        options.jsonl.write_text("\n".join(lines) + "\n", encoding="utf-8")
    sums = totals(scored)
    console.print(report(sums))
    failed = below_floor(sums, floors_here(tomllib.loads(FLOORS.read_text(encoding="utf-8"))))
    for line in failed:
        console.print(line, style="red")
    return int(bool(failed))


def floors_here(
    floors: dict[str, dict[str, dict[str, float]]], capabilities: str | None = None
) -> dict[str, dict[str, float]]:
    """Return the floors that hold with what is installed: higher ones with all optional tools.

    ``floors`` are the tables ``bare`` and ``with_tools`` of ``evals/quality.toml``.
    """
    found = installed() if capabilities is None else capabilities
    values = dict(word.partition("=")[::2] for word in found.split())
    has_tesseract = {"eng", "vie"} <= set(values.get("tesseract", "").split("+"))
    return floors["with_tools" if has_tesseract and values.get("soffice") == "yes" else "bare"]


if __name__ == "__main__":
    sys.exit(main())
