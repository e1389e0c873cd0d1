"""YAML as metadata needs it: small, flat, without surprises and without bombs."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Hashable
from datetime import date
from typing import TYPE_CHECKING, Any

import yaml

MAX_BYTES = 64 * 1024
_MAX_DEPTH = 8
_MAX_EVENTS = 5000  # about as many keys and values
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")


class BadYaml(Exception):
    """The text cannot be taken; the message holds a reason and a line, never the text."""


if TYPE_CHECKING:
    _Fast = yaml.SafeLoader
else:  # libyaml, where the wheel has it: ten times as fast, which counts for 100,000 sidecars
    _Fast = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class _Loader(_Fast):
    """SafeLoader with fewer implicit types, and without repeated keys."""

    yaml_implicit_resolvers = {}  # noqa: RUF012 - declared by the library, filled below

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        keys = [unicodedata.normalize("NFC", str(key.value)) for key, _ in node.value]
        if len(set(keys)) < len(keys):
            raise BadYaml(f"a key is stated twice in the block at line {_line(node.start_mark)}")
        return super().construct_mapping(node, deep=deep)


# YAML 1.1 would read the language `no` as false, the number 0042 as 34, the version 1.10 as 1.1
# and 12:30 as 750. Here only null, true/false, plain integers and dates have a type of their own.
_Loader.add_implicit_resolver(
    "tag:yaml.org,2002:null", re.compile(r"(?:~|null|Null|NULL|)$"), ["~", "n", "N", ""]
)
_Loader.add_implicit_resolver(
    "tag:yaml.org,2002:bool",
    re.compile(r"(?:true|True|TRUE|false|False|FALSE)$"),
    ["t", "T", "f", "F"],
)
_Loader.add_implicit_resolver(
    "tag:yaml.org,2002:int", re.compile(r"-?(?:0|[1-9][0-9]{0,17})$"), list("-0123456789")
)
_Loader.add_implicit_resolver(
    "tag:yaml.org,2002:timestamp", re.compile(_DATE.pattern + "$"), list("0123456789")
)


def _construct_date(loader: _Loader, node: yaml.ScalarNode) -> date:
    if _DATE.fullmatch(node.value):
        try:
            return date.fromisoformat(node.value)
        except ValueError:
            pass
    raise BadYaml(f"line {_line(node.start_mark)} holds a day that is not in the calendar")


_Loader.add_constructor("tag:yaml.org,2002:timestamp", _construct_date)


def load_yaml(data: bytes) -> Any:
    """Read one YAML document from UTF-8 bytes (at most 64 KiB, 5000 values, 8 levels, no aliases).

    Raises ``BadYaml`` for everything else, and for a key stated twice: the second ``acl`` would
    silently win over the first.
    """
    if len(data) > MAX_BYTES:
        raise BadYaml(f"more than {MAX_BYTES // 1024} KiB")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise BadYaml("not UTF-8; save it as UTF-8") from None
    try:
        _refuse_bombs(text)
        return yaml.load(text, Loader=_Loader)  # noqa: S506 - a SafeLoader with fewer types
    except yaml.MarkedYAMLError as error:
        raise BadYaml(_reason(error)) from None
    except (yaml.YAMLError, ValueError, TypeError):
        raise BadYaml("not YAML") from None


def _refuse_bombs(text: str) -> None:
    """Walk the events, which takes no recursion, before anything is built from them."""
    depth = 0
    for number, event in enumerate(yaml.parse(text, Loader=_Fast)):
        if number > _MAX_EVENTS:
            raise BadYaml("too many values")
        if isinstance(event, yaml.AliasEvent):
            raise BadYaml("aliases (*name) are not taken")
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
            if depth > _MAX_DEPTH:
                raise BadYaml(f"more than {_MAX_DEPTH} levels")
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1


def _reason(error: yaml.MarkedYAMLError) -> str:
    """Say where a text fails. The library's own message quotes it (I10)."""
    mark = error.problem_mark or error.context_mark
    place = f" at line {_line(mark)}" if mark is not None else ""
    if isinstance(error, yaml.constructor.ConstructorError):
        return f'a tag{place}; an entry that begins with ! needs quotes, as in "!role:guest"'
    return f"not YAML{place}"


def _line(mark: yaml.Mark) -> int:
    return int(mark.line) + 1
