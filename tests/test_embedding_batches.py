"""The embed stage over a batch: full slices, and one bad text that sinks nobody else (I12)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from syncs import rows, search, sync

from enrich.hashing import HashingEmbedder
from enrich.models import Truncated, Vectors
from store.database import Store
from store.embeddings import add_embeddings
from store.errors import StoreError
from store.runs import open_run

BAD = "unwelcome"


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    folder = tmp_path / "docs"
    folder.mkdir()
    for number in range(12):
        (folder / f"n{number:02}.md").write_text(f"# Note {number}\n\nNumber {number} of twelve.\n")
    return folder


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """Texts of every call that embedded; a text with the bad word is refused."""
    seen: list[list[str]] = []
    embed = HashingEmbedder.embed_passages

    def watched(self: HashingEmbedder, texts: Sequence[str]) -> Vectors:
        if any("boom" in text for text in texts):
            raise ValueError("quotes the document")
        if any(BAD in text for text in texts):
            raise Truncated(600, 512)
        seen.append(list(texts))
        return embed(self, texts)

    monkeypatch.setattr(HashingEmbedder, "embed_passages", watched)
    return seen


def test_texts_of_many_small_documents_share_a_call(
    store: Store, docs: Path, calls: list[list[str]]
) -> None:
    report = sync(store, docs)
    made = [texts for texts in calls if any("of twelve" in text for text in texts)]
    assert report.embedded == 12
    assert [len(texts) for texts in made] == [12]


def test_equal_texts_of_a_batch_are_embedded_once(
    store: Store, docs: Path, calls: list[list[str]]
) -> None:
    for name in ("twin-a.md", "twin-b.md"):
        (docs / name).write_text("# Form\n\nThe same blank form.\n")
    report = sync(store, docs)
    assert report.documents["new"] == 14
    assert report.embedded == 13
    assert sum("blank form" in text for texts in calls for text in texts) == 1
    assert {"twin-a.md", "twin-b.md"} <= {c.uri for c in search(store, "blank form")}


@pytest.mark.parametrize(("word", "reason"), [(BAD, "too_long"), ("boom", "internal_error")])
def test_i12_one_refused_text_puts_its_document_aside_and_no_other(
    store: Store, docs: Path, calls: list[list[str]], word: str, reason: str
) -> None:
    (docs / "n05.md").write_text(f"# Bad\n\nThis is an {word} text.\n")
    report = sync(store, docs)
    assert report.documents["quarantined"] == 1
    assert [item["reason"] for item in report.quarantined] == [reason]
    assert report.truncated == (reason == "too_long")
    assert (report.documents["new"], report.embedded) == (11, 11)
    assert len({c.uri for c in search(store, "number twelve", k=20)}) == 11
    hints = rows(store, "select hint from mucluc.quarantine")
    assert "quotes" not in hints[0]["hint"]  # I10


def test_embeddings_that_somebody_wrote_meanwhile_are_left_out(store: Store) -> None:
    opened = open_run(store, kind="sync", lock_key="k")
    run = opened.id
    vectors = np.eye(4, dtype=np.float32)
    assert add_embeddings(store, run, "acme", "m", [b"a", b"b"], vectors[:2]) == 2
    assert add_embeddings(store, run, "acme", "m", [b"b", b"c", b"d"], vectors[1:]) == 2
    assert add_embeddings(store, run, "acme", "m", [b"e", b"e"], vectors[:2]) == 1
    opened.release()
    kept = rows(store, "select key, embedding::text from mucluc.embedding_memo order by key")
    assert [bytes(row["key"]) for row in kept] == [b"a", b"b", b"c", b"d", b"e"]
    assert kept[1]["embedding"] == "[0,1,0,0]"


def test_a_read_leaves_its_connection_as_it_was(store: Store) -> None:
    with store.reading() as connection:
        connection.execute("select 1")
    with pytest.raises(StoreError, match="22012"), store.reading() as connection:
        connection.execute("select 1 / 0")
    with store.transaction() as connection:
        assert not connection.autocommit
