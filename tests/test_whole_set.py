"""Promises about every file: no embedding is cut (I4), and none takes a gigabyte to read."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from bench.parse_memory import peak_mb
from enrich.embedders import load
from enrich.tokenizers import E5Tokenizer, HuggingFaceTokenizer, TiktokenTokenizer, recipe_for
from evals.quality import chunks_of
from parsers.elements import Parsed, Unreadable
from parsers.registry import parse_file

EXAMPLES = Path(__file__).resolve().parents[1] / "examples" / "documents"
MOST_MB = 1000
MODELS = ("e5", "minilm", "openai:text-embedding-3-small")


def files_of(*folders: Path) -> list[Path]:
    return [path for folder in folders for path in sorted(folder.rglob("*")) if path.is_file()]


@pytest.fixture(scope="module")
def parsed_files(cases: Path) -> dict[str, Parsed]:
    """Every file that can be read, parsed once for all models."""
    found: dict[str, Parsed] = {}
    for path in files_of(cases / "docs", EXAMPLES):
        try:
            found[path.name] = parse_file(path.read_bytes(), suffix=path.suffix)
        except Unreadable:
            continue
    assert len(found) > 100
    return found


def fed_tokens(tokenizer: object) -> Callable[[str], int]:
    """What the model is fed for a contextual text, by its own tokenizer, special tokens too."""
    if isinstance(tokenizer, E5Tokenizer):
        return tokenizer._count_whole
    if isinstance(tokenizer, HuggingFaceTokenizer):
        return tokenizer.count_with_specials
    assert isinstance(tokenizer, TiktokenTokenizer)
    return lambda text: len(tokenizer._encoding.encode(text, disallowed_special=()))


@pytest.mark.slow
@pytest.mark.parametrize("model", MODELS)
def test_i4_no_contextual_text_of_any_file_is_over_the_models_limit(
    model: str, parsed_files: dict[str, Parsed], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "none")  # nothing is sent: the tokens are counted here
    if model == "minilm":
        pytest.importorskip("sentence_transformers")
    embedder = load(model)
    recipe = recipe_for(embedder.card, embedder.tokenizer)
    count = fed_tokens(embedder.tokenizer)
    over: dict[str, int] = {}
    seen = 0
    for name, parsed in parsed_files.items():
        for found, contextual in chunks_of(
            parsed, recipe=recipe, card=embedder.card, tokenizer=embedder.tokenizer
        ):
            seen += 1
            assert found.tokens <= recipe.body_budget
            if (tokens := count(contextual)) > embedder.card.max_tokens:
                over[name] = tokens
    assert not over
    assert seen > len(parsed_files)


@pytest.mark.slow
def test_every_file_is_parsed_and_chunked_in_less_than_a_gigabyte(cases: Path) -> None:
    used = {path.name: peak_mb(path) for path in files_of(cases / "docs")}
    assert {name: mb for name, mb in used.items() if mb >= MOST_MB} == {}
    assert min(used.values()) > 10  # what was measured is a process that did the work
