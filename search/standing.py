"""How what held on the day asked for stands today."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from uuid import UUID

from search.request import Candidate, SearchRequest
from store.database import Store
from store.reader import Identity, read_as

IN_FORCE, EXPIRED, SUPERSEDED, TO_COME = "in_force", "expired", "superseded", "to_come"
WORDS = {
    EXPIRED: "expired by today",
    SUPERSEDED: "superseded by a newer revision today",
    TO_COME: "not in force yet today",
}


def standings(
    store: Store, request: SearchRequest, candidates: Sequence[Candidate], today: date
) -> dict[UUID, str]:
    """Each chunk's standing today: in_force, expired, superseded, or to_come.

    Superseded means that another revision of the document holds today and that the same asker may
    see it; whether one exists that they may not see is not told. Raises StoreError.
    """
    found = {c.chunk_id: _by_dates(c, today) for c in candidates}
    ended = {c.document_id for c in candidates if found[c.chunk_id] == EXPIRED}
    if not ended:
        return found
    identity = Identity(tenant=request.tenant, principals=request.principals, as_of=today)
    with read_as(store, identity) as reader:
        renewed = reader.holding(sorted(ended))
    for candidate in candidates:
        if found[candidate.chunk_id] == EXPIRED and candidate.document_id in renewed:
            found[candidate.chunk_id] = SUPERSEDED
    return found


def _by_dates(candidate: Candidate, today: date) -> str:
    if candidate.valid_to is not None and candidate.valid_to < today:
        return EXPIRED
    if candidate.valid_from is not None and candidate.valid_from > today:
        return TO_COME
    return IN_FORCE
