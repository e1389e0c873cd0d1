"""A version built beside the active one: what it reuses, what it holds, and that it can be resumed."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, timedelta
from email.message import EmailMessage
from pathlib import Path
from typing import Any

import pytest
from syncs import NOW, backfill, content, rows, search, sync, upgraded, write_notes

from enrich.hashing import HashingEmbedder
from flows.backfilling import asked_recipe, plan_backfill, target_of
from flows.errors import CannotRun
from flows.settings import Settings
from store.database import Store
from store.errors import LockHeldError
from store.versions import active_version, list_versions, named_version

LATER = NOW + timedelta(days=10)


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    folder = write_notes(tmp_path / "docs")
    (folder / "prices.csv").write_text("code,price\nBH-01,8.500.000\nBH-02,120.000\n")
    return folder


def shown(store: Store, version: str) -> list[Any]:
    """What a version publishes and when, by revision."""
    return rows(
        store,
        "select p.revision_id, p.cut_id, p.n_chunks, p.valid from mucluc.published p"
        " join mucluc.index_version v on v.id = p.version_id where v.name = %s"
        " order by p.revision_id",
        version,
    )


def entries(store: Store, version: str) -> list[Any]:
    return rows(
        store,
        "select e.chunk_id, e.tenant, e.document_id, e.tsv::text, e.len, e.hot,"
        " encode(e.input_sha256, 'hex') as input from mucluc.entry e"
        " join mucluc.index_version v on v.id = e.version_id where v.name = %s order by e.chunk_id",
        version,
    )


def change_everything(store: Store, docs: Path) -> None:
    """A history: a changed, an added, a retitled and a deleted document, ten days later."""
    sync(store, docs)
    (docs / "n0.md").write_text(
        "# Note 0\n\nCode N-900 stands for number 0 now.\n\n## More\n\nClause 0.\n"
    )
    (docs / "n1.md").write_text("---\ntitle: Other\n---\n" + (docs / "n1.md").read_text())
    (docs / "n2.md").unlink()
    (docs / "new.md").write_text("# New\n\nCode N-901.\n")
    sync(store, docs, now=LATER)


def test_i14_another_model_embeds_again_and_does_nothing_else(
    store: Store, docs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from parsers.worker import ParseWorker

    change_everything(store, docs)
    before = {table: content(store)[table] for table in ("parse", "chunk", "context")}
    with monkeypatch.context() as patch:
        patch.setattr(ParseWorker, "parse", lambda *_: pytest.fail("it parsed"))
        report = backfill(store, model="hashing:32")
    assert report.exit_code == 0
    assert (report.made["parses"], report.made["chunks"], report.made["contexts"]) == (0, 0, 0)
    assert report.made["embeddings"] > 0
    assert report.reused["parses"] == report.revisions == 8
    assert (report.missing, report.whole, report.not_transferable) == (0, True, ())
    assert {table: content(store)[table] for table in before} == before
    versions = {row["name"]: row for row in list_versions(store)}
    assert (versions["v2"]["state"], versions["v2"]["aliases"]) == ("building", [])


def test_a_filled_version_shows_what_the_active_one_shows_on_every_day(
    store: Store, docs: Path
) -> None:
    change_everything(store, docs)
    backfill(store, model="hashing:32", now=LATER)
    gone = {
        row["id"]
        for row in rows(store, "select id from mucluc.document where deleted_at is not null")
    }
    kept = {
        row["revision_id"]
        for row in rows(
            store,
            "select revision_id from mucluc.published p where not p.document_id = any(%s)",
            list(gone),
        )
    }
    assert [row for row in shown(store, "v1") if row["revision_id"] in kept] == shown(store, "v2")
    assert [row for row in entries(store, "v1") if row["document_id"] not in gone] == entries(
        store, "v2"
    )


def test_a_second_backfill_of_a_recipe_finds_nothing_to_do(store: Store, docs: Path) -> None:
    sync(store, docs)
    backfill(store, model="hashing:32")
    before = content(store)
    again = backfill(store, model="hashing:32")
    assert (again.revisions, again.made["embeddings"], again.entries) == (0, 0, 0)
    assert content(store) == before


@pytest.mark.parametrize("stage", ["parse", "chunk", "contextualize", "embed", "write", "index"])
def test_i8_a_backfill_that_stops_is_finished_by_the_next(
    store: Store, docs: Path, stage: str
) -> None:
    change_everything(store, docs)
    seen: list[str] = []

    def stop(name: str) -> None:
        seen.append(name)
        if name == stage and (seen.count(name) == 2 or name == "index"):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        backfill(store, stop, model="hashing:32", limits={"batch_documents": 2})
    assert active_version(store, "main").name == "v1"  # type: ignore[union-attr]
    report = backfill(store, model="hashing:32")
    assert (report.missing, report.version) == (0, "v2")
    stopped = (shown(store, "v2"), entries(store, "v2"))
    whole = backfill(store, model="hashing:32", name="copy")
    assert whole.made["embeddings"] == 0
    assert (shown(store, "copy"), entries(store, "copy")) == stopped


def test_another_parser_reads_the_files_again_and_keeps_what_has_no_bytes_any_more(
    store: Store, docs: Path
) -> None:
    change_everything(store, docs)
    with upgraded("markdown"):
        report = backfill(store)
        assert report.exit_code == 0
        # n0 twice; n1, n3, n4, n5, new once; the old n0 is history, whose bytes nobody has.
        assert (report.made["parses"], report.older_parses) == (6, 1)
        assert report.reused["parses"] == 1  # the table's parser is the same
        assert report.missing == 0
        (docs / "n3.md").unlink()
        left = backfill(store, name="v3")
    assert left.exit_code == 0, "what a new parser has read once is stored"


def test_a_document_whose_bytes_are_gone_is_counted_and_stops_nothing(
    store: Store, docs: Path
) -> None:
    sync(store, docs)
    (docs / "n3.md").unlink()
    with upgraded("markdown"):
        report = backfill(store)
    assert (report.exit_code, report.missing) == (3, 1)
    (left,) = report.not_transferable
    (document,) = rows(store, "select id from mucluc.document where uri = 'n3.md'")
    assert left["reason"] == "bytes_gone"
    assert left["document"] == str(document["id"])
    assert rows(store, "select * from mucluc.quarantine") == []


def test_attachments_are_read_out_of_their_mail_again(store: Store, tmp_path: Path) -> None:
    mail = EmailMessage()
    mail["Subject"], mail["From"], mail["To"] = "Prices", "a@example.com", "b@example.com"
    mail.set_content("The prices are attached.")
    mail.add_attachment(b"# Attached\n\nCode N-777.\n", maintype="text", subtype="markdown",
                        filename="list.md")  # fmt: skip
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "mail.eml").write_bytes(mail.as_bytes())
    sync(store, tmp_path / "docs")
    with upgraded("markdown"):
        report = backfill(store)
    assert (report.exit_code, report.revisions, report.made["parses"]) == (0, 2, 1)


def test_a_scoped_backfill_fills_its_scope_and_infers_nothing_outside(
    store: Store, docs: Path, tmp_path: Path
) -> None:
    more = tmp_path / "more"
    more.mkdir()
    (more / "m.md").write_text("# M\n\nCode M-1.\n")
    sync(store, docs)
    sync(store, more, source="more")
    report = backfill(store, model="hashing:32", source="more")
    assert (report.revisions, report.missing, report.whole) == (1, 7, False)
    (docs / "late.md").write_text("# Late\n\nCode L-1.\n")
    sync(store, docs, now=LATER)
    since = backfill(store, model="hashing:32", since=LATER.date())
    assert since.revisions == 0, "the sync wrote it to both versions"
    assert since.missing == 7
    assert backfill(store, model="hashing:32", since=date(2026, 1, 1)).missing == 0


def test_documents_that_change_during_a_build_reach_both_versions(store: Store, docs: Path) -> None:
    sync(store, docs)
    once: list[int] = []

    def change(stage: str) -> None:
        if stage == "write" and not once:
            once.append(1)
            (docs / "n0.md").write_text("# Note 0\n\nCode N-900 now.\n")
            (docs / "n1.md").write_text(
                "---\ntitle: Retitled\n---\n" + (docs / "n1.md").read_text()
            )
            (docs / "late.md").write_text("# Late\n\nCode L-1.\n")
            sync(store, docs, now=LATER)

    limits = {"batch_documents": 3}
    report = backfill(store, change, model="hashing:32", limits=limits, now=LATER)
    assert report.missing == 0
    assert shown(store, "v1") == shown(store, "v2")
    assert entries(store, "v1") == entries(store, "v2")


def test_one_job_at_a_time_works_on_a_version(store: Store, docs: Path) -> None:
    sync(store, docs)

    def rival(stage: str) -> None:
        if stage == "index":
            with pytest.raises(LockHeldError):
                backfill(store, model="hashing:32")

    backfill(store, rival, model="hashing:32")


def test_a_text_that_the_new_model_cannot_take_is_reported_and_not_quarantined(
    store: Store, docs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sync(store, docs)
    honest = HashingEmbedder.embed_passages

    def refuse(self: HashingEmbedder, texts: list[str]) -> Any:
        if self.card.dimensions == 32 and any("N-003" in text for text in texts):
            raise RuntimeError("N-003")
        return honest(self, texts)

    monkeypatch.setattr(HashingEmbedder, "embed_passages", refuse)
    report = backfill(store, model="hashing:32")
    assert (report.exit_code, report.missing) == (3, 1)
    assert report.not_transferable[0]["reason"] == "internal_error"
    assert rows(store, "select * from mucluc.quarantine") == []
    assert search(store, "N-003")[0].uri == "n3.md"


def test_the_dry_run_tells_the_cost_and_changes_nothing(
    store: Store, docs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    change_everything(store, docs)
    before = content(store)
    settings = Settings()
    plan = _plan(store, settings, {"embedding.model": "hashing:32"})
    assert (plan["revisions"], plan["parses"], plan["opened"]) == (8, 0, False)
    assert content(store) == before
    assert len(list_versions(store)) == 1
    report = backfill(store, model="hashing:32")
    assert plan["embeddings"] == report.made["embeddings"] > 0
    assert plan["exact"]
    done = _plan(store, settings, {"embedding.model": "hashing:32"})
    assert (done["revisions"], done["embeddings"], done["opened"]) == (0, 0, True)
    copy = _plan(store, settings, {"embedding.model": "hashing:64"}, name="copy")
    assert (copy["revisions"], copy["embeddings"]) == (8, 0)
    with upgraded("markdown"):
        assert _plan(store, settings, {})["parses"] == 7


@pytest.mark.parametrize("asked", [{}, {"chunking.body_budget": "60"}])
@pytest.mark.parametrize("stage", ["embed", "write"])
def test_the_dry_run_counts_what_an_interrupted_run_left_to_do(
    store: Store, docs: Path, stage: str, asked: dict[str, str]
) -> None:
    change_everything(store, docs)
    recipe = {key.rpartition(".")[2]: int(value) for key, value in asked.items()}
    batches: list[str] = []

    def interrupt(name: str) -> None:
        batches.append(name)
        if batches.count(stage) == 2:
            raise KeyboardInterrupt

    changes = {"embedding.model": "hashing:32", **asked}
    first = _plan(store, Settings(), changes)
    assert first["exact"] == (not asked)  # what another chunker will make nobody knows
    with pytest.raises(KeyboardInterrupt):
        backfill(store, interrupt, model="hashing:32", limits={"batch_documents": 3}, **recipe)
    plan = _plan(store, Settings(), changes)
    assert 0 < plan["embeddings"] < first["embeddings"]
    report = backfill(store, model="hashing:32", **recipe)
    if plan["exact"]:
        assert plan["embeddings"] == report.made["embeddings"]


def _plan(
    store: Store, settings: Settings, changes: dict[str, str], name: str | None = None
) -> dict[str, Any]:
    target = target_of(store, settings, "main", name, changes)
    return plan_backfill(store, settings, target, None, None)


def test_what_cannot_be_built_is_refused_with_the_next_command(store: Store, docs: Path) -> None:
    settings = Settings()

    def refused(call: Callable[[], Any], *words: str) -> None:
        with pytest.raises(CannotRun) as told:
            call()
        for word in words:
            assert word in f"{told.value} {told.value.hint}"

    refused(lambda: target_of(store, settings, "main", None, {}), "mucluc sync")
    sync(store, docs)
    assert target_of(store, settings, "main", None, {}).nothing_to_do
    refused(lambda: target_of(store, settings, "main", None, {"modle": "x"}), "embedding.model")
    refused(lambda: target_of(store, settings, "main", None, {"model": "e9"}), "model")
    too_long = {"chunking.body_budget": "4000"}
    refused(lambda: target_of(store, settings, "main", None, too_long), "I4", "body_budget")
    backfill(store, model="hashing:32", name="v7")
    refused(
        lambda: target_of(store, settings, "main", "v7", {"model": "hashing:48"}),
        "another recipe",
        "--set",
    )
    resumed = target_of(store, settings, "main", "v7", {})
    assert resumed.version == named_version(store, "main", "v7")
    with upgraded("markdown"):
        refused(lambda: target_of(store, settings, "main", "v7", {}), "parser of markdown")
    asked = asked_recipe(settings, "main", resumed.active, {"chunking.body_budget": "100"})
    assert (asked.model, asked.body_budget) == ("hashing:64", 100)
