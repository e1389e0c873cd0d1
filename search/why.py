"""Why a document is, or is not, among the results: where it fell out, and what brings it back.

For the operator: it looks at every document of the tenant with the pipeline's rights, and at what
the asker gets as the reader.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import UTC, tzinfo
from difflib import SequenceMatcher, get_close_matches
from typing import Any
from uuid import UUID

from enrich.models import Embedder
from search.folding import fold, words
from search.glossary import EMPTY, Glossary
from search.queries import parse
from search.request import NoActiveVersion, NoSuchVersion, RetrievalPolicy, SearchRequest
from search.rerank import Reranker
from search.retrieval import RERANK, retrieve, scope_of
from search.weighting import DENSE, TEXT
from search.why_commands import again
from search.why_documents import Check, Expected, document_checks
from store import explaining
from store.database import Store
from store.promotions import aliases
from store.words import local

DEEP = 1000  # ranks are looked for down to here


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """What was looked at, in order. ``rank`` is the place among the results, if it is there."""

    expected: str
    quote: str | None
    uri: str | None  # of the document that was meant
    document_id: UUID | None
    version: str | None
    k: int
    checks: list[Check] = field(default_factory=list)
    ranks: dict[str, int | None] = field(default_factory=dict)
    rank: int | None = None
    others: tuple[str, ...] = ()  # the same name elsewhere
    suggestions: tuple[str, ...] = ()  # where there is none of this name

    @property
    def shown(self) -> bool:
        """Whether it is among the k results."""
        return self.rank is not None and self.rank <= self.k

    @property
    def fell_out(self) -> Check | None:
        """The first check that does not hold; None when it is shown."""
        failed = (check for check in self.checks if check.holds is False and check.decides)
        return None if self.shown else next(failed, None)

    def to_json(self) -> dict[str, Any]:
        """The explanation as JSON values."""
        out = self.fell_out
        return {
            "expected": self.expected,
            "quote": self.quote,
            "uri": self.uri,
            "document_id": self.document_id and str(self.document_id),
            "version": self.version,
            "shown": self.shown,
            "rank": self.rank,
            "k": self.k,
            "fell_out": out.name if out else None,
            "brings_back": list(out.brings_back) if out else [],
            "checks": [
                {"name": c.name, "holds": c.holds, "says": c.says, "brings_back": c.brings_back}
                for c in self.checks
            ],
            "ranks": self.ranks,
            "others": self.others,
            "suggestions": self.suggestions,
        }


def explain(
    store: Store,
    request: SearchRequest,
    policy: RetrievalPolicy,
    embedder_for: Callable[[str], Embedder],
    uri: str,
    quote: str | None = None,
    *,
    glossary: Glossary = EMPTY,
    reranker: Reranker | None = None,
    zone: tzinfo = UTC,
) -> Explanation:
    """Follow a document, or a place in it, from the source to the results.

    ``uri`` may be the end of one; of several documents of one name the one that came furthest is
    explained. Times are told in ``zone``. Needs the pipeline's rights in the database: StoreError
    42501 without them. Raises NothingAsked, NoActiveVersion, NoSuchVersion, and what ``retrieve``
    raises.
    """
    query = parse(request.query)
    version = explaining.version_facts(store, request.index, request.alias, request.version)
    if version is None:
        raise (
            NoActiveVersion(request.index, request.alias, aliases(store))
            if request.version is None
            else NoSuchVersion(request.index)
        )
    version = local(version, zone)
    found = [local(row, zone) for row in explaining.find_documents(store, request.tenant, uri)]
    if not found:
        return _nothing_of_this_name(store, request, policy, uri, quote, version["name"])
    # The question's own quotes count only where some chunk holds them: see _ranked.
    scope = replace(scope_of(request, query), phrases=request.scope.phrases)
    narrowed = replace(request, scope=scope)
    everything = [
        (row, *document_checks(store, narrowed, row, version, quote, query.phrases))
        for row in found
    ]
    row, checks, expected = max(everything, key=lambda item: _reached(item[1]))
    explanation = Explanation(
        expected=uri,
        quote=quote,
        uri=row["uri"],
        document_id=row["id"],
        version=version["name"],
        k=policy.k,
        checks=checks,
        others=tuple(other["uri"] for other in found if other["id"] != row["id"]),
    )
    if any(check.holds is False for check in checks):
        return explanation
    return _ranked(store, request, policy, embedder_for, explanation, expected, glossary, reranker)


def _reached(checks: list[Check]) -> int:
    return next((n for n, check in enumerate(checks) if check.holds is False), len(checks))


def _nothing_of_this_name(
    store: Store,
    request: SearchRequest,
    policy: RetrievalPolicy,
    uri: str,
    quote: str | None,
    version: str,
) -> Explanation:
    erased = explaining.was_erased(store, request.tenant, uri)
    says = (
        "it was erased, and stays erased"
        if erased
        else "no document of this tenant has this URI, or one that ends so"
    )
    sync = f"mucluc sync --tenant {request.tenant}   (then look at its report)"
    return Explanation(
        expected=uri,
        quote=quote,
        uri=None,
        document_id=None,
        version=version,
        k=policy.k,
        checks=[
            Check(name="document", holds=False, says=says, brings_back=() if erased else (sync,))
        ],
        suggestions=() if erased else _nearest(store, request.tenant, uri),
    )


def _nearest(store: Store, tenant: str, uri: str) -> tuple[str, ...]:
    """Names like this one, nearest first."""
    name = fold(uri.rpartition("/")[2])
    parts = [word[:4] for word in words(name.rpartition(".")[0] or name) if len(word) > 2]
    known = {
        other: fold(other.rpartition("/")[2])
        for other in explaining.names_like(store, tenant, parts)
    }
    close = get_close_matches(name, set(known.values()), n=5, cutoff=0.5)
    alike = sorted(known, key=lambda other: -SequenceMatcher(None, other, uri).ratio())
    return tuple(other for near in close for other in alike if known[other] == near)[:5]


def _ranked(
    store: Store,
    request: SearchRequest,
    policy: RetrievalPolicy,
    embedder_for: Callable[[str], Embedder],
    so_far: Explanation,
    expected: Expected,
    glossary: Glossary,
    reranker: Reranker | None,
) -> Explanation:
    """Search as asked, and deep, and say at which rank it stands after each step."""
    wanted = set(expected.chunks)
    results, trace = retrieve(
        store, request, policy, embedder_for, glossary=glossary, reranker=reranker
    )
    deep = replace(policy, depth=DEEP, seconds=None, collapse=False)
    _, deeper = retrieve(store, request, deep, embedder_for, glossary=glossary)

    def first(chunks: list[UUID]) -> int | None:
        return next((n for n, chunk in enumerate(chunks, 1) if chunk in wanted), None)

    ranks: dict[str, int | None] = {}
    for retriever in (DENSE, TEXT):
        found = [
            first([chunk for chunk, _ in r.chunks])
            for r in deeper.rankings
            if r.retriever == retriever
        ]
        ranks[retriever] = min((rank for rank in found if rank is not None), default=None)
    ranks["fused"] = first([chunk for chunk, _ in trace.fused])
    if trace.reranked:
        ranks[RERANK] = first([chunk for chunk, _ in trace.reranked])
    rank = first([c.chunk_id for c in results])
    ranks["shown"] = rank
    checks = [*so_far.checks]
    depth = max(policy.depth, policy.k)
    within = [n for n in (ranks[DENSE], ranks[TEXT]) if n is not None and n <= depth]
    for retriever, on in ((DENSE, policy.dense), (TEXT, policy.text)):
        checks.append(_retriever_check(retriever, on, ranks[retriever], depth))
    if expected.quoted is not None:
        loose = any(note.startswith("quotes: ") for note in trace.fallbacks)
        checks.append(
            Check(
                name="quoted_words",
                holds=expected.quoted,
                says="its chunk holds the quoted words"
                if expected.quoted
                else "its chunk lacks the quoted words"
                + (", as all do, so they were searched as words" if loose else ""),
                brings_back=(again(request, query=parse(request.query).text),),
                decides=not loose,
            )
        )
    more_words = ("Ask with words that stand in the document, or let the glossary lead to them.",)
    checks.append(
        Check(
            name="candidate",
            holds=ranks["fused"] is not None,
            says=f"fused rank {ranks['fused']}"
            if ranks["fused"] is not None
            else f"no retriever has it among its best {depth}"
            + ("" if within else "; neither half knows it well for this question"),
            brings_back=more_words,
        )
    )
    twin = next((trace.collapsed[c] for c in expected.chunks if c in trace.collapsed), None)
    hidden = rank is None and twin is not None
    place = next((n for n, c in enumerate(results, 1) if c.chunk_id == twin), None)
    checks.append(
        Check(
            name="not_a_twin",
            holds=None if ranks["fused"] is None else not hidden,
            says=f"another chunk says the same and stands for it (result {place})"
            if hidden and place
            else "another chunk says the same and stands for it"
            if hidden
            else "no other chunk stands for it",
            brings_back=(again(request, source=expected.source),),
        )
    )
    if trace.reranked:
        place = ranks[RERANK]
        checks.append(
            Check(
                name="reranked",
                holds=place is not None and place <= policy.k,
                says=f"rank {place} of {len(trace.reranked)} by the reranker"
                if place
                else f"below the {len(trace.reranked)} that the reranker looked at",
                brings_back=(again(request, k=min(100, (place or policy.k) + 1)),),
            )
        )
    checks.append(
        Check(
            name="shown",
            holds=rank is not None,
            says=f"result {rank} of {policy.k}" if rank else f"below the first {policy.k}",
            brings_back=(again(request, k=min(100, max(ranks["fused"] or 0, policy.k + 5))),),
        )
    )
    return replace(so_far, checks=checks, ranks=ranks, rank=rank)


def _retriever_check(retriever: str, on: bool, rank: int | None, depth: int) -> Check:
    if not on:
        return Check(name=retriever, holds=None, says="switched off", decides=False)
    if rank is None:
        says = f"not among the first {DEEP}"
    else:
        says = f"rank {rank}" + ("" if rank <= depth else f", beyond the {depth} that are fused")
    return Check(name=retriever, holds=rank is not None and rank <= depth, says=says, decides=False)
