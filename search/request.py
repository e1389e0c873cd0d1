"""What is asked of a search, what comes back, and what is known of how."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from typing import Any
from uuid import UUID

from store.reader import Scope

SCORES, RANKS = "scores", "ranks"  # how rankings are fused


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchRequest:
    """One question, by whom, and for which day.

    ``scope`` narrows what may be returned; phrases and exclusions that the query itself holds
    (quotes, minus) are added to it. ``summary`` of the chat so far is for variants that a model
    writes; nothing reads it without one. ``version`` names one instead of the alias's.
    """

    query: str
    tenant: str
    principals: tuple[str, ...]
    as_of: date
    scope: Scope = field(default_factory=Scope)
    index: str = "main"
    alias: str = "active"
    version: str | None = None
    summary: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RetrievalPolicy:
    """How a search is done.

    ``seconds`` is the time limit: what is not done by then is left out, and the trace says so.
    Reading the results comes on top of it. ``trace_text`` lets the question's variants into the
    trace, which otherwise holds no text (I10).
    """

    k: int = 5
    depth: int = 50  # candidates from each retriever and variant; at least k
    fusion: str = SCORES  # or RANKS: reciprocal rank fusion with rrf_k
    rrf_k: int = 60
    dense: bool = True
    text: bool = True
    variants: int = 3  # at most, beside the question itself
    collapse: bool = True  # show chunks that say the same once
    rerank_depth: int = 30  # candidates that a reranker scores; at least k
    seconds: float | None = None
    trace_text: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A chunk that answers, with what a citation needs.

    ``score`` is the fused one; ``ranks`` and ``scores`` are by retriever (dense: cosine
    similarity, text: BM25, the best of its variants; rerank), where it found the chunk.
    ``duplicates`` are chunks that say the same and may be seen by the same asker.
    """

    chunk_id: UUID
    document_id: UUID
    text: str
    added: tuple[tuple[int, int], ...]
    title: str | None
    heading_path: tuple[str, ...]
    page_start: int | None
    page_end: int | None
    uri: str
    source: str
    collection: str
    valid_from: date | None
    valid_to: date | None  # inclusive
    stale: bool
    version: str
    score: float
    ranks: dict[str, int]
    scores: dict[str, float]
    metadata: dict[str, Any] = field(default_factory=dict)
    duplicates: tuple[UUID, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranking:
    """What one retriever found for one variant of the question, best first.

    ``variant`` counts from 0, the question itself. Scores: dense cosine similarity, text BM25.
    """

    retriever: str
    variant: int
    kind: str  # of the variant: original, normalised, glossary, written
    plan: str
    weight: float  # in the fusion
    chunks: tuple[tuple[UUID, float], ...]
    fused: tuple[float, ...]  # the scores that fusion adds: what stands there exactly is lifted


@dataclass(slots=True, kw_only=True)
class SearchTrace:
    """How a search went: names, ids, counts and times; no text (I10) unless the policy lets it."""

    version: str | None = None
    model: str | None = None
    exact_lookup: bool = False
    variants: dict[str, int] = field(default_factory=dict)  # counts by kind
    variant_texts: list[str] = field(default_factory=list)  # only where the policy allows text
    plans: dict[str, str] = field(default_factory=dict)  # by retriever, of the question itself
    found: dict[str, int] = field(default_factory=dict)  # different chunks by retriever
    seconds: dict[str, float] = field(default_factory=dict)  # by step; some run side by side
    rankings: list[Ranking] = field(default_factory=list)
    fused: list[tuple[UUID, float]] = field(default_factory=list)
    collapsed: dict[UUID, UUID] = field(default_factory=dict)  # chunk: the one shown for it
    reranked: list[tuple[UUID, float]] = field(default_factory=list)
    fallbacks: list[str] = field(default_factory=list)  # what was left out, and why
    warnings: list[str] = field(default_factory=list)

    def to_json(self) -> dict[str, Any]:
        """The trace as JSON values."""
        return {
            "version": self.version,
            "model": self.model,
            "exact_lookup": self.exact_lookup,
            "variants": self.variants,
            **({"variant_texts": self.variant_texts} if self.variant_texts else {}),
            "plans": self.plans,
            "found": self.found,
            "seconds": {name: round(value, 6) for name, value in self.seconds.items()},
            "rankings": [
                {
                    "retriever": r.retriever,
                    "variant": r.variant,
                    "kind": r.kind,
                    "plan": r.plan,
                    "weight": r.weight,
                    "chunks": _pairs(r.chunks),
                }
                for r in self.rankings
            ],
            "fused": _pairs(self.fused),
            "collapsed": {str(chunk): str(kept) for chunk, kept in self.collapsed.items()},
            "reranked": _pairs(self.reranked),
            "fallbacks": self.fallbacks,
            "warnings": self.warnings,
        }


def _pairs(ranked: list[tuple[UUID, float]] | tuple[tuple[UUID, float], ...]) -> list[Any]:
    return [[str(chunk), round(score, 6)] for chunk, score in ranked]


class NoActiveVersion(Exception):
    """No version is behind this alias of an index, or there is no such index.

    ``known`` are the aliases by the indexes there are, for an operator to be told.
    """

    def __init__(
        self, index: str, alias: str = "active", known: Mapping[str, tuple[str, ...]] | None = None
    ) -> None:
        super().__init__("the index has no active version")
        self.index = index
        self.alias = alias
        self.known = dict(known or {})


class NoSuchVersion(Exception):
    """No version of this name in the index can be searched."""

    def __init__(self, index: str) -> None:
        super().__init__("no version of this name in the index can be searched")
        self.index = index


class OutOfTime(Exception):
    """Nothing was found within the time limit."""

    def __init__(self) -> None:
        super().__init__("nothing was found within the time limit")
