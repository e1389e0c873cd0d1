"""A small deterministic embedder for tests and dry runs. It promises nothing about quality."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from chunkers.chunk import Tokenizer
from enrich.models import ModelCard, ModelUnavailable, Truncated, Vectors
from enrich.tokenizers import WordTokenizer, cut_to
from enrich.vectors import clean, clean_all, unit_vectors

_LIMIT = 512  # words


class HashingEmbedder:
    """Words and their character trigrams, hashed into signed buckets, scaled to unit length."""

    def __init__(self, dimensions: int) -> None:
        self.tokenizer: Tokenizer = WordTokenizer()
        self.card = ModelCard(
            name=f"hashing:{dimensions}",
            revision="1",
            dimensions=dimensions,
            max_tokens=_LIMIT,
            overhead_tokens=0,
        )

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        """Embed texts: float32 of shape (len(texts), dimensions). Raises ``Truncated``."""
        cleaned = clean_all(texts)
        for text in cleaned:
            tokens = self.tokenizer.count(text)
            if tokens > _LIMIT:
                raise Truncated(tokens, _LIMIT)
        raw = np.zeros((len(cleaned), self.card.dimensions))
        for row, text in zip(raw, cleaned, strict=True):
            self._add(row, text)
        return unit_vectors(raw, len(cleaned), self.card.dimensions)

    def embed_query(self, text: str) -> NDArray[np.float32]:
        """Embed one question, cut to 512 words: float32 of shape (dimensions,)."""
        clean_all([text])
        vector: NDArray[np.float32] = self.embed_passages(
            [cut_to(clean(text), _LIMIT, self.tokenizer)]
        )[0]
        return vector

    def _add(self, row: NDArray[np.float64], text: str) -> None:
        hashes = [value for word in text.casefold().split() for value in _features(word)]
        values = np.asarray(hashes, dtype=np.int64)
        signs = np.where(values & 1, 1.0, -1.0)
        np.add.at(row, (values >> 1) % self.card.dimensions, signs)
        if not row.any():
            row[0] = 1.0  # features that cancel out still need a direction


@lru_cache(100_000)
def _features(word: str) -> tuple[int, ...]:
    marked = f"^{word}$"
    grams = {marked[i : i + 3] for i in range(len(marked) - 2)}
    # The word itself weighs as much as two of its trigrams.
    return tuple(zlib.crc32(part.encode()) for part in [f"={word}", f"=={word}", *sorted(grams)])


def load(dimensions: str) -> HashingEmbedder:
    """Load ``hashing:DIM``; DIM between 2 and 4,000."""
    if not dimensions.isdecimal() or not 2 <= int(dimensions) <= 4000:
        raise ModelUnavailable("unknown_model", "write hashing:DIM with DIM from 2 to 4000")
    return HashingEmbedder(int(dimensions))
