"""Golden questions of a file, registered."""

from __future__ import annotations

from collections.abc import Sequence

from evals.golden import GoldenQuestion
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
    """Register questions for an index's versions. Raises NotAPrincipal."""
    return golden.add(store, index, [_new(question) for question in questions], dry_run=dry_run)


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
