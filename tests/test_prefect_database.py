"""Where Prefect keeps its runs: a database beside ours, made once, or a file where we may not."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from flows import prefect_env
from store import embedded
from store.prefect_database import NAME, begun, prepared


@pytest.fixture
def url(database: str) -> Iterator[str]:
    """A database whose server has none of Prefect yet."""
    _drop(database)
    yield database
    _drop(database)


def _drop(url: str) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f"drop database if exists {NAME} with (force)")  # type: ignore[arg-type]


def test_the_block_is_for_one_at_a_time_until_a_server_of_this_version_has_begun(url: str) -> None:
    entered = threading.Event()
    second_got: list[str | None] = []

    def second() -> None:
        with prepared(url, "3.0") as target:
            second_got.append(target)
            entered.set()

    with prepared(url, "3.0") as target:
        assert target is not None and target.startswith("postgresql+asyncpg://")
        assert NAME in target
        waiting = threading.Thread(target=second)
        waiting.start()
        assert not entered.wait(1), "the second went in beside the first"
        begun(url, "3.0")
    assert entered.wait(30)
    waiting.join()
    assert second_got == [target]
    with prepared(url, "3.0"), prepared(url, "3.0") as again:  # nobody waits any more
        assert again == target


def test_after_an_upgrade_of_prefect_one_goes_first_again(url: str) -> None:
    with prepared(url, "3.0"):
        begun(url, "3.0")
    with prepared(url, "3.1"):
        with psycopg.connect(url) as connection:
            held = connection.execute(
                "select count(*) from pg_locks where locktype = 'advisory'"
            ).fetchone()
        assert held == (1,)


def test_a_block_that_failed_lets_the_next_one_try(url: str) -> None:
    with pytest.raises(RuntimeError), prepared(url, "3.0"):
        raise RuntimeError
    with prepared(url, "3.0") as target:
        assert target is not None


def test_who_may_not_create_databases_gets_none_and_a_folder_for_a_file(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("create role no_creator login password 'p'")
    try:
        info = psycopg.conninfo.conninfo_to_dict(url) | {"user": "no_creator", "password": "p"}
        mine = psycopg.conninfo.make_conninfo("", **info)
        with prepared(mine, "3.0") as target:
            assert target is None
    finally:
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute("drop role no_creator")
    monkeypatch.setenv("PREFECT_HOME", str(tmp_path / "no" / "home" / "prefect"))
    monkeypatch.setenv("PREFECT_API_URL", "http://127.0.0.1:1/api")
    for name in ("PREFECT_SERVER_ANALYTICS_ENABLED", "DO_NOT_TRACK", "PREFECT_LOGGING_LEVEL",
                 "PREFECT_LOGGING_HANDLERS_CONSOLE_LEVEL", "PREFECT_LOGGING_SERVER_LEVEL",
                 "PREFECT_RESULTS_PERSIST_BY_DEFAULT"):  # fmt: skip
        monkeypatch.setenv(name, "x")  # so that what is set here does not outlast the test
    prefect_env.configure(tmp_path / "no" / "home", mine)
    assert (tmp_path / "no" / "home" / "prefect").is_dir()


def test_a_server_that_cannot_be_reached_gives_none() -> None:
    with prepared(embedded.beside("postgresql://nobody@127.0.0.1:1/x", "x"), "3.0") as target:
        assert target is None
