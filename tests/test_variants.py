"""Other ways to ask: from the company's glossary, cleaned up, or written by a model."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from search.glossary import EMPTY, Glossary, GlossaryError, Term, load_glossary
from search.queries import NothingAsked, parse
from search.variants import GLOSSARY, NORMALISED, ORIGINAL, WRITTEN, variants, with_written

PTO = Term(term="PTO", means=("paid time off", "nghỉ phép có lương"), two_way=True)
WFH = Term(term="WFH", means=("làm việc từ xa",))


def asked(query: str, *terms: Term, most: int = 5, tenant: str = "acme") -> list[tuple[str, str]]:
    found = variants(parse(query), Glossary(terms), tenant, most)
    return [(variant.kind, variant.text) for variant in found]


def test_an_acronym_is_searched_with_each_of_its_meanings_and_as_it_is() -> None:
    assert asked("mỗi năm có mấy ngày pto?", PTO) == [
        (ORIGINAL, "mỗi năm có mấy ngày pto?"),
        (GLOSSARY, "mỗi năm có mấy ngày paid time off?"),
        (GLOSSARY, "mỗi năm có mấy ngày nghỉ phép có lương?"),
    ]


def test_a_meaning_leads_back_only_where_the_term_says_so() -> None:
    texts = [text for _, text in asked("nghi phep co luong may ngay", PTO)]
    assert texts[1:] == ["PTO may ngay", "paid time off may ngay"]
    assert len(asked("làm việc từ xa mấy ngày", WFH)) == 1


def test_terms_are_whole_words_and_the_longest_counts() -> None:
    inner = Term(term="paid time", means=("giờ có lương",))
    assert len(asked("the PTOs of ptolemy", PTO)) == 1
    texts = [text for _, text in asked("paid time off now", PTO, inner)]
    assert texts[1:] == ["PTO now", "nghỉ phép có lương now"]


def test_several_terms_are_replaced_together() -> None:
    texts = [text for _, text in asked("PTO hay WFH", PTO, WFH)]
    assert texts[1:] == [
        "paid time off hay làm việc từ xa",
        "nghỉ phép có lương hay làm việc từ xa",
    ]


def test_a_word_with_other_marks_is_another_word() -> None:
    term = Term(term="cáp", means=("cable",))
    assert len(asked("nhà cung cấp", term)) == 1
    assert len(asked("day cap mang", term)) == 2


def test_a_term_whose_case_counts_leaves_the_common_word_alone() -> None:
    term = Term(term="IT", means=("information technology",), case=True)
    assert len(asked("how does it work", term)) == 1
    assert asked("ask IT for a laptop", term)[1] == (
        GLOSSARY, "ask information technology for a laptop",
    )  # fmt: skip


@pytest.mark.parametrize("query", ["PTO-01", '"PTO"', "PTO Điều 12", "“paid time off”"])
def test_an_exact_look_up_has_no_variants(query: str) -> None:
    assert [kind for kind, _ in asked(query, PTO)] == [ORIGINAL]


def test_quoted_words_stay_as_they_are() -> None:
    question = '"quy chế PTO" có áp dụng cho nhân viên thử việc không'
    assert [kind for kind, _ in asked(question, PTO)] == [ORIGINAL]


def test_noise_and_width_are_cleaned_and_a_question_mark_is_no_noise() -> None:
    assert asked("nghỉ phép năm mấy ngày?") == [(ORIGINAL, "nghỉ phép năm mấy ngày?")]
    assert asked("ｎｇｈｉ phe\u00adp!!! *** năm")[1] == (NORMALISED, "nghi phep! * năm")


def test_variants_have_a_cap_and_the_question_itself_is_beside_it() -> None:
    assert len(asked("PTO?", PTO, most=1)) == 2
    assert [kind for kind, _ in asked("PTO?", PTO, most=0)] == [ORIGINAL]


def test_a_models_variants_come_after_the_glossarys_and_say_something_else() -> None:
    query = parse("ngày PTO của tôi")
    found = variants(query, Glossary([PTO]), "acme", 3)
    more = with_written(
        query, found, ["số ngày phép còn lại", "Ngày PTO của tôi?", "", "x " * 3000], 4
    )
    assert [v.kind for v in more] == [ORIGINAL, GLOSSARY, GLOSSARY, WRITTEN, WRITTEN]
    assert max(len(v.text) for v in more) <= 2000
    assert with_written(parse("BH-01"), variants(parse("BH-01"), EMPTY, "acme", 3), ["x"], 3) == (
        variants(parse("BH-01"), EMPTY, "acme", 3)
    )


@given(
    st.text(alphabet="abPTO đé-\"' .?", min_size=1, max_size=30).filter(
        lambda t: t.strip(" -\"'.?")
    ),
    st.integers(0, 4),
)
def test_the_question_itself_is_always_first_and_the_cap_holds(query: str, most: int) -> None:
    try:
        parsed = parse(query)
    except NothingAsked:
        return
    found = variants(parsed, Glossary([PTO, WFH]), "acme", most)
    assert found[0].kind == ORIGINAL and found[0].text == parsed.text
    assert len(found) <= most + 1
    assert len({variant.text for variant in found}) == len(found)


# --- the file ------------------------------------------------------------------------------------

FILE = """
PTO: [paid time off, nghỉ phép có lương]
SLA: service level agreement
IT: {means: [information technology], two_way: true, case: true}
tenants:
  globex:
    PTO: [part-time option]
    OKR:
      - objectives and key results
"""


def read(tmp_path: Path, text: str) -> Glossary:
    file = tmp_path / "glossary.yaml"
    file.write_text(text, encoding="utf-8")
    return load_glossary(file)


def test_a_glossary_is_read_and_a_tenants_own_terms_come_first(tmp_path: Path) -> None:
    glossary = read(tmp_path, FILE)
    assert glossary.others("acme", ("pto",)) == ("paid time off", "nghỉ phép có lương")
    assert glossary.others("acme", ("SLA",)) == ("service level agreement",)
    assert glossary.others("acme", ("information", "technology")) == ("IT",)
    assert glossary.others("globex", ("PTO",)) == ("part-time option",)
    assert glossary.others("globex", ("sla",)) == ("service level agreement",)
    assert glossary.others("acme", ("OKR",)) == ()
    assert read(tmp_path, "").others("acme", ("PTO",)) == ()


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("PTO: [a]\npto: [b]\n", 2, "already"),
        ("PTO: [a]\nSLA:\n", 2, "word"),
        ("PTO: [a]\nSLA: []\n", 2, "needs a meaning"),
        ("PTO: [a]\nSLA: {two_way: true}\n", 2, "meanings"),
        ("PTO: {means: [a], twoway: true}\n", 1, "two_way"),
        ("PTO: {means: [a], two_way: perhaps}\n", 1, "true or false"),
        ("PTO: [a]\n- b\n", 2, "not YAML"),
        ("- PTO\n", 1, "TERM"),
        ("'!!': [a]\n", 1, "letter or a digit"),
        ("PTO: [[a]]\n", 1, "word"),
        ("PTO: [a]\ntenants:\n  acme: [b]\n", 3, "TERM"),
        (f"PTO: [{'a' * 201}]\n", 1, "longer"),
        ("!x PTO: &a [*b]\n", 1, "not YAML"),
    ],
)
def test_a_wrong_glossary_is_said_by_file_and_line(
    tmp_path: Path, text: str, line: int, words: str
) -> None:
    with pytest.raises(GlossaryError) as caught:
        read(tmp_path, text)
    assert f"glossary.yaml, line {line}: " in str(caught.value)
    assert words in str(caught.value)


def test_a_glossary_that_is_not_there_or_not_text_is_said(tmp_path: Path) -> None:
    with pytest.raises(GlossaryError, match="cannot be read"):
        load_glossary(tmp_path / "absent.yaml")
    (tmp_path / "glossary.yaml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(GlossaryError, match="UTF-8"):
        load_glossary(tmp_path / "glossary.yaml")
