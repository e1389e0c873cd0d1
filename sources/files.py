"""What a source lists: a file's place, its listing token, and what is said about it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Metadata:
    """What is stated about a document, after precedence (docs/sources.md).

    ``acl`` is None when nothing states one, and empty when it is stated that nobody may read:
    both mean nobody (I5), and only the first is worth a warning. ``valid_to`` is inclusive.
    """

    title: str | None = None
    collection: str | None = None
    acl: tuple[str, ...] | None = None
    valid_from: date | None = None
    valid_to: date | None = None
    language: str | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)  # free metadata, JSON values

    def sha256(self) -> bytes:
        """Hash over every field: equal hashes, equal statements."""
        values = [
            self.title,
            self.collection,
            None if self.acl is None else sorted(self.acl),
            self.valid_from and self.valid_from.isoformat(),
            self.valid_to and self.valid_to.isoformat(),
            self.language,
            self.extra,
        ]
        material = json.dumps(values, sort_keys=True, ensure_ascii=False, default=str)
        return hashlib.sha256(material.encode()).digest()


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedFile:
    """One file of a listing, before its bytes are read.

    ``uri`` is the POSIX path below the source's root, NFC. ``token`` changes whenever the file's
    size or mtime or any statement outside the file (manifest, sidecar, folder) changes: an equal
    token means the file need not be read (I14). ``problem`` is a reason code when the file cannot
    be taken as it stands (a broken sidecar, too large).
    """

    uri: str
    path: Path
    size: int
    token: str
    nearer: Mapping[str, Any]  # statements that win over the front matter (manifest, sidecar)
    farther: Mapping[str, Any]  # statements that the front matter wins over (folders, defaults)
    problem: str | None = None
    hint: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadFile:
    """A listed file with its bytes.

    ``content_sha256`` is over the body without front matter, ``raw_sha256`` over all bytes.
    """

    listed: ListedFile
    data: bytes = field(repr=False)
    metadata: Metadata
    content_sha256: bytes
    raw_sha256: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """A source's files in a stable order, and whether the listing is whole (I13)."""

    files: tuple[ListedFile, ...]
    complete: bool
    problems: tuple[str, ...] = ()  # codes of what made it partial, for the report
