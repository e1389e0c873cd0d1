"""The manual backfill: a new index version is built beside the active one."""

from __future__ import annotations

from datetime import date
from typing import Any
from uuid import UUID

from prefect import flow
from prefect.artifacts import create_table_artifact

from flows import filling
from flows.filling import FillJob, FillReport
from flows.job import job_of
from flows.nightly import RUNNER, chunk, contextualize, settle, stage, submit_write


@stage("plan")
def plan(run_id: int) -> list[list[UUID]]:
    """Which revisions the version lacks."""
    return filling.plan(job_of(run_id, FillJob))


@stage("reparse")
def reparse(run_id: int, batch: list[UUID]) -> list[UUID]:
    """Elements of today's parsers, from the stage where it has them."""
    return filling.reparse(job_of(run_id, FillJob), batch)


@stage("build-indexes")
def build_indexes(run_id: int, written: list[Any]) -> None:
    """Document frequencies and indexes, after loading."""
    filling.index(job_of(run_id, FillJob))


@stage("fill-report")
def fill_report(run_id: int) -> FillReport:
    """Sum up, for the run's row and as a Prefect artifact: figures and ids only."""
    report = filling.make_report(job_of(run_id, FillJob))
    create_table_artifact(
        key=f"backfill-{run_id}",
        table=[{"figure": name, "value": str(value)} for name, value in report.to_json().items()],
        description=f"Run {run_id}",
    )
    return report


@flow(name="fill-version", task_runner=RUNNER, persist_result=False)
def fill_version(run_id: int) -> FillReport:
    """Give a version what another one has and it lacks, batch by batch."""
    batches = plan(run_id)
    parsed = reparse.map(run_id, batches)
    chunked = chunk.map(run_id, parsed)
    contextualized = contextualize.map(run_id, chunked)
    written = [future for batch in contextualized for future in submit_write(run_id, batch)]
    build_indexes(run_id, settle(run_id, [*parsed, *chunked, *contextualized, *written]))
    return fill_report(run_id)


@flow(name="backfill", persist_result=False)
def backfill(
    index: str = "main",
    name: str | None = None,
    settings: dict[str, str] | None = None,
    only: str | None = None,
    since: date | None = None,
) -> dict[str, Any]:
    """Build a version of an index, as ``mucluc backfill`` does with the settings of mucluc.toml."""
    # Imported here, as the command line imports this module.
    from flows.backfilling import backfill_from_settings  # noqa: PLC0415

    return backfill_from_settings(index, name, settings or {}, only, since)
