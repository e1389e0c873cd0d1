"""Runs a promotion or a rollback from beginning to end, and writes what the gates found."""

from __future__ import annotations

import getpass
from datetime import datetime
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from flows.answering import asking_of
from flows.errors import CannotRun, first_version_of
from flows.filling import FillRequest
from flows.job import enter
from flows.judging import PromoteJob, PromotionReport
from flows.lanes import lane_to_judge
from flows.opening import open_from
from flows.prefect_env import configure
from flows.progress import StageProgress
from flows.promotion_page import write_pages
from flows.settings import Settings
from flows.syncing import ended, settings_file
from store import promotions
from store.database import Store
from store.filling import lock_key
from store.promotions import ACTIVE, Swap
from store.runs import open_run
from store.versions import Version, active_version, named_version

ALIASES = (ACTIVE, "canary", "shadow")


class Refused(Exception):
    """A scheduled promotion did not pass. ``code`` names the gates."""

    def __init__(self, refused_by: list[str]) -> None:
        self.code = "refused_by_" + "+".join(refused_by)
        super().__init__(self.code)


def versions_for(store: Store, index: str, name: str, alias: str) -> tuple[Version, Version]:
    """The version to promote and the active one. Raises CannotRun."""
    if alias not in ALIASES:
        raise CannotRun(f"there is no alias {alias}.", f"There are {', '.join(ALIASES)}.")
    active = active_version(store, index)
    if active is None:
        raise CannotRun(
            f"index {index} has no active version yet.",
            first_version_of(index, promotions.aliases(store)),
        )
    version = named_version(store, index, name)
    if version is None or version.state not in {"building", "ready"}:
        state = "not there" if version is None else version.state
        raise CannotRun(f"version {name} of index {index} is {state}.", "See: mucluc versions")
    if version.id == active.id:
        raise CannotRun(f"version {name} is the active one of index {index} already.")
    return version, active


def run_promotion(
    store: Store,
    settings: Settings,
    version: Version,
    active: Version,
    *,
    alias: str = ACTIVE,
    force: bool = False,
    reason: str | None = None,
    shown: bool = False,
) -> PromotionReport:
    """Promote a version through the Prefect flow.

    Raises LockHeldError (another job works on the version), SyncFailed; ModelUnavailable or
    typer.Exit where the settings name a reranker or a glossary that cannot be used.
    """
    asking = asking_of(settings, store, version.index_name)
    request = FillRequest(
        index=version.index_name,
        version=version.name,
        limits=settings.limits,
        timezone=settings.timezone,
        modulus=settings.versions.entry_hash_modulus,
    )
    run = open_run(
        store,
        kind="promote",
        lock_key=lock_key(version.id),
        options=request.model_dump(mode="json") | {"alias": alias, "forced": force},
    )
    now = datetime.fromisoformat(run.started_on).astimezone(ZoneInfo(settings.timezone))
    with StageProgress(shown=shown) as progress:
        job = enter(
            PromoteJob(
                run,
                store,
                progress,
                now,
                settings.limits,
                request=request,
                lane=lane_to_judge(version),
                like=active,
                alias=alias,
                by=_whoami(),
                fallback_share=settings.versions.fallback_share,
                asking=asking,
                force=force,
                reason=reason,
            )
        )
        with ended(job):
            # Prefect takes a second to import; commands that only read do without it.
            from flows.promoting import promote_version  # noqa: PLC0415

            report: PromotionReport = promote_version(job.run.id)
            job.run.close(store, "done", report.to_json())
    return report


def report_folder(settings: Settings) -> Path:
    """Where the pages of promotions are written unless somewhere else is named."""
    return settings.home / "reports"


def run_rollback(store: Store, index: str, alias: str = ACTIVE) -> Swap:
    """Go back to the version before. Raises NoWayBack."""
    return promotions.rollback(store, index, alias=alias, by=_whoami())


def promote_from_settings(
    name: str, index: str, alias: str, *, force: bool, reason: str | None
) -> dict[str, Any]:
    """A scheduled promotion, with the settings that the environment names.

    Raises CannotRun, Refused, SyncFailed, LockHeldError.
    """
    if force and not reason:
        raise CannotRun("forcing a version needs a reason, which is kept.")
    settings = Settings.load(settings_file())
    with open_from(settings) as store:
        configure(settings.home, store.url)
        version, active = versions_for(store, index, name, alias)
        report = run_promotion(
            store, settings, version, active, alias=alias, force=force, reason=reason
        )
    write_pages(report, report_folder(settings))
    if not report.promoted:
        raise Refused(report.refused_by)
    return report.to_json()


def rollback_from_settings(index: str, alias: str) -> dict[str, Any]:
    """A rollback with the settings that the environment names. Raises NoWayBack."""
    settings = Settings.load(settings_file())
    with open_from(settings) as store:
        return describe(run_rollback(store, index, alias))


def describe(swap: Swap) -> dict[str, Any]:
    """A swap as JSON."""
    return {
        "index": swap.index,
        "alias": swap.alias,
        "from": swap.old,
        "to": swap.new,
        "kind": swap.kind,
        "behind": swap.behind,
    }


def _whoami() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return "unknown"
