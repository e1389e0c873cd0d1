"""Golden questions: who asks what on which day, where the answer stands, what must not come.

One JSON object a line: ``{id, query, language, tags, tenant, principals, as_of, expected,
must_not?}``. ``expected`` lists sources as ``{uri, quote}``, so that a golden set outlives every
way of cutting documents; empty, nothing answers the question for this asker. ``must_not`` lists
URIs of documents that this asker must not get on that day. ``evals.golden_file`` reads them.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date

from evals.metrics import context_precision, first_ranks, measure
from search.request import Candidate

AS_OF = "as_of"
CONTEXT_K = 5  # results that an answering model is given, as ``mucluc search`` shows by default


@dataclass(frozen=True, slots=True, kw_only=True)
class GoldenSource:
    """Where an answer stands: the document's URI, and words that stand there verbatim."""

    uri: str
    quote: str


@dataclass(frozen=True, slots=True, kw_only=True)
class GoldenQuestion:
    """One question as one person asks it on one day."""

    id: str
    query: str
    tenant: str
    principals: tuple[str, ...]
    as_of: date
    expected: tuple[GoldenSource, ...]
    tags: tuple[str, ...] = ()
    language: str | None = None
    must_not: tuple[str, ...] = ()


def judge(question: GoldenQuestion, found: Sequence[Candidate]) -> dict[str, float]:
    """Return the figures of one question's results, each from 0 to 1.

    A question with an answer: those of ``evals.metrics.measure``, ``hit@1`` (the first result
    answers), and ``context_precision`` of the first five. One without: ``no_answer``, whether
    nothing at all came back. With documents that must not come: ``hidden``, whether none did.
    Always ``in_force``, whether every result holds on the question's day. For the tag as_of
    ``only_version``: both of these, and the expected document, if there is one, is among the
    results; and ``right_version``: it comes first besides.
    """
    held = [_held(question, hit) for hit in found]
    figures: dict[str, float] = {}
    if question.expected:
        figures |= measure(first_ranks(held).values(), len(question.expected))
        figures["hit@1"] = float(bool(held and held[0]))
        figures["context_precision"] = context_precision([bool(h) for h in held], CONTEXT_K)
    else:
        figures["no_answer"] = float(not found)
    uris = {hit.uri for hit in found}
    is_hidden = not uris & set(question.must_not)
    is_in_force = all(_holds_on(hit, question.as_of) for hit in found)
    if question.must_not:
        figures["hidden"] = float(is_hidden)
    figures["in_force"] = float(is_in_force)
    if AS_OF in question.tags:
        expected = {source.uri for source in question.expected}
        is_only = is_hidden and is_in_force and expected <= uris
        is_first = not expected or (bool(found) and found[0].uri in expected)
        figures["only_version"] = float(is_only)
        figures["right_version"] = float(is_only and is_first)
    return figures


def _held(question: GoldenQuestion, hit: Candidate) -> set[int]:
    """Positions of the expected sources that a result holds."""
    text = plain(hit.text)
    return {
        place
        for place, source in enumerate(question.expected)
        if source.uri == hit.uri and plain(source.quote) in text
    }


def plain(text: str) -> str:
    """Return a text as quotes are compared: NFC, runs of white space as one space."""
    return " ".join(unicodedata.normalize("NFC", text).split())


def _holds_on(hit: Candidate, day: date) -> bool:
    return (hit.valid_from is None or hit.valid_from <= day) and (
        hit.valid_to is None or day <= hit.valid_to
    )
