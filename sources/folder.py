"""A folder of files as a source: its listing, and the bytes of what was listed."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from sources import frontmatter
from sources.files import (
    FolderOptions,
    ListedFile,
    Listing,
    Metadata,
    ReadFile,
    SourceProblem,
    body_of,
)
from sources.statements import Place, check_statements, merge_statements
from sources.walk import Walk

__all__ = ["FolderOptions", "list_folder", "read_file", "stated_metadata"]


def list_folder(
    root: Path,
    *,
    options: FolderOptions | None = None,
    defaults: Mapping[str, Any] | None = None,
    progress: Callable[[int], None] | None = None,
) -> Listing:
    """List the documents below ``root``, sorted by the bytes of their URIs.

    ``defaults`` are the statements farthest away: those of the source laid over those of the
    command line. ``progress`` is called with the number of files seen so far, once a folder. A
    ``root`` that is a file is a listing of that file alone, whatever the globs, with the metadata
    that its folder holds about it.

    Nothing is read but metadata files. What cannot be listed makes the listing incomplete; a
    broken statement is a problem of the files it is about. Raises ``SourceProblem`` for wrong
    ``defaults`` and ``ValueError`` for a wrong glob.
    """
    options = options or FolderOptions()
    base = check_statements(defaults or {}, Place.DEFAULTS)
    try:
        place = root.resolve(strict=True)
        is_file = stat.S_ISREG(place.stat().st_mode)
    except (OSError, RuntimeError):
        return Listing(files=(), complete=False, problems=("root_missing",), scope=options.within)
    walk = Walk(
        str(place.parent if is_file else place),
        only=place.name if is_file else None,
        options=options,
        progress=progress,
    )
    return walk.run(base)


def stated_metadata(listed: ListedFile) -> Metadata:
    """Return what is stated outside a file: all there is, unless it may have front matter.

    Raises ``SourceProblem`` with the file's own problem, or ``broken_metadata``.
    """
    if listed.problem is not None:
        raise SourceProblem(listed.problem, listed.hint)
    return merge_statements(listed.nearer, listed.farther)


def read_file(listed: ListedFile) -> ReadFile:
    """Read a listed file and say what is stated about it.

    Raises ``SourceProblem`` with the file's own problem, or ``vanished``, ``unreadable``,
    ``changed_while_reading`` (its size is not the listed one, or it was written to meanwhile), or
    ``broken_metadata`` (its front matter, or the days that result).
    """
    if listed.problem is not None:
        raise SourceProblem(listed.problem, listed.hint)
    data = _read_stable(listed)
    front: dict[str, Any] = {}
    body_offset = 0
    if frontmatter.has_front_matter(listed.uri):
        raw, body_offset = frontmatter.split(data)
        front = check_statements(raw, Place.FRONT_MATTER)
    metadata = merge_statements(listed.nearer, front, listed.farther)
    return ReadFile(
        listed=listed,
        data=data,
        metadata=metadata,
        content_sha256=hashlib.sha256(body_of(data, body_offset)).digest(),
        raw_sha256=hashlib.sha256(data).digest(),
        body_offset=body_offset,
    )


def _read_stable(listed: ListedFile) -> bytes:
    """Read all bytes, of a file that is the same before and after.

    A link in the file's place is refused, because the listing resolved links and saw that they
    stay in the root; and a pipe in its place must not hold up the run.
    """
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    flags |= getattr(os, "O_BINARY", 0)
    try:
        with open(os.open(listed.path, flags), "rb") as stream:  # noqa: PTH123 - a descriptor
            before = os.fstat(stream.fileno())
            if not stat.S_ISREG(before.st_mode) or before.st_size != listed.size:
                raise SourceProblem("changed_while_reading", "it is tried again in the next run")
            data = stream.read(listed.size + 1)
            after = os.fstat(stream.fileno())
    except FileNotFoundError:
        raise SourceProblem("vanished", "it is left out until it is listed again") from None
    except OSError:
        raise SourceProblem("unreadable", "let the user that runs mucluc read it") from None
    same = (before.st_size, before.st_mtime_ns) == (after.st_size, after.st_mtime_ns)
    if not same or len(data) != listed.size:
        raise SourceProblem("changed_while_reading", "it is tried again in the next run")
    return data
