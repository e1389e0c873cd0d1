"""Which languages an embedding model was made for."""

from __future__ import annotations

# Models trained on English alone, by their model cards; any other is taken for multilingual.
_ENGLISH = (
    "minilm",
    "all-",
    "multi-qa-",
    "msmarco-",
    "gtr-t5-",
    "bge-small-en",
    "bge-base-en",
    "bge-large-en",
    "gte-small",
    "gte-base",
    "gte-large",
    "e5-small",
    "e5-base",
)


def understands(model: str, language: str | None) -> bool:
    """Whether a model, by its name in the settings, was made for a language (None: unknown).

    ``intfloat/e5-small`` is English, ``intfloat/multilingual-e5-small`` is not.
    """
    if language is None or language == "en":
        return True
    scheme, _, rest = model.partition(":")
    if scheme in ("openai", "hashing"):
        return True
    name = (rest or scheme).rpartition("/")[2].lower()
    return not name.startswith(_ENGLISH)
