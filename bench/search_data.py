"""An index of 100,000 chunks: real text recombined, clustered vectors, who sees how much of it."""

from __future__ import annotations

import hashlib
import json
import random
import re
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import psycopg
from numpy.typing import NDArray
from pgvector import Vector
from psycopg.types.json import Jsonb

from bench.corpus import paragraph
from store.database import Store
from store.runs import open_run
from store.versions import Version, active_version, build_indexes, refresh_statistics

ROOT = Path(__file__).resolve().parents[1]
SCHEMA = ROOT / "schema.sql"
TABLE = re.compile(r"^create (?:table|type|unique index|index) .*?;$", re.MULTILINE | re.DOTALL)
FUNCTION = re.compile(
    r"^create function .*?(?:^return\b.*?;|\$\$.*?\$\$;)$", re.MULTILINE | re.DOTALL
)
RETRIEVAL = ROOT.parent / "shared" / "cases" / "retrieval"

CHUNKS, PER_DOCUMENT, DIMENSIONS, CLUSTERS = 100_000, 10, 384, 500
WORDS = 145  # of a chunk, about
VIETNAMESE = 5  # every fifth document
TENANT, MODEL, DAY = "bench", "bench-model", date(2026, 6, 1)

# Percent of the documents that a role sees: anywhere, or in the first clusters alone, while the
# questions come from the others.
SHARES = {
    "100": 100.0, "50": 50.0, "20": 20.0, "10": 10.0, "1": 1.0, "0.1": 0.1, "0.01": 0.01,
}  # fmt: skip
ELSEWHERE = {f"{percent} elsewhere": float(percent) for percent in (50, 20, 10, 1)}


@dataclass(frozen=True, slots=True)
class Index:
    """What was written. ``owners`` and ``clusters`` are of the chunks, by their place."""

    ids: list[uuid.UUID]
    vectors: NDArray[np.float32]
    owners: NDArray[np.int64]  # place of a chunk's document
    clusters: NDArray[np.int64]
    documents: list[uuid.UUID]
    seen: dict[str, NDArray[np.bool_]]  # by role, for each document
    texts: str  # where the sentences are from


def sentences() -> tuple[dict[str, list[list[str]]], str]:
    """Sentences of real passages by language, in the groups they stand in, and where from."""
    files = {
        "en": ("tatqa", "xquad_en", "anthropic_codebase"),
        "vi": ("vi_legal", "xquad_vi"),
    }
    if RETRIEVAL.is_dir():
        found: dict[str, list[list[str]]] = {
            language: [
                cut
                for name in names
                for line in (RETRIEVAL / name / "docs.jsonl").read_text("utf-8").splitlines()
                for passage in json.loads(line)["passages"]
                if (cut := _cut(passage["text"]))
            ]
            for language, names in files.items()
        }
        return found, "shared cases"
    draw = random.Random(5)
    made = {language: [_cut(paragraph(draw, language)) for _ in range(3000)] for language in files}
    return made, "made-up policies"


def _cut(text: str) -> list[str]:
    """Sentences and lines of three words or more, each at most 60 words long."""
    parts = re.split(r"(?<=[.!?;:])\s+|\n+", text)
    return [" ".join(p.split()[:60]) for p in parts if len(p.split()) >= 3]


def texts(chunks: int) -> tuple[Iterator[str], str]:
    """Texts of about 145 words: up to four sentences of one passage, the rest from anywhere."""
    groups, source = sentences()

    def draw_all() -> Iterator[str]:
        for number in range(chunks):
            place = number // PER_DOCUMENT
            draw = random.Random(number)
            pool = groups["vi" if place % VIETNAMESE == 0 else "en"]
            parts = list(draw.choice(pool))[:4]
            draw.shuffle(parts)
            words = sum(len(p.split()) for p in parts)
            while words < WORDS:
                part = draw.choice(draw.choice(pool))
                parts.append(part)
                words += len(part.split())
            if draw.random() < 0.2:
                parts.append(f"Mã ERR_{draw.randrange(1000, 9999)}, BH-{draw.randrange(1, 999)}.")
            yield " ".join(parts)

    return draw_all(), source


def questions(count: int) -> list[str]:
    """Real questions, every fifth in Vietnamese; where there are none, words of a text."""
    found: list[str] = []
    if RETRIEVAL.is_dir():
        pools = {
            name: [
                json.loads(line)["query"]
                for line in (RETRIEVAL / name / "queries.dev.jsonl").read_text("utf-8").splitlines()
            ]
            for name in ("tatqa", "xquad_en", "xquad_vi", "vi_legal")
        }
        draw = random.Random(11)
        for number in range(count):
            names = ("xquad_vi", "vi_legal") if number % VIETNAMESE == 0 else ("tatqa", "xquad_en")
            found.append(draw.choice(pools[names[number // VIETNAMESE % 2]]))
        return found
    drawn, _ = texts(count * PER_DOCUMENT)
    return [
        " ".join(random.Random(number).sample(text.split(), 8))
        for number, text in enumerate(drawn)
        if number % PER_DOCUMENT == 0
    ]


def vectors_of(chunks: int) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """Unit vectors around the centres of clusters, a document's mostly around one."""
    draw = np.random.default_rng(7)
    centres = draw.standard_normal((CLUSTERS, DIMENSIONS)).astype(np.float32)
    of_document = draw.integers(0, CLUSTERS, (chunks - 1) // PER_DOCUMENT + 1)
    clusters = np.repeat(of_document, PER_DOCUMENT)[:chunks]
    found = centres[clusters]
    for begin in range(0, chunks, 10_000):
        part = found[begin : begin + 10_000]
        part += 0.7 * draw.standard_normal(part.shape).astype(np.float32)
        part /= np.linalg.norm(part, axis=1, keepdims=True)
    return found, clusters


def roles_of(documents: int, of_document: NDArray[np.int64]) -> dict[str, NDArray[np.bool_]]:
    """Which documents each role sees; at least one."""
    order = np.random.default_rng(9).permutation(documents)
    seen = {}
    for role, percent in SHARES.items():
        chosen = np.zeros(documents, dtype=bool)
        chosen[order[: max(1, round(documents * percent / 100))]] = True
        seen[role] = chosen
    for role, percent in ELSEWHERE.items():
        seen[role] = of_document < max(1, round(CLUSTERS * percent / 100))
    return seen


def planned(chunks: int = CHUNKS) -> Index:
    """What ``fill`` writes; the same each time, so that a kept database need not be asked."""
    draw = random.Random(7)
    vectors, clusters = vectors_of(chunks)
    count = (chunks - 1) // PER_DOCUMENT + 1
    documents = [uuid.UUID(int=draw.getrandbits(128)) for _ in range(count)]
    ids = [uuid.UUID(int=draw.getrandbits(128)) for _ in range(chunks)]
    owners = np.arange(chunks) // PER_DOCUMENT
    seen = roles_of(count, clusters[::PER_DOCUMENT])
    return Index(ids, vectors, owners, clusters, documents, seen, sentences()[1])


def fill(store: Store, index: Index) -> None:
    """Write documents, chunks and entries straight into the tables by COPY, then index them."""
    ids, documents, owners, seen = index.ids, index.documents, index.owners, index.seen
    drawn, _ = texts(len(ids))
    opened = open_run(store, kind="sync", lock_key="bench")
    with store.transaction(opened.id) as connection, connection.cursor() as cursor:
        version = cursor.execute(
            "insert into mucluc.index_version (index_name, name, recipe, chunking_id, context_id,"
            " model, dimensions) values ('main', 'v1', %s, 'c', 'x', %s, %s) returning *",
            (Jsonb({"model": MODEL}), MODEL, DIMENSIONS),
        ).fetchone()
        if version is None:
            raise AssertionError("insert returns a row")
        cursor.execute("select mucluc.open_partition(%s)", (version["id"],))
        allowed = [tuple(sorted(r for r in seen if seen[r][at])) for at in range(len(documents))]
        acls: dict[tuple[str, ...], Any] = {}
        for roles in sorted(set(allowed)):
            row = cursor.execute(
                "insert into mucluc.acl_set (tenant, principals) values (%s, %s) returning id",
                (TENANT, list(roles)),
            ).fetchone()
            acls[roles] = row and row["id"]

        def copy(statement: str, rows: Iterator[tuple[Any, ...]]) -> None:
            with cursor.copy(f"copy mucluc.{statement} from stdin") as out:
                for row in rows:
                    out.write_row(row)

        copy(
            "document (id, tenant, source, uri, acl_id, acl_stated)",
            ((d, TENANT, "s", f"d{n}", acls[allowed[n]], True) for n, d in enumerate(documents)),
        )
        copy(
            "revision (id, document_id, sequence, content_sha256, raw_sha256, metadata_sha256,"
            " suffix, bytes, title, seen_on)",
            (
                (d, d, 1, b"c", b"r", b"m", ".md", 1, f"Document {n}", DAY)
                for n, d in enumerate(documents)
            ),
        )
        copy(
            "chunk (id, document_id, heading_path, text, kinds, tokens)",
            (
                (
                    c,
                    documents[owners[n]],
                    ["Section"],
                    text,
                    ["table" if n % 8 == 0 else "text"],
                    200,
                )
                for n, (c, text) in enumerate(zip(ids, drawn, strict=True))
            ),
        )
        copy(
            "revision_chunk (revision_id, cut_id, ordinal, chunk_id, char_start, char_end)",
            ((documents[owners[n]], "cut", n % PER_DOCUMENT, c, 0, 1) for n, c in enumerate(ids)),
        )
        sizes = np.bincount(owners)
        copy(
            "published (version_id, revision_id, document_id, cut_id, n_chunks, valid)",
            ((version["id"], d, d, "cut", int(sizes[n]), "(,)") for n, d in enumerate(documents)),
        )
        cursor.execute("create temp table vectors (id uuid, v public.vector) on commit drop")
        with cursor.copy("copy vectors from stdin (format binary)") as out:
            out.set_types(["uuid", "vector"])
            for chunk, vector in zip(ids, index.vectors, strict=True):
                out.write_row((chunk, Vector(vector)))
        cursor.execute(
            "insert into mucluc.entry (chunk_id, version_id, tenant, document_id, embedding, tsv,"
            " len, input_sha256) select c.id, %s, %s, c.document_id, x.v::halfvec, l.tsv,"
            " mucluc.lexeme_count(l.tsv), '' from vectors x join mucluc.chunk c using (id),"
            " lateral (select mucluc.entry_lexemes('', null, '{}', c.text) as tsv) l",
            (version["id"], TENANT),
        )
        cursor.execute(
            "with p as (insert into mucluc.promotion (index_name, alias, to_version, kind, gates,"
            " passed) values ('main', 'active', %s, 'bootstrap', '{}', true) returning id)"
            " insert into mucluc.alias select 'main', 'active', %s, p.id from p",
            (version["id"], version["id"]),
        )
        cursor.execute(
            "insert into mucluc.version_stat (version_id, tenant, part, n, total_len, stale)"
            " values (%s, %s, 0, 0, 0, true)",
            (version["id"], TENANT),
        )
    refresh_statistics(store, opened.id, version["id"], TENANT)
    opened.release()
    build_indexes(store, version_of(store))
    with psycopg.connect(store.url, autocommit=True) as plain:
        plain.execute("vacuum analyze")


def version_of(store: Store) -> Version:
    """The version that was filled."""
    found = active_version(store, "main")
    if found is None:
        raise AssertionError("the alias points at it")
    return found


def shape() -> str:
    """A hash of the tables, types and indexes of schema.sql: a kept database must have these."""
    return hashlib.sha256("".join(TABLE.findall(SCHEMA.read_text("utf-8"))).encode()).hexdigest()


def renew_functions(store: Store) -> None:
    """Put the functions of schema.sql, as they are now, into a kept database of the same tables."""
    text = SCHEMA.read_text("utf-8")
    rights = text[text.index("revoke all on all tables") :]
    with psycopg.connect(store.url) as connection:
        connection.execute("set local search_path = mucluc, public, pg_temp")
        for found in FUNCTION.findall(text):
            connection.execute(found.replace("create function", "create or replace function", 1))
        connection.execute(rights)
