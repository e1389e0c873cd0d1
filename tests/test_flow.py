"""The nightly job as Prefect runs it: same result, one failed batch, retries, what Prefect keeps."""

from __future__ import annotations

import ast
import importlib
import inspect
import json
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import psycopg
import pytest
import yaml
from conftest import SECRET
from syncs import TODAY, content, request, rows, search, sync

from enrich.hashing import HashingEmbedder
from enrich.models import EmbeddingFailed, Vectors
from evals.golden import GoldenQuestion, GoldenSource
from flows.collecting import run_collection
from flows.registering import register
from flows.report import Report
from flows.settings import Settings
from flows.syncing import SyncFailed, run_sync
from store import embedded
from store.database import Store, open_store

ROOT = Path(__file__).resolve().parents[1]

pytestmark = pytest.mark.usefixtures("prefect_api")


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    folder = tmp_path / "docs"
    folder.mkdir()
    for n in range(7):
        (folder / f"note-{n}.md").write_text(f"# Note {n}\n\nNumber {n} names ERR_{n}021.\n")
    (folder / "prices.csv").write_text("code,price\nBH-01,8.500.000\nBH-02,120.000\n")
    return folder


@pytest.fixture
def second(server: str) -> Iterator[Store]:
    """Another fresh database, to compare with."""
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute("drop database if exists second with (force)")
        connection.execute("create database second template fresh")
    with open_store(embedded.beside(server, "second"), SECRET, max_connections=4) as opened:
        yield opened


@pytest.fixture(autouse=True)
def no_delays(monkeypatch: pytest.MonkeyPatch, prefect_api: str) -> None:
    """Retries follow at once."""
    from flows import nightly

    for task in (nightly.list_source, nightly.diff, nightly.revoke, nightly.parse, nightly.chunk,
                 nightly.contextualize, nightly.embed, nightly.write, nightly.index):  # fmt: skip
        assert task.retries == 3
        monkeypatch.setattr(task, "retry_delay_seconds", [0, 0, 0])


def run(store: Store, root: Path, **asked: object) -> Report:
    return run_sync(store, request(root, limits={"batch_documents": 2}, **asked))


def break_embedder(
    monkeypatch: pytest.MonkeyPatch, word: str, *, transient: bool, times: int
) -> list[int]:
    """Texts with a word fail so many times; returns the tries' list, which grows."""
    honest = HashingEmbedder.embed_passages
    tries: list[int] = []

    def embed(self: HashingEmbedder, texts: Sequence[str]) -> Vectors:
        if any(word in text for text in texts):
            tries.append(len(texts))
            if len(tries) <= times:
                raise EmbeddingFailed("busy" if transient else "refused", transient=transient)
        return honest(self, texts)

    monkeypatch.setattr(HashingEmbedder, "embed_passages", embed)
    return tries


def test_i7_the_flow_leaves_what_the_stages_alone_leave(
    store: Store, second: Store, docs: Path
) -> None:
    by_flow = run(store, docs)
    by_hand = sync(second, docs)
    assert by_flow.exit_code == 0
    assert content(store) == content(second)
    for figure in ("documents", "chunks", "embedded", "rows_written", "tokens"):
        assert getattr(by_flow, figure) == getattr(by_hand, figure), figure
    kept = rows(store, "select state, report from mucluc.run")
    assert [row["state"] for row in kept] == ["done"]
    assert kept[0]["report"]["documents"] == by_flow.documents


def test_i12_a_batch_that_fails_is_in_the_report_and_the_others_are_written(
    store: Store, docs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(store, docs)
    for n in range(7):
        (docs / f"note-{n}.md").write_text(f"# Note {n}\n\nNumber {n} now names ERR_{n}099.\n")
    with monkeypatch.context() as patch:
        tries = break_embedder(patch, "ERR_3099", transient=False, times=100)
        report = run(store, docs)
    assert len(tries) == 1, "what cannot pass must not be tried again"
    assert report.failed == ("refused",)
    assert report.exit_code == 1
    found = {n for n in range(7) if f"ERR_{n}099" in search(store, f"ERR_{n}099")[0].text}
    assert 3 not in found
    assert len(found) >= 5  # all but the failed batch of two
    last = "select state from mucluc.run order by id desc limit 1"
    assert rows(store, last)[0]["state"] == "failed"
    assert run(store, docs).exit_code == 0
    assert "ERR_3099" in search(store, "ERR_3099")[0].text


def test_a_transient_failure_is_tried_again_and_passes(
    store: Store, docs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tries = break_embedder(monkeypatch, "ERR_3021", transient=True, times=2)
    report = run(store, docs)
    assert len(tries) == 3
    assert (report.failed, report.exit_code) == ((), 0)
    assert report.documents["new"] == 8


def test_a_failure_that_does_not_pass_ends_after_its_retries(
    store: Store, docs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tries = break_embedder(monkeypatch, "ERR_3021", transient=True, times=100)
    report = run(store, docs)
    assert len(tries) == 4  # once, and three times more
    assert (report.failed, report.exit_code) == (("busy",), 1)
    assert report.withheld == {}, "a version without the failed documents must not become active"
    assert rows(store, "select * from mucluc.alias") == []


def test_a_failure_before_the_batches_fails_the_run_by_its_code_alone(
    store: Store, docs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from flows import changes

    def refuse(*_: object, **__: object) -> None:
        raise RuntimeError("docs/secret-name.md")

    monkeypatch.setattr(changes, "compare", refuse)
    with pytest.raises(SyncFailed) as failed:
        run(store, docs)
    assert "secret-name" not in str(failed.value)
    cause: BaseException | None = failed.value
    while cause is not None:
        assert "secret-name" not in str(cause)
        cause = cause.__cause__ or (None if cause.__suppress_context__ else cause.__context__)
    assert rows(store, "select state from mucluc.run")[0]["state"] == "failed"


def test_i10_the_artifact_holds_figures_and_no_name_or_text(store: Store, docs: Path) -> None:
    from prefect.client.orchestration import get_client

    (docs / "broken-quince.docx").write_bytes(b"PK\x03\x04 quince")
    (docs / "note-0.md").write_text("# Quince\n\nThe quince clause.\n")
    report = run(store, docs)
    assert report.exit_code == 3
    with get_client(sync_client=True) as client:
        artifacts = client.read_artifacts()
    mine = [a for a in artifacts if a.key == f"sync-{report.run_id}"]
    newest = max(mine, key=lambda artifact: artifact.created)
    table = {row["figure"]: row["value"] for row in json.loads(str(newest.data))}
    assert table["documents"] == str(report.documents)
    assert set(table) == set(report.to_json())
    assert report.quarantined[0]["id"] in table["quarantined"]
    everything = " ".join(str(a.model_dump()) for a in artifacts)
    for word in ("quince", "note-", ".docx", str(docs)):
        assert word not in everything.casefold()


def test_prefect_persists_no_result(
    store: Store, docs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from prefect.settings import PREFECT_LOCAL_STORAGE_PATH, temporary_settings

    storage = tmp_path / "results"
    storage.mkdir()
    with temporary_settings(updates={PREFECT_LOCAL_STORAGE_PATH: storage}):
        run(store, docs)
    assert list(storage.rglob("*")) == []


SETTINGS = """
timezone = "Asia/Ho_Chi_Minh"

[recipe]
model = "hashing:64"

[[tenants]]
name = "acme"
[[tenants.sources]]
name = "notes"
path = "docs"
acl = ["role:staff"]

[[tenants]]
name = "umbra"
[[tenants.sources]]
name = "absent"
path = "absent"
[[tenants.sources]]
name = "papers"
path = "docs"
acl = ["role:staff"]
"""


def test_without_a_run_id_every_source_of_the_settings_has_its_turn(
    database: str,
    store: Store,
    docs: Path,
    tmp_path: Path,
    prefect_api: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from flows.nightly import nightly
    from store.runs import open_run

    (tmp_path / "mucluc.toml").write_text(SETTINGS)
    monkeypatch.chdir(tmp_path)
    for name, value in {
        "DATABASE_URL": database,
        "MUCLUC_SECRET": SECRET.decode(),
        "MUCLUC_HOME": str(tmp_path / "home"),
        "PREFECT_API_URL": prefect_api,
    }.items():
        monkeypatch.setenv(name, value)
    reports = nightly()
    assert [r["documents"]["new"] for r in reports.values()] == [8, 0, 8]
    for tenant in ("acme", "umbra"):
        assert search(store, "ERR_3021", tenant=tenant)[0].uri == "note-3.md"
    held = open_run(store, kind="sync", lock_key="sync:acme:notes")
    (docs / "more.md").write_text("# More\n\nERR_7777 is new.\n")
    with pytest.raises(SyncFailed) as failed:  # one source is held: the others have their turn
        nightly()
    assert failed.value.code == "LockHeldError"
    held.release()
    assert search(store, "ERR_7777", tenant="umbra")[0].uri == "more.md"


def test_the_deployments_name_flows_that_can_be_imported() -> None:
    from prefect import Flow

    deployed = yaml.safe_load((ROOT / "prefect.yaml").read_text())["deployments"]
    assert [d["name"] for d in deployed] == ["nightly", "backfill", "promote", "rollback", "gc"]
    for deployment in deployed:
        module, _, name = deployment["entrypoint"].rpartition(".")
        entry = getattr(importlib.import_module(module), name)
        assert isinstance(entry, Flow)
        entry.validate_parameters(deployment["parameters"])
        for schedule in deployment.get("schedules", []):
            assert len(schedule["cron"].split()) == 5


def test_flow_bodies_read_like_a_table_of_contents() -> None:
    found: dict[str, set[str]] = {}
    for file in ("nightly", "backfill", "promoting", "gc"):
        tree = ast.parse((ROOT / "flows" / f"{file}.py").read_text())
        flows = [
            node
            for node in tree.body
            if isinstance(node, ast.FunctionDef)
            and any("flow(" in ast.unparse(decorator) for decorator in node.decorator_list)
        ]
        found[file] = {flow.name for flow in flows}
        for flow in flows:
            body = flow.body[1:] if ast.get_docstring(flow) else flow.body
            assert (body[-1].end_lineno or 0) - body[0].lineno < 15, flow.name
    assert found == {
        "nightly": {"sync_source", "nightly"},
        "backfill": {"fill_version", "backfill"},
        "promoting": {"promote_version", "promote", "rollback"},
        "gc": {"collect", "gc"},
    }


def test_scheduled_jobs_do_what_the_command_line_does(
    database: str,
    store: Store,
    docs: Path,
    tmp_path: Path,
    prefect_api: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Backfill, promote, rollback and collect as deployments run them: through Prefect."""
    from prefect.client.orchestration import get_client

    from flows import backfill, gc, promoting
    from flows.swapping import Refused

    (tmp_path / "mucluc.toml").write_text('[recipe]\nmodel = "hashing:64"\n')
    monkeypatch.chdir(tmp_path)
    for name, value in {
        "DATABASE_URL": database,
        "MUCLUC_SECRET": SECRET.decode(),
        "MUCLUC_HOME": str(tmp_path / "home"),
        "PREFECT_API_URL": prefect_api,
    }.items():
        monkeypatch.setenv(name, value)
    sync(store, docs)
    assert backfill.backfill() == {"version": "v1", "nothing_to_do": True}
    report = backfill.backfill(name="v7", settings={"embedding.model": "hashing:32"})
    assert (report["missing"], report["made"]["parses"], report["whole"]) == (0, 0, True)
    source = GoldenSource(uri="note-3.md", quote="Number 3 names ERR_3021")
    golden = GoldenQuestion(
        id="label-of-a-question", query="which Number names ERR_3021?", tenant="acme",
        principals=("role:staff",), as_of=TODAY, expected=(source,), tags=("label-of-a-kind",),
    )  # fmt: skip
    register(store, "main", [golden])
    promoted = promoting.promote("v7")
    assert promoted["promoted"]
    assert promoted["gates"]["evaluation"]["asked"] == 1
    assert search(store, "ERR_3021")[0].version == "v7"
    assert promoting.rollback()["to"] == "v1"
    with store.pool.connection() as connection:
        connection.execute("delete from mucluc.entry where version_id = 2")
    with pytest.raises(Refused) as refused:
        promoting.promote("v7")
    assert refused.value.code.startswith("refused_by_complete")
    assert gc.gc()["retired"] == []
    assert sorted(p.suffix for p in (tmp_path / "home" / "reports").iterdir()) == [
        ".html", ".html", ".md", ".md",
    ]  # fmt: skip
    with get_client(sync_client=True) as client:
        mine = [
            a for a in client.read_artifacts() if str(a.key).startswith(("backfill-", "promote-"))
        ]
    told = " ".join(str(a.model_dump()) for a in mine)
    assert "evaluation.p95_ratio" in told
    for word in ("note-", "Number", "role:staff", str(docs), "label-of-a"):
        assert word not in told


def test_task_arguments_are_run_ids_and_revision_ids_alone() -> None:
    """I10: what Prefect could log or store of a call is an id."""
    from flows import nightly

    for name in ("parse", "chunk", "contextualize", "embed", "write", "list_source", "report"):
        annotations = inspect.get_annotations(getattr(nightly, name).fn)
        annotations.pop("return")
        assert set(annotations.values()) <= {"int", "list[UUID]"}, name


def test_records_of_old_runs_go_with_their_tasks_and_artifacts_and_newer_ones_stay(
    store: Store, docs: Path
) -> None:
    from prefect.client.orchestration import get_client

    from flows.prefect_runs import forget_runs

    run_sync(store, request(docs))
    middle = datetime.now(UTC)
    kept = run_sync(store, request(docs))
    assert forget_runs(middle) >= 1
    assert forget_runs(middle) == 0
    with get_client(sync_client=True) as client:
        left = client.read_flow_runs()
        assert left
        assert all(run.expected_start_time >= middle for run in left)
        ids = {run.id for run in left}
        assert {task.flow_run_id for task in client.read_task_runs()} == ids
        artifacts = client.read_artifacts()
        assert {artifact.flow_run_id for artifact in artifacts} <= ids
        assert f"sync-{kept.run_id}" in {artifact.key for artifact in artifacts}


def test_a_collection_leaves_the_records_of_a_server_that_was_named(
    store: Store, docs: Path, monkeypatch: pytest.MonkeyPatch, prefect_api: str
) -> None:
    from flows import prefect_runs, temporary_server

    asked: list[datetime] = []

    def forget(before: datetime) -> int:
        asked.append(before)
        return 7

    monkeypatch.setattr(prefect_runs, "forget_runs", forget)
    monkeypatch.setenv("PREFECT_API_URL", prefect_api)
    run_sync(store, request(docs))
    assert run_collection(store, Settings())["deleted"]["prefect runs"] == 0
    assert asked == []
    monkeypatch.setattr(temporary_server, "STARTED", {prefect_api})
    assert run_collection(store, Settings())["deleted"]["prefect runs"] == 7
    assert datetime.now(UTC) - asked[0] > timedelta(days=29)
