"""Runs a sync in this process, stage by stage, without Prefect: for tests of everything else."""

from __future__ import annotations

import importlib
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pytest

from enrich.embedders import load, probe
from flows import changes, collecting, embedding, filling, judging, stages, writing
from flows.filling import FillJob, FillReport, FillRequest, open_fill
from flows.finishing import make_report
from flows.job import SyncJob, enter, open_job
from flows.judging import PromoteJob, PromotionReport
from flows.lanes import lane_of, lane_to_judge, recipe_of
from flows.progress import StageProgress
from flows.report import Report
from flows.request import SyncRequest, request_for
from flows.settings import Settings
from flows.settings_tables import Limits, Recipe, Source, Versions
from flows.swapping import versions_for
from parsers.registry import parser_id_for
from search.request import Candidate, RetrievalPolicy, SearchRequest
from search.retrieval import retrieve
from store.database import Store
from store.filling import lock_key
from store.runs import open_run
from store.versions import active_version, open_version

NOW = datetime(2026, 11, 30, 9, 0, tzinfo=UTC)
TODAY = NOW.date()

STAGE_TABLES = (
    "document",
    "revision",
    "parse",
    "chunk",
    "revision_chunk",
    "context",
    "embedding_memo",
    "published",
    "quarantine",
    "acl_set",
)


def request(root: Path, **asked: Any) -> SyncRequest:
    """A request for a folder, with a deterministic embedder and a pinned clock."""
    values: dict[str, Any] = {"tenant": "acme", "source": "docs", "acl": ("role:staff",)}
    values |= asked
    settings = Settings()
    source = Source(name=values.pop("source"), path=root, acl=values.pop("acl"))
    tenant = values.pop("tenant")
    values.setdefault("model", "hashing:64")
    values.setdefault("now", NOW)
    limits = values.pop("limits", None)
    keep = values.pop("keep_history_days", None)
    found = request_for(settings, tenant, source, **values)
    found = found.model_copy(update={"keep_history_days": keep})
    if limits:
        found = found.model_copy(update={"limits": found.limits.model_copy(update=limits)})
    return found


def write_notes(folder: Path) -> Path:
    """Six notes, each with a code and a clause of its own, in a new folder."""
    folder.mkdir()
    for n in range(6):
        (folder / f"n{n}.md").write_text(
            f"# Note {n}\n\nCode N-{n:03} stands for number {n}.\n\n## More\n\nClause {n}.\n"
        )
    return folder


def run_stages(job: SyncJob, before: Callable[[str], None] = lambda stage: None) -> Report:
    """The stages in the flow's order. ``before`` is called with each stage's name."""
    for name, step in (("list", changes.list_source), ("diff", changes.diff)):
        before(name)
        step(job)
    before("revoke")
    batches = changes.revoke(job)
    for batch in batches:
        left = batch
        for name, stage in (
            ("parse", stages.parse),
            ("chunk", stages.chunk_batch),
            ("contextualize", stages.contextualize_batch),
            ("embed", embedding.embed),
            ("write", writing.write),
        ):
            before(name)
            left = stage(job, left)
    before("index")
    stages.index(job)
    return make_report(job)


def sync(store: Store, root: Path, **asked: Any) -> Report:
    """Sync a folder and return the report."""
    job = open_job(store, request(root, **asked), StageProgress(shown=False))
    try:
        report = run_stages(job)
        job.run.close(store, "done", report.to_json())
        return report
    finally:
        job.close()


def open_backfill(
    store: Store, *, name: str | None = None, index: str = "main", **asked: Any
) -> FillJob:
    """A backfill's job with its version opened; ``asked`` are settings of the recipe or a scope."""
    scope = {key: asked.pop(key) for key in ("tenant", "source", "since") if key in asked}
    limits, now = asked.pop("limits", {}), asked.pop("now", NOW)
    active = active_version(store, index)
    assert active is not None
    recipe = recipe_of(Recipe(**{"model": active.recipe["model"], **asked}))
    version = open_version(store, index, recipe, name=name, probe=probe(load(recipe.model)))
    lane = lane_of(version)
    assert lane is not None
    wanted = FillRequest(
        index=index, version=version.name, timezone="UTC", now=now, limits=Limits(**limits), **scope
    )
    return open_fill(store, wanted, lane, active, StageProgress(shown=False))


def backfill(
    store: Store, before: Callable[[str], None] = lambda stage: None, **asked: Any
) -> FillReport:
    """Build a version beside the active one, stage by stage, as the flow does."""
    job = open_backfill(store, **asked)
    try:
        for batch in filling.plan(job):
            left = batch
            for name, stage in (
                ("parse", filling.reparse),
                ("chunk", stages.chunk_batch),
                ("contextualize", stages.contextualize_batch),
                ("embed", embedding.embed),
                ("write", writing.write),
            ):
                before(name)
                left = stage(job, left)  # type: ignore[operator]
        before("index")
        filling.index(job)
        report = filling.make_report(job)
        job.run.close(store, "done", report.to_json())
        return report
    finally:
        job.close()


def open_promotion(
    store: Store, name: str, *, index: str = "main", alias: str = "active", **asked: Any
) -> PromoteJob:
    """A promotion's job; ``asked`` are fields of it."""
    version, active = versions_for(store, index, name, alias)
    wanted = FillRequest(index=index, version=name, timezone="UTC", now=NOW)
    run = open_run(store, kind="promote", lock_key=lock_key(version.id))
    lane = lane_to_judge(version)
    return enter(
        PromoteJob(
            run, store, StageProgress(shown=False), NOW, Limits(), request=wanted, lane=lane,
            like=active, alias=alias, by="tests", fallback_share=0.05, **asked,
        )
    )  # fmt: skip


def promote(
    store: Store,
    name: str,
    before: Callable[[str], None] = lambda step: None,
    **asked: Any,
) -> PromotionReport:
    """Promote a version step by step, as the flow does."""
    job = open_promotion(store, name, **asked)
    try:
        for step in ("catch_up", "judge", "swap"):
            before(step)
            getattr(judging, step)(job)
        report = judging.make_report(job)
        job.run.close(store, "done", report.to_json())
        return report
    finally:
        job.close()


def collect(
    store: Store, before: Callable[[str], None] = lambda step: None, **keep: int
) -> dict[str, Any]:
    """Collect what nothing needs, step by step, as the flow does; ``keep`` are its settings."""
    settings = Settings(versions=Versions(**keep))  # type: ignore[arg-type]
    job = collecting.open_collection(store, settings, None, StageProgress(shown=False))
    try:
        for step in (
            "retire_versions", "drop_versions", "delete_documents", "prune_history", "delete_rows"
        ):  # fmt: skip
            before(step)
            getattr(collecting, step)(job)
        report = collecting.make_report(job)
        job.run.close(store, "done", report)
        return report
    finally:
        job.close()


def search(
    store: Store,
    query: str,
    *,
    tenant: str = "acme",
    principals: tuple[str, ...] = ("role:staff",),
    as_of: date = TODAY,
    k: int = 10,
    index: str = "main",
    alias: str = "active",
) -> list[Candidate]:
    """Search as the command line does, but with every twin: these tests look at the index."""
    found, _ = retrieve(
        store,
        SearchRequest(
            query=query,
            tenant=tenant,
            principals=principals,
            as_of=as_of,
            index=index,
            alias=alias,
        ),
        RetrievalPolicy(k=k, collapse=False),
        load,
    )
    return found


@contextmanager
def upgraded(family: str = "markdown") -> Iterator[None]:
    """As after an upgrade that changes a parser: rows of the old one can no longer be made."""
    module = importlib.import_module(f"parsers.{family}")
    kept = module.parser_id()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "parser_id", lambda: kept.replace("-v", "-v9", 1))
        parser_id_for.cache_clear()
        try:
            yield
        finally:
            patch.undo()
            parser_id_for.cache_clear()


@dataclass(frozen=True)
class Writes:
    """Rows written by table, from the database's own statistics."""

    tables: dict[str, int]

    def __sub__(self, other: Writes) -> dict[str, int]:
        return {
            name: count - other.tables.get(name, 0)
            for name, count in self.tables.items()
            if count != other.tables.get(name, 0)
        }


def writes(store: Store) -> Writes:
    """Inserted, updated and deleted rows of every table so far, flushed first."""
    # A backend reports what it wrote when it ends: end all of the pool's, and wait for it.
    with store.pool.connection() as connection:
        pids = connection.execute(
            "select array_agg(pid) as pids from pg_stat_activity"
            " where datname = current_database() and pid <> pg_backend_pid()"
            " and backend_type = 'client backend'"
        ).fetchone()
        mine = connection.execute("select pg_backend_pid() as pid").fetchone()
    store.pool.drain()
    gone = [*(pids["pids"] or []), mine["pid"]]  # type: ignore[index]
    with store.pool.connection() as connection:
        for _ in range(200):
            left = connection.execute(
                "select count(*) as n from pg_stat_activity where pid = any(%s)", [gone]
            ).fetchone()
            connection.commit()
            if not left["n"]:  # type: ignore[index]
                break
            time.sleep(0.02)
        rows = connection.execute(
            "select relname, n_tup_ins + n_tup_upd + n_tup_del as n from pg_stat_user_tables"
            " where schemaname = 'mucluc'"
        ).fetchall()
    return Writes({row["relname"]: row["n"] for row in rows})


def rows(store: Store, statement: str, *values: Any) -> list[dict[str, Any]]:
    """Rows of a statement, as the owner of the tables."""
    with store.pool.connection() as connection:
        return connection.execute(statement, values).fetchall()  # type: ignore[arg-type]


def content(store: Store) -> dict[str, list[Any]]:
    """Everything a run leaves, without clocks and run numbers, for comparing two databases."""
    columns = {
        "document": "id, tenant, source, uri, parent_id, collection, acl_stated, deleted_at is null,"
        " listing_token is null, stale",
        "revision": "id, document_id, sequence, content_sha256, raw_sha256, metadata_sha256, title,"
        " language, stated_from, stated_to, seen_on, metadata",
        "parse": "revision_id, parser_id, md5(elements::text), title, warnings",
        "chunk": "id, document_id, heading_path, text, kinds, tokens, added, cells",
        "revision_chunk": "revision_id, cut_id, ordinal, chunk_id, table_id, char_start, char_end,"
        " page_start, page_end",
        "context": "chunk_id, context_id, input_sha256, prefix, tokens, embedding_key",
        "embedding_memo": "tenant, model, key, embedding::text",
        "published": "version_id, revision_id, document_id, cut_id, n_chunks, valid",
        "entry": "chunk_id, version_id, tenant, document_id, embedding::text, tsv::text, len, hot",
        "quarantine": "document_id, reason, cause",
        "lexeme_stat": "version_id, tenant, lexeme, df",
        "version_stat": "version_id, tenant, part, n, total_len, stale",
        "alias": "index_name, name, version_id",
    }
    return {
        table: sorted(
            str(list(row.values())) for row in rows(store, f"select {listed} from mucluc.{table}")
        )
        for table, listed in columns.items()
    }
