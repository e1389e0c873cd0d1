"""Swaps and rollbacks under a steady load: what eight searching clients notice of them."""

from __future__ import annotations

import argparse
import multiprocessing
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date
from multiprocessing.connection import Connection
from typing import Any

import numpy as np
import psycopg

from bench.corpus import document, write_documents
from bench.databases import SECRET, Server, server
from bench.ratios import Ratio, facts, machine, table
from bench.sync_vs_encode import HASHING, request
from enrich.embedders import load
from flows.backfilling import run_backfill, target_of
from flows.settings import Settings
from flows.swapping import run_promotion, run_rollback, versions_for
from flows.syncing import run_sync
from search.request import RetrievalPolicy, SearchRequest
from search.retrieval import retrieve
from store.database import Store, open_store

CLIENTS = 8
SWAPS = 50
DOCUMENTS = 1000
PAUSE = 1.0  # seconds between the end of one swap and the next
WINDOW = 0.25  # seconds before and after a swap
LONGEST_WAIT = 0.3  # seconds that a lock may be waited for
SLOWEST = 99  # percentile


@dataclass(frozen=True, slots=True)
class Asked:
    """One search: when it began, the seconds that it took, and what was wrong with it."""

    began: float
    took: float
    version: str
    wrong: str


def client(url: str, number: int, documents: int, begin: Any, end: Any, out: Connection) -> None:
    """Search for documents one after the other until told to stop. Runs in its own process."""
    found: list[Asked] = []
    words = [document(n).splitlines()[0].removeprefix("# ") for n in range(documents)]
    with open_store(url, SECRET.encode(), max_connections=1) as store:
        begin.wait()
        place = number * 97
        while not end.is_set():
            place = (place + 1) % documents
            began = time.monotonic()
            version, wrong = _search(store, words[place], f"document-{place:04}.md")
            found.append(Asked(began, time.monotonic() - began, version, wrong))
    out.send(found)


def _search(store: Store, query: str, expected: str) -> tuple[str, str]:
    try:
        hits, _ = retrieve(
            store,
            SearchRequest(
                query=query, tenant="bench", principals=("role:staff",), as_of=date.today()
            ),
            RetrievalPolicy(k=10),
            load,
        )
    except Exception as exc:  # whatever it is, it is what we look for
        return "", type(exc).__name__
    versions = {hit.version for hit in hits}
    if len(versions) != 1:
        return "", "mixed" if versions else "empty"
    wrong = "" if expected in {hit.uri for hit in hits} else "without the right document"
    return versions.pop(), wrong


@contextmanager
def lock_waits(url: str) -> Iterator[list[float]]:
    """Seconds of the longest lock wait of the database, sampled some fifty times a second."""
    waits: list[float] = []
    stop = threading.Event()

    def sample() -> None:
        with psycopg.connect(url, autocommit=True) as connection:
            while not stop.is_set():
                row = connection.execute(
                    "select coalesce(max(extract(epoch from clock_timestamp() - l.waitstart)), 0)"
                    "::float8 from pg_locks l join pg_database d on d.oid = l.database"
                    " where not l.granted and d.datname = current_database()"
                ).fetchone()
                waits.append(row[0] if row else 0.0)
                time.sleep(0.02)

    watcher = threading.Thread(target=sample)
    watcher.start()
    try:
        yield waits
    finally:
        stop.set()
        watcher.join()


def swap_in_turn(store: Store, swaps: int) -> list[float]:
    """Promote through the gates and roll back, in turn; returns when each alias had moved."""
    settings, moved = Settings(), []
    for number in range(swaps):
        if number % 2 == 0:
            version, active = versions_for(store, "main", "v2", "active")
            if not run_promotion(store, settings, version, active).promoted:
                raise SystemExit("the promotion was refused")
        else:
            run_rollback(store, "main")
        moved.append(time.monotonic())
        time.sleep(PAUSE)
    return moved


def slowest(asked: list[Asked], middles: list[float]) -> float:
    """The 99th percentile of seconds of searches that touch a window around one of the moments."""
    took = [
        a.took
        for a in asked
        if any(a.began <= m + WINDOW and a.began + a.took >= m - WINDOW for m in middles)
    ]
    return float(np.percentile(took, SLOWEST))


def run(
    place: Server, *, documents: int = DOCUMENTS, swaps: int = SWAPS, clients: int = CLIENTS
) -> list[Ratio]:
    """Swap under load; the ratio is that of the slowest searches at swaps and between them."""
    from flows.prefect_env import configure  # noqa: PLC0415

    folder = write_documents(place.home / f"documents-{documents}", documents)
    configure(place.home, place.url)
    with place.store() as store:
        run_sync(store, request(folder, HASHING))
        target = target_of(store, Settings(), "main", "v2", {"embedding.model": "hashing:256"})
        run_backfill(store, Settings(), target)
        asked, moved, waits = _under_load(store, documents, swaps, clients)
    wrong = [a.wrong for a in asked if a.wrong]
    if wrong:
        raise SystemExit(f"{len(wrong)} of {len(asked)} searches went wrong: {sorted(set(wrong))}")
    # Halfway between two swaps: after a rollback, before the next promotion's gates begin.
    quiet = [m + PAUSE / 2 for m in moved]
    at, between = slowest(asked, moved), slowest(asked, quiet)
    told = {
        "searches": len(asked),
        "failed, empty or mixed": 0,
        "versions": sorted({a.version for a in asked}),
        "p99 ms at swaps": round(1000 * at, 1),
        "p99 ms between": round(1000 * between, 1),
        "lock wait samples": len(waits),
        "longest lock wait ms": round(1000 * max(waits), 1),
    }
    name = f"slowest 1% of searches, at {swaps} swaps / between them, {clients} clients"
    return [
        Ratio(name=name, pairs=(at / between,), facts=told),
        Ratio(name="longest lock wait, s / 1 s", pairs=(max(waits),), aim=LONGEST_WAIT),
    ]


def _under_load(
    store: Store, documents: int, swaps: int, clients: int
) -> tuple[list[Asked], list[float], list[float]]:
    context = multiprocessing.get_context("spawn")
    begin, end = context.Event(), context.Event()
    pipes = [context.Pipe(duplex=False) for _ in range(clients)]
    processes = [
        context.Process(target=client, args=(store.url, n, documents, begin, end, out))
        for n, (_, out) in enumerate(pipes)
    ]
    for process in processes:
        process.start()
    with lock_waits(store.url) as waits:
        begin.set()
        time.sleep(PAUSE)
        moved = swap_in_turn(store, swaps)
        end.set()
        asked = [one for source, _ in pipes for one in source.recv()]
    for process in processes:
        process.join()
    return asked, moved, waits


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--documents", type=int, default=DOCUMENTS)
    parser.add_argument("--swaps", type=int, default=SWAPS)
    parser.add_argument("--clients", type=int, default=CLIENTS)
    asked = parser.parse_args()
    print(machine(), flush=True)
    with server() as place:
        ratios = run(place, documents=asked.documents, swaps=asked.swaps, clients=asked.clients)
    print(table(ratios))
    print(facts(ratios))


if __name__ == "__main__":
    main()
