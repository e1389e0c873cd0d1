"""The end of a run: its report, in the run's row and for Prefect, by numbers and ids."""

from __future__ import annotations

from typing import Any

from flows.job import SyncJob
from flows.report import Report, peak_rss_mb
from store import publishing
from store.versions import active_version, count_behind, count_lacking, versions_in_step


def make_report(job: SyncJob) -> Report:
    """Sum up a run, from its tally and from what the database now says."""
    request, found, tally = job.request, job.diff, job.tally
    rows = publishing.quarantined(job.store, request.tenant, request.source)
    aside = {row["id"] for row in rows}
    gone = len(found.gone)
    withheld: dict[str, object] = {}
    if found.withheld:
        withheld["deletions"] = len(found.withheld)
        withheld["why"] = found.withheld_why
    elif job.listing and not job.listing.complete:
        withheld["listing"] = sorted(job.listing.problems)
    beside = _beside(job)
    if waiting := max((int(entry["waiting"]) for entry in beside["versions"]), default=0):
        withheld["waiting"] = waiting
        withheld["recipe"] = list(job.gap)
    if not_active := [name for name in tally.names() if name.startswith("not_active:")]:
        withheld["not_active"] = not_active[0].partition(":")[2].split("+")
    return Report(
        run_id=job.run.id,
        version=job.version.name,
        documents={
            "new": len(found.new - aside),
            "changed": len(found.changed - aside),
            "unchanged": len(found.unchanged - aside),
            "moved": len(found.moved - aside),
            "gone": gone,
            "quarantined": len(aside),
        },
        chunks={"written": tally["chunks_written"], "reused": tally["chunks_reused"]},
        embedded=tally["embedded"],
        truncated=tally["truncated"],
        rows_written=tally["rows"],
        pruned=tally["pruned"],
        tokens=tally["tokens"],
        seconds=tally.seconds(),
        peak_rss_mb=peak_rss_mb(),
        withheld=withheld,
        warnings=_warnings(job),
        quarantined=tuple({"id": str(row["id"]), "reason": row["reason"]} for row in rows),
        failed=tuple(job.failures),
        beside=beside if beside["versions"] or beside["recipe"] else {},
    )


def _beside(job: SyncJob) -> dict[str, Any]:
    """The other versions of the index: what each lacks, and what keeping them in step cost."""
    store, request = job.store, job.request
    active = active_version(store, request.index)
    if active is None:
        return {"versions": [], "recipe": []}
    others = versions_in_step(store, request.index, request.keep_previous_days)
    return {
        "recipe": list(job.recipe.differences(active.recipe)),
        "versions": [
            {
                "name": version.name,
                "state": version.state,
                "today": not job.recipe.differences(version.recipe),
                "missing": count_lacking(store, version.id, like=active.id),
                # Documents whose newest form the active version cannot show.
                "waiting": count_behind(store, active.id, like=version.id),
            }
            for version in others
            if version.id != active.id
        ],
        "embedded": job.tally["embedded_beside"],
        "entries": job.tally["entries_beside"],
    }


def _warnings(job: SyncJob) -> dict[str, int]:
    found = dict(job.listing.warnings) if job.listing else {}
    if job.listing and not job.listing.complete:
        found |= dict.fromkeys(job.listing.problems, 1)
    nobody = publishing.count_unreadable(job.store, job.request.tenant, job.request.source)
    if nobody:
        found["no_acl"] = nobody
    for name in ("erased", "attachments", "nothing_indexed"):
        if job.tally[name]:
            found[name] = job.tally[name]
    if job.diff.passing:
        found["changed_while_reading"] = job.diff.passing
    return found
