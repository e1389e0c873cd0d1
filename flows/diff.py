"""What a listing changes: a pure comparison of what is listed with what is known."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from uuid import UUID

from parsers.registry import capabilities, parser_id_for
from sources.files import ListedFile, Listing, ReadFile, SourceProblem
from store.documents import (
    KnownDocument,
    KnownRevision,
    NewRevision,
    Statement,
    document_id,
    revision_id,
)
from store.places import Place

DEFAULT_COLLECTION = "default"

# A file in one of these states is left as it is, and looked at again by the next run.
PASSING = {"changed_while_reading", "vanished"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """A listed file that cannot be taken, for the quarantine."""

    document_id: UUID
    uri: str
    new_document: bool
    code: str
    hint: str
    token: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """A revision that must go through the stages, and where its bytes are."""

    revision_id: UUID
    document_id: UUID
    listed: ListedFile


@dataclass(slots=True)
class Diff:
    """Everything a run has to do. Counts are of listed files; each file is in one of them."""

    new: set[UUID] = field(default_factory=set)
    changed: set[UUID] = field(default_factory=set)
    moved: set[UUID] = field(default_factory=set)
    unchanged: set[UUID] = field(default_factory=set)
    passing: int = 0
    gone: list[UUID] = field(default_factory=list)
    withheld: list[UUID] = field(default_factory=list)  # gone, but not believed (I13)
    withheld_why: str | None = None
    moves: dict[UUID, str] = field(default_factory=dict)
    statements: list[Statement] = field(default_factory=list)
    settled: dict[UUID, str] = field(default_factory=dict)  # nothing more to do; token by document
    revisions: list[NewRevision] = field(default_factory=list)
    superseded: list[UUID] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    work: list[Work] = field(default_factory=list)


@dataclass(frozen=True, slots=True, kw_only=True)
class DiffRules:
    """What the comparison depends on beside the two lists."""

    tenant: str
    source: str
    read: Callable[[ListedFile], ReadFile]
    cause: Callable[[str, bytes], str]  # (suffix, content) -> what a quarantine would be due to
    taken: Callable[[Iterable[UUID]], set[UUID]]  # which document ids exist anywhere
    deletion_share: float
    deletion_minimum: int
    confirm_deletions: bool = False
    verify: bool = False
    collection: str = DEFAULT_COLLECTION
    advance: Callable[[], None] = lambda: None


def compare(listing: Listing, known: list[KnownDocument], rules: DiffRules) -> Diff:
    """Compare a listing with what is known of its source. Reads only files that may differ."""
    comparison = _Comparison(listing, known, rules)
    comparison.look_at_files()
    comparison.match_moves()
    comparison.add_new_documents()
    comparison.find_gone()
    return comparison.diff


def suffix_of(uri: str) -> str:
    """The suffix that chooses the parser, lower case with its dot."""
    return Path(uri).suffix.lower()


def listing_cause(code: str) -> str:
    """The cause of a quarantine that only another listing can lift."""
    return f"listing:{code}"


def quarantine_cause(suffix: str, content_sha256: bytes, chunking_id: str) -> str:
    """What a quarantine is due to: bytes, parser, chunker and installed helpers (I12)."""
    return "|".join(
        [content_sha256.hex(), parser_id_for(suffix) or "", chunking_id, capabilities()]
    )


class _Comparison:
    def __init__(self, listing: Listing, known: list[KnownDocument], rules: DiffRules) -> None:
        self.listing = listing
        self.rules = rules
        self.diff = Diff()
        # Deleted documents come after living ones of the same place, and must not hide them.
        self.by_uri: dict[str, KnownDocument] = {}
        for document in known:
            self.by_uri.setdefault(document.uri, document)
        self.live = [document for document in known if not document.deleted]
        self.newcomers: list[ReadFile] = []
        self.new_problems: list[tuple[ListedFile, SourceProblem]] = []

    def look_at_files(self) -> None:
        """Sort every listed file into unchanged, changed, new, or a problem."""
        for listed in self.listing.files:
            self._look_at(listed, self.by_uri.get(listed.uri))
            self.rules.advance()

    def _look_at(self, listed: ListedFile, document: KnownDocument | None) -> None:
        if document is not None and not self.rules.verify and self._as_recorded(listed, document):
            self.diff.unchanged.add(document.id)
            return
        try:
            file = self.rules.read(listed)
        except SourceProblem as problem:
            self._put_aside(listed, document, problem)
            return
        if document is None:
            self.newcomers.append(file)
        else:
            self._look_into(file, document)

    def _as_recorded(self, listed: ListedFile, document: KnownDocument) -> bool:
        if document.deleted or document.token != listed.token:
            return False
        if document.quarantine_cause is not None:
            if document.quarantine_cause.startswith(listing_cause("")):
                return True
            content = document.pending.content_sha256 if document.pending else b""
            return document.quarantine_cause == self.rules.cause(suffix_of(listed.uri), content)
        return document.published_here and document.pending is None

    def _look_into(self, file: ReadFile, document: KnownDocument, *, moved: bool = False) -> None:
        """Compare a known document with its file, in the same place or moved."""
        uri, token = file.listed.uri, file.listed.token
        collection = file.metadata.collection or self.rules.collection
        same = self._same_content(file, document)
        if same is None:
            if document.pending is not None:
                self.diff.superseded.append(document.pending.id)
            self._add_revision(file, document.id, document.last_sequence + 1, new=False)
            self.diff.changed.add(document.id)
            return
        self.diff.statements.append(
            Statement(
                document_id=document.id,
                revision_id=same.id,
                metadata=file.metadata,
                collection=collection,
            )
        )
        published = same is document.published and document.published_here
        if published and document.pending is not None:
            self.diff.superseded.append(document.pending.id)
        restated = same.metadata_sha256 != file.metadata.sha256()
        # A title is part of the contexts. A forgotten token is of a run that died over one.
        through = (
            same.title != file.metadata.title
            or document.token is None
            or document.deleted
            or document.quarantine_cause is not None
        )
        if published and not through:
            self.diff.settled[document.id] = token
        else:
            self.diff.work.append(
                Work(revision_id=same.id, document_id=document.id, listed=file.listed)
            )
        if moved:
            self.diff.moved.add(document.id)
            self.diff.moves[document.id] = uri
        elif document.published is None or document.deleted:
            self.diff.new.add(document.id)
        elif restated or not published:
            self.diff.changed.add(document.id)
        else:
            self.diff.unchanged.add(document.id)

    def _same_content(self, file: ReadFile, document: KnownDocument) -> KnownRevision | None:
        suffix = suffix_of(file.listed.uri)
        for revision in (document.pending, document.published):
            if (
                revision is not None
                and revision.content_sha256 == file.content_sha256
                and revision.suffix == suffix
            ):
                return revision
        return None

    def match_moves(self) -> None:
        """A newcomer with the content of a document that is no longer listed is that document."""
        listed = {file.uri for file in self.listing.files}
        missing: dict[tuple[bytes, str], list[KnownDocument]] = {}
        for document in self.live:
            newest = document.pending or document.published
            if document.uri not in listed and newest is not None:
                key = (newest.content_sha256, newest.suffix)
                missing.setdefault(key, []).append(document)
        staying = []
        for file in self.newcomers:
            candidates = missing.get((file.content_sha256, suffix_of(file.listed.uri)))
            if candidates:
                self._look_into(file, candidates.pop(0), moved=True)
            else:
                staying.append(file)
        self.newcomers = staying

    def add_new_documents(self) -> None:
        """Give the other newcomers ids: those of their place, unless a moved document has it."""
        places = [file.listed for file in self.newcomers] + [f for f, _ in self.new_problems]
        ids = self._fresh_ids([listed.uri for listed in places])
        for file in self.newcomers:
            document = ids[file.listed.uri]
            self._add_revision(file, document, 1, new=True)
            self.diff.new.add(document)
        for listed, problem in self.new_problems:
            self._add_problem(listed, ids[listed.uri], problem, new=True)

    def _fresh_ids(self, uris: list[str]) -> dict[str, UUID]:
        ids: dict[str, UUID] = {}
        taken_before = 0
        while len(ids) < len(uris):
            tries = {
                uri: document_id(self.rules.tenant, self.rules.source, uri, taken_before)
                for uri in uris
                if uri not in ids
            }
            taken = self.rules.taken(tries.values())
            ids.update({uri: tried for uri, tried in tries.items() if tried not in taken})
            taken_before += 1
        return ids

    def _add_revision(self, file: ReadFile, document: UUID, sequence: int, *, new: bool) -> None:
        revision = NewRevision(
            id=revision_id(document, sequence),
            document_id=document,
            sequence=sequence,
            suffix=suffix_of(file.listed.uri),
            bytes=len(file.data),
            place=Place(
                uri=file.listed.uri,
                raw_sha256=file.raw_sha256,
                content_sha256=file.content_sha256,
            ),
            metadata=file.metadata,
            collection=file.metadata.collection or self.rules.collection,
            new_document=new,
        )
        self.diff.revisions.append(revision)
        self.diff.work.append(
            Work(revision_id=revision.id, document_id=document, listed=file.listed)
        )

    def _put_aside(
        self, listed: ListedFile, document: KnownDocument | None, problem: SourceProblem
    ) -> None:
        if problem.code in PASSING:
            self.diff.passing += 1
        elif document is None:
            self.new_problems.append((listed, problem))
        else:
            self._add_problem(listed, document.id, problem, new=False)

    def _add_problem(
        self, listed: ListedFile, document: UUID, problem: SourceProblem, *, new: bool
    ) -> None:
        self.diff.problems.append(
            Problem(
                document_id=document,
                uri=listed.uri,
                new_document=new,
                code=problem.code,
                hint=problem.hint,
                token=listed.token,
            )
        )

    def find_gone(self) -> None:
        """Believe an absence only from a whole listing, and not of too many at once (I13)."""
        listed = {file.uri for file in self.listing.files}
        in_scope = [d for d in self.live if within(d.uri, self.listing.scope)]
        gone = [d.id for d in in_scope if d.uri not in listed and d.id not in self.diff.moved]
        rules = self.rules
        too_many = len(gone) > rules.deletion_minimum and len(gone) > rules.deletion_share * len(
            in_scope
        )
        if gone and not self.listing.complete:
            self.diff.withheld, self.diff.withheld_why = gone, "partial_listing"
        elif too_many and not rules.confirm_deletions:
            self.diff.withheld, self.diff.withheld_why = gone, "too_many"
        else:
            self.diff.gone = gone


def within(uri: str, scope: Iterable[str]) -> bool:
    """Whether a URI is one of the scope's, or below one of its folders; all are without a scope."""
    places = tuple(scope)
    return not places or any(
        uri == place or uri.startswith(place.rstrip("/") + "/") for place in places
    )


def batches(work: Iterable[tuple[UUID, int]], *, documents: int, size: int) -> list[list[UUID]]:
    """Cut (revision, bytes) into batches of ids, bounded by count and by bytes, in order."""
    found: list[list[UUID]] = []
    room = 0
    for revision, weight in work:
        if not found or len(found[-1]) >= documents or weight > room:
            found.append([])
            room = size
        found[-1].append(revision)
        room -= weight
    return found
