"""How well search finds, on the sets of the shared cases and the example documents.

    python -m flows.retrieval_quality --cases ../shared/cases

Measures the example set and every retrieval set whose embeddings are in the cache, or of which so
few are missing that they are made in some minutes; ``--full`` measures all. Exits with 1 when a
figure is below its floor in ``evals/retrieval.toml``. ``--write`` writes docs/quality.md.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from rich.console import Console

from chunkers.structure import chunk
from enrich.contextualize import ContextInput, contextualize
from enrich.embedders import load
from evals.benchmark import Benchmark, read_benchmark
from evals.floors import below_floors, read_floors
from evals.golden_file import read_golden
from evals.golden_run import DEPTH, run_golden
from evals.golden_run import report as golden_report
from evals.retrieval import report
from evals.retrieval_page import EXAMPLES, write_page
from evals.tables import figures_table, golden_table
from evals.vector_cache import CachedEmbedder
from flows.asking import policy_of
from flows.evaluating import facts, run_benchmark
from flows.lanes import chunking_for
from flows.scratch_sync import sync_sources
from flows.settings import Settings
from flows.settings_tables import Recipe
from search.glossary import load_glossary
from search.retrieval import retrieve
from store.database import database_url
from store.scratch import scratch_store

ROOT = Path(__file__).resolve().parent.parent
FEW = 500  # missing embeddings that are made without --full: 80 seconds with the default model
STORY_DAY = datetime(2026, 11, 30, 9, tzinfo=UTC)  # the example documents' day


def main() -> int:
    """Measure, print, compare with the floors; 0 when all hold, else 1."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--cases", type=Path, help="folder with retrieval/SET/docs.jsonl")
    parser.add_argument("--sets", nargs="+", help="only these sets; examples is one")
    parser.add_argument("--models", nargs="+", default=["e5"])
    parser.add_argument("--full", action="store_true", help="embed whatever is missing")
    parser.add_argument("--write", type=Path, help="write the page there")
    parser.add_argument("--cache", type=Path, help="folder of embeddings; HOME/eval by default")
    options = parser.parse_args()
    settings = Settings.load()
    cache = (options.cache or settings.home / "eval").absolute()
    console = Console(width=130, highlight=False)
    figures: dict[tuple[str, str], dict[str, Any]] = {}
    for model in options.models:
        embedder = CachedEmbedder(load(model), cache / "vectors")
        if not options.sets or EXAMPLES in options.sets:
            figures[EXAMPLES, model] = examples(settings, embedder, cache)
            console.print(f"example set, {model}", golden_table(figures[EXAMPLES, model]))
        left = FEW
        for name, benchmark in _sets(options.cases, options.sets):
            missing = count_missing(benchmark, embedder, settings.recipe_of())
            if missing > left and not options.full:
                console.print(
                    f"{name}, {model}: left out, {missing} embeddings are missing (--full makes "
                    "them)"
                )
                continue
            left -= missing
            measured = run_benchmark(
                settings,
                benchmark,
                embedder,
                cache=cache,
                today=datetime.now(UTC).date(),
                policy=policy_of(settings, None),
                shown=sys.stderr.isatty(),
            )
            figures[name, model] = {**report(measured.asked), **facts(measured, model)}
            console.print(f"{name}, {model}", figures_table(figures[name, model]))
    if options.write:
        write_page(options.write, figures, datetime.now(UTC).date().isoformat())
    failed = below_floors(figures, read_floors())
    for line in failed:
        console.print(line, style="red")
    return int(bool(failed))


def _sets(cases: Path | None, wanted: list[str] | None) -> Iterator[tuple[str, Benchmark]]:
    """Yield the sets of a folder of cases, the small ones first."""
    if cases is None:
        return
    folders = [path.parent for path in cases.glob("retrieval/*/docs.jsonl")]
    for folder in sorted(folders, key=lambda path: (path / "docs.jsonl").stat().st_size):
        if not wanted or folder.name in wanted:
            yield (
                folder.name,
                read_benchmark(
                    folder / "docs.jsonl",
                    folder / "queries.dev.jsonl",
                    folder / "qrels.dev.jsonl",
                ),
            )


def count_missing(benchmark: Benchmark, embedder: CachedEmbedder, asked: Recipe) -> int:
    """Count the embeddings that a set needs and the cache does not hold."""
    recipe = chunking_for(asked, embedder)
    texts = [
        contextualize(
            ContextInput(title=document.title, heading_path=item.heading_path),
            item.text,
            recipe=recipe,
            card=embedder.card,
            tokenizer=embedder.tokenizer,
        ).text
        for document in benchmark.documents.values()
        for item in chunk(document.elements, recipe=recipe, tokenizer=embedder.tokenizer)
    ]
    return embedder.missing(texts)


def examples(settings: Settings, embedder: CachedEmbedder, cache: Path) -> dict[str, Any]:
    """Index the example documents in a scratch database and ask the golden questions."""
    given = settings.database_url.get_secret_value() if settings.database_url else None
    with scratch_store(database_url(given, cache), sweep=given is None) as store:
        sources = Settings.load(ROOT / "examples" / "mucluc.toml")
        glossary = load_glossary(ROOT / "examples" / "glossary.yaml")
        sync_sources(store, sources, embedder, now=STORY_DAY)
        run = run_golden(
            lambda request, policy: retrieve(
                store, request, policy, lambda _name: embedder, glossary=glossary
            ),
            read_golden(ROOT / "examples" / "golden.jsonl"),
            policy_of(settings, DEPTH),
            warm=embedder.embed_query,
        )
    return golden_report(run)


if __name__ == "__main__":
    sys.exit(main())
