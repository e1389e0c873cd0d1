"""The bytes behind revisions that were published once: where their source was last read from."""

from __future__ import annotations

import hashlib
from threading import Lock
from uuid import UUID

from flows.job import WritingJob
from flows.request import SyncRequest
from parsers.elements import Attachment, Unreadable
from sources.files import ListedFile, SourceProblem
from sources.folder import list_folder, read_file
from store.filling import newest_revision
from store.runs import last_options
from store.stages import StoredRevision, read_revision


class Originals:
    """Finds bytes by revision. A source is listed once, and only when it is asked for."""

    def __init__(self, job: WritingJob) -> None:
        self._job = job
        self._lock = Lock()
        self._listings: dict[tuple[str, str], dict[str, ListedFile]] = {}
        self._attachments: tuple[UUID, tuple[Attachment, ...]] | None = None

    def find(self, revision: StoredRevision) -> bytes | None:
        """A revision's body as it was parsed, or None where it is no longer to be had."""
        if revision.parent_id is not None:
            return self._attached(revision, revision.parent_id)
        listed = self._listing(revision.tenant, revision.source).get(revision.uri)
        if listed is None:
            return None
        try:
            file = read_file(listed)
        except SourceProblem:
            return None
        return file.body if file.content_sha256 == revision.content_sha256 else None

    def _listing(self, tenant: str, source: str) -> dict[str, ListedFile]:
        with self._lock:
            if (tenant, source) not in self._listings:
                self._listings[tenant, source] = self._list(tenant, source)
            return self._listings[tenant, source]

    def _list(self, tenant: str, source: str) -> dict[str, ListedFile]:
        options = last_options(self._job.store, tenant, source)
        if options is None:
            return {}
        request = SyncRequest.model_validate(options | {"within": ()})
        listing = list_folder(
            request.root, options=request.folder_options, defaults=request.defaults
        )
        return {file.uri: file for file in listing.files}

    def _attached(self, revision: StoredRevision, parent: UUID) -> bytes | None:
        for attachment in self._attachments_of(parent):
            if hashlib.sha256(attachment.data).digest() == revision.content_sha256:
                return attachment.data
        return None

    def _attachments_of(self, mail: UUID) -> tuple[Attachment, ...]:
        last = self._attachments  # the attachments of a mail follow one another
        if last is not None and last[0] == mail:
            return last[1]
        newest = newest_revision(self._job.store, mail)
        if newest is None:
            return ()
        revision = read_revision(self._job.store, newest)
        body = self.find(revision)
        if body is None:
            return ()
        try:
            parsed = self._job.parse(body, revision.suffix)
        except Unreadable:
            return ()
        self._attachments = (mail, tuple(parsed.attachments))
        return self._attachments[1]
