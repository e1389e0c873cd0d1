"""What a source lists: a file's place, its listing token, and what is said about it."""

from __future__ import annotations

import codecs
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
class FolderOptions:
    """What of a folder is taken.

    ``include`` and ``exclude`` are globs as in .gitignore, over the path below the root; without
    ``include`` everything is included. ``within`` narrows a listing to some files or folders, as
    URIs.
    """

    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    hidden: bool = False  # take files and enter folders whose names begin with a dot
    max_bytes: int = 100 * 1024 * 1024
    within: tuple[str, ...] = ()


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

    ``data`` is the whole file and ``body_offset`` where its front matter ends, in bytes (0 without
    one). ``content_sha256`` is over ``body``, ``raw_sha256`` over ``data``.
    """

    listed: ListedFile
    data: bytes = field(repr=False)
    metadata: Metadata
    content_sha256: bytes
    raw_sha256: bytes
    body_offset: int = 0

    @property
    def body(self) -> bytes:
        """What a parser reads: the bytes behind the front matter.

        The mark of a UTF-16 file goes along, so that its encoding can still be told.
        """
        return body_of(self.data, self.body_offset)


def body_of(data: bytes, body_offset: int) -> bytes:
    """Return a file's bytes behind its front matter, a UTF-16 file with its mark."""
    if body_offset == 0:
        return data
    mark = data[:2] if data[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE) else b""
    return mark + data[body_offset:]


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """A source's files in a stable order, and whether the listing is whole (I13).

    A listing is complete for ``scope`` alone: URIs of files, or of folders with all below them;
    empty means the whole source. Nothing may be inferred about documents outside the scope.
    ``warnings`` counts, by code, what an operator should look at (``sources.files.WARNINGS``).
    """

    files: tuple[ListedFile, ...]
    complete: bool
    problems: tuple[str, ...] = ()  # codes of what made it partial, for the report
    scope: tuple[str, ...] = ()
    warnings: Mapping[str, int] = field(default_factory=dict)


class SourceProblem(Exception):
    """A file cannot be taken as it stands. It is quarantined under ``code``; the run goes on.

    ``code`` is a key of ``REASONS``; ``hint`` says what to do in words that hold no name and no
    value of the file or its metadata (I10).
    """

    def __init__(self, code: str, hint: str = "") -> None:
        super().__init__(f"{code}: {hint}" if hint else code)
        self.code = code
        self.hint = hint


# Why a file is not taken (ListedFile.problem, SourceProblem.code).
REASONS: Mapping[str, str] = {
    "broken_metadata": "A statement about the file cannot be read; nothing is guessed from others.",
    "changed_while_reading": "The file changed between its listing and the end of its reading.",
    "name_collision": "Two names differ only in their Unicode form (NFC, NFD).",
    "too_large": "The file is larger than limits.max_file_mb.",
    "unreadable": "The file system refuses to open the file.",
    "vanished": "The file was listed and is no longer there.",
}

# Why a listing is partial (Listing.problems): no deletion is inferred from it.
PARTIAL: Mapping[str, str] = {
    "root_missing": "The source's folder is not there or cannot be opened.",
    "root_changed": "The source's folder was taken away or replaced during the listing.",
    "unreadable_folder": "A folder below the root cannot be opened, or vanished in between.",
}

# What an operator should look at (Listing.warnings); the listing is whole all the same.
WARNINGS: Mapping[str, str] = {
    "folder_link": "A link to a folder, which is never followed.",
    "link_broken": "A link to a file that leads nowhere.",
    "link_outside": "A link to a file outside the source's folder, which is never followed.",
    "manifest_below_root": "A manifest.jsonl that is not in the source's own folder.",
    "manifest_unmatched": "A line of manifest.jsonl for a file that is not listed.",
    "name_not_utf8": "A name that is not UTF-8; its URI shows the bytes as \\xNN.",
    "orphan_sidecar": "A sidecar without its file.",
    "special_file": "A pipe, a socket or a device.",
    "vanished": "A file that went away during the listing.",
}
