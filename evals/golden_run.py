"""A golden set asked of one version under one policy: figures by question, no text."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any

from numpy import float32
from numpy.typing import NDArray

from chunkers.chunk import Tokenizer
from enrich.models import Embedder, Vectors
from evals.golden import GoldenQuestion, judge
from evals.metrics import mean, percentile
from search.queries import NothingAsked
from search.request import Candidate, RetrievalPolicy, SearchRequest, SearchTrace

Search = Callable[[SearchRequest, RetrievalPolicy], tuple[list[Candidate], SearchTrace]]
DEPTH = 20  # results of each question: as far as recall@20 looks
FORMAT = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class GoldenResult:
    """One question's figures and the milliseconds of its search.

    The question was embedded before (``RememberedQuestions``), unless the run says otherwise.
    """

    id: str
    tags: tuple[str, ...]
    language: str | None
    figures: Mapping[str, float]
    ms: float


@dataclass(frozen=True, slots=True, kw_only=True)
class GoldenRun:
    """What a golden set gave. ``golden`` names the set's questions: runs of two sets do not pair.

    ``label`` is how the run is called in reports: a version, or a version and a policy.
    """

    label: str
    golden: str
    version: str | None
    model: str | None
    policy: Mapping[str, Any]
    at: str
    results: tuple[GoldenResult, ...]

    def to_json(self) -> dict[str, Any]:
        """Everything, as JSON values."""
        return {"format": FORMAT, **asdict(self)}

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> GoldenRun:
        """Read what ``to_json`` gave. Raises ValueError for anything else."""
        try:
            if values["format"] != FORMAT:
                raise ValueError("another format of runs")
            results = tuple(
                GoldenResult(**{**row, "tags": tuple(row["tags"])}) for row in values["results"]
            )
            known = {name: values[name] for name in cls.__slots__ if name != "results"}
        except (KeyError, TypeError) as exc:
            raise ValueError("not a run of a golden set") from exc
        return cls(**known, results=results)


class RememberedQuestions:
    """Loads embedding models, and embeds each question once.

    Pass it to a search as ``embedder_for``; after the first search, ``warm`` embeds a question
    before it is asked, so that a search's time is that of the database.
    """

    def __init__(self, load: Callable[[str], Embedder]) -> None:
        self._load = load
        self._models: dict[str, _Remembering] = {}

    def __call__(self, name: str) -> Embedder:
        """Return the model of this name."""
        if name not in self._models:
            self._models[name] = _Remembering(self._load(name))
        return self._models[name]

    def warm(self, question: str) -> None:
        """Embed a question with every model that was asked for so far."""
        for model in self._models.values():
            model.embed_query(question)


class _Remembering:
    def __init__(self, model: Embedder) -> None:
        self.card = model.card
        self.tokenizer: Tokenizer = model.tokenizer
        self._model = model
        self._known: dict[str, NDArray[float32]] = {}

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        return self._model.embed_passages(texts)

    def embed_query(self, text: str) -> NDArray[float32]:
        if text not in self._known:
            self._known[text] = self._model.embed_query(text)
        return self._known[text]


def run_golden(
    search: Search,
    questions: Sequence[GoldenQuestion],
    policy: RetrievalPolicy,
    *,
    index: str = "main",
    alias: str = "active",
    version: str | None = None,
    label: str | None = None,
    warm: Callable[[str], object] = lambda _question: None,
    advance: Callable[[], None] = lambda: None,
) -> GoldenRun:
    """Ask every question as its asker, on its day, and judge the first ``policy.k`` results.

    ``search`` is ``search.retrieval.retrieve`` with its store and models bound; what it raises
    goes up. The first question is asked twice: its first search also opens connections.
    """
    results = []
    trace = SearchTrace()
    for number, question in enumerate(questions):
        if number == 0:
            ask(search, question, policy, index=index, alias=alias, version=version)
        warm(question.query)
        result, told = ask(search, question, policy, index=index, alias=alias, version=version)
        trace = told or trace
        results.append(result)
        advance()
    return made_of(label or trace.version or alias, questions, policy, trace, results)


def ask(
    search: Search,
    question: GoldenQuestion,
    policy: RetrievalPolicy,
    *,
    index: str,
    alias: str = "active",
    version: str | None = None,
) -> tuple[GoldenResult, SearchTrace | None]:
    """Ask one question as its asker, on its day, and judge what came; how long the search took.

    The trace is None for a question without words, which finds nothing.
    """
    request = SearchRequest(
        query=question.query,
        tenant=question.tenant,
        principals=question.principals,
        as_of=question.as_of,
        index=index,
        alias=alias,
        version=version,
    )
    begun = time.perf_counter()
    found, trace = _asked(search, request, policy)
    seconds = time.perf_counter() - begun
    result = GoldenResult(
        id=question.id,
        tags=question.tags,
        language=question.language,
        figures=judge(question, found),
        ms=round(1000 * seconds, 3),
    )
    return result, trace


def made_of(
    label: str,
    questions: Sequence[GoldenQuestion],
    policy: RetrievalPolicy,
    trace: SearchTrace,
    results: Sequence[GoldenResult],
) -> GoldenRun:
    """Put a run together; ``trace`` is that of one of its searches."""
    return GoldenRun(
        label=label,
        golden=golden_id(questions),
        version=trace.version,
        model=trace.model,
        policy={name: value for name, value in asdict(policy).items() if _is_plain(value)},
        at=datetime.now(UTC).isoformat(timespec="seconds"),
        results=tuple(results),
    )


def _asked(
    search: Search, request: SearchRequest, policy: RetrievalPolicy
) -> tuple[list[Candidate], SearchTrace | None]:
    try:
        return search(request, policy)
    except NothingAsked:
        return [], None  # a question without words finds nothing


def golden_id(questions: Sequence[GoldenQuestion]) -> str:
    """Name a set of questions by what they ask and expect, in any order."""
    rows = sorted(json.dumps(asdict(q), default=str, sort_keys=True) for q in questions)
    return sha256("\n".join(rows).encode()).hexdigest()[:16]


def _is_plain(value: Any) -> bool:
    return value is None or isinstance(value, bool | int | float | str)


def segments(results: Sequence[GoldenResult]) -> dict[str, set[str]]:
    """Ids of questions by tag, and by language under ``language: …``."""
    found: dict[str, set[str]] = {}
    for result in results:
        names = [*result.tags, *([f"language: {result.language}"] if result.language else [])]
        for name in names:
            found.setdefault(name, set()).add(result.id)
    return dict(sorted(found.items()))


def summary(results: Sequence[GoldenResult]) -> dict[str, Any]:
    """Average figures, each over the questions that have it, with counts and times."""
    times = [result.ms for result in results]
    figures = mean([result.figures for result in results])
    p50, p95 = percentile(times, 50), percentile(times, 95)
    return {
        **{name: round(value, 5) for name, value in figures.items()},
        "n": len(results),
        "n_answerable": sum("recall@5" in result.figures for result in results),
        "p50_ms": p50 and round(p50, 2),
        "p95_ms": p95 and round(p95, 2),
    }


def report(run: GoldenRun) -> dict[str, Any]:
    """The run's figures: over all questions, and by segment under ``tags``."""
    return {
        **summary(run.results),
        "version": run.version,
        "model": run.model,
        "policy": dict(run.policy),
        "tags": {
            name: summary([result for result in run.results if result.id in ids])
            for name, ids in segments(run.results).items()
        },
    }
