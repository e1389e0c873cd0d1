"""The stages of a sync over batches of revision ids: call the pure function, call the store.

A document that cannot be taken is quarantined and leaves the batch (I12). Errors of the database
and of the embedding model concern the run and go up.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from itertools import islice
from uuid import UUID

from chunkers.structure import chunk
from enrich.contextualize import (
    ContextInput,
    contextual_text,
    contextualize,
    input_sha256,
    memo_key,
)
from enrich.models import EmbeddingFailed
from flows.attachments import add_attachments, unpublished_attachments
from flows.batches import RUN_ERRORS, each, each_lane, still_in, tried
from flows.job import SyncJob, WritingJob
from flows.lanes import Lane, Lanes
from flows.stopping import go_on
from parsers.elements import Unreadable
from sources.files import SourceProblem
from sources.folder import read_file
from store import embeddings, gc, publishing, stages
from store.publishing import VersionsChanged
from store.versions import (
    bootstrap,
    bootstrap_gates,
    build_indexes,
    cool,
    refresh_statistics,
)

EMBED_SLICE = 64  # chunks in one memo transaction: what a killed run embeds again at the most


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
        return each_lane(job, lanes or job.lanes, batch, _chunk, stage="chunk")


def _chunk(job: WritingJob, lane: Lane, revision_id: UUID) -> list[UUID]:
    revision = stages.read_revision(job.store, revision_id)
    key = job.parse_id(revision)
    cut = stages.cut_id(key, lane.chunking.chunking_id)
    present = stages.count_chunks(job.store, revision_id, cut)
    if present == 0:
        elements = stages.read_elements(job.store, revision_id, key)
        chunks = chunk(elements, recipe=lane.chunking, tokenizer=lane.embedder.tokenizer)
        if not chunks:
            raise Unreadable("no_text")
        ids = stages.chunk_ids(revision.document_id, lane.chunking.chunking_id, chunks)
        new, rows = stages.add_chunks(job.store, job.run.id, revision, cut, ids, chunks)
        present = len(chunks)
        job.tally.add("chunks_written", new)
        job.tally.add("chunks_reused", present - new)
        job.tally.add("rows", rows)
    else:
        job.tally.add("chunks_kept", present)
    job.progress.expect("contextualize", present)
    return [revision_id]


@dataclass(frozen=True, slots=True)
class _Pairs:
    """A revision's chunks and the contexts that stand for them now."""

    revision: stages.StoredRevision
    cut: str
    chunks: tuple[UUID, ...]
    inputs: tuple[ContextInput, ...]
    hashes: tuple[bytes, ...]


def _pairs(job: WritingJob, lane: Lane, revision_id: UUID) -> _Pairs:
    revision = stages.read_revision(job.store, revision_id)
    key = job.parse_id(revision)
    cut = stages.cut_id(key, lane.chunking.chunking_id)
    facts = stages.parse_facts(job.store, revision_id, key)
    placed = stages.placements(job.store, revision_id, cut)
    inputs = tuple(
        ContextInput(
            title=revision.title or facts.title,
            heading_path=place.heading_path,
            # A page of a rendering would re-embed all that follows an inserted one.
            page=place.page_start if facts.page_native else None,
        )
        for place in placed
    )
    return _Pairs(
        revision,
        cut,
        tuple(place.chunk_id for place in placed),
        inputs,
        tuple(input_sha256(item) for item in inputs),
    )


def contextualize_batch(
    job: WritingJob, batch: Sequence[UUID], lanes: Lanes | None = None
) -> list[UUID]:
    """Write the contextual text of a batch's chunks."""
    with job.tally.timing("contextualize"):
        return each_lane(job, lanes or job.lanes, batch, _contextualize)


def _contextualize(job: WritingJob, lane: Lane, revision_id: UUID) -> list[UUID]:
    pairs = _pairs(job, lane, revision_id)
    strategy = lane.recipe.context_id
    written = []
    missing = stages.missing_contexts(job.store, strategy, pairs.chunks, pairs.hashes)
    for position, text in missing:
        contextual = contextualize(
            pairs.inputs[position],
            text,
            recipe=lane.chunking,
            card=lane.embedder.card,
            tokenizer=lane.embedder.tokenizer,
        )
        written.append(
            stages.StoredContext(
                chunk_id=pairs.chunks[position],
                input_sha256=pairs.hashes[position],
                prefix=contextual.prefix,
                tokens=contextual.tokens,
                fallback=contextual.fallback,
                embedding_key=memo_key(job.store.keys.memo, contextual.text),
            )
        )
    rows = stages.add_contexts(job.store, job.run.id, strategy, written)
    job.tally.add("contexts", len(written))
    job.tally.add("contexts_reused", len(pairs.chunks) - len(written))
    job.tally.add("rows", rows)
    job.progress.advance("contextualize", len(pairs.chunks))
    return [revision_id]


def embed(job: WritingJob, batch: Sequence[UUID], lanes: Lanes | None = None) -> list[UUID]:
    """Embed the contextual texts of a batch that no memo holds, lane by lane."""
    lanes = lanes or job.lanes
    with job.tally.timing("embed"):
        done = _embed_lane(job, lanes.first, batch)
        for lane in lanes.every[1:]:
            try:
                _embed_lane(job, lane, still_in(job, lane, done), beside=True)
            except EmbeddingFailed:
                # The index that people search does not wait for the model of another version.
                job.left_out |= {(lane.version.id, revision_id) for revision_id in done}
    job.progress.expect("write", len(done))
    return done


def _embed_lane(
    job: WritingJob, lane: Lane, batch: Sequence[UUID], *, beside: bool = False
) -> list[UUID]:
    """Embed a batch for one version.

    The texts of all its documents together: most documents have fewer chunks than an encoder
    needs to keep the cores busy.
    """
    missing: dict[bytes, embeddings.Unembedded] = {}
    owners: dict[bytes, list[UUID]] = {}
    tenants: dict[bytes, str] = {}

    def gather(job: WritingJob, lane: Lane, revision_id: UUID) -> list[UUID]:
        pairs = _pairs(job, lane, revision_id)
        found = _missing_embeddings(job, lane, pairs)
        job.tally.add("embeddings_reused", len(pairs.chunks) - len(found))
        for item in found:
            missing[item.key] = item
            tenants[item.key] = pairs.revision.tenant
            owners.setdefault(item.key, []).append(revision_id)
        return [revision_id]

    done = each(job, lane, batch, gather, beside=beside)
    job.progress.expect("embed", len(missing))
    aside: dict[UUID, Exception] = {}
    # Texts of like length side by side: an encoder that pads wastes least.
    queue = sorted(missing.values(), key=lambda item: (item.tokens, item.key))
    for tenant in sorted(set(tenants.values())):
        texts = iter([item for item in queue if tenants[item.key] == tenant])
        while part := list(islice(texts, EMBED_SLICE)):
            for item, error in _embed_slice(job, lane, tenant, part):
                aside |= dict.fromkeys(owners[item.key], error)
    job.tally.add("embedded_beside", len(missing) if beside else 0)

    def leave(job: WritingJob, lane: Lane, revision_id: UUID) -> list[UUID]:
        if revision_id in aside:
            raise aside[revision_id]
        return [revision_id]

    return each(job, lane, done, leave, beside=beside)


def _missing_embeddings(job: WritingJob, lane: Lane, pairs: _Pairs) -> list[embeddings.Unembedded]:
    return embeddings.missing_embeddings(
        job.store,
        pairs.revision.tenant,
        lane.recipe.fingerprint,
        lane.recipe.context_id,
        pairs.chunks,
        pairs.hashes,
    )


def _embed_slice(
    job: WritingJob, lane: Lane, tenant: str, part: Sequence[embeddings.Unembedded]
) -> list[tuple[embeddings.Unembedded, Exception]]:
    """Embed texts and remember them, in one transaction; returns what could not be embedded.

    A slice that the model refuses is halved until the refused text stands alone (I12).
    """
    go_on()
    try:
        vectors = lane.embedder.embed_passages(
            [contextual_text(item.prefix, item.text) for item in part]
        )
    except RUN_ERRORS:
        raise
    except Exception as error:
        if len(part) == 1:
            job.progress.advance("embed")
            return [(part[0], error)]
        middle = len(part) // 2
        return [
            *_embed_slice(job, lane, tenant, part[:middle]),
            *_embed_slice(job, lane, tenant, part[middle:]),
        ]
    rows = embeddings.add_embeddings(
        job.store,
        job.run.id,
        tenant,
        lane.recipe.fingerprint,
        [item.key for item in part],
        vectors,
    )
    job.tally.add("embedded", len(part))
    job.tally.add("tokens", sum(item.tokens for item in part))
    job.tally.add("rows", rows)
    job.progress.advance("embed", len(part))
    return []


def write(job: WritingJob, batch: Sequence[UUID]) -> list[UUID]:
    """Publish a batch's revisions: each becomes visible whole, in a transaction of its own.

    When a version was opened or promoted meanwhile, the batch goes through the stages again, for
    the versions that there are now; what is there already costs nothing.
    """
    while True:
        lanes = job.lanes
        if lanes.renewed:
            for stage in (chunk_batch, contextualize_batch, embed):
                batch = stage(job, batch, lanes)
        step = partial(_write, lanes=lanes)
        try:
            with job.tally.timing("write"):
                return each(job, lanes.first, batch, step, stage="write")
        except VersionsChanged:
            job.renew(lanes)


def _write(job: WritingJob, first: Lane, revision_id: UUID, *, lanes: Lanes) -> list[UUID]:
    taken = [lane for lane in lanes.every if (lane.version.id, revision_id) not in job.left_out]
    while True:
        revision = stages.read_revision(job.store, revision_id)
        publications = [_publication(job, lane, revision_id) for lane in taken]
        try:
            result = publishing.publish(
                job.store, job.run.id, revision, publications, job.settlement(revision_id, lanes)
            )
            break
        except publishing.Incomplete as error:
            if error.version == first.version.id:
                raise
            job.left_out.add((error.version, revision_id))
            taken = [lane for lane in taken if lane.version.id != error.version]
    if result is None:
        job.tally.add("erased")
        return []
    entries, rows = result
    job.tally.add("entries", sum(entries.values()))
    job.tally.add("entries_beside", sum(entries.values()) - entries.get(first.version.id, 0))
    job.tally.add("rows", rows)
    return [revision_id]


def _publication(job: WritingJob, lane: Lane, revision_id: UUID) -> publishing.Publication:
    pairs = _pairs(job, lane, revision_id)
    return publishing.Publication(
        version=lane.version.id,
        model=lane.recipe.fingerprint,
        context_id=lane.recipe.context_id,
        cut=pairs.cut,
        chunks=pairs.chunks,
        inputs=pairs.hashes,
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
