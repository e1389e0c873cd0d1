"""What is asked of a search, what comes back, and what is known of how."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import date
from typing import Any
from uuid import UUID

from store.reader import Scope


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
    """How a search is done."""

    k: int = 5
    depth: int = 50  # candidates from each retriever
    rrf_k: int = 60
    dense: bool = True
    text: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A chunk that answers, with what a citation needs.

    ``score`` is the fused one; ``ranks`` and ``scores`` are by retriever (dense: cosine
    similarity, text: BM25), where it found the chunk.
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


@dataclass(slots=True, kw_only=True)
class SearchTrace:
    """How a search went: names, counts and times; no text (I10)."""

    version: str | None = None
    model: str | None = None
    plans: dict[str, str] = field(default_factory=dict)
    found: dict[str, int] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)


class NoActiveVersion(Exception):
    """No version of this index is searchable yet."""

    def __init__(self, index: str) -> None:
        super().__init__("the index has no active version")
        self.index = index
