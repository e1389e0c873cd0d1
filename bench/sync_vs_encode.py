"""Whole sync against the bare encode of the contextual texts that it made (aim: at most 1.25)."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from bench.corpus import write_documents
from bench.databases import Server, server
from bench.ratios import PAIRS, Ratio, facts, machine, seconds, table
from enrich.contextualize import contextual_text
from enrich.embedders import load
from flows.report import Report
from flows.request import SyncRequest, request_for
from flows.settings import Settings
from flows.settings_tables import Source
from store.database import Store

AIM = 1.25
FILES = 300
HASHING = "hashing:384"
ROOT = Path(__file__).resolve().parents[1]


def request(folder: Path, model: str) -> SyncRequest:
    """The sync as the command line would ask for it."""
    source = Source(name="bench", path=folder, acl=("role:staff",))
    return request_for(Settings(), "bench", source, model=model)


def contextual_texts(store: Store, version: str = "v1") -> list[str]:
    """Every contextual text of a version once, shortest first: the best order for an encoder."""
    with store.pool.connection() as connection:
        rows = connection.execute(
            "select distinct on (k.tokens, k.embedding_key) k.prefix, c.text"
            " from mucluc.entry e join mucluc.index_version v on v.id = e.version_id"
            " join mucluc.context k on k.chunk_id = e.chunk_id and k.context_id = v.context_id"
            " and k.input_sha256 = e.input_sha256 join mucluc.chunk c on c.id = k.chunk_id"
            " where v.name = %s order by k.tokens, k.embedding_key",
            [version],
        ).fetchall()
    return [contextual_text(row["prefix"], row["text"]) for row in rows]


@dataclass(frozen=True, slots=True)
class Spent:
    """Wall and processor seconds."""

    wall: float
    cpu: float


def spend(place: Server, call: Callable[[], object]) -> Spent:
    """What one call costs, on the database's and Prefect's side too."""
    before = place.cpu_seconds()
    wall = seconds(call)
    return Spent(wall, place.cpu_seconds() - before)


def flow_run(place: Server, folder: Path, model: str) -> tuple[Spent, Report, list[str]]:
    """Cost of a whole sync in this process through the Prefect flow, its report, its texts."""
    from flows.syncing import run_sync  # noqa: PLC0415

    with place.store() as store:
        reports: list[Report] = []
        took = spend(place, lambda: reports.append(run_sync(store, request(folder, model))))
        report = reports[0]
        if report.failed or report.quarantined or not report.embedded:
            raise SystemExit(f"the sync that was measured is not whole: {report.to_json()}")
        return took, report, contextual_texts(store)


def command_run(place: Server, folder: Path, model: str) -> float:
    """Seconds of the command in a process of its own: imports, Prefect's server, sync."""
    with place.database() as url:
        command = [sys.executable, "-m", "flows.cli", "sync", str(folder)]
        command += ["--tenant", "bench", "--acl", "role:staff", "--model", model, "--json"]
        environment = {**os.environ, "DATABASE_URL": url}
        environment.pop("PREFECT_API_DATABASE_CONNECTION_URL", None)

        def run() -> None:
            done = subprocess.run(
                command, env=environment, cwd=ROOT, capture_output=True, text=True, check=False
            )
            if done.returncode != 0:
                raise SystemExit(f"the command ended with {done.returncode}: {done.stderr[-500:]}")
            json.loads(done.stdout.splitlines()[-1])

        return seconds(run)


def measure(
    place: Server, folder: Path, *, model: str, pairs: int, command_pairs: int
) -> list[Ratio]:
    """Pairs of (sync, bare encode), one after the other, each sync on a fresh database."""
    embedder = load(model)
    flow, processor, command, reports, chunks = [], [], [], [], 0
    bare = Spent(0.0, 0.0)
    for number in range(pairs):
        took, report, texts = flow_run(place, folder, model)
        bare = spend(place, lambda texts=texts: embedder.embed_passages(texts))  # type: ignore[misc]
        flow.append(took.wall / bare.wall)
        processor.append(took.cpu / bare.cpu)
        reports.append(report)
        chunks = len(texts)
        if number < command_pairs:
            command.append(command_run(place, folder, model) / bare.wall)
        print(
            f"  pair {number + 1} of {pairs}: wall {flow[-1]:.3f}, cpu {processor[-1]:.3f}",
            flush=True,
        )
    middle = sorted(zip(flow, reports, strict=True), key=lambda pair: pair[0])[len(flow) // 2][1]
    told = {
        "model": model,
        "files": sum(middle.documents.values()),
        "chunks": chunks,
        "tokens a chunk": round(middle.tokens / chunks),
        "bare ms a chunk": round(1000 * bare.wall / chunks, 2),
        "stage ms a chunk": {
            stage: round(1000 * took / chunks, 2) for stage, took in middle.seconds.items()
        },
    }
    aim = None if model.startswith("hashing") else AIM
    found = [Ratio(name=f"sync / encode, {model}", pairs=tuple(flow), aim=aim, facts=told)]
    found.append(Ratio(name=f"sync / encode, {model}, processor time", pairs=tuple(processor)))
    if command:
        found.append(Ratio(name=f"mucluc sync / encode, {model}", pairs=tuple(command)))
    return found


def run(
    place: Server,
    *,
    model: str = "e5",
    files: int = FILES,
    pairs: int = PAIRS,
    command_pairs: int = 2,
) -> list[Ratio]:
    """Measure with a model; Prefect's temporary server is started by a small sync before."""
    from flows.prefect_env import configure  # noqa: PLC0415

    folder = write_documents(place.home / f"documents-{files}", files)
    warm = write_documents(place.home / "documents-warm", 3)
    configure(place.home, place.url)
    flow_run(place, warm, model)
    return measure(place, folder, model=model, pairs=pairs, command_pairs=command_pairs)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", type=int, default=FILES)
    parser.add_argument("--pairs", type=int, default=PAIRS)
    parser.add_argument("--command-pairs", type=int, default=2)
    parser.add_argument("--model", default="e5", help=f"e5, minilm, {HASHING} …")
    asked = parser.parse_args()
    print(machine())
    with server() as place:
        ratios = run(
            place,
            model=asked.model,
            files=asked.files,
            pairs=asked.pairs,
            command_pairs=asked.command_pairs,
        )
    print(table(ratios))
    print(facts(ratios))


if __name__ == "__main__":
    main()
