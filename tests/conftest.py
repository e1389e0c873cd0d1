"""Real databases: one embedded server for the session, a fresh database for each test."""

from __future__ import annotations

import itertools
import os
import shutil
import signal
import tempfile
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from store import embedded
from store.database import Store, open_store
from store.install import install

SECRET = b"a secret of the tests, 32 bytes and more"
_numbers = itertools.count(1)


def pytest_configure(config: pytest.Config) -> None:
    """Hypothesis prints reproducible examples and has no deadline on a noisy machine.

    And Ctrl-C works in what the tests start, though a shell's background job ignores it.
    """
    from hypothesis import settings

    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)

    settings.register_profile("mucluc", deadline=None, print_blob=True)
    settings.load_profile("mucluc")


@pytest.fixture(scope="session")
def cases() -> Path:
    """The shared cases, or a skip where they are not there."""
    folder = Path(__file__).resolve().parents[1].parent / "shared" / "cases"
    if not folder.is_dir():
        pytest.skip("the shared cases are not on this machine (../shared/cases)")
    return folder


@pytest.fixture(scope="session")
def server() -> Iterator[str]:
    """URL of a server of our own, with a template database that has the schema."""
    # Not below pytest's own folder: as root the server runs as another user, and every pytest
    # that starts makes that folder private to root again.
    folder = Path(tempfile.mkdtemp(prefix="mucluc-tests-"))
    url = embedded.start(folder / "postgres")
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("alter system set fsync = off")
        connection.execute("select pg_reload_conf()")
        connection.execute("create database fresh")
    install(embedded.beside(url, "fresh"))
    yield url
    embedded.stop(folder / "postgres")
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def database(server: str) -> Iterator[str]:
    """URL of a fresh database with the schema."""
    name = f"test_{next(_numbers)}"
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f"create database {name} template fresh")  # type: ignore[arg-type]
    yield embedded.beside(server, name)
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f"drop database if exists {name} with (force)")  # type: ignore[arg-type]


@pytest.fixture
def store(database: str) -> Iterator[Store]:
    """An open store on a fresh database."""
    with open_store(database, SECRET, max_connections=6) as opened:
        yield opened


@pytest.fixture(scope="session")
def prefect_api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """URL of one Prefect API for the whole session: each costs ten seconds to start."""
    patch = pytest.MonkeyPatch()
    patch.setenv("PREFECT_SERVER_ANALYTICS_ENABLED", "false")
    patch.setenv("PREFECT_HOME", str(tmp_path_factory.mktemp("prefect")))
    from prefect.settings import get_current_settings
    from prefect.testing.utilities import prefect_test_harness

    with prefect_test_harness(server_startup_timeout=180):
        url = get_current_settings().api.url
        assert url is not None
        yield url
    patch.undo()


@pytest.fixture
def here(
    tmp_path: Path, database: str, monkeypatch: pytest.MonkeyPatch
) -> Iterator[dict[str, str]]:
    """Work in an empty folder, on a fresh database; the environment, for subprocesses."""
    from commands import environment

    place = tmp_path / "here"
    place.mkdir()
    env = environment(tmp_path / "home", DATABASE_URL=database)
    before = dict(os.environ)
    os.environ.clear()
    os.environ.update(env)
    monkeypatch.chdir(place)
    yield env
    os.environ.clear()  # a command adds Prefect's variables to its own environment
    os.environ.update(before)
