"""What is wrong with a settings file, in words: the key, the kind of value, the nearest key."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any, get_args, get_origin

from pydantic import BaseModel, ValidationError

# Secrets come from the environment; in a file they end up in a repository or a backup.
_FROM_ENVIRONMENT = {
    "databaseurl": "DATABASE_URL",
    "dsn": "DATABASE_URL",
    "secret": "MUCLUC_SECRET",
    "secretkey": "MUCLUC_SECRET",
    "mucluksecret": "MUCLUC_SECRET",
    "openaiapikey": "OPENAI_API_KEY",
    "apikey": "OPENAI_API_KEY",
    "password": "DATABASE_URL",
    "token": "OPENAI_API_KEY",
}
_KINDS = (
    (bool, "true or false"),
    (int, "a whole number"),
    (float, "a decimal number"),
    (str, "text"),
    (list, "a list"),
    (dict, "a table"),
)


class SettingsError(Exception):
    """The settings cannot be used; the message names file and key and holds no value."""


def explain(
    file: Path, error: ValidationError, model: type[BaseModel], stated: dict[str, Any]
) -> str:
    """Put every fault of a settings file into one line each."""
    lines = []
    for fault in error.errors(include_url=False, include_context=False):
        place = fault["loc"]
        if fault["type"] == "extra_forbidden":
            keys = _keys_at(model, place[:-1])
            lines.append(f"{_path(place, stated)} is not a setting{nearest(str(place[-1]), keys)}")
            continue
        wanted = fault["msg"].removeprefix("Value error, ").replace("Input should be", "should be")
        if fault["type"] == "missing":
            lines.append(f"{_path(place, stated)} is missing")
        elif fault["type"] == "value_error":
            lines.append(f"{_path(place, stated)}: {wanted}" if place else wanted)
        else:
            lines.append(f"{_path(place, stated)} is {_kind(fault['input'])}: {wanted}")
    return "\n".join(f"{file}: {line}" for line in lines)


def find_secrets(stated: dict[str, Any]) -> str | None:
    """Return what to do about a secret in the file, or None."""
    for key, value in stated.items():
        variable = _FROM_ENVIRONMENT.get(re.sub(r"[\s_-]", "", key).lower())
        if variable is not None and not isinstance(value, dict | list):
            return f"{key} is a secret and is not read from a file; set {variable} instead"
        inner = value if isinstance(value, list) else [value]
        for item in inner:
            found = find_secrets(item) if isinstance(item, dict) else None
            if found:
                return found
    return None


def nearest(name: str, names: Iterable[str]) -> str:
    """Return `` (did you mean x?)``, or what there is to choose from."""
    known = sorted(names)
    close = get_close_matches(name, known, n=1, cutoff=0.6)
    if close:
        return f" (did you mean {close[0]}?)"
    return f" (there are: {', '.join(known)})" if known else ""


def _keys_at(model: type[BaseModel], place: Sequence[int | str]) -> list[str]:
    """Return the keys of the table at a place of the file."""
    annotation: Any = model
    for step in place:
        if isinstance(annotation, type) and issubclass(annotation, BaseModel):
            annotation = annotation.model_fields[str(step)].annotation
        else:
            annotation = _item_type(annotation)
    table = annotation if isinstance(annotation, type) else None
    if table is None or not issubclass(table, BaseModel):
        return []
    return [key for key in table.model_fields if key.replace("_", "") not in _FROM_ENVIRONMENT]


def _item_type(annotation: Any) -> Any:
    arguments = get_args(annotation)
    return arguments[1] if get_origin(annotation) is dict else arguments[0]


def _path(place: Sequence[int | str], stated: object) -> str:
    """Write a place as TOML does, list items by their names: tenants["acme"].sources[#2].path."""
    words = ""
    for step in place:
        if isinstance(step, int):
            stated = stated[step] if isinstance(stated, list) and step < len(stated) else None
            name = stated.get("name") if isinstance(stated, dict) else None
            words += f'["{name}"]' if isinstance(name, str) else f"[#{step + 1}]"
        else:
            stated = stated.get(step) if isinstance(stated, dict) else None
            words += f".{step}" if words else str(step)
    return words


def _kind(value: object) -> str:
    return next((words for kind, words in _KINDS if isinstance(value, kind)), "a date or a time")
