"""Runs a sync from beginning to end: opens the run, runs the flow, closes the run."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from flows.job import Job, open_job
from flows.opening import open_from
from flows.prefect_env import configure
from flows.progress import StageProgress
from flows.report import Report
from flows.request import SyncRequest, request_for
from flows.settings import Settings
from flows.stopping import Stopped, go_on
from store.database import Store
from store.errors import LockHeldError
from store.runs import INTERRUPTED, last_root
from store.versions import active_version

SETTINGS_FILE = "MUCLUC_SETTINGS"  # in the environment of a scheduled run


class SourceMoved(Exception):
    """A source's name now means another folder: its documents would all count as gone."""


class SyncFailed(Exception):
    """A run failed before it could report. ``code`` says why, without values."""

    def __init__(self, code: str) -> None:
        super().__init__(code)
        self.code = code


@contextmanager
def ended(job: Job) -> Iterator[None]:
    """Close a job's run as failed when its flow fails, and end the job in any case.

    Raises SyncFailed with the error's code, and KeyboardInterrupt after Ctrl-C.
    """
    try:
        yield
    except BaseException as exc:
        stopped = isinstance(exc, KeyboardInterrupt | Stopped)
        job.run.close(job.store, "failed", INTERRUPTED if stopped else None)
        if isinstance(exc, Stopped):  # a library kept the interrupt to itself
            raise KeyboardInterrupt from None
        if isinstance(exc, Exception):
            raise SyncFailed(getattr(exc, "code", None) or type(exc).__name__) from exc
        raise
    finally:
        job.close()


def run_sync(
    store: Store, request: SyncRequest, *, shown: bool = False, root_moved: bool = False
) -> Report:
    """Sync one source through the Prefect flow.

    Raises LockHeldError (another run holds the source), SourceMoved, SyncFailed. Prefect's
    surroundings must be configured (``flows.prefect_env.configure``).
    """
    check_root(store, request, root_moved=root_moved)
    request = with_model_of_index(store, request)
    with StageProgress(shown=shown) as progress:
        job = open_job(store, request, progress)
        with ended(job):
            # Prefect takes a second to import; commands that only read do without it.
            from flows.nightly import sync_source  # noqa: PLC0415

            report: Report = sync_source(job.run.id)
            go_on()
            job.run.close(store, "failed" if report.failed else "done", report.to_json())
    return report


def check_root(store: Store, request: SyncRequest, *, root_moved: bool = False) -> None:
    """Raises SourceMoved where the source was last read from another folder."""
    before = last_root(store, request.tenant, request.source)
    if before is not None and before != str(request.root) and not root_moved:
        raise SourceMoved(before)


def with_model_of_index(store: Store, request: SyncRequest) -> SyncRequest:
    """The same sync with the model that its index was built with, unless one is stated."""
    active = None if request.model_stated else active_version(store, request.index)
    if active is None:
        return request
    recipe = request.recipe.model_copy(update={"model": active.recipe["model"]})
    return request.model_copy(update={"recipe": recipe})


def settings_file() -> Path | None:
    """The settings file that a scheduled run's environment names, if it names one."""
    named = os.environ.get(SETTINGS_FILE)
    return Path(named) if named else None


def sync_all(settings: Settings | None = None) -> dict[str, Any]:
    """Sync every source of the settings, one after the other; returns reports by run id.

    Raises SyncFailed at the end when one failed or is held by another run.
    """
    settings = settings or Settings.load(settings_file())
    reports: dict[str, Any] = {}
    failures: list[str] = []
    with open_from(settings) as store:
        configure(settings.home, store.url)
        for tenant in settings.tenants:
            for source in tenant.sources:
                try:
                    report = run_sync(store, request_for(settings, tenant.name, source))
                    reports[str(report.run_id)] = report.to_json()
                    failures += report.failed
                except (LockHeldError, SourceMoved, SyncFailed) as exc:
                    failures.append(getattr(exc, "code", None) or type(exc).__name__)
    if failures:
        raise SyncFailed("+".join(sorted(set(failures))))
    return reports
