"""The collection: it frees what nothing needs, and leaves what somebody may still want."""

from __future__ import annotations

import threading
import time
from datetime import timedelta
from pathlib import Path
from typing import Any

import psycopg
import pytest
from syncs import (
    NOW,
    backfill,
    collect,
    content,
    open_backfill,
    promote,
    request,
    rows,
    search,
    sync,
    write_notes,
)

from flows.collecting import exit_code, plan_collection, version_to_retire
from flows.job import open_job
from flows.progress import StageProgress
from flows.settings import Settings
from flows.settings_tables import Versions
from flows.swapping import run_rollback
from store import gc
from store.database import Store
from store.versions import list_versions

LATER = NOW + timedelta(days=10)


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    return write_notes(tmp_path / "docs")


def history(store: Store, docs: Path) -> None:
    """A changed, a retitled and a deleted document, ten days later."""
    sync(store, docs)
    (docs / "n0.md").write_text("# Note 0\n\nCode N-900 stands for number 0 now.\n")
    (docs / "n1.md").write_text("---\ntitle: Other\n---\n" + (docs / "n1.md").read_text())
    (docs / "n2.md").unlink()
    sync(store, docs, now=LATER)


def states(store: Store) -> dict[str, str]:
    return {row["name"]: row["state"] for row in list_versions(store)}


def change(store: Store, statement: str, *values: object) -> None:
    with store.pool.connection() as connection:
        connection.execute(statement, values)  # type: ignore[arg-type]


def long_ago(store: Store) -> None:
    """As if every promotion had been eight days ago, and all versions opened before."""
    change(store, "update mucluc.promotion set promoted_at = promoted_at - interval '8 days'")
    change(store, "update mucluc.index_version set created_at = created_at - interval '9 days'")


def test_an_index_that_nothing_left_loses_nothing(store: Store, docs: Path) -> None:
    sync(store, docs)
    before = content(store)
    report = collect(store)
    assert set(report["deleted"].values()) == {0}
    assert (report["retired"], report["dropped"], report["busy"]) == ([], [], 0)
    assert content(store) == before


def test_history_stays_for_answers_about_the_past(store: Store, docs: Path) -> None:
    history(store, docs)
    report = collect(store)
    assert report["deleted"]["revisions"] == report["deleted"]["chunks"] == 0
    assert report["deleted"]["contexts"] == 2, "those with the title of before"
    assert search(store, "N-000", as_of=NOW.date())[0].uri == "n0.md"
    assert search(store, "N-900", as_of=LATER.date())[0].uri == "n0.md"
    assert sync(store, docs, now=LATER).rows_written == 0
    again = collect(store)
    assert set(again["deleted"].values()) == {0}


def test_documents_that_left_long_ago_go_with_everything(store: Store, docs: Path) -> None:
    history(store, docs)
    change(store, "update mucluc.document set deleted_at = now() - interval '29 days'"
                  " where deleted_at is not null")  # fmt: skip
    assert collect(store)["deleted"]["documents"] == 0
    change(store, "update mucluc.document set deleted_at = now() - interval '31 days'"
                  " where deleted_at is not null")  # fmt: skip
    report = collect(store)
    assert report["deleted"]["documents"] == 1
    assert report["deleted"]["memos"] >= 2
    assert rows(store, "select 1 from mucluc.document where uri = 'n2.md'") == []
    assert rows(store, "select stale from mucluc.version_stat") == [{"stale": False}]
    total = rows(store, "select n, (select count(*) from mucluc.entry where hot) as m"
                        " from mucluc.version_stat")  # fmt: skip
    assert total[0]["n"] == total[0]["m"]


def test_a_version_stays_while_it_may_be_rolled_back_to_and_then_goes(
    store: Store, docs: Path
) -> None:
    history(store, docs)
    backfill(store, model="hashing:32", now=LATER)
    promote(store, "v2")
    assert collect(store)["retired"] == []
    assert run_rollback(store, "main").new == "v1"
    assert run_rollback(store, "main").new == "v2"
    long_ago(store)
    report = collect(store)
    assert (report["retired"], report["dropped"]) == (["main/v1"], ["main/v1"])
    assert states(store) == {"v1": "dropped", "v2": "ready"}
    assert rows(store, "select to_regclass('mucluc.entry_1') as t") == [{"t": None}]
    assert {r["version_id"] for r in rows(store, "select version_id from mucluc.published")} == {2}
    models = rows(store, "select count(distinct model) as n from mucluc.embedding_memo")
    assert models == [{"n": 1}]
    assert search(store, "N-003", as_of=LATER.date())[0].version == "v2"
    assert search(store, "N-000", as_of=NOW.date())[0].uri == "n0.md"
    assert sync(store, docs, model="hashing:32", now=LATER).rows_written == 0


def test_a_version_that_is_being_built_keeps_what_it_will_want(store: Store, docs: Path) -> None:
    sync(store, docs)

    def stop(stage: str) -> None:
        if stage == "embed":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        backfill(store, stop, body_budget=100)
    chunks = rows(store, "select id from mucluc.chunk order by id")
    report = collect(store)
    assert set(report["deleted"].values()) == {0}
    assert rows(store, "select id from mucluc.chunk order by id") == chunks
    assert backfill(store, body_budget=100).made["chunks"] == 0


def test_a_build_that_was_overtaken_goes_with_its_chunks(store: Store, docs: Path) -> None:
    sync(store, docs)
    backfill(store, body_budget=100, name="left")
    backfill(store, model="hashing:32", name="better")
    promote(store, "better")
    assert collect(store)["retired"] == [], "somebody may still look at it"
    long_ago(store)
    report = collect(store)
    assert sorted(report["retired"]) == ["main/left", "main/v1"]
    assert report["deleted"]["chunks"] > 0
    assert report["deleted"]["placements"] > 0
    left = rows(store, "select count(*) as n from mucluc.chunk c where not exists"
                       " (select 1 from mucluc.entry e where e.chunk_id = c.id)")  # fmt: skip
    assert left == [{"n": 0}]


def test_a_newer_build_and_a_canary_stay(store: Store, docs: Path) -> None:
    sync(store, docs)
    long_ago(store)
    backfill(store, model="hashing:32", name="next")
    assert collect(store)["retired"] == []
    promote(store, "next", alias="canary")
    assert collect(store, keep_previous_days=0)["retired"] == []
    assert states(store) == {"v1": "ready", "next": "ready"}
    run_rollback(store, "main", "canary")
    assert collect(store, keep_previous_days=0)["retired"] == [], "newer than the active one"


def test_a_pending_revision_keeps_its_rows(store: Store, docs: Path) -> None:
    sync(store, docs)
    (docs / "n0.md").write_text("# Note 0\n\nCode N-900 now.\n")
    job = open_job(store, request(docs, now=LATER), StageProgress(shown=False))
    from syncs import run_stages

    def stop(stage: str) -> None:
        if stage == "write":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_stages(job, stop)
    job.close()
    before = content(store)
    collect(store)
    assert content(store) == before
    assert sync(store, docs, now=LATER).embedded == 0


def test_what_is_being_worked_on_is_left_alone(store: Store, docs: Path) -> None:
    history(store, docs)
    job = open_job(store, request(docs, now=LATER), StageProgress(shown=False))
    report = collect(store)
    assert (report["busy"], report["deleted"]["contexts"]) == (1, 0)
    assert exit_code(report) == 3
    job.close()
    build = open_backfill(store, model="hashing:32")
    assert collect(store)["busy"] == 1
    build.close()
    report = collect(store)
    # The version that is being built has the same strategy: it may want any context.
    assert (report["busy"], report["deleted"]["contexts"]) == (0, 0)


def test_the_dry_run_counts_and_changes_nothing(store: Store, docs: Path) -> None:
    history(store, docs)
    change(store, "update mucluc.document set deleted_at = now() - interval '31 days'"
                  " where deleted_at is not null")  # fmt: skip
    before = content(store)
    plan = plan_collection(store, Settings())
    assert content(store) == before
    assert plan["deleted"]["documents"] == 1
    assert plan["deleted"]["contexts"] == 2
    assert rows(store, "select 1 from mucluc.run where kind = 'gc'") == []
    done = collect(store)["deleted"]
    for name in ("documents", "contexts", "chunks"):
        assert plan["deleted"][name] == done[name], name


def test_the_dry_run_names_the_versions_that_would_go(store: Store, docs: Path) -> None:
    history(store, docs)
    backfill(store, model="hashing:32", now=LATER)
    named = version_to_retire(store, "main", "v2")
    plan = plan_collection(store, Settings(), named=named)
    assert (plan["retired"], plan["dropped"]) == (["main/v2"], ["main/v2"])
    assert states(store) == {"v1": "ready", "v2": "building"}
    promote(store, "v2")
    long_ago(store)
    plan, done = plan_collection(store, Settings()), collect(store)
    assert (plan["retired"], plan["dropped"]) == (done["retired"], done["dropped"])
    assert done["dropped"] == ["main/v1"]


@pytest.mark.parametrize("batch", [1, 2, 100])
def test_i8_a_collection_that_stops_is_finished_by_the_next(
    store: Store, docs: Path, batch: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    history(store, docs)
    backfill(store, model="hashing:32", now=LATER)
    promote(store, "v2")
    long_ago(store)
    monkeypatch.setattr(gc, "DOCUMENTS", batch)
    monkeypatch.setattr(gc, "ROWS", batch)
    steps = ("retire_versions", "drop_versions", "delete_documents", "delete_rows")
    for stopping in steps:

        def stop(step: str, stopping: str = stopping) -> None:
            if step == stopping:
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            collect(store, stop)
    collect(store)
    after = content(store)
    assert set(collect(store)["deleted"].values()) == {0}
    assert content(store) == after
    assert states(store) == {"v1": "dropped", "v2": "ready"}


def test_detaching_that_was_begun_is_finished(store: Store, docs: Path) -> None:
    sync(store, docs)
    backfill(store, model="hashing:32")
    promote(store, "v2")
    long_ago(store)
    with (
        psycopg.connect(store.url, autocommit=True) as connection,
        psycopg.connect(store.url) as reader,
    ):
        reader.execute("select count(*) from mucluc.entry")
        connection.execute("set statement_timeout = 500")
        with pytest.raises(psycopg.Error):
            connection.execute(
                "alter table mucluc.entry detach partition mucluc.entry_1 concurrently"
            )
    assert rows(store, "select inhdetachpending as p from pg_inherits where inhparent ="
                       " 'mucluc.entry'::regclass order by inhrelid")[0] == {"p": True}  # fmt: skip
    assert collect(store)["dropped"] == ["main/v1"]


def wait_behind_a_reader(store: Store, docs: Path, seconds: float) -> tuple[Any, list[float]]:
    """Collect a version while one reader stays open; returns the report and others' waits."""
    sync(store, docs)
    backfill(store, model="hashing:32")
    promote(store, "v2")
    long_ago(store)
    waits: list[float] = []
    found: list[Any] = []
    done = threading.Event()

    def ask() -> None:
        while not done.is_set():
            begun = time.monotonic()
            assert search(store, "N-003")
            waits.append(time.monotonic() - begun)

    asking = threading.Thread(target=ask)
    collecting = threading.Thread(target=lambda: found.append(collect(store)))
    with psycopg.connect(store.url) as reader:
        reader.execute("select count(*) from mucluc.entry, mucluc.chunk")
        asking.start()
        collecting.start()
        time.sleep(seconds)
        assert found == []
    collecting.join(60)
    done.set()
    asking.join(10)
    return found[0], waits


@pytest.mark.parametrize("seconds", [2, pytest.param(30, marks=pytest.mark.slow)])
def test_a_version_goes_behind_an_open_reader_and_others_go_on(
    store: Store, docs: Path, seconds: float
) -> None:
    report, waits = wait_behind_a_reader(store, docs, seconds)
    assert report["dropped"] == ["main/v1"]
    assert len(waits) > seconds  # searches went on all the while
    assert max(waits) < seconds


def test_a_reader_that_does_not_end_leaves_the_version_to_the_next_run(
    store: Store, docs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from flows import collecting

    monkeypatch.setattr(collecting, "PATIENCE", 1.0)
    sync(store, docs)
    backfill(store, model="hashing:32")
    promote(store, "v2")
    long_ago(store)
    with psycopg.connect(store.url) as reader:
        reader.execute("select count(*) from mucluc.entry, mucluc.chunk")
        report = collect(store)
    assert (report["retired"], report["dropped"]) == (["main/v1"], [])
    assert report["waiting"] == ["main/v1"]
    assert exit_code(report) == 3
    assert Settings().versions == Versions()
    assert collect(store)["dropped"] == ["main/v1"]
