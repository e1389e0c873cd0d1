"""A promotion as pages: Markdown to read in a terminal or a review, HTML with small charts."""

from __future__ import annotations

import html
from pathlib import Path
from typing import Any

from evals.decision import HEAD, charts, html_list, html_table, row, table
from evals.paired import Difference
from flows.judging import PromotionReport
from store.words import count

STYLE = """
:root { color-scheme: light dark; --good: #2a7d4f; --bad: #b3372f; --none: #777; }
@media (prefers-color-scheme: dark) { :root { --good: #6fd19b; --bad: #ff8a80; --none: #a3adba; } }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 52rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.15rem; margin-top: 2rem; }
h3 { font-size: 1rem; } div { overflow-x: auto; } div table { font-size: .87rem; }
table { border-collapse: collapse; width: 100%; }
td, th { text-align: left; padding: .35rem .6rem; border-bottom: 1px solid #8884; }
td.n { text-align: right; font-variant-numeric: tabular-nums; }
.passed { color: var(--good); } .refused { color: var(--bad); } .skipped { color: var(--none); }
svg { display: block; width: 100%; height: auto; max-width: 34rem; }
svg text { font: 12px system-ui, sans-serif; fill: currentColor; }
.key { font-size: .87rem; } .tick { border-left: 1px solid; padding: .2em 0; margin: 0 .2em; }
figure { margin: 1.5rem 0; } figure svg { max-width: 43rem; }
"""
LEGEND = (
    "<p class='key'><span class='tick'></span> the bound of a figure; "
    "<b class='passed'>■</b> within it, <b class='refused'>■</b> beyond it</p>"
)
# Figures between 0 and 1 that a bar shows: gate, figure, words, where it should be, at least?
BARS = (
    ("complete", "text_share", "text covered, of the active version's", 0.9, True),
    ("complete", "fallback_share", "contexts that are stand-ins", 0.05, False),
    ("vectors", "lowest_cosine", "lowest cosine of vectors made again", 0.98, True),
    ("vectors", "mean_length", "mean length (1: all point one way)", 0.995, False),
)


def write_pages(report: PromotionReport, folder: Path) -> Path:
    """Write both pages; returns the HTML page's path."""
    folder.mkdir(parents=True, exist_ok=True)
    stem = f"promote-{report.index}-{report.version}-{report.run_id}"
    (folder / f"{stem}.md").write_text(as_markdown(report), encoding="utf-8")
    page = folder / f"{stem}.html"
    page.write_text(as_html(report), encoding="utf-8")
    return page


def verdict(report: PromotionReport) -> str:
    """The outcome in a sentence."""
    to = f"`{report.alias}` of index {report.index}"
    if report.forced:
        return f"{report.version} was forced to {to}, against {', '.join(report.refused_by)}."
    if report.promoted:
        return f"{report.version} passed its gates and is {to} now."
    return f"{report.version} was refused by {', '.join(report.refused_by)}; {to} is as it was."


def as_markdown(report: PromotionReport) -> str:
    """The report for a terminal or a review."""
    lines = [
        f"# Promotion of {report.version} ({report.index})",
        "",
        verdict(report),
        "",
        _facts(report),
        "",
        "| gate | result | what it found |",
        "|---|---|---|",
    ]
    for name, gate in report.gates.items():
        lines.append(f"| {name} | {_result(gate)} | {gate['words']} |")
    for name, gate in report.gates.items():
        figures = _figures(gate)
        if figures:
            lines += ["", f"## {name}", "", "| figure | |", "|---|---:|"]
            lines += [f"| {figure} | {_number(value)} |" for figure, value in figures.items()]
        lines += _answers_in_markdown(gate)
    return "\n".join(lines) + "\n"


def as_html(report: PromotionReport) -> str:
    """The report as one page that needs nothing else."""
    rows = "".join(
        f"<tr><td>{name}</td><td class='{_result(gate)}'>{_result(gate)}</td>"
        f"<td>{html.escape(str(gate['words']))}</td></tr>"
        for name, gate in report.gates.items()
    )
    details = "".join(
        f"<h2>{name}</h2><table>"
        + "".join(
            f"<tr><td>{figure.replace('_', ' ')}</td><td class='n'>{_number(value)}</td></tr>"
            for figure, value in _figures(gate).items()
        )
        + "</table>"
        + _answers_in_html(gate, report)
        for name, gate in report.gates.items()
        if _figures(gate)
    )
    title = html.escape(f"Promotion of {report.version} ({report.index})")
    return (
        "<!doctype html><html lang='en'><head><meta charset='utf-8'>"
        "<meta name='viewport' content='width=device-width, initial-scale=1'>"
        f"<title>{title}</title><style>{STYLE}</style></head><body><h1>{title}</h1>"
        f"<p>{html.escape(verdict(report)).replace('`', '')}</p>"
        f"<p>{html.escape(_facts(report))}</p>"
        f"<table><tr><th>gate</th><th>result</th><th>what it found</th></tr>{rows}</table>"
        f"{_chart(report)}{details}</body></html>\n"
    )


def _facts(report: PromotionReport) -> str:
    caught_up = count(report.caught_up, "revision was caught up", "revisions were caught up")
    return (
        f"Run {report.run_id}, {report.at:%Y-%m-%d %H:%M} ({report.at.tzinfo}). Compared with "
        f"{report.active}; {caught_up} first."
    )


def _answers_in_markdown(gate: dict[str, Any]) -> list[str]:
    """What became of golden questions, by segment: figures, tags and question ids."""
    if "differences" not in gate:
        return []
    lines = ["", *table(HEAD, map(row, _differences(gate)))]
    for title, items in _lists(gate):
        lines += ["", f"### {title}", "", *(f"- {item}" for item in items or ["none"])]
    return lines


def _answers_in_html(gate: dict[str, Any], report: PromotionReport) -> str:
    if "differences" not in gate:
        return ""
    differences = _differences(gate)
    return (
        charts(differences, (report.active, report.version))
        + html_table(HEAD, map(row, differences))
        + "".join(
            f"<h3>{title}</h3>" + (html_list(items) if items else "<p>None.</p>")
            for title, items in _lists(gate)
        )
    )


def _differences(gate: dict[str, Any]) -> list[Difference]:
    return [Difference(**values) for values in gate["differences"]]


def _lists(gate: dict[str, Any]) -> list[tuple[str, list[str]]]:
    return [
        ("Warnings", gate["warnings"]),
        ("Questions that lost", gate["lost"]),
        ("Questions that won", gate["won"]),
    ]


def _chart(report: PromotionReport) -> str:
    bars: list[str] = []
    for gate, figure, words, bound, at_least in BARS:
        value = _bar_value(report.gates.get(gate, {}), figure)
        if value is None:
            continue
        good = value >= bound if at_least else value <= bound
        y = 44 * len(bars)
        colour = "var(--good)" if good else "var(--bad)"
        bars.append(
            f"<text x='0' y='{y + 14}'>{words}: {value:.3f}, "
            f"{'at least' if at_least else 'at most'} {bound:g} is wanted</text>"
            f"<rect x='0' y='{y + 20}' width='500' height='12' fill='#8883'/>"
            f"<rect x='0' y='{y + 20}' width='{500 * min(max(value, 0), 1):.1f}' height='12' "
            f"fill='{colour}'/>"
            f"<line x1='{500 * bound:.1f}' x2='{500 * bound:.1f}' y1='{y + 17}' y2='{y + 35}' "
            "stroke='currentColor'/>"
        )
    if not bars:
        return ""
    return (
        f"<h2>At a glance</h2><svg viewBox='0 0 510 {44 * len(bars)}' role='img' "
        f"aria-label='Shares and cosines against their bounds'>{''.join(bars)}</svg>{LEGEND}"
    )


def _bar_value(gate: dict[str, Any], figure: str) -> float | None:
    if figure == "fallback_share":
        contexts = gate.get("contexts")
        return gate["fallbacks"] / contexts if contexts else None
    value = gate.get(figure)
    return None if value is None else float(value)


def _figures(gate: dict[str, Any]) -> dict[str, Any]:
    return {
        name: value
        for name, value in gate.items()
        if name not in {"passed", "words", "skipped"} and not isinstance(value, list)
    }


def _result(gate: dict[str, Any]) -> str:
    return {True: "passed", False: "refused", None: "skipped"}[gate["passed"]]


def _number(value: Any) -> str:
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, str):
        return value
    return f"{value:.3f}" if isinstance(value, float) else f"{value:,}"
