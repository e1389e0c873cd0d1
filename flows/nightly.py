"""The nightly job: a source's files become the index, and what is gone leaves it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import wraps
from typing import Any, ParamSpec, TypeVar, cast
from uuid import UUID

from prefect import Task, flow
from prefect.artifacts import create_table_artifact
from prefect.cache_policies import NO_CACHE
from prefect.futures import PrefectFuture
from prefect.task_runners import TaskRunner, ThreadPoolTaskRunner

from flows import changes, embedding, stages, writing
from flows.batches import RUN_ERRORS, place_of
from flows.finishing import make_report
from flows.job import Job, SyncJob, job_of, writer_of
from flows.policies import DELAYS, RETRIES, retry_transient
from flows.report import Report

THREADS = 4
RUNNER: TaskRunner[Any] = ThreadPoolTaskRunner(max_workers=THREADS)

P = ParamSpec("P")
R = TypeVar("R")


class Defect(Exception):
    """An error that no stage expects. ``code`` is its type and where in mucluc it arose."""

    def __init__(self, code: str) -> None:
        super().__init__(code)
        self.code = code


def stage(name: str) -> Callable[[Callable[P, R]], Task[P, R]]:
    """A Prefect task of the pipeline.

    Prefect neither caches nor persists what it does: the stage tables remember, in transactions
    (I8). Failures that can pass are tried again. Of an error that is none of ours only its place
    goes on: Prefect keeps what it says, and it may quote a document (I10).
    """

    def decorate(function: Callable[P, R]) -> Task[P, R]:
        @wraps(function)
        def told(*args: P.args, **kwargs: P.kwargs) -> R:
            try:
                return function(*args, **kwargs)
            except RUN_ERRORS:
                raise
            except Exception as exc:
                raise Defect(place_of(exc)) from None

        return Task(
            told,
            name=name,
            cache_policy=NO_CACHE,
            persist_result=False,
            log_prints=False,
            retries=RETRIES,
            retry_delay_seconds=list(DELAYS),
            retry_condition_fn=retry_transient,
        )

    return decorate


@stage("list")
def list_source(run_id: int) -> int:
    """List the source's files."""
    return changes.list_source(job_of(run_id, SyncJob))


@stage("diff")
def diff(run_id: int) -> int:
    """Compare the listing with what is known; read what may have changed."""
    return changes.diff(job_of(run_id, SyncJob))


@stage("revoke")
def revoke(run_id: int) -> list[list[UUID]]:
    """Put deletions, access and validity in force; returns batches of revision ids."""
    return changes.revoke(job_of(run_id, SyncJob))


@stage("parse")
def parse(run_id: int, batch: list[UUID]) -> list[UUID]:
    """Bytes to elements."""
    return stages.parse(job_of(run_id, SyncJob), batch)


@stage("chunk")
def chunk(run_id: int, batch: list[UUID]) -> list[UUID]:
    """Elements to chunks."""
    return stages.chunk_batch(writer_of(run_id), batch)


@stage("contextualize")
def contextualize(run_id: int, batch: list[UUID]) -> list[UUID]:
    """Chunks to contextual texts."""
    return stages.contextualize_batch(writer_of(run_id), batch)


@stage("embed")
def embed(run_id: int, batch: list[UUID]) -> list[UUID]:
    """Contextual texts to embeddings, unless the memo has them."""
    return embedding.embed(writer_of(run_id), batch)


@stage("write")
def write(run_id: int, batch: list[UUID]) -> list[UUID]:
    """Embeddings to entries; each revision becomes visible whole."""
    return writing.write(writer_of(run_id), batch)


@stage("index")
def index(run_id: int, written: list[Any]) -> None:
    """Statistics, indexes, and the gates of a first version."""
    stages.index(job_of(run_id, SyncJob))


@stage("report")
def report(run_id: int) -> Report:
    """Sum up, for the run's row and as a Prefect artifact: figures and ids only."""
    summary = make_report(job_of(run_id, SyncJob))
    create_table_artifact(
        key=f"sync-{run_id}",
        table=[{"figure": name, "value": str(value)} for name, value in summary.to_json().items()],
        description=f"Run {run_id}",
    )
    return summary


@flow(
    name="sync-source",
    task_runner=RUNNER,
    persist_result=False,
)
def sync_source(run_id: int) -> Report:
    """Bring one source's part of the index up to date, batch by batch."""
    list_source(run_id)
    diff(run_id)
    batches = revoke(run_id)
    parsed = parse.map(run_id, batches)
    chunked = chunk.map(run_id, parsed)
    contextualized = contextualize.map(run_id, chunked)
    # Embed and write a batch before the next: it can be found while others are embedded.
    written = [future for batch in contextualized for future in submit_write(run_id, batch)]
    index(run_id, settle(run_id, [*parsed, *chunked, *contextualized, *written]))
    return report(run_id)


def submit_write(run_id: int, batch: PrefectFuture[list[UUID]]) -> list[PrefectFuture[Any]]:
    """Queue a batch's embedding and, behind it, its writing."""
    vectors: Any = embed.submit(run_id, cast("Any", batch))  # Prefect awaits a future argument
    return [vectors, write.submit(run_id, vectors)]


def settle(run_id: int, futures: Iterable[PrefectFuture[Any]]) -> list[Any]:
    """Wait for every task. A batch that failed is in the report, and does not stop the others."""
    job = job_of(run_id, Job)
    for future in futures:
        future.wait()
        state = future.state
        # A stage behind a failed one never starts: the failed one says why.
        if state.is_failed() or state.is_crashed():
            error = state.result(raise_on_failure=False)
            job.failures.append(str(getattr(error, "code", None) or type(error).__name__))
    return []


@flow(name="nightly", persist_result=False)
def nightly(run_id: int | None = None) -> dict[str, Any]:
    """Sync one opened run, or every source of mucluc.toml; what ``mucluc serve`` schedules.

    A source that fails does not keep the others from their turn; the flow then fails at its end.
    """
    if run_id is not None:
        return sync_source(run_id).to_json()
    # Imported here, as the command line imports this module.
    from flows.syncing import sync_all  # noqa: PLC0415

    return sync_all()
