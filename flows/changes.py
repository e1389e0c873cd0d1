"""Before anything is parsed: list, compare, and put revocations in force (I15)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice
from uuid import UUID

from flows.diff import (
    Diff,
    DiffRules,
    batches,
    compare,
    listing_cause,
    quarantine_cause,
)
from flows.job import SyncJob
from flows.request import SyncRequest
from sources.folder import list_folder, read_file
from store import documents, publishing
from store.database import Store

STATEMENTS_A_TRANSACTION = 1000


def diff_rules(
    store: Store,
    request: SyncRequest,
    chunking_id: str,
    *,
    advance: Callable[[], None] = lambda: None,
) -> DiffRules:
    """The comparison's rules for one source."""
    return DiffRules(
        tenant=request.tenant,
        source=request.source,
        read=read_file,
        cause=lambda suffix, content: quarantine_cause(suffix, content, chunking_id),
        taken=lambda ids: documents.taken_ids(store, list(ids)),
        deletion_share=request.limits.deletion_share,
        deletion_minimum=request.limits.deletion_minimum,
        confirm_deletions=request.confirm_deletions,
        verify=request.verify,
        collection=request.collection,
        advance=advance,
    )


def list_source(job: SyncJob) -> int:
    """List the source's files; returns how many."""
    with job.tally.timing("list"):
        job.progress.expect("list", 0)
        job.listing = list_folder(
            job.request.root,
            options=job.request.folder_options,
            defaults=job.request.defaults,
        )
        job.progress.expect("list", len(job.listing.files))
        job.progress.advance("list", len(job.listing.files))
    return len(job.listing.files)


def diff(job: SyncJob) -> int:
    """Compare the listing with what is known; returns how many documents need work."""
    if job.listing is None:
        list_source(job)
    listing, request = job.listing, job.request
    if listing is None:
        raise AssertionError("list_source lists")
    with job.tally.timing("diff"):
        job.progress.expect("diff", len(listing.files))
        known = documents.known_documents(job.store, request.tenant, request.source, job.holders)
        job.diff = compare(
            listing,
            known,
            diff_rules(
                job.store,
                request,
                job.chunking.chunking_id,
                advance=lambda: job.progress.advance("diff"),
            ),
        )
    return len(job.diff.work)


def revoke(job: SyncJob) -> list[list[UUID]]:
    """Put deletions, access and validity in force, then note what is new (I15).

    Returns batches of revision ids that must go through the stages.
    """
    found, request, run = job.diff, job.request, job.run.id
    with job.tally.timing("revoke"):
        job.progress.expect("revoke", len(found.gone) + len(found.statements))
        documents.delete_documents(job.store, run, found.gone, job.now)
        job.progress.advance("revoke", len(found.gone))
        for part in _statement_parts(found):
            ids = {statement.document_id for statement in part}
            documents.restate(
                job.store,
                run,
                request.tenant,
                part,
                moves={d: uri for d, uri in found.moves.items() if d in ids},
                settled={d: token for d, token in found.settled.items() if d in ids},
            )
            job.progress.advance("revoke", len(part))
        erased = _add_revisions(job)
        _put_problems_aside(job)
    work = [item for item in found.work if item.document_id not in erased]
    job.work = {item.revision_id: item for item in work}
    job.progress.expect("parse", len(work))
    return batches(
        [(item.revision_id, item.listed.size) for item in work],
        documents=request.limits.batch_documents,
        size=request.limits.batch_bytes,
    )


def _statement_parts(found: Diff) -> Iterator[list[documents.Statement]]:
    """All moves in one transaction, since documents may change places; the rest in parts."""
    moved = [s for s in found.statements if s.document_id in found.moves]
    if moved:
        yield moved
    staying = iter([s for s in found.statements if s.document_id not in found.moves])
    while part := list(islice(staying, STATEMENTS_A_TRANSACTION)):
        yield part


def _add_revisions(job: SyncJob) -> set[UUID]:
    found, request = job.diff, job.request
    erased: set[UUID] = set()
    revisions, superseded = iter(found.revisions), found.superseded
    while (part := list(islice(revisions, STATEMENTS_A_TRANSACTION))) or superseded:
        erased |= documents.add_revisions(
            job.store,
            job.run.id,
            request.tenant,
            request.source,
            part,
            superseded=superseded,
            now=job.now,
            today=job.today,
        )
        superseded = []
    job.tally.add("erased", len(erased))
    found.new -= erased
    found.changed -= erased
    return erased


def _put_problems_aside(job: SyncJob) -> None:
    documents.add_bare_documents(
        job.store,
        job.run.id,
        job.request.tenant,
        job.request.source,
        [(p.document_id, p.uri) for p in job.diff.problems if p.new_document],
        collection=job.request.collection,
        now=job.now,
    )
    for problem in job.diff.problems:
        publishing.quarantine(
            job.store,
            job.run.id,
            problem.document_id,
            reason=problem.code,
            hint=problem.hint,
            content_sha256=None,
            cause=listing_cause(problem.code),
            token=problem.token,
            now=job.now,
        )
