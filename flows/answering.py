"""The evaluation gate: registered golden questions, asked of a version and of the active one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from enrich.embedders import load
from enrich.models import Embedder, EmbeddingFailed
from evals.decision import shown
from evals.golden import GoldenQuestion, GoldenSource
from evals.golden_run import DEPTH
from evals.interleaved import Interleaved, run_interleaved
from evals.paired import LEAST_QUESTIONS, Comparison, Decision, Verdict, compare_runs, verdict
from flows.asking import helpers_of, policy_of
from flows.progress import StageProgress
from flows.settings import Settings
from search.request import OutOfTime, RetrievalPolicy
from search.retrieval import retrieve
from store import golden
from store.database import Store
from store.errors import StoreError
from store.gates import Gate
from store.golden import StoredQuestion
from store.versions import Recipe, Version
from store.words import count

NAME = "evaluation"
ADVICE = {
    Decision.KEEP: "promote",
    Decision.LIMITED: "canary first",
    Decision.ROLL_BACK: "keep the active one",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Asking:
    """How a gate asks, and what it makes of the times.

    ``helpers`` are glossary and reranker as ``retrieve`` takes them. A p95 of more than
    ``latency_ratio`` times the active version's is a warning, with ``latency_refuses`` a refusal.
    """

    policy: RetrievalPolicy = field(default_factory=lambda: RetrievalPolicy(k=DEPTH))
    helpers: Mapping[str, Any] = field(default_factory=dict)
    latency_ratio: float = 1.5
    latency_refuses: bool = False


def asking_of(settings: Settings, store: Store, index: str) -> Asking:
    """How the settings ask; a reranker is loaded only where there is a question to ask.

    There is no time limit: a busy machine would leave out parts of an answer.
    Raises typer.Exit when the glossary is wrong, ModelUnavailable when the reranker is not here.
    """
    return Asking(
        policy=replace(policy_of(settings, DEPTH), seconds=None),
        helpers=helpers_of(settings) if golden.count(store, index) else {},
        latency_ratio=settings.versions.latency_ratio,
        latency_refuses=settings.versions.latency_refuses,
    )


def compare_answers(
    store: Store,
    version: Version,
    like: Version,
    asking: Asking,
    progress: StageProgress,
    *,
    loadable: bool,
) -> Gate:
    """Ask both versions, in turn, every registered question whose documents are there.

    ``loadable`` says whether the version's model is here and still the one it was. Raises
    StoreError where the database went away.
    """
    rows = golden.registered(store, version.index_name)
    if not rows:
        return Gate(name=NAME, passed=None, words="skipped: no golden set is registered")
    questions = questions_of(rows)
    states = Counter(row.state for row in rows)
    figures: dict[str, Any] = {
        "registered": len(rows),
        "asked": len(questions),
        "gone": states["gone"],
        "voided": states["voided"],
    }
    words = _cannot_ask(version, like, questions, loadable=loadable)
    if words:
        return Gate(name=NAME, passed=False, words=words, figures=figures | {"asked": 0})
    progress.expect("questions", len(questions))
    try:
        asked = run_interleaved(
            partial(_search, store, asking.helpers),
            questions,
            asking.policy,
            index=version.index_name,
            before=like.name,
            after=version.name,
            advance=lambda: progress.advance("questions"),
        )
    except (EmbeddingFailed, OutOfTime, StoreError) as exc:
        if isinstance(exc, StoreError) and exc.transient:
            raise
        words = f"a question could not be answered at all ({_code(exc)})"
        return Gate(name=NAME, passed=False, words=words, figures=figures)
    return _judge(asked, asking, figures)


def questions_of(rows: Sequence[StoredQuestion]) -> list[GoldenQuestion]:
    """The questions that can be asked, with their documents where they are now."""
    return [
        GoldenQuestion(
            id=row.name,
            query=row.query or "",
            tenant=row.tenant,
            principals=row.principals,
            as_of=row.as_of,
            expected=tuple(
                GoldenSource(uri=source.now or source.uri, quote=source.quote)
                for source in row.sources
                if source.quote is not None
            ),
            tags=row.tags,
            language=row.language,
            must_not=tuple(s.now or s.uri for s in row.sources if s.quote is None),
        )
        for row in rows
        if row.state == "asked"
    ]


def _cannot_ask(
    version: Version, like: Version, questions: Sequence[GoldenQuestion], *, loadable: bool
) -> str:
    """Why nothing can be compared, in words; empty where it can."""
    if not questions:
        return (
            "no registered question can be asked: their documents are gone, or an erasure voided "
            "them. Register others: mucluc golden add FILE"
        )
    if not loadable:
        return (
            "its model cannot be loaded here, or is another by now, so nobody can ask it: "
            f"{Recipe.from_json(version.recipe).model}"
        )
    model = Recipe.from_json(like.recipe).model
    try:
        load(model)
    except EmbeddingFailed:
        return f"the active version's model cannot be loaded here to compare with: {model}"
    return ""


def _search(store: Store, helpers: Mapping[str, Any], request: Any, policy: Any) -> Any:
    return retrieve(store, request, policy, _embedder, **helpers)


def _embedder(name: str) -> Embedder:
    return load(name)


def _judge(asked: Interleaved, asking: Asking, figures: dict[str, Any]) -> Gate:
    found = compare_runs(asked.before, asked.after)
    judged = verdict(found)
    slow = _slow(asked, asking)
    wrong = [*judged.reasons]
    if asked.impaired:
        wrong.insert(0, f"a part of {asked.impaired} searches failed, so they do not compare")
    if slow and asking.latency_refuses:
        wrong.append(slow)
    warnings = [*judged.warnings, *([slow] if slow and not asking.latency_refuses else [])]
    n = len(asked.after.results)
    if n < LEAST_QUESTIONS:
        warnings.append(
            f"{count(n, 'question')}, fewer than {LEAST_QUESTIONS}: no fall can be told"
        )
    return Gate(
        name=NAME,
        passed=not wrong,
        words="; ".join(wrong) or _right(n, len(found.lost), asked, warnings, figures),
        figures={
            **figures,
            "impaired_searches": asked.impaired,
            **asked.times(),
            **_moved(found, judged),
            "warnings": warnings,
            "differences": [item.to_json() for item in shown(found.differences)],
        },
    )


def _slow(asked: Interleaved, asking: Asking) -> str:
    if len(asked.after.results) < LEAST_QUESTIONS or asked.p95_ratio <= asking.latency_ratio:
        return ""
    before, after = asked.p95_ms
    return (
        f"p95 is {asked.p95_ratio:.2f} times the active version's ({before:.0f} → {after:.0f} ms, "
        f"asked in turn), {asking.latency_ratio:g} may be"
    )


def _right(
    n: int, lost: int, asked: Interleaved, warnings: list[str], figures: dict[str, Any]
) -> str:
    left = ", ".join(f"{figures[name]} {name}" for name in ("gone", "voided") if figures[name])
    said = [
        f"{count(n, 'question was', 'questions were')} asked"
        + (f" (not asked: {left})" if left else "")
        + (", and answered as well" if not lost else f", of which {lost} find less"),
        f"p95 {asked.p95_ratio:.2f} times the active version's",
        *(f"warning: {warning}" for warning in warnings),
    ]
    return "; ".join(said)


def _moved(found: Comparison, judged: Verdict) -> dict[str, Any]:
    return {
        "advice": ADVICE[judged.decision],
        "lost": sorted({item.id for item in found.lost}),
        "won": sorted({item.id for item in found.won}),
    }


def _code(exc: Exception) -> str:
    return str(exc.code) if isinstance(exc, StoreError) else type(exc).__name__
