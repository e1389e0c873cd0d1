"""Phrases, exclusions, filters and exact codes, through the reader as a search uses it."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from datetime import date
from typing import Any

import psycopg
import pytest
from conftest import SECRET
from hypothesis import given, settings
from hypothesis import strategies as st
from syncs import TODAY, rows, sync
from worlds import stands

from store import embedded
from store.database import Store, open_store
from store.errors import StoreError
from store.reader import Identity, Reader, Scope, read_as

FILES = {
    "codes.md": "# Mã bảo hành\n\nMã BH-01 được bảo hành 12 tháng.\n",
    "codes-a.md": "# Mã bảo hành\n\nMã BH-01A và mã BH-01-A được bảo hành 24 tháng. Bảo hành BH 01A.\n",
    "price.md": "# Giá\n\nGiá bán 8.500.000đ cho mỗi bộ.\n",
    "price-high.md": "# Giá\n\nGiá bán 18.500.000đ cho mỗi bộ, trước đây 8.500 nghìn.\n",
    "leave.md": "# Quy chế\n\n## Nghỉ phép năm\n\nHoà giải viên được hưởng 12 ngày.\n",
    "leave-plain.md": "# Rules\n\nnghi phep nam la 12 ngay, hòa giải sau.\n",
    "clause.md": "# Hợp đồng\n\nĐiều 12.3. Phạt chậm trả 8%.\n\nXem thêm phụ lục.\n",
    "clause-12.md": "# Hợp đồng khác\n\nĐiều 12. Phạt vi phạm, điểm 3.\n",
    "errors.md": "# Errors\n\n| code | text |\n|---|---|\n| ERR_4021/ERR_4022 | not paired |\n",
    "errors-more.md": "# Errors\n\nERR_40211 and XERR_4021 mean err 4021 of old.\n",
    "people.csv": "code,name\nE068,Lan\nNV-E068,Minh\nE0680,Hoa\n",
    "contract.md": "# HĐK\n\nHợp đồng HĐK-2026-017 ký ngày 30/11/2026.\n",
}
META = {
    "codes.md": "---\nlanguage: vi\ndept: [bảo hành, cskh]\nlevel: 3\n---\n",
    "errors.md": "---\nlanguage: en-GB\ndept: it\nvalid_from: 2026-02-01\nvalid_to: 2027-01-31\n---\n",
}


@pytest.fixture(scope="module")
def shelf(server: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    """A store with these files."""
    folder = tmp_path_factory.mktemp("shelf")
    for name, text in FILES.items():
        (folder / name).write_text(META.get(name, "") + text, encoding="utf-8")
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute("drop database if exists shelf with (force)")
        connection.execute("create database shelf template fresh")
    with open_store(embedded.beside(server, "shelf"), SECRET, max_connections=4) as store:
        sync(store, folder)
        yield store
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute("drop database if exists shelf with (force)")


ASKER = Identity(tenant="acme", principals=("role:staff",), as_of=TODAY)


def ask(store: Store, question: str, scope: Scope | None = None) -> list[dict[str, Any]]:
    """Text search; each row with the file's name."""
    with read_as(store, ASKER) as reader:
        return _named(reader, reader.text(1, question, 50, scope or Scope()))


def near(store: Store, question: str, scope: Scope) -> list[dict[str, Any]]:
    from enrich.embedders import load

    with read_as(store, ASKER) as reader:
        version = reader.resolve("main")
        assert version is not None
        vector = load("hashing:64").embed_query(question)
        return _named(reader, reader.dense(1, version["model"], vector, 50, scope))


def _named(reader: Reader, found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    shown = reader.read(1, [row["chunk_id"] for row in found])
    return [{**row, "uri": shown[row["chunk_id"]]["uri"]} for row in found]


def files(found: list[dict[str, Any]]) -> list[str]:
    return [row["uri"] for row in found]


@pytest.mark.parametrize(
    ("question", "first", "others"),
    [
        ("bảo hành BH-01", "codes.md", {"codes-a.md"}),
        ("bh-01 bao hanh", "codes.md", {"codes-a.md"}),
        ("giá 8.500.000", "price.md", {"price-high.md"}),
        ("giá bán 18.500.000 mỗi bộ", "price-high.md", {"price.md"}),
        ("Điều 12.3 phạt", "clause.md", {"clause-12.md"}),
        ("dieu 12 phat", "clause-12.md", {"clause.md"}),
        ("err_4022", "errors.md", set()),
        ("ERR_4021", "errors.md", {"errors-more.md"}),
        ("hợp đồng HDK-2026-017", "contract.md", {"clause.md"}),
        ("E068", "people.csv", set()),
    ],
)
def test_a_chunk_that_holds_the_code_whole_is_first_and_parts_of_codes_do_not_count(
    shelf: Store, question: str, first: str, others: set[str]
) -> None:
    found = ask(shelf, question)
    assert files(found)[0] == first
    assert found[0]["codes"] >= 1
    assert others <= set(files(found))
    assert all(row["codes"] == 0 for row in found if row["uri"] in others)


def test_a_date_is_no_code(shelf: Store) -> None:
    assert {row["codes"] for row in ask(shelf, "ký ngày 30/11/2026")} == {0}


def test_the_question_as_a_phrase_comes_before_its_words_apart(shelf: Store) -> None:
    found = ask(shelf, "phạt vi phạm")
    assert found[0]["uri"] == "clause-12.md" and found[0]["phrase"]
    assert "clause.md" in files(found)[1:]
    assert [row["phrase"] for row in found] == sorted(
        (row["phrase"] for row in found), reverse=True
    )


@pytest.mark.parametrize(
    ("phrase", "expected"),
    [
        ("nghi phep nam", {"leave.md", "leave-plain.md"}),
        ("nghỉ phép năm", {"leave.md"}),  # of the heading
        (unicodedata.normalize("NFD", "Nghỉ  phép, năm"), {"leave.md"}),
        ("hoà giải", {"leave.md", "leave-plain.md"}),
        ("hòa giải viên", {"leave.md"}),
        ("BH-01", {"codes.md"}),
        ("bh 01", {"codes.md"}),
        ("BH-01A", {"codes-a.md"}),
        ("8.500.000", set()),
        ("8.500.000đ", {"price.md"}),
        ("500.000đ", set()),
        ("8.500", {"price-high.md"}),
        ("Điều 12", {"clause-12.md"}),
        ("ERR_4021", {"errors-more.md"}),  # "err 4021": what stands between is all one
        ("ERR_4021/ERR_4022", {"errors.md"}),
        ("Hợp đồng khác", {"clause-12.md"}),  # the title
    ],
)
def test_a_phrase_stands_whole_in_text_headings_or_title(
    shelf: Store, phrase: str, expected: set[str]
) -> None:
    scope = Scope(phrases=(phrase,))
    assert set(files(ask(shelf, phrase, scope))) == expected
    assert set(files(near(shelf, "anything", scope))) == expected


def test_what_must_not_stand_in_a_chunk_does_not(shelf: Store) -> None:
    for search in (ask, near):
        all_ = set(files(search(shelf, "bảo hành mã", Scope())))
        left = set(files(search(shelf, "bảo hành mã", Scope(without=("BH-01",)))))
        assert left == all_ - {"codes.md"}
        kept = set(
            files(search(shelf, "bảo hành mã", Scope(phrases=("bảo hành",), without=("24 tháng",))))
        )
        assert kept == {"codes.md"}


def test_a_question_of_nothing_but_a_phrase_searches_for_its_words(shelf: Store) -> None:
    assert files(ask(shelf, "", Scope(phrases=("BH-01",)))) == ["codes.md"]


@pytest.mark.parametrize(
    ("scope", "expected"),
    [
        (Scope(languages=("en",)), {"errors.md"}),
        (Scope(languages=("en-gb",)), {"errors.md"}),
        (Scope(metadata={"dept": ("it",)}), {"errors.md"}),
        (Scope(metadata={"dept": ("cskh", "none")}), {"codes.md"}),
        (Scope(metadata={"dept": ("cskh",), "level": ("3",)}), {"codes.md"}),
        (Scope(metadata={"dept": ("cskh",), "level": ("4",)}), set()),
        (Scope(metadata={"dept": ("bảo",)}), set()),
        (Scope(sources=("elsewhere",)), set()),
        (Scope(collections=()), set()),
        (Scope(kinds=("table",)), {"errors.md", "people.csv"}),
        (Scope(holds_from=date(2027, 2, 1), metadata={"dept": ("it",)}), set()),
        (Scope(holds_from=date(2027, 1, 31), metadata={"dept": ("it",)}), {"errors.md"}),
        (Scope(holds_to=date(2026, 1, 31), metadata={"dept": ("it",)}), set()),
        (Scope(holds_from=date(2026, 12, 2), holds_to=date(2026, 12, 1)), set()),
    ],
)
def test_both_retrievers_obey_a_filter(shelf: Store, scope: Scope, expected: set[str]) -> None:
    assert set(files(near(shelf, "anything", scope))) == expected
    every_word = " ".join(" ".join(FILES.values()).split())
    assert set(files(ask(shelf, every_word, scope))) == expected


@pytest.mark.parametrize(
    "scope",
    [
        '{"collection": ["hr"]}',
        '{"collections": "hr"}',
        '{"metadata": ["hr"]}',
        '{"metadata": {"a": "hr"}}',
        '{"holds_from": "secret day"}',
        '["hr"]',
        '"hr"',
        "3",
    ],
)
def test_a_filter_that_is_not_understood_is_refused_and_not_left_out(
    shelf: Store, scope: str
) -> None:
    with pytest.raises(StoreError) as refused, read_as(shelf, ASKER) as reader:
        reader.connection.execute(
            "select * from mucluc.search_text(1, 'mã', 5, %s::jsonb)", [scope]
        )
    assert refused.value.code == "MU006"
    assert ask(shelf, "mã")  # and the connection goes on


def test_nobody_narrows_more_than_a_scope_can_say(shelf: Store) -> None:
    assert Scope().to_json() is None
    assert Scope(phrases=(), metadata={}).to_json() is None
    assert Scope(collections=()).to_json() == {"collections": []}


WORDS = ["BH-01", "bh", "01", "A", "hoà", "hòa", "hoa", "Điều", "dieu", "12", "12.3", "8,500", "ờ"]
GAPS = [" ", "-", "_", ".", "/", ", ", ",", " \n", "; ", "…", ""]
# A word has one tone. Of two words that somebody wrote in one, hoàhoà and hoàhòa may differ.
TWO_TONES = re.compile(
    r"[\u0300\u0301\u0303\u0309\u0323][\w\u0302\u0306\u031b]*[\u0300\u0301\u0303\u0309\u0323]"
)
written = (
    st.lists(st.tuples(st.sampled_from(WORDS), st.sampled_from(GAPS)), max_size=7)
    .map(lambda parts: "".join(word + gap for word, gap in parts))
    .filter(lambda text: not TWO_TONES.search(unicodedata.normalize("NFD", text)))
)


@settings(max_examples=300, deadline=None)
@given(written, st.lists(written, min_size=1, max_size=3))
def test_phrases_stand_where_the_rules_in_words_say(
    rules: psycopg.Connection[Any], phrase: str, parts: list[str]
) -> None:
    row = rules.execute(
        "select mucluc.obeys(mucluc.scope_of(jsonb_build_object('phrases', array[%s])), %s, %s, %s),"
        " coalesce(mucluc.entry_lexemes('', %s, %s, %s) @@ (mucluc.scope_of(jsonb_build_object("
        "   'phrases', array[%s]))).needed, true)",
        [phrase, *_columns(parts), *_columns(parts), phrase],
    ).fetchone()
    assert row is not None
    assert row[0] == stands(phrase, parts)
    assert row[1] or not row[0], "the text index would lose it"


def _columns(parts: list[str]) -> tuple[str, list[str], str]:
    return parts[0], parts[1:-1], parts[-1] if len(parts) > 1 else ""


@pytest.fixture(scope="module")
def rules(server: str) -> Iterator[psycopg.Connection[Any]]:
    """A connection as the owner, to look at single functions."""
    with psycopg.connect(embedded.beside(server, "fresh"), autocommit=True) as connection:
        yield connection


def test_what_a_short_context_leaves_out_is_indexed_all_the_same(shelf: Store) -> None:
    row = rows(
        shelf,
        "select mucluc.entry_lexemes('Điều 2', 'Quy chế', array['Chương I', 'Điều 2'], 'chữ')"
        " = mucluc.lexemes(E'Quy chế\\nChương I\\nĐiều 2\\nchữ') as same",
    )
    assert row == [{"same": True}]
