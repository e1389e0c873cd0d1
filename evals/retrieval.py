"""Ask a set's questions of a filled index, and sum up what each retriever found."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from typing import Any
from uuid import UUID

from enrich.models import Embedder
from evals.benchmark import Benchmark, BenchQuestion, day_of
from evals.metrics import CUTS, first_ranks, mean, measure, percentile
from evals.passages import holds_answer
from search.queries import NothingAsked
from search.request import Candidate, RetrievalPolicy, SearchRequest
from search.retrieval import retrieve
from store.database import Store

RETRIEVERS: dict[str, tuple[bool, bool]] = {  # which halves of the search: dense, text
    "dense": (True, False),
    "text": (False, True),
    "hybrid": (True, True),
}
DEPTH = 20
DUMP_DEPTH = 50
TENANT, PRINCIPAL = "bench", "role:eval"


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacedChunk:
    """A chunk of the scratch index: its document, its place there, the passages it holds."""

    document: str
    ordinal: int
    tokens: int
    passages: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """One question's results: figures by retriever, and what may be written down of them."""

    question: BenchQuestion
    day: date
    figures: Mapping[str, Mapping[str, float]]
    milliseconds: float  # the hybrid search, its question embedded already
    rows: Mapping[str, Sequence[Mapping[str, Any]]] = field(default_factory=dict)


def ask(
    store: Store,
    benchmark: Benchmark,
    chunks: Mapping[UUID, PlacedChunk],
    embedder: Embedder,
    *,
    today: date,
    policy: RetrievalPolicy | None = None,
    with_rows: bool = False,
    advance: Callable[[], None] = lambda: None,
) -> Iterator[tuple[Asked, bool]]:
    """Ask every question of each retriever; yields results, and whether the day was moved."""
    base = policy or RetrievalPolicy()
    for question in benchmark.questions:
        day, is_moved = day_of(question, benchmark.documents, today)
        request = SearchRequest(
            query=question.query, tenant=TENANT, principals=(PRINCIPAL,), as_of=day
        )
        embedder.embed_query(question.query)  # once, and not in the time of the search
        figures: dict[str, dict[str, float]] = {}
        rows: dict[str, list[dict[str, Any]]] = {}
        milliseconds = 0.0
        for name, (dense, text) in RETRIEVERS.items():
            depth = DUMP_DEPTH if with_rows and name != "hybrid" else DEPTH
            asking = replace(base, k=depth, depth=max(base.depth, depth), dense=dense, text=text)
            begun = time.perf_counter()
            found = _found(store, request, asking, embedder)
            if name == "hybrid":
                milliseconds = 1000 * (time.perf_counter() - begun)
            figures[name] = _figures(question, found, chunks, benchmark)
            rows[name] = [_row(question, hit, chunks) for hit in found] if with_rows else []
        advance()
        yield (
            Asked(
                question=question, day=day, figures=figures, milliseconds=milliseconds, rows=rows
            ),
            is_moved,
        )


def _found(
    store: Store, request: SearchRequest, policy: RetrievalPolicy, embedder: Embedder
) -> list[Candidate]:
    try:
        return retrieve(store, request, policy, lambda _name: embedder)[0]
    except NothingAsked:
        return []  # a question without words finds nothing


def _gold(question: BenchQuestion, chunk: PlacedChunk) -> set[tuple[str, str]]:
    return {(chunk.document, passage) for passage in chunk.passages} & set(question.gold)


def _figures(
    question: BenchQuestion,
    found: Sequence[Candidate],
    chunks: Mapping[UUID, PlacedChunk],
    benchmark: Benchmark,
) -> dict[str, float]:
    held = [_gold(question, chunks[hit.chunk_id]) for hit in found]
    figures = measure(first_ranks(held).values(), len(question.gold))
    if is_answerable(question, benchmark):
        documents = set(question.documents)
        rank = next(
            (
                rank
                for rank, hit in enumerate(found, start=1)
                if chunks[hit.chunk_id].document in documents
                and holds_answer(hit.text, question.answers)
            ),
            None,
        )
        figures |= {f"answer@{k}": float(rank is not None and rank <= k) for k in CUTS}
    return figures


def is_answerable(question: BenchQuestion, benchmark: Benchmark) -> bool:
    """Whether the answer stands in a gold passage word for word, so that a chunk can hold it."""
    texts = [
        passage.text
        for document in question.documents
        for passage in benchmark.documents[document].passages
        if (document, passage.id) in question.gold
    ]
    return any(holds_answer(text, question.answers) for text in texts)


def _row(
    question: BenchQuestion, hit: Candidate, chunks: Mapping[UUID, PlacedChunk]
) -> dict[str, Any]:
    chunk = chunks[hit.chunk_id]
    return {
        "document": chunk.document,
        "chunk": chunk.ordinal,
        "tokens": chunk.tokens,
        "gold": sorted(passage for _, passage in _gold(question, chunk)),
        "answer": chunk.document in question.documents and holds_answer(hit.text, question.answers),
        "score": hit.score,
        "ranks": dict(hit.ranks),
        "scores": dict(hit.scores),
    }


def dump_row(asked: Asked) -> dict[str, Any]:
    """One line of ``--dump``: the question's results by retriever, for trying out other fusions."""
    question = asked.question
    return {
        "id": question.id,
        "query": question.query,
        "tags": list(question.tags),
        "language": question.language,
        "as_of": asked.day.isoformat(),
        "gold": [list(pair) for pair in question.gold],
        "figures": {name: dict(values) for name, values in asked.figures.items()},
        "ms": round(asked.milliseconds, 2),
        **{name: list(rows) for name, rows in asked.rows.items()},
    }


def summary(asked: Sequence[Asked]) -> dict[str, Any]:
    """Average by retriever, with the count of questions and the hybrid search's times."""
    times = [item.milliseconds for item in asked]
    answered = sum("answer@5" in item.figures["hybrid"] for item in asked)
    p50, p95 = percentile(times, 50), percentile(times, 95)
    return {
        **{name: _rounded(mean([item.figures[name] for item in asked])) for name in RETRIEVERS},
        "n": len(asked),
        "n_answers": answered,
        "p50_ms": p50 and round(p50, 2),
        "p95_ms": p95 and round(p95, 2),
    }


def _rounded(figures: Mapping[str, float]) -> dict[str, float]:
    return {name: round(value, 5) for name, value in figures.items()}


def segments(questions: Iterable[BenchQuestion]) -> dict[str, set[str]]:
    """Ids of questions by tag, by language, and of what is written with diacritics as it should be.

    A set that repeats questions without diacritics has a segment ``LANGUAGE, as written`` besides,
    of the others.
    """
    found: dict[str, set[str]] = {}
    bare: set[str] = set()
    by_language: dict[str, set[str]] = {}
    for question in questions:
        for tag in question.tags:
            found.setdefault(tag, set()).add(question.id)
        if question.language:
            by_language.setdefault(question.language, set()).add(question.id)
        if {"no-diacritics", "no_diacritics"} & set(question.tags):
            bare.add(question.id)
    for language, ids in by_language.items():
        found.setdefault(language, set()).update(ids)
        if ids & bare and ids - bare:
            found[f"{language}, as written"] = ids - bare
    return dict(sorted(found.items()))


def report(asked: Sequence[Asked]) -> dict[str, Any]:
    """The figures of a set: over all its questions, and by segment under ``tags``."""
    parts = segments(item.question for item in asked)
    return {
        **summary(asked),
        "tags": {
            name: summary([item for item in asked if item.question.id in ids])
            for name, ids in parts.items()
        },
    }
