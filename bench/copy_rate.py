"""Rows a second of the memo's writer against bare binary COPY of the same rows."""

from __future__ import annotations

import argparse
import hashlib
from collections.abc import Iterator
from typing import LiteralString

import numpy as np
import psycopg
from numpy.typing import NDArray
from pgvector import Vector
from pgvector.psycopg import register_vector

from bench.corpus import document
from bench.databases import Server, server
from bench.ratios import PAIRS, Ratio, facts, machine, seconds, table
from flows.embedding import EMBED_SLICE
from store.database import Store
from store.embeddings import add_embeddings
from store.runs import open_run

ROWS = 20_000
ENTRY_ROWS = 2_000
DIMENSIONS = 384
TENANT, MODEL = "bench", "0123456789abcdef"
COLUMNS: LiteralString = "tenant text, model text, key bytea, embedding public.vector"
PLAIN: LiteralString = f"create table plain ({COLUMNS})"
KEYED: LiteralString = f"create table keyed ({COLUMNS}, primary key (tenant, model, key))"
COPY: LiteralString = "copy {} (tenant, model, key, embedding) from stdin (format binary)"


def memo_rows(count: int, seed: int) -> tuple[list[bytes], NDArray[np.float32]]:
    """Keys like keyed hashes, in no order, and unit vectors: float32 (count, 384)."""
    keys = [hashlib.sha256(f"{seed}:{number}".encode()).digest() for number in range(count)]
    vectors = np.random.default_rng(seed).standard_normal((count, DIMENSIONS), dtype=np.float32)
    return keys, vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def slices(count: int, size: int) -> Iterator[slice]:
    """Consecutive slices over ``count`` rows."""
    return (slice(start, start + size) for start in range(0, count, size))


def bare_copy(
    url: str, name: LiteralString, keys: list[bytes], vectors: NDArray[np.float32], size: int
) -> float:
    """Seconds of binary COPY into a table of the memo's columns, ``size`` rows a transaction."""
    with psycopg.connect(url, autocommit=True) as connection:
        register_vector(connection)
        connection.execute(f"drop table if exists {name}")
        connection.execute(PLAIN if name == "plain" else KEYED)

        def copy_all() -> None:
            for part in slices(len(keys), size):
                with (
                    connection.transaction(),
                    connection.cursor() as cursor,
                    cursor.copy(COPY.format(name)) as copy,
                ):
                    copy.set_types(["text", "text", "bytea", "vector"])
                    for key, vector in zip(keys[part], vectors[part], strict=True):
                        copy.write_row((TENANT, MODEL, key, Vector(vector)))

        return seconds(copy_all)


def ours(
    store: Store, run: int, keys: list[bytes], vectors: NDArray[np.float32], size: int
) -> float:
    """Seconds of the memo's writer, ``size`` rows a transaction, into an empty memo."""
    with store.transaction() as connection:
        connection.execute("truncate mucluc.embedding_memo")

    def add_all() -> None:
        written = sum(
            add_embeddings(store, run, TENANT, MODEL, keys[part], vectors[part])
            for part in slices(len(keys), size)
        )
        if written != len(keys):
            raise AssertionError(f"{written} of {len(keys)} rows were written")

    return seconds(add_all)


def entry_rate(store: Store, count: int) -> dict[str, float]:
    """Rows a second of lexemes alone and of the whole INSERT … SELECT that makes entries."""
    texts = [document(number) for number in range(count)]
    with store.transaction() as connection:
        connection.execute("create temp table bench_text (text text) on commit drop")
        with connection.cursor() as cursor, cursor.copy("copy bench_text from stdin") as copy:
            for text in texts:
                copy.write_row((text,))
        alone = seconds(
            lambda: connection.execute("select sum(length(mucluc.lexemes(text))) from bench_text")
        )
        standard = seconds(
            lambda: connection.execute(
                "select sum(length(to_tsvector('simple', text))) from bench_text"
            )
        )
    return {"lexemes rows/s": round(count / alone), "lexemes / to_tsvector": alone / standard}


def run(place: Server, *, pairs: int = PAIRS, rows: int = ROWS) -> list[Ratio]:
    """Interleave the writer with bare COPY into a plain table and into one with the memo's key."""
    found: dict[tuple[str, int], list[float]] = {}
    rates: list[int] = []
    with place.store() as store:
        opened = open_run(store, kind="sync", lock_key="bench")
        for number in range(pairs):
            for size in (rows, EMBED_SLICE):
                keys, vectors = memo_rows(rows if size == rows else rows // 4, number)
                took = ours(store, opened.id, keys, vectors, size)
                for name in ("plain", "keyed"):
                    bare = bare_copy(store.url, name, keys, vectors, size)
                    # Of rows per second: ours by bare.
                    found.setdefault((name, size), []).append(bare / took)
                if size == rows:
                    rates.append(round(rows / took))
        opened.release()
        lexing = entry_rate(store, ENTRY_ROWS)
    names = {"plain": "plain table", "keyed": "same primary key"}
    ratios = [
        Ratio(
            name=f"memo rows/s by COPY, {size} a transaction / bare COPY, {names[name]}",
            pairs=tuple(values),
            aim=0.5 if name == "keyed" else None,
            higher_is_better=True,
        )
        for (name, size), values in found.items()
    ]
    told = {"rows": rows, "dimensions": DIMENSIONS, "memo rows/s": rates}
    ratios[0] = Ratio(**{**{f: getattr(ratios[0], f) for f in ratios[0].__slots__}, "facts": told})
    ratios.append(
        Ratio(
            name="lexemes, seconds / to_tsvector('simple')",
            pairs=(lexing.pop("lexemes / to_tsvector"),),
            facts=lexing,
        )
    )
    return ratios


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=ROWS)
    parser.add_argument("--pairs", type=int, default=PAIRS)
    asked = parser.parse_args()
    print(machine())
    with server() as place:
        ratios = run(place, pairs=asked.pairs, rows=asked.rows)
    print(table(ratios))
    print(facts(ratios))


if __name__ == "__main__":
    main()
