"""Words and tables as people read them: counts, parts of a recipe, one zone, nothing cut."""

from __future__ import annotations

from datetime import UTC, datetime
from io import StringIO
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from rich.console import Console
from syncs import backfill, rows, sync
from test_cli import call

from evals.columns import Figures
from evals.tables import GOLDEN, golden_table
from store.database import Store
from store.runs import INTERRUPTED, open_run
from store.words import count, local, parts

STAFF = ("--tenant", "acme", "--as", "role:staff")


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    folder = tmp_path / "docs"
    folder.mkdir()
    (folder / "leave.md").write_text("# Leave\n\nFourteen days of leave.\n")
    return folder


def test_one_is_not_many() -> None:
    assert count(1, "revision") == "1 revision"
    assert count(0, "revision") == "0 revisions"
    assert count(1200, "entry", "entries") == "1,200 entries"


def test_what_differs_between_recipes_is_told_in_words() -> None:
    ours = {"chunking": {"version": 2, "body_budget": 160, "tokenizer": "a"}}
    names = ("chunking_id", "context_id", "fingerprint", "parsers.word", "parsers.excel")
    assert parts(names) == "model, chunking, contexts, parsers of word, excel"
    assert parts(("parsers.pdf",)) == "parser of pdf"
    assert parts(()) == ""
    for changed, said in (
        ({"body_budget": 220}, "chunk sizes"),
        ({"version": 1, "body_budget": 220}, "chunker"),
        ({"tokenizer": "b"}, "tokenizer"),
    ):
        theirs = {"chunking": {**ours["chunking"], **changed}}
        assert parts(("chunking_id",), ours, theirs) == said


def test_times_are_those_of_the_zone() -> None:
    row = local({"at": datetime(2026, 11, 30, 20, tzinfo=UTC), "n": 1}, ZoneInfo("Asia/Tokyo"))
    assert (f"{row['at']:%Y-%m-%d %H:%M}", row["n"]) == ("2026-12-01 05:00", 1)


def drawn(table: Any, width: int) -> list[str]:
    out = Console(file=StringIO(), width=width)
    out.print(table)
    written: str = out.file.getvalue()  # type: ignore[attr-defined]
    return written.splitlines()


@pytest.mark.parametrize("width", [60, 80, 100, 200])
def test_a_golden_sets_figures_are_never_cut(width: int) -> None:
    full = {"n": 1234, **dict.fromkeys(GOLDEN, 1.0)}
    figures = {**full, "tags": {"security_sensitive": full, "short": {"n": 3, "hidden": 0.5}}}
    lines = drawn(golden_table(figures), width)
    text = "\n".join(lines)
    assert "…" not in text
    assert text.count("100.0") == 2 * len(GOLDEN)
    assert text.count("50.0") == 1
    assert max(map(len, lines)) <= width
    for heading in GOLDEN.values():
        assert all(word in text for word in heading.split())


def test_columns_that_fit_stay_in_one_table() -> None:
    table = Figures("t", ["", "a", "b"])
    table.add("row", "1", "–")
    assert sum("┏" in line for line in drawn(table, 80)) == 1
    assert sum("row" in line for line in drawn(table, 16)) == 1  # nothing is left to say of b


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize("columns", ["80", "200"])
def test_versions_and_runs_are_told_in_words_at_any_width(
    store: Store, docs: Path, monkeypatch: pytest.MonkeyPatch, columns: str
) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    sync(store, docs)
    backfill(store, model="hashing:32", body_budget=60, name="smaller")
    stopped = open_run(store, kind="sync", lock_key="sync:acme:docs", tenant="acme", source="docs")
    stopped.close(store, "failed", INTERRUPTED)
    open_run(store, kind="sync", lock_key="sync:acme:more", tenant="acme", source="m").release()
    done = call("versions", "--runs")
    plain = " ".join(done.output.replace("│", " ").split())
    assert done.exit_code == 0
    assert "…" not in done.output
    assert "chunk sizes" in plain and "chunking_id" not in plain and "fingerprint" not in plain
    assert "interrupted" in plain and "killed" in plain
    assert max(map(len, done.output.splitlines()[:-1])) <= int(columns)
    assert plain.count("MiB") >= 1


@pytest.mark.usefixtures("here")
def test_commands_tell_times_in_the_zone_of_the_settings(store: Store, docs: Path) -> None:
    sync(store, docs)
    (row,) = rows(store, "select promoted_at from mucluc.promotion")
    for zone in ("Pacific/Kiritimati", "Pacific/Niue"):  # never the same day
        Path("mucluc.toml").write_text(f'timezone = "{zone}"\n')
        day = f"{row['promoted_at'].astimezone(ZoneInfo(zone)):%Y-%m-%d %H:%M}"
        shown = call("versions").output
        why = call("why", "leave", "--expect", "leave.md", *STAFF, "--as-of", "2026-11-30").output
        for said in (shown, why):
            assert day in " ".join(said.split())
            assert said.count(zone) == 1
