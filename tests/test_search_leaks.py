"""I5: whatever helps a search (variants, twins, reranking, fallbacks) shows only what may be seen."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any
from uuid import UUID

import numpy as np
import psycopg
import pytest
import worlds
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from worlds import MAIN, OTHER, Asker, World

from enrich.embedders import load
from enrich.models import EmbeddingFailed
from search.glossary import Glossary, Term
from search.request import (
    Candidate,
    NoSuchVersion,
    RetrievalPolicy,
    SearchRequest,
    SearchTrace,
)
from search.retrieval import retrieve
from search.standing import standings
from store import embedded
from store.database import Store, open_store
from store.reader import Scope

SECONDS = 25
SAME = "everywhere the same words stand"
TABLES = ("document", "alias", "promotion", "acl_set", "lexeme_stat", "version_stat")

# The tenants' terms lead to each other's words: an expansion must open nothing.
GLOSSARY = Glossary(
    [Term(term="ABC", means=(worlds.COMMON, "mark0000", "mark0001"), two_way=True)],
    {"globex": [Term(term="ABC", means=("mark0002 mark0003",))]},
)


class Model:
    """An embedder of the worlds' model: any question points the same way."""

    def __init__(self, fails: bool = False) -> None:
        self.tokenizer = load("hashing:8").tokenizer
        self.fails = fails
        self.card = _Card()

    def embed_passages(self, texts: Sequence[str]) -> Any:
        raise NotImplementedError

    def embed_query(self, text: str) -> Any:
        if self.fails:
            raise EmbeddingFailed("server_error", transient=True)
        return np.array([0.5, -0.5, 0.5, 0.5, 0, 0, 0, 0], dtype=np.float32)


class _Card:
    fingerprint = "model"


class Reversed:
    """A reranker that turns the order around, and remembers what it was shown."""

    def __init__(self) -> None:
        self.texts: list[str] = []

    def score(self, query: str, texts: Sequence[str]) -> list[float]:
        self.texts += texts
        return [float(n) for n in range(len(texts))]


class Writer:
    def write(self, request: SearchRequest) -> list[str]:
        return [worlds.COMMON, "mark0000 mark0001 mark0002 mark0003 mark0004"]


@pytest.fixture(scope="module")
def ground(server: str) -> Iterator[tuple[Store, list[int]]]:
    name = "search_leaks"
    with psycopg.connect(server, autocommit=True) as admin:
        admin.execute(f"drop database if exists {name} with (force)")  # type: ignore[arg-type]
        admin.execute(f"create database {name} template fresh")  # type: ignore[arg-type]
    url = embedded.beside(server, name)
    with psycopg.connect(url) as connection:
        versions = worlds.open_versions(connection)
    with open_store(url, b"s" * 32, max_connections=4) as store:
        yield store, versions


def ids_of(found: Sequence[Candidate], trace: SearchTrace) -> set[UUID]:
    """Every chunk id that came out, wherever."""
    ids = {c.chunk_id for c in found} | {twin for c in found for twin in c.duplicates}
    ids |= {chunk for r in trace.rankings for chunk, _ in r.chunks}
    ids |= {chunk for chunk, _ in (*trace.fused, *trace.reranked)}
    return ids | set(trace.collapsed) | set(trace.collapsed.values())


def check(
    store: Store, world: World, asker: Asker, versions: list[int], query: str, policy: RetrievalPolicy,
    fails: bool, same: bool,
) -> None:  # fmt: skip
    expected = worlds.visible(world, asker, versions)
    for slot, index in ((MAIN, "main"), (OTHER, "other")):
        asked = SearchRequest(
            query=query, tenant=asker.tenant, principals=asker.principals, as_of=asker.as_of,
            index=index, scope=asker.scope,
        )  # fmt: skip
        allowed = set(expected.searched[slot])
        reranker = Reversed()
        found, trace = retrieve(
            store, asked, policy, lambda name: Model(fails),  # type: ignore[arg-type, return-value]
            glossary=GLOSSARY, writer=Writer(), reranker=reranker,
        )  # fmt: skip
        assert ids_of(found, trace) <= allowed
        if (policy.dense and not fails) or worlds.COMMON in query:
            shown = {c.chunk_id for c in found} | {t for c in found for t in c.duplicates}
            assert shown == allowed, "and all of it"
        marks = {d.mark for d in world.documents if not _sees(d, expected.documents)}
        if not same:
            said = json.dumps(trace.to_json()) + "".join(reranker.texts)
            assert not [mark for mark in marks if mark in said]
        assert set(standings(store, asked, found, worlds.FIRST_DAY).values()) <= {
            "in_force", "expired", "superseded", "to_come",
        }  # fmt: skip
    # A version by its name shows no more than an alias does, whatever its state.
    for slot, name in enumerate(("v0", "v1", "v2", "v3")):
        asked = replace(asked, version=name, index="other" if slot == OTHER else "main")
        try:
            found, trace = retrieve(
                store,
                asked,
                policy,
                lambda name: Model(fails),  # type: ignore[arg-type, return-value]
            )
        except NoSuchVersion:
            assert slot == worlds.RETIRED
            continue
        assert ids_of(found, trace) <= set(expected.searched[slot])


def _sees(document: worlds.Document, ids: frozenset[UUID]) -> bool:
    return document.id in ids


def test_i5_variants_twins_reranking_and_fallbacks_show_only_what_may_be_seen(
    ground: tuple[Store, list[int]],
) -> None:
    store, versions = ground
    began = time.monotonic()
    checked, failed, seen = 0, False, 0

    @settings(
        max_examples=60, deadline=None, database=None,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
    )  # fmt: skip
    @given(
        worlds.worlds,
        st.lists(worlds.askers, min_size=1, max_size=2),
        st.sampled_from(
            [worlds.COMMON, f"{worlds.COMMON} ABC", "ABC please", '"nowhere at all"', "mark0001",
             f"{worlds.COMMON} -nothing"]
        ),
        st.sampled_from([(True, True), (True, True), (True, False), (False, True)]),
        st.booleans(),
        st.booleans(),
    )  # fmt: skip
    def run(
        world: World, askers: list[Asker], query: str, halves: tuple[bool, bool], fails: bool, same: bool
    ) -> None:  # fmt: skip
        nonlocal checked, failed, seen
        if not failed and time.monotonic() - began > SECONDS:
            return
        dense, text = halves
        fails = fails and text  # else there is nobody left to answer
        first = world.documents[0]
        named = tuple(entry for entry in first.acl or () if not entry.startswith("!"))
        askers = [*askers, Asker(first.tenant, named, askers[0].as_of, Scope())]
        if same:  # then no chunk holds the words that the model of phrases knows of
            askers = [
                replace(asker, scope=replace(asker.scope, phrases=(), without=()))
                for asker in askers
            ]
        policy = RetrievalPolicy(k=100, depth=100, dense=dense, text=text, rerank_depth=100)
        try:
            with psycopg.connect(store.url) as connection:
                worlds.write(connection, world, versions)
                if same:
                    connection.execute("update mucluc.chunk set text = %s", [SAME])
            for asker in askers:
                check(store, world, asker, versions, query, policy, fails, same)
                seen += bool(worlds.visible(world, asker, versions).searched[MAIN])
        except BaseException:
            failed = True
            raise
        finally:
            with psycopg.connect(store.url) as connection:
                for table in TABLES:
                    connection.execute(f"delete from mucluc.{table}")  # type: ignore[arg-type]
        checked += 1

    run()
    assert checked >= 10 and seen >= checked // 3
