"""The swap: each gate refuses what it is there for, the rest goes in one transaction and back."""

from __future__ import annotations

import threading
import time
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import numpy as np
import pytest
from conftest import SECRET
from syncs import NOW, backfill, content, promote, rows, search, sync, upgraded

from enrich.embedders import load
from flows.errors import CannotRun
from flows.judging import GATES
from flows.promotion_page import as_html, as_markdown, write_pages
from flows.swapping import run_rollback, versions_for
from search.request import RetrievalPolicy, SearchRequest
from search.retrieval import retrieve
from search.shadow import ask_shadow, write_down
from store.database import Store, open_store
from store.promotions import NoWayBack, Unsettled
from store.versions import active_version, list_versions

LATER = NOW + timedelta(days=10)


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    folder = tmp_path / "docs"
    folder.mkdir()
    for n in range(12):
        words = " ".join(f"word{n * 7 + k}" for k in range(6))
        (folder / f"n{n}.md").write_text(
            f"# Note {n}\n\nCode N-{n:03} stands for {words}.\n\n## More\n\nClause {n} {words}.\n"
        )
    (folder / "prices.csv").write_text("code,price\nBH-01,8.500.000\nBH-02,120.000\n")
    return folder


@pytest.fixture
def built(store: Store, docs: Path) -> Store:
    """An index with a second version of another model, complete and not yet active."""
    sync(store, docs)
    assert backfill(store, model="hashing:32", name="v7").missing == 0
    return store


def change(store: Store, statement: str, *values: object) -> None:
    with store.pool.connection() as connection:
        connection.execute(statement, values)  # type: ignore[arg-type]


def id_of(store: Store, name: str) -> int:
    return int(rows(store, "select id from mucluc.index_version where name = %s", name)[0]["id"])


def active(store: Store) -> str:
    version = active_version(store, "main")
    assert version is not None
    return version.name


def test_i11_a_version_that_passes_its_gates_becomes_active_and_says_how(built: Store) -> None:
    assert search(built, "N-003")[0].version == "v1"
    report = promote(built, "v7")
    assert (report.exit_code, report.promoted, report.passed, report.forced) == (
        0,
        True,
        True,
        False,
    )
    assert [name for name, gate in report.gates.items() if gate["passed"]] == [
        "complete", "vectors", "visibility", "indexes",
    ]  # fmt: skip
    assert report.gates["evaluation"] == {
        "passed": None,
        "words": "skipped: no golden set is registered",
        "skipped": True,
    }
    found = search(built, "N-003")[0]
    assert (found.uri, found.version) == ("n3.md", "v7")
    (row,) = rows(built, "select * from mucluc.promotion where kind = 'promote'")
    assert (row["passed"], row["forced"], row["promoted_by"]) == (True, False, "tests")
    assert row["gates"] == report.gates
    versions = {v["name"]: (v["state"], v["aliases"]) for v in list_versions(built)}
    assert versions == {"v1": ("ready", []), "v7": ("ready", ["active"])}


def refuses(store: Store, gate: str) -> str:
    """Promote and be refused by one gate; returns its words."""
    report = promote(store, "v7")
    assert report.refused_by == [gate]
    assert (report.exit_code, report.promoted) == (5, False)
    assert active(store) == "v1"
    assert rows(store, "select * from mucluc.promotion where kind = 'promote'") == []
    return str(report.gates[gate]["words"])


def test_half_of_the_chunks_missing_is_refused_by_complete(built: Store) -> None:
    version = id_of(built, "v7")
    change(
        built,
        "delete from mucluc.entry where version_id = %s and get_byte(uuid_send(chunk_id), 0) < 128",
        version,
    )
    assert "without an entry" in refuses(built, "complete")


def test_a_chunker_that_drops_half_of_the_text_is_refused_by_complete(
    store: Store, docs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from chunkers.chunk import ChunkingRecipe
    from flows import stages

    sync(store, docs)
    honest = stages.chunk

    def halved(*args: object, recipe: ChunkingRecipe, **more: object) -> object:
        found = honest(*args, recipe=recipe, **more)  # type: ignore[arg-type]
        return found[:1] if recipe.body_budget == 100 else found

    monkeypatch.setattr(stages, "chunk", halved)
    assert backfill(store, body_budget=100, name="v7").missing == 0
    words = refuses(store, "complete")
    assert "cover" in words


def test_documents_that_were_never_filled_in_are_refused_by_complete(
    store: Store, docs: Path, tmp_path: Path
) -> None:
    (tmp_path / "more").mkdir()
    (tmp_path / "more" / "m.md").write_text("# M\n\nCode M-1.\n")
    sync(store, docs)
    sync(store, tmp_path / "more", source="more")
    backfill(store, model="hashing:32", name="v7", source="docs")
    words = refuses(store, "complete")
    assert "1 document lacks a revision: mucluc backfill --name v7" in words


def test_contexts_that_are_stand_ins_are_refused_by_complete(built: Store) -> None:
    change(built, "update mucluc.context set fallback = true")
    assert "stand-ins" in refuses(built, "complete")


@pytest.mark.parametrize(
    ("vectors", "words"),
    [
        ("another model's", "not those of the model"),
        ("constant", "different vectors"),
        ("almost constant", "nearly all of them are equal"),
        ("zero", "unit length"),
    ],
)
def test_dishonest_vectors_are_refused_by_vectors(built: Store, vectors: str, words: str) -> None:
    version = id_of(built, "v7")
    entries = rows(built, "select chunk_id from mucluc.entry where version_id = %s", version)
    random = np.random.default_rng(1)
    with built.pool.connection() as connection:
        for n, row in enumerate(entries):
            vector = random.standard_normal(32)
            if vectors == "constant":
                vector = np.ones(32)
            if vectors == "almost constant":
                vector = np.ones(32) + 0.01 * vector
            if vectors == "zero" and n == 3:
                vector = np.zeros(32)
            vector = vector / max(float(np.linalg.norm(vector)), 1e-9)
            connection.execute(
                "update mucluc.entry set embedding = %s::vector::halfvec"
                " where version_id = %s and chunk_id = %s",
                ["[" + ",".join(map(str, vector)) + "]", version, row["chunk_id"]],
            )
    assert words in refuses(built, "vectors")


def test_a_model_that_gives_other_vectors_today_is_refused_by_vectors(built: Store) -> None:
    other = bytes(np.random.default_rng(1).integers(0, 100, 192, dtype=np.uint8))
    change(built, "update mucluc.index_version set probe = %s where name = 'v7'", other)
    assert "when the version was opened" in refuses(built, "vectors")


def test_documents_that_hold_on_other_days_are_refused_by_visibility(built: Store) -> None:
    change(
        built,
        "update mucluc.published set valid = daterange('2027-01-01', null) where version_id = %s"
        " and document_id = (select id from mucluc.document where uri = 'n3.md')",
        id_of(built, "v7"),
    )
    words = refuses(built, "visibility")
    assert "1 document holds on other days" in words
    assert "cannot be seen that could" in words


def test_indexes_that_are_absent_or_unfinished_are_refused_by_indexes(built: Store) -> None:
    index = f"mucluc.entry_{id_of(built, 'v7')}_0_hnsw"
    change(
        built,
        f"update pg_index set indisvalid = false where indexrelid = '{index}'::regclass",
    )
    assert "unfinished" in refuses(built, "indexes")
    change(built, f"drop index {index}")
    assert "mucluc backfill --name v7" in refuses(built, "indexes")
    backfill(built, model="hashing:32")
    assert promote(built, "v7").promoted


def test_a_forced_version_keeps_who_why_and_against_what(built: Store) -> None:
    change(built, "delete from mucluc.entry where version_id = %s", id_of(built, "v7"))
    report = promote(built, "v7", force=True, reason="the old model's host is gone")
    assert (report.promoted, report.forced, report.exit_code) == (True, True, 0)
    (row,) = rows(built, "select * from mucluc.promotion where kind = 'promote'")
    assert (row["passed"], row["forced"]) == (False, True)
    assert row["reason"] == "the old model's host is gone"
    assert row["gates"]["complete"]["passed"] is False
    run_rollback(built, "main")
    promote(built, "v7", force=True, reason="once more")
    run_rollback(built, "main")
    forced = run_rollback(built, "main")  # forward again: it keeps that it was forced
    assert forced.new == "v7"
    (last,) = rows(built, "select * from mucluc.promotion order by id desc limit 1")
    assert (last["kind"], last["forced"], last["reason"]) == ("rollback", True, "once more")


def test_what_arrives_after_the_backfill_is_there_at_the_swap(
    store: Store, docs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By hand around the lanes of a sync, as when a run began before the version was opened."""
    from flows.job import SyncJob
    from flows.lanes import Lanes
    from store import publishing

    sync(store, docs)
    backfill(store, model="hashing:32", name="v7")
    honest = SyncJob.lanes

    def only_first(job: SyncJob) -> Lanes:
        found: Lanes = honest.fget(job)  # type: ignore[attr-defined]
        return Lanes(every=found.every[:1], in_step=found.in_step)

    def arrive(number: int) -> None:
        (docs / f"late{number}.md").write_text(f"# Late\n\nCode L-{number:03}.\n")
        with monkeypatch.context() as patch:
            patch.setattr(SyncJob, "lanes", property(only_first))
            patch.setattr(publishing, "_hold_versions", lambda *_: None)
            sync(store, docs, now=LATER)

    arrive(1)
    report = promote(store, "v7", lambda step: arrive(2) if step == "swap" else None)
    assert (report.promoted, report.caught_up) == (True, 2)
    for n in (1, 2):
        found = search(store, f"L-00{n}", as_of=LATER.date())[0]
        assert (found.uri, found.version) == (f"late{n}.md", "v7")


def test_another_version_that_became_active_meanwhile_stops_the_swap(built: Store) -> None:
    backfill(built, model="hashing:48", name="v8")

    def rival(step: str) -> None:
        if step == "swap":
            assert promote(built, "v8").promoted

    with pytest.raises(Unsettled):
        promote(built, "v7", rival)
    assert active(built) == "v8"


def test_a_rollback_goes_back_with_everything_that_happened_since(built: Store, docs: Path) -> None:
    promote(built, "v7")
    (docs / "n0.md").unlink()
    (docs / "n1.md").write_text("# Note 1\n\nCode N-901 stands for number 1.\n")
    (docs / "new.md").write_text("---\nacl: [role:hr]\n---\n# New\n\nCode N-900.\n")
    report = sync(built, docs, model="hashing:32", now=LATER)
    (beside,) = report.beside["versions"]
    assert (beside["name"], beside["state"], beside["missing"]) == ("v1", "ready", 0)
    assert report.beside["entries"] > 0
    swap = run_rollback(built, "main")
    assert (swap.old, swap.new, swap.behind) == ("v7", "v1", 0)
    day = LATER.date()
    assert search(built, "N-901", as_of=day)[0].version == "v1"
    assert "n0.md" not in {c.uri for c in search(built, "N-000", as_of=day)}
    assert "new.md" not in {c.uri for c in search(built, "N-900", as_of=day)}
    assert search(built, "N-900", as_of=day, principals=("role:hr",))[0].uri == "new.md"
    assert run_rollback(built, "main").new == "v7"


def test_a_previous_version_is_kept_in_step_for_as_long_as_the_settings_say(
    built: Store, docs: Path
) -> None:
    promote(built, "v7")
    change(
        built,
        "update mucluc.promotion set promoted_at = now() - interval '8 days' where alias = 'active'",
    )
    (docs / "new.md").write_text("# New\n\nCode N-900.\n")
    report = sync(built, docs, model="hashing:32")
    assert report.beside == {}
    swap = run_rollback(built, "main")
    assert swap.behind == 1


def test_without_a_version_before_there_is_no_way_back(store: Store, docs: Path) -> None:
    with pytest.raises(NoWayBack, match="no alias"):
        run_rollback(store, "main")
    sync(store, docs)
    with pytest.raises(NoWayBack, match="first"):
        run_rollback(store, "main")


def test_canary_and_shadow_point_elsewhere_and_can_be_taken_away(built: Store) -> None:
    report = promote(built, "v7", alias="canary")
    assert (report.promoted, report.alias) == (True, "canary")
    assert active(built) == "v1"
    assert search(built, "N-003", alias="canary")[0].version == "v7"
    assert search(built, "N-003")[0].version == "v1"
    swap = run_rollback(built, "main", "canary")
    assert (swap.old, swap.new) == ("v7", None)
    assert promote(built, "v7").promoted


def test_i10_a_shadow_is_written_down_by_id_beside_what_was_returned(
    built: Store, tmp_path: Path
) -> None:
    request = SearchRequest(
        query="N-003", tenant="acme", principals=("role:staff",), as_of=NOW.date()
    )
    returned, _ = retrieve(built, request, RetrievalPolicy(k=3), load)
    assert ask_shadow(built, request, RetrievalPolicy(k=3), load, returned) is None
    promote(built, "v7", alias="shadow")
    record = ask_shadow(built, request, RetrievalPolicy(k=3), load, returned)
    assert record is not None
    assert {entry["version"] for entry in record["returned"]} == {"v1"}
    assert {entry["version"] for entry in record["shadow_returned"]} == {"v7"}
    assert record["same_documents"] >= 1
    write_down(record, tmp_path / "shadow.jsonl")
    (line,) = (tmp_path / "shadow.jsonl").read_text().splitlines()
    for word in ("n3.md", "Note", "Clause", "N-003"):
        assert word not in line
    named = replace(request, version="v7")
    assert ask_shadow(built, named, RetrievalPolicy(), load, returned) is None


def test_what_cannot_be_promoted_is_said(built: Store) -> None:
    for name, alias, words in (
        ("v1", "active", "is the active one"),
        ("v9", "active", "is not there"),
        ("v7", "gold", "there is no alias"),
    ):
        with pytest.raises(CannotRun, match=words):
            versions_for(built, "main", name, alias)
    with pytest.raises(CannotRun, match="no active version"):
        versions_for(built, "other", "v1", "active")


def test_i15_a_parser_upgrade_goes_all_the_way_to_the_swap(store: Store, docs: Path) -> None:
    sync(store, docs)
    with upgraded("markdown"):
        (docs / "new.md").write_text("# New\n\nCode N-900.\n")
        assert sync(store, docs).exit_code == 3
        assert backfill(store).missing == 0
        report = promote(store, "v2")
        assert report.refused_by == []
        assert search(store, "N-900")[0].version == "v2"
        (docs / "newer.md").write_text("# Newer\n\nCode N-902.\n")
        after = sync(store, docs)
        assert after.exit_code == 0
        (beside,) = after.beside["versions"]
        assert (beside["name"], beside["missing"], beside["waiting"]) == ("v1", 2, 0)


def test_i10_the_pages_hold_figures_and_no_name_or_text(built: Store, tmp_path: Path) -> None:
    change(built, "delete from mucluc.entry where version_id = %s", id_of(built, "v7"))
    report = promote(built, "v7")
    page = write_pages(report, tmp_path / "reports")
    for text in (as_markdown(report), as_html(report), page.read_text("utf-8")):
        assert "refused by complete" in text
        assert f"{NOW:%Y-%m-%d %H:%M} (UTC)" in text
        for word in ("n3.md", "Clause", "N-003", "role:staff"):
            assert word not in text
    assert "<svg" in as_html(report)
    assert "the bound of a figure" in as_html(report)
    assert sorted(p.suffix for p in (tmp_path / "reports").iterdir()) == [".html", ".md"]


def test_every_gate_is_named_in_the_order_in_which_it_looks(built: Store) -> None:
    assert list(promote(built, "v7").gates) == [
        "complete", "vectors", "visibility", "indexes", "evaluation",
    ]  # fmt: skip
    assert len(GATES) == 5


@pytest.mark.parametrize("step", ["catch_up", "judge", "swap"])
def test_i8_a_promotion_that_stops_has_moved_nothing_and_can_be_made_again(
    built: Store, step: str
) -> None:
    def stop(name: str) -> None:
        if name == step:
            raise KeyboardInterrupt

    before = content(built)
    with pytest.raises(KeyboardInterrupt):
        promote(built, "v7", stop)
    assert content(built) == before
    assert promote(built, "v7").promoted


@pytest.mark.parametrize(
    ("clients", "flips"), [(4, 20), pytest.param(8, 50, marks=pytest.mark.slow)]
)
def test_i1_searches_go_on_while_aliases_flip(built: Store, clients: int, flips: int) -> None:
    """Every answer comes from one version, whole; none is empty, none fails, nobody waits."""
    promote(built, "v7")
    stop = threading.Event()
    seen: list[set[str]] = []
    wrong: list[str] = []
    waits: list[float] = []

    def ask(number: int) -> None:
        with open_store(built.url, SECRET, max_connections=2) as mine:
            while not stop.is_set():
                try:
                    found = search(mine, f"N-{number:03}")
                except Exception as exc:  # whatever it is, it must not happen
                    wrong.append(type(exc).__name__)
                    return
                seen.append({candidate.version for candidate in found})
                if f"n{number}.md" not in {candidate.uri for candidate in found}:
                    wrong.append(f"{len(found)} results without the right one")

    def watch() -> None:
        while not stop.is_set():
            held = rows(
                built,
                "select coalesce(max(extract(epoch from clock_timestamp() - l.waitstart)), 0)::float8"
                " as seconds from pg_locks l join pg_database d on d.oid = l.database"
                " where not l.granted and d.datname = current_database()",
            )
            waits.append(held[0]["seconds"])
            time.sleep(0.02)

    threads = [threading.Thread(target=ask, args=(n,)) for n in range(clients)]
    for thread in (watcher := threading.Thread(target=watch), *threads):
        thread.start()
    for _ in range(flips):
        run_rollback(built, "main")
        time.sleep(0.05)
    stop.set()
    for thread in (watcher, *threads):
        thread.join(60)
    assert wrong == []
    assert all(len(versions) == 1 for versions in seen)
    assert {"v1", "v7"} == set.union(*seen)
    # Not asserted, since a busy machine waits for itself: the longest lock wait that was sampled.
    print(f"{flips} flips, {clients} clients: longest lock wait {max(waits):.3f} s")
