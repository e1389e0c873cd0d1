"""mucluc search: its options reach the search, its notes and trace say how it went."""

from __future__ import annotations

import json
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml
from syncs import sync
from test_cli import call

from search.request import RetrievalPolicy, SearchRequest, SearchTrace
from store.database import Store
from store.reader import Scope

STAFF = ("--tenant", "acme", "--as", "role:staff")


def write(folder: Path, name: str, text: str, **metadata: Any) -> None:
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(text)
    (folder / f"{name}.meta.yaml").write_text(yaml.safe_dump({"language": "en"} | metadata))


@pytest.fixture
def asked(
    monkeypatch: pytest.MonkeyPatch,
) -> list[tuple[SearchRequest, RetrievalPolicy, dict[str, Any]]]:
    """What reaches the search, which finds nothing."""
    found: list[tuple[SearchRequest, RetrievalPolicy, dict[str, Any]]] = []

    def retrieve(store: Store, request: Any, policy: Any, load: Any, **helpers: Any) -> Any:
        found.append((request, policy, helpers))
        return [], SearchTrace(version="v1", warnings=["dense: the embedder failed (x)"])

    monkeypatch.setattr("search.retrieval.retrieve", retrieve)
    return found


@pytest.mark.usefixtures("here")
def test_every_filter_reaches_the_search(asked: list[Any]) -> None:
    done = call(
        "search", "x", *STAFF, "--collection", "hr", "--source", "a", "--source", "b",
        "--language", "vi", "--kind", "table", "--meta", "department=hr", "--meta", "department=it",
        "--meta", "site = Hà Nội", "--holds-from", "2026-01-01", "--holds-to", "2026-12-31",
        "--version", "v2", "--no-dense", "--index", "other@canary", "--as-of", "2026-05-01",
    )  # fmt: skip
    assert done.exit_code == 0, done.output
    assert "Note: dense: the embedder failed (x)" in done.output
    request, policy, _ = asked[0]
    assert request.scope == Scope(
        collections=("hr",), sources=("a", "b"), languages=("vi",), kinds=("table",),
        metadata={"department": ("hr", "it"), "site": ("Hà Nội",)},
        holds_from=date(2026, 1, 1), holds_to=date(2026, 12, 31),
    )  # fmt: skip
    assert (request.version, request.index, request.alias) == ("v2", "other", "canary")
    assert (policy.dense, policy.text, policy.trace_text) == (False, True, False)


@pytest.mark.usefixtures("here")
def test_the_settings_of_search_reach_it(asked: list[Any]) -> None:
    Path("words.yaml").write_text("PTO: [paid time off]\n")
    Path("mucluc.toml").write_text(
        '[search]\nglossary = "words.yaml"\nvariants = 1\nseconds = 2.5\ntrace_text = true\nk = 7\n'
    )
    assert call("search", "x", *STAFF).exit_code == 0
    _, policy, helpers = asked[0]
    assert (policy.variants, policy.seconds, policy.trace_text, policy.k) == (1, 2.5, True, 7)
    assert helpers["glossary"].others("acme", ("PTO",)) == ("paid time off",)
    assert "reranker" not in helpers


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("x", "--meta", "hr"), "KEY=VALUE"),
        (("x", "--no-dense", "--no-text"), "nothing to search with"),
        (("x", "--holds-from", "2026-02-01", "--holds-to", "2026-01-01"), "later"),
        (("--", "-lương"), "leave out"),
        (("x", "--rerank", "nobody/no-such-model"), "hf download"),
        (("x", "--version", "v9"), "no version of this name"),
    ],
)
@pytest.mark.usefixtures("here")
def test_wrong_use_is_said(arguments: tuple[str, ...], words: str) -> None:
    done = call("search", *STAFF, *arguments)
    assert (done.exit_code, words in " ".join(done.output.split())) == (2, True), done.output


@pytest.mark.usefixtures("here")
def test_an_unknown_index_or_alias_is_answered_with_those_there_are(
    store: Store, tmp_path: Path
) -> None:
    write(tmp_path / "docs", "note.md", "# Note\n\nWords.\n")
    empty = call("search", "x", *STAFF, "--index", "english")
    assert (empty.exit_code, "--index english" in " ".join(empty.output.split())) == (1, True)
    sync(store, tmp_path / "docs")
    sync(store, tmp_path / "docs", index="german", source="more")
    why = ("--expect", "note.md")
    for command, more in (("search", ()), ("why", why), ("versions", None), ("backfill", None)):
        asked = (command, "x", *STAFF, *more) if more is not None else (command,)
        named = ("english",) if command == "versions" else ("--index", "english")
        said = " ".join(call(*asked, *named).output.split())
        assert "german, main" in said, said
    for command, more in (("search", ()), ("why", why)):
        done = call(command, "x", *STAFF, *more, "--index", "main@canary")
        assert done.exit_code == 2
        assert "no alias canary. It has: active." in " ".join(done.output.split())


@pytest.mark.usefixtures("here")
def test_a_wrong_glossary_names_its_file_and_line() -> None:
    Path("mucluc.toml").write_text('[search]\nglossary = "words.yaml"\n')
    Path("words.yaml").write_text("PTO: [a]\nSLA: []\n")
    done = call("search", "x", *STAFF)
    assert done.exit_code == 2
    assert "words.yaml, line 2" in " ".join(done.output.split())


def test_results_say_how_they_stand_today_and_the_trace_how_they_were_found(
    here: dict[str, str],
    store: Store,
    tmp_path: Path,
) -> None:
    folder, today = tmp_path / "docs", date.today()  # the command knows no other day
    last, next_year = today - timedelta(400), today + timedelta(400)
    write(folder, "ended.md", "# Fee\n\nThe fee is one.\n", valid_to=last)
    write(folder, "renewed.md", "# Fee\n\nThe fee is two.\n")
    write(folder, "open.md", "# Fee\n\nThe fee is three.\n")
    sync(store, folder)
    write(folder, "renewed.md", "# Fee\n\nThe fee is four.\n", valid_from=last + timedelta(1))
    write(folder, "later.md", "# Fee\n\nThe fee is five.\n", valid_from=next_year)
    sync(store, folder)

    def stand(day: date) -> dict[str, str]:
        done = call("search", "fee", *STAFF, "--as-of", day.isoformat(), "--json")
        assert done.exit_code == 0, done.output
        return {row["uri"]: row["today"] for row in json.loads(done.stdout)["results"]}

    assert stand(last) == {"ended.md": "expired", "renewed.md": "superseded", "open.md": "in_force"}
    assert stand(today) == {"renewed.md": "in_force", "open.md": "in_force"}
    assert stand(next_year)["later.md"] == "to_come"
    shown = call("search", "fee", *STAFF, "--as-of", last.isoformat(), "--trace")
    plain = " ".join(shown.output.split())
    assert "expired by today" in plain and "superseded by a newer revision today" in plain
    assert "How the search went" in plain and "direct" in plain and "milliseconds" in plain
    done = call("search", "fee zebra", *STAFF, "--trace", "--json")
    trace = json.loads(done.stdout)["trace"]
    assert {r["retriever"] for r in trace["rankings"]} == {"dense", "text"}
    assert "zebra" not in json.dumps(trace)
    nobody = call("search", "fee", "--tenant", "acme", "--as", "role:x", "--trace", "--json")
    found = json.loads(nobody.stdout)
    assert found["results"] == found["trace"]["fused"] == []
