"""Retrieval: one snapshot, one version, two retrievers, fused, said once, looked at again."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import date, timedelta
from typing import Any
from uuid import UUID

from enrich.models import Embedder
from search.duplicates import Passage, collapse
from search.finding import Finder, Found
from search.fusion import blend, fuse, lift
from search.glossary import EMPTY, Glossary
from search.queries import ParsedQuery, parse
from search.request import (
    RANKS,
    Candidate,
    NoActiveVersion,
    NoSuchVersion,
    Ranking,
    RetrievalPolicy,
    SearchRequest,
    SearchTrace,
)
from search.rerank import Reranker, checked
from search.variants import VariantWriter
from search.waiting import Deadline, Pending, StillRunning
from search.weighting import DENSE, TEXT, VARIANT, weights
from store.database import Store
from store.promotions import aliases
from store.reader import Identity, Reader, Scope, read_as

RERANK = "rerank"


def retrieve(
    store: Store,
    request: SearchRequest,
    policy: RetrievalPolicy,
    embedder_for: Callable[[str], Embedder],
    *,
    glossary: Glossary = EMPTY,
    writer: VariantWriter | None = None,
    reranker: Reranker | None = None,
) -> tuple[list[Candidate], SearchTrace]:
    """Search as somebody, on a day.

    The version is resolved once and the question embedded with its model (``embedder_for`` loads
    a model by its name). A retriever, writer or reranker that fails or is late is left out, and
    the trace says so. Raises NothingAsked, NoActiveVersion, NoSuchVersion; StoreError,
    EmbeddingFailed or OutOfTime when no retriever could answer.
    """
    trace = SearchTrace()
    deadline = Deadline(policy.seconds)
    with _timed(trace, "total"):
        query = parse(request.query)
        trace.exact_lookup = query.is_exact_lookup
        identity = Identity(
            tenant=request.tenant, principals=request.principals, as_of=request.as_of
        )
        with read_as(store, identity) as reader:
            version = _version(store, reader, request)
            trace.version, trace.model = version["name"], version["recipe"]["model"]
            finder = Finder(
                reader=reader,
                version=version,
                request=request,
                query=query,
                policy=policy,
                deadline=deadline,
                trace=trace,
                embedder_for=embedder_for,
                glossary=glossary,
                writer=writer,
            )
            found = _find(finder, scope_of(request, query))
            rankings = _rankings(query, found, trace, policy)
            with _timed(trace, "fuse"):
                trace.fused = _fuse(rankings, policy)
            wanted = max(policy.k, policy.rerank_depth) if reranker else policy.k
            with _timed(trace, "read"):
                shown = _read(reader, version["version_id"], trace.fused, wanted, policy.collapse)
        order = [group[0] for group in shown.groups]
        trace.collapsed = {twin: group[0] for group in shown.groups for twin in group[1:]}
        if reranker is not None:
            with _timed(trace, "rerank"):
                order = _rerank(reranker, query, shown, order, policy, deadline, trace)
    return _candidates(shown, order[: policy.k], version["name"], trace), trace


def scope_of(request: SearchRequest, query: ParsedQuery) -> Scope:
    """The request's scope, with what the question's own quotes and minus add to it."""
    scope = request.scope
    return replace(
        scope,
        phrases=tuple(dict.fromkeys((*scope.phrases, *query.phrases))),
        without=tuple(dict.fromkeys((*scope.without, *query.without))),
    )


def _version(store: Store, reader: Reader, request: SearchRequest) -> dict[str, Any]:
    if request.version is not None:
        named = reader.resolve_version(request.index, request.version)
        if named is None:
            raise NoSuchVersion(request.index)
        return named
    version = reader.resolve(request.index, request.alias)
    if version is None:
        raise NoActiveVersion(request.index, request.alias, aliases(store))
    return version


def _find(finder: Finder, scope: Scope) -> Found:
    """Find; where no chunk holds the question's quoted words, find without that condition."""
    found = finder.find(scope)
    if found.empty and finder.query.phrases:
        loose = finder.find(replace(scope, phrases=finder.request.scope.phrases))
        if not loose.empty:
            finder.trace.fallbacks.append(
                "quotes: no chunk holds the quoted words as they stand, so they were searched as "
                "words"
            )
            return loose
    return found


def _fuse(rankings: Sequence[Ranking], policy: RetrievalPolicy) -> list[tuple[UUID, float]]:
    by_number = dict(enumerate(rankings))
    weighed = {number: ranking.weight for number, ranking in by_number.items()}
    if policy.fusion == RANKS:
        ranks = {n: [chunk for chunk, _ in r.chunks] for n, r in by_number.items()}
        return fuse(ranks, k=policy.rrf_k, weights=weighed)
    scored = {
        number: [(chunk, score) for (chunk, _), score in zip(r.chunks, r.fused, strict=True)]
        for number, r in by_number.items()
    }
    return blend(scored, weights=weighed)


def _rankings(
    query: ParsedQuery, found: Found, trace: SearchTrace, policy: RetrievalPolicy
) -> list[Ranking]:
    """What was found, weighed, and noted in the trace."""
    by_retriever = weights(query, trace.model or "", found_text=bool(found.rows.get((TEXT, 0))))
    variants = {key: VARIANT if key[1] else 1.0 for key in found.rows}
    # A retriever that ran more variants than the other (their words were the same) weighs no more.
    sums = {
        name: sum(weight for key, weight in variants.items() if key[0] == name)
        for name in by_retriever
    }
    trace.variants = dict(Counter(variant.kind for variant in found.variants))
    if policy.trace_text:
        trace.variant_texts = [variant.text for variant in found.variants]
    for (retriever, number), rows in sorted(found.rows.items(), key=lambda item: item[0]):
        scores = [_score(retriever, row) for row in rows]
        ranking = Ranking(
            retriever=retriever,
            variant=number,
            kind=found.variants[number].kind,
            plan=rows[0]["plan"] if rows else "empty",
            weight=by_retriever[retriever] * variants[retriever, number] / sums[retriever],
            chunks=tuple((row["chunk_id"], s) for row, s in zip(rows, scores, strict=True)),
            fused=tuple(lift(rows, scores) if retriever == TEXT else scores),
        )
        trace.rankings.append(ranking)
        trace.plans.setdefault(retriever, ranking.plan)
    for retriever in trace.plans:
        trace.found[retriever] = len(
            {chunk for r in trace.rankings if r.retriever == retriever for chunk, _ in r.chunks}
        )
    return trace.rankings


def _score(retriever: str, row: dict[str, Any]) -> float:
    return float(1 - row["distance"] if retriever == DENSE else row["score"])


@dataclass(frozen=True, slots=True)
class _Shown:
    """Rows of chunks by id, and groups of chunks that say the same, in fused order."""

    rows: dict[UUID, dict[str, Any]]
    groups: list[list[UUID]]


def _read(
    reader: Reader, version: int, fused: list[tuple[UUID, float]], wanted: int, collapsing: bool
) -> _Shown:
    """Read the best chunks, further down until enough different ones are there."""
    rows: dict[UUID, dict[str, Any]] = {}
    groups: list[list[UUID]] = []
    begun = 0
    while begun < len(fused) and len(groups) < wanted:
        end = begun + wanted + (wanted // 2 + 5 if collapsing else 0)
        with reader.step():
            rows.update(reader.read(version, [chunk for chunk, _ in fused[begun:end]]))
        begun = end
        order = [chunk for chunk, _ in fused[:end] if chunk in rows]
        if collapsing:
            alike = collapse([_passage(rows[chunk]) for chunk in order])
            groups = [[order[position] for position in group] for group in alike]
        else:
            groups = [[chunk] for chunk in order]
    return _Shown(rows, groups)


def _passage(row: dict[str, Any]) -> Passage:
    return Passage(row["title"] or "", tuple(row["heading_path"]), row["text"])


def _rerank(
    reranker: Reranker,
    query: ParsedQuery,
    shown: _Shown,
    order: list[UUID],
    policy: RetrievalPolicy,
    deadline: Deadline,
    trace: SearchTrace,
) -> list[UUID]:
    """The best candidates in the reranker's order, or as they were when it fails or is late."""
    best = order[: max(policy.k, policy.rerank_depth)]
    if not best:
        return order
    if deadline.over:
        trace.fallbacks.append("rerank: no time was left")
        return order
    texts = [_with_headings(shown.rows[chunk]) for chunk in best]
    work = Pending(lambda: checked(reranker.score(query.text, texts), len(texts)))
    try:
        scores = work.result(deadline.left())
    except StillRunning:
        trace.fallbacks.append("rerank: not done within the time limit")
        return order
    except Exception as exc:  # a model of the user's may raise anything
        code = getattr(exc, "code", None)
        name = code if isinstance(code, str) else type(exc).__name__
        trace.warnings.append(f"rerank: the model failed ({name}), the fused order stays")
        return order
    places = sorted(range(len(best)), key=lambda place: (-scores[place], place))
    trace.reranked = [(best[place], scores[place]) for place in places]
    return [best[place] for place in places] + order[len(best) :]


def _with_headings(row: dict[str, Any]) -> str:
    path = [part for part in row["heading_path"] if part != row["title"]]
    return "\n".join([" > ".join([row["title"], *path] if row["title"] else path), row["text"]])


def _candidates(
    shown: _Shown, order: Sequence[UUID], version: str, trace: SearchTrace
) -> list[Candidate]:
    scores = dict(trace.fused)
    twins = {group[0]: tuple(group[1:]) for group in shown.groups}
    hits: dict[UUID, dict[str, tuple[int, float]]] = {chunk: {} for chunk in order}
    ranked = [(r.retriever, r.chunks) for r in trace.rankings]
    for retriever, chunks in [*ranked, (RERANK, trace.reranked)]:
        for rank, (chunk, score) in enumerate(chunks, start=1):
            if chunk in hits and rank < hits[chunk].get(retriever, (rank + 1, 0.0))[0]:
                hits[chunk][retriever] = (rank, score)
    return [
        _candidate(shown.rows[chunk], version, scores[chunk], hits[chunk], twins[chunk])
        for chunk in order
    ]


def _candidate(
    row: dict[str, Any],
    version: str,
    score: float,
    hits: dict[str, tuple[int, float]],
    duplicates: tuple[UUID, ...],
) -> Candidate:
    edges = row["added"]
    return Candidate(
        chunk_id=row["chunk_id"],
        document_id=row["document_id"],
        text=row["text"],
        added=tuple(zip(edges[::2], edges[1::2], strict=True)),
        title=row["title"],
        heading_path=tuple(row["heading_path"]),
        page_start=row["page_start"],
        page_end=row["page_end"],
        uri=row["uri"],
        source=row["source"],
        collection=row["collection"],
        valid_from=row["valid"].lower,
        valid_to=_inclusive(row["valid"].upper),
        stale=row["stale"],
        version=version,
        score=score,
        ranks={retriever: rank for retriever, (rank, _) in hits.items()},
        scores={retriever: found for retriever, (_, found) in hits.items()},
        metadata=row["metadata"],
        duplicates=duplicates,
    )


def _inclusive(upper: date | None) -> date | None:
    return None if upper is None else upper - timedelta(days=1)


@contextmanager
def _timed(trace: SearchTrace, step: str) -> Iterator[None]:
    begun = time.perf_counter()
    try:
        yield
    finally:
        trace.seconds[step] = time.perf_counter() - begun
