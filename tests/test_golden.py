"""Golden sets: judged by hand-made results, run, compared in pairs, and reported."""

from __future__ import annotations

import json
import re
import uuid
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from browser import Browser, chromium
from hypothesis import given
from hypothesis import strategies as st

from evals.decision import markdown, page
from evals.golden import GoldenQuestion, GoldenSource, judge
from evals.golden_file import GoldenProblem, read_golden
from evals.golden_run import GoldenResult, GoldenRun, golden_id, report, run_golden
from evals.paired import (
    EVERYTHING,
    Decision,
    RunsDiffer,
    compare_runs,
    interval,
    verdict,
)
from evals.policies import PolicyProblem, policy_from, read_policy
from search.request import Candidate, RetrievalPolicy, SearchRequest, SearchTrace

EXAMPLES = Path(__file__).resolve().parents[1] / "examples" / "golden.jsonl"
DAY = date(2026, 11, 30)


def hit(uri: str, text: str = "", **values: Any) -> Candidate:
    known: dict[str, Any] = {
        "chunk_id": uuid.uuid4(), "document_id": uuid.uuid4(), "text": text, "added": (),
        "title": None, "heading_path": (), "page_start": None, "page_end": None, "uri": uri,
        "source": "s", "collection": "c", "valid_from": None, "valid_to": None, "stale": False,
        "version": "v1", "score": 1.0, "ranks": {}, "scores": {},
    }  # fmt: skip
    return Candidate(**(known | values))


def asked(*expected: tuple[str, str], **values: Any) -> GoldenQuestion:
    known: dict[str, Any] = {
        "id": "q", "query": "how long?", "tenant": "acme", "principals": ("role:staff",),
        "as_of": DAY, "expected": tuple(GoldenSource(uri=u, quote=q) for u, q in expected),
    }  # fmt: skip
    return GoldenQuestion(**(known | values))


# The set.


def test_the_example_set_has_the_questions_that_a_golden_set_needs() -> None:
    questions = read_golden(EXAMPLES)
    tags = Counter(tag for question in questions for tag in question.tags)
    assert len(questions) >= 100
    wanted = ("table", "exact_lookup", "synonym_or_acronym", "as_of", "no_diacritics")
    assert {tag: tags[tag] for tag in wanted if tags[tag] < 20} == {}
    rest = ("short", "comparison", "multi_hop", "policy", "security_sensitive", "unanswerable")
    assert [tag for tag in rest if not tags[tag]] == []
    assert {question.language for question in questions} == {"vi", "en"}


RIGHT = {
    "id": "q1", "query": "nghỉ phép", "tenant": "acme", "principals": ["role:hr"],
    "as_of": "2026-11-30", "expected": [{"uri": "a.md", "quote": "18 ngày"}],
}  # fmt: skip


def renamed(row: dict[str, Any], old: str, new: str) -> dict[str, Any]:
    return {new if key == old else key: value for key, value in row.items()}


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ("{", "line 1: not JSON at column 2"),
        ([], 'line 1: must be an object {"id"'),
        ({"id": "a"}, "line 1: no query: the question as a text"),
        ("", "holds no question"),
        ({**RIGHT, "principals": "role:hr"}, "line 1: principals: must be a list of namespace"),
        ({**RIGHT, "principals": ["role:hr", "staff"]}, "principals[1]: a principal is namespace"),
        (
            renamed(RIGHT, "principals", "principal"),
            "no key 'principal'; did you mean 'principals'",
        ),
        (renamed(RIGHT, "as_of", "asof"), "no key 'asof'; did you mean 'as_of'"),
        ({**RIGHT, "as_of": "30/11/2026"}, 'as_of: must be a day such as "2026-11-30"'),
        ({**RIGHT, "as_of": 2026}, "not a number"),
        ({**RIGHT, "tag": ["table"]}, "no key 'tag'; did you mean 'tags'"),
        ({**RIGHT, "tags": "table"}, "tags: must be a list of texts"),
        ({**RIGHT, "query": " "}, "query: must be the question as a text"),
        ({**RIGHT, "expected": {"uri": "a.md"}}, "expected: must be a list of"),
        ({**RIGHT, "expected": ["a.md"]}, 'expected[0]: must be an object {"uri": …, '),
        (
            {**RIGHT, "expected": [RIGHT["expected"][0], {"url": "a.md", "quote": "18"}]},
            "expected[1]: there is no key 'url'; did you mean 'uri'",
        ),
        ({**RIGHT, "expected": [{"uri": "a.md"}]}, "expected[0]: no quote: words that"),
    ],
)
def test_a_wrong_golden_file_is_refused_with_line_field_and_what_is_expected(
    tmp_path: Path, row: Any, said: str
) -> None:
    path = tmp_path / "golden.jsonl"
    line = row if isinstance(row, str) else json.dumps(row, ensure_ascii=False)
    path.write_text(line + "\n", encoding="utf-8")
    with pytest.raises(GoldenProblem, match=re.escape(said)) as refused:
        read_golden(path)
    assert "nghỉ" not in str(refused.value)


def test_a_golden_question_may_have_keys_that_are_its_authors_business(tmp_path: Path) -> None:
    path = tmp_path / "golden.jsonl"
    source = {"uri": "a.md", "quote": "18 ngày", "row": "5 năm", "note": "table 2"}
    row = {**RIGHT, "id": 7, "tags": None, "note": "by Lan", "expected": [source]}
    path.write_text("\ufeff" + json.dumps(row) + "\n\n", encoding="utf-8")
    (question,) = read_golden(path)
    assert (question.id, question.tags, question.language) == ("7", (), None)
    assert question.expected == (GoldenSource(uri="a.md", quote="18 ngày"),)


# One question's results.


def test_a_result_counts_when_the_expected_document_holds_the_quote() -> None:
    question = asked(("a.md", "ten  days"))
    found = [hit("b.md", "ten days"), hit("a.md", "other"), hit("a.md", "It takes ten\ndays.")]
    figures = judge(question, found)
    assert figures["mrr@10"] == pytest.approx(1 / 3)
    assert (figures["recall@5"], figures["hit@1"]) == (1, 0)
    assert figures["context_precision"] == pytest.approx(1 / 3)


def test_a_quote_is_compared_composed_but_with_its_case_and_accents() -> None:
    question = asked(("a.md", "ngh\u1ec9 ph\u00e9p"))
    assert judge(question, [hit("a.md", "nghi\u0309 phe\u0301p")])["hit@1"] == 1
    assert judge(question, [hit("a.md", "nghi phep")])["hit@1"] == 0


def test_a_question_of_two_sources_is_found_by_halves() -> None:
    question = asked(("a.md", "ten"), ("b.md", "twenty"))
    assert judge(question, [hit("a.md", "ten")])["recall@5"] == 0.5


def test_nothing_may_answer_what_is_hidden() -> None:
    question = asked(must_not=("payroll.xlsx",))
    assert judge(question, []) == {"no_answer": 1, "hidden": 1, "in_force": 1}
    assert judge(question, [hit("payroll.xlsx")]) == {"no_answer": 0, "hidden": 0, "in_force": 1}


@pytest.mark.parametrize(
    ("found", "is_alone", "is_first"),
    [
        ([hit("new.md", "x"), hit("other.md")], 1, 1),
        ([hit("other.md"), hit("new.md", "x")], 1, 0),
        ([hit("new.md", "x"), hit("old.md")], 0, 0),
        ([hit("new.md", "x"), hit("other.md", valid_to=date(2025, 12, 31))], 0, 0),
        ([hit("new.md", "x", valid_from=date(2026, 1, 1), valid_to=DAY)], 1, 1),
        ([hit("other.md")], 0, 0),
        ([], 0, 0),
    ],
)
def test_the_right_version_comes_alone_and_first(
    found: list[Candidate], is_alone: int, is_first: int
) -> None:
    question = asked(("new.md", "x"), tags=("as_of",), must_not=("old.md",))
    figures = judge(question, found)
    assert (figures["only_version"], figures["right_version"]) == (is_alone, is_first)


# A run.


def test_a_run_asks_as_the_asker_on_the_day_and_keeps_no_text() -> None:
    requests: list[SearchRequest] = []

    def search(
        request: SearchRequest, policy: RetrievalPolicy
    ) -> tuple[list[Candidate], SearchTrace]:
        requests.append(request)
        return [hit("a.md", "ten days")], SearchTrace(version="v7", model="m")

    questions = [asked(("a.md", "ten"), id="q1", tags=("short",), language="en"), asked(id="q2")]
    warmed: list[str] = []
    run = run_golden(
        search, questions, RetrievalPolicy(k=20), index="main", version="v7", warm=warmed.append
    )
    assert [(r.tenant, r.principals, r.as_of, r.version) for r in requests[1:]] == [
        ("acme", ("role:staff",), DAY, "v7")
    ] * 2
    assert warmed == ["how long?"] * 2
    kept = json.dumps(run.to_json())
    assert "how long" not in kept
    assert "ten" not in kept.replace("tenant", "")
    assert GoldenRun.from_json(json.loads(kept)) == run
    figures = report(run)
    assert (figures["n"], figures["n_answerable"], figures["no_answer"]) == (2, 1, 0)
    assert figures["tags"].keys() == {"short", "language: en"}


def test_what_is_no_run_is_refused() -> None:
    for values in ({}, {"format": 1}, {"format": 2}):
        with pytest.raises(ValueError, match="run"):
            GoldenRun.from_json(values)


def test_sets_are_the_same_in_any_order_and_not_when_they_ask_otherwise() -> None:
    one, two = asked(id="q1"), asked(id="q2")
    assert golden_id([one, two]) == golden_id([two, one])
    assert golden_id([one]) != golden_id([replace(one, query="how short?")])


# Two runs.


def run_of(*recalls: float, tag: str = "table", **figures: float) -> GoldenRun:
    results = tuple(
        GoldenResult(
            id=f"q{n}",
            tags=(tag,),
            language=None,
            figures={"recall@10": value, "ndcg@10": value, "in_force": 1.0, **figures},
            ms=2.0,
        )
        for n, value in enumerate(recalls)
    )
    return GoldenRun(
        label="run", golden="g", version="v1", model="m", policy={"k": 20}, at="2026", results=results
    )  # fmt: skip


def test_a_run_is_no_different_from_itself() -> None:
    run = run_of(*[1.0, 0.0, 1.0] * 10)
    found = compare_runs(run, run)
    assert all(d.change == d.low == d.high == 0 for d in found.differences)
    assert (found.lost, found.won) == ((), ())
    assert verdict(found).decision is Decision.KEEP


def test_a_clear_fall_of_a_tag_is_refused_and_says_where() -> None:
    before, after = run_of(*[1.0] * 30), run_of(*[1.0] * 20, *[0.0] * 10)
    found = compare_runs(before, after)
    judged = verdict(found)
    assert not judged.passed
    assert judged.decision is Decision.ROLL_BACK
    assert any(reason.startswith("table: recall@10 fell") for reason in judged.reasons)
    assert [item.id for item in found.lost] == [f"q{n}" for n in range(20, 30)]


def test_a_fall_that_chance_explains_goes_to_a_limited_roll_out_with_a_warning() -> None:
    before, after = run_of(*[1.0] * 30), run_of(*[1.0] * 29, 0.0)
    judged = verdict(compare_runs(before, after))
    assert (judged.passed, judged.decision) == (True, Decision.LIMITED)
    assert judged.warnings[0] == "1 question finds less within ten results"


def test_a_tag_with_few_questions_warns_and_does_not_refuse() -> None:
    before, after = run_of(*[1.0] * 19), run_of(*[0.0] * 19)
    judged = verdict(compare_runs(before, after))
    assert judged.passed
    assert any("too few questions (19)" in warning for warning in judged.warnings)


@pytest.mark.parametrize("promise", ["hidden", "in_force"])
def test_one_broken_promise_is_enough_to_refuse(promise: str) -> None:
    before = run_of(*[1.0] * 5, **{promise: 1.0})
    broken = replace(before.results[2], figures={**before.results[2].figures, promise: 0.0})
    after = replace(before, results=(*before.results[:2], broken, *before.results[3:]))
    judged = verdict(compare_runs(before, after))
    assert judged.reasons == (f"q2: {promise} no longer holds",)


def test_a_gain_is_kept() -> None:
    before, after = run_of(*[0.0] * 30), run_of(*[1.0] * 15, *[0.0] * 15)
    found = compare_runs(before, after)
    assert verdict(found).decision is Decision.KEEP
    whole = found.of(EVERYTHING, "recall@10")
    assert whole is not None
    assert whole.low > 0


def test_runs_of_other_questions_do_not_pair() -> None:
    with pytest.raises(RunsDiffer):
        compare_runs(run_of(1.0), replace(run_of(1.0), golden="other"))
    with pytest.raises(RunsDiffer):
        compare_runs(run_of(1.0), run_of(1.0, 1.0))


@given(st.lists(st.sampled_from([-1.0, -0.5, 0.0, 0.5, 1.0]), min_size=1, max_size=60))
def test_an_interval_holds_the_mean_turns_with_the_sign_and_repeats(values: list[float]) -> None:
    low, high = interval(values, draws=2000)
    assert -1 <= low <= high <= 1
    assert low - 0.05 <= float(np.mean(values)) <= high + 0.05
    assert interval(values, draws=2000) == (low, high)
    turned = interval([-value for value in values], draws=2000)
    assert turned == pytest.approx((-high, -low), abs=0.15)


def test_intervals_are_those_of_scipy() -> None:
    scipy_stats = pytest.importorskip("scipy.stats")
    values = np.array([0.0] * 40 + [1.0] * 12 + [-1.0] * 5 + [0.5] * 3)
    reference = scipy_stats.bootstrap(
        (values,), np.mean, n_resamples=10_000, method="percentile", rng=np.random.default_rng(3)
    ).confidence_interval
    assert interval(values) == pytest.approx((reference.low, reference.high), abs=0.012)


def test_an_interval_covers_the_truth_about_as_often_as_it_says() -> None:
    numbers = np.random.default_rng(5)
    covered = 0
    for _ in range(200):
        low, high = interval(numbers.choice([-1.0, 0.0, 1.0], 60, p=[0.1, 0.7, 0.2]), draws=1000)
        covered += low <= 0.1 <= high
    assert 0.88 <= covered / 200 <= 0.99


# Policies.


def test_a_policy_file_lays_its_fields_over_the_default(tmp_path: Path) -> None:
    path = tmp_path / "try.toml"
    path.write_text("rrf_k = 20\ndense = false\n")
    found = read_policy(path, RetrievalPolicy(k=20))
    assert (found.k, found.rrf_k, found.dense) == (20, 20, False)


@pytest.mark.parametrize(
    ("stated", "said"),
    [({"rrfk": 3}, "did you mean rrf_k"), ({"k": "5"}, "k is a int"), ({"k": True}, "k is a int")],
)
def test_a_wrong_policy_is_refused_by_name(stated: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=re.escape(said)):
        policy_from(stated, RetrievalPolicy())


def test_a_policy_file_that_is_neither_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "try.json"
    path.write_text("k = 5")
    with pytest.raises(PolicyProblem, match="neither TOML nor JSON"):
        read_policy(path, RetrievalPolicy())


# The report.


@pytest.fixture(scope="module")
def compared() -> tuple[str, str]:
    before = replace(run_of(*[1.0] * 30, hidden=1.0), label="v1 <old>")
    after = replace(run_of(*[1.0] * 18, *[0.0] * 12, hidden=1.0), label="v2", policy={"k": 10})
    found = compare_runs(before, after)
    return markdown(found, verdict(found)), page(found, verdict(found))


def test_the_report_says_what_to_do_what_changed_and_who_lost(compared: tuple[str, str]) -> None:
    text, _ = compared
    assert text.startswith("# v1 <old> → v2: roll back\n")
    assert "| policy: k | 20 | 10 |" in text
    assert re.search(r"\| table \| recall@10 \| 30 \| 100\.0 \| 60\.0 \| -40\.0 \|", text)
    assert "- q18 (table): recall@10 1.00 → 0.00" in text


def test_the_page_loads_nothing_and_says_its_charts_in_words(compared: tuple[str, str]) -> None:
    _, html = compared
    assert "v1 &lt;old&gt;" in html
    assert "<old>" not in html
    assert not re.findall(r"(?:src|href)=|@import|url\(|<script", html)
    assert "table: v1 &lt;old&gt; 100.0, v2 60.0" in html


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with chromium(tmp_path_factory.mktemp("chromium")) as found:
        yield found


@pytest.mark.parametrize("dark", [False, True])
def test_the_page_shows_its_charts_in_a_browser(
    browser: Browser, compared: tuple[str, str], tmp_path: Path, dark: bool
) -> None:
    path = tmp_path / "decision.html"
    path.write_text(compared[1], encoding="utf-8")
    browser.open(path, dark=dark)
    assert browser.trouble == []
    assert [url for url in browser.requests if not url.startswith("file:")] == []
    ink, ground = browser.run(
        "[getComputedStyle(document.querySelector('svg text')).fill,"
        " getComputedStyle(document.body).backgroundColor]"
    )
    light, deep = "rgb(255, 255, 255)", "rgb(22, 26, 32)"
    assert ground == (deep if dark else light)
    assert ink != ground
    overlap = browser.run(
        "[...document.querySelectorAll('svg rect[class^=s]')].some(r =>"
        " r.getBoundingClientRect().right > r.ownerSVGElement.getBoundingClientRect().right)"
    )
    assert overlap is False
