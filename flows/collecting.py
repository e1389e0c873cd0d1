"""Runs a collection from beginning to end: versions past their time, then rows behind them."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from typing import Any

from flows import temporary_server
from flows.job import Job, enter
from flows.opening import open_from
from flows.prefect_env import RUNS_KEPT, configure
from flows.progress import StageProgress
from flows.settings import Settings
from flows.settings_tables import Versions
from flows.syncing import ended, settings_file
from store import gc
from store.database import Store
from store.errors import LockHeldError
from store.filling import lock_key
from store.runs import open_run
from store.versions import Version, named_version

PATIENCE = 120.0  # seconds for readers of a version that goes


@dataclass(kw_only=True)
class CollectJob(Job):
    """A collection in progress."""

    keep: Versions
    named: Version | None = None  # to be retired now, whatever its time
    retired: list[str] = field(default_factory=list)
    dropped: list[str] = field(default_factory=list)
    waiting: list[str] = field(default_factory=list)  # readers or another job hold them
    counts: Counter[str] = field(default_factory=Counter)


def retire_versions(job: CollectJob) -> list[str]:
    """Take versions out of use that nothing needs; returns their names."""
    versions = [job.named] if job.named else gc.retirable(job.store, job.keep.keep_previous_days)
    for version in versions:
        with _alone(job, version) as held:
            if held and gc.retire(job.store, job.run.id, version):
                job.retired.append(full_name(version))
    return job.retired


def drop_versions(job: CollectJob) -> list[str]:
    """Drop what is retired; returns the names."""
    for version in gc.retired(job.store):
        with _alone(job, version) as held:
            done = held and gc.drop_version(job.store, job.run.id, version, patience=PATIENCE)
        (job.dropped if done else job.waiting).append(full_name(version))
    return job.dropped


def delete_documents(job: CollectJob) -> int:
    """Documents that left their source long ago; returns how many."""
    before = job.now - timedelta(days=job.keep.keep_deleted_days)
    job.counts["documents"] = gc.delete_long_deleted(job.store, job.run.id, before)
    return job.counts["documents"]


def prune_history(job: CollectJob) -> int:
    """What superseded revisions said, past the time that the settings keep it; returns how many."""
    for counts in _pruned(job.store, job.run.id, job.keep, job.today):
        job.counts += counts
    return job.counts["history"]


def _pruned(store: Store, run: int | None, keep: Versions, today: date) -> Iterator[Counter[str]]:
    if keep.keep_history_days is not None:
        before = today - timedelta(days=keep.keep_history_days)
        yield from gc.prune_history(store, run, before)


def delete_rows(job: CollectJob) -> int:
    """Rows of the stages that nothing refers to; returns how many."""
    for counts in gc.delete_unused_rows(job.store, job.run.id):
        job.counts += counts
    for count in gc.delete_unused_memos(job.store, job.run.id):
        job.counts["memos"] += count
    gc.recount(job.store, job.run.id)
    return job.counts.total()


def forget_runs(job: CollectJob) -> int:
    """Prefect's record of old runs, on a server of our own; returns how many.

    A server that the operator named keeps its records as it is told to.
    """
    if os.environ.get("PREFECT_API_URL") in temporary_server.STARTED:
        from flows.prefect_runs import forget_runs as forget  # noqa: PLC0415  (imports Prefect)

        job.counts["prefect runs"] = forget(job.now - timedelta(days=RUNS_KEPT))
    return job.counts["prefect runs"]


def full_name(version: Version) -> str:
    """A version's name with its index."""
    return f"{version.index_name}/{version.name}"


@contextmanager
def _alone(job: CollectJob, version: Version) -> Iterator[bool]:
    """Hold a version's lock, unless a backfill or a promotion does; says whether it is held."""
    try:
        run = open_run(job.store, kind="gc", lock_key=lock_key(version.id))
    except LockHeldError:
        yield False
        return
    try:
        yield True
    finally:
        run.close(job.store, "done", None)


def make_report(job: CollectJob) -> dict[str, Any]:
    """What went: the object on the last line of ``mucluc gc --json``, and in the run's row."""
    return {
        "run": job.run.id,
        "retired": job.retired,
        "dropped": job.dropped,
        "waiting": job.waiting,
        "deleted": {name: job.counts[name] for name in COUNTED},
        "busy": job.counts["busy"],
    }


COUNTED = ("documents", "history", *(name for name, _ in gc.STEPS), "memos", "prefect runs")


def exit_code(report: dict[str, Any]) -> int:
    """0 done, 3 done but for what is being worked on or read."""
    return 3 if report.get("waiting") or report.get("busy") else 0


def open_collection(
    store: Store, settings: Settings, named: Version | None, progress: StageProgress
) -> CollectJob:
    """Take the collection's lock and begin a run. Raises LockHeldError."""
    run = open_run(store, kind="gc", lock_key="gc")
    return enter(
        CollectJob(
            run,
            store,
            progress,
            datetime.fromisoformat(run.started_on),
            settings.limits,
            keep=settings.versions,
            named=named,
        )
    )


def run_collection(
    store: Store, settings: Settings, *, named: Version | None = None
) -> dict[str, Any]:
    """Collect through the Prefect flow. Raises LockHeldError, SyncFailed."""
    with StageProgress(shown=False) as progress:
        job = open_collection(store, settings, named, progress)
        with ended(job):
            # Prefect takes a second to import; commands that only read do without it.
            from flows.gc import collect  # noqa: PLC0415

            report: dict[str, Any] = collect(job.run.id)
            job.run.close(store, "done", report)
    return report


def plan_collection(
    store: Store, settings: Settings, *, named: Version | None = None
) -> dict[str, Any]:
    """What a collection would take, without taking it. Raises StoreError.

    Counts of rows are of now: a version that goes frees more.
    """
    retired = [named] if named else gc.retirable(store, settings.versions.keep_previous_days)
    now = datetime.now().astimezone()
    before = now - timedelta(days=settings.versions.keep_deleted_days)
    counts: Counter[str] = Counter(documents=gc.delete_long_deleted(store, None, before))
    for part in _pruned(store, None, settings.versions, now.date()):
        counts["history"] += part["history"]
    for part in gc.delete_unused_rows(store, None):
        counts += part
    for count in gc.delete_unused_memos(store, None):
        counts["memos"] += count
    return {
        "dry_run": True,
        "retired": [full_name(v) for v in retired],
        "dropped": [full_name(v) for v in (*gc.retired(store), *retired)],
        "deleted": {name: counts[name] for name in COUNTED},
        "busy": counts["busy"],
    }


def collect_from_settings() -> dict[str, Any]:
    """A scheduled collection, with the settings that the environment names.

    Raises SyncFailed, LockHeldError.
    """
    settings = Settings.load(settings_file())
    with open_from(settings) as store:
        configure(settings.home, store.url)
        return run_collection(store, settings)


def version_to_retire(store: Store, index: str, name: str) -> Version | None:
    """A version that can be retired by its name: one that is there and that no alias names."""
    version = named_version(store, index, name)
    return version if version is not None and version.state in {"building", "ready"} else None
