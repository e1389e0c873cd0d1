"""A version with another embedding model, against the bare encode and index build (aim: 1.15)."""

from __future__ import annotations

import argparse

import psycopg
from pgvector import HalfVector
from pgvector.psycopg import register_vector

from bench.corpus import write_documents
from bench.databases import Server, server
from bench.ratios import PAIRS, Ratio, facts, machine, table
from bench.sync_vs_encode import HASHING, Spent, contextual_texts, request, spend
from enrich.embedders import load
from enrich.models import Embedder
from flows.backfilling import run_backfill, target_of
from flows.filling import FillReport
from flows.settings import Settings
from flows.syncing import run_sync
from store.database import Store

AIM = 1.15
DOCUMENTS = 2000


def rebuild(place: Server, store: Store, model: str) -> tuple[Spent, FillReport]:
    """Cost of a backfill in this process through the Prefect flow, and its report."""
    settings = Settings()
    target = target_of(store, settings, "main", None, {"embedding.model": model})
    reports: list[FillReport] = []
    took = spend(place, lambda: reports.append(run_backfill(store, settings, target)))
    report = reports[0]
    if report.failed or report.missing or not report.whole:
        raise SystemExit(f"the backfill that was measured is not whole: {report.to_json()}")
    # Chunks are cut again, since their budget is in the model's own tokens; nothing is parsed.
    if report.made["parses"]:
        raise SystemExit(f"a parser was called: {report.made}")
    return took, report


def bare(place: Server, store: Store, embedder: Embedder, texts: list[str]) -> Spent:
    """Cost of encoding the texts in one call, and of both indexes over rows that are loaded."""
    found = []
    encode = spend(place, lambda: found.append(embedder.embed_passages(texts)))
    with psycopg.connect(store.url, autocommit=True) as connection:
        register_vector(connection)
        connection.execute("set maintenance_work_mem = '512MB'")
        size = embedder.card.dimensions
        connection.execute("drop table if exists bare")
        connection.execute(f"create table bare (e public.halfvec({size}), t tsvector)")
        with (
            connection.cursor() as cursor,
            cursor.copy("copy bare (e, t) from stdin") as copy,
        ):
            for vector, text in zip(found[0], texts, strict=True):
                lexemes = " ".join(f"'{word}'" for word in set(text.replace("'", " ").split()))
                copy.write_row([HalfVector(vector), lexemes.replace("\\", " ")])

        def index() -> None:
            connection.execute("create index on bare using hnsw (e public.halfvec_cosine_ops)")
            connection.execute("create index on bare using gin (t)")

        build = spend(place, index)
    return Spent(encode.wall + build.wall, encode.cpu + build.cpu)


def run(
    place: Server, *, model: str = "minilm", documents: int = DOCUMENTS, pairs: int = 1
) -> list[Ratio]:
    """Pairs of (backfill, bare), each on a database that was synced with a model without cost."""
    from flows.prefect_env import configure  # noqa: PLC0415

    folder = write_documents(place.home / f"documents-{documents}", documents)
    configure(place.home, place.url)
    embedder = load(model)
    embedder.embed_passages(["warm"])
    wall, processor = [], []
    told: dict[str, object] = {}
    for number in range(pairs):
        with place.store() as store:
            if run_sync(store, request(folder, HASHING)).failed:
                raise SystemExit("the sync before the backfill failed")
            took, report = rebuild(place, store, model)
            theirs = bare(place, store, embedder, contextual_texts(store, report.version))
        wall.append(took.wall / theirs.wall)
        processor.append(took.cpu / theirs.cpu)
        told = {
            "documents": documents,
            "made": report.made,
            "reused": report.reused,
            "ours, bare s": [round(took.wall, 1), round(theirs.wall, 1)],
            "stage s": report.seconds,
        }
        print(
            f"  pair {number + 1} of {pairs}: wall {wall[-1]:.3f}, cpu {processor[-1]:.3f}",
            flush=True,
        )
    name = f"rebuild with {model} / encode and index build"
    return [
        Ratio(name=name, pairs=tuple(wall), aim=AIM, facts=told),
        Ratio(name=f"{name}, processor time", pairs=tuple(processor)),
    ]


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--documents", type=int, default=DOCUMENTS)
    parser.add_argument("--pairs", type=int, default=PAIRS)
    parser.add_argument("--model", default="minilm", help="e5, minilm …")
    asked = parser.parse_args()
    print(machine(), flush=True)
    with server() as place:
        ratios = run(place, model=asked.model, documents=asked.documents, pairs=asked.pairs)
    print(table(ratios))
    print(facts(ratios))


if __name__ == "__main__":
    main()
