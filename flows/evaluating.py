"""Fills a scratch index with a retrieval set, through the stages of a sync, and asks its questions.

Everything but listing and parsing is what a sync does: the product's chunker and recipe, contexts,
embeddings, entries, statistics and indexes, then the search itself.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any
from uuid import UUID

from chunkers.structure import chunk
from evals.benchmark import BenchDocument, Benchmark
from evals.passages import held_passages
from evals.retrieval import PRINCIPAL, TENANT, Asked, PlacedChunk, ask
from evals.vector_cache import CachedEmbedder
from flows import embedding, writing
from flows import stages as steps
from flows.job import parser_key
from flows.progress import StageProgress
from flows.request import SyncRequest
from flows.scratch_job import ScratchJob, scratch_job
from flows.settings import Settings
from flows.settings_tables import Recipe
from parsers.elements import Parsed, elements_to_json
from search.request import RetrievalPolicy
from sources.files import Metadata
from store import documents, stages
from store.database import Store, database_url
from store.places import Place
from store.scratch import scratch_store

SOURCE = "set"
SUFFIX = ".txt"  # a passage stands where a parser of plain text would have put it


class NotIndexed(Exception):
    """The scratch index could not be filled. The message says why, without text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """What a benchmark run gave."""

    asked: tuple[Asked, ...]
    moved_days: int
    chunks: int
    embedded: int
    reused: int
    query_ms: float | None  # median, of the questions that were embedded now
    database: str | None  # of a scratch index that is kept


def run_benchmark(
    settings: Settings,
    benchmark: Benchmark,
    embedder: CachedEmbedder,
    *,
    cache: Path,
    today: date,
    policy: RetrievalPolicy | None = None,
    keep: bool = False,
    with_rows: bool = False,
    shown: bool = False,
) -> Measured:
    """Index the set's documents in a scratch database and ask its questions.

    Raises DatabaseUnusable, StoreError, EmbeddingFailed, NotIndexed.
    """
    given = settings.database_url.get_secret_value() if settings.database_url else None
    url = database_url(given, cache)
    with (
        scratch_store(url, keep=keep, sweep=given is None) as store,
        StageProgress(shown=shown) as progress,
    ):
        chunks = fill(store, benchmark, embedder, progress, settings.recipe_of())
        progress.expect("questions", len(benchmark.questions))
        results = list(
            ask(
                store,
                benchmark,
                chunks,
                embedder,
                today=today,
                policy=policy,
                with_rows=with_rows,
                advance=lambda: progress.advance("questions"),
            )
        )
        times = sorted(embedder.query_seconds)
        return Measured(
            asked=tuple(item for item, _ in results),
            moved_days=sum(moved for _, moved in results),
            chunks=len(chunks),
            embedded=embedder.embedded,
            reused=embedder.reused,
            query_ms=1000 * times[len(times) // 2] if times else None,
            database=store.url if keep else None,
        )


def fill(
    store: Store,
    benchmark: Benchmark,
    embedder: CachedEmbedder,
    progress: StageProgress,
    recipe: Recipe | None = None,
) -> dict[UUID, PlacedChunk]:
    """Index a set's documents by a recipe; returns every chunk by its id."""
    request = SyncRequest(
        tenant=TENANT,
        source=SOURCE,
        root=Path(),
        max_bytes=0,
        defaults={},
        collection="default",
        index="main",
        timezone="UTC",
        recipe=(recipe or Recipe()).model_copy(update={"model": embedder.card.name}),
        limits=Settings().limits,
    )
    with scratch_job(store, request, progress, embedder) as job:
        revisions, chunks = _stage(job, list(benchmark.documents.values()))
        steps.contextualize_batch(job, revisions)
        embedding.embed(job, revisions)
        written = writing.write(job, revisions)
        steps.index(job)
    if len(written) != len(revisions):
        raise NotIndexed(f"{len(revisions) - len(written)} documents could not be indexed")
    return chunks


def _stage(
    job: ScratchJob, bench: Sequence[BenchDocument]
) -> tuple[list[UUID], dict[UUID, PlacedChunk]]:
    """Write documents, elements and chunks; returns revision ids, and the chunks by id."""
    _ = job.version  # opened before anything refers to it
    key = parser_key(SUFFIX)
    cut = stages.cut_id(key, job.chunking.chunking_id)
    new = [_revision(document) for document in bench]
    documents.add_revisions(
        job.store,
        job.run.id,
        TENANT,
        SOURCE,
        new,
        superseded=(),
        now=job.now,
        today=job.today,
    )
    placed: dict[UUID, PlacedChunk] = {}
    done = []
    job.progress.expect("chunk", len(bench))
    for document, row in zip(bench, new, strict=True):
        parsed = Parsed(elements=document.elements, parser_id=key)
        stages.add_parse(job.store, job.run.id, row.id, key, parsed)
        made = chunk(document.elements, recipe=job.chunking, tokenizer=job.embedder.tokenizer)
        if made:
            ids = stages.chunk_ids(row.document_id, job.chunking.chunking_id, made)
            revision = stages.read_revision(job.store, row.id)
            cutting = stages.Cutting(revision=revision, cut=cut, ids=ids, chunks=made)
            stages.add_chunks(job.store, job.run.id, [cutting])
            placed |= {
                chunk_id: PlacedChunk(
                    document=document.id,
                    ordinal=ordinal,
                    tokens=item.tokens,
                    passages=held_passages(item, document.passages),
                )
                for ordinal, (chunk_id, item) in enumerate(zip(ids, made, strict=True))
            }
            done.append(row.id)
        job.progress.advance("chunk")
    job.progress.expect("contextualize", len(placed))
    return done, placed


def _revision(document: BenchDocument) -> documents.NewRevision:
    name = documents.document_id(TENANT, SOURCE, document.id)
    content = hashlib.sha256(
        (document.id + "\0" + elements_to_json(document.elements)).encode()
    ).digest()
    return documents.NewRevision(
        id=documents.revision_id(name, 1),
        document_id=name,
        sequence=1,
        suffix=SUFFIX,
        bytes=0,
        place=Place(uri=document.id, raw_sha256=content, content_sha256=content),
        metadata=Metadata(
            title=document.title,
            acl=(PRINCIPAL,),
            valid_from=document.valid_from,
            valid_to=document.valid_to,
        ),
        collection="default",
        new_document=True,
    )


def facts(measured: Measured, card_name: str) -> dict[str, Any]:
    """What belongs beside the figures: the model, and what was done to get them."""
    return {
        "model": card_name,
        "chunks": measured.chunks,
        "embedded": measured.embedded,
        "from_cache": measured.reused,
        "embed_query_ms": measured.query_ms and round(measured.query_ms, 2),
        "moved_days": measured.moved_days,
        **({"database": measured.database} if measured.database else {}),
    }
