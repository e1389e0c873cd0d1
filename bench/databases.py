"""A server of the bench's own, and fresh databases on it."""

from __future__ import annotations

import contextlib
import itertools
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import psutil
import psycopg
from psycopg import sql

from store import embedded
from store.database import Store, open_store
from store.install import install

SECRET = "a secret of the bench, 32 bytes and more"


@dataclass(frozen=True, slots=True)
class Server:
    """A running server. Its settings are the product's own: fsync is on."""

    url: str
    home: Path
    _numbers: Iterator[int] = field(default_factory=lambda: itertools.count(1))

    @contextmanager
    def database(self) -> Iterator[str]:
        """URL of a fresh database with the schema; dropped afterwards."""
        name = f"bench_{next(self._numbers)}"
        with psycopg.connect(self.url, autocommit=True) as connection:
            connection.execute(
                sql.SQL("create database {} template fresh").format(sql.Identifier(name))
            )
        try:
            yield embedded.beside(self.url, name)
        finally:
            with psycopg.connect(self.url, autocommit=True) as connection:
                connection.execute(
                    sql.SQL("drop database if exists {} with (force)").format(sql.Identifier(name))
                )

    def cpu_seconds(self) -> float:
        """Processor seconds so far of this process, the server, and all that they started.

        Beside wall time, since other programs on the machine do not count.
        """
        postmaster = int((self.home / "postgres" / "postmaster.pid").read_text().split()[0])
        total = 0.0
        for root in (psutil.Process(), psutil.Process(postmaster)):
            for process in (root, *root.children(recursive=True)):
                with contextlib.suppress(psutil.Error):
                    spent = process.cpu_times()
                    total += spent.user + spent.system + spent.children_user
                    total += spent.children_system
        return total

    @contextmanager
    def store(self) -> Iterator[Store]:
        """A store on a fresh database."""
        with self.database() as url, open_store(url, SECRET.encode()) as store:
            yield store

    @contextmanager
    def kept_store(self, name: str, *, afresh: bool) -> Iterator[Store]:
        """A store on a database that stays; an earlier one of the name is used, or replaced."""
        if afresh:
            with psycopg.connect(self.url, autocommit=True) as connection:
                for statement in (
                    "drop database if exists {} with (force)",
                    "create database {} template fresh",
                ):
                    connection.execute(sql.SQL(statement).format(sql.Identifier(name)))
        with open_store(embedded.beside(self.url, name), SECRET.encode()) as store:
            yield store


@contextmanager
def server(folder: Path | None = None) -> Iterator[Server]:
    """Start a server and stop it afterwards: in ``folder``, which stays, or in one of its own."""
    home = folder or Path(tempfile.mkdtemp(prefix="mucluc-bench-"))
    os.environ["MUCLUC_HOME"], os.environ["MUCLUC_SECRET"] = str(home), SECRET
    url = embedded.start(home / "postgres")
    try:
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute("drop database if exists fresh with (force)")
            connection.execute("create database fresh")
        install(embedded.beside(url, "fresh"))
        yield Server(url, home)
    finally:
        embedded.stop(home / "postgres")
        if folder is None:
            shutil.rmtree(home, ignore_errors=True)
