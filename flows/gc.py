"""The collection: versions past their time go, and rows that nothing needs any more."""

from __future__ import annotations

from typing import Any

from prefect import flow
from prefect.artifacts import create_table_artifact

from flows import collecting
from flows.collecting import CollectJob
from flows.job import job_of
from flows.nightly import stage


@stage("retire-versions")
def retire_versions(run_id: int) -> list[str]:
    """Take versions out of use."""
    return collecting.retire_versions(job_of(run_id, CollectJob))


@stage("drop-versions")
def drop_versions(run_id: int) -> list[str]:
    """Drop the partitions of retired ones."""
    return collecting.drop_versions(job_of(run_id, CollectJob))


@stage("delete-documents")
def delete_documents(run_id: int) -> int:
    """Documents that left their source long ago."""
    return collecting.delete_documents(job_of(run_id, CollectJob))


@stage("prune-history")
def prune_history(run_id: int) -> int:
    """What revisions said that ended longer ago than the settings keep."""
    return collecting.prune_history(job_of(run_id, CollectJob))


@stage("delete-rows")
def delete_rows(run_id: int) -> int:
    """Rows of the stages, and memos."""
    return collecting.delete_rows(job_of(run_id, CollectJob))


@stage("forget-runs")
def forget_runs(run_id: int) -> int:
    """Prefect's record of runs that ended long ago."""
    return collecting.forget_runs(job_of(run_id, CollectJob))


@stage("collection-report")
def collection_report(run_id: int) -> dict[str, Any]:
    """Sum up, for the run's row and as a Prefect artifact: counts and version names."""
    report = collecting.make_report(job_of(run_id, CollectJob))
    create_table_artifact(
        key=f"gc-{run_id}",
        table=[{"figure": name, "value": str(value)} for name, value in report.items()],
        description=f"Run {run_id}",
    )
    return report


@flow(name="collect", persist_result=False)
def collect(run_id: int) -> dict[str, Any]:
    """Versions first: what they held becomes free."""
    retire_versions(run_id)
    drop_versions(run_id)
    delete_documents(run_id)
    prune_history(run_id)
    delete_rows(run_id)
    forget_runs(run_id)
    return collection_report(run_id)


@flow(name="gc", persist_result=False)
def gc() -> dict[str, Any]:
    """Collect, as ``mucluc gc`` does with the settings of mucluc.toml."""
    return collecting.collect_from_settings()
