"""Golden questions in the database, and the gate that asks them before a swap."""

from __future__ import annotations

import itertools
import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import psycopg
import pytest
from commands import last_line
from conftest import SECRET
from syncs import NOW, backfill, promote, rows, sync
from typer.testing import CliRunner, Result

from enrich.contextualize import ContextInput
from enrich.models import EmbeddingFailed, ModelUnavailable
from evals.golden import GoldenQuestion, GoldenSource
from evals.golden_file import read_golden
from evals.interleaved import run_interleaved
from flows import answering, judging, lanes, portions
from flows.answering import Asking
from flows.cli import app
from flows.promotion_page import as_html, as_markdown
from flows.registering import NotAPrincipal, register
from search.request import Candidate, RetrievalPolicy, SearchRequest, SearchTrace
from store import embedded, golden
from store.database import Store, open_store
from store.errors import StoreError
from store.places import keyed_hash
from store.versions import active_version

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"
DAY = NOW.date()
_numbers = itertools.count(1)


def note(n: int) -> str:
    words = " ".join(f"word{n * 7 + k}" for k in range(6))
    return f"# Note {n}\n\nCode N-{n:03} stands for {words}.\n\n## More\n\nClause {n} {words}.\n"


@contextmanager
def copied(server: str, template: str) -> Iterator[str]:
    """URL of a database that begins as another one."""
    name = f"golden_{next(_numbers)}"
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f"create database {name} template {template}")  # type: ignore[arg-type]
    yield embedded.beside(server, name)
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f"drop database if exists {name} with (force)")  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def ground(server: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Path]]:
    """A database of notes with a second version, complete and not yet active; and the notes."""
    docs = tmp_path_factory.mktemp("ground") / "docs"
    docs.mkdir()
    for n in range(24):
        (docs / f"n{n}.md").write_text(note(n))
    with copied(server, "fresh") as url:
        with open_store(url, SECRET, max_connections=4) as store:
            sync(store, docs)
            assert backfill(store, model="hashing:32", name="v7").missing == 0
        yield url, docs


@pytest.fixture
def database(server: str, ground: tuple[str, Path]) -> Iterator[str]:
    """The notes' database, for one test."""
    with copied(server, Path(urlsplit(ground[0]).path).name) as url:
        yield url


@pytest.fixture
def built(store: Store) -> Store:
    """The notes' database, opened."""
    return store


@pytest.fixture
def docs(ground: tuple[str, Path]) -> Iterator[Path]:
    """The notes' folder, put back as it was."""
    yield ground[1]
    shutil.rmtree(ground[1])
    ground[1].mkdir()
    for n in range(24):
        (ground[1] / f"n{n}.md").write_text(note(n))


@pytest.fixture
def bare(server: str) -> Iterator[Store]:
    """A database without a document."""
    with copied(server, "fresh") as url, open_store(url, SECRET, max_connections=4) as store:
        yield store


def asked(n: int, **values: Any) -> GoldenQuestion:
    known: dict[str, Any] = {
        "id": f"q{n:02}", "query": f"what does N-{n:03} stand for?", "tenant": "acme",
        "principals": ("role:staff",), "as_of": DAY, "tags": ("codes",), "language": "en",
        "expected": (GoldenSource(uri=f"n{n}.md", quote=f"Code N-{n:03} stands for"),),
    }  # fmt: skip
    return GoldenQuestion(**(known | values))


ALL = [asked(n) for n in range(24)]


def active(store: Store) -> str:
    version = active_version(store, "main")
    assert version is not None
    return version.name


def states(store: Store) -> dict[str, str]:
    return {row.name: row.state for row in golden.registered(store, "main")}


def drop_entries(store: Store, names: int) -> None:
    """Let v7 lose what it holds of the first notes."""
    with store.pool.connection() as connection:
        connection.execute(
            "delete from mucluc.entry e using mucluc.document d, mucluc.index_version v"
            " where d.id = e.document_id and v.id = e.version_id and v.name = 'v7'"
            " and d.uri = any(select 'n' || n || '.md' from generate_series(0, %s) n)",
            [names - 1],
        )


# A version that is worse on purpose.


def backfill_without_titles(store: Store, **asked: Any) -> None:
    """Build v9 as a slip in the stages would: contexts and full text of chunks without titles."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(portions, "ContextInput", lambda **_values: ContextInput())
        assert backfill(store, name="v9", **asked).missing == 0
    with store.pool.connection() as connection:
        # The full text would say the titles that a context left out.
        connection.execute(
            "update mucluc.entry e set tsv = l.tsv, len = mucluc.lexeme_count(l.tsv)"
            " from mucluc.chunk c, mucluc.index_version v, lateral ("
            "   select mucluc.entry_lexemes('', null, '{}', c.text) as tsv) l"
            " where c.id = e.chunk_id and v.id = e.version_id and v.name = 'v9'"
        )
        connection.execute("update mucluc.version_stat set stale = true")


PUMPS = (
    "Aurora", "Birch", "Cobalt", "Delta", "Ember", "Falcon", "Granite", "Harbor", "Indigo",
    "Juniper", "Kestrel", "Lagoon", "Maple", "Nimbus", "Onyx", "Pearl", "Quartz", "Raven",
    "Saffron", "Tundra", "Umber", "Vesper", "Willow", "Zephyr",
)  # fmt: skip


def test_a_version_without_titles_is_refused_by_evaluation(bare: Store, tmp_path: Path) -> None:
    """Sheets that say in their title alone whose they are, as sheets do."""
    folder = tmp_path / "sheets"
    folder.mkdir()
    for n, name in enumerate(PUMPS):
        (folder / f"{n}.md").write_text(
            f"---\ntitle: {name} pump\n---\n## Warranty\n\nThe warranty runs for {n + 7} months"
            " from the day of delivery.\n"
        )
    sync(bare, folder)
    backfill_without_titles(bare, model="hashing:48")
    backfill(bare, model="hashing:56", name="v8")
    questions = [
        asked(
            n,
            query=f"how long does the warranty of the {name} pump run?",
            tags=("warranty",),
            expected=(GoldenSource(uri=f"{n}.md", quote=f"runs for {n + 7} months"),),
        )
        for n, name in enumerate(PUMPS)
    ]
    register(bare, "main", questions)
    report = promote(bare, "v9")
    assert (report.refused_by, report.exit_code, report.promoted) == (["evaluation"], 5, False)
    assert "warranty: recall@10 fell from 1.000" in report.gates["evaluation"]["words"]
    assert active(bare) == "v1"
    assert promote(bare, "v8").promoted


@pytest.mark.slow
def test_titles_are_missed_in_the_example_documents_too(bare: Store) -> None:
    """By the default model: hashed words put into 64 numbers are too blunt to miss them there."""
    sync(bare, EXAMPLES / "documents" / "acme", acl=(), model="e5")
    backfill_without_titles(bare, model="e5", context_reserve=95)
    backfill(bare, model="e5", context_reserve=94, name="v8")
    kinds = {"as_of", "policy"}
    chosen = [
        question
        for question in read_golden(EXAMPLES / "golden.jsonl")
        if kinds & set(question.tags) and question.tenant == "acme"
    ]
    register(bare, "main", chosen)
    report = promote(bare, "v9")
    assert (report.refused_by, report.exit_code) == (["evaluation"], 5)
    gate = report.gates["evaluation"]
    assert gate["asked"] == gate["registered"] == len(chosen)
    fallen = {d["segment"] for d in gate["differences"] if d["n"] >= 20 and d["high"] < 0}
    assert "as_of" in fallen
    report = promote(bare, "v8")
    assert (report.refused_by, report.gates["evaluation"]["lost"]) == ([], [])


# The gate.


def test_a_version_that_answers_as_well_becomes_active(built: Store) -> None:
    register(built, "main", ALL)
    report = promote(built, "v7")
    gate = report.gates["evaluation"]
    assert (report.promoted, gate["passed"]) == (True, True)
    assert (gate["asked"], gate["gone"], gate["voided"], gate["lost"]) == (24, 0, 0, [])
    assert {d["segment"] for d in gate["differences"]} >= {"all questions", "codes", "language: en"}
    (row,) = rows(built, "select gates from mucluc.promotion where kind = 'promote'")
    assert row["gates"]["evaluation"] == gate


def test_a_clear_fall_is_refused_and_can_be_forced_with_a_reason_that_is_kept(built: Store) -> None:
    register(built, "main", ALL)
    drop_entries(built, 12)
    report = promote(built, "v7")
    assert "evaluation" in report.refused_by
    gate = report.gates["evaluation"]
    assert "codes: recall@10 fell from 1.000" in gate["words"]
    assert gate["lost"] == [f"q{n:02}" for n in range(12)]
    assert gate["advice"] == "keep the active one"
    assert active(built) == "v1"
    forced = promote(built, "v7", force=True, reason="the old model's host closes")
    assert (forced.promoted, forced.forced) == (True, True)
    (row,) = rows(built, "select * from mucluc.promotion where kind = 'promote'")
    assert (row["forced"], row["reason"]) == (True, "the old model's host closes")
    assert row["gates"]["evaluation"]["passed"] is False


def test_few_lost_questions_are_listed_and_do_not_refuse(built: Store) -> None:
    register(built, "main", ALL)
    drop_entries(built, 1)
    gate = promote(built, "v7").gates["evaluation"]
    assert (gate["passed"], gate["lost"]) == (True, ["q00"])
    assert "1 question finds less within ten results" in gate["warnings"]


def test_too_few_questions_say_so(built: Store) -> None:
    register(built, "main", ALL[:5])
    gate = promote(built, "v7").gates["evaluation"]
    assert gate["passed"]
    assert "5 questions, fewer than 20" in gate["words"]


def test_a_slower_p95_warns_and_refuses_only_where_the_settings_say(built: Store) -> None:
    register(built, "main", ALL)
    loose = Asking(latency_ratio=1e6)
    gate = promote(built, "v7", alias="canary", asking=loose).gates["evaluation"]
    assert (gate["passed"], gate["warnings"]) == (True, [])
    # So low a bound is always passed, whatever the machine does.
    strict = Asking(latency_ratio=1e-6)
    gate = promote(built, "v7", alias="canary", asking=strict).gates["evaluation"]
    assert gate["passed"]
    assert "p95 is" in gate["warnings"][0]
    assert "warning: p95 is" in gate["words"]
    report = promote(built, "v7", asking=replace(strict, latency_refuses=True))
    assert report.refused_by == ["evaluation"]
    assert "p95 is" in report.gates["evaluation"]["words"]


def test_each_tenants_questions_see_their_own(built: Store, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    for n in range(3):
        (other / f"n{n}.md").write_text(note(n).replace("stands for", "is, at Globex,"))
    sync(built, other, tenant="globex", source="others")
    backfill(built, model="hashing:32", name="v7")
    theirs = [
        asked(
            n, id=f"g{n}", tenant="globex", tags=("globex",),
            expected=(GoldenSource(uri=f"n{n}.md", quote=f"N-{n:03} is, at Globex,"),),
        )
        for n in range(3)
    ]  # fmt: skip
    nobody = asked(5, id="x5", principals=("role:other",), tags=("nobody",))
    register(built, "main", [*ALL, *theirs, nobody])
    gate = promote(built, "v7").gates["evaluation"]
    after = {d["segment"]: d["after"] for d in gate["differences"] if d["measure"] == "recall@10"}
    assert (after["globex"], after["codes"], after["nobody"]) == (1, 1, 0)


def test_a_document_that_nobody_may_see_any_more_breaks_a_promise(built: Store) -> None:
    """must_not is asked too: hidden before, shown after, is refused by one question alone."""
    register(built, "main", [asked(3, expected=(), must_not=("n3.md",))])
    with built.pool.connection() as connection:
        connection.execute(
            "update mucluc.published set valid = 'empty' where version_id = 1 and document_id ="
            " (select id from mucluc.document where uri = 'n3.md')"
        )
    gate = promote(built, "v7").gates["evaluation"]
    assert gate["words"] == "q03: hidden no longer holds"


@pytest.mark.parametrize("model", ["hashing:32", "hashing:64"])
def test_a_model_that_cannot_be_loaded_is_refused_with_words(
    built: Store, model: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    register(built, "main", ALL)
    honest = answering.load

    def absent(name: str) -> Any:
        if name == model:
            raise ModelUnavailable("model_not_here", "install it")
        return honest(name)

    for module in (answering, judging, lanes):
        monkeypatch.setattr(module, "load", absent)
    report = promote(built, "v7")
    assert "evaluation" in report.refused_by
    assert "cannot be loaded here" in report.gates["evaluation"]["words"]
    assert model in report.gates["evaluation"]["words"]
    assert ("vectors" in report.refused_by) == (model == "hashing:32")


def test_a_search_that_lost_a_part_does_not_count_as_an_answer(
    built: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Half a search answers too, so that a dead model would look like an equal version."""
    register(built, "main", ALL)

    def broken(name: str) -> Any:
        raise EmbeddingFailed("host_down", transient=True)

    monkeypatch.setattr(answering, "_embedder", broken)
    report = promote(built, "v7")
    assert report.refused_by == ["evaluation"]
    assert "a part of 48 searches failed" in report.gates["evaluation"]["words"]


def test_a_question_that_no_search_answers_is_refused_by_its_code(
    built: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    register(built, "main", ALL)

    def fail(*_: Any, **__: Any) -> Any:
        raise StoreError("XX000")

    monkeypatch.setattr(answering, "retrieve", fail)
    report = promote(built, "v7")
    assert report.refused_by == ["evaluation"]
    assert "could not be answered at all (XX000)" in report.gates["evaluation"]["words"]


def test_versions_are_asked_in_turn() -> None:
    order: list[str | None] = []

    def look(
        request: SearchRequest, policy: RetrievalPolicy
    ) -> tuple[list[Candidate], SearchTrace]:
        order.append(request.version)
        return [], SearchTrace(version=request.version)

    found = run_interleaved(look, ALL[:4], RetrievalPolicy(), index="main", before="a", after="b")
    assert order[:2] == ["a", "b"]  # to warm up
    assert order[2:] == ["a", "b", "b", "a", "a", "b", "b", "a"]
    assert (found.before.version, found.after.version) == ("a", "b")


def test_i10_the_pages_show_segments_and_ids_and_no_text(built: Store) -> None:
    register(built, "main", ALL)
    drop_entries(built, 12)
    report = promote(built, "v7")
    for text in (as_markdown(report), as_html(report)):
        assert "codes" in text
        assert "q03" in text
        for word in ("n3.md", "Clause", "N-003", "role:staff", "stand for"):
            assert word not in text
    assert "| codes | recall@10 | 24 | 100.0 | 50.0 | -50.0 |" in as_markdown(report)
    assert as_html(report).count("<svg") == 3
    assert "codes: v1 100.0, v7 50.0" in as_html(report)


# Questions in the database.


def test_the_same_questions_again_change_nothing(built: Store) -> None:
    first = register(built, "main", ALL)
    before = rows(built, "select id, added_at from mucluc.golden order by id")
    again = register(built, "main", list(reversed(ALL)))
    assert (len(first.added), len(again.unchanged)) == (24, 24)
    assert (again.added, again.changed, again.gone) == ((), (), ())
    assert rows(built, "select id, added_at from mucluc.golden order by id") == before


def test_another_question_under_an_id_takes_its_place(built: Store) -> None:
    register(built, "main", ALL)
    found = register(built, "main", [replace(ALL[3], query="and N-003?")])
    assert found.changed == ("q03",)
    assert len(golden.registered(built, "main")) == 24
    (row,) = [row for row in golden.registered(built, "main") if row.name == "q03"]
    assert row.query == "and N-003?"


def test_an_index_has_questions_of_its_own(built: Store) -> None:
    register(built, "main", ALL[:3])
    register(built, "other", ALL[:2])
    assert golden.remove(built, "other", ["q00"]) == ["q00"]
    assert (golden.count(built, "main"), golden.count(built, "other")) == (3, 1)
    assert golden.remove(built, "main", None) == ["q00", "q01", "q02"]
    assert promote(built, "v7").gates["evaluation"]["skipped"]


def test_questions_of_deleted_documents_are_not_asked_and_are_counted(
    built: Store, docs: Path
) -> None:
    register(built, "main", ALL)
    (docs / "n4.md").unlink()
    sync(built, docs)
    assert [name for name, state in states(built).items() if state == "gone"] == ["q04"]
    gate = promote(built, "v7").gates["evaluation"]
    assert (gate["registered"], gate["asked"], gate["gone"]) == (24, 23, 1)
    assert "not asked: 1 gone" in gate["words"]
    (docs / "n4.md").write_text(note(4))
    sync(built, docs)
    assert set(states(built).values()) == {"asked"}


def test_a_question_follows_its_document_to_another_place(built: Store, docs: Path) -> None:
    register(built, "main", ALL)
    (docs / "old").mkdir()
    (docs / "n4.md").rename(docs / "old" / "n4.md")
    sync(built, docs)
    assert set(states(built).values()) == {"asked"}
    gate = promote(built, "v7").gates["evaluation"]
    recall = {d["segment"]: d["after"] for d in gate["differences"] if d["measure"] == "recall@10"}
    assert (gate["asked"], recall["codes"]) == (24, 1)


def words_of(store: Store) -> str:
    """Every word that the tables of golden questions hold."""
    return " ".join(
        str(row)
        for table in ("golden", "golden_source", "golden_document")
        for row in rows(store, f"select * from mucluc.{table}")
    )


def test_i9_an_erasure_voids_the_questions_of_its_documents_and_they_stay_void(
    built: Store,
) -> None:
    twin = asked(6, id="other-tenant", tenant="globex")
    guarded = asked(7, id="guard", must_not=("n6.md",))
    register(built, "main", [*ALL, twin, guarded])
    (row,) = rows(built, "select id from mucluc.document where uri = 'n6.md'")
    with built.transaction() as connection:
        assert golden.void(connection, [row["id"]], why="erased") == 2
    assert {name for name, state in states(built).items() if state == "voided"} == {"q06", "guard"}
    mine = rows(built, "select * from mucluc.golden where voided_at is not null order by name")
    assert [(row["query"], row["principals"], row["voided_why"]) for row in mine] == [
        (None, [], "erased")
    ] * 2
    left = words_of(built)
    assert left.count("N-006") == 2  # the other tenant's question and its quote
    gate = promote(built, "v7").gates["evaluation"]
    assert (gate["asked"], gate["voided"], gate["gone"]) == (23, 2, 1)
    again = register(built, "main", [*ALL, replace(guarded, query="reworded")])
    assert again.voided == ("q06", "guard")
    assert words_of(built).count("N-006") == 2
    assert "reworded" not in words_of(built)


def test_i9_places_and_whole_tenants_are_voided_where_no_document_is_left(built: Store) -> None:
    register(
        built, "main", [asked(3), asked(90), asked(91), asked(3, id="theirs", tenant="globex")]
    )
    with built.transaction() as connection:
        gone = golden.void(connection, [], why="erased", places=[("acme", "n90.md")])
        theirs = golden.void(connection, [], why="erased", tenant="globex")
    assert (gone, theirs) == (1, 1)
    assert states(built) == {"q03": "asked", "q90": "voided", "q91": "gone", "theirs": "voided"}


def test_i9_a_question_about_an_erased_place_is_not_taken(built: Store) -> None:
    digest = keyed_hash(built.keys.tombstone, "acme", "uri", b"n8.md")
    with built.pool.connection() as connection:
        connection.execute(
            "insert into mucluc.erasure (id, tenant, requester, reason)"
            " values (gen_random_uuid(), 'acme', 'r', 'x')"
        )
        connection.execute(
            "insert into mucluc.tombstone select 'acme', 'uri', 'k', %s, id from mucluc.erasure",
            [digest],
        )
    found = register(built, "main", [*ALL, asked(8, id="theirs", tenant="globex")])
    assert (found.erased, len(found.added)) == (("q08",), 24)
    assert "N-008" not in " ".join(
        row.query or "" for row in golden.registered(built, "main") if row.tenant == "acme"
    )


def test_where_no_question_is_left_to_ask_nothing_is_proven(built: Store) -> None:
    register(built, "main", [asked(90)])
    report = promote(built, "v7")
    assert report.refused_by == ["evaluation"]
    assert "mucluc golden add" in report.gates["evaluation"]["words"]


@pytest.mark.parametrize("role", ["mucluc_reader", "mucluc_search"])
@pytest.mark.parametrize("table", ["golden", "golden_source", "golden_document"])
def test_i5_no_role_but_the_pipelines_reads_golden_questions(
    built: Store, role: str, table: str
) -> None:
    with built.pool.connection() as connection:
        connection.execute(f"set local role {role}")  # type: ignore[arg-type]
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            connection.execute(f"select 1 from mucluc.{table}")  # type: ignore[arg-type]


def test_an_asker_who_is_no_principal_is_refused_by_the_questions_id(store: Store) -> None:
    with pytest.raises(NotAPrincipal) as refused:
        register(store, "main", [asked(1), asked(2, principals=("everybody",))])
    assert refused.value.question == "q02"
    assert golden.count(store, "main") == 0


# The command line.


def call(*arguments: str | Path) -> Result:
    return CliRunner().invoke(app, ["golden", *map(str, arguments)])


def write(path: Path, questions: list[GoldenQuestion]) -> Path:
    lines = [
        {
            "id": q.id, "query": q.query, "tenant": q.tenant, "principals": q.principals,
            "as_of": q.as_of.isoformat(), "tags": q.tags, "language": q.language,
            "expected": [{"uri": s.uri, "quote": s.quote} for s in q.expected],
        }
        for q in questions
    ]  # fmt: skip
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return path


@pytest.mark.usefixtures("here")
def test_the_command_adds_lists_and_removes(built: Store, tmp_path: Path) -> None:
    path = write(tmp_path / "golden.jsonl", [*ALL[:2], asked(90)])
    tried = call("add", path, "--dry-run", "--json")
    assert (tried.exit_code, last_line(tried)["added"]) == (0, 3)
    assert golden.count(built, "main") == 0
    done = call("add", path, "--json")
    assert last_line(done) == {
        "index": "main", "dry_run": False, "added": 3, "changed": 0, "unchanged": 0,
        "voided": [], "erased": [], "gone": ["q90"], "unheld": [],
    }  # fmt: skip
    assert "expected document is there: q90" in " ".join(done.output.split())
    assert last_line(call("add", path, "--json"))["unchanged"] == 3
    listed = last_line(call("list", "--json"))
    assert (listed["asked"], listed["gone"], listed["voided"]) == (2, 1, 0)
    assert [question["id"] for question in listed["questions"]] == ["q00", "q01", "q90"]
    assert "query" not in listed["questions"][0]
    assert last_line(call("list", "--json", "--words"))["questions"][0]["query"] == ALL[0].query
    assert "2 asked, 1 gone, 0 voided" in call("list").output
    assert last_line(call("remove", "q90", "--dry-run", "--json"))["removed"] == ["q90"]
    assert golden.count(built, "main") == 3
    assert last_line(call("remove", "q90", "--json"))["removed"] == ["q90"]
    assert last_line(call("remove", "--all", "--json"))["removed"] == ["q00", "q01"]
    assert "no golden question" in call("list").output


@pytest.mark.usefixtures("here")
def test_quotes_that_their_document_does_not_hold_are_named_and_taken(
    built: Store, tmp_path: Path
) -> None:
    held = ALL[0].expected[0]
    wrong = replace(ALL[1], expected=(replace(ALL[1].expected[0], quote="nobody wrote this"),))
    before = replace(ALL[2], as_of=date(1999, 1, 1))  # the first revision holds from ever on
    spaced = replace(ALL[0], expected=(replace(held, quote=held.quote.replace(" ", "\n ")),))
    path = write(tmp_path / "golden.jsonl", [spaced, wrong, before])
    for more in (("--dry-run",), ()):
        done = call("add", path, "--json", *more)
        assert (done.exit_code, last_line(done)["unheld"]) == (0, ["q01"])
    assert "no chunk of the document holds" in " ".join(done.stderr.split())
    assert "nobody wrote this" not in done.output
    assert golden.count(built, "main") == 3
    elsewhere = call("add", path, "--index", "empty", "--json")
    assert last_line(elsewhere)["unheld"] == []


@pytest.mark.usefixtures("here")
def test_questions_that_an_erasure_voided_end_an_add_with_3(built: Store, tmp_path: Path) -> None:
    path = write(tmp_path / "golden.jsonl", ALL[:3])
    call("add", path)
    (row,) = rows(built, "select id from mucluc.document where uri = 'n1.md'")
    with built.transaction() as connection:
        golden.void(connection, [row["id"]], why="erased")
    again = call("add", path, "--json")
    assert (again.exit_code, last_line(again)["voided"]) == (3, ["q01"])
    assert "q01" in again.output


@pytest.mark.usefixtures("here")
def test_wrong_use_is_said_in_words(tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.jsonl"
    wrong.write_text('{"id": "a"}\n')
    for arguments, said in (
        (("add", wrong), "line 1: no query"),
        (("add", write(tmp_path / "p.jsonl", [asked(1, principals=("all",))])), "principals[0]: a"),
        (("remove",), "name the questions, or say --all"),
        (("remove", "q1", "--all"), "not both"),
        (("remove", "q1"), "has no question q1"),
    ):
        done = call(*arguments)
        assert (done.exit_code, said in " ".join(done.output.split())) == (2, True), done.output
