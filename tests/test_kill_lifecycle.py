"""Kill backfill, promote, rollback and gc after any commit, and run them again: nothing differs (I8)."""

from __future__ import annotations

import os
import random
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import psycopg
import pytest
from conftest import SECRET
from psycopg.sql import Composable
from syncs import NOW, backfill, collect, content, promote, rows, search, sync

from flows.swapping import run_rollback
from store import embedded
from store.database import Store, open_store
from store.errors import LockHeldError

LATER = NOW + timedelta(days=10)
PREPARED = "kill_prepared"
COPY = "kill_copy"

Job = Callable[[Store], Any]


def filled(store: Store, docs: Path) -> None:
    """A small index with a history."""
    sync(store, docs)
    (docs / "n0.md").write_text("# Note 0\n\nCode N-900 stands for number 0 now.\n")
    (docs / "n1.md").write_text("---\ntitle: Other\n---\n" + (docs / "n1.md").read_text())
    (docs / "n2.md").unlink()
    sync(store, docs, now=LATER)


def built(store: Store, docs: Path) -> None:
    filled(store, docs)
    backfill(store, model="hashing:32", now=LATER)


def caught_up_in_promote(store: Store, docs: Path) -> None:
    """A version that lacks what came after its backfill."""
    built(store, docs)
    with store.pool.connection() as connection:
        connection.execute(
            "delete from mucluc.published where version_id = 2 and document_id in"
            " (select id from mucluc.document where uri = 'n3.md')"
        )


def swapped(store: Store, docs: Path) -> None:
    built(store, docs)
    promote(store, "v2")


def past_its_time(store: Store, docs: Path) -> None:
    swapped(store, docs)
    with store.pool.connection() as connection:
        connection.execute(
            "update mucluc.promotion set promoted_at = promoted_at - interval '8 days'"
        )
        connection.execute(
            "update mucluc.index_version set created_at = created_at - interval '9 days'"
        )
        connection.execute(
            "update mucluc.document set deleted_at = now() - interval '31 days'"
            " where deleted_at is not null"
        )


def with_old_history(store: Store, docs: Path) -> None:
    filled(store, docs)
    with store.pool.connection() as connection:
        connection.execute("update mucluc.revision set seen_on = seen_on - 60")
        connection.execute("select mucluc.refresh_validity(array(select id from mucluc.document))")


JOBS: dict[str, tuple[Callable[[Store, Path], None], Job, Job]] = {
    # What is there before, the job, and whether it is done (so that a person stops repeating it).
    "backfill": (
        filled,
        lambda store: backfill(store, model="hashing:32", now=LATER, limits={"batch_documents": 2}),
        lambda store: False,
    ),
    "promote": (
        caught_up_in_promote,
        lambda store: promote(store, "v2"),
        lambda store: active(store) == 2,
    ),
    "rollback": (
        swapped,
        lambda store: run_rollback(store, "main"),
        lambda store: active(store) == 1,
    ),
    "gc": (past_its_time, collect, lambda store: False),
    "history": (
        with_old_history,
        lambda store: collect(store, keep_history_days=7),
        lambda store: False,
    ),
}


def active(store: Store) -> int:
    return int(
        rows(store, "select version_id from mucluc.alias where name = 'active'")[0]["version_id"]
    )


def state(url: str) -> dict[str, Any]:
    """Everything that a job may leave."""
    with open_store(url, SECRET, max_connections=2) as store:
        found = content(store)
        found["versions"] = rows(
            store, "select id, name, state, hot_from from mucluc.index_version order by id"
        )
        found["indexes"] = rows(
            store,
            "select c.relname, x.indisvalid from pg_index x join pg_class c on c.oid = x.indexrelid"
            " where c.relname like 'entry\\_%%' order by 1",
        )
        found["promotions"] = rows(
            store, "select to_version, alias, kind, passed from mucluc.promotion order by id"
        )
    return found


@contextmanager
def at_each_commit(call: Callable[[], None]) -> Iterator[None]:
    """Call after each commit of a writing transaction, and each statement that commits itself."""
    honest_transaction, honest_execute = Store.transaction, psycopg.Connection.execute

    @contextmanager
    def transaction(self: Store, run_id: int | None = None) -> Iterator[Any]:
        with honest_transaction(self, run_id) as connection:
            yield connection
        call()

    def execute(self: psycopg.Connection[Any], query: Any, *args: Any, **more: Any) -> Any:
        found = honest_execute(self, query, *args, **more)
        if self.autocommit:
            text = query.as_string(self) if isinstance(query, Composable) else str(query)
            if text.startswith(("create index", "alter", "drop")):
                call()
        return found

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Store, "transaction", transaction)
        patch.setattr(psycopg.Connection, "execute", execute)
        yield


def count_commits(url: str, job: Job) -> int:
    commits: list[int] = []
    with (
        open_store(url, SECRET, max_connections=4) as store,
        at_each_commit(lambda: commits.append(1)),
    ):
        job(store)
    return len(commits)


def kill_after(url: str, job: Job, moment: int) -> None:
    """Run a job in a process of its own that is killed right after its n-th commit."""
    child = os.fork()
    if child == 0:
        commits: list[int] = []

        def die() -> None:
            commits.append(1)
            if len(commits) == moment:
                os.kill(os.getpid(), signal.SIGKILL)

        try:
            with open_store(url, SECRET, max_connections=4) as store, at_each_commit(die):
                job(store)
        finally:
            os._exit(1)  # it should not have come this far
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == -signal.SIGKILL


def run_again(url: str, job: Job, done: Job) -> None:
    """The same command, as soon as the dead process's lock is gone."""
    for _ in range(100):
        try:
            with open_store(url, SECRET, max_connections=4) as store:
                if not done(store):
                    job(store)
            return
        except LockHeldError:
            time.sleep(0.1)
    raise AssertionError("the lock of a dead process stays")


@pytest.mark.parametrize(
    "every", [False, pytest.param(True, marks=pytest.mark.slow)], ids=["some", "every"]
)
@pytest.mark.parametrize("name", JOBS)
def test_i8_killed_after_any_commit_the_next_run_ends_in_the_same_state(
    server: str, tmp_path: Path, name: str, every: bool
) -> None:
    prepare, job, done = JOBS[name]
    docs = tmp_path / "docs"
    docs.mkdir()
    for n in range(5):
        (docs / f"n{n}.md").write_text(
            f"# Note {n}\n\nCode N-{n:03} stands for {n}.\n\n## More\n\nClause {n * 7}.\n"
        )
    prepared, copied = f"{PREPARED}_{name}", f"{COPY}_{name}"
    _make(server, prepared, "fresh")
    with open_store(embedded.beside(server, prepared), SECRET, max_connections=4) as store:
        prepare(store, docs)
    url = embedded.beside(server, copied)
    _make(server, copied, prepared)
    commits = count_commits(url, job)
    expected = state(url)
    seed = random.randrange(1_000_000)
    moments = range(1, commits + 1)
    chosen = moments if every else random.Random(seed).sample(moments, min(4, commits))
    for moment in chosen:
        told = f"seed {seed}, killed after commit {moment} of {commits}"
        _make(server, copied, prepared)
        kill_after(url, job, moment)
        run_again(url, job, done)
        found = state(url)
        for table, wanted in expected.items():
            assert found[table] == wanted, f"{told}: {table} differs"
    with open_store(url, SECRET, max_connections=2) as store:
        assert search(store, "N-003", as_of=LATER.date())[0].uri == "n3.md"
    for database in (copied, prepared):
        _drop(server, database)


def _make(server: str, name: str, template: str) -> None:
    _drop(server, name)
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f"create database {name} template {template}")  # type: ignore[arg-type]


def _drop(server: str, name: str) -> None:
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f"drop database if exists {name} with (force)")  # type: ignore[arg-type]
