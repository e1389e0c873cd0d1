"""Golden files: one question a line, read with care, since people write them by hand."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from evals.golden import GoldenQuestion, GoldenSource
from sources.principals import check_principal

ALIKE = 0.6  # as difflib counts: url and uri, principal and principals, asof and as_of


class GoldenProblem(Exception):
    """A golden file cannot be used. The message names file, line and field, and no value (I10)."""


class _Wrong(Exception):
    """What is wrong with a line, in words."""


@dataclass(frozen=True, slots=True)
class _Field:
    """How a field is read; ``wanted`` says what it should be."""

    read: Callable[[Any], Any]
    wanted: str
    required: bool = True


def read_golden(path: Path) -> tuple[GoldenQuestion, ...]:
    """Read a golden set; keys beside those of the format are nobody's business.

    Raises GoldenProblem: a key that is missing while one like it stands there is named with it.
    """
    try:
        lines = path.read_text(encoding="utf-8-sig").split("\n")
    except (OSError, UnicodeDecodeError) as exc:
        raise GoldenProblem(f"{path} cannot be read ({type(exc).__name__})") from None
    found: dict[str, GoldenQuestion] = {}
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            question = _question(line)
            if question.id in found:
                raise _Wrong(f"id: a second question {question.id}")
        except _Wrong as exc:
            raise GoldenProblem(f"{path}, line {number}: {exc}") from None
        found[question.id] = question
    if not found:
        raise GoldenProblem(f"{path} holds no question")
    return tuple(found.values())


def _question(line: str) -> GoldenQuestion:
    try:
        row = json.loads(line)
    except json.JSONDecodeError as exc:
        raise _Wrong(
            f"not JSON at column {exc.colno} ({exc.msg}); each line is one object"
        ) from None
    return GoldenQuestion(**_fields(row, _QUESTION, ""))


def _fields(row: Any, form: Mapping[str, _Field], where: str) -> dict[str, Any]:
    """The fields that are there, read. Raises _Wrong with the field's name."""
    if not isinstance(row, Mapping):
        raise _Wrong(f"{_at(where)}must be an object {{{_keys(form)}}}, not {_kind(row)}")
    for name, field in form.items():
        if name in row:
            continue
        alike = get_close_matches(name, [key for key in row if key not in form], 1, ALIKE)
        if alike:
            raise _Wrong(f"{_at(where)}there is no key {alike[0]!r}; did you mean {name!r}")
        if field.required:
            raise _Wrong(f"{_at(where)}no {name}: {field.wanted}")
    return {
        name: _read(row[name], field, f"{where}.{name}" if where else name)
        for name, field in form.items()
        if name in row and (field.required or row[name] is not None)
    }


def _read(value: Any, field: _Field, where: str) -> Any:
    try:
        return field.read(value)
    except _Wrong as exc:
        raise _Wrong(f"{where}{exc}") from None
    except TypeError:
        raise _Wrong(f"{where}: must be {field.wanted}, not {_kind(value)}") from None
    except ValueError:
        empty = ", and not empty" if not value else ""
        raise _Wrong(f"{where}: must be {field.wanted}{empty}") from None


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError
    if not value.strip():
        raise ValueError
    return value


def _label(value: Any) -> str:
    """A text, or a number that serves as one."""
    return str(value) if type(value) is int else _text(value)


def _texts(value: Any) -> tuple[str, ...]:
    return tuple(_text(item) for item in _list(value))


def _principals(value: Any) -> tuple[str, ...]:
    found = []
    for place, name in enumerate(_texts(value)):
        try:
            found.append(check_principal(name))
        except ValueError as exc:
            raise _Wrong(f"[{place}]: {exc}") from None
    return tuple(found)


def _sources(value: Any) -> tuple[GoldenSource, ...]:
    return tuple(
        GoldenSource(**_fields(item, _SOURCE, f"[{place}]"))
        for place, item in enumerate(_list(value))
    )


def _list(value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise TypeError
    return value


def _at(where: str) -> str:
    return f"{where}: " if where else ""


def _keys(form: Mapping[str, _Field]) -> str:
    return ", ".join(f'"{name}": …' for name, field in form.items() if field.required)


def _kind(value: Any) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "true or false"
        case str():
            return "a text"
        case int() | float():
            return "a number"
        case list():
            return "a list"
        case _:
            return "an object"


_SOURCE = {
    "uri": _Field(_text, "a document's URI as a text"),
    "quote": _Field(_text, "words that stand in the document, as a text"),
}
_QUESTION = {
    "id": _Field(_label, "a label, as a text"),
    "query": _Field(_text, "the question as a text"),
    "tenant": _Field(_text, "a tenant's name"),
    "principals": _Field(_principals, 'a list of namespace:name, such as ["role:hr"]'),
    "as_of": _Field(date.fromisoformat, 'a day such as "2026-11-30"'),
    "expected": _Field(_sources, 'a list of {"uri": …, "quote": …}'),
    "tags": _Field(_texts, 'a list of texts, such as ["table"]', required=False),
    "language": _Field(_text, "a language's code, such as vi", required=False),
    "must_not": _Field(_texts, "a list of URIs", required=False),
}
