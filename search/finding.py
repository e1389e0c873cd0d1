"""Both retrievers over every variant of a question; when one fails, the other's results."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from numpy.typing import NDArray

from enrich.models import Embedder, EmbeddingFailed
from search.glossary import Glossary
from search.queries import ParsedQuery
from search.request import OutOfTime, RetrievalPolicy, SearchRequest, SearchTrace
from search.variants import Variant, VariantWriter, search_words, variants, with_written
from search.waiting import Deadline, Pending, StillRunning
from search.weighting import DENSE, TEXT
from store.errors import StoreError
from store.reader import Reader, Scope

CANCELLED = "57014"  # SQLSTATE: a statement ran out of its time
Rows = list[dict[str, Any]]


@dataclass(slots=True, kw_only=True)
class Found:
    """Rows by retriever and number of the variant, and the variants."""

    variants: list[Variant]
    rows: dict[tuple[str, int], Rows] = field(default_factory=dict)

    @property
    def empty(self) -> bool:
        """Whether nothing was found at all."""
        return not any(self.rows.values())


@dataclass(slots=True, kw_only=True)
class Finder:
    """Finds, in one reader's snapshot of one version, within the time."""

    reader: Reader
    version: dict[str, Any]
    request: SearchRequest
    query: ParsedQuery
    policy: RetrievalPolicy
    deadline: Deadline
    trace: SearchTrace
    embedder_for: Callable[[str], Embedder]
    glossary: Glossary
    writer: VariantWriter | None
    _errors: dict[str, Exception] = field(default_factory=dict)
    _embedded: list[tuple[Variant, str, NDArray[Any]]] = field(default_factory=list)
    _texts: list[str] | None = None  # what the writer wrote, once asked

    def find(self, scope: Scope) -> Found:
        """Ask both retrievers. The model works on the vectors while the text is searched.

        Raises what failed when no retriever that was asked for could answer: StoreError,
        EmbeddingFailed, OutOfTime.
        """
        most = self.policy.variants
        found = Found(variants=variants(self.query, self.glossary, self.request.tenant, most))
        writing = self._start_writing()
        embedding = self._start_embedding(found.variants) if self.policy.dense else None
        if self.policy.text:
            self._text(found, scope)
        if writing is not None:
            known = len(found.variants)
            found.variants = self._written(found.variants, writing)
            if self.policy.text:
                self._text(found, scope)
            if embedding is not None and len(found.variants) > known:
                self._wait_for_vectors(embedding)
                embedding = self._start_embedding(found.variants[known:])
        if embedding is not None:
            self._wait_for_vectors(embedding)
            self._dense(found, scope)
        self._raise_if_nobody_answered(found)
        return found

    def _start_writing(self) -> Pending[list[str]] | None:
        writer = self.writer
        if writer is None or self.query.is_exact_lookup or not self.policy.variants:
            return None
        if self._texts is not None:  # a second search of the same question
            return Pending(lambda: self._texts or [])
        return Pending(lambda: list(writer.write(self.request)))

    def _written(self, found: list[Variant], writing: Pending[list[str]]) -> list[Variant]:
        self._texts = []
        try:
            self._texts = writing.result(self.deadline.left())
        except StillRunning:
            self.trace.fallbacks.append("variants: the model was not done within the time limit")
            return found
        except Exception as exc:
            self.trace.warnings.append(f"variants: the model failed ({_code(exc)})")
            return found
        self.trace.seconds["write"] = writing.seconds
        return with_written(self.query, found, self._texts, self.policy.variants)

    def _start_embedding(self, asked: Sequence[Variant]) -> Pending[None]:
        """Vectors come one by one, the question's first, so that it counts if time runs out."""
        known = {variant.text for variant, _, _ in self._embedded}
        todo = [variant for variant in asked if variant.text not in known]
        done = self._embedded

        def embed() -> None:
            unknown = ""
            try:
                embedder = self.embedder_for(self.version["recipe"]["model"])
                for variant in todo:
                    vector = embedder.embed_query(variant.text)
                    done.append((variant, embedder.card.fingerprint, vector))
            except EmbeddingFailed:
                raise
            except Exception as exc:  # its text may hold the question (I10)
                unknown = type(exc).__name__
            if unknown:
                raise EmbeddingFailed(unknown, transient=False)

        return Pending(embed)

    def _wait_for_vectors(self, embedding: Pending[None]) -> None:
        try:
            embedding.result(self.deadline.left())
        except (StillRunning, EmbeddingFailed) as exc:
            self._failed(DENSE, exc, "embedder")
        self.trace.seconds["embed"] = self.trace.seconds.get("embed", 0.0) + embedding.seconds

    def _text(self, found: Found, scope: Scope) -> None:
        """Search the variants that were not searched yet; one with the same words is not."""
        asked: set[tuple[str, ...]] = set()
        with self._timed(TEXT):
            for number, variant in enumerate(found.variants):
                words = search_words(variant.text)
                if words in asked or (TEXT, number) in found.rows:
                    asked.add(words)
                    continue
                asked.add(words)
                text = variant.text
                self._ask(
                    found,
                    TEXT,
                    number,
                    lambda text=text: self.reader.text(  # type: ignore[misc]
                        self.version["version_id"], text, self._depth, scope
                    ),
                )

    def _dense(self, found: Found, scope: Scope) -> None:
        if self.deadline.over and DENSE in self._errors:
            return
        vectors = {variant.text: (model, vector) for variant, model, vector in list(self._embedded)}
        with self._timed(DENSE):
            for number, variant in enumerate(found.variants):
                if variant.text not in vectors:
                    continue
                model, vector = vectors[variant.text]
                self._ask(
                    found,
                    DENSE,
                    number,
                    lambda model=model, vector=vector: self.reader.dense(  # type: ignore[misc]
                        self.version["version_id"], model, vector, self._depth, scope
                    ),
                )

    def _ask(self, found: Found, retriever: str, number: int, ask: Callable[[], Rows]) -> None:
        """One query of the database, which may fail alone."""
        if self.deadline.over:
            self._failed(retriever, StillRunning(), "database", number)
            return
        try:
            with self.reader.step(self.deadline.left()):
                found.rows[retriever, number] = ask()
        except StoreError as exc:
            self._failed(retriever, exc, "database", number)

    def _failed(self, retriever: str, exc: Exception, part: str, number: int = 0) -> None:
        self._errors.setdefault(retriever, exc)
        about = retriever if not number else f"{retriever} of a variant"
        if _out_of_time(exc, self.deadline):
            note = f"{about}: the {part} was not done within the time limit"
            if note not in self.trace.fallbacks:
                self.trace.fallbacks.append(note)
            return
        self.trace.warnings.append(f"{about}: the {part} failed ({_code(exc)})")

    def _raise_if_nobody_answered(self, found: Found) -> None:
        if found.rows or not self._errors:
            return
        # The database's word weighs more: what it cannot do, no model helps.
        for exc in (self._errors.get(TEXT), self._errors.get(DENSE)):
            if exc is not None and not _out_of_time(exc, self.deadline):
                raise exc
        raise OutOfTime

    @property
    def _depth(self) -> int:
        return max(self.policy.depth, self.policy.k)

    @contextmanager
    def _timed(self, step: str) -> Iterator[None]:
        begun = time.perf_counter()
        try:
            yield
        finally:
            taken = time.perf_counter() - begun
            self.trace.seconds[step] = self.trace.seconds.get(step, 0.0) + taken


def _out_of_time(exc: Exception, deadline: Deadline) -> bool:
    cancelled = isinstance(exc, StoreError) and exc.code == CANCELLED
    return isinstance(exc, StillRunning) or (cancelled and deadline.left() is not None)


def _code(exc: Exception) -> str:
    """What failed, without a word of anybody's (I10)."""
    code = getattr(exc, "code", None)
    return code if isinstance(code, str) else type(exc).__name__
