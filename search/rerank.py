"""A second look at the best candidates: a model that reads question and chunk together."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache
from importlib.util import find_spec
from threading import Lock
from typing import TYPE_CHECKING, Any, Protocol

from enrich.models import ModelUnavailable
from enrich.sentence_models import find_folder

if TYPE_CHECKING:
    from sentence_transformers import CrossEncoder

_PREFIX = "sentence-transformers:"
_EXTRA = "run: pip install -c constraints.txt -e '.[models]'"
_BATCH = 16  # pairs in one forward pass


class Reranker(Protocol):
    """Judges how well texts answer a question."""

    def score(self, query: str, texts: Sequence[str]) -> list[float]:
        """One number for each text, in their order; more is better.

        May raise anything: the search keeps the fused order and says so.
        """
        ...


class RerankFailed(Exception):
    """A reranker gave no usable scores. The code has no text in it."""

    def __init__(self, code: str) -> None:
        super().__init__(code)
        self.code = code


class CrossEncoderReranker:
    """A cross-encoder on this machine, through sentence-transformers. Thread-safe.

    A pair that is longer than the model reads is cut at its end by the library.
    """

    def __init__(self, model: CrossEncoder) -> None:
        self._model = model
        self._lock = Lock()

    def score(self, query: str, texts: Sequence[str]) -> list[float]:
        """One number for each text. Raises RerankFailed, without the library's message (I10)."""
        failed = False
        raw: Any = ()
        try:
            with self._lock:
                raw = self._model.predict(
                    [(query, text) for text in texts],
                    batch_size=_BATCH,
                    show_progress_bar=False,
                    convert_to_numpy=True,
                )
        except (RuntimeError, ValueError, IndexError, TypeError):
            failed = True  # raised below, outside the block: no cause that holds text
        if failed:
            raise RerankFailed("model_error")
        if getattr(raw, "ndim", 1) != 1:
            raise RerankFailed("several_scores")  # a classifier of more than one label
        return [float(value) for value in raw]


@cache
def load_reranker(name: str) -> Reranker:
    """Load a cross-encoder that is on this machine, once a process.

    ``name`` is a folder or a name in the Hugging Face cache, with or without
    ``sentence-transformers:`` before it. Raises ModelUnavailable with the next command.
    """
    folder = find_folder(name.removeprefix(_PREFIX))
    if find_spec("sentence_transformers") is None:
        raise ModelUnavailable("models_extra_missing", _EXTRA)
    try:
        from sentence_transformers import CrossEncoder  # noqa: PLC0415

        return CrossEncoderReranker(CrossEncoder(str(folder), local_files_only=True))
    except Exception as exc:  # the libraries raise many kinds for one fact
        kind = type(exc).__name__
    raise ModelUnavailable(
        "model_not_loadable",
        f"sentence-transformers could not open it as a cross-encoder ({kind}); see docs/search.md",
    )


def checked(scores: Sequence[float], texts: int) -> list[float]:
    """The scores of so many texts, if they are usable.

    Raises RerankFailed.
    """
    if len(scores) != texts:
        raise RerankFailed("wrong_count")
    if not all(isinstance(score, float | int) and math.isfinite(score) for score in scores):
        raise RerankFailed("bad_score")
    return [float(score) for score in scores]
