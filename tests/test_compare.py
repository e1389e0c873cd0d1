"""The comparison with other chunkers: one scorer for all, and a page that says what was measured."""

from __future__ import annotations

import importlib.util
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from enrich.embedders import load
from evals.compare import CONTENDERS, ContenderFailed, compare, page, scored, with_facts

CSV = "Plan,Price,Term\nBasic,18,12 months\nPlus,27,24 months\n"
NOTE = "# Terms\n\nA refund takes ten days.\n"


def truth(file: str, **values: Any) -> dict[str, Any]:
    empty: dict[str, Any] = {
        "file": file, "tables": [], "text_facts": [], "must_not": [], "expected_tables": None,
    }  # fmt: skip
    return empty | values


FACT = {"row": "Plus", "col": "Price", "value": "27"}
TRUTHS = [
    truth("prices.csv", tables=[{"facts": [FACT]}]),
    truth("terms.md", text_facts=[{"sentence": "A refund takes ten days."}], must_not=["secret"]),
]


@pytest.fixture
def cases(tmp_path: Path) -> Path:
    docs = tmp_path / "docs"
    docs.mkdir()
    (docs / "prices.csv").write_text(CSV)
    (docs / "terms.md").write_text(NOTE)
    (docs / "broken.pdf").write_bytes(b"%PDF-1.7 nothing")
    return tmp_path


def test_files_that_say_nothing_about_a_chunker_are_left_out() -> None:
    assert with_facts([truth("bad.bin"), *TRUTHS]) == TRUTHS


def test_a_row_that_lost_its_header_is_no_row_fact() -> None:
    lines = [
        {"file": "prices.csv", "text": "Plan\tPrice\nBasic\t18"},
        {"file": "prices.csv", "text": "Plus\t27"},
        {"file": "terms.md", "error": "nothing found"},
    ]
    result = scored("langchain", lines, TRUTHS, load("hashing:64").tokenizer)
    wanted, found = result.sums["all"]
    assert (wanted["rows"], found["rows"]) == (1, 0)
    assert (wanted["files"], found["files"]) == (2, 1)
    assert (len(result.tokens), dict(result.unread)) == (2, {"terms.md": "nothing found"})


def test_the_page_gives_the_figures_the_versions_and_the_way_to_repeat_them() -> None:
    lines = [{"file": "prices.csv", "text": CSV}, {"file": "terms.md", "text": NOTE}]
    tokenizer = load("hashing:64").tokenizer
    good = scored("mucluc", lines, TRUTHS, tokenizer)
    bad = scored("mucluc", lines[1:], TRUTHS, tokenizer)
    text = page([good, bad], budget=5, on=date(2026, 11, 30), files=2)
    first, second = (row for row in text.splitlines() if "(100%)" in row)
    assert "1/1 (100%)" in first
    assert "0/1 (0%)" in second
    assert "| csv | 1 / 1 of 1 | 0 / 0 of 1 |" in text
    assert "2026-11-30 over 2 files" in text
    assert "mucluc 0." in text
    assert "python -m evals.compare" in text


def test_mucluc_keeps_the_facts_of_a_small_set(cases: Path) -> None:
    (result,) = compare(cases, ["mucluc"], [*TRUTHS, truth("broken.pdf", must_not=["x"])])
    wanted, found = result.sums["all"]
    assert found == wanted
    assert list(result.unread) == ["broken.pdf"]


@pytest.mark.slow  # imports half a dozen foreign libraries
@pytest.mark.parametrize("name", ["langchain", "chonkie", "unstructured"])
def test_a_contender_reads_the_same_files_in_a_process_of_its_own(cases: Path, name: str) -> None:
    for package in ("langchain_text_splitters", "chonkie", "markitdown", "pikepdf", "unstructured"):
        if importlib.util.find_spec(package) is None:
            pytest.skip("the extra compare is not installed (make compare installs it)")
    (cases / "docs" / "empty.docx").write_bytes(b"")
    (result,) = compare(cases, [name], [*TRUTHS, truth("empty.docx", must_not=["x"])])
    wanted, found = result.sums["all"]
    assert found == wanted
    assert list(result.unread) == ["empty.docx"]


def test_a_contender_that_cannot_run_is_no_result_of_zero(
    cases: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.executable", "/bin/false")
    with pytest.raises(ContenderFailed, match="cannot run here"):
        list(compare(cases, ["chonkie"], TRUTHS))


def test_the_committed_page_names_every_contender() -> None:
    text = (Path(__file__).resolve().parents[1] / "docs" / "comparison.md").read_text("utf-8")
    assert all(f"| {title} |" in text for title, _ in CONTENDERS.values())
