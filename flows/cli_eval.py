"""mucluc eval."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any
from zoneinfo import ZoneInfo

import typer

from flows.cli_errors import Exit, console, stop, told
from flows.cli_options import SettingsFile
from store.words import count

if TYPE_CHECKING:
    from evals.benchmark import Benchmark
    from flows.settings import Settings


def evaluate(
    golden: Annotated[
        Path | None, typer.Argument(help="Golden questions, to be asked of your index.")
    ] = None,
    docs: Annotated[
        Path | None, typer.Option(help="Documents of a set, one JSON object a line.")
    ] = None,
    queries: Annotated[Path | None, typer.Option(help="Its questions.")] = None,
    qrels: Annotated[Path | None, typer.Option(help="Which passage answers which.")] = None,
    model: Annotated[
        str | None, typer.Option(help="Embedding model; the settings' one by default.")
    ] = None,
    tag: Annotated[
        list[str] | None,
        typer.Option(help="Only questions with this tag. Repeatable: all of them."),
    ] = None,
    without: Annotated[
        list[str] | None, typer.Option(help="No questions with this tag. Repeatable.")
    ] = None,
    limit: Annotated[int | None, typer.Option(min=1, help="Only the first N questions.")] = None,
    dump: Annotated[
        Path | None,
        typer.Option(help="Write each question's results there (50 a retriever), as JSON lines."),
    ] = None,
    cache: Annotated[
        Path | None,
        typer.Option(help="Folder of embeddings that outlive the run; HOME/eval by default."),
    ] = None,
    keep: Annotated[
        bool, typer.Option("--keep", help="Keep the scratch database, and say where it is.")
    ] = False,
    index: Annotated[str, typer.Option(help="Golden set: which index, or INDEX@ALIAS.")] = "main",
    version: Annotated[
        str | None, typer.Option(help="Golden set: a version instead of an alias.")
    ] = None,
    policy: Annotated[
        Path | None,
        typer.Option(help="A TOML or JSON file of search settings to try."),
    ] = None,
    against: Annotated[
        str | None,
        typer.Option(help="Golden set: compare with a saved run (RUN.json) or a version."),
    ] = None,
    save: Annotated[
        Path | None, typer.Option(help="Golden set: write the run there, for --against.")
    ] = None,
    report: Annotated[
        Path | None,
        typer.Option(help="Golden set, with --against: write the decision report there."),
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one line of JSON, the last of the output.")
    ] = False,
    settings: SettingsFile = None,
) -> None:
    """Measure retrieval: golden questions on your index, or a set of documents and questions.

    A golden set names for each question who asks, on which day, and where the answer stands
    (examples/golden.jsonl). It is asked of your index; --against compares with another run or
    version, question by question, and exits with 1 when that advises to roll back.

    A set of three files is indexed in a scratch database with the chunker and recipe of a sync,
    and asked by vectors (dense), by words (text) and by both (hybrid). What was embedded once is
    kept in the cache; your own index is not touched. Both formats: docs/quality.md.

    [bold]mucluc eval golden.jsonl --save before.json[/]
    [bold]mucluc eval golden.jsonl --policy try.toml --against before.json --report out[/]
    [bold]mucluc eval golden.jsonl --version v3 --against v2[/]
    [bold]mucluc eval --docs d.jsonl --queries q.jsonl --qrels r.jsonl --model minilm --json[/]
    """
    with told():
        from flows.settings import Settings  # noqa: PLC0415

        loaded = Settings.load(settings)
        files = (docs, queries, qrels)
        if golden is not None and any(files):
            raise stop(
                Exit.WRONG_USE,
                "a golden set is asked of your index, a set of three files of one of its own.",
                "Name one of them.",
            )
        if golden is not None:
            from flows.cli_eval_golden import evaluate_golden, read_questions  # noqa: PLC0415

            evaluate_golden(
                loaded,
                read_questions(golden, tag or [], without or [], limit),
                index=index,
                version=version,
                policy=policy,
                against=against,
                save=save,
                report_in=report,
                as_json=as_json,
            )
            return
        if docs is None or queries is None or qrels is None:
            raise stop(
                Exit.WRONG_USE,
                "name a golden set, or the three files of a set.",
                "mucluc eval GOLDEN.jsonl   or   mucluc eval --docs DOCUMENTS.jsonl --queries "
                "QUESTIONS.jsonl --qrels JUDGEMENTS.jsonl",
            )
        figures = _benchmark(
            loaded,
            _chosen(docs, queries, qrels, tag or [], without or [], limit),
            model or loaded.recipe.model,
            cache=(cache or loaded.home / "eval").absolute(),
            keep=keep,
            dump=dump,
            policy=policy,
        )
    if as_json:
        typer.echo(json.dumps(figures, ensure_ascii=False))
    else:
        _print(figures)


def _chosen(
    docs: Path,
    queries: Path,
    qrels: Path,
    tags: list[str],
    without: list[str],
    limit: int | None,
) -> Benchmark:
    from evals.benchmark import BenchmarkProblem, read_benchmark  # noqa: PLC0415

    try:
        found = read_benchmark(docs, queries, qrels)
    except BenchmarkProblem as exc:
        raise stop(
            Exit.WRONG_USE, f"{exc}.", "The format of a set stands in docs/quality.md."
        ) from None
    chosen = [
        question
        for question in found.questions
        if set(tags) <= set(question.tags) and not set(without) & set(question.tags)
    ]
    if not chosen:
        known = sorted({tag for question in found.questions for tag in question.tags})
        raise stop(
            Exit.WRONG_USE, "no question has these tags.", f"The set's tags: {', '.join(known)}"
        )
    if found.unjudged:
        console().print(
            f"{count(found.unjudged, 'question without a passage', 'questions without a passage')} "
            f"in {qrels}: left out."
        )
    return replace(found, questions=tuple(chosen[:limit]))


def _benchmark(
    settings: Settings,
    benchmark: Benchmark,
    model: str,
    *,
    cache: Path,
    keep: bool,
    dump: Path | None,
    policy: Path | None,
) -> dict[str, Any]:
    from enrich.embedders import load  # noqa: PLC0415
    from evals.retrieval import dump_row, report  # noqa: PLC0415
    from evals.vector_cache import CachedEmbedder  # noqa: PLC0415
    from flows.asking import policy_of  # noqa: PLC0415
    from flows.cli_eval_golden import policy_in  # noqa: PLC0415
    from flows.evaluating import NotIndexed, facts, run_benchmark  # noqa: PLC0415

    out = console()
    try:
        embedder = CachedEmbedder(load(model), cache / "vectors")
    except OSError as exc:
        raise stop(
            Exit.WRONG_USE, f"{cache} cannot be written: {exc.strerror}.", "Name another: --cache"
        ) from None
    try:
        measured = run_benchmark(
            settings,
            benchmark,
            embedder,
            cache=cache,
            today=datetime.now(ZoneInfo(settings.timezone)).date(),
            policy=policy_in(policy, policy_of(settings, None)),
            keep=keep,
            with_rows=dump is not None,
            shown=out.is_terminal,
        )
    except NotIndexed as exc:
        raise stop(Exit.FAILED, f"{exc}.") from None
    if dump is not None:
        lines = [json.dumps(dump_row(item), ensure_ascii=False) for item in measured.asked]
        dump.parent.mkdir(parents=True, exist_ok=True)
        dump.write_text("\n".join(lines) + "\n", encoding="utf-8")
        out.print(f"Results of each question: {dump}")
    if measured.database:
        out.print(f"The scratch database stays: {measured.database}", soft_wrap=True)
    return {**report(measured.asked), **facts(measured, model)}


def _print(figures: dict[str, Any]) -> None:
    from rich.console import Console  # noqa: PLC0415

    from evals.tables import figures_table, segments_table  # noqa: PLC0415

    out = Console(highlight=False)
    out.print(figures_table(figures))
    if figures["tags"]:
        out.print(segments_table(figures))
    times = f"hybrid p50 {figures['p50_ms']:.0f} ms, p95 {figures['p95_ms']:.0f} ms"
    out.print(
        f"{count(figures['n'], 'question')}, {count(figures['chunks'], 'chunk')}, model "
        f"{figures['model']}; {times}, "
        f"without embedding the question"
    )
    if figures["moved_days"]:
        out.print(
            f"{count(figures['moved_days'], 'question')} without a day: asked for one on which "
            "the document holds"
        )
