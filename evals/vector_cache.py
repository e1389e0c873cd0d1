"""Embeddings kept in files, so that nothing is embedded twice between measurements.

One folder a model (its fingerprint): ``keys.bin`` holds SHA-256 hashes of texts, ``vectors.bin``
the vectors in the same order, float32. Both only grow; vectors are written first, and what a
killed process left half-written is cut off by the next writer. For measurements alone: the hashes
are not keyed, so a company's documents must not go through it.
"""

from __future__ import annotations

import fcntl
import hashlib
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from chunkers.chunk import Tokenizer
from enrich.models import Embedder, Vectors

KEY_BYTES = 32
PASSAGE, QUERY = "passage", "query"


class VectorCache:
    """The vectors of one model, by text. Several processes may use a folder at once."""

    def __init__(self, folder: Path, dimensions: int) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._keys_file = folder / "keys.bin"
        self._vectors_file = folder / "vectors.bin"
        self._lock_file = folder / "lock"
        self._dimensions = dimensions
        self._places: dict[bytes, int] = {}
        self._read = 0
        with self._locked():
            self._refresh()

    def __len__(self) -> int:
        return len(self._places)

    def get(self, keys: Sequence[bytes]) -> list[NDArray[np.float32] | None]:
        """Return the vectors of keys, float32 of shape (dimensions,), None where there is none."""
        found: list[NDArray[np.float32] | None] = []
        size = self._dimensions * 4
        if not any(key in self._places for key in keys):
            return [None] * len(keys)
        with self._vectors_file.open("rb") as file:
            for key in keys:
                place = self._places.get(key)
                if place is None:
                    found.append(None)
                    continue
                file.seek(place * size)
                found.append(np.frombuffer(file.read(size), dtype=np.float32))
        return found

    def add(self, keys: Sequence[bytes], vectors: Vectors) -> None:
        """Keep vectors, float32 of shape (len(keys), dimensions)."""
        with self._locked():
            self._refresh()
            new = [n for n, key in enumerate(keys) if key not in self._places]
            if not new:
                return
            rows = np.ascontiguousarray(vectors[new], dtype=np.float32)
            for path, size, data in (
                (self._vectors_file, self._dimensions * 4, rows.tobytes()),
                (self._keys_file, KEY_BYTES, b"".join(keys[n] for n in new)),
            ):
                with path.open("r+b" if path.exists() else "wb") as file:
                    file.truncate(self._read * size)
                    file.seek(0, 2)
                    file.write(data)
            self._refresh()

    def _refresh(self) -> None:
        """Learn what was added by whoever since the last look."""
        if not (self._keys_file.exists() and self._vectors_file.exists()):
            return
        whole = min(
            self._keys_file.stat().st_size // KEY_BYTES,
            self._vectors_file.stat().st_size // (self._dimensions * 4),
        )
        with self._keys_file.open("rb") as file:
            file.seek(self._read * KEY_BYTES)
            data = file.read((whole - self._read) * KEY_BYTES)
        for n in range(whole - self._read):
            self._places[data[n * KEY_BYTES : (n + 1) * KEY_BYTES]] = self._read + n
        self._read = whole

    @contextmanager
    def _locked(self) -> Iterator[None]:
        with self._lock_file.open("w") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield


def cache_key(kind: str, text: str) -> bytes:
    """Hash a text, 32 bytes; ``kind`` is PASSAGE or QUERY, which models embed differently."""
    return hashlib.sha256(f"{kind}\0{text}".encode("utf-8", "surrogatepass")).digest()


class CachedEmbedder:
    """An embedding model that embeds only what its cache does not hold.

    ``embedded`` and ``reused`` count passages; ``query_seconds`` are the times of the questions
    that were embedded and not found.
    """

    def __init__(self, model: Embedder, folder: Path) -> None:
        self.card = model.card
        self.tokenizer: Tokenizer = model.tokenizer
        self.embedded = 0
        self.reused = 0
        self.query_seconds: list[float] = []
        self._model = model
        self._cache = VectorCache(folder / model.card.fingerprint, model.card.dimensions)

    def missing(self, texts: Sequence[str]) -> int:
        """Count the passages that would have to be embedded."""
        keys = [cache_key(PASSAGE, text) for text in texts]
        return sum(vector is None for vector in self._cache.get(keys))

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        """Embed or look up: float32 of shape (len(texts), card.dimensions)."""
        keys = [cache_key(PASSAGE, text) for text in texts]
        found = self._cache.get(keys)
        missing = [n for n, vector in enumerate(found) if vector is None]
        self.reused += len(texts) - len(missing)
        if missing:
            fresh = self._model.embed_passages([texts[n] for n in missing])
            self._cache.add([keys[n] for n in missing], fresh)
            self.embedded += len(missing)
            for n, vector in zip(missing, fresh, strict=True):
                found[n] = vector
        rows = [vector for vector in found if vector is not None]
        return np.array(rows, dtype=np.float32).reshape(len(texts), self.card.dimensions)

    def embed_query(self, text: str) -> NDArray[np.float32]:
        """Embed or look up one question: float32 of shape (card.dimensions,)."""
        key = cache_key(QUERY, text)
        (found,) = self._cache.get([key])
        if found is None:
            begun = time.perf_counter()
            found = self._model.embed_query(text)
            self.query_seconds.append(time.perf_counter() - begun)
            self._cache.add([key], found[None, :])
        return found
