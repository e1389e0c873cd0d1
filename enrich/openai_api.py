"""Embeddings from OpenAI or from any server that speaks its API (OPENAI_BASE_URL)."""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from chunkers.chunk import Tokenizer
from enrich.models import EmbeddingFailed, ModelCard, ModelUnavailable, Truncated, Vectors
from enrich.prefixes import prefixes_for
from enrich.tokenizers import TiktokenTokenizer, cut_to
from enrich.vectors import clean, clean_all, unit_vectors

if TYPE_CHECKING:
    from openai import OpenAI, OpenAIError

# OpenAI's own models: dimensions. All read 8,191 tokens in cl100k_base (OpenAI's embeddings guide).
_KNOWN = {
    "text-embedding-3-small": 1536,
    "text-embedding-3-large": 3072,
    "text-embedding-ada-002": 1536,
}
_KNOWN_LIMIT = 8191
# A server's own tokenizer is not known here: a limit that nearly every model has, and a part of
# it kept free, because cl100k_base may count fewer tokens than the model's tokenizer does.
_GUESSED_LIMIT = 512
_GUESSED_SHARE = 8  # one part in eight

_BATCH_TOKENS = 100_000  # OpenAI takes 300,000 in a request
_BATCH_TEXTS = 256  # OpenAI takes 2,048
_BATCH_TEXTS_ELSEWHERE = 32  # the default limit of text-embeddings-inference
_TIMEOUT = 60.0  # seconds, for a batch
_QUERY_TIMEOUT = 15.0
_RETRIES = 5  # with the client's back-off and the server's Retry-After: about 15 seconds

_NAME = re.compile(r"(?P<model>.+?)(?:@(?P<dimensions>\d+)?(?:/(?P<limit>\d+))?)?")


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """What ``openai:NAME[@DIMENSIONS][/LIMIT]`` says; LIMIT (after ``@``) is in tokens."""

    model: str
    dimensions: int | None
    limit: int | None

    @property
    def encoding(self) -> str:
        """The tiktoken table: the model's own, else cl100k_base."""
        import tiktoken  # noqa: PLC0415

        try:
            name = tiktoken.encoding_name_for_model(self.model)
        except KeyError:
            return "cl100k_base"
        return name if name in ("cl100k_base", "o200k_base") else "cl100k_base"


def parse_name(argument: str) -> Endpoint:
    """Read ``NAME``, ``NAME@512``, ``NAME@1024/8192`` or ``NAME@/8192``."""
    match = _NAME.fullmatch(argument)
    if match is None:
        raise ModelUnavailable("unknown_model", "write openai:NAME, or openai:NAME@DIMENSIONS")
    dimensions, limit = match["dimensions"], match["limit"]
    return Endpoint(
        model=match["model"],
        dimensions=int(dimensions) if dimensions else None,
        limit=int(limit) if limit else None,
    )


def load_tokenizer(argument: str) -> TiktokenTokenizer:
    """Return the tokenizer for ``openai:ARGUMENT``; needs no network and no key."""
    return TiktokenTokenizer(parse_name(argument).encoding)


class OpenAIEmbedder:
    """Embeds over HTTP. Thread-safe (so is the client)."""

    def __init__(self, argument: str) -> None:
        endpoint = parse_name(argument)
        self._endpoint = endpoint
        self._client = _client()
        self.tokenizer: Tokenizer = TiktokenTokenizer(endpoint.encoding)
        query, passage = prefixes_for(endpoint.model)
        known = endpoint.model in _KNOWN
        limit = endpoint.limit or (_KNOWN_LIMIT if known else _GUESSED_LIMIT)
        spare = 0 if known else max(8, limit // _GUESSED_SHARE)
        self._batch_texts = _BATCH_TEXTS if known else _BATCH_TEXTS_ELSEWHERE
        dimensions = endpoint.dimensions or _KNOWN.get(endpoint.model) or self._probe()
        self.card = ModelCard(
            name=f"openai:{argument}",
            revision="api",
            dimensions=dimensions,
            max_tokens=limit,
            overhead_tokens=spare + (self.tokenizer.count(passage) if passage else 0),
            query_prefix=query,
            passage_prefix=passage,
        )

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        """Embed contextual texts: float32 of shape (len(texts), dimensions), unit length.

        Raises ``Truncated`` before anything is sent; ``EmbeddingFailed`` with one of
        ``rate_limited``, ``server_error``, ``timeout``, ``no_connection`` (transient),
        ``quota_exceeded``, ``not_authorised``, ``model_not_found``, ``refused``, ``bad_answer``,
        ``short_answer``, ``wrong_dimension``, ``bad_vector``, ``empty_text`` (not).
        """
        cleaned = clean_all(texts)
        room = self.card.max_tokens - self.card.overhead_tokens
        counts = [self.tokenizer.count(text) for text in cleaned]
        for tokens in counts:
            if tokens > room:
                raise Truncated(tokens + self.card.overhead_tokens, self.card.max_tokens)
        parts = [
            self._request(self._client, [self.card.passage_prefix + text for text in batch])
            for batch in _batches(cleaned, counts, self._batch_texts)
        ]
        if not parts:
            return np.empty((0, self.card.dimensions), dtype=np.float32)
        return np.concatenate(parts)

    def embed_query(self, text: str) -> NDArray[np.float32]:
        """Embed one question, cut to the limit: float32 of shape (dimensions,), unit length."""
        clean_all([text])
        room = self.card.max_tokens - self.card.overhead_tokens
        short = cut_to(clean(text), room, self.tokenizer)
        # Somebody waits for the answer: fail sooner than a batch would.
        client = self._client.with_options(max_retries=2, timeout=_QUERY_TIMEOUT)
        vector: NDArray[np.float32] = self._request(client, [self.card.query_prefix + short])[0]
        return vector

    def _probe(self) -> int:
        """Ask the server once for the dimensions of a model that is not in the table."""
        return len(self._call(self._client, ["probe"])[0])

    def _request(self, client: OpenAI, texts: list[str]) -> Vectors:
        return unit_vectors(self._call(client, texts), len(texts), self.card.dimensions)

    def _call(self, client: OpenAI, texts: list[str]) -> list[list[float]]:
        import openai  # noqa: PLC0415

        asked = self._endpoint.dimensions
        failure: EmbeddingFailed
        try:
            answer = client.embeddings.create(
                model=self._endpoint.model,
                input=texts,
                dimensions=openai.omit if asked is None else asked,
            )
            rows = sorted(answer.data, key=lambda item: item.index)
            if len(rows) == len(texts) and [row.index for row in rows] == list(range(len(texts))):
                return [list(row.embedding) for row in rows]
            failure = EmbeddingFailed("short_answer", transient=False)
        except openai.OpenAIError as exc:
            failure = _classify(exc)
        except (ValueError, TypeError, AttributeError):
            failure = EmbeddingFailed("bad_answer", transient=False)
        # Raised out here, so that the provider's text does not hang on as __context__ (I10).
        raise failure


def _classify(error: OpenAIError) -> EmbeddingFailed:
    """Turn a client error into a code. The provider's words stay behind: they echo the prompt."""
    import openai  # noqa: PLC0415

    if isinstance(error, openai.APITimeoutError):
        return EmbeddingFailed("timeout", transient=True)
    if isinstance(error, openai.APIConnectionError):
        return EmbeddingFailed("no_connection", transient=True)
    if isinstance(error, openai.APIStatusError):
        status = error.status_code
        if status == 429 and error.code == "insufficient_quota":
            return EmbeddingFailed("quota_exceeded", transient=False)
        codes = {
            401: "not_authorised",
            403: "not_authorised",
            404: "model_not_found",
            408: "timeout",
            409: "server_error",
            429: "rate_limited",
        }
        code = codes.get(status, "server_error" if status >= 500 else "refused")
        return EmbeddingFailed(code, transient=status in (408, 409, 429) or status >= 500)
    return EmbeddingFailed("bad_answer", transient=False)


def _client() -> OpenAI:
    import openai  # noqa: PLC0415

    key, base = os.environ.get("OPENAI_API_KEY"), os.environ.get("OPENAI_BASE_URL")
    if not key and not base:
        raise ModelUnavailable(
            "no_api_key", "set OPENAI_API_KEY, or OPENAI_BASE_URL for a server of your own"
        )
    # At DEBUG these can print requests, and a request is document text (I10).
    for name in ("openai", "httpx2", "httpcore2"):
        logging.getLogger(name).setLevel(logging.WARNING)
    return openai.OpenAI(
        api_key=key or "none", base_url=base or None, timeout=_TIMEOUT, max_retries=_RETRIES
    )


def _batches(texts: Sequence[str], counts: Sequence[int], most: int) -> Iterator[list[str]]:
    """Cut texts, in order, into requests of at most ``most`` texts and _BATCH_TOKENS tokens."""
    batch: list[str] = []
    tokens = 0
    for text, count in zip(texts, counts, strict=True):
        if batch and (len(batch) == most or tokens + count > _BATCH_TOKENS):
            yield batch
            batch, tokens = [], 0
        batch.append(text)
        tokens += count
    if batch:
        yield batch


def load(argument: str) -> OpenAIEmbedder:
    """Load ``openai:NAME``; a model that is not OpenAI's own is asked once for its dimensions."""
    return OpenAIEmbedder(argument)
