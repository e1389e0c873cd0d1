"""Fusion by rank and by score, its weights, and chunks that say the same shown once."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from search.duplicates import Passage, collapse
from search.fusion import blend, fuse, lift
from search.queries import parse
from search.weighting import weights

rankings = st.dictionaries(
    st.sampled_from(["dense", "text", "other"]),
    st.lists(st.integers(0, 9), unique=True),
    max_size=3,
)


@given(rankings)
def test_every_item_comes_once_in_the_order_of_its_score(drawn: dict[str, list[int]]) -> None:
    fused = fuse(drawn)
    assert sorted(item for item, _ in fused) == sorted({i for r in drawn.values() for i in r})
    assert [score for _, score in fused] == sorted((s for _, s in fused), reverse=True)
    for item, score in fused:
        expected = sum(1 / (61 + r.index(item)) for r in drawn.values() if item in r)
        assert abs(score - expected) < 1e-12


@given(rankings)
def test_a_weight_of_one_is_no_weight(drawn: dict[str, list[int]]) -> None:
    assert fuse(drawn, weights=dict.fromkeys(drawn, 1.0)) == fuse(drawn)


def test_a_heavier_ranking_counts_more() -> None:
    drawn = {"dense": ["a", "b"], "text": ["b", "a"]}
    assert fuse(drawn, weights={"dense": 0.5})[0][0] == "b"
    assert fuse(drawn, weights={"text": 0.5})[0][0] == "a"


@given(
    st.lists(st.integers(0, 60), unique=True, min_size=1), st.lists(st.integers(0, 60), unique=True)
)
def test_a_look_up_shows_first_what_the_text_search_found_first(
    text: list[int], dense: list[int]
) -> None:
    asked = weights(parse("ERR_4021"), "e5", found_text=True)
    assert fuse({"dense": dense, "text": text}, weights=asked)[0][0] == text[0]


def test_a_question_in_words_weighs_both_halves_alike_and_a_look_up_without_text_hits_too() -> None:
    even = {"dense": 0.5, "text": 0.5}
    assert weights(parse("số ngày nghỉ phép năm"), "e5", found_text=True) == even
    assert weights(parse("days of annual leave"), "minilm", found_text=True) == even
    assert weights(parse("ERR_4021"), "e5", found_text=False) == even


def test_vectors_count_little_where_the_model_does_not_know_the_question_s_writing() -> None:
    for asked, model in [
        ("so ngay nghi phep nam", "e5"),
        ("số ngày nghỉ phép năm", "minilm"),
        ("số ngày nghỉ phép năm", "sentence-transformers:sentence-transformers/all-mpnet-base-v2"),
    ]:
        found = weights(parse(asked), model, found_text=True)
        assert found["dense"] < 0.3 < found["text"]
        assert weights(parse(asked), model, found_text=False) == {"dense": 0.5, "text": 0.5}


def test_a_code_within_a_sentence_is_looked_for_by_the_text_search_first() -> None:
    found = weights(parse("Gặp mã ERR_4022 thì phải xử lý thế nào?"), "e5", found_text=True)
    assert found["dense"] < 0.5 < found["text"]
    assert found["text"] < weights(parse("ERR_4022"), "e5", found_text=True)["text"]


@pytest.mark.parametrize(
    ("text", "vietnamese"),
    [
        ("Thời hạn bảo hành máy bơm là bao lâu?", True),
        ("thoi han bao hanh may bom la bao lau", True),
        ("Hợp đồng SLA với Panthers kéo dài bao lâu?", True),
        ("How long is the warranty of the pump?", False),
        ("What is the total of the net sales in 2019?", False),
        ("ERR_4021", False),
        ("bao hanh", False),
    ],
)
def test_vietnamese_is_known_by_its_syllables_with_or_without_marks(
    text: str, vietnamese: bool
) -> None:
    assert (parse(text).language == "vi") is vietnamese


# --- blend ---------------------------------------------------------------------------------------

scored = st.dictionaries(
    st.sampled_from(["dense", "text"]),
    st.dictionaries(st.integers(0, 20), st.floats(-1, 30)).map(
        lambda drawn: sorted(drawn.items(), key=lambda pair: -pair[1])
    ),
)


@given(scored)
def test_a_blend_holds_each_chunk_once_between_zero_and_the_sum_of_weights(
    drawn: dict[str, list[tuple[int, float]]],
) -> None:
    found = blend(drawn, weights=dict.fromkeys(drawn, 0.5))
    assert {item for item, _ in found} == {item for r in drawn.values() for item, _ in r}
    assert len(found) == len(dict(found))
    assert all(0 <= score <= 0.5 * len(drawn) + 1e-9 for _, score in found)
    assert [score for _, score in found] == sorted((s for _, s in found), reverse=True)


text_rows = st.lists(
    st.tuples(st.integers(0, 3), st.booleans(), st.floats(0, 40)), max_size=12
).map(lambda drawn: sorted(drawn, key=lambda row: (-row[0], not row[1], -row[2])))


@given(text_rows)
def test_what_stands_there_exactly_is_lifted_and_scores_fall_with_the_rank(
    drawn: list[tuple[int, bool, float]],
) -> None:
    rows = [{"codes": codes, "phrase": phrase} for codes, phrase, _ in drawn]
    scores = [score for *_, score in drawn]
    lifted = lift(rows, scores)
    assert lifted == sorted(lifted, reverse=True)
    best = max(scores, default=0)
    for (codes, *_), (fewer, *_), score, below in zip(
        drawn, drawn[1:], lifted, lifted[1:], strict=False
    ):
        if codes > fewer:
            assert score - below >= best * (1 - 1e-9)
    if len({(codes, phrase) for codes, phrase, _ in drawn}) == 1:
        assert lifted == scores


def test_a_chunk_with_the_code_stays_first_whatever_the_vectors_say() -> None:
    rows = [{"codes": 1, "phrase": False}, *[{"codes": 0, "phrase": False}] * 3]
    text = list(zip("abcd", lift(rows, [2.0, 9.0, 8.0, 1.0]), strict=True))
    dense = [("b", 0.9), ("c", 0.8), ("x", 0.5), ("a", 0.1)]
    asked = weights(parse("Gặp mã ERR_4022 thì phải xử lý thế nào?"), "e5", found_text=True)
    assert blend({"dense": dense, "text": text}, weights=asked)[0][0] == "a"


@given(scored, st.floats(0.01, 1000), st.floats(-5, 5))
def test_a_blend_does_not_depend_on_a_retriever_s_scale(
    drawn: dict[str, list[tuple[int, float]]], factor: float, shift: float
) -> None:
    moved = {
        name: [(item, round(score, 3) * factor + shift) for item, score in ranking]
        for name, ranking in drawn.items()
    }
    plain = {name: [(i, round(score, 3)) for i, score in r] for name, r in drawn.items()}
    for item, score in blend(moved):
        assert abs(score - dict(blend(plain))[item]) < 1e-6


def test_a_blend_prefers_what_stands_out_over_what_is_only_ranked() -> None:
    # Ranks alone would call these two equal.
    dense = [("near", 0.90), ("far", 0.70), ("none", 0.69)]
    text = [("far", 9.0), ("near", 8.8), ("none", 1.0)]
    assert blend({"dense": dense, "text": text})[0][0] == "near"


def test_a_blend_of_equal_scores_counts_each_whole() -> None:
    assert blend({"text": [("a", 3.0), ("b", 3.0)]}) == [("a", 1.0), ("b", 1.0)]
    assert blend({"text": [("a", 3.0)]}) == [("a", 1.0)]
    assert blend({"text": []}) == []


# --- duplicates ----------------------------------------------------------------------------------

WORDS = " ".join(f"từ{chr(97 + n % 26)}{chr(97 + n // 26)}" for n in range(120))


def groups(
    *texts: str, titles: tuple[str, ...] = (), headings: tuple[str, ...] = ()
) -> list[list[int]]:
    return collapse(
        [
            Passage(titles[n] if titles else "", (headings[n],) if headings else (), text)
            for n, text in enumerate(texts)
        ]
    )


def test_equal_but_for_case_marks_and_white_space_is_one() -> None:
    assert groups("Nghỉ phép\n  năm", "NGHI PHEP NĂM", "nghỉ ốm") == [[0, 1], [2]]


def test_long_chunks_that_share_nearly_all_are_one_and_the_better_ranked_is_kept() -> None:
    other = WORDS.replace("từxd", "khác")
    assert groups("x", other, WORDS) == [[0], [1, 2]]
    assert groups(WORDS, " ".join(WORDS.split()[:80])) == [[0], [1]]
    short = " ".join(WORDS.split()[:40])
    assert groups(short, f"{short} thêm") == [[0], [1]]


def test_other_numbers_codes_or_negations_are_other_chunks() -> None:
    for one, two in [
        ("giá 8.500.000", "giá 8.900.000"),
        ("mã BH-01", "mã BH-02"),
        ("được nghỉ", "không được nghỉ"),
        ("twelve days", "fourteen days"),
    ]:
        assert groups(f"{WORDS} {one}", f"{WORDS} {two}") == [[0], [1]], (one, two)
        assert groups(one, two) == [[0], [1]]


def test_price_lists_of_two_years_or_months_are_never_one() -> None:
    rows = "Máy bơm | 8.500.000\nMáy nén | 12.900.000"
    assert groups(rows, rows, titles=("Bảng giá 2025", "Bảng giá 2026")) == [[0], [1]]
    assert groups(rows, rows, titles=("Prices October", "Prices November")) == [[0], [1]]
    assert groups(rows, rows, headings=("Quý 1", "Quý 2")) == [[0], [1]]
    assert groups(rows, rows, titles=("Bảng giá 2026", "Bản sao: bảng giá 2026")) == [[0, 1]]


def test_one_sentence_below_two_headings_is_two_rules() -> None:
    rule = "Làm việc từ thứ hai đến thứ sáu."
    assert groups(rule, rule, headings=("Hà Nội", "Đà Nẵng")) == [[0], [1]]


@given(st.lists(st.sampled_from(["a b", "A  B", "a 1", "a 2", WORDS, WORDS + " x", WORDS + " 1"])))
def test_every_chunk_is_in_one_group_and_numbers_agree_within_it(texts: list[str]) -> None:
    found = groups(*texts)
    assert sorted(n for group in found for n in group) == list(range(len(texts)))
    assert [group[0] for group in found] == sorted(group[0] for group in found)
    for group in found:
        assert len({tuple(c for c in texts[n] if c.isdigit()) for n in group}) == 1
