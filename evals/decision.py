"""The decision report: what changed between two runs, for whom, and what to do about it.

Figures and question ids alone: a golden set's questions and documents stand in no report.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

from evals.charts import Group, Interval, bars, intervals
from evals.golden_run import GoldenRun, summary
from evals.paired import (
    CONFIDENCE,
    DRAWS,
    EVERYTHING,
    GATED,
    LEAST_QUESTIONS,
    MEASURES,
    PROMISES,
    SEED,
    Comparison,
    Decision,
    Difference,
    Moved,
    Verdict,
)

HEAD = ("segment", "measure", "questions", "before", "after", "change", "interval")
SHOWN = (*MEASURES, "hit@1", "no_answer", "only_version", "right_version", *PROMISES)
ADVICE = {
    Decision.KEEP: "Keep the later version: no segment is worse, and over all questions the "
    "interval of the change does not reach below zero.",
    Decision.LIMITED: "Try the later version on some of the searches first: nothing is shown to be "
    "worse, but the interval of the change reaches below zero.",
    Decision.ROLL_BACK: "Keep the earlier version, or go back to it: what is below is worse by "
    "more than chance, or a promise is broken.",
}


def markdown(comparison: Comparison, verdict: Verdict) -> str:
    """Write the report as Markdown, without charts."""
    before, after = comparison.before, comparison.after
    lines = [
        f"# {before.label} → {after.label}: {verdict.decision}",
        "",
        ADVICE[verdict.decision],
        "",
        "## Baseline and change",
        "",
        *table(("", "baseline", "change"), _runs(before, after)),
        "",
        "## Before and after",
        "",
        *table(
            HEAD,
            [row(d) for d in shown(comparison.differences)],
        ),
        "",
        f"Percent; the interval holds the change with {CONFIDENCE:.0%} confidence (paired "
        f"percentile bootstrap over questions, {DRAWS:,} draws, seed {SEED}).",
        "",
        "## Risks",
        "",
        *(_list([*verdict.reasons, *verdict.warnings]) or ["None was found."]),
        "",
        "## Questions that lost",
        "",
        *(_list(map(_moved, comparison.lost)) or ["None."]),
        "",
        "## Questions that won",
        "",
        *(_list(map(_moved, comparison.won)) or ["None."]),
        "",
        "## How it is decided",
        "",
        *_list(_rules()),
        "",
    ]
    return "\n".join(lines)


def page(comparison: Comparison, verdict: Verdict) -> str:
    """Write the report as one HTML page with charts: nothing is loaded from anywhere."""
    before, after = comparison.before, comparison.after
    title = f"{before.label} → {after.label}"
    risks = [*verdict.reasons, *verdict.warnings]
    parts = [
        f"<h1>{escape(title)}</h1>",
        f'<p class="v {"ok" if verdict.passed else "no"}">{escape(verdict.decision)}</p>',
        f"<p>{escape(ADVICE[verdict.decision])}</p>",
        "<h2>Baseline and change</h2>",
        html_table(("", "baseline", "change"), _runs(before, after)),
        "<h2>Before and after</h2>",
        charts(comparison.differences, (before.label, after.label)),
        html_table(HEAD, [row(d) for d in shown(comparison.differences)]),
        "<h2>Risks</h2>",
        html_list(risks) if risks else "<p>None was found.</p>",
        "<h2>Questions that lost</h2>",
        html_list(map(_moved, comparison.lost)) if comparison.lost else "<p>None.</p>",
        "<h2>Questions that won</h2>",
        html_list(map(_moved, comparison.won)) if comparison.won else "<p>None.</p>",
        "<h2>How it is decided</h2>",
        html_list(_rules()),
    ]
    return _PAGE.format(title=escape(title), style=_STYLE, body="\n".join(parts))


def charts(differences: Sequence[Difference], labels: tuple[str, str]) -> str:
    """Draw a measure by segment, before and after, and what changed with its intervals: HTML."""
    gated = [d for d in differences if d.measure == GATED[0]]
    moved = [d for d in differences if d.measure in GATED and _tells(d)]
    groups = [Group(d.segment, (d.before, d.after), str(d.n)) for d in gated]
    changes = [
        Interval(
            label=d.segment,
            change=d.change,
            low=d.low,
            high=d.high,
            is_bad=d.high < 0,
            note=d.measure,
        )
        for d in moved
    ]
    title = f"change with its {CONFIDENCE:.0%} interval, points"
    return (
        f"<figure>{bars(f'{GATED[0]} by segment, percent', labels, groups)}</figure>"
        f"<figure>{intervals(title, changes) if moved else '<p>No segment changed.</p>'}</figure>"
    )


def _rules() -> list[str]:
    return [
        f"Rolled back: a segment of at least {LEAST_QUESTIONS} questions whose {', '.join(GATED)} "
        "fell with the whole interval below zero; or any question for which "
        f"{' or '.join(PROMISES)} no longer holds.",
        "Limited roll-out: no such fall, but over all questions the interval reaches below zero.",
        "Kept: neither.",
        f"With {LEAST_QUESTIONS} questions an interval is some ten points wide, so smaller "
        "segments are warnings. The more segments, the more often one falls by chance: each is "
        f"tested at {(1 - CONFIDENCE) / 2:.1%}.",
    ]


def _runs(before: GoldenRun, after: GoldenRun) -> list[tuple[str, str, str]]:
    pairs: list[tuple[str, object, object]] = [
        ("version", before.version, after.version),
        ("model", before.model, after.model),
        ("questions", len(before.results), len(after.results)),
        ("measured", before.at, after.at),
    ]
    names = dict.fromkeys([*before.policy, *after.policy])
    pairs += [
        (f"policy: {name}", before.policy.get(name), after.policy.get(name))
        for name in names
        if before.policy.get(name) != after.policy.get(name)
    ]
    earlier, later = summary(before.results), summary(after.results)
    pairs += [(name, earlier[name], later[name]) for name in ("p50_ms", "p95_ms")]
    return [(name, str(old), str(new)) for name, old, new in pairs]


def shown(differences: Iterable[Difference]) -> list[Difference]:
    """Everything over all questions; of the segments what is gated or did change."""
    return [
        d
        for d in differences
        if d.segment == EVERYTHING or d.measure == GATED[0] or (d.measure in SHOWN and d.change)
    ]


def _tells(difference: Difference) -> bool:
    return bool(difference.change or difference.low or difference.high)


def row(d: Difference) -> tuple[str, ...]:
    """Write a difference as cells of a table under ``HEAD``: percent, and points."""
    return (
        d.segment,
        d.measure,
        str(d.n),
        f"{100 * d.before:.1f}",
        f"{100 * d.after:.1f}",
        f"{100 * d.change:+.1f}",
        f"{100 * d.low:+.1f} to {100 * d.high:+.1f}",
    )


def _moved(item: Moved) -> str:
    return (
        f"{item.id} ({', '.join(item.tags)}): {item.measure} {item.before:.2f} → {item.after:.2f}"
    )


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """Write lines of a Markdown table."""
    lines = [f"| {' | '.join(head)} |", f"|{' --- |' * len(head)}"]
    return [*lines, *(f"| {' | '.join(row)} |" for row in rows)]


def _list(items: Iterable[str]) -> list[str]:
    return [f"- {item}" for item in items]


def html_table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Write a table that scrolls when it is wider than the page."""
    heads = "".join(f"<th>{escape(name)}</th>" for name in head)
    body = "".join(
        "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows
    )
    return f"<div><table><thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table></div>"


def html_list(items: Iterable[str]) -> str:
    """Write a list, its items escaped."""
    return "<ul>" + "".join(f"<li>{escape(item)}</li>" for item in items) + "</ul>"


_STYLE = """
:root{color-scheme:light dark;--ink:#1d2430;--dim:#5b6573;--rule:#d5dae1;--ground:#fff;
--ok:#1d7a46;--no:#b3261e}
@media (prefers-color-scheme:dark){:root{--ink:#e6e9ee;--dim:#a3adba;--rule:#39424e;
--ground:#161a20;--ok:#6fd19b;--no:#ff8a80}}
body{font:15px/1.5 system-ui,sans-serif;color:var(--ink);background:var(--ground);
max-width:860px;margin:2rem auto;padding:0 1rem}
h1{font-size:1.5rem;margin-bottom:.3rem}h2{font-size:1.1rem;margin-top:2rem}
.v{font-weight:700;font-size:1.1rem;margin:.2rem 0}.ok{color:var(--ok)}.no{color:var(--no)}
table{border-collapse:collapse;font-size:.87rem}div{overflow-x:auto}
th,td{text-align:left;padding:.25rem .7rem .25rem 0;border-bottom:1px solid var(--rule)}
td:nth-child(n+3){font-variant-numeric:tabular-nums}figure{margin:1rem 0}
svg{max-width:100%;height:auto}
"""
_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>{title}</title><style>{style}</style></head><body>
{body}
</body></html>
"""
