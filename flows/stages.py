"""The stages of a sync over batches of revision ids: call the pure function, call the store.

A document that cannot be taken is quarantined and leaves the batch (I12). Errors of the database
and of the embedding model concern the run and go up.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from uuid import UUID

from chunkers.structure import chunk
from enrich.contextualize import contextualize, memo_key
from flows.attachments import add_attachments, unpublished_attachments
from flows.batches import each, each_lane, tried
from flows.job import SyncJob, WritingJob
from flows.lanes import Lane, Lanes
from flows.portions import PORTION, Pairs, cut_of, flat, portions, read_pairs
from parsers.elements import Unreadable
from sources.files import SourceProblem
from sources.folder import read_file
from store import gc, stages
from store.versions import (
    bootstrap,
    bootstrap_gates,
    build_indexes,
    cool,
    refresh_statistics,
)


def parse(job: SyncJob, batch: Sequence[UUID]) -> list[UUID]:
    """Parse a batch's files in worker processes; attachments come before their mails."""
    done: list[UUID] = []
    for revision_id in batch:
        with job.tally.timing("parse"):
            done += tried(job, revision_id, _parse_file)
        job.progress.advance("parse")
    job.progress.expect("chunk", len(done))
    return done


def _parse_file(job: SyncJob, revision_id: UUID) -> list[UUID]:
    revision = stages.read_revision(job.store, revision_id)
    key = job.parse_id(revision)
    # A mail that returns brings its attachments back, and only its bytes say which they are.
    if not revision.deleted and stages.has_parse(job.store, revision_id, key):
        return [*unpublished_attachments(job, revision), revision_id]
    try:
        file = read_file(job.work[revision_id].listed)
    except SourceProblem:
        return []  # it changed or went while we worked: the next run lists it anew
    if file.raw_sha256 != revision.raw_sha256:
        return []
    parsed = job.parse(file.body, revision.suffix)
    attached = add_attachments(job, revision, file.metadata, parsed.attachments)
    rows = stages.add_parse(job.store, job.run.id, revision_id, key, parsed)
    job.tally.add("rows", rows)
    return [*attached, revision_id]


def chunk_batch(job: WritingJob, batch: Sequence[UUID], lanes: Lanes | None = None) -> list[UUID]:
    """Cut a batch's elements into chunks."""
    with job.tally.timing("chunk"):
        return each_lane(job, lanes or job.lanes, batch, _chunk_lane)


def _chunk_lane(
    job: WritingJob, lane: Lane, batch: Sequence[UUID], *, beside: bool = False
) -> list[UUID]:
    revisions = stages.read_revisions(job.store, batch)
    cuts = {id: cut_of(job, lane, revision) for id, revision in revisions.items()}
    present = stages.count_chunks(job.store, cuts)
    made: list[stages.Cutting] = []
    waiting = 0

    def step(job: WritingJob, lane: Lane, revision_id: UUID) -> list[UUID]:
        nonlocal waiting
        count = present[revision_id]
        if count == 0:
            cutting = _cut(job, lane, revisions[revision_id], cuts[revision_id])
            made.append(cutting)
            count = len(cutting.chunks)
            waiting += count
            if waiting >= PORTION:
                _add_chunks(job, made)
                waiting = 0
        else:
            job.tally.add("chunks_kept", count)
        job.progress.expect("contextualize", count)
        return [revision_id]

    done = each(job, lane, batch, step, stage=None if beside else "chunk", beside=beside)
    _add_chunks(job, made)
    return done


def _cut(job: WritingJob, lane: Lane, revision: stages.StoredRevision, cut: str) -> stages.Cutting:
    elements = stages.read_elements(job.store, revision.id, job.parse_id(revision))
    chunks = chunk(elements, recipe=lane.chunking, tokenizer=lane.embedder.tokenizer)
    if not chunks:
        raise Unreadable("no_text")
    ids = stages.chunk_ids(revision.document_id, lane.chunking.chunking_id, chunks)
    return stages.Cutting(revision=revision, cut=cut, ids=ids, chunks=chunks)


def _add_chunks(job: WritingJob, made: list[stages.Cutting]) -> None:
    """Write what was cut, and empty the list."""
    if not made:
        return
    new, rows = stages.add_chunks(job.store, job.run.id, made)
    job.tally.add("chunks_written", new)
    job.tally.add("chunks_reused", sum(len(cutting.chunks) for cutting in made) - new)
    job.tally.add("rows", rows)
    made.clear()


def contextualize_batch(
    job: WritingJob, batch: Sequence[UUID], lanes: Lanes | None = None
) -> list[UUID]:
    """Write the contextual text of a batch's chunks."""
    with job.tally.timing("contextualize"):
        return each_lane(job, lanes or job.lanes, batch, _contextualize_lane)


def _contextualize_lane(
    job: WritingJob, lane: Lane, batch: Sequence[UUID], *, beside: bool = False
) -> list[UUID]:
    done: list[UUID] = []
    for portion in portions(job, lane, batch):
        done += _contextualize_portion(job, lane, portion, beside=beside)
    return done


def _contextualize_portion(
    job: WritingJob, lane: Lane, portion: Sequence[UUID], *, beside: bool
) -> list[UUID]:
    pairs = read_pairs(job, lane, portion)
    row = flat(pairs)
    missing: dict[UUID, list[tuple[int, str]]] = {}
    for position, text in stages.missing_contexts(
        job.store, lane.recipe.context_id, row.chunks, row.hashes
    ):
        missing.setdefault(row.owners[position], []).append((row.places[position], text))
    written: list[stages.StoredContext] = []

    def step(job: WritingJob, lane: Lane, revision_id: UUID) -> list[UUID]:
        own, texts = pairs[revision_id], missing.get(revision_id, [])
        written.extend([_context(job, lane, own, place, text) for place, text in texts])
        job.tally.add("contexts_reused", len(own.chunks) - len(texts))
        job.progress.advance("contextualize", len(own.chunks))
        return [revision_id]

    done = each(job, lane, portion, step, beside=beside)
    rows = stages.add_contexts(job.store, job.run.id, lane.recipe.context_id, written)
    job.tally.add("contexts", len(written))
    job.tally.add("rows", rows)
    return done


def _context(
    job: WritingJob, lane: Lane, pairs: Pairs, place: int, text: str
) -> stages.StoredContext:
    contextual = contextualize(
        pairs.inputs[place],
        text,
        recipe=lane.chunking,
        card=lane.embedder.card,
        tokenizer=lane.embedder.tokenizer,
    )
    return stages.StoredContext(
        chunk_id=pairs.chunks[place],
        input_sha256=pairs.hashes[place],
        prefix=contextual.prefix,
        tokens=contextual.tokens,
        fallback=contextual.fallback,
        embedding_key=memo_key(job.store.keys.memo, contextual.text),
    )


def prune(job: SyncJob) -> int:
    """Delete what the source's revisions said that ended longer ago than the settings keep.

    Returns how many revisions. None while a version is being built: the next run sees to them.
    """
    request = job.request
    if request.keep_history_days is not None:
        before = job.today - timedelta(days=request.keep_history_days)
        for counts in gc.prune_history(
            job.store, job.run.id, before, tenant=request.tenant, source=request.source
        ):
            job.tally.add("pruned", counts["history"])
        gc.recount(job.store, job.run.id)
    return job.tally["pruned"]


def index(job: SyncJob) -> None:
    """After the last write: history, statistics, indexes, and a first version's gates."""
    version, request = job.version, job.request
    with job.tally.timing("index"):
        prune(job)
        changed = refresh_statistics(job.store, job.run.id, version.id, request.tenant)
        if changed or version.state == "building":
            job.progress.expect("index", 2 * request.modulus)
            job.progress.advance("index", build_indexes(job.store, version))
        cool(job.store, job.run.id, version.id, job.today)
        for beside in sorted(job.versions_written - {version.id}):
            refresh_statistics(job.store, job.run.id, beside, request.tenant)
            cool(job.store, job.run.id, beside, job.today)
        if version.state == "building" and not job.failures:
            gates = bootstrap_gates(job.store, version, request.tenant, request.source)
            if not gates["vectors"]["entries"]:
                job.tally.add("nothing_indexed")
            elif not bootstrap(job.store, job.run.id, version, gates):
                failed = [name for name, gate in gates.items() if not gate["passed"]]
                job.tally.add("not_active:" + "+".join(failed))
