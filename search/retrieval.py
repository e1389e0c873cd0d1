"""Retrieval: one snapshot, one version, two retrievers, fused."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import date, timedelta
from typing import Any
from uuid import UUID

from enrich.models import Embedder
from search.fusion import fuse
from search.request import Candidate, NoActiveVersion, RetrievalPolicy, SearchRequest, SearchTrace
from store.database import Store
from store.reader import Identity, read_as


def retrieve(
    store: Store,
    request: SearchRequest,
    policy: RetrievalPolicy,
    embedder_for: Callable[[str], Embedder],
) -> tuple[list[Candidate], SearchTrace]:
    """Search as somebody, on a day.

    The alias is resolved once and the question embedded with that version's model
    (``embedder_for`` loads a model by its name). Raises NoActiveVersion, StoreError,
    EmbeddingFailed.
    """
    trace = SearchTrace()
    begun = time.perf_counter()
    identity = Identity(tenant=request.tenant, principals=request.principals, as_of=request.as_of)
    with read_as(store, identity) as reader:
        version = reader.resolve(request.index, request.alias)
        if version is None:
            raise NoActiveVersion(request.index)
        trace.version, trace.model = version["name"], version["recipe"]["model"]
        found: dict[str, list[dict[str, Any]]] = {}
        if policy.dense:
            vector = embedder_for(version["recipe"]["model"]).embed_query(request.query)
            trace.seconds["embed"] = time.perf_counter() - begun
            found["dense"] = reader.dense(
                version["version_id"], version["model"], vector, policy.depth, request.scope
            )
        if policy.text:
            found["text"] = reader.text(
                version["version_id"], request.query, policy.depth, request.scope
            )
        for name, rows in found.items():
            trace.found[name] = len(rows)
            trace.plans[name] = rows[0]["plan"] if rows else "empty"
        fused = fuse(
            {name: [row["chunk_id"] for row in rows] for name, rows in found.items()},
            k=policy.rrf_k,
        )[: policy.k]
        shown = reader.read(version["version_id"], [chunk for chunk, _ in fused])
    trace.seconds["total"] = time.perf_counter() - begun
    return [
        _candidate(shown[chunk], version["name"], score, found)
        for chunk, score in fused
        if chunk in shown
    ], trace


def _candidate(
    row: dict[str, Any], version: str, score: float, found: dict[str, list[dict[str, Any]]]
) -> Candidate:
    chunk: UUID = row["chunk_id"]
    hits = {name: hit for name, rows in found.items() for hit in rows if hit["chunk_id"] == chunk}
    edges = row["added"]
    return Candidate(
        chunk_id=chunk,
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
        ranks={name: hit["rank"] for name, hit in hits.items()},
        scores={
            name: 1 - hit["distance"] if name == "dense" else hit["score"]
            for name, hit in hits.items()
        },
        metadata=row["metadata"],
    )


def _inclusive(upper: date | None) -> date | None:
    return None if upper is None else upper - timedelta(days=1)
