"""A shadow: what another version would have returned, written down by id beside what was."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from enrich.models import Embedder, EmbeddingFailed
from search.queries import NothingAsked
from search.request import (
    Candidate,
    NoActiveVersion,
    OutOfTime,
    RetrievalPolicy,
    SearchRequest,
)
from search.retrieval import retrieve
from store.database import Store
from store.errors import StoreError

ACTIVE, SHADOW = "active", "shadow"


def ask_shadow(
    store: Store,
    request: SearchRequest,
    policy: RetrievalPolicy,
    embedder_for: Callable[[str], Embedder],
    returned: Sequence[Candidate],
    **helpers: Any,
) -> dict[str, Any] | None:
    """Ask the version behind the alias ``shadow`` the same question, after it was answered.

    Returns versions and ids of chunks and documents, no text (I10); None for a search that did
    not ask the active version, for an index without a shadow, and when the shadow fails, which
    must not concern whoever asked.
    """
    if request.alias != ACTIVE or request.version is not None:
        return None
    try:
        found, trace = retrieve(
            store, replace(request, alias=SHADOW), policy, embedder_for, **helpers
        )
    except (NoActiveVersion, NothingAsked, OutOfTime, StoreError, EmbeddingFailed):
        return None
    return {
        "at": datetime.now(UTC).isoformat(timespec="seconds"),
        "index": request.index,
        "returned": _ids(returned),
        "shadow": trace.version,
        "shadow_returned": _ids(found),
        "same_documents": len({c.document_id for c in returned} & {c.document_id for c in found}),
    }


def write_down(record: dict[str, Any], file: Path) -> None:
    """Append a record as a line of JSON."""
    with file.open("a", encoding="utf-8") as lines:
        lines.write(json.dumps(record) + "\n")


def _ids(candidates: Sequence[Candidate]) -> list[dict[str, str]]:
    return [
        {"version": c.version, "document": str(c.document_id), "chunk": str(c.chunk_id)}
        for c in candidates
    ]
