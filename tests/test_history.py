"""Ended revisions: they answer for as long as the settings keep them, then only dates are left."""

from __future__ import annotations

from datetime import date, timedelta
from pathlib import Path

import pytest
import worlds
from hypothesis import given
from hypothesis import strategies as st
from syncs import (
    NOW,
    TODAY,
    backfill,
    collect,
    content,
    open_backfill,
    promote,
    rows,
    search,
    sync,
)

from enrich.embedders import load
from flows.collecting import plan_collection
from flows.settings import Settings
from flows.settings_tables import Versions
from search.request import RetrievalPolicy, SearchRequest
from search.why import explain
from store.database import Store

SECOND, THIRD = NOW + timedelta(days=10), NOW + timedelta(days=20)


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    folder = tmp_path / "docs"
    folder.mkdir()
    (folder / "other.md").write_text("# Other\n\nCode O-1 never changes.\n")
    return folder


def three_revisions(store: Store, docs: Path, *, keep: int | None) -> int:
    """A file of three contents, ten days each; returns how many revisions the last run pruned."""
    for number, now in enumerate((NOW, SECOND, THIRD), start=1):
        (docs / "price.md").write_text(
            f"# Price\n\nCode P-{number} is the price.\n\n## B\n\nAll.\n"
        )
        report = sync(store, docs, now=now, keep_history_days=keep)
    return report.pruned


def found(store: Store, day: date) -> set[str]:
    return {
        f"P-{n}" for n in (1, 2, 3) for hit in search(store, f"P-{n}", as_of=day)
        if f"P-{n} " in hit.text
    }  # fmt: skip


def test_without_the_setting_history_is_kept_for_ever(store: Store, docs: Path) -> None:
    assert three_revisions(store, docs, keep=None) == 0
    assert collect(store)["deleted"]["history"] == 0
    assert found(store, TODAY) == {"P-1"}


def test_a_revision_that_ended_before_the_kept_days_goes_and_its_neighbours_keep_theirs(
    store: Store, docs: Path
) -> None:
    assert three_revisions(store, docs, keep=5) == 1
    assert found(store, TODAY - timedelta(days=99)) == set()
    assert found(store, SECOND.date() - timedelta(days=1)) == set(), "the next was not yet there"
    assert found(store, SECOND.date()) == {"P-2"}
    assert found(store, THIRD.date()) == {"P-3"}
    assert search(store, "O-1", as_of=TODAY - timedelta(days=99)), "the first of its document"
    assert rows(store, "select count(*) as n from mucluc.chunk where text like '%%P-1 %%'") == [
        {"n": 0}
    ]
    left = rows(
        store,
        "select r.title, r.metadata, (select count(*) from mucluc.parse p where p.revision_id = r.id)"
        " + (select count(*) from mucluc.revision_chunk p where p.revision_id = r.id)"
        " + (select count(*) from mucluc.published p where p.revision_id = r.id) as rows"
        " from mucluc.revision r where r.pruned",
    )
    assert left == [{"title": None, "metadata": {}, "rows": 0}]
    assert rows(store, "select stale from mucluc.version_stat") == [{"stale": False}]


def test_the_next_run_has_nothing_to_do_and_a_collection_leaves_the_dates(
    store: Store, docs: Path
) -> None:
    three_revisions(store, docs, keep=5)
    again = sync(store, docs, now=THIRD, keep_history_days=5)
    assert (again.pruned, again.rows_written, again.documents["unchanged"]) == (0, 0, 2)
    collect(store)
    before = content(store)
    assert set(collect(store)["deleted"].values()) == {0}
    assert content(store) == before
    assert found(store, SECOND.date() - timedelta(days=1)) == set()
    assert rows(store, "select count(*) as n from mucluc.revision where pruned") == [{"n": 1}]


def test_content_that_comes_back_after_it_was_pruned_is_a_revision_of_its_own(
    store: Store, docs: Path
) -> None:
    three_revisions(store, docs, keep=5)
    (docs / "price.md").write_text("# Price\n\nCode P-1 is the price.\n\n## B\n\nAll.\n")
    fourth = THIRD + timedelta(days=10)
    report = sync(store, docs, now=fourth, keep_history_days=5)
    assert (report.documents["changed"], report.pruned) == (1, 1)
    assert found(store, fourth.date()) == {"P-1"}
    assert found(store, THIRD.date()) == {"P-3"}
    assert found(store, TODAY) == set()


def test_what_the_file_says_now_stays_though_it_expired_long_ago(store: Store, docs: Path) -> None:
    (docs / "list.md").write_text(
        "---\nvalid_from: 2024-01-01\nvalid_to: 2024-12-31\n---\n# List\n\nCode P-1 is the price.\n"
    )
    for _ in range(2):
        report = sync(store, docs, keep_history_days=0)
    assert (report.pruned, report.rows_written) == (0, 0)
    assert found(store, date(2024, 6, 1)) == {"P-1"}


def test_a_collection_prunes_sources_that_no_run_sees_and_counts_before_it_does(
    store: Store, docs: Path
) -> None:
    three_revisions(store, docs, keep=None)
    long_ago = "update mucluc.{} set {} = {} - interval '60 days'"
    with store.pool.connection() as connection:
        connection.execute(long_ago.format("revision", "seen_on", "seen_on"))  # type: ignore[arg-type]
        connection.execute("select mucluc.refresh_validity(array(select id from mucluc.document))")
    before = content(store)
    plan = plan_collection(store, Settings(versions=Versions(keep_history_days=30)))
    assert plan["deleted"]["history"] == 2
    assert content(store) == before
    assert collect(store, keep_history_days=30)["deleted"]["history"] == 2
    assert collect(store, keep_history_days=30)["deleted"]["history"] == 0
    assert found(store, THIRD.date()) == {"P-3"}


def test_nothing_is_pruned_while_a_version_is_being_built(store: Store, docs: Path) -> None:
    three_revisions(store, docs, keep=None)
    job = open_backfill(store, model="hashing:32")
    try:
        assert sync(store, docs, now=THIRD, keep_history_days=5).pruned == 0
        assert collect(store, keep_history_days=0)["busy"] >= 1
    finally:
        job.run.close(store, "failed", None)
        job.close()
    assert sync(store, docs, now=THIRD, keep_history_days=5).pruned == 1


def test_a_version_that_is_built_afterwards_holds_on_the_same_days(
    store: Store, docs: Path
) -> None:
    three_revisions(store, docs, keep=5)
    backfill(store, name="v2", model="hashing:32", now=THIRD)
    report = promote(store, "v2")
    assert report.promoted, report.gates
    assert found(store, SECOND.date() - timedelta(days=1)) == set()
    assert found(store, SECOND.date()) == {"P-2"}
    assert found(store, THIRD.date()) == {"P-3"}


def test_why_says_that_a_revision_is_no_longer_kept(store: Store, docs: Path) -> None:
    three_revisions(store, docs, keep=5)
    request = SearchRequest(query="P-1", tenant="acme", principals=("role:staff",), as_of=TODAY)
    told = explain(store, request, RetrievalPolicy(), load, "price.md")
    valid = next(check for check in told.checks if check.name == "valid")
    assert valid.holds is False
    assert "1 that ended earlier are no longer kept" in valid.says


SAME = frozenset({worlds.MAIN})


@given(st.lists(worlds.contents, min_size=1, max_size=5), worlds.days)
def test_days_that_are_kept_show_what_they_showed(
    contents: list[tuple[object, ...]], before: date
) -> None:
    """On the model that the access proof holds against the database."""
    drawn = [(*c[:4], SAME) for c in contents]
    world = worlds.World((worlds._document(0, ("acme", "default", None, False, drawn)),))
    (old,), (new,) = world.documents, worlds.changed(world, ("prune", before)).documents
    for day in worlds.SPAN:
        was = worlds.in_force(old.held(worlds.MAIN), day)
        now = worlds.in_force(new.held(worlds.MAIN), day)
        assert (was and was.sequence) == (now and now.sequence)
        assert now is None or not now.pruned or day < before
