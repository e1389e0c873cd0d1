"""A batch in portions: what a stage reads and writes at once, in a few statements each.

A portion is bounded by its chunks, so that memory and the time that locks are held are, too; a
longer document is a portion by itself.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from enrich.contextualize import ContextInput, input_sha256
from flows.diff import batches
from flows.job import WritingJob
from flows.lanes import Lane
from store import stages

PORTION = 512  # chunks that are read and written at once


@dataclass(frozen=True, slots=True)
class Pairs:
    """A revision's chunks and the contexts that stand for them now."""

    revision: stages.StoredRevision
    cut: str
    chunks: tuple[UUID, ...]
    inputs: tuple[ContextInput, ...]
    hashes: tuple[bytes, ...]


def cut_of(job: WritingJob, lane: Lane, revision: stages.StoredRevision) -> str:
    """Under which name a version has a revision's chunks."""
    return stages.cut_id(job.parse_id(revision), lane.chunking.chunking_id)


def portions(
    job: WritingJob, lane: Lane, batch: Sequence[UUID], *, chunks: int = PORTION
) -> Iterator[list[UUID]]:
    """Cut a batch that was chunked into portions of at most so many chunks, in order.

    Revisions that are gone stay in, for whoever takes the portion to notice.
    """
    found = stages.read_revisions(job.store, batch)
    cuts = {id: cut_of(job, lane, revision) for id, revision in found.items()}
    counts = stages.count_chunks(job.store, cuts)
    weights = [(revision, counts.get(revision, 0)) for revision in batch]
    yield from batches(weights, documents=max(1, len(batch)), size=chunks)


def one_of_each(job: WritingJob, batch: Sequence[UUID]) -> list[list[UUID]]:
    """Cut a batch into parts of one tenant that hold each document once, in order.

    Of a document with several revisions the earlier one is in the earlier part.
    """
    found = stages.read_revisions(job.store, batch)
    parts: dict[tuple[int, str], list[UUID]] = defaultdict(list)
    seen: dict[UUID, int] = defaultdict(int)
    for revision_id in batch:
        revision = found.get(revision_id)
        if revision is not None:
            parts[seen[revision.document_id], revision.tenant].append(revision_id)
            seen[revision.document_id] += 1
    return [parts[key] for key in sorted(parts)]


def read_pairs(job: WritingJob, lane: Lane, portion: Sequence[UUID]) -> dict[UUID, Pairs]:
    """The pairs of a portion's revisions; those that are gone are left out."""
    revisions = stages.read_revisions(job.store, portion)
    parsers = {id: job.parse_id(revision) for id, revision in revisions.items()}
    facts = stages.parse_facts(job.store, parsers)
    cuts = {id: cut_of(job, lane, revisions[id]) for id in facts}
    placed = stages.placements(job.store, cuts)
    return {id: _pairs(revisions[id], facts[id], cut, placed[id]) for id, cut in cuts.items()}


def _pairs(
    revision: stages.StoredRevision,
    facts: stages.ParseFacts,
    cut: str,
    placed: Sequence[stages.Placement],
) -> Pairs:
    inputs = tuple(
        ContextInput(
            title=revision.title or facts.title,
            heading_path=place.heading_path,
            # A page of a rendering would re-embed all that follows an inserted one.
            page=place.page_start if facts.page_native else None,
        )
        for place in placed
    )
    return Pairs(
        revision,
        cut,
        tuple(place.chunk_id for place in placed),
        inputs,
        tuple(input_sha256(item) for item in inputs),
    )


@dataclass(frozen=True, slots=True)
class Flat:
    """The pairs of several revisions in a row, for a statement over all of them."""

    owners: tuple[UUID, ...]  # the revision of each pair
    places: tuple[int, ...]  # of each pair, in its revision
    chunks: tuple[UUID, ...]
    hashes: tuple[bytes, ...]


def flat(pairs: Mapping[UUID, Pairs]) -> Flat:
    """Lay pairs out in a row."""
    rows = [
        (id, place, chunk, digest)
        for id, own in pairs.items()
        for place, (chunk, digest) in enumerate(zip(own.chunks, own.hashes, strict=True))
    ]
    return Flat(
        tuple(row[0] for row in rows),
        tuple(row[1] for row in rows),
        tuple(row[2] for row in rows),
        tuple(row[3] for row in rows),
    )
