"""The stages of a sync over batches of revision ids: call the pure function, call the store.

A document that cannot be taken is quarantined and leaves the batch (I12). Errors of the database
and of the embedding model concern the run and go up.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from uuid import UUID

from chunkers.structure import chunk
from enrich.contextualize import (
    ContextInput,
    contextual_text,
    contextualize,
    input_sha256,
    memo_key,
)
from enrich.models import EmbeddingFailed, Truncated
from flows.attachments import add_attachments, unpublished_attachments
from flows.job import SyncJob
from parsers.elements import Unreadable
from sources.files import SourceProblem
from sources.folder import read_file
from store import embeddings, publishing, stages
from store.errors import FencedError, StoreError
from store.versions import (
    bootstrap,
    bootstrap_gates,
    build_indexes,
    cool,
    refresh_statistics,
)

EMBED_SLICE = 64  # chunks in one memo transaction: what a killed run embeds again at the most
RUN_ERRORS = (StoreError, FencedError, EmbeddingFailed)


def parse(job: SyncJob, batch: Sequence[UUID]) -> list[UUID]:
    """Parse a batch's files in worker processes; attachments come before their mails."""
    done: list[UUID] = []
    for revision_id in batch:
        with job.tally.timing("parse"):
            done += _each(job, [revision_id], _parse_file)
        job.progress.advance("parse")
    job.progress.expect("chunk", len(done))
    return done


def _parse_file(job: SyncJob, revision_id: UUID) -> list[UUID]:
    revision = stages.read_revision(job.store, revision_id)
    key = job.parser_key(revision.suffix)
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


def chunk_batch(job: SyncJob, batch: Sequence[UUID]) -> list[UUID]:
    """Cut a batch's elements into chunks."""
    with job.tally.timing("chunk"):
        done = _each(job, batch, _chunk, stage="chunk")
    return done


def _chunk(job: SyncJob, revision_id: UUID) -> list[UUID]:
    revision = stages.read_revision(job.store, revision_id)
    key = job.parser_key(revision.suffix)
    cut = stages.cut_id(key, job.chunking.chunking_id)
    present = stages.count_chunks(job.store, revision_id, cut)
    if present == 0:
        elements = stages.read_elements(job.store, revision_id, key)
        chunks = chunk(elements, recipe=job.chunking, tokenizer=job.embedder.tokenizer)
        if not chunks:
            raise Unreadable("no_text")
        ids = stages.chunk_ids(revision.document_id, job.chunking.chunking_id, chunks)
        new, rows = stages.add_chunks(job.store, job.run.id, revision, cut, ids, chunks)
        present = len(chunks)
        job.tally.add("chunks_written", new)
        job.tally.add("chunks_reused", present - new)
        job.tally.add("rows", rows)
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


def _pairs(job: SyncJob, revision_id: UUID) -> _Pairs:
    revision = stages.read_revision(job.store, revision_id)
    key = job.parser_key(revision.suffix)
    cut = stages.cut_id(key, job.chunking.chunking_id)
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


def contextualize_batch(job: SyncJob, batch: Sequence[UUID]) -> list[UUID]:
    """Write the contextual text of a batch's chunks."""
    with job.tally.timing("contextualize"):
        return _each(job, batch, _contextualize)


def _contextualize(job: SyncJob, revision_id: UUID) -> list[UUID]:
    pairs = _pairs(job, revision_id)
    written = []
    missing = stages.missing_contexts(job.store, job.recipe.context_id, pairs.chunks, pairs.hashes)
    for position, text in missing:
        contextual = contextualize(
            pairs.inputs[position],
            text,
            recipe=job.chunking,
            card=job.embedder.card,
            tokenizer=job.embedder.tokenizer,
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
    rows = stages.add_contexts(job.store, job.run.id, job.recipe.context_id, written)
    job.tally.add("contexts", len(written))
    job.tally.add("rows", rows)
    job.progress.advance("contextualize", len(pairs.chunks))
    return [revision_id]


def embed(job: SyncJob, batch: Sequence[UUID]) -> list[UUID]:
    """Embed the contextual texts of a batch that no memo holds.

    The texts of all its documents together: most documents have fewer chunks than an encoder
    needs to keep the cores busy.
    """
    missing: dict[bytes, embeddings.Unembedded] = {}
    owners: dict[bytes, list[UUID]] = {}

    def gather(job: SyncJob, revision_id: UUID) -> list[UUID]:
        for item in _missing_embeddings(job, revision_id):
            missing[item.key] = item
            owners.setdefault(item.key, []).append(revision_id)
        return [revision_id]

    with job.tally.timing("embed"):
        done = _each(job, batch, gather)
        job.progress.expect("embed", len(missing))
        aside: dict[UUID, Exception] = {}
        # Texts of like length side by side: an encoder that pads wastes least.
        queue = iter(sorted(missing.values(), key=lambda item: (item.tokens, item.key)))
        while part := list(islice(queue, EMBED_SLICE)):
            for item, error in _embed_slice(job, part):
                aside |= dict.fromkeys(owners[item.key], error)

        def leave(job: SyncJob, revision_id: UUID) -> list[UUID]:
            if revision_id in aside:
                raise aside[revision_id]
            return [revision_id]

        done = _each(job, done, leave)
    job.progress.expect("write", len(done))
    return done


def _missing_embeddings(job: SyncJob, revision_id: UUID) -> list[embeddings.Unembedded]:
    pairs = _pairs(job, revision_id)
    return embeddings.missing_embeddings(
        job.store,
        pairs.revision.tenant,
        job.recipe.fingerprint,
        job.recipe.context_id,
        pairs.chunks,
        pairs.hashes,
    )


def _embed_slice(
    job: SyncJob, part: Sequence[embeddings.Unembedded]
) -> list[tuple[embeddings.Unembedded, Exception]]:
    """Embed texts and remember them, in one transaction; returns what could not be embedded.

    A slice that the model refuses is halved until the refused text stands alone (I12).
    """
    try:
        vectors = job.embedder.embed_passages(
            [contextual_text(item.prefix, item.text) for item in part]
        )
    except RUN_ERRORS:
        raise
    except Exception as error:
        if len(part) == 1:
            job.progress.advance("embed")
            return [(part[0], error)]
        middle = len(part) // 2
        return [*_embed_slice(job, part[:middle]), *_embed_slice(job, part[middle:])]
    rows = embeddings.add_embeddings(
        job.store,
        job.run.id,
        job.request.tenant,
        job.recipe.fingerprint,
        [item.key for item in part],
        vectors,
    )
    job.tally.add("embedded", len(part))
    job.tally.add("tokens", sum(item.tokens for item in part))
    job.tally.add("rows", rows)
    job.progress.advance("embed", len(part))
    return []


def write(job: SyncJob, batch: Sequence[UUID]) -> list[UUID]:
    """Publish a batch's revisions: each becomes visible whole, in a transaction of its own."""
    with job.tally.timing("write"):
        return _each(job, batch, _write, stage="write")


def _write(job: SyncJob, revision_id: UUID) -> list[UUID]:
    pairs = _pairs(job, revision_id)
    work = job.work.get(revision_id)
    result = publishing.publish(
        job.store,
        job.run.id,
        publishing.Publication(
            revision=pairs.revision,
            version=job.version.id,
            model=job.recipe.fingerprint,
            context_id=job.recipe.context_id,
            cut=pairs.cut,
            token=work.listed.token if work else None,
            chunks=pairs.chunks,
            inputs=pairs.hashes,
        ),
    )
    if result is None:
        job.tally.add("erased")
        return []
    entries, rows = result
    job.tally.add("entries", entries)
    job.tally.add("rows", rows)
    return [revision_id]


def index(job: SyncJob) -> None:
    """After the last write: statistics, indexes, ended revisions, and a first version's gates."""
    version, request = job.version, job.request
    with job.tally.timing("index"):
        changed = refresh_statistics(job.store, job.run.id, version.id, request.tenant)
        if changed or version.state == "building":
            job.progress.expect("index", 2 * request.modulus)
            job.progress.advance("index", build_indexes(job.store, version))
        cool(job.store, job.run.id, version.id, job.today)
        if version.state == "building" and not job.failures:
            gates = bootstrap_gates(job.store, version, request.tenant, request.source)
            if not gates["vectors"]["entries"]:
                job.tally.add("nothing_indexed")
            elif not bootstrap(job.store, job.run.id, version, gates):
                failed = [name for name, gate in gates.items() if not gate["passed"]]
                job.tally.add("not_active:" + "+".join(failed))


def _each(
    job: SyncJob,
    batch: Sequence[UUID],
    step: Callable[[SyncJob, UUID], list[UUID]],
    *,
    stage: str | None = None,
) -> list[UUID]:
    """Take each revision of a batch through a step; quarantine what cannot be taken."""
    done: list[UUID] = []
    for revision_id in batch:
        try:
            done += step(job, revision_id)
        except RUN_ERRORS:
            raise
        except Unreadable as problem:
            job.put_aside(revision_id, problem.code, problem.hint)
        except Truncated:
            job.tally.add("truncated")
            job.put_aside(revision_id, "too_long", "")
        except KeyError:
            continue  # deleted or erased while we worked
        except Exception as exc:  # a defect of ours: it must not stop the others (I12)
            job.put_aside(revision_id, "internal_error", place_of(exc))
        if stage is not None:
            job.progress.advance(stage)
    return done


def place_of(error: BaseException) -> str:
    """The type of an error and where in mucluc it arose; its text may quote the document (I10)."""
    home = Path(__file__).resolve().parent.parent
    places = [
        f"{Path(frame.filename).relative_to(home)}:{frame.lineno}"
        for frame in traceback.extract_tb(error.__traceback__)
        if Path(frame.filename).is_relative_to(home) and ".venv" not in frame.filename
    ]
    return f"{type(error).__name__} at {places[-1] if places else 'a library'}"
