"""Index versions in the foundation: opened, filled, bootstrapped; another recipe is another one."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import psycopg
import pytest
from syncs import rows, search, sync, upgraded

from flows.request import request_for
from flows.settings import Settings
from flows.settings_tables import Recipe, Source
from flows.syncing import with_model_of_index
from store.database import Store
from store.errors import StoreError
from store.reader import Identity, read_as
from store.versions import active_version, list_versions


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    folder = tmp_path / "docs"
    folder.mkdir()
    for n in range(4):
        (folder / f"n{n}.md").write_text(f"# Note {n}\n\nCode N-{n:03} stands for number {n}.\n")
    return folder


def test_models_of_two_dimensions_live_in_two_indexes(store: Store, docs: Path) -> None:
    sync(store, docs, model="hashing:64")
    sync(store, docs, model="hashing:32", index="small")
    found = {
        (row["index_name"], row["dimensions"], tuple(row["aliases"]))
        for row in list_versions(store)
    }
    assert found == {("main", 64, ("active",)), ("small", 32, ("active",))}
    for index in ("main", "small"):
        assert search(store, "N-002", index=index)[0].uri == "n2.md"
        assert search(store, "N-002", index=index)[0].version == "v1"


def test_another_recipe_opens_a_version_beside_and_both_get_what_is_new(
    store: Store, docs: Path
) -> None:
    sync(store, docs, model="hashing:64")
    (docs / "n0.md").unlink()
    assert sync(store, docs, model="hashing:32").beside["versions"] == [], "nothing to write yet"
    (docs / "new.md").write_text("# New\n\nCode N-900.\n")
    report = sync(store, docs, model="hashing:32")
    assert report.exit_code == 0
    assert report.beside["recipe"] == ["fingerprint"]
    (beside,) = report.beside["versions"]
    assert beside == {
        "name": "v2", "state": "building", "today": True, "missing": 3, "waiting": 0,
    }  # fmt: skip
    assert (report.beside["embedded"], report.beside["entries"]) == (1, 1)
    assert "n0.md" not in {c.uri for c in search(store, "N-000")}
    found = search(store, "N-900")[0]
    assert (found.uri, found.version) == ("new.md", "v1")
    shown = rows(
        store, "select version_id, count(*) as n from mucluc.published group by 1 order by 1"
    )
    assert [row["n"] for row in shown] == [5, 1]
    # Whichever recipe a sync names, both versions are kept in step.
    (docs / "n1.md").write_text("# Note 1\n\nCode N-901 stands for number 1.\n")
    report = sync(store, docs, model="hashing:64")
    assert report.beside["versions"][0]["missing"] == 3
    assert (report.beside["embedded"], report.beside["entries"]) == (1, 1)
    assert sync(store, docs, model="hashing:64").rows_written == 0


def test_a_parser_that_is_gone_sends_what_is_new_to_the_next_version(
    store: Store, docs: Path
) -> None:
    sync(store, docs)
    with upgraded("markdown"):
        (docs / "n0.md").unlink()
        (docs / "new.md").write_text("# New\n\nCode N-900.\n")
        (docs / "n1.md").write_text("# Note 1\n\nCode N-901 stands for number 1.\n")
        report = sync(store, docs)
        assert report.exit_code == 3
        assert report.withheld == {"waiting": 2, "recipe": ["parsers.markdown"]}
        assert report.beside["versions"][0]["missing"] == 3
        assert "n0.md" not in {c.uri for c in search(store, "N-000")}
        assert "new.md" not in {c.uri for c in search(store, "N-900")}
        again = sync(store, docs)
        assert (again.rows_written, again.documents["unchanged"]) == (0, 4)
        assert again.exit_code == 3
    shown = rows(
        store, "select version_id, count(*) as n from mucluc.published group by 1 order by 1"
    )
    assert [row["n"] for row in shown] == [4, 2]


def test_a_model_that_fails_beside_the_active_version_does_not_stop_the_night(
    store: Store, docs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from enrich.hashing import HashingEmbedder
    from enrich.models import EmbeddingFailed

    sync(store, docs, model="hashing:64")
    honest = HashingEmbedder.embed_passages

    def refuse(self: HashingEmbedder, texts: list[str]) -> object:
        if self.card.dimensions == 32 and any("N-900" in text for text in texts):
            raise EmbeddingFailed("down", transient=False)
        return honest(self, texts)

    (docs / "new.md").write_text("# New\n\nCode N-900.\n")
    with monkeypatch.context() as patch:
        patch.setattr(HashingEmbedder, "embed_passages", refuse)
        report = sync(store, docs, model="hashing:32")
    assert (report.exit_code, report.failed) == (0, ())
    assert search(store, "N-900")[0].uri == "new.md"
    assert report.beside["versions"][0]["missing"] == 5


def test_a_version_opened_during_a_sync_is_written_by_it_from_then_on(
    store: Store, docs: Path
) -> None:
    from syncs import request, run_stages

    from flows.job import open_job
    from flows.lanes import recipe_of
    from flows.progress import StageProgress
    from store.versions import open_version

    sync(store, docs)
    (docs / "new.md").write_text("# New\n\nCode N-900.\n")
    job = open_job(store, request(docs), StageProgress(shown=False))

    def open_before_writing(stage: str) -> None:
        if stage == "write":
            open_version(store, "main", recipe_of(Recipe(model="hashing:32")))

    try:
        report = run_stages(job, open_before_writing)
    finally:
        job.close()
    assert report.beside["versions"][0]["missing"] == 4
    held = "select count(*) as n from mucluc.published group by version_id order by version_id"
    assert [row["n"] for row in rows(store, held)] == [5, 1]


def test_an_index_goes_on_with_its_own_model_unless_one_is_stated(store: Store, docs: Path) -> None:
    sync(store, docs, model="hashing:32")
    settings = Settings()
    source = Source(name="docs", path=docs)
    unstated = request_for(settings, "acme", source)
    assert with_model_of_index(store, unstated).recipe.model == "hashing:32"
    stated = request_for(settings, "acme", source, model="hashing:64")
    assert with_model_of_index(store, stated).recipe.model == "hashing:64"
    written = settings.model_copy(update={"recipe": Recipe(model="e5")})
    assert with_model_of_index(store, request_for(written, "acme", source)).recipe.model == "e5"
    elsewhere = request_for(settings, "acme", source, index="other")
    assert with_model_of_index(store, elsewhere).recipe.model == "e5"


def test_a_first_version_is_active_when_it_is_complete_and_its_vectors_are_honest(
    store: Store, docs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import numpy as np

    from enrich.hashing import HashingEmbedder

    def constant(self: HashingEmbedder, texts: list[str]) -> np.ndarray:
        return np.full((len(texts), 64), 0.125, dtype=np.float32)

    with monkeypatch.context() as patch:
        patch.setattr(HashingEmbedder, "embed_passages", constant)
        report = sync(store, docs)
    assert report.withheld == {"not_active": ["vectors"]}
    assert report.exit_code == 3
    assert active_version(store, "main") is None
    promotions = rows(store, "select * from mucluc.promotion")
    assert promotions == []


def test_the_bootstrap_is_recorded_with_its_gates(store: Store, docs: Path) -> None:
    sync(store, docs)
    (promotion,) = rows(store, "select kind, passed, forced, gates from mucluc.promotion")
    assert (promotion["kind"], promotion["passed"], promotion["forced"]) == (
        "bootstrap",
        True,
        False,
    )
    assert promotion["gates"]["complete"]["missing"] == 0
    assert promotion["gates"]["vectors"]["different"] == 4


def test_a_query_of_another_model_is_refused(store: Store, docs: Path) -> None:
    sync(store, docs)
    version = active_version(store, "main")
    assert version is not None
    identity = Identity(
        tenant="acme", principals=("role:staff",), as_of=__import__("datetime").date(2026, 11, 30)
    )
    with pytest.raises(StoreError) as refused, read_as(store, identity) as reader:
        reader.dense(version.id, "another fingerprint", "[" + ",".join(["0.1"] * 64) + "]", 5)
    assert refused.value.code == "MU005"


def test_indexes_are_built_once_and_what_a_killed_build_left_is_made_anew(
    store: Store, docs: Path
) -> None:
    sync(store, docs)
    names = (
        "select indexname from pg_indexes where schemaname = 'mucluc' and tablename = 'entry_1_0'"
    )
    built = {row["indexname"] for row in rows(store, names)}
    assert {"entry_1_0_hnsw", "entry_1_0_gin"} <= built
    with psycopg.connect(store.url, autocommit=True) as connection:
        connection.execute(
            "update pg_index set indisvalid = false where indexrelid = 'mucluc.entry_1_0_gin'::regclass"
        )
    (docs / "more.md").write_text("# More\n\nCode N-777.\n")
    sync(store, docs)
    assert rows(
        store,
        "select 1 from pg_index where indexrelid = 'mucluc.entry_1_0_gin'::regclass and indisvalid",
    )
    statistics = rows(
        store,
        "select attstattarget from pg_attribute where attrelid = 'mucluc.entry_1_0_hnsw'::regclass",
    )
    assert [row["attstattarget"] for row in statistics] == [0]


def test_a_version_opens_behind_a_long_reader_without_making_others_wait(
    store: Store, docs: Path
) -> None:
    sync(store, docs)
    waits: list[float] = []
    done = threading.Event()

    def read_on() -> None:
        with psycopg.connect(store.url) as connection:
            while not done.is_set():
                begun = time.monotonic()
                connection.execute("select count(*) from mucluc.entry")
                connection.commit()
                waits.append(time.monotonic() - begun)
                time.sleep(0.01)

    with psycopg.connect(store.url) as long:
        long.execute("select count(*) from mucluc.entry")  # holds its lock to the end
        other = threading.Thread(target=read_on)
        other.start()
        opening = threading.Thread(
            target=sync, args=(store, docs), kwargs={"model": "hashing:32", "index": "small"}
        )
        opening.start()
        time.sleep(1.5)
        assert active_version(store, "small") is None
    opening.join(60)
    done.set()
    other.join(10)
    assert active_version(store, "small") is not None
    # Each attempt gives up after 300 ms, so nobody behind it waits for the long reader's end.
    assert max(waits) < 1.4
