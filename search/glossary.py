"""The glossary a company keeps: what its acronyms and names mean.

A YAML file. A term and what it means, a list or one text::

    PTO: [paid time off, nghỉ phép có lương]
    SLA: service level agreement

    # More than that about a term: meanings lead back to it, and its case counts.
    IT: {means: [information technology, công nghệ thông tin], two_way: true, case: true}

    tenants:            # terms of one tenant alone; they replace a common term of the same name
      acme:
        PTO: [paid time off]
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unicodedata import normalize

from search.folding import fold, same_word, words

TENANTS = "tenants"
LONGEST = 200  # characters of a term or meaning
_WORD = re.compile(r"\w+")


class GlossaryError(Exception):
    """A glossary that cannot be used: the message names file and line, and no value."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Term:
    """A term and what it means. ``two_way``: a meaning in a question leads to the term too."""

    term: str
    means: tuple[str, ...]
    two_way: bool = False
    case: bool = False  # the term only as it is written, for IT and it

    def others(self, asked: tuple[str, ...]) -> tuple[str, ...]:
        """What else to say for these words of a question; empty where they are not this term."""
        if _is(asked, self.term) and (not self.case or asked == split(self.term)):
            return self.means
        if self.two_way and any(_is(asked, meaning) for meaning in self.means):
            return (self.term, *(m for m in self.means if not _is(asked, m)))
        return ()


class Glossary:
    """Terms of everybody and of single tenants, found by their words."""

    def __init__(
        self, common: Sequence[Term] = (), tenants: Mapping[str, Sequence[Term]] | None = None
    ) -> None:
        self._common = _index(common)
        self._tenants = {}
        for tenant, own in (tenants or {}).items():
            names = {fold(term.term) for term in own}
            left = [term for term in common if fold(term.term) not in names]
            self._tenants[tenant] = _index([*own, *left])

    def longest(self, tenant: str) -> int:
        """Words of the longest term or meaning that a tenant's question can hold."""
        return max(map(len, self._of(tenant)), default=0)

    def others(self, tenant: str, asked: tuple[str, ...]) -> tuple[str, ...]:
        """What else to say for these words, as they are written, of a tenant's question."""
        terms = self._of(tenant).get(_key(asked), ())
        return tuple(dict.fromkeys(other for term in terms for other in term.others(asked)))

    def _of(self, tenant: str) -> dict[tuple[str, ...], list[Term]]:
        return self._tenants.get(tenant, self._common)


def _index(terms: Iterable[Term]) -> dict[tuple[str, ...], list[Term]]:
    found: dict[tuple[str, ...], list[Term]] = defaultdict(list)
    for term in terms:
        for text in (term.term, *(term.means if term.two_way else ())):
            if term not in found[_key(split(text))]:
                found[_key(split(text))].append(term)
    return dict(found)


def _key(parts: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(fold(part) for part in parts)


EMPTY = Glossary()


def load_glossary(file: Path) -> Glossary:
    """Read a glossary.

    Raises GlossaryError with the file, the line, and what is wrong.
    """
    import yaml  # noqa: PLC0415  (only who keeps a glossary waits for it)

    try:
        root = yaml.compose(file.read_text(encoding="utf-8"), Loader=yaml.SafeLoader)
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise GlossaryError(f"{file}, line {line}: not YAML") from None
    except (yaml.YAMLError, UnicodeDecodeError):
        raise GlossaryError(f"{file}: not YAML in UTF-8") from None
    except OSError as error:
        raise GlossaryError(f"{file} cannot be read: {error.strerror}") from None
    if root is None:
        return EMPTY
    return _Reader(file).glossary(root)


class _Reader:
    """Reads composed YAML, whose nodes know their lines."""

    def __init__(self, file: Path) -> None:
        self._file = file

    def glossary(self, root: Any) -> Glossary:
        pairs = list(self._pairs(root, "a glossary is a list of TERM: [meanings]"))
        tenants = {}
        for value in (value for name, _, value in pairs if name == TENANTS):
            for tenant, _, terms in self._pairs(value, "tenants: NAME: TERM: [meanings]"):
                tenants[tenant] = self._terms(self._pairs(terms, "TERM: [meanings]"))
        return Glossary(self._terms(p for p in pairs if p[0] != TENANTS), tenants)

    def _terms(self, pairs: Iterable[tuple[str, Any, Any]]) -> tuple[Term, ...]:
        found: dict[str, Term] = {}
        for name, key, value in pairs:
            if fold(name) in found:
                raise self._wrong(key, "this term is there already")
            found[fold(name)] = self._term(name, value)
        return tuple(found.values())

    def _term(self, name: str, value: Any) -> Term:
        flags = {"two_way": False, "case": False}
        meanings: Any = value
        if value.id == "mapping":
            meanings = None
            for option, key, stated in self._pairs(value, ""):
                if option == "means":
                    meanings = stated
                elif option in flags and getattr(stated, "value", None) in ("true", "false"):
                    flags[option] = stated.value == "true"
                else:
                    raise self._wrong(key, "a term has means, two_way and case (true or false)")
            if meanings is None:
                raise self._wrong(value, "a term needs its meanings: means: [meaning, meaning]")
        listed = meanings.value if meanings.id == "sequence" else [meanings]
        means = [self._text(node) for node in listed]
        if not means:
            raise self._wrong(meanings, "a term needs a meaning")
        return Term(term=name, means=tuple(dict.fromkeys(means)), **flags)

    def _pairs(self, node: Any, wanted: str) -> Iterator[tuple[str, Any, Any]]:
        if node.id != "mapping":
            raise self._wrong(node, f"expected {wanted}")
        for key, value in node.value:
            yield self._text(key), key, value

    def _text(self, node: Any) -> str:
        text = normalize("NFC", " ".join(node.value.split())) if node.id == "scalar" else ""
        if not words(text):
            raise self._wrong(node, "expected a word or words, with a letter or a digit")
        if len(text) > LONGEST:
            raise self._wrong(node, f"longer than {LONGEST} characters")
        return text

    def _wrong(self, node: Any, why: str) -> GlossaryError:
        return GlossaryError(f"{self._file}, line {node.start_mark.line + 1}: {why}")


def _is(asked: tuple[str, ...], known: str) -> bool:
    parts = split(known)
    return len(asked) == len(parts) and all(map(same_word, asked, parts))


def split(text: str) -> tuple[str, ...]:
    """A text's words as they are written."""
    return tuple(text[start:end] for start, end in spans(text))


def spans(text: str) -> list[tuple[int, int]]:
    """Where a text's words stand."""
    return [match.span() for match in _WORD.finditer(text)]
