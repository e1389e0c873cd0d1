"""What people type is taken as they mean it: quotes, minus, codes, clause numbers."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from search.folding import fold, same_word
from search.queries import NothingAsked, parse


@pytest.mark.parametrize(
    "query",
    [
        "ERR_4021", "BH-01", "GIA-2026-10", "8.500.000", "v1.2.3", "429", "E042", "45/2019/QH14",
        "Điều 12", "khoản 3 Điều 12", "dieu 12 khoan 3", "điểm a khoản 2 Điều 7", "Section 4.2",
        "§ 5", "art. 7", "Phụ lục II", "lỗi ERR_4021", "ERR_4021 là gì?", "giá BH-01 bao nhiêu",
        "what does ERR_4021 mean", '"nghỉ phép có lương"', "“paid leave”", "«congé payé» policy",
        "Nghị định 145/2020/NĐ-CP",
    ],
)  # fmt: skip
def test_codes_clause_numbers_and_quotes_are_looked_up_as_they_are(query: str) -> None:
    assert parse(query).is_exact_lookup


@pytest.mark.parametrize(
    "query",
    [
        "nghỉ phép năm 2026 bao nhiêu ngày", "nghi phep nam 2026", "2026", "giá 429 nghìn", "mức 5 triệu",
        "lịch nghỉ 01/10/2026", "giờ làm việc 8-17", "Wi-Fi yếu", "mục tiêu quý này",
        "section of the contract", "10.5 triệu", "nhiệt độ -5", "node.js",
        "khách trả hàng vì lỗi ERR_4021 khi thanh toán thì làm sao",
        '"thử việc" với nhân viên nước ngoài có giấy phép lao động',
    ],
)  # fmt: skip
def test_a_question_in_words_is_not_a_look_up(query: str) -> None:
    assert not parse(query).is_exact_lookup


@pytest.mark.parametrize(
    ("query", "codes"),
    [
        ("lỗi ERR_4021 và ERR-77", ("ERR_4021", "ERR-77")),
        ("so sánh khoản 3 Điều 12 với Điều 14", ("khoản 3", "Điều 12", "Điều 14")),
        ("Luật 45/2019/QH14, Điều 113", ("45/2019/QH14", "Điều 113")),
        ("giá 8.500.000 đồng từ 2026", ("8.500.000",)),
        ("bản v1.2.3 ngày 2026-10-01", ("v1.2.3",)),
        ("mức tăng 5 phần trăm", ()),
    ],
)
def test_codes_are_found_as_they_are_written(query: str, codes: tuple[str, ...]) -> None:
    assert parse(query).codes == codes


@pytest.mark.parametrize(
    ("query", "text", "phrases", "without"),
    [
        ('nghỉ phép "thử việc"', "nghỉ phép thử việc", ("thử việc",), ()),
        ("“paid leave” «nghỉ phép» „Urlaub“", "paid leave nghỉ phép Urlaub",
         ("paid leave", "nghỉ phép", "Urlaub"), ()),
        ("giá máy -bảo hành", "giá máy hành", (), ("bảo",)),
        ('giá máy -"bảo hành"', "giá máy", (), ("bảo hành",)),
        ("giá máy −“bảo hành” 2026", "giá máy 2026", (), ("bảo hành",)),
        ("-BH-01 bảo hành -lương,", "bảo hành", (), ("BH-01", "lương")),
        ("BH-01 giá", "BH-01 giá", (), ()),
        ("giá - máy", "giá - máy", (), ()),
        ("Hà Nội – Huế", "Hà Nội – Huế", (), ()),
        ("nhiệt độ -5 và -3.5% và -20°C", "nhiệt độ -5 và -3.5% và -20°C", (), ()),
        ("pip install -r x --json", "pip install -r x --json", (), ()),
        ('ống 5" và 6" dài', "ống 5 và 6 dài", (), ()),
        ('he said "hi', "he said hi", (), ()),
        ('"" " " "..." lương', "lương", (), ()),
        ('"nghỉ -phép" năm -lương', "nghỉ -phép năm", ("nghỉ -phép",), ("lương",)),
        ("\0\1a\x010\1 b", "a 0 b", (), ()),
        ('"a b" "a b"', "a b a b", ("a b",), ()),
        ("  nhiều \t khoảng\n trắng ", "nhiều khoảng trắng", (), ()),
    ],
)  # fmt: skip
def test_quotes_and_minus_do_what_people_expect(
    query: str, text: str, phrases: tuple[str, ...], without: tuple[str, ...]
) -> None:
    parsed = parse(query)
    assert (parsed.text, parsed.phrases, parsed.without) == (text, phrases, without)


@pytest.mark.parametrize("query", ["", "  ", '""', "-lương", '-"bảo hành" -lương'])
def test_a_question_of_nothing_is_refused(query: str) -> None:
    with pytest.raises(NothingAsked):
        parse(query)


def test_decomposed_letters_are_composed_and_diacritics_noticed() -> None:
    decomposed = unicodedata.normalize("NFD", "Điều 12 nghỉ phép")
    assert parse(decomposed) == parse("Điều 12 nghỉ phép")
    assert parse("nghỉ phép").has_diacritics and parse("đi").has_diacritics
    assert not parse("nghi phep × ÷").has_diacritics


@given(st.text(alphabet='ab đé"“”«»-−–_ 019./\n', min_size=1, max_size=40))
def test_every_word_is_searched_or_left_out_and_nothing_is_made_up(query: str) -> None:
    try:
        parsed = parse(query)
    except NothingAsked:
        return
    assert not set(parsed.text) & set('"“”«»')
    assert set(parsed.text) <= set(unicodedata.normalize("NFC", query)) | {" "}
    for phrase in parsed.phrases:
        assert phrase in parsed.text
    for code in parsed.codes:
        assert code in parsed.text
    assert parse(parsed.text).text == parsed.text or "-" in parsed.text or "−" in parsed.text


@pytest.mark.parametrize(
    ("asked", "known", "same"),
    [
        ("phep", "phép", True), ("phép", "phep", True), ("hoà", "hòa", True), ("PTO", "pto", True),
        ("cấp", "cáp", False), ("dong", "đồng", True), ("đông", "đồng", False), ("a", "b", False),
    ],
)  # fmt: skip
def test_words_are_one_without_marks_and_another_with_other_marks(
    asked: str, known: str, same: bool
) -> None:
    assert same_word(asked, known) is same


def test_folding_is_that_of_the_database(database: str) -> None:
    import psycopg

    text = "Điều Khoản ÁÀẢÃẠ ưỨờ Ñandú đồng"
    with psycopg.connect(database) as connection:
        row = connection.execute("select mucluc.fold(lower(%s))", [text]).fetchone()
    assert row is not None and row[0] == fold(text)
