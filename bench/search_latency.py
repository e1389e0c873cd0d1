"""Hybrid search against the bare statements over the same 100,000 chunks; recall; eight clients."""

from __future__ import annotations

import argparse
import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import mean, median, quantiles
from typing import Any

import numpy as np
from pgvector import Vector

from bench.databases import Server, server
from bench.ratios import PAIRS, Ratio, facts, machine, table
from bench.search_data import (
    CHUNKS,
    CLUSTERS,
    DAY,
    DIMENSIONS,
    ELSEWHERE,
    MODEL,
    PER_DOCUMENT,
    SHARES,
    TENANT,
    Index,
    fill,
    planned,
    questions,
    renew_functions,
    shape,
    version_of,
)
from search.fusion import fuse
from store.database import Store
from store.reader import Identity, Reader, read_as

CLIENTS, DEPTH, SHOWN, QUESTIONS, NEAREST = 8, 50, 10, 200, 10
BLOCK = 10
SLOWER, RECALL = 1.5, 0.99

# The two phases of search_text over all entries: no identity, no visible set, no codes or phrases.
# With the same way to tell how often a word occurs, which is quicker than unnesting.
BARE_TEXT = """
create function bench_bm25(q text, k int) returns table (chunk_id uuid, score float8)
language plpgsql stable set jit = off set max_parallel_workers_per_gather = 0 as $$
declare n float8; avgdl float8; branches text; score text;
begin
  select s.n, s.total_len::float8 / s.n into n, avgdl from mucluc.version_stat s;
  select string_agg(format('select ctid as c, %s::float4 as w from {entry} where tsv @@ %L',
                           idf, mucluc.quote_lexemes(array[lexeme])), ' union all ')
           filter (where budget <= 20000 or place = 1),
         string_agg(format('%s * (1 - kk / (kk + round(1 / (1.6449340668 *
           (1 - ts_rank(''{{1,1,1,1}}'', tsv, %L))) - 0.5)))',
           idf, mucluc.quote_lexemes(array[lexeme])), ' + ')
    into branches, score
    from (select l as lexeme, ln(1 + (n - f.df + 0.5) / (f.df + 0.5)) as idf,
                 sum(f.df) over w as budget, row_number() over w as place
          from unnest(tsvector_to_array(mucluc.lexemes(q))) l
          join mucluc.lexeme_stat f on f.lexeme = l
          window w as (order by f.df, l)) z;
  if branches is null then return; end if;
  return query execute format('
    select x.chunk_id, 2.2 * (%s) from (
      select e.chunk_id, e.tsv || '''' as tsv, 1.2 * (0.25 + 0.75 * e.len / $1) as kk
      from {entry} e where e.ctid = any(array(
        select c from (%s) z group by c order by sum(w) desc limit 400)) offset 0) x
    order by 2 desc limit $2', score, branches) using avgdl, k;
end $$
"""

Call = Callable[[int], str]  # the n-th question -> the plan that ran


class Searches:
    """Calls of ours, and the statements that plain tables would get."""

    def __init__(self, store: Store, index: Index) -> None:
        self.store, self.index, self.version = store, index, version_of(store).id
        self.entry = f"mucluc.entry_{self.version}_0"
        self.asked = questions(QUESTIONS)
        self.queries = {role: self._queries(role) for role in index.seen}
        with store.transaction() as connection:
            connection.execute("drop function if exists bench_bm25")
            connection.execute(BARE_TEXT.format(entry=self.entry))

    def _queries(self, role: str) -> Any:
        """Near entries; for documents that lie elsewhere near those of the other clusters."""
        draw = np.random.default_rng(11)
        own = round(CLUSTERS * ELSEWHERE.get(role, 0.0) / 100)
        near = draw.choice(np.flatnonzero(self.index.clusters >= own), QUESTIONS)
        noise = 0.02 * draw.standard_normal((QUESTIONS, DIMENSIONS))
        return (self.index.vectors[near] + noise).astype(np.float32)

    def query(self, role: str, number: int) -> Vector:
        return Vector(self.queries[role][number % QUESTIONS])

    def reader(self, role: str) -> Any:
        return read_as(self.store, Identity(tenant=TENANT, principals=(role,), as_of=DAY))

    def nearest(self, role: str, number: int) -> list[dict[str, Any]]:
        """Dense search as a role."""
        with self.reader(role) as reader:
            return self._dense(reader, role, number)

    def _dense(self, reader: Reader, role: str, number: int) -> list[dict[str, Any]]:
        return reader.dense(self.version, MODEL, self.query(role, number), DEPTH)

    def hybrid(self, role: str) -> Call:
        """A whole search but for embedding the question: identity, both retrievers, fused, read."""

        def call(n: int) -> str:
            with self.reader(role) as reader:
                version = reader.resolve("main")
                if version is None:
                    raise AssertionError("the alias points at a version")
                found = {
                    "dense": self._dense(reader, role, n),
                    "text": reader.text(version["version_id"], self.asked[n % QUESTIONS], DEPTH),
                }
                fused = fuse({k: [r["chunk_id"] for r in rows] for k, rows in found.items()})
                reader.read(version["version_id"], [chunk for chunk, _ in fused[:SHOWN]])
            return " + ".join(str(rows[0]["plan"]) if rows else "empty" for rows in found.values())

        return call

    def bare_dense(self, role: str, plan: str) -> Call:
        """The nearest entries by one statement: of all by the index, or exactly of a role's."""
        near = f"embedding::halfvec({DIMENSIONS}) <=> %(query)s::vector::halfvec({DIMENSIONS})"
        where = "hot" if plan == "hnsw" else "document_id = any(%(seen)s)"
        statement = f"select chunk_id from {self.entry} where {where} order by {near} limit {DEPTH}"
        seen = [self.index.documents[n] for n in np.flatnonzero(self.index.seen[role])]

        def call(n: int) -> str:
            with self.store.pool.connection() as connection:
                connection.execute("set local hnsw.ef_search = 200")
                if plan != "hnsw":
                    connection.execute("set local random_page_cost = 1.1")
                values = {"query": self.query(role, n), "seen": seen if plan != "hnsw" else None}
                # A generic plan would be worse, and the bare call has the best.
                connection.execute(statement, values, prepare=False).fetchall()
            return plan

        return call

    def bare_text(self, n: int) -> str:
        """Two-phase BM25 over all."""
        with self.store.pool.connection() as connection:
            connection.execute(
                "select * from bench_bm25(%s, %s)", (self.asked[n % QUESTIONS], DEPTH)
            ).fetchall()
        return "two-phase"


def _block(place: Server, call: Call, numbers: range) -> tuple[list[float], float]:
    """Milliseconds of each call, and processor milliseconds of all, the server's with them."""
    busy, taken = place.cpu_seconds(), []
    for number in numbers:
        begun = time.perf_counter()
        call(number)
        taken.append(1000 * (time.perf_counter() - begun))
    return taken, 1000 * (place.cpu_seconds() - busy)


def _speed(place: Server, searches: Searches, role: str, budget: float, pairs: int) -> list[Ratio]:
    """Blocks of ten questions in turn; hybrid by the sum of the two bare statements."""
    ours = searches.hybrid(role)
    plan = ours(0)
    bare = searches.bare_dense(role, plan.partition(" ")[0])
    middles, tails, busy = [], [], []
    told: dict[str, list[list[float]]] = {"hybrid": [], "bare dense": [], "bare text": []}
    # Once each, unmeasured: the first to ask reads the index from the disk for all.
    for number in range(QUESTIONS):
        for call in (ours, bare, searches.bare_text):
            call(number)
    number = 0
    for _ in range(pairs):
        times: list[list[float]] = [[], [], []]
        spent = [0.0, 0.0, 0.0]
        end, least = time.monotonic() + budget, number + 2 * BLOCK
        while time.monotonic() < end or number < least:
            numbers = range(number, number + BLOCK)
            for at, call in enumerate((ours, bare, searches.bare_text)):
                taken, processor = _block(place, call, numbers)
                times[at] += taken
                spent[at] += processor
            number += BLOCK
        p50 = [median(taken) for taken in times]
        p95 = [quantiles(taken, n=20)[-1] for taken in times]
        each = [total / len(taken) for total, taken in zip(spent, times, strict=True)]
        middles.append(p50[0] / (p50[1] + p50[2]))
        tails.append(p95[0] / (p95[1] + p95[2]))
        busy.append(each[0] / (each[1] + each[2]))
        for name, *values in zip(told, p50, p95, each, strict=True):
            told[name].append([round(value, 1) for value in values])
    name = f"hybrid, {role}% visible ({plan})"
    return [
        Ratio(
            name=f"{name}, p95",
            pairs=tuple(tails),
            aim=SLOWER,
            facts={"p50, p95, processor ms": told, "questions": number},
        ),
        Ratio(name=f"{name}, p50", pairs=tuple(middles)),
        Ratio(name=f"{name}, processor time", pairs=tuple(busy)),
    ]


def _recall(searches: Searches, role: str, count: int) -> Ratio:
    """Share of the ten nearest visible entries that the dense search has among its first ten."""
    index = searches.index
    visible = np.flatnonzero(index.seen[role][index.owners])
    # As stored: halves, of which the distance is taken too.
    stored = index.vectors[visible].astype(np.float16).astype(np.float32)
    lengths = np.linalg.norm(stored, axis=1)
    recalls, plans, taken = [], set(), []
    for number in range(count):
        asked = searches.queries[role][number].astype(np.float16).astype(np.float32)
        distance = -(stored @ asked) / lengths
        best = {index.ids[visible[n]] for n in np.argsort(distance)[:NEAREST]}
        begun = time.perf_counter()
        found = searches.nearest(role, number)
        taken.append(1000 * (time.perf_counter() - begun))
        plans |= {str(row["plan"]) for row in found}
        recalls.append(len(best & {row["chunk_id"] for row in found[:NEAREST]}) / len(best))
    return Ratio(
        name=f"recall@{NEAREST} of dense search, {role}% visible ({', '.join(sorted(plans))})",
        pairs=(mean(recalls),),
        aim=RECALL,
        higher_is_better=True,
        facts={"chunks": len(visible), "questions": count, "p50 ms": round(median(taken), 1)},
    )


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


def _clients(searches: Searches, role: str, budget: float, pairs: int) -> Ratio:
    ours = searches.hybrid(role)
    bare_dense = searches.bare_dense(role, ours(0).partition(" ")[0])

    def bare(n: int) -> str:
        return bare_dense(n) + searches.bare_text(n)

    rates = [(_throughput(ours, budget), _throughput(bare, budget)) for _ in range(pairs)]
    return Ratio(
        name=f"hybrid, {role}% visible, {CLIENTS} clients, searches/s",
        pairs=tuple(mine / theirs for mine, theirs in rates),
        higher_is_better=True,
        facts={
            "ours/s": [round(mine, 1) for mine, _ in rates],
            "bare/s": [round(theirs, 1) for _, theirs in rates],
        },
    )


@contextmanager
def _filled(place: Server, chunks: int, *, keep: bool) -> Iterator[tuple[Store, Index]]:
    """A store with the index; with ``keep`` the one of an earlier run, or one for later runs."""
    index = planned(chunks)
    note = place.home / "filled.json"
    wanted = {
        "chunks": chunks,
        "texts": index.texts,
        "roles": {**SHARES, **ELSEWHERE},
        "tables": shape(),
    }
    there = keep and note.exists() and json.loads(note.read_text("utf-8")) == wanted
    if not there:
        note.unlink(missing_ok=True)
    with place.kept_store("kept", afresh=not there) if keep else place.store() as store:
        begun = time.monotonic()
        if there:
            renew_functions(store)
        else:
            fill(store, index)
        if keep:
            note.write_text(json.dumps(wanted), "utf-8")
        taken = f"{'kept' if there else 'filled'}, {time.monotonic() - begun:.0f} s"
        print(f"{chunks} chunks of {index.texts} ({taken})", flush=True)
        yield store, index


def run(
    place: Server,
    *,
    chunks: int = CHUNKS,
    budget: float = 6.0,
    pairs: int = PAIRS,
    keep: bool = False,
) -> list[Ratio]:
    """Fill an index and compare; ``budget`` seconds for each round of each comparison."""
    with _filled(place, chunks, keep=keep) as (store, index):
        searches = Searches(store, index)
        found = []
        for role in ("100", "20", "1"):
            found += _speed(place, searches, role, budget, pairs)
        least = NEAREST / PER_DOCUMENT  # a role that sees fewer documents has no ten nearest
        for role, percent in {**SHARES, **ELSEWHERE}.items():
            if percent / 100 * len(index.documents) >= least:
                found.append(_recall(searches, role, 50))
        found.append(_clients(searches, "100", budget, pairs))
    return found


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--chunks", type=int, default=CHUNKS)
    parser.add_argument("--seconds", type=float, default=6.0, help="of each round")
    parser.add_argument("--pairs", type=int, default=PAIRS, help="rounds of each comparison")
    parser.add_argument("--json", type=Path, help="write the ratios to this file, too")
    parser.add_argument(
        "--database",
        type=Path,
        metavar="DIR",
        help="keep the filled database in this folder, and measure it again next time",
    )
    asked = parser.parse_args()
    busy = machine()
    print(busy, flush=True)
    with server(asked.database) as place:
        ratios = run(
            place,
            chunks=asked.chunks,
            budget=asked.seconds,
            pairs=asked.pairs,
            keep=asked.database is not None,
        )
    print(table(ratios))
    print(facts(ratios))
    if asked.json:
        found = {"machine": busy, "ratios": [ratio.to_json() for ratio in ratios]}
        asked.json.write_text(json.dumps(found, ensure_ascii=False, indent=2) + "\n", "utf-8")


if __name__ == "__main__":
    main()
