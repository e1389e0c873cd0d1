"""Attachments: documents of their own, with the mail as parent and the mail's readers and days."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import replace
from uuid import UUID

from flows.diff import suffix_of
from flows.job import SyncJob
from parsers.elements import Attachment, Unreadable
from sources.files import Metadata
from store import documents, stages
from store.places import Place

SEPARATOR = "!/"  # between the mail's URI and the attachment's name


def unpublished_attachments(job: SyncJob, mail: stages.StoredRevision) -> list[UUID]:
    """Revisions of a mail's attachments that an earlier run parsed and did not publish."""
    found: list[UUID] = []
    for known in _known(job, mail):
        newest = known.pending or (None if known.published_here else known.published)
        if newest is not None and not known.deleted and known.quarantine_cause is None:
            found += [*_nested(job, newest.id), newest.id]
    return found


def add_attachments(
    job: SyncJob,
    mail: stages.StoredRevision,
    metadata: Metadata,
    attachments: Sequence[Attachment],
) -> list[UUID]:
    """Add and parse a mail's attachments; returns the revisions to take through the stages.

    Called before the mail's own parse is written: a run killed in between parses the mail again,
    and finds its attachments half done.
    """
    known = {document.uri: document for document in _known(job, mail)}
    inherited = replace(metadata, title=None)
    found: list[UUID] = []
    seen: set[str] = set()
    for attachment in attachments:
        uri = _place(mail.uri, attachment.name, seen)
        found += _add(job, mail, inherited, uri, attachment.data, known.get(uri))
    left = [d.id for uri, d in known.items() if uri not in seen and not d.deleted]
    documents.delete_documents(job.store, job.run.id, left, job.now)
    return found


def _add(
    job: SyncJob,
    mail: stages.StoredRevision,
    metadata: Metadata,
    uri: str,
    data: bytes,
    known: documents.KnownDocument | None,
) -> list[UUID]:
    digest = hashlib.sha256(data).digest()
    request = job.request
    document = known.id if known else documents.document_id(request.tenant, request.source, uri)
    for revision in (known.pending, known.published) if known else ():
        if revision is not None and revision.content_sha256 == digest:
            return _parse(job, revision.id, metadata, data)
    sequence = known.last_sequence + 1 if known else 1
    fresh = documents.NewRevision(
        id=documents.revision_id(document, sequence),
        document_id=document,
        sequence=sequence,
        suffix=suffix_of(uri),
        bytes=len(data),
        place=Place(uri=uri, raw_sha256=digest, content_sha256=digest),
        metadata=metadata,
        collection=mail.collection,
        new_document=known is None,
        parent_id=mail.document_id,
    )
    erased = documents.add_revisions(
        job.store,
        job.run.id,
        request.tenant,
        request.source,
        [fresh],
        superseded=[known.pending.id] if known and known.pending else [],
        now=job.now,
        today=job.today,
    )
    return [] if erased else _parse(job, fresh.id, metadata, data)


def _parse(job: SyncJob, revision_id: UUID, metadata: Metadata, data: bytes) -> list[UUID]:
    revision = stages.read_revision(job.store, revision_id)
    key = job.parse_id(revision)
    if stages.has_parse(job.store, revision_id, key):
        return [*_nested(job, revision_id), revision_id]
    job.tally.add("attachments")
    try:
        parsed = job.parse(data, revision.suffix)
    except Unreadable as problem:
        job.put_aside(revision_id, problem.code, problem.hint)
        return []
    nested = add_attachments(job, revision, metadata, parsed.attachments)
    job.tally.add("rows", stages.add_parse(job.store, job.run.id, revision_id, key, parsed))
    return [*nested, revision_id]


def _nested(job: SyncJob, revision_id: UUID) -> list[UUID]:
    return unpublished_attachments(job, stages.read_revision(job.store, revision_id))


def _known(job: SyncJob, mail: stages.StoredRevision) -> list[documents.KnownDocument]:
    return documents.known_documents(
        job.store,
        job.request.tenant,
        job.request.source,
        job.holders,
        parent=mail.document_id,
    )


def _place(mail_uri: str, name: str, seen: set[str]) -> str:
    """A URI for an attachment; a mail may carry two of one name, or one without."""
    base = f"{mail_uri}{SEPARATOR}{name.replace('/', '_') or 'attachment'}"
    uri, again = base, 1
    while uri in seen:
        again += 1
        stem, dot, suffix = base.rpartition(".")
        uri = f"{stem}~{again}{dot}{suffix}" if dot else f"{base}~{again}"
    seen.add(uri)
    return uri
