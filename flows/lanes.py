"""Lanes: the versions that a job writes side by side, each with what its recipe needs to run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from numpy import float32
from numpy.typing import NDArray

from chunkers.chunk import ChunkingRecipe, Tokenizer
from enrich.contextualize import context_id
from enrich.embedders import load
from enrich.models import Embedder, EmbeddingFailed, ModelCard, Vectors
from enrich.tokenizers import WordTokenizer, recipe_for
from flows import settings_tables
from parsers.registry import FAMILIES, parser_id_for
from store.versions import Recipe, Version


@dataclass(frozen=True, slots=True, kw_only=True)
class Lane:
    """One version being written, and what makes its rows."""

    version: Version
    recipe: Recipe
    embedder: Embedder
    chunking: ChunkingRecipe


class AbsentModel:
    """Stands for a model that cannot be loaded here, where a version is only looked at."""

    def __init__(self, name: str, dimensions: int, error: EmbeddingFailed) -> None:
        self.card = ModelCard(
            name=name, revision="absent", dimensions=dimensions, max_tokens=0, overhead_tokens=0
        )
        self.tokenizer: Tokenizer = WordTokenizer()
        self._error = error

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        """Raises EmbeddingFailed, as loading did."""
        raise self._error

    def embed_query(self, text: str) -> NDArray[float32]:
        """Raises EmbeddingFailed, as loading did."""
        raise self._error


@dataclass(frozen=True, slots=True, kw_only=True)
class Lanes:
    """The versions that a batch goes through, and those of the index that were looked at.

    What the first cannot take is put aside; the others are left without it. ``in_step`` are ids
    of versions. ``renewed`` says that these are not the lanes that the run began with.
    """

    every: tuple[Lane, ...]
    in_step: tuple[int, ...] = ()
    renewed: bool = False

    @property
    def first(self) -> Lane:
        """The version that people search, unless its recipe cannot be run any more."""
        return self.every[0]


def parser_ids() -> dict[str, str]:
    """Our own versions of the parsers that can run here, by family of formats.

    Versions of libraries are in the parse stage's key, not here: a patch of one, or a helper
    program that is installed later, must not ask for another index version.
    """
    ids = {family: parser_id_for(suffix) for suffix, family in FAMILIES.items()}
    return {
        family: found.split()[0]
        for family, found in ids.items()
        if found and "-needs_" not in found
    }


def chunking_for(asked: settings_tables.Recipe, embedder: Embedder) -> ChunkingRecipe:
    """The recipe of the chunks that the settings ask for, fitted to the model (I4).

    Raises ValueError when they do not fit.
    """
    return recipe_for(
        embedder.card,
        embedder.tokenizer,
        body_budget=asked.body_budget,
        context_reserve=asked.context_reserve,
    )


def recipe_of(asked: settings_tables.Recipe) -> Recipe:
    """The ids of every stage as this program would make them today.

    Loads the model. Raises ModelUnavailable, ValueError.
    """
    embedder = load(asked.model)
    chunking = chunking_for(asked, embedder)
    return Recipe(
        parsers=parser_ids(),
        chunking=asdict(chunking),
        chunking_id=chunking.chunking_id,
        context_id=context_id(asked.context),
        model=embedder.card.name,
        fingerprint=embedder.card.fingerprint,
        dimensions=embedder.card.dimensions,
    )


def obstacles(kept: Mapping[str, Any]) -> tuple[str, ...]:
    """What keeps this program from making rows of a kept recipe: names of its fields.

    After an upgrade the old parser or chunker is gone; a model may not load here, or its name may
    stand for other weights by now.
    """
    found = []
    sizes = {name: kept["chunking"].get(name) for name in ("body_budget", "context_reserve")}
    cut = ChunkingRecipe(tokenizer=kept["chunking"].get("tokenizer", ""), **sizes)
    if cut.chunking_id != kept["chunking_id"]:
        found.append("chunking_id")
    try:
        known = context_id(kept["context_id"].rpartition("-")[0])
    except ValueError:
        known = ""
    if known != kept["context_id"]:
        found.append("context_id")
    try:
        embedder = load(kept["model"])
    except EmbeddingFailed:
        found.append("fingerprint")
    else:
        if embedder.card.fingerprint != kept["fingerprint"]:
            found.append("fingerprint")
        elif embedder.tokenizer.name != cut.tokenizer and "chunking_id" not in found:
            found.append("chunking_id")
    ours = parser_ids()
    found += [
        f"parsers.{family}"
        for family, theirs in sorted(kept["parsers"].items())
        if ours.get(family, theirs) != theirs
    ]
    return tuple(found)


def lane_to_judge(version: Version) -> Lane:
    """A version that is looked at, whether or not its recipe can still be run here."""
    recipe = Recipe.from_json(version.recipe)
    try:
        embedder = load(recipe.model)
    except EmbeddingFailed as exc:
        embedder = AbsentModel(recipe.model, version.dimensions, exc)
    return _lane(version, recipe, embedder)


def lane_of(version: Version) -> Lane | None:
    """A version with what writes it, or None when its recipe cannot be run here any more."""
    if obstacles(version.recipe):
        return None
    recipe = Recipe.from_json(version.recipe)
    return _lane(version, recipe, load(recipe.model))


def _lane(version: Version, recipe: Recipe, embedder: Embedder) -> Lane:
    return Lane(
        version=version,
        recipe=recipe,
        embedder=embedder,
        chunking=ChunkingRecipe(**recipe.chunking),
    )
