"""A sync's job over a scratch index, with an embedding model of the caller's."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime

from enrich.models import Embedder
from flows.job import SyncJob
from flows.lanes import Lanes
from flows.progress import StageProgress
from flows.request import SyncRequest
from store.database import Store
from store.runs import open_run


@dataclass(kw_only=True)
class ScratchJob(SyncJob):
    """A sync that embeds with ``model``, as the recipe's model would, from a cache."""

    model: Embedder

    def _find_lanes(self) -> Lanes:
        found = super()._find_lanes()
        return replace(
            found, every=tuple(replace(lane, embedder=self.model) for lane in found.every)
        )


def open_scratch_job(
    store: Store, request: SyncRequest, progress: StageProgress, model: Embedder
) -> ScratchJob:
    """Begin a run that no task looks up. ``model`` has the card of the request's model."""
    run = open_run(
        store,
        kind="sync",
        lock_key=request.lock_key,
        tenant=request.tenant,
        source=request.source,
        options=request.model_dump(mode="json"),
    )
    job = ScratchJob(
        run,
        store,
        progress,
        request.clock(datetime.fromisoformat(run.started_on)),
        request.limits,
        request=request,
        model=model,
    )
    job.embedder = model
    return job
