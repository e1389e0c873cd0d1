"""The write stage: revisions become visible, each whole, a portion of them in one transaction."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from flows.batches import RUN_ERRORS, each, tried
from flows.embedding import embed
from flows.job import AnyWritingJob, WritingJob
from flows.lanes import Lane, Lanes
from flows.portions import Pairs, one_of_each, portions, read_pairs
from flows.stages import chunk_batch, contextualize_batch
from store import publishing
from store.publishing import VersionsChanged

# Chunks that are published at once. An erasure of their documents and a promotion wait for the
# transaction, so it is short.
PUBLISHED_AT_ONCE = 64


def write(job: WritingJob, batch: Sequence[UUID]) -> list[UUID]:
    """Publish a batch's revisions: each becomes visible whole.

    When a version was opened or promoted meanwhile, the batch goes through the stages again, for
    the versions that there are now; what is there already costs nothing.
    """
    while True:
        lanes = job.lanes
        if lanes.renewed:
            for stage in (chunk_batch, contextualize_batch, embed):
                batch = stage(job, batch, lanes)
        try:
            with job.tally.timing("write"):
                return [
                    revision_id
                    for part in one_of_each(job, batch)
                    for portion in portions(job, lanes.first, part, chunks=PUBLISHED_AT_ONCE)
                    for revision_id in _write(job, lanes, portion)
                ]
        except VersionsChanged:
            job.renew(lanes)


def _write(job: WritingJob, lanes: Lanes, portion: Sequence[UUID]) -> list[UUID]:
    """Publish a portion; where that cannot be done, one by one, so that one sinks no other."""
    try:
        done = _publish(job, lanes, portion)
    except (*RUN_ERRORS, VersionsChanged):
        raise
    except Exception:
        done = []
        for revision_id in portion:
            done += tried(job, revision_id, lambda job, alone: _write_alone(job, lanes, alone))
    job.progress.advance("write", len(portion))
    return done


def _write_alone(job: AnyWritingJob, lanes: Lanes, revision_id: UUID) -> list[UUID]:
    """Publish one revision, without the versions beside the first that lack something of it."""
    while True:
        try:
            return _publish(job, lanes, [revision_id])
        except publishing.Incomplete as error:
            if error.version == lanes.first.version.id:
                raise
            job.left_out.add((error.version, revision_id))


def _publish(job: WritingJob, lanes: Lanes, portion: Sequence[UUID]) -> list[UUID]:
    """Publish revisions in one transaction. Raises Incomplete."""
    first = lanes.first.version.id
    pairs = [(lane, read_pairs(job, lane, portion)) for lane in lanes.every]
    shown: list[publishing.Shown] = []

    def gather(job: WritingJob, lane: Lane, revision_id: UUID) -> list[UUID]:
        publications = [
            _publication(lane, own[revision_id])
            for lane, own in pairs
            if (lane.version.id, revision_id) not in job.left_out
        ]
        revision = pairs[0][1][revision_id].revision
        settlement = job.settlement(revision_id, lanes)
        shown.append(
            publishing.Shown(revision=revision, publications=publications, settlement=settlement)
        )
        return [revision_id]

    done = each(job, lanes.first, portion, gather)
    if not shown:
        return []
    result = publishing.publish(job.store, job.run.id, shown)
    job.tally.add("erased", len(result.erased))
    job.tally.add("entries", sum(result.entries.values()))
    job.tally.add("entries_beside", sum(result.entries.values()) - result.entries.get(first, 0))
    job.tally.add("rows", result.rows)
    return [revision_id for revision_id in done if revision_id not in result.erased]


def _publication(lane: Lane, pairs: Pairs) -> publishing.Publication:
    return publishing.Publication(
        version=lane.version.id,
        model=lane.recipe.fingerprint,
        context_id=lane.recipe.context_id,
        cut=pairs.cut,
        chunks=pairs.chunks,
        inputs=pairs.hashes,
    )
