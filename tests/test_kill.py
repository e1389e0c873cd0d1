"""Kill it at any point and run it again: the database is that of a run nobody disturbed (I8)."""

from __future__ import annotations

import os
import random
import shutil
import signal
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import psycopg
import pytest
from commands import PATIENCE, environment, last_line, mucluc, servers_of, start
from conftest import SECRET
from syncs import content, rows, sync

from store import embedded
from store.database import Store, open_store
from store.runs import open_run
from store.sql import query
from store.versions import refresh_statistics

FILES = 60
WRITTEN = ("parse", "chunk", "context", "embedding_memo", "published")
SETTINGS = """
timezone = "{zone}"

[recipe]
model = "hashing:64"

[limits]
batch_documents = 8

[[tenants]]
name = "acme"
[[tenants.sources]]
name = "docs"
path = "docs"
acl = ["role:staff"]
[[tenants.sources]]
name = "more"
path = "more"
acl = ["role:staff"]
"""


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A folder with settings, two sources, and a day that does not end while the test runs."""
    docs, more = tmp_path / "docs", tmp_path / "more"
    docs.mkdir()
    more.mkdir()
    for n in range(FILES):
        (docs / f"note-{n}.md").write_text(
            f"# Note {n}\n\n## Terms\n\nNumber {n} names ERR_{n}021.\n\n"
            f"## Remarks\n\nClause {n % 7} holds for {n * 3} days.\n"
        )
        (more / f"memo-{n}.md").write_text(f"# Memo {n}\n\nMemo {n} names MEM_{n}021.\n")
    (docs / "prices.csv").write_text(
        "code,item,price\n" + "".join(f"BH-{n},pump {n},{n}.500.000\n" for n in range(200))
    )
    at_noon = datetime.now(UTC).hour - 12  # POSIX names zones by what they lack to UTC
    (tmp_path / "mucluc.toml").write_text(SETTINGS.format(zone=f"Etc/GMT{at_noon:+d}"))
    return tmp_path


@pytest.fixture
def databases(server: str) -> Iterator[Any]:
    """Makes fresh databases on the tests' server and drops them in the end."""
    made: list[str] = []

    def make() -> str:
        name = f"killed_{len(made)}"
        with psycopg.connect(server, autocommit=True) as connection:
            connection.execute(f"drop database if exists {name} with (force)")  # type: ignore[arg-type]
            connection.execute(f"create database {name} template fresh")  # type: ignore[arg-type]
        made.append(name)
        return embedded.beside(server, name)

    yield make
    with psycopg.connect(server, autocommit=True) as connection:
        for name in made:
            connection.execute(f"drop database if exists {name} with (force)")  # type: ignore[arg-type]


def written(url: str) -> int:
    """Rows of the stage tables, as committed; 0 before there is a database."""
    counts = " + ".join(f"(select count(*) from mucluc.{table})" for table in WRITTEN)
    with suppress(psycopg.Error), psycopg.connect(url) as connection:
        row = connection.execute(f"select {counts}").fetchone()  # type: ignore[arg-type]
        return int(row[0]) if row else 0
    return 0


def contents(url: str) -> dict[str, list[Any]]:
    with open_store(url, SECRET, max_connections=2) as store:
        return content(store)


@pytest.mark.slow
def test_i8_killed_at_five_random_moments_the_next_run_completes_it(
    place: Path, databases: Any
) -> None:
    home = place / "home"
    undisturbed = databases()
    command = ("sync", "--source", "docs", "--json")
    first = mucluc(*command, env=environment(home, DATABASE_URL=undisturbed), cwd=place)
    assert first.returncode == 0, first.stderr
    whole = last_line(first)
    expected, total = contents(undisturbed), written(undisturbed)
    seed = random.randrange(1_000_000)
    moments = random.Random(seed)
    for _ in range(5):
        url = databases()
        env = environment(home, DATABASE_URL=url)
        moment = moments.randint(1, total - 1)
        told = f"seed {seed}, at {moment} of {total} rows"
        process = start(*command, env=env, cwd=place)
        deadline = time.monotonic() + PATIENCE
        with psycopg.connect(url, autocommit=True) as connection:
            counts = " + ".join(f"(select count(*) from mucluc.{table})" for table in WRITTEN)
            while process.poll() is None and time.monotonic() < deadline:
                row = connection.execute(f"select {counts}").fetchone()  # type: ignore[arg-type]
                if row and row[0] >= moment:
                    break
        process.send_signal(signal.SIGKILL)
        process.communicate(timeout=PATIENCE)
        assert process.returncode == -signal.SIGKILL, told
        with open_store(url, SECRET, max_connections=2) as store:
            _wait_for_the_dead(store)
            kept = rows(store, "select count(*) as n from mucluc.embedding_memo")[0]["n"]
            assert [r["state"] for r in rows(store, "select state from mucluc.run")] == ["running"]
        again = mucluc(*command, env=env, cwd=place)
        assert again.returncode == 0, f"{told}: {again.stderr}"
        assert "Traceback" not in again.stderr
        found = contents(url)
        assert found.keys() == expected.keys()
        for table, wanted in expected.items():
            assert found[table] == wanted, f"{told}: {table} differs"
        assert last_line(again)["embedded"] == whole["embedded"] - kept, told
        with open_store(url, SECRET, max_connections=2) as store:
            ended = rows(store, "select state from mucluc.run order by id")
            assert [row["state"] for row in ended] == ["lost", "done"], told
    assert servers_of(home) == [], "the killed runs' servers must end with the next run"


def _wait_for_the_dead(store: Store) -> None:
    """Until the backends of the killed process have seen that it is gone."""
    for _ in range(100):
        left = rows(
            store,
            "select pid from pg_stat_activity where datname = current_database()"
            " and application_name like 'mucluc%%' and pid <> pg_backend_pid()"
            " and query_start < now() - interval '1 second' and state <> 'idle'",
        )
        locks = rows(
            store,
            "select l.pid from pg_locks l join pg_stat_activity a using (pid)"
            " where l.locktype = 'advisory' and a.datname = current_database()",
        )
        if not left and not locks:
            return
        time.sleep(0.1)


@pytest.mark.slow
def test_i8_a_database_killed_in_the_middle_fails_the_run_in_words_and_the_next_completes_it(
    place: Path, databases: Any
) -> None:
    undisturbed = databases()
    command = ("sync", "--source", "docs", "--json")
    # Not below pytest's own folder, which as root is closed to the server's user.
    home = Path(tempfile.mkdtemp(prefix="mucluc-kill-"))
    first = mucluc(*command, env=environment(home, DATABASE_URL=undisturbed), cwd=place)
    assert first.returncode == 0, first.stderr
    env = environment(home)
    process = start(*command, env=env, cwd=place)
    deadline = time.monotonic() + PATIENCE
    postmaster: list[str] = []
    while process.poll() is None and time.monotonic() < deadline:
        with suppress(OSError, IndexError):
            postmaster = (home / "postgres" / "postmaster.pid").read_text().splitlines()
            if written(f"postgresql://postgres@/mucluc?host={postmaster[4]}") > 0:
                break
    os.kill(int(postmaster[0]), signal.SIGKILL)
    out, err = process.communicate(timeout=600)
    assert process.returncode == 1, err
    assert out == ""
    assert "Error:" in err
    assert "Traceback" not in err
    again = mucluc(*command, env=env, cwd=place)
    assert again.returncode == 0, again.stderr
    assert "Traceback" not in again.stderr
    expected = contents(undisturbed)
    assert servers_of(home) == []
    url = embedded.start(home / "postgres")
    try:
        assert contents(url) == expected
    finally:
        embedded.stop(home / "postgres")
    shutil.rmtree(home, ignore_errors=True)


@pytest.mark.slow
def test_two_runs_of_a_source_exclude_each_other_and_of_two_sources_do_not(
    place: Path, databases: Any
) -> None:
    home, url = place / "home", databases()
    env = environment(home, DATABASE_URL=url)
    # Together also where nobody has made Prefect's tables yet, which holds the others up.
    first = [start("sync", "--source", "more", "--json", env=env, cwd=place) for _ in range(3)]
    told = [process.communicate(timeout=PATIENCE) for process in first]
    assert {0} <= {process.returncode for process in first} <= {0, 4}, told
    rivals = [start("sync", "--source", "docs", "--json", env=env, cwd=place) for _ in range(2)]
    other = start("sync", "--source", "more", "--json", env=env, cwd=place)
    ended = [process.communicate(timeout=PATIENCE) for process in (*rivals, other)]
    assert sorted(process.returncode for process in rivals) == [0, 4], ended
    assert other.returncode == 0, ended
    assert all("Traceback" not in err for _, err in ended)
    in_turn = databases()
    done = mucluc("sync", "--json", env=environment(home, DATABASE_URL=in_turn), cwd=place)
    assert done.returncode == 0, done.stderr
    assert contents(url) == contents(in_turn)
    assert servers_of(home) == []


def test_who_counts_document_frequencies_waits_for_writers_side_by_side(
    store: Store, place: Path
) -> None:
    """Else the last entries of one source's run stay uncounted when another's ends just then."""
    sync(store, place / "docs")
    run = open_run(store, kind="sync", lock_key="sync:acme:more", tenant="acme", source="more")
    values = {"version": 1, "tenant": "acme"}
    with store.transaction() as connection:
        connection.execute(query("mark_statistics_stale"), values)  # a writer before us
    counted: list[bool] = []
    counter = threading.Thread(
        target=lambda: counted.append(refresh_statistics(store, run.id, 1, "acme"))
    )
    with store.transaction() as writer:
        writer.execute(query("mark_statistics_stale"), values)
        writer.execute("update mucluc.entry set len = len + 1")
        counter.start()
        counter.join(0.5)
        assert counter.is_alive(), "it counted without the writer's entries"
    counter.join(30)
    assert counted == [True]
    total = rows(
        store,
        "select s.total_len = (select sum(len) from mucluc.entry) as right from"
        " mucluc.version_stat s",
    )
    assert total == [{"right": True}]
    with store.transaction() as connection:  # and a writer after it marks anew
        connection.execute(query("mark_statistics_stale"), values)
    assert rows(store, "select stale from mucluc.version_stat") == [{"stale": True}]
    run.release()


@pytest.mark.slow
@pytest.mark.parametrize("presses", [1, 2])
def test_i8_a_backfill_that_is_interrupted_says_so_and_the_same_command_goes_on(
    place: Path, databases: Any, presses: int
) -> None:
    home, url = place / "home", databases()
    env = environment(home, DATABASE_URL=url)
    assert mucluc("sync", "--json", env=env, cwd=place).returncode == 0
    command = ("backfill", "--set", "embedding.model=hashing:48", "--name", "v7", "--json")
    before = written(url)
    process = start(*command, env=env, cwd=place)
    deadline = time.monotonic() + PATIENCE
    while written(url) <= before and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    if presses == 2:
        assert process.stderr is not None
        said = process.stderr.readline()  # it heard the first
        process.send_signal(signal.SIGINT)
    else:
        said = ""
    out, err = process.communicate(timeout=PATIENCE)
    err = said + err
    assert process.returncode == 130, (process.returncode, out, err)
    assert out == ""
    assert err.startswith("Stopping after the piece of work in hand")
    assert "Traceback" not in err
    assert "EventsWorker" not in err
    assert "Run the same command again" in err
    listed = last_line(mucluc("versions", "--runs", "--json", env=env, cwd=place))
    # Pressed twice it ends without a word to the database, unless it was ending already.
    assert listed["runs"][0]["state"] in ({"interrupted"}, {"lost", "interrupted"})[presses - 1]
    with psycopg.connect(url) as connection:
        state = connection.execute("select state from mucluc.index_version where name = 'v7'")
        assert state.fetchone() == ("building",)
    again = mucluc(*command, env=env, cwd=place)
    assert again.returncode == 0, again.stderr
    assert last_line(again)["missing"] == 0
    swapped = mucluc("promote", "v7", env=env, cwd=place)
    assert swapped.returncode == 0, swapped.stderr
    assert 'Write model = "hashing:48"' in swapped.stderr
    assert servers_of(home) == []
