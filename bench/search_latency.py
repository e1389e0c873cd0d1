"""Search functions against bare statements over the same entries, and eight clients at once."""

from __future__ import annotations

import argparse
import random
import threading
import time
import uuid
from collections.abc import Callable
from contextlib import ExitStack
from datetime import date
from itertools import accumulate
from statistics import median, quantiles
from typing import Any

import numpy as np
import psycopg
from numpy.typing import NDArray
from pgvector import Vector
from psycopg.types.json import Jsonb

from bench.corpus import sentence
from bench.databases import Server, server
from bench.ratios import Ratio, facts, machine, table
from store.database import Store
from store.reader import Identity, Reader, read_as
from store.runs import open_run
from store.versions import Version, active_version, build_indexes, refresh_statistics

CHUNKS, PER_DOCUMENT, DIMENSIONS = 20_000, 10, 384
CLIENTS, DEPTH, DAY = 8, 50, date(2026, 6, 1)
TENANT, MODEL = "bench", "bench-model"
# Share of the documents that each role sees, and so the plan that its searches take.
ROLES = {"role:all": 1.0, "role:some": 0.1, "role:few": 0.04}
TERMS = 4


_SYLLABLES = [a + b + c for a in "bdklmnt" for b in "aeio" for c in ("", "n", "r")]
_WORDS = [first + second for first in _SYLLABLES for second in _SYLLABLES][:5000]
_WEIGHTS = list(accumulate(1 / (rank + 1) for rank in range(len(_WORDS))))


def _text(draw: random.Random, number: int) -> str:
    """Two sentences of policy and forty words whose frequencies follow Zipf's law."""
    policy = " ".join(sentence(draw, ("en", "vi")[number % 2]) for _ in range(2))
    return f"{policy} {' '.join(draw.choices(_WORDS, cum_weights=_WEIGHTS, k=40))}"


def _fill(store: Store, chunks: int) -> tuple[Version, NDArray[np.float32]]:
    """Write documents, chunks and entries straight into the tables; returns version, vectors.

    Vectors lie around 200 centres, as those of texts on 200 subjects would.
    """
    draw, numbers = random.Random(7), np.random.default_rng(7)
    centres = numbers.standard_normal((200, DIMENSIONS))
    vectors = centres[numbers.integers(0, 200, chunks)]
    vectors = vectors + 0.7 * numbers.standard_normal((chunks, DIMENSIONS))
    vectors = (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)
    documents = [uuid.UUID(int=draw.getrandbits(128)) for _ in range(chunks // PER_DOCUMENT)]
    ids = [uuid.UUID(int=draw.getrandbits(128)) for _ in range(chunks)]
    owners = [documents[number // PER_DOCUMENT] for number in range(chunks)]
    opened = open_run(store, kind="sync", lock_key="bench")
    run = opened.id
    with store.transaction(run) as connection, connection.cursor() as cursor:
        version = cursor.execute(
            "insert into mucluc.index_version (index_name, name, recipe, chunking_id, context_id,"
            " model, dimensions) values ('main', 'v1', %s, 'c', 'x', %s, %s) returning *",
            (Jsonb({"model": MODEL}), MODEL, DIMENSIONS),
        ).fetchone()
        if version is None:
            raise AssertionError("insert returns a row")
        cursor.execute("select mucluc.open_partition(%s)", (version["id"],))
        acls = {}
        for least, share in ROLES.items():
            wider = [role for role in ROLES if ROLES[role] >= share]
            row = cursor.execute(
                "insert into mucluc.acl_set (tenant, principals) values (%s, %s) returning id",
                (TENANT, sorted(wider)),
            ).fetchone()
            acls[least] = row and row["id"]

        def copy(statement: str, rows: list[tuple[Any, ...]]) -> None:
            with cursor.copy(f"copy mucluc.{statement} from stdin") as out:
                for row in rows:
                    out.write_row(row)

        def acl_of(place: int) -> Any:
            where = place / len(documents)
            return acls[min((r for r in ROLES if where < ROLES[r]), key=ROLES.__getitem__)]

        copy(
            "document (id, tenant, source, uri, acl_id, acl_stated)",
            [(d, TENANT, "s", f"d{n}", acl_of(n), True) for n, d in enumerate(documents)],
        )
        copy(
            "revision (id, document_id, sequence, content_sha256, raw_sha256, metadata_sha256,"
            " suffix, bytes, seen_on)",
            [(d, d, 1, b"c", b"r", b"m", ".md", 1, DAY) for d in documents],
        )
        copy(
            "chunk (id, document_id, heading_path, text, kinds, tokens)",
            [
                (c, d, ["Section"], _text(draw, n), ["text"], 100)
                for n, (c, d) in enumerate(zip(ids, owners, strict=True))
            ],
        )
        copy(
            "revision_chunk (revision_id, cut_id, ordinal, chunk_id, char_start, char_end)",
            [
                (d, "cut", n % PER_DOCUMENT, c, 0, 1)
                for n, (c, d) in enumerate(zip(ids, owners, strict=True))
            ],
        )
        copy(
            "published (version_id, revision_id, document_id, cut_id, n_chunks, valid)",
            [(version["id"], d, d, "cut", PER_DOCUMENT, "(,)") for d in documents],
        )
        cursor.execute("create temp table vectors (id uuid, v public.vector) on commit drop")
        with cursor.copy("copy vectors from stdin (format binary)") as out:
            out.set_types(["uuid", "vector"])
            for chunk, vector in zip(ids, vectors, strict=True):
                out.write_row((chunk, Vector(vector)))
        cursor.execute(
            "insert into mucluc.entry (chunk_id, version_id, tenant, document_id, embedding, tsv,"
            " len, input_sha256) select c.id, %s, %s, c.document_id, x.v::halfvec, l.tsv,"
            " mucluc.lexeme_count(l.tsv), '' from vectors x join mucluc.chunk c using (id),"
            " lateral (select mucluc.lexemes(c.text) as tsv) l",
            (version["id"], TENANT),
        )
        cursor.execute(
            "with p as (insert into mucluc.promotion (index_name, alias, to_version, kind, gates,"
            " passed) values ('main', 'active', %s, 'bootstrap', '{}', true) returning id)"
            " insert into mucluc.alias select 'main', 'active', %s, p.id from p",
            (version["id"], version["id"]),
        )
        cursor.execute(
            "insert into mucluc.version_stat values (%s, %s, 0, 0, 0, true)",
            (version["id"], TENANT),
        )
    refresh_statistics(store, run, version["id"], TENANT)
    opened.release()
    found = active_version(store, "main")
    if found is None:
        raise AssertionError("the alias points at it")
    build_indexes(store, found)
    with psycopg.connect(store.url, autocommit=True) as plain:
        plain.execute("vacuum analyze")
    return found, vectors


Call = Callable[[int], str]  # the n-th question -> the plan that ran


class Searches:
    """Pairs of calls: one of ours and the statement that a plain pgvector table would get."""

    def __init__(self, store: Store, version: Version, vectors: NDArray[np.float32]) -> None:
        self.store, self.version = store, version
        numbers, draw = np.random.default_rng(11), random.Random(11)
        near = vectors[numbers.integers(0, len(vectors), 200)]
        self.queries = near + 0.02 * numbers.standard_normal(near.shape).astype(np.float32)
        self.questions = []
        for number in range(200):
            words = _text(draw, number).split()
            self.questions.append(" ".join(draw.sample(words, TERMS)))
        with store.reading() as connection:
            self.seen = {
                role: [
                    row["id"]
                    for row in connection.execute(
                        "select d.id from mucluc.document d join mucluc.acl_set a"
                        " on a.id = d.acl_id where %s = any(a.principals)",
                        [role],
                    )
                ]
                for role in ROLES
            }

    def ask(self, role: str, how: Callable[[Reader], list[dict[str, Any]]]) -> str:
        """Search as a role: identity, snapshot and filter included; returns the plan."""
        with read_as(self.store, Identity(tenant=TENANT, principals=(role,), as_of=DAY)) as reader:
            rows = how(reader)
        return str(rows[0]["plan"]) if rows else "empty"

    def dense(self, role: str) -> Call:
        """Search by meaning as a role."""
        return lambda n: self.ask(
            role,
            lambda reader: reader.dense(
                self.version.id, MODEL, Vector(self.queries[n % 200]), DEPTH
            ),
        )

    def text(self, role: str) -> Call:
        """Full text as a role."""
        return lambda n: self.ask(
            role,
            lambda reader: reader.text(self.version.id, self.questions[n % 200], DEPTH),
        )

    def bare_dense(self, role: str | None) -> Call:
        """The nearest entries by a plain statement; with a role, among its documents, exactly."""
        where = "" if role is None else " where document_id = any(%(seen)s)"
        near = f"embedding::halfvec({DIMENSIONS}) <=> %(query)s::vector::halfvec({DIMENSIONS})"
        hot = " where hot" if role is None else ""
        statement = (
            f"select chunk_id from mucluc.entry_{self.version.id}_0{where}{hot}"
            f" order by {near} limit {DEPTH}"
        )

        def call(n: int) -> str:
            with self.store.pool.connection() as connection:
                connection.execute("set local hnsw.ef_search = 200")
                if role is not None:
                    connection.execute("set local enable_indexscan = off")
                connection.execute(
                    statement,
                    {"query": Vector(self.queries[n % 200]), "seen": self.seen.get(role or "")},
                    prepare=False,  # a generic plan would be worse, and the bare call has the best
                ).fetchall()
            return "bare"

        return call

    def bare_text(self, role: str | None) -> Call:
        """The usual ``tsv @@ query order by ts_rank``; with a role, among its documents."""
        where = "" if role is None else " and document_id = any(%(seen)s)"
        statement = (
            f"select chunk_id from mucluc.entry_{self.version.id}_0,"
            " (select mucluc.quote_lexemes(tsvector_to_array(mucluc.lexemes(%(question)s)))"
            f"::tsquery as q) x where tsv @@ q{where} order by ts_rank(tsv, q) desc limit {DEPTH}"
        )

        def call(n: int) -> str:
            with self.store.pool.connection() as connection:
                connection.execute(
                    statement,
                    {"question": self.questions[n % 200], "seen": self.seen.get(role or "")},
                    prepare=False,
                ).fetchall()
            return "bare"

        return call


def _milliseconds(call: Call, number: int) -> float:
    begun = time.perf_counter()
    call(number)
    return 1000 * (time.perf_counter() - begun)


def _compare(name: str, ours: Call, bare: Call, budget: float) -> list[Ratio]:
    """Ask in turn for ``budget`` seconds; ratios of the medians and of the 95th percentiles."""
    plan = ours(0)
    bare(0)
    mine: list[float] = []
    theirs: list[float] = []
    end, number = time.monotonic() + budget, 0
    while time.monotonic() < end or number < 20:
        mine.append(_milliseconds(ours, number))
        theirs.append(_milliseconds(bare, number))
        number += 1
    tail = [quantiles(values, n=20)[-1] for values in (mine, theirs)]
    told = {
        "plan": plan,
        "questions": number,
        "ours p50/p95 ms": [round(median(mine), 1), round(tail[0], 1)],
        "bare p50/p95 ms": [round(median(theirs), 1), round(tail[1], 1)],
    }
    return [
        Ratio(name=f"{name} ({plan}), p50", pairs=(median(mine) / median(theirs),), facts=told),
        Ratio(name=f"{name} ({plan}), p95", pairs=(tail[0] / tail[1],)),
    ]


def _throughput(call: Call, budget: float) -> float:
    """Calls a second of eight clients."""
    counts = [0] * CLIENTS
    end = time.monotonic() + budget

    def client(place: int) -> None:
        number = place * 25
        while time.monotonic() < end:
            call(number)
            number += 1
            counts[place] += 1

    threads = [threading.Thread(target=client, args=(place,)) for place in range(CLIENTS)]
    begun = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return sum(counts) / (time.perf_counter() - begun)


def _clients(name: str, ours: Call, bare: Call, budget: float, pairs: int) -> Ratio:
    rates = [(_throughput(ours, budget), _throughput(bare, budget)) for _ in range(pairs)]
    return Ratio(
        name=f"{name}, {CLIENTS} clients, searches/s",
        pairs=tuple(mine / theirs for mine, theirs in rates),
        higher_is_better=True,
        facts={
            "ours/s": [round(mine) for mine, _ in rates],
            "bare/s": [round(theirs) for _, theirs in rates],
        },
    )


def run(place: Server, *, chunks: int = CHUNKS, budget: float = 8.0, pairs: int = 3) -> list[Ratio]:
    """Fill an index and compare; ``budget`` seconds for each comparison."""
    with ExitStack() as stack:
        store = stack.enter_context(place.store())
        version, vectors = _fill(store, chunks)
        searches = Searches(store, version, vectors)
        everybody, some, few = ROLES
        found = _compare(
            "dense, all visible", searches.dense(everybody), searches.bare_dense(None), budget
        )
        found += _compare(
            "dense, 10% visible", searches.dense(some), searches.bare_dense(some), budget
        )
        found += _compare(
            "text, all visible", searches.text(everybody), searches.bare_text(None), budget
        )
        found += _compare("text, 4% visible", searches.text(few), searches.bare_text(few), budget)
        found.append(
            _clients(
                "dense, all visible",
                searches.dense(everybody),
                searches.bare_dense(None),
                budget / 4,
                pairs,
            )
        )
        found.append(
            _clients(
                "text, all visible",
                searches.text(everybody),
                searches.bare_text(None),
                budget / 4,
                pairs,
            )
        )
    return found


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--chunks", type=int, default=CHUNKS)
    parser.add_argument("--seconds", type=float, default=8.0)
    asked = parser.parse_args()
    print(machine())
    with server() as place:
        ratios = run(place, chunks=asked.chunks, budget=asked.seconds)
    print(table(ratios))
    print(facts(ratios))


if __name__ == "__main__":
    main()
