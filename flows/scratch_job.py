"""A sync's job over a scratch index, with an embedding model of the caller's."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

from enrich.models import Embedder
from flows.job import SyncJob, new_job
from flows.lanes import Lanes
from flows.progress import StageProgress
from flows.request import SyncRequest
from store.database import Store


@dataclass(kw_only=True)
class ScratchJob(SyncJob):
    """A sync that embeds with ``model``, as the recipe's model would, from a cache."""

    model: Embedder

    def _find_lanes(self) -> Lanes:
        found = super()._find_lanes()
        return replace(
            found, every=tuple(replace(lane, embedder=self.model) for lane in found.every)
        )


@contextmanager
def scratch_job(
    store: Store, request: SyncRequest, progress: StageProgress, model: Embedder
) -> Iterator[ScratchJob]:
    """A run that no task looks up, ended with the block. ``model`` has the request's model card."""
    job = new_job(ScratchJob, store, request, progress, model=model)
    job.embedder = model
    try:
        yield job
        job.run.close(store, "done", None)
    except BaseException:
        job.run.close(store, "failed", None)
        raise
    finally:
        job.close()
