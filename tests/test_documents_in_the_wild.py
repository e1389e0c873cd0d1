"""Documents as people make them: what a reader takes from them stands in one chunk."""

from __future__ import annotations

import pytest
from wild_grids import FORMATS, Fact, Wild, grids

from chunkers.chunk import ChunkingRecipe
from enrich.embedders import load
from evals.facts import score_file
from evals.quality import rows_of
from parsers.registry import parse_file

SMALL = 60  # tokens: tables are cut, so that only what is known of headers and labels holds
USUAL = 400


def rows(data: bytes, suffix: str, budget: int = USUAL) -> list[dict]:
    """Return the chunk rows of a file."""
    embedder = load("hashing:64")
    recipe = ChunkingRecipe(
        tokenizer=embedder.tokenizer.name, body_budget=budget, context_reserve=60
    )
    parsed = parse_file(data, suffix=suffix)
    found = rows_of(
        f"file{suffix}", parsed, recipe=recipe, card=embedder.card, tokenizer=embedder.tokenizer
    )
    return list(found)


def missing(found: list[dict], facts: list[Fact], tables: int | None = None) -> list[object]:
    """Return the facts that do not stand, strictly, in one chunk; and a wrong count of tables."""
    lost: list[object] = []
    for row, col, value in facts:
        fact = {"row": row, "col": col, "value": value}
        truth = {"file": "x.x", "tables": [{"facts": [fact]}], "text_facts": [], "must_not": []}
        scored = score_file({**truth, "expected_tables": None}, found)
        if not scored.found["rows_strict"]:
            lost.append(fact)
    ids = {each["table_id"] for each in found if each["table_id"]}
    if tables is not None and len(ids) != tables:
        lost.append(f"{len(ids)} tables")
    return lost


@pytest.mark.parametrize("budget", [SMALL, USUAL])
@pytest.mark.parametrize("suffix", FORMATS)
@pytest.mark.parametrize("wild", grids(), ids=lambda wild: wild.name)
def test_i3_rows_keep_their_labels_and_headers(wild: Wild, suffix: str, budget: int) -> None:
    if suffix == ".csv" and wild.name == "a value over several rows":
        pytest.skip("a CSV file does not say that a blank is part of the cell above")
    found = rows(FORMATS[suffix](wild), suffix, budget)
    assert missing(found, wild.facts, tables=1) == []
