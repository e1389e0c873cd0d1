"""Documents go through the stages a portion at a time, and leave it one at a time (I1, I9, I12)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from syncs import backfill, content, rows, search, sync

from flows import stages, writing
from parsers.elements import Unreadable
from store.database import Store
from store.keys import key_id
from store.places import keyed_hash
from store.runs import open_run
from store.stages import Cutting, add_chunks, chunk_ids, read_revision

OTHERS = {f"n{n}.md" for n in range(8)} - {"n3.md"}


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    folder = tmp_path / "docs"
    folder.mkdir()
    for n in range(8):
        (folder / f"n{n}.md").write_text(
            f"# Ghi chú {n}\n\nMã N-{n:03} là số {n}.\n\n## Terms\n\nClause {n} holds.\n"
        )
    return folder


def shown(store: Store, version: int = 2) -> set[str]:
    return {
        row["uri"]
        for row in rows(
            store,
            "select d.uri from mucluc.published p join mucluc.document d on d.id = p.document_id"
            " where p.version_id = %s",
            version,
        )
    }


def whole(store: Store, version: int = 2) -> bool:
    """Whether every chunk of every published revision has its entry, and no other chunk has (I1)."""
    placed = rows(
        store,
        "select rc.chunk_id from mucluc.published p join mucluc.revision_chunk rc"
        " on rc.revision_id = p.revision_id and rc.cut_id = p.cut_id where p.version_id = %s"
        " order by 1",
        version,
    )
    held = rows(
        store, "select chunk_id from mucluc.entry where version_id = %s order by 1", version
    )
    return placed == held and bool(held)


def execute(store: Store, statement: str, *values: Any) -> None:
    with store.transaction() as connection:
        connection.execute(statement, values)  # type: ignore[arg-type]


@pytest.mark.parametrize("stage", ["parse", "chunk", "contextualize", "embed", "write"])
def test_a_document_that_is_deleted_meanwhile_leaves_its_batch_alone(
    store: Store, docs: Path, stage: str
) -> None:
    sync(store, docs)

    def delete(at: str) -> None:
        if at == stage:
            execute(store, "delete from mucluc.document where uri = %s", "n3.md")

    # Another chunking, so that every stage has something to write.
    report = backfill(store, delete, model="hashing:32", body_budget=40)
    assert (report.failed, report.missing) == ((), 0)
    assert report.not_transferable == ()
    assert shown(store) == OTHERS
    assert whole(store)


def test_i1_a_revision_that_lacks_a_vector_is_not_shown_and_holds_up_no_other(
    store: Store, docs: Path
) -> None:
    sync(store, docs)

    def forget(at: str) -> None:
        if at == "write":
            execute(
                store,
                "delete from mucluc.embedding_memo m using mucluc.context k, mucluc.chunk c,"
                " mucluc.document d where m.key = k.embedding_key and c.id = k.chunk_id"
                " and d.id = c.document_id and d.uri = %s and c.text like %s and m.model ="
                " (select model from mucluc.index_version where id = 2)",
                "n3.md",
                "%Clause%",
            )

    report = backfill(store, forget, model="hashing:32")
    assert [item["reason"] for item in report.not_transferable] == ["internal_error"]
    assert shown(store) == OTHERS
    assert whole(store), "nothing of the document that lacks a vector is in the version"
    assert backfill(store, model="hashing:32").missing == 0
    assert shown(store) == OTHERS | {"n3.md"}
    assert whole(store)


def test_i9_what_is_erased_meanwhile_is_left_out_of_its_portion(store: Store, docs: Path) -> None:
    sync(store, docs)

    def erase(at: str) -> None:
        if at == "write":
            execute(
                store,
                "with e as (insert into mucluc.erasure (id, tenant, requester, reason)"
                " values (gen_random_uuid(), 'acme', 'x', 'y') returning id)"
                " insert into mucluc.tombstone (tenant, kind, key_id, hash, erasure_id)"
                " select 'acme', 'uri', %s, %s, id from e",
                key_id(store.keys.tombstone),
                keyed_hash(store.keys.tombstone, "acme", "uri", b"n3.md"),
            )

    backfill(store, erase, model="hashing:32")
    assert shown(store) == OTHERS
    assert whole(store)


def test_i12_what_cannot_be_cut_is_put_aside_and_its_portion_is_written(
    store: Store, docs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    honest = stages.chunk

    def chunk(elements: Any, **more: Any) -> Any:
        if any("N-003" in element.text for element in elements):
            raise Unreadable("no_text")
        return honest(elements, **more)

    monkeypatch.setattr(stages, "chunk", chunk)
    report = sync(store, docs)
    assert [item["reason"] for item in report.quarantined] == ["no_text"]
    assert shown(store, 1) == OTHERS
    assert whole(store, 1)
    monkeypatch.setattr(stages, "chunk", honest)
    assert search(store, "N-004")[0].uri == "n4.md"


def test_i7_the_size_of_a_portion_does_not_matter(
    store: Store, docs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sync(store, docs)
    (docs / "n1.md").write_text("# Ghi chú 1\n\nMã N-901.\n\n## Terms\n\nClause 1 holds.\n")
    sync(store, docs)  # a document with two revisions, which share a chunk
    backfill(store, model="hashing:32", name="large")
    monkeypatch.setattr(writing, "PUBLISHED_AT_ONCE", 1)
    backfill(store, model="hashing:32", name="small")
    found = content(store)
    assert found
    for table in ("entry", "published"):
        large, small = (
            rows(
                store,
                f"select to_jsonb(x) - 'version_id' as row from mucluc.{table} x"
                " where version_id = %s order by 1",
                version,
            )
            for version in (2, 3)
        )
        assert large == small, table


def test_a_portion_costs_one_transaction_a_stage(
    store: Store, docs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sync(store, docs)
    honest = Store.transaction
    at, commits = "", Counter[str]()

    @contextmanager
    def counted(self: Store, run_id: int | None = None) -> Iterator[Any]:
        if run_id is not None:
            commits[at] += 1
        with honest(self, run_id) as connection:
            yield connection

    def begin(stage: str) -> None:
        nonlocal at
        at = stage

    monkeypatch.setattr(Store, "transaction", counted)
    backfill(store, begin, model="hashing:32", body_budget=40)
    del commits["index"]
    assert commits == {"chunk": 1, "contextualize": 1, "embed": 1, "write": 1}


def test_chunks_of_a_document_that_is_gone_are_passed_over(store: Store, docs: Path) -> None:
    sync(store, docs)
    ids = {row["uri"]: row["id"] for row in rows(store, "select d.uri, r.id from mucluc.revision r"
                                                 " join mucluc.document d on d.id = r.document_id")}  # fmt: skip
    from chunkers.chunk import Chunk

    made = Chunk(
        text="Điều 1", heading_path=("A", "B"), char_start=0, char_end=6, page_start=None,
        page_end=2, kinds=("text",), tokens=2,
    )  # fmt: skip
    cuttings = []
    for uri in ("n3.md", "n4.md"):
        revision = read_revision(store, ids[uri])
        new = chunk_ids(revision.document_id, "other", [made])
        cuttings.append(Cutting(revision=revision, cut="other", ids=new, chunks=[made]))
    execute(store, "delete from mucluc.document where uri = 'n3.md'")
    run = open_run(store, kind="sync", lock_key="k")
    assert add_chunks(store, run.id, cuttings) == (1, 2)
    assert add_chunks(store, run.id, cuttings) == (0, 0)
    run.release()
    kept = rows(store, "select heading_path, kinds, cells, added from mucluc.chunk where tokens = 2"
                " and text = 'Điều 1'")  # fmt: skip
    assert kept == [{"heading_path": ["A", "B"], "kinds": ["text"], "cells": None, "added": []}]
