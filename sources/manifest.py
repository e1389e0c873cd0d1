"""The manifest: one JSON object a line, for sets too large for sidecars."""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, BinaryIO, NoReturn

from sources.files import SourceProblem
from sources.statements import Place, check_statements

NAME = "manifest.jsonl"
_MAX_LINE = 64 * 1024  # bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """What a manifest says, by URI.

    ``broken`` holds the hints for URIs whose statements cannot be taken. ``fault`` is set when
    some line cannot even be assigned to a file: then every file without a line of its own may be
    the one that was meant, and none of them is taken.
    """

    statements: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    broken: Mapping[str, str] = field(default_factory=dict)
    fault: str | None = None

    def about(self, uri: str) -> Mapping[str, Any]:
        """Return what is said about a file, which may be nothing.

        Raises ``SourceProblem("broken_metadata")``.
        """
        if uri in self.broken:
            raise SourceProblem("broken_metadata", self.broken[uri])
        if uri not in self.statements and self.fault is not None:
            raise SourceProblem("broken_metadata", self.fault)
        return self.statements.get(uri, {})

    def names(self, uri: str) -> bool:
        """Say whether some line is about a file."""
        return uri in self.statements or uri in self.broken

    def unmatched(self, uris: Iterable[str]) -> int:
        """Count the lines that are about none of these files."""
        return len((self.statements.keys() | self.broken.keys()).difference(uris))


def read_manifest(stream: BinaryIO) -> Manifest:
    """Read ``{"uri": "hr/leave.docx", "acl": ["role:hr"], …}`` lines.

    Empty lines are passed over. Two lines about one file contradict each other, so that neither
    is taken. Nothing raises: a fault concerns some files and is kept with them.
    """
    statements: dict[str, Mapping[str, Any]] = {}
    broken: dict[str, str] = {}
    fault: str | None = None
    number = 0
    while line := stream.readline(_MAX_LINE + 1):
        number += 1
        if number == 1:
            line = line.removeprefix(b"\xef\xbb\xbf")
        if len(line) > _MAX_LINE:
            fault = f"manifest.jsonl has a line of more than 64 KiB (line {number})"
            break
        if not line.strip():
            continue
        entry = _decode(line)
        uri = _uri(entry)
        if entry is None or uri is None:
            fault = fault or f"manifest.jsonl is broken at line {number}: no JSON object with a uri"
            continue
        if uri in statements or uri in broken:
            broken[uri] = f"manifest.jsonl has two lines about it (the second is line {number})"
            continue
        try:
            statements[uri] = check_statements(entry, Place.MANIFEST)
        except SourceProblem as problem:
            broken[uri] = f"{problem.hint} (line {number})"
    for uri in broken:
        statements.pop(uri, None)
    return Manifest(statements=statements, broken=broken, fault=fault)


def _decode(line: bytes) -> dict[str, Any] | None:
    try:
        entry = json.loads(line, object_pairs_hook=_unique, parse_constant=_refuse)
    except (ValueError, RecursionError):
        return None
    return entry if isinstance(entry, dict) else None


def _uri(entry: dict[str, Any] | None) -> str | None:
    """Take the URI out of an entry: a POSIX path below the root, in NFC."""
    uri = entry.pop("uri", None) if entry is not None else None
    if not isinstance(uri, str) or not uri.strip():
        return None
    return unicodedata.normalize("NFC", uri).removeprefix("./")


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Build an object, unless a key is stated twice, where JSON readers silently take the last."""
    entry = dict(pairs)
    if len(entry) < len(pairs):
        raise ValueError("a key is stated twice")
    return entry


def _refuse(constant: str) -> NoReturn:
    raise ValueError("NaN and Infinity are not JSON")
