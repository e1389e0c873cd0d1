"""The swap: a version passes its gates and becomes what people search; and the way back."""

from __future__ import annotations

from typing import Any

from prefect import flow
from prefect.artifacts import create_table_artifact

from flows import judging
from flows.job import job_of
from flows.judging import PromoteJob, PromotionReport
from flows.nightly import stage


@stage("catch-up")
def catch_up(run_id: int) -> int:
    """What was published since the backfill."""
    return judging.catch_up(job_of(run_id, PromoteJob))


@stage("judge")
def judge(run_id: int) -> bool:
    """Ask every gate."""
    return judging.judge(job_of(run_id, PromoteJob))


@stage("swap")
def swap(run_id: int) -> bool:
    """Move the alias, if the gates let it."""
    return judging.swap(job_of(run_id, PromoteJob))


@stage("promotion-report")
def promotion_report(run_id: int) -> PromotionReport:
    """Sum up, for the run's row and as a Prefect artifact: figures only."""
    report = judging.make_report(job_of(run_id, PromoteJob))
    # Of lists (questions, segments) how many: labels that people gave stay out of Prefect.
    figures = {
        f"{name}.{figure}": len(value) if isinstance(value, list) else value
        for name, gate in report.gates.items()
        for figure, value in gate.items()
        if figure != "words"
    }
    create_table_artifact(
        key=f"promote-{run_id}",
        table=[{"figure": name, "value": str(value)} for name, value in figures.items()],
        description=f"Run {run_id}",
    )
    return report


@flow(name="promote-version", persist_result=False)
def promote_version(run_id: int) -> PromotionReport:
    """Let a version catch up, look at it, and swap it in."""
    catch_up(run_id)
    judge(run_id)
    swap(run_id)
    return promotion_report(run_id)


@flow(name="promote", persist_result=False)
def promote(
    name: str,
    index: str = "main",
    alias: str = "active",
    force: bool = False,
    reason: str | None = None,
) -> dict[str, Any]:
    """Promote a version, as ``mucluc promote`` does with the settings of mucluc.toml."""
    # Imported here, as the command line imports this module.
    from flows.swapping import promote_from_settings  # noqa: PLC0415

    return promote_from_settings(name, index, alias, force=force, reason=reason)


@flow(name="rollback", persist_result=False)
def rollback(index: str = "main", alias: str = "active") -> dict[str, Any]:
    """Go back to the version before, as ``mucluc rollback`` does."""
    from flows.swapping import rollback_from_settings  # noqa: PLC0415

    return rollback_from_settings(index, alias)
