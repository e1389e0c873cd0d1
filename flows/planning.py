"""What a sync would do, without doing it: no run, no lock, no write."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from flows.changes import diff_rules
from flows.diff import compare
from flows.request import SyncRequest
from sources.folder import list_folder
from store import documents
from store.database import Store
from store.versions import active_version, versions_in_step


def plan_sync(store: Store, request: SyncRequest) -> dict[str, Any]:
    """Counts of what would change, and the URIs, for a terminal."""
    listing = list_folder(request.root, options=request.folder_options, defaults=request.defaults)
    active = active_version(store, request.index)
    known = documents.known_documents(
        store,
        request.tenant,
        request.source,
        [version.id for version in versions_in_step(store, request.index, 0)],
    )
    found = compare(
        listing,
        known,
        diff_rules(store, request, active.recipe["chunking_id"] if active else ""),
    )
    waiting = {d.id for d in known if d.quarantine_cause is not None}
    aside = found.unchanged & waiting  # nothing about them changed: they stay in quarantine
    uris = {document.id: document.uri for document in known}
    uris |= {revision.document_id: revision.place.uri for revision in found.revisions}
    uris |= {problem.document_id: problem.uri for problem in found.problems}
    return {
        "dry_run": True,
        "at": datetime.now(UTC).isoformat(timespec="seconds"),
        "documents": {
            "new": len(found.new),
            "changed": len(found.changed),
            "unchanged": len(found.unchanged - aside),
            "moved": len(found.moved),
            "gone": len(found.gone),
            "quarantined": len(found.problems) + len(aside),
        },
        "listed": len(listing.files),
        "problems": list(listing.problems),
        "withheld": {"deletions": len(found.withheld), "why": found.withheld_why}
        if found.withheld
        else {},
        "uris": {
            "new": sorted(uris[d] for d in found.new),
            "changed": sorted(uris[d] for d in found.changed),
            "moved": sorted(f"{uris[d]} -> {found.moves[d]}" for d in found.moved),
            "gone": sorted(uris[d] for d in found.gone),
            "quarantined": sorted(
                [f"{p.uri}: {p.code}" for p in found.problems] + [uris[d] for d in aside]
            ),
        },
    }
