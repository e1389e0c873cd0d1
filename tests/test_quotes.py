"""What a search shows of a chunk: the part that answers, verbatim."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from search.quotes import quote

SALARIES = """employee | name | salary
E041 | Nguyễn An | 21.000.000
E042 | Xylander | 18.700.000
E043 | Trần Bình | 19.100.000"""


def test_a_row_is_quoted_rather_than_the_names_of_its_columns() -> None:
    assert quote(SALARIES, "salary Xylander").startswith("E042 | Xylander | 18.700.000")


def test_a_heading_is_quoted_with_what_stands_below_it() -> None:
    text = "Annual leave\n\nEvery employee has 21 days a year."
    assert "21 days" in quote(text, "annual leave")


def test_words_without_diacritics_find_those_with_them() -> None:
    text = "1. Phạm vi áp dụng cho mọi nhân viên.\n2. Nghỉ ốm cần giấy của bác sĩ từ ngày thứ ba."
    assert "giấy của bác sĩ" in quote(text, "nghi om can giay gi")


def test_i2_what_only_repeats_is_not_quoted() -> None:
    text = "Bảng 1. Giá\n\nmã | giá\nBH-01 | 8.500.000"
    assert quote(text, "bảng giá mã", [(0, 22)]) == "BH-01 | 8.500.000"


def test_i2_a_quote_does_not_run_on_over_what_only_repeats() -> None:
    text = "giá bán\nmã | giá\nBH-01 | 8.500.000"
    assert quote(text, "bán", [(8, 16)]) == "giá bán"


@given(st.text(max_size=600), st.text(max_size=40))
def test_a_quote_is_a_substring_and_never_too_long(text: str, query: str) -> None:
    found = quote(text, query)
    assert found in text
    assert len(found) <= 320
