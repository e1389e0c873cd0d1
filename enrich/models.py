"""The embedding model as the pipeline sees it: one small protocol and its fingerprint."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from chunkers.chunk import Tokenizer

Vectors = NDArray[np.float32]


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelCard:
    """What makes two vectors comparable: vectors of unequal fingerprints never meet."""

    name: str  # as the user wrote it: e5, minilm, sentence-transformers:NAME, openai:NAME
    revision: str  # of the weights, as exactly as the library tells
    dimensions: int
    max_tokens: int  # the model's limit, prefix and special tokens included
    overhead_tokens: int  # the prefix and special tokens, out of max_tokens
    query_prefix: str = ""
    passage_prefix: str = ""
    normalised: bool = True
    precision: str = "float32"

    @property
    def fingerprint(self) -> str:
        """Short hash over every field."""
        material = json.dumps(asdict(self), sort_keys=True)
        return hashlib.sha256(material.encode()).hexdigest()[:16]


class Embedder(Protocol):
    """An embedding model. ``enrich.embedders.load(name)`` returns one."""

    card: ModelCard
    tokenizer: Tokenizer

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        """Embed contextual texts: float32 of shape (len(texts), card.dimensions), unit length.

        Raises ``EmbeddingFailed`` (with a code, never with text); a text over the limit raises
        ``Truncated`` instead of being cut (I4).
        """
        ...

    def embed_query(self, text: str) -> NDArray[np.float32]:
        """Embed one question: float32 of shape (card.dimensions,). A long question is cut."""
        ...


class EmbeddingFailed(Exception):
    """An embedding call failed; ``transient`` says whether trying again can help."""

    def __init__(self, code: str, *, transient: bool) -> None:
        super().__init__(code)
        self.code = code
        self.transient = transient


class ModelUnavailable(EmbeddingFailed):
    """A model cannot be loaded here. ``hint`` says why and names the next command."""

    def __init__(self, code: str, hint: str) -> None:
        super().__init__(code, transient=False)
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.code}: {self.hint}"


class Truncated(Exception):
    """A passage is longer than the model's limit: the chunking recipe does not fit the model."""

    def __init__(self, tokens: int, limit: int) -> None:
        super().__init__(f"{tokens} tokens for a model that reads {limit}")
        self.tokens = tokens
        self.limit = limit
