"""Golden questions of a file, registered."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import date
from functools import cache

from evals.golden import GoldenQuestion, GoldenSource, plain
from sources.principals import check_principal
from store import golden
from store.database import Store
from store.golden import Added, NewQuestion


class NotAPrincipal(Exception):
    """A question is asked by what is no principal. ``question`` is its id."""

    def __init__(self, question: str) -> None:
        super().__init__("not a principal")
        self.question = question


def register(
    store: Store, index: str, questions: Sequence[GoldenQuestion], *, dry_run: bool = False
) -> Added:
    """Register questions for an index's versions, and look for their quotes in the active one.

    Raises NotAPrincipal.
    """
    found = golden.add(store, index, [_new(question) for question in questions], dry_run=dry_run)
    idle = {*found.voided, *found.erased, *found.gone}
    asked = [question for question in questions if question.id not in idle]
    return replace(found, unheld=tuple(_unheld(store, index, asked)))


def _unheld(store: Store, index: str, questions: Sequence[GoldenQuestion]) -> list[str]:
    """Ids of questions with a quote that no chunk of its document holds on the question's day."""

    @cache
    def texts(tenant: str, uri: str, day: date) -> list[str] | None:
        found = golden.texts_at(store, index, tenant, uri, day)
        return None if found is None else [plain(text) for text in found]

    def misses(question: GoldenQuestion, source: GoldenSource) -> bool:
        held = texts(question.tenant, source.uri, question.as_of)
        return held is not None and not any(plain(source.quote) in text for text in held)

    return [q.id for q in questions if any(misses(q, source) for source in q.expected)]


def _new(question: GoldenQuestion) -> NewQuestion:
    try:
        principals = tuple(check_principal(name) for name in question.principals)
    except ValueError:
        raise NotAPrincipal(question.id) from None
    return NewQuestion(
        name=question.id,
        query=question.query,
        tenant=question.tenant,
        principals=principals,
        as_of=question.as_of,
        expected=tuple((source.uri, source.quote) for source in question.expected),
        tags=question.tags,
        language=question.language,
        must_not=question.must_not,
    )
