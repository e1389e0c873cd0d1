"""I1: who searches while a sync runs sees each document as it was or as it is, and no error."""

from __future__ import annotations

import threading
from pathlib import Path

from syncs import TODAY, sync

from store.database import Store
from store.reader import Identity, Scope, read_as

DOCUMENTS, SECTIONS, ROUNDS = 12, 3, 6
ASKER = Identity(tenant="acme", principals=("role:staff",), as_of=TODAY)


def write(folder: Path, state: int) -> None:
    """Every document in a state: each of its sections names it. Every fifth comes and goes."""
    for number in range(DOCUMENTS):
        path = folder / f"note-{number}.md"
        if number % 5 == 4 and state % 2:
            path.unlink(missing_ok=True)
            continue
        sections = "".join(
            f"## Section {part}\n\nEverywhere state STATE_{state}_{number} of part {part}.\n\n"
            for part in range(SECTIONS)
        )
        path.write_text(f"# Note {number}\n\n{sections}", encoding="utf-8")


def look(store: Store, seen: set[int]) -> None:
    """Search both ways in one snapshot, and read everything that was found."""
    from enrich.embedders import load

    with read_as(store, ASKER) as reader:
        version = reader.resolve("main")
        if version is None:
            return
        id_ = version["version_id"]
        text = reader.text(id_, "everywhere state", 500)
        phrase = reader.text(id_, "everywhere", 500, Scope(phrases=("everywhere state",)))
        vector = load("hashing:64").embed_query("everywhere state")
        dense = reader.dense(id_, version["model"], vector, 500)
        chunks = {row["chunk_id"] for row in text}
        assert chunks == {row["chunk_id"] for row in phrase}
        assert chunks == {row["chunk_id"] for row in dense}
        shown = reader.read(id_, sorted(chunks))
    assert set(shown) == chunks
    parts: dict[str, list[str]] = {}
    for row in shown.values():
        parts.setdefault(row["uri"], []).append(row["text"])
    for texts in parts.values():
        whole = " ".join(texts)
        states = {word for word in whole.split() if word.startswith("STATE_")}
        assert len(states) == 1, "a document in two states"
        assert whole.count("STATE_") == SECTIONS, "half a document"
        seen.add(int(next(iter(states)).split("_")[1]))
    assert DOCUMENTS - DOCUMENTS // 5 <= len(parts) <= DOCUMENTS


def test_i1_searches_in_a_loop_during_syncs_see_whole_documents_and_no_error(
    store: Store, tmp_path: Path
) -> None:
    write(tmp_path, 0)
    sync(store, tmp_path)
    failures: list[BaseException] = []
    seen: set[int] = set()
    counts = [0, 0]
    ended = threading.Event()

    def search(place: int) -> None:
        try:
            while not ended.is_set():
                look(store, seen)
                counts[place] += 1
        except BaseException as exc:
            failures.append(exc)

    searchers = [threading.Thread(target=search, args=(place,)) for place in range(2)]
    for searcher in searchers:
        searcher.start()
    try:
        for state in range(1, ROUNDS + 1):
            write(tmp_path, state)
            sync(store, tmp_path)
    finally:
        ended.set()
        for searcher in searchers:
            searcher.join(60)
    assert failures == []
    assert min(counts) > 3
    assert len(seen) > 2, "the searches must meet the syncs"
    write(tmp_path, 0)
    last: set[int] = set()
    sync(store, tmp_path)
    look(store, last)
    assert last == {0}
