"""mucluc eval: a set in a scratch database, golden questions on an index, and what is kept."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import psycopg
import pytest
from commands import last_line
from conftest import SECRET
from syncs import NOW, sync
from typer.testing import CliRunner, Result

from enrich.embedders import load
from enrich.models import Vectors
from evals.benchmark import BenchQuestion, read_benchmark
from evals.floors import Floor, below_floors, read_floors
from evals.metrics import MEASURES
from evals.retrieval import segments
from evals.retrieval_page import write_page
from evals.vector_cache import PASSAGE, CachedEmbedder, VectorCache, cache_key
from flows import retrieval_quality
from flows.cli import app
from flows.evaluating import fill
from flows.progress import StageProgress
from flows.retrieval_quality import count_missing
from flows.scratch_sync import sync_sources
from flows.settings import Settings
from flows.settings_tables import Recipe
from store.database import open_store
from store.scratch import PREFIX, scratch_store

DOCS = [
    {
        "id": "leave", "title": "Leave policy", "valid_from": "2020-01-01",
        "passages": [
            {"id": "l1", "text": "Employees have fourteen days of annual leave.", "heading_path": ["Annual leave"]},
            {"id": "l2", "text": "A doctor's note is due on the third day of sickness.", "heading_path": ["Sick leave"]},
        ],
    },
    {
        "id": "old-leave", "title": "Leave policy", "valid_from": "2010-01-01", "valid_to": "2019-12-31",
        "passages": [{"id": "o1", "text": "Employees have twelve days of annual leave."}],
    },
    {
        "id": "prices", "title": "Prices",
        "passages": [
            {"id": "t1", "text": "", "kind": "table", "cells": [["Part", "Price"], ["Pump", "850"], ["Valve", "120"]]},
            {"id": "c1", "kind": "code", "text": "def price(part):\n    return PRICES[part]"},
        ],
    },
]  # fmt: skip
QUERIES = [
    {"id": "q1", "query": "How many days of annual leave?", "answer": "fourteen days", "tags": ["en", "leave"]},
    {"id": "q2", "query": "annual leave days", "answer": ["twelve days"], "as_of": "2015-06-01", "tags": ["en", "leave"]},
    {"id": "q3", "query": "price of the Pump", "must_contain": "850", "tags": ["en", "table"]},
    {"id": "q4", "query": "def price", "answer": "it looks it up", "tags": ["en", "code"]},
]  # fmt: skip
QRELS = [
    {"query_id": "q1", "doc_id": "leave", "passage_id": "l1"},
    {"query_id": "q2", "doc_id": "old-leave", "passage_id": "o1"},
    {"query_id": "q3", "doc_id": "prices", "passage_id": "t1"},
    {"query_id": "q4", "doc_id": "prices", "passage_id": "c1"},
]


@pytest.fixture
def a_set(tmp_path: Path) -> tuple[str, ...]:
    arguments: list[str] = []
    for name, rows in (("docs", DOCS), ("queries", QUERIES), ("qrels", QRELS)):
        path = tmp_path / f"{name}.jsonl"
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
        arguments += [f"--{name}", str(path)]
    return (*arguments, "--model", "hashing:64", "--cache", str(tmp_path / "cache"))


def call(*arguments: str | Path) -> Result:
    return CliRunner().invoke(app, ["eval", *map(str, arguments)])


def scratch_databases(url: str) -> list[str]:
    with psycopg.connect(url) as connection:
        rows = connection.execute("select datname from pg_database").fetchall()
    return [name for (name,) in rows if name.startswith(f"{PREFIX}{os.getpid()}_")]


# A set of three files.


def test_a_set_is_measured_and_the_last_line_is_one_object(
    a_set: tuple[str, ...], here: dict[str, str]
) -> None:
    done = call(*a_set, "--json")
    assert done.exit_code == 0, done.output
    figures = last_line(done)
    for retriever in ("dense", "text", "hybrid"):
        assert set(MEASURES) <= figures[retriever].keys()
        assert figures[retriever]["recall@10"] == 1
        assert figures[retriever]["answer@10"] == 1
    assert figures["text"]["mrr@10"] == 1
    assert (figures["n"], figures["n_answers"], figures["moved_days"]) == (4, 3, 0)
    assert figures["p95_ms"] > 0
    assert figures["tags"]["leave"]["n"] == 2
    assert scratch_databases(here["DATABASE_URL"]) == []
    with psycopg.connect(here["DATABASE_URL"]) as connection:
        assert connection.execute("select count(*) from mucluc.document").fetchone() == (0,)


@pytest.mark.usefixtures("here")
def test_nothing_is_embedded_twice_between_measurements(a_set: tuple[str, ...]) -> None:
    first, second = (last_line(call(*a_set, "--json")) for _ in range(2))
    assert first["embedded"] >= first["chunks"]
    assert second["embedded"] == 0
    assert first["hybrid"] == second["hybrid"]


@pytest.mark.usefixtures("here")
def test_questions_are_chosen_by_tag_and_dumped_with_their_results(
    a_set: tuple[str, ...], tmp_path: Path
) -> None:
    dump = tmp_path / "out" / "dump.jsonl"
    done = call(*a_set, "--tag", "en", "--without", "code", "--limit", "2", "--dump", dump)
    assert done.exit_code == 0, done.output
    assert "retrieval, percent" in done.output
    rows = [json.loads(line) for line in dump.read_text(encoding="utf-8").splitlines()]
    assert [row["id"] for row in rows] == ["q1", "q2"]
    first = rows[0]["text"][0]
    assert (first["document"], first["gold"], first["answer"]) == ("leave", ["l1"], True)
    assert first["scores"]["text"] > 0
    assert rows[0]["dense"][0]["scores"]["dense"] <= 1.0001
    assert rows[1]["as_of"] == "2015-06-01"
    assert {row["document"] for row in rows[1]["dense"]} == {"old-leave", "prices"}


def test_a_kept_database_is_named(a_set: tuple[str, ...], here: dict[str, str]) -> None:
    done = call(*a_set, "--keep", "--limit", "1", "--json")
    url = last_line(done)["database"]
    name = url.partition("?")[0].rpartition("/")[2]
    try:
        with psycopg.connect(url) as connection:
            assert connection.execute("select count(*) from mucluc.document").fetchone() == (3,)
    finally:
        with psycopg.connect(here["DATABASE_URL"], autocommit=True) as connection:
            connection.execute(f"drop database {name} with (force)")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((), "name a golden set, or the three files"),
        (("--docs", "d.jsonl"), "three files"),
        (("g.jsonl", "--docs", "d.jsonl"), "one of its own"),
        (("absent.jsonl",), "cannot be read"),
        (
            ("--docs", "d.jsonl", "--queries", "q.jsonl", "--qrels", "r.jsonl"),
            "d.jsonl is not there",
        ),
    ],
)
@pytest.mark.usefixtures("here")
def test_wrong_use_ends_with_2_and_says_what_is_wrong(
    arguments: tuple[str, ...], words: str
) -> None:
    done = call(*arguments)
    assert done.exit_code == 2
    assert words in " ".join(done.output.split())


@pytest.mark.usefixtures("here")
def test_a_tag_that_no_question_has_is_answered_with_those_there_are(
    a_set: tuple[str, ...],
) -> None:
    done = call(*a_set, "--tag", "nonsense")
    assert done.exit_code == 2
    assert "code, en, leave, table" in done.output


def test_questions_without_diacritics_have_a_segment_beside_those_as_written(
    tmp_path: Path,
) -> None:
    def question(name: str, *tags: str) -> BenchQuestion:
        return BenchQuestion(id=name, query="?", gold=(("d", "p"),), tags=tags, language="vi")

    found = segments([question("a", "vi"), question("b", "vi", "no-diacritics")])
    assert found == {"vi": {"a", "b"}, "vi, as written": {"a"}, "no-diacritics": {"b"}}


@pytest.mark.usefixtures("here")
def test_a_question_without_words_finds_nothing(a_set: tuple[str, ...], tmp_path: Path) -> None:
    queries = Path(a_set[3])
    queries.write_text(json.dumps({"id": "q1", "query": "-leave"}) + "\n", encoding="utf-8")
    done = call(*a_set, "--json")
    assert done.exit_code == 0, done.output
    assert last_line(done)["hybrid"]["recall@20"] == 0


# A golden set.


@pytest.fixture
def golden(tmp_path: Path, here: dict[str, str]) -> Path:
    folder = tmp_path / "documents"
    folder.mkdir()
    (folder / "leave.md").write_text("# Leave\n\nFourteen days a year.\n")
    (folder / "errors.md").write_text("# Errors\n\nERR_4021 means that the token has expired.\n")
    with open_store(here["DATABASE_URL"], SECRET) as store:
        sync(store, folder)
    known = {
        "tenant": "acme",
        "as_of": "2026-11-30",
        "principals": ["role:staff"],
        "language": "en",
    }
    rows: list[dict[str, Any]] = [
        {"id": "g1", "query": "ERR_4021", "tags": ["exact_lookup"], "expected": [{"uri": "errors.md", "quote": "the token has expired"}]},
        {"id": "g2", "query": "days a year", "tags": ["short"], "expected": [{"uri": "leave.md", "quote": "Fourteen days"}]},
        {"id": "g3", "query": "salary of the chairman", "tags": ["unanswerable"], "expected": [], "principals": ["role:guest"], "must_not": ["leave.md"]},
    ]  # fmt: skip
    path = tmp_path / "golden.jsonl"
    path.write_text("".join(json.dumps(known | row) + "\n" for row in rows), encoding="utf-8")
    return path


def test_golden_questions_are_asked_of_the_index(golden: Path) -> None:
    done = call(golden, "--json")
    assert done.exit_code == 0, done.output
    figures = last_line(done)
    assert (figures["recall@5"], figures["hidden"], figures["no_answer"]) == (1, 1, 1)
    assert (figures["version"], figures["n"]) == ("v1", 3)
    assert figures["tags"]["exact_lookup"]["n"] == 1
    shown = call(golden, "--version", "v1")
    assert "golden set, percent" in shown.output


def test_two_runs_are_compared_and_reported(golden: Path, tmp_path: Path) -> None:
    run, out, policy = tmp_path / "run.json", tmp_path / "out", tmp_path / "try.toml"
    assert call(golden, "--save", run).exit_code == 0
    policy.write_text("text = false\n")
    done = call(golden, "--against", run, "--policy", policy, "--report", out, "--json")
    assert done.exit_code == 0, done.output
    compared = last_line(done)["comparison"]
    assert compared["passed"]
    assert compared["decision"] in ("keep", "limited roll-out")
    assert "<svg" in (out / "decision.html").read_text(encoding="utf-8")
    assert "try.toml" in (out / "decision.md").read_text(encoding="utf-8")
    shown = call(golden, "--against", "v1")
    assert "Advice: keep" in shown.output


def test_a_comparison_that_advises_to_roll_back_ends_with_1(golden: Path, tmp_path: Path) -> None:
    run = tmp_path / "run.json"
    call(golden, "--save", run)
    kept = json.loads(run.read_text(encoding="utf-8"))
    with_leak = golden.read_text(encoding="utf-8").replace('"role:guest"', '"role:staff"')
    golden.write_text(with_leak, encoding="utf-8")
    call(golden, "--save", tmp_path / "later.json")
    later = json.loads((tmp_path / "later.json").read_text(encoding="utf-8"))
    kept["golden"] = later["golden"]  # the same questions, but that one asker may see more now
    run.write_text(json.dumps(kept), encoding="utf-8")
    done = call(golden, "--against", run)
    assert done.exit_code == 1
    assert "g3: hidden no longer holds" in done.output


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--version", "v9"), "no version v9"),
        (("--against", "v9"), "no version v9"),
        (("--against", "absent.json"), "absent.json cannot be read"),
        (("--index", "other"), "no index other. There are: main"),
        (("--tag", "nonsense"), "no question has these tags"),
    ],
)
def test_what_cannot_be_asked_is_said_in_words(
    golden: Path, arguments: tuple[str, ...], words: str
) -> None:
    done = call(golden, *arguments)
    assert done.exit_code in (1, 2)
    assert words in " ".join(done.output.split())


# What outlives a measurement.


class Counting:
    def __init__(self) -> None:
        self._model = load("hashing:64")
        self.card, self.tokenizer = self._model.card, self._model.tokenizer
        self.texts: list[str] = []

    def embed_passages(self, texts: Any) -> Vectors:
        self.texts += texts
        return self._model.embed_passages(texts)

    def embed_query(self, text: str) -> Any:
        self.texts.append(f"?{text}")
        return self._model.embed_query(text)


def test_the_cache_embeds_what_it_lacks_and_gives_back_the_same_bytes(tmp_path: Path) -> None:
    model = Counting()
    first = CachedEmbedder(model, tmp_path)
    before = first.embed_passages(["a", "b"])
    asked = first.embed_query("a")
    again = CachedEmbedder(model, tmp_path)
    assert np.array_equal(again.embed_passages(["b", "c", "a"])[[2, 0]], before)
    assert np.array_equal(again.embed_query("a"), asked)
    assert model.texts == ["a", "b", "?a", "c"]
    assert (again.embedded, again.reused, again.missing(["a", "z"])) == (1, 2, 1)
    assert again.embed_passages([]).shape == (0, 64)


def test_two_processes_may_fill_one_cache(tmp_path: Path) -> None:
    script = (
        "import sys; from pathlib import Path; from enrich.embedders import load;"
        "from evals.vector_cache import CachedEmbedder;"
        "e = CachedEmbedder(load('hashing:64'), Path(sys.argv[1]));"
        "[e.embed_passages([f'{sys.argv[2]} {n}', f'both {n}']) for n in range(60)]"
    )
    runs = [
        subprocess.Popen([sys.executable, "-c", script, str(tmp_path), name], env=os.environ)
        for name in ("one", "two")
    ]
    assert [run.wait(timeout=120) for run in runs] == [0, 0]
    model = Counting()
    cached = CachedEmbedder(model, tmp_path)
    texts = [f"{name} {n}" for name in ("one", "two", "both") for n in range(60)]
    found = cached.embed_passages(texts)
    assert model.texts == []
    assert np.array_equal(found, load("hashing:64").embed_passages(texts))


def test_what_a_killed_process_left_half_written_is_cut_off(tmp_path: Path) -> None:
    key, other = cache_key(PASSAGE, "a"), cache_key(PASSAGE, "b")
    cache = VectorCache(tmp_path, 2)
    cache.add([key], np.array([[1, 2]], dtype=np.float32))
    with (tmp_path / "vectors.bin").open("ab") as file:
        file.write(b"\x00" * 8)  # a vector whose key was never written
    with (tmp_path / "keys.bin").open("ab") as file:
        file.write(b"\x01" * 5)
    again = VectorCache(tmp_path, 2)
    again.add([other], np.array([[3, 4]], dtype=np.float32))
    for opened in (again, VectorCache(tmp_path, 2), cache):
        opened.add([], np.zeros((0, 2), dtype=np.float32))
        found = opened.get([key, other])
        assert [vector is not None and vector.tolist() for vector in found] == [[1, 2], [3, 4]]


def test_a_scratch_database_goes_also_when_the_measurement_fails(database: str) -> None:
    with pytest.raises(RuntimeError), scratch_store(database) as store:
        assert scratch_databases(database)
        assert store.url != database
        raise RuntimeError
    assert scratch_databases(database) == []


def test_what_killed_processes_left_is_swept_and_what_others_use_is_not(database: str) -> None:
    dead = subprocess.Popen([sys.executable, "-c", ""])
    dead.wait()
    left, used = f"{PREFIX}{dead.pid}_ab", f"{PREFIX}{os.getppid()}_cd"
    with psycopg.connect(database, autocommit=True) as connection:
        for name in (left, used):
            connection.execute(f"create database {name}")  # type: ignore[arg-type]
        with scratch_store(database, sweep=True):
            rows = connection.execute("select datname from pg_database").fetchall()
        connection.execute(f"drop database {used}")  # type: ignore[arg-type]
    names = {name for (name,) in rows}
    assert left not in names
    assert used in names


# Floors and the page.


def test_floors_name_sets_and_measures_and_say_what_is_below() -> None:
    report = {"recall@10": 0.5, "hybrid": {"recall@10": 0.9}, "tags": {"vi": {"recall@10": 0.2}}}
    floors = [
        Floor(set="s", model="e5", segment="all questions", measure="recall@10", least=0.4),
        Floor(set="s", model="e5", segment="all questions", measure="hybrid recall@10", least=0.95),
        Floor(set="s", model="e5", segment="en", measure="recall@10", least=0.1),
        Floor(set="not measured", model="e5", segment="vi", measure="recall@10", least=1.0),
    ]
    assert below_floors({("s", "e5"): report}, floors) == [
        "s with e5, all questions: hybrid recall@10 0.900 is below 0.950",
        "s with e5, en: recall@10 is missing",
    ]
    assert read_floors()


@pytest.mark.usefixtures("here")
def test_the_page_is_written_with_its_charts(
    a_set: tuple[str, ...], golden: Path, tmp_path: Path
) -> None:
    figures = {
        ("tiny", "hashing:64"): last_line(call(*a_set, "--json")),
        ("examples", "hashing:64"): last_line(call(golden, "--json")),
    }
    page = tmp_path / "docs" / "quality.md"
    page.parent.mkdir()
    write_page(page, figures, "2026-11-30")
    text = page.read_text(encoding="utf-8")
    assert "## With the model `hashing:64`" in text
    assert "| tiny | 4 |" in text
    for chart in ("hashing-64.svg", "hashing-64-examples.svg"):
        assert f"(quality/{chart})" in text
        assert (page.with_suffix("") / chart).read_text(encoding="utf-8").startswith("<svg")


@pytest.mark.usefixtures("here")
def test_the_quality_command_measures_sets_of_cases_and_leaves_out_what_costs_too_much(
    a_set: tuple[str, ...],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    folder = tmp_path / "cases" / "retrieval" / "tiny"
    folder.mkdir(parents=True)
    for place, name in ((1, "docs"), (3, "queries.dev"), (5, "qrels.dev")):
        (folder / f"{name}.jsonl").write_bytes(Path(a_set[place]).read_bytes())
    page = tmp_path / "quality.md"
    command = [
        "quality",
        "--cases",
        str(tmp_path / "cases"),
        "--sets",
        "tiny",
        "--write",
        str(page),
    ]
    monkeypatch.setattr(sys, "argv", [*command, "--models", "hashing:64"])
    assert retrieval_quality.main() == 0
    assert "| tiny | 4 |" in page.read_text(encoding="utf-8")
    monkeypatch.setattr(sys, "argv", [*command, "--models", "hashing:32"])
    monkeypatch.setattr(retrieval_quality, "FEW", 0)
    assert retrieval_quality.main() == 0
    assert "left out" in capsys.readouterr().out


def test_missing_embeddings_are_those_that_a_measurement_makes(
    a_set: tuple[str, ...], database: str, tmp_path: Path
) -> None:
    found = read_benchmark(*(Path(a_set[place]) for place in (1, 3, 5)))
    embedder = CachedEmbedder(load("hashing:64"), tmp_path / "fresh")
    before = count_missing(found, embedder, Recipe())
    with scratch_store(database) as store:
        chunks = fill(store, found, embedder, StageProgress(shown=False))
    assert before == len(chunks)
    assert count_missing(found, embedder, Recipe()) == 0


def test_sources_of_settings_are_indexed_without_prefect(database: str, tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "a.md").write_text("# Terms\n\nTen days.\n")
    (tmp_path / "mucluc.toml").write_text(
        '[[tenants]]\nname = "acme"\n[[tenants.sources]]\nname = "docs"\npath = "docs"\nacl = "role:staff"\n'
    )
    settings = Settings.load(tmp_path / "mucluc.toml")
    with open_store(database, SECRET) as store:
        assert sync_sources(store, settings, load("hashing:64"), now=NOW) == 1
        assert sync_sources(store, settings, load("hashing:64"), now=NOW) == 0
