"""docs/quality.md: the figures of search, as a page with charts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from evals.charts import Group, bars
from evals.retrieval import RETRIEVERS
from evals.tables import ALL_MEASURES, GOLDEN, percent

EXAMPLES = "examples"
_HEAD = Path(__file__).with_name("retrieval_page.md")
Figures = Mapping[tuple[str, str], Mapping[str, Any]]  # reports by (set, model)


def write_page(path: Path, figures: Figures, day: str) -> None:
    """Write the page, and its charts into a folder of the same name beside it."""
    folder = path.with_suffix("")
    folder.mkdir(parents=True, exist_ok=True)
    models = list(dict.fromkeys(model for _, model in figures))
    parts = [_HEAD.read_text(encoding="utf-8").rstrip()]
    for model in models:
        sets = {name: report for (name, used), report in figures.items() if used == model}
        golden = sets.pop(EXAMPLES, None)
        parts.append(f"## With the model `{model}`")
        if sets:
            chart = folder / f"{_file(model)}.svg"
            chart.write_text(_sets_chart(model, sets) + "\n", encoding="utf-8")
            parts.append(f"![recall@10 by set, {model}]({folder.name}/{chart.name})")
            parts.append(_sets_table(sets))
            parts += [_segments(name, report) for name, report in sets.items()]
        if golden is not None:
            chart = folder / f"{_file(model)}-examples.svg"
            chart.write_text(_golden_chart(model, golden) + "\n", encoding="utf-8")
            parts.append("### The example set")
            parts.append(f"![the example set by tag, {model}]({folder.name}/{chart.name})")
            parts.append(_golden(golden))
    parts.append(f"Measured on {day} by the command above, which wrote this page.")
    path.write_text("\n\n".join(parts) + "\n", encoding="utf-8")


def _file(model: str) -> str:
    return "".join(char if char.isalnum() else "-" for char in model)


def _sets_chart(model: str, sets: Mapping[str, Mapping[str, Any]]) -> str:
    groups = []
    for name, report in sets.items():
        for label, part in [(name, report), *_telling(report)]:
            note = str(part["n"])
            values = tuple(part[retriever].get("recall@10") for retriever in RETRIEVERS)
            groups.append(Group(label if part is report else f"– {label}", values, note))
    return bars(f"recall@10 with {model}, percent", tuple(RETRIEVERS), groups)


def _telling(report: Mapping[str, Any]) -> list[tuple[str, Mapping[str, Any]]]:
    """Segments that are a kind of question of their own, not most of the set."""
    return [
        (name, part)
        for name, part in report["tags"].items()
        if (part["n"] < 0.9 * report["n"] and ("as written" in name or "diacritics" in name))
        or name == "specific"
    ]


def _golden_chart(model: str, report: Mapping[str, Any]) -> str:
    rows = {"all questions": report, **report["tags"]}
    groups = [
        Group(name, (part["recall@5"], part["recall@10"]), str(part["n_answerable"]))
        for name, part in rows.items()
        if part["n_answerable"]
    ]
    return bars(f"the example set with {model}, percent", ("recall@5", "recall@10"), groups)


def _sets_table(sets: Mapping[str, Mapping[str, Any]]) -> str:
    head = ("set", "questions", "chunks", "", *ALL_MEASURES, "p95 ms")
    rows = []
    for name, report in sets.items():
        for retriever in RETRIEVERS:
            is_first = retriever == next(iter(RETRIEVERS))
            is_hybrid = retriever == "hybrid"
            rows.append(
                (
                    name if is_first else "",
                    str(report["n"]) if is_first else "",
                    str(report.get("chunks", "")) if is_first else "",
                    retriever,
                    *(percent(report[retriever].get(measure)) for measure in ALL_MEASURES),
                    f"{report['p95_ms']:.0f}" if is_hybrid else "",
                )
            )
    return _table(head, rows)


def _segments(name: str, report: Mapping[str, Any]) -> str:
    head = ("tag", "questions", *(f"{r}, recall@10" for r in RETRIEVERS), "hybrid, answer@10")
    rows = [
        (
            tag,
            str(part["n"]),
            *(percent(part[retriever].get("recall@10")) for retriever in RETRIEVERS),
            percent(part["hybrid"].get("answer@10")),
        )
        for tag, part in report["tags"].items()
        if part["n"] < report["n"]
    ]
    return f"### {name}, by tag\n\n{_table(head, rows)}" if rows else ""


def _golden(report: Mapping[str, Any]) -> str:
    rows = [
        (name, str(part["n"]), *(percent(part.get(measure)) for measure in GOLDEN))
        for name, part in {"all questions": report, **report["tags"]}.items()
    ]
    return _table(("", "questions", *GOLDEN.values()), rows)


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [f"| {' | '.join(head)} |", f"|{' --- |' * len(head)}"]
    return "\n".join([*lines, *(f"| {' | '.join(row)} |" for row in rows)])
