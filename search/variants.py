"""Other ways to ask the same: cleaned up, with the glossary's words, or as a model writes them."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

from search.folding import fold, words
from search.glossary import Glossary, spans, split
from search.queries import ParsedQuery
from search.request import SearchRequest

ORIGINAL, NORMALISED, GLOSSARY, WRITTEN = "original", "normalised", "glossary", "written"
LONGEST = 2000  # characters of a variant that a model wrote

_INVISIBLE = re.compile("[\u00ad\u200b-\u200f\u2060\ufeff]")
_REPEATED = re.compile(r"([^\w\s])\1+")
_TOKEN = re.compile(r"\w+(?:[-_./]+\w+)*")
_ENDS = re.compile(r"^[^\w§]+|[\s?!.,;:…~*]+$")


@dataclass(frozen=True, slots=True)
class Variant:
    """A question to search with: how it came about, and its text."""

    kind: str
    text: str


class VariantWriter(Protocol):
    """Writes other ways to ask, with a model."""

    def write(self, request: SearchRequest) -> Sequence[str]:
        """Other ways to ask a request's question, best first; ``summary`` is the chat so far.

        May raise anything: the search goes on without.
        """
        ...


def variants(query: ParsedQuery, glossary: Glossary, tenant: str, most: int) -> list[Variant]:
    """The question itself, first, and at most ``most`` others.

    An exact look-up has no others: they would find what was not asked for.
    """
    found = [Variant(ORIGINAL, query.text)]
    if query.is_exact_lookup:
        return found
    expanded = [Variant(GLOSSARY, text) for text in _expanded(query, glossary, tenant)]
    return _distinct([*found, *expanded, Variant(NORMALISED, _normalised(query.text))], most)


def with_written(
    query: ParsedQuery, found: Sequence[Variant], texts: Iterable[str], most: int
) -> list[Variant]:
    """The variants, and what a model wrote, up to ``most`` beside the question itself."""
    if query.is_exact_lookup:
        return list(found)
    written = [Variant(WRITTEN, _normalised(text)[:LONGEST]) for text in texts]
    return _distinct([*found, *written], most)


def search_words(text: str) -> tuple[str, ...]:
    """The words and codes of a text: two that have the same are one question to full text."""
    return tuple(_TOKEN.findall(text.casefold()))


def _distinct(found: Sequence[Variant], most: int) -> list[Variant]:
    """The first of each; a text that says the same words is another only if it is less noisy."""
    kept: dict[tuple[object, ...], Variant] = {}
    for variant in found:
        said = search_words(variant.text)
        if said or variant.kind == ORIGINAL:
            kept.setdefault((said, bool(_REPEATED.search(variant.text))), variant)
    return list(kept.values())[: most + 1]


def _normalised(text: str) -> str:
    plain = _INVISIBLE.sub("", unicodedata.normalize("NFKC", text))
    plain = _REPEATED.sub(r"\1", plain)
    return _ENDS.sub("", " ".join(plain.split()))


def _expanded(query: ParsedQuery, glossary: Glossary, tenant: str) -> list[str]:
    """The question with each known term in other words: first, second, … meaning of all of them."""
    longest = glossary.longest(tenant)
    places = spans(query.text)
    asked = split(query.text)
    quoted = [words(phrase) for phrase in query.phrases]
    found: list[tuple[int, int, tuple[str, ...]]] = []
    at = 0
    while at < len(asked):
        for length in range(min(longest, len(asked) - at), 0, -1):
            part = asked[at : at + length]
            others = glossary.others(tenant, part)
            if others and not any(_within(part, phrase) for phrase in quoted):
                found.append((places[at][0], places[at + length - 1][1], others))
                at += length
                break
        else:
            at += 1
    expanded = []
    for number in range(max((len(others) for *_, others in found), default=0)):
        text = query.text
        for start, end, others in reversed(found):
            text = text[:start] + others[min(number, len(others) - 1)] + text[end:]
        expanded.append(text)
    return expanded


def _within(part: Sequence[str], phrase: Sequence[str]) -> bool:
    folded = [fold(word) for word in part]
    return any(
        list(phrase[at : at + len(folded)]) == folded for at in range(len(phrase) - len(folded) + 1)
    )
