"""What every embedder does before and after its model: clean texts in, sound vectors out."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from enrich.models import EmbeddingFailed, Vectors

# NUL ends a string in C engines (the rest would be cut unseen, I4); lone surrogates are no text.
_UNSAFE = re.compile("[\x00\ud800-\udfff]")


def clean(text: str) -> str:
    """Return ``text`` with NULs and lone surrogates as spaces: the same for counting and encoding.

    Each is replaced by one character, so that offsets hold.
    """
    return _UNSAFE.sub(" ", text)


def clean_all(texts: Sequence[str]) -> list[str]:
    """Clean texts; raises ``EmbeddingFailed("empty_text")`` if one has no visible character."""
    cleaned = [clean(text) for text in texts]
    if not all(text.strip() for text in cleaned):
        raise EmbeddingFailed("empty_text", transient=False)
    return cleaned


def unit_vectors(raw: ArrayLike, count: int, dimensions: int) -> Vectors:
    """Check a model's answer and scale it: float32 of shape (count, dimensions), unit length.

    Raises ``EmbeddingFailed`` with ``bad_vector`` (not finite, or no direction), ``short_answer``
    (fewer or more vectors than texts) or ``wrong_dimension``.
    """
    try:
        vectors = np.asarray(raw, dtype=np.float64)
    except (TypeError, ValueError):
        vectors = np.empty(0)
    if vectors.ndim != 2:
        raise EmbeddingFailed("wrong_dimension", transient=False)
    if len(vectors) != count:
        raise EmbeddingFailed("short_answer", transient=False)
    if vectors.shape[1] != dimensions:
        raise EmbeddingFailed("wrong_dimension", transient=False)
    with np.errstate(over="ignore", invalid="ignore"):
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    if not np.isfinite(vectors).all() or not np.isfinite(lengths).all() or (lengths < 1e-9).any():
        raise EmbeddingFailed("bad_vector", transient=False)
    return np.ascontiguousarray(vectors / lengths, dtype=np.float32)
