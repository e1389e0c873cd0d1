"""Syncs the sources of the settings into a scratch index, in this process, without Prefect."""

from __future__ import annotations

from datetime import datetime

from enrich.models import Embedder
from flows import changes, embedding, stages, writing
from flows.progress import StageProgress
from flows.request import request_for
from flows.scratch_job import scratch_job
from flows.settings import Settings
from store.database import Store


def sync_sources(
    store: Store,
    settings: Settings,
    embedder: Embedder,
    *,
    now: datetime | None = None,
    progress: StageProgress | None = None,
) -> int:
    """Index every source of the settings with this model; returns how many documents were taken.

    Raises StoreError, EmbeddingFailed.
    """
    shown = progress or StageProgress(shown=False)
    taken = 0
    for tenant in settings.tenants:
        for source in tenant.sources:
            request = request_for(settings, tenant.name, source, model=embedder.card.name, now=now)
            with scratch_job(store, request, shown, embedder) as job:
                changes.list_source(job)
                changes.diff(job)
                for batch in changes.revoke(job):
                    left = stages.parse(job, batch)
                    left = stages.chunk_batch(job, left)
                    left = stages.contextualize_batch(job, left)
                    left = embedding.embed(job, left)
                    taken += len(writing.write(job, left))
                stages.index(job)
    return taken
