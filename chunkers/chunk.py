"""The chunk, and the recipe that made it."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import Protocol


class Tokenizer(Protocol):
    """Counts tokens as the embedding model does."""

    name: str

    def count(self, text: str) -> int:
        """Tokens of ``text`` alone, without the model's prefix and special tokens."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ChunkingRecipe:
    """Everything that decides where chunks begin and end (I4, I6).

    ``body_budget`` bounds the tokens of a chunk's own text, ``context_reserve`` those of the text
    that the contextualize stage puts in front of it; together with the model's prefix and special
    tokens they stay within the model's limit.
    """

    tokenizer: str
    body_budget: int
    context_reserve: int
    version: int = 2  # raised when the chunker's behaviour changes

    @property
    def chunking_id(self) -> str:
        """Name of this recipe in keys: equal ids cut equal text into equal chunks."""
        values = [self.tokenizer, self.body_budget, self.context_reserve, self.version]
        digest = hashlib.sha256(json.dumps(values).encode()).hexdigest()[:12]
        return f"structure-v{self.version}-{digest}"


@dataclass(frozen=True, slots=True, kw_only=True)
class CellSpan:
    """Where a cell of the grid stands verbatim in a chunk's text: text[start:end]."""

    row: int
    col: int
    start: int
    end: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Chunk:
    """A piece of a document that can be cited.

    Outside tables ``text`` is the document's normalised text from ``char_start`` to ``char_end``
    (I2). In a table chunk every cell is verbatim, and ``added`` lists the spans of ``text`` that
    repeat something said elsewhere (headers, row labels, expanded spans, captions), as (start,
    end) in characters, in order, without overlap; citations never quote from them.
    """

    text: str
    heading_path: tuple[str, ...]
    char_start: int
    char_end: int
    page_start: int | None
    page_end: int | None
    kinds: tuple[str, ...]
    tokens: int
    table_id: str | None = None
    cells: tuple[CellSpan, ...] = ()
    added: tuple[tuple[int, int], ...] = ()
    warnings: tuple[str, ...] = ()
