"""Statements about documents: checked one by one, then laid over each other (DESIGN.md §6)."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Mapping
from datetime import date, datetime
from enum import StrEnum
from typing import Any

from sources.files import Metadata, SourceProblem
from sources.principals import check_acl_entry

_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")
_LANGUAGE = re.compile(r"([A-Za-z]{2,3})((?:-[A-Za-z0-9]{2,8})*)")
_MAX_TEXT = 1000  # characters of a title or a collection
_MAX_DEPTH = 8
_MAX_NUMBER = 2**63

KNOWN = ("title", "collection", "acl", "valid_from", "valid_to", "language")

# Ways to write a key that decides who reads what and when, so that it would pass for free
# metadata and a wider statement would hold in its place: refused instead.
_MISSPELT = {
    "acl": "acl",
    "acls": "acl",
    "accesscontrollist": "acl",
    "collection": "collection",
    "validfrom": "valid_from",
    "validto": "valid_to",
    "validuntil": "valid_to",
}


class Place(StrEnum):
    """Where a statement stands, nearest first, in the words of a hint."""

    MANIFEST = "its line in manifest.jsonl"
    SIDECAR = "its sidecar"
    FRONT_MATTER = "its front matter"
    FOLDER = "a _meta.yaml above it"
    DEFAULTS = "the source's defaults"


_SHARED = (Place.FOLDER, Place.DEFAULTS)


def check_statements(raw: object, place: Place) -> dict[str, Any]:
    """Check what was read at one place; return it by key, in its own types.

    ``acl`` becomes a sorted tuple, ``valid_from`` and ``valid_to`` become dates, texts NFC. A key
    without a value states that there is none and hides what is stated farther away, except for
    ``acl``, where nobody is written ``[]``. A title for many files is refused.

    Raises ``SourceProblem("broken_metadata")`` on the first fault.
    """
    if raw is None:
        return {}
    if not isinstance(raw, Mapping):
        raise _broken(place, "is not a list of keys and values")
    checked: dict[str, Any] = {}
    for key, value in raw.items():
        name = _key(key, place)
        if name in checked:
            raise _broken(place, "states a key twice")
        checked[name] = _known(name, value, place) if name in KNOWN else _free(value, place)
    return checked


def merge_statements(*nearest_first: Mapping[str, Any]) -> Metadata:
    """Lay checked statements over each other: for each key the nearest one holds, whole.

    Raises ``SourceProblem("broken_metadata")`` when the days that result begin after they end.
    """
    merged: dict[str, Any] = {}
    for statements in nearest_first:
        for key, value in statements.items():
            merged.setdefault(key, value)
    known = {key: merged.pop(key, None) for key in KNOWN}
    first, last = known["valid_from"], known["valid_to"]
    if first is not None and last is not None and first > last:
        hint = "valid_from is after valid_to, perhaps because they stand in different places"
        raise SourceProblem("broken_metadata", hint)
    return Metadata(**known, extra=dict(sorted(merged.items())))


def canonical(*statements: Mapping[str, Any]) -> str:
    """Write checked statements as one text: equal texts, equal statements."""
    return json.dumps(statements, sort_keys=True, ensure_ascii=False, default=str)


def _broken(place: Place, what: str) -> SourceProblem:
    return SourceProblem("broken_metadata", f"{place} {what}")


def _key(key: object, place: Place) -> str:
    if not isinstance(key, str) or not key.strip():
        raise _broken(place, "has a key that is not text")
    name = _text(key, place).strip()
    meant = _MISSPELT.get(re.sub(r"[\s_-]", "", name).lower())
    if meant is not None and name != meant:
        raise _broken(place, f"has a key that looks like {meant} and is not written {meant}")
    return name


def _known(name: str, value: object, place: Place) -> Any:
    if name == "acl":
        return _acl(value, place)
    if value is None:
        return None
    if name in ("valid_from", "valid_to"):
        return _day(name, value, place)
    if name == "title" and place in _SHARED:
        raise _broken(place, "gives one title to all the files")
    words = _line(name, value, place)
    if name != "language" or words is None:
        return words
    tag = _LANGUAGE.fullmatch(words)
    if tag is None:
        raise _broken(place, "has a language that is not a tag such as vi, en or en-GB")
    return tag[1].lower() + tag[2]


def _acl(value: object, place: Place) -> tuple[str, ...]:
    entries = [value] if isinstance(value, str) else value
    if entries is None:
        raise _broken(place, "has an acl without entries; write acl: [] for nobody")
    if not isinstance(entries, list | tuple):
        raise _broken(place, "has an acl that is not a list")
    checked = set()
    for number, entry in enumerate(entries, start=1):
        if not isinstance(entry, str):
            raise _broken(place, f"has acl entry {number} that is not text, as in role:hr")
        try:
            checked.add(check_acl_entry(entry))
        except ValueError as error:
            raise _broken(place, f"has a wrong acl entry {number}: {error}") from None
    return tuple(sorted(checked))


def _day(name: str, value: object, place: Place) -> date:
    if isinstance(value, date) and not isinstance(value, datetime):
        return value
    if isinstance(value, str) and _DATE.fullmatch(value):
        try:
            return date.fromisoformat(value)
        except ValueError:
            pass
    raise _broken(place, f"has a {name} that is not a day as in 2026-01-31")


def _line(name: str, value: object, place: Place) -> str | None:
    """Return one line of text; an integer or a date is taken as it was written."""
    if isinstance(value, bool) or not isinstance(value, str | int | date):
        raise _broken(place, f"has a {name} that is not text")
    words = " ".join(_text(str(value), place).split())
    if len(words) > _MAX_TEXT:
        raise _broken(place, f"has a {name} of more than {_MAX_TEXT} characters")
    return words or None


def _free(value: object, place: Place, depth: int = 0) -> Any:
    """Return a value that JSON and Postgres can hold."""
    if depth > _MAX_DEPTH:
        raise _broken(place, f"has more than {_MAX_DEPTH} levels")
    match value:
        case None | bool():
            return value
        case int() | float() if abs(value) < _MAX_NUMBER:  # NaN is not less
            return value
        case str() | date():
            return _text(str(value), place)
        case list() | tuple():
            return [_free(item, place, depth + 1) for item in value]
        case Mapping():
            pairs = {_free_key(key, place): item for key, item in value.items()}
            if len(pairs) < len(value):
                raise _broken(place, "states a key twice")
            return {key: _free(item, place, depth + 1) for key, item in pairs.items()}
    raise _broken(place, "has a value that JSON cannot hold")


def _free_key(key: object, place: Place) -> str:
    if not isinstance(key, str):
        raise _broken(place, "has a key that is not text")
    return _text(key, place)


def _text(value: str, place: Place) -> str:
    """Return text in NFC; NUL and lone surrogates are refused, because Postgres refuses them."""
    if "\0" in value or any("\ud800" <= letter <= "\udfff" for letter in value):
        raise _broken(place, "has text with characters that a database cannot hold")
    return unicodedata.normalize("NFC", value)
