"""The embed stage: contextual texts that no memo holds become vectors, in slices."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from uuid import UUID

from enrich.contextualize import contextual_text
from enrich.models import EmbeddingFailed
from flows.batches import RUN_ERRORS, each, still_in
from flows.job import WritingJob
from flows.lanes import Lane, Lanes
from flows.portions import Pairs, flat, portions, read_pairs
from flows.stopping import go_on
from store import embeddings

EMBED_SLICE = 64  # chunks in one memo transaction: what a killed run embeds again at the most


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
    done: list[UUID] = []
    for portion in portions(job, lane, batch):
        pairs = read_pairs(job, lane, portion)
        lacking = _lacking(job, lane, pairs)

        def gather(
            job: WritingJob,
            lane: Lane,
            revision_id: UUID,
            pairs: Mapping[UUID, Pairs] = pairs,
            lacking: Mapping[UUID, Mapping[bytes, embeddings.Unembedded]] = lacking,
        ) -> list[UUID]:
            own, found = pairs[revision_id], lacking.get(revision_id, {})
            job.tally.add("embeddings_reused", len(own.chunks) - len(found))
            for key, item in found.items():
                missing[key] = item
                tenants[key] = own.revision.tenant
                owners.setdefault(key, []).append(revision_id)
            return [revision_id]

        done += each(job, lane, portion, gather, beside=beside)
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


def _lacking(
    job: WritingJob, lane: Lane, pairs: Mapping[UUID, Pairs]
) -> dict[UUID, dict[bytes, embeddings.Unembedded]]:
    """What no memo holds, by revision and key: a tenant's texts in one statement."""
    found: dict[UUID, dict[bytes, embeddings.Unembedded]] = {}
    for mine in _by_tenant(pairs):
        row = flat(mine)
        tenant = pairs[next(iter(mine))].revision.tenant
        for position, item in embeddings.missing_embeddings(
            job.store,
            tenant,
            lane.recipe.fingerprint,
            lane.recipe.context_id,
            row.chunks,
            row.hashes,
        ):
            found.setdefault(row.owners[position], {})[item.key] = item
    return found


def _by_tenant(pairs: Mapping[UUID, Pairs]) -> Iterator[dict[UUID, Pairs]]:
    for tenant in sorted({own.revision.tenant for own in pairs.values()}):
        yield {id: own for id, own in pairs.items() if own.revision.tenant == tenant}


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
