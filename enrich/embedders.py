"""Embedding models by name. Importing this module loads no model and no model library."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import cache
from threading import RLock

import numpy as np

from chunkers.chunk import Tokenizer
from enrich import hashing, nano_e5, openai_api, sentence_models
from enrich.models import Embedder, EmbeddingFailed, ModelUnavailable
from enrich.tokenizers import WordTokenizer, cut_to

DEFAULT = "e5"

# A kind of model, and how to open NAME of "kind:NAME" (None: the kind takes no name).
_MODELS: dict[str, Callable[[], Embedder]] = {
    "e5": nano_e5.load,
    "minilm": sentence_models.load_minilm,
}
_FAMILIES: dict[str, Callable[[str], Embedder]] = {
    "sentence-transformers": sentence_models.load,
    "openai": openai_api.load,
    "hashing": hashing.load,
}
_MODEL_TOKENIZERS: dict[str, Callable[[], Tokenizer]] = {
    "e5": nano_e5.load_tokenizer,
    "minilm": lambda: sentence_models.load_tokenizer(sentence_models.find_minilm()),
}
_FAMILY_TOKENIZERS: dict[str, Callable[[str], Tokenizer]] = {
    "sentence-transformers": lambda name: sentence_models.load_tokenizer(
        sentence_models.find_folder(name)
    ),
    "openai": openai_api.load_tokenizer,
    "hashing": lambda _name: WordTokenizer(),
}

_LOCK = RLock()

_SAMPLE = (
    "Employees accrue twelve days of paid leave per calendar year, and unused days expire in March."
    " Nhân viên được hưởng mười hai ngày nghỉ phép hưởng nguyên lương mỗi năm, báo trước ba ngày. "
)
_PROBES = (
    "The warranty covers manufacturing defects for twenty-four months from delivery.",
    "Khách hàng được đổi trả trong vòng bảy ngày kể từ ngày nhận hàng.",
    "ERR_4021: the request limit is 429 calls a minute; price 8.500.000 VND.",
)
_PROBE_DIMENSIONS = 64
_PROBE_AGREES = 0.998  # cosine; another CPU's rounding stays above, another quantisation below


def load(name: str) -> Embedder:
    """Load an embedding model, once per process; thread-safe.

    ``name`` is ``e5``, ``minilm``, ``sentence-transformers:NAME_OR_PATH``,
    ``openai:NAME[@DIMENSIONS]`` or ``hashing:DIM`` (docs/models.md). Raises ``ModelUnavailable``
    with the next command in its hint, or ``EmbeddingFailed`` if a server does not answer.
    """
    with _LOCK:
        return _load(name)


def load_tokenizer(name: str) -> Tokenizer:
    """Load a model's tokenizer alone: no weights, no network, no key; cached and thread-safe."""
    with _LOCK:
        return _load_tokenizer(name)


@cache
def _load(name: str) -> Embedder:
    kind, colon, argument = name.partition(":")
    if colon and kind in _FAMILIES:
        return _FAMILIES[kind](argument)
    if not colon and kind in _MODELS:
        return _MODELS[kind]()
    raise _unknown()


@cache
def _load_tokenizer(name: str) -> Tokenizer:
    kind, colon, argument = name.partition(":")
    if colon and kind in _FAMILY_TOKENIZERS:
        return _FAMILY_TOKENIZERS[kind](argument)
    if not colon and kind in _MODEL_TOKENIZERS:
        return _MODEL_TOKENIZERS[kind]()
    raise _unknown()


def _unknown() -> ModelUnavailable:
    forms = [*_MODELS, *(f"{family}:NAME" for family in _FAMILIES)]
    return ModelUnavailable("unknown_model", f"write one of {', '.join(forms)}")


def describe_speed(embedder: Embedder) -> float:
    """Measure chunks per second on eight chunks of about 200 tokens (e5: one to two seconds)."""
    room = embedder.card.max_tokens - embedder.card.overhead_tokens
    sample = cut_to(_SAMPLE * 10, min(200, room), embedder.tokenizer)
    embedder.embed_passages([_PROBES[0]])  # the first call also allocates and compiles
    begun = time.perf_counter()
    embedder.embed_passages([sample] * 8)
    return 8 / max(time.perf_counter() - begun, 1e-6)


def probe(embedder: Embedder) -> bytes:
    """Fingerprint what a model gives for fixed sentences; compare with ``same_vectors``.

    Three sentences, of each the first 64 dimensions as signed bytes, scaled by their largest:
    192 bytes. Not a hash: the last bits differ between processors and between a server's
    replicas, and a hash of rounded numbers would call such models different.
    """
    vectors = embedder.embed_passages(_PROBES)[:, :_PROBE_DIMENSIONS]
    padded = np.zeros((len(_PROBES), _PROBE_DIMENSIONS))
    padded[:, : vectors.shape[1]] = vectors
    largest = np.abs(padded).max(axis=1, keepdims=True)
    if (largest == 0).any():
        raise EmbeddingFailed("bad_vector", transient=False)
    return bytes(np.rint(padded / largest * 127).astype(np.int8).tobytes())


def same_vectors(stored: bytes, fresh: bytes) -> bool:
    """Tell whether two probes came from models whose vectors can be compared.

    Each sentence's vectors must agree to a cosine of 0.998. Probes of unequal length never do.
    """
    if len(stored) != len(fresh) or not stored or len(stored) % _PROBE_DIMENSIONS:
        return False
    ours, theirs = (
        np.frombuffer(data, dtype=np.int8).reshape(-1, _PROBE_DIMENSIONS).astype(np.float64)
        for data in (stored, fresh)
    )
    lengths = np.linalg.norm(ours, axis=1) * np.linalg.norm(theirs, axis=1)
    cosines = (ours * theirs).sum(axis=1) / np.maximum(lengths, 1e-9)
    return bool((cosines >= _PROBE_AGREES).all())
