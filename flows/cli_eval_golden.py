"""mucluc eval GOLDEN: a golden set asked of an index, and compared with another run."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from flows.cli_errors import Exit, console, stop

if TYPE_CHECKING:
    from evals.golden import GoldenQuestion
    from evals.golden_run import GoldenRun
    from evals.paired import Comparison, Verdict
    from flows.settings import Settings
    from search.request import RetrievalPolicy
    from store.database import Store


def evaluate_golden(
    settings: Settings,
    questions: Sequence[GoldenQuestion],
    *,
    index: str,
    version: str | None,
    policy: Path | None,
    against: str | None,
    save: Path | None,
    report_in: Path | None,
    as_json: bool,
) -> None:
    """Run a golden set, print its figures, and with ``against`` what changed.

    Raises typer.Exit with FAILED when the comparison advises to roll back.
    """
    from evals.golden_run import DEPTH, report  # noqa: PLC0415
    from evals.paired import RunsDiffer, compare_runs, verdict  # noqa: PLC0415
    from flows.asking import helpers_of, policy_of  # noqa: PLC0415
    from flows.opening import open_from  # noqa: PLC0415

    base = policy_of(settings, DEPTH)
    asked = policy_in(policy, base)
    asked = replace(asked, k=max(asked.k, DEPTH))
    helpers = helpers_of(settings)
    earlier = _saved(Path(against)) if against and _is_file(against) else None
    with open_from(settings) as store:
        later = _run(store, questions, asked, helpers, index, version, policy)
        if against and earlier is None:
            earlier = _run(store, questions, base, helpers, index, against, None)
    if save is not None:
        save.write_text(json.dumps(later.to_json(), ensure_ascii=False) + "\n", encoding="utf-8")
        console().print(f"The run: {save}. Compare another with it: --against {save}")
    figures: dict[str, Any] = report(later)
    if earlier is None:
        _print(figures, as_json)
        return
    try:
        found = compare_runs(earlier, later)
    except RunsDiffer:
        raise stop(
            Exit.WRONG_USE,
            f"{against} is a run of other questions.",
            "Runs pair where they asked the same golden set: run it again with --save.",
        ) from None
    judged = verdict(found)
    figures["comparison"] = _compared(found, judged)
    if report_in is not None:
        _write_report(report_in, found, judged)
    _print(figures, as_json, found, judged)
    if not judged.passed:
        raise typer.Exit(int(Exit.FAILED))


def read_questions(
    path: Path, tags: Sequence[str], without: Sequence[str], limit: int | None
) -> list[GoldenQuestion]:
    """Read a golden set, or stop with what is wrong with it."""
    from evals.golden_file import GoldenProblem, read_golden  # noqa: PLC0415

    try:
        found = read_golden(path)
    except GoldenProblem as exc:
        raise stop(
            Exit.WRONG_USE,
            f"{exc}.",
            "The format stands in docs/quality.md; an example: examples/golden.jsonl",
        ) from None
    chosen = [
        question
        for question in found
        if set(tags) <= set(question.tags) and not set(without) & set(question.tags)
    ]
    if not chosen:
        known = sorted({tag for question in found for tag in question.tags})
        raise stop(
            Exit.WRONG_USE, "no question has these tags.", f"The set's tags: {', '.join(known)}"
        )
    return chosen[:limit]


def _is_file(name: str) -> bool:
    return name.endswith(".json") or Path(name).is_file()


def policy_in(path: Path | None, base: RetrievalPolicy) -> RetrievalPolicy:
    """Return the policy of a file, or ``base``, or stop with what is wrong with the file."""
    from evals.policies import PolicyProblem, read_policy  # noqa: PLC0415

    if path is None:
        return base
    try:
        return read_policy(path, base)
    except PolicyProblem as exc:
        raise stop(Exit.WRONG_USE, f"{exc}.") from None


def _saved(path: Path) -> GoldenRun:
    from evals.golden_run import GoldenRun  # noqa: PLC0415

    try:
        return GoldenRun.from_json(json.loads(path.read_text(encoding="utf-8")))
    except OSError as exc:
        raise stop(Exit.WRONG_USE, f"{path} cannot be read: {exc.strerror}.") from None
    except ValueError:
        raise stop(
            Exit.WRONG_USE,
            f"{path} is not a run of a golden set.",
            "Write one with: mucluc eval GOLDEN.jsonl --save RUN.json",
        ) from None


def _run(
    store: Store,
    questions: Sequence[GoldenQuestion],
    policy: RetrievalPolicy,
    helpers: dict[str, Any],
    index: str,
    version: str | None,
    policy_file: Path | None,
) -> GoldenRun:
    from enrich.embedders import load  # noqa: PLC0415
    from evals.golden_run import RememberedQuestions, run_golden  # noqa: PLC0415
    from flows.progress import StageProgress  # noqa: PLC0415
    from search.retrieval import retrieve  # noqa: PLC0415
    from store.versions import list_versions  # noqa: PLC0415

    name, _, alias = index.partition("@")
    if version is not None:
        known = [str(row["name"]) for row in list_versions(store, name)]
        if version not in known:
            raise stop(
                Exit.WRONG_USE,
                f"index {name} has no version {version}.",
                f"It has: {', '.join(known) or 'none'}. See: mucluc versions",
            )
    models = RememberedQuestions(load)
    label = version or (alias or None)
    if policy_file is not None:
        label = f"{label or name}, {policy_file.name}"
    with StageProgress(shown=console().is_terminal) as progress:
        progress.expect("questions", len(questions))
        return run_golden(
            partial(_search, partial(retrieve, store, **helpers), models),
            questions,
            policy,
            index=name,
            alias=alias or "active",
            version=version,
            label=label,
            warm=models.warm,
            advance=lambda: progress.advance("questions"),
        )


def _search(ask: Any, models: Any, request: Any, policy: Any) -> Any:
    return ask(request, policy, models)


def _compared(found: Comparison, judged: Verdict) -> dict[str, Any]:
    return {
        "against": found.before.label,
        "decision": judged.decision.value,
        "passed": judged.passed,
        "reasons": list(judged.reasons),
        "warnings": list(judged.warnings),
        "lost": sorted({item.id for item in found.lost}),
        "won": sorted({item.id for item in found.won}),
        "differences": [item.to_json() for item in found.differences],
    }


def _write_report(folder: Path, found: Comparison, judged: Verdict) -> None:
    from evals.decision import markdown, page  # noqa: PLC0415

    folder.mkdir(parents=True, exist_ok=True)
    (folder / "decision.md").write_text(markdown(found, judged), encoding="utf-8")
    (folder / "decision.html").write_text(page(found, judged), encoding="utf-8")
    console().print(f"The report: {folder / 'decision.html'} and decision.md beside it")


def _print(
    figures: dict[str, Any],
    as_json: bool,
    found: Comparison | None = None,
    judged: Verdict | None = None,
) -> None:
    if as_json:
        typer.echo(json.dumps(figures, ensure_ascii=False))
        return
    from rich.console import Console  # noqa: PLC0415

    from evals.tables import differences_table, golden_table  # noqa: PLC0415

    out = Console(highlight=False)
    out.print(golden_table(figures))
    out.print(
        f"version {figures['version']}, model {figures['model']}; p50 {figures['p50_ms']:.0f} ms, "
        f"p95 {figures['p95_ms']:.0f} ms, without embedding the question"
    )
    if found is None or judged is None:
        return
    out.print(differences_table(found))
    for line in (*judged.reasons, *judged.warnings):
        out.print(f"- {line}", markup=False)
    for name, items in (("lost", found.lost), ("won", found.won)):
        ids = sorted({item.id for item in items})
        out.print(f"{name}: {', '.join(ids) or 'none'}", markup=False)
    out.print(f"Advice: {judged.decision}", style="bold")
