"""One walk over a folder: what is there, what is said about it, and what could not be seen."""

from __future__ import annotations

import errno
import hashlib
import io
import os
import stat
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import Any

from sources.beside import Beside, is_inside, is_metadata, unicode_name
from sources.files import FolderOptions, ListedFile, Listing, SourceProblem
from sources.frontmatter import has_front_matter
from sources.globs import Globs
from sources.manifest import NAME as MANIFEST
from sources.manifest import Manifest, read_manifest
from sources.statements import canonical, merge_statements

_TOKEN_VERSION = 1  # raised when tokens are made in another way: then every file is read once

PAGE_SUFFIX = ".inspect.html"  # pages of `mucluc inspect`, which repeat a document


class Walk:
    """A single walk below ``root``, a resolved folder; ``run`` it once.

    ``only`` is the name of the one file in ``root`` that is wanted, whatever the globs.
    """

    def __init__(
        self,
        root: str,
        *,
        only: str | None,
        options: FolderOptions,
        progress: Callable[[int], None] | None,
    ) -> None:
        self._root = root
        self._only = only
        self._options = options
        self._progress = progress
        self._globs = Globs(options.include, options.exclude)
        within = tuple(_folder_uri(uri) for uri in options.within)
        self._within = () if {"", "."} & set(within) else within
        self._files: dict[str, ListedFile] = {}
        self._problems: set[str] = set()
        self._warnings: Counter[str] = Counter()
        self._misplaced: list[tuple[str, Manifest]] = []
        self._seen = 0

    def run(self, defaults: Mapping[str, Any]) -> Listing:
        """Walk, and return the listing. ``defaults`` are checked statements."""
        before = _identity(self._root)
        manifest = self._manifest(self._root)
        pending = [(self._root, "", Beside(self._root, defaults))]
        while pending:
            folder, prefix, above = pending.pop()
            pending.extend(self._folder(folder, prefix, above, manifest))
            if self._progress is not None:
                self._progress(self._seen)
        if before is None or _identity(self._root) != before:
            self._problems.add("root_changed")
        if not self._narrowed:
            self._warn("manifest_unmatched", manifest.unmatched(self._files))
        files = sorted(self._files.values(), key=lambda file: file.uri.encode())
        return Listing(
            files=tuple(files),
            complete=not self._problems,
            problems=tuple(sorted(self._problems)),
            scope=self._scope(),
            warnings=dict(sorted(self._warnings.items())),
        )

    @property
    def _narrowed(self) -> bool:
        return self._only is not None or bool(self._within)

    def _scope(self) -> tuple[str, ...]:
        return self._within if self._only is None else (unicode_name(self._only),)

    def _warn(self, code: str, count: int = 1) -> None:
        if count:
            self._warnings[code] += count

    def _manifest(self, folder: str) -> Manifest:
        path = os.path.join(folder, MANIFEST)  # noqa: PTH118 - strings: this is the hot path
        try:
            real = os.path.realpath(path, strict=True)
            if not is_inside(real, self._root) or not Path(real).is_file():
                return Manifest(fault="manifest.jsonl is not a file of the source")
            with Path(real).open("rb") as stream:
                return read_manifest(stream)
        except FileNotFoundError:
            if os.path.lexists(path):
                return Manifest(fault="manifest.jsonl is a link that leads nowhere")
            return read_manifest(io.BytesIO())
        except (OSError, RuntimeError):
            return Manifest(fault="manifest.jsonl cannot be opened")

    def _folder(
        self, folder: str, prefix: str, above: Beside, manifest: Manifest
    ) -> Iterator[tuple[str, str, Beside]]:
        """List one folder's files; yield the folders below it."""
        try:
            with os.scandir(folder) as found:
                entries = sorted(found, key=lambda entry: os.fsencode(entry.name))
        except OSError:
            self._problems.add("unreadable_folder")
            return
        beside = above.below(entry.path for entry in entries if is_metadata(entry.name))
        names = {unicode_name(entry.name) for entry in entries}
        orphans = beside.orphans(names)
        self._warn("orphan_sidecar", len(orphans) if self._only is None else 0)
        if prefix and any(entry.name == MANIFEST for entry in entries):
            self._warn("manifest_below_root")
            self._misplaced.append((prefix, self._manifest(folder)))
        for entry in entries:
            if is_metadata(entry.name) or entry.name.endswith(PAGE_SUFFIX):
                continue
            name = unicode_name(entry.name)
            uri = prefix + name
            if self._is_folder(entry):
                if self._enters(name, uri):
                    yield entry.path, f"{uri}/", beside
            elif self._wants(entry.name, name, uri) and (real := self._real(entry)) is not None:
                self._warn("name_not_utf8", not _is_utf8(entry.name))
                # A sidecar `leave.meta.yaml` beside leave.docx was meant for it, but which file
                # it is about has to be certain.
                stray = bool(orphans) and PurePosixPath(name).stem in orphans
                self._take(uri, real, _Said(beside, manifest, name, stray=stray))

    def _is_folder(self, entry: os.DirEntry[str]) -> bool:
        try:
            return self._only is None and entry.is_dir(follow_symlinks=False)
        except OSError:
            self._problems.add("unreadable_folder")
            return False

    def _enters(self, name: str, uri: str) -> bool:
        return (
            (self._options.hidden or not name.startswith("."))
            and self._globs.enters(uri)
            and (not self._within or any(_overlap(uri, place) for place in self._within))
        )

    def _wants(self, raw_name: str, name: str, uri: str) -> bool:
        if self._only is not None:
            return raw_name == self._only
        return (
            (self._options.hidden or not name.startswith("."))
            and self._globs.takes(uri)
            and (not self._within or any(_below(uri, place) for place in self._within))
        )

    def _real(self, entry: os.DirEntry[str]) -> str | None:
        """Return the path of the file itself, if an entry is one or a link to one in the root."""
        try:
            if not entry.is_symlink():
                if entry.is_file(follow_symlinks=False):
                    return entry.path
                self._warn("special_file")
                return None
            real = os.path.realpath(entry.path, strict=True)
            mode = os.stat(real).st_mode  # noqa: PTH116 - strings: this is the hot path
        except OSError as error:
            if error.errno in (errno.ENOENT, errno.ELOOP, errno.ENOTDIR):
                self._warn("link_broken")
            else:
                self._problems.add("unreadable_folder")
            return None
        if stat.S_ISDIR(mode):
            self._warn("folder_link")
        elif not is_inside(real, self._root):
            self._warn("link_outside")
        elif not stat.S_ISREG(mode):
            self._warn("special_file")
        else:
            return real
        return None

    def _take(self, uri: str, real: str, said: _Said) -> None:
        """Add a file to the listing, with its token and whatever is wrong with it."""
        self._seen += 1
        size, mtime, problem = 0, 0, None
        try:
            info = os.stat(real, follow_symlinks=False)  # noqa: PTH116
            size, mtime = info.st_size, info.st_mtime_ns
        except FileNotFoundError:
            self._warn("vanished")
            return
        except OSError:
            problem = SourceProblem("unreadable")
        if uri in self._files:  # the twin whose name comes first in bytes stands for both
            problem = SourceProblem("name_collision", "rename one of the two files")
            real = str(self._files[uri].path)
        elif problem is None and size > self._options.max_bytes:
            problem = SourceProblem("too_large", "raise limits.max_file_mb to take it")
        nearer, farther, broken = said.about(uri)
        if any(_names(manifest, prefix, uri) for prefix, manifest in self._misplaced):
            # The source's folder is one too high, or the manifest one too low; an ACL in it
            # would be passed over.
            hint = "a manifest.jsonl that is not in the source's own folder speaks of it"
            nearer, farther, broken = {}, {}, SourceProblem("broken_metadata", hint)
        problem = problem or broken
        words = canonical(nearer, farther, {"problem": str(problem or "")})
        token = hashlib.sha256(f"{_TOKEN_VERSION} {size} {mtime} {words}".encode()).hexdigest()
        self._files[uri] = ListedFile(
            uri=uri,
            path=Path(real),
            size=size,
            token=token,
            nearer=nearer,
            farther=farther,
            problem=problem.code if problem else None,
            hint=problem.hint if problem else "",
        )


class _Said:
    """What is said about one file from outside it."""

    def __init__(self, beside: Beside, manifest: Manifest, name: str, *, stray: bool) -> None:
        self._beside = beside
        self._manifest = manifest
        self._name = name
        self._stray = stray

    def about(self, uri: str) -> tuple[Mapping[str, Any], Mapping[str, Any], SourceProblem | None]:
        """Return the nearer statements, the farther ones that they leave, and what is broken."""
        try:
            if self._beside.fault is not None:
                raise SourceProblem("broken_metadata", self._beside.fault)
            if self._stray:
                hint = (
                    "a sidecar is named like it without its suffix; name it NAME.SUFFIX.meta.yaml"
                )
                raise SourceProblem("broken_metadata", hint)
            nearer = {**self._beside.about(self._name), **self._manifest.about(uri)}
            farther = self._beside.statements
            if nearer:
                farther = {key: value for key, value in farther.items() if key not in nearer}
            if not has_front_matter(uri):
                merge_statements(nearer, farther)
        except SourceProblem as problem:
            return {}, {}, problem
        return nearer, farther, None


def _names(manifest: Manifest, prefix: str, uri: str) -> bool:
    return uri.startswith(prefix) and manifest.names(uri.removeprefix(prefix))


def _identity(folder: str) -> tuple[int, int] | None:
    try:
        info = os.stat(folder)  # noqa: PTH116
    except OSError:
        return None
    return info.st_dev, info.st_ino


def _folder_uri(uri: str) -> str:
    return unicode_name(uri).removeprefix("./").strip("/")


def _is_utf8(name: str) -> bool:
    return not any("\ud800" <= letter <= "\udfff" for letter in name)


def _below(uri: str, place: str) -> bool:
    return uri == place or uri.startswith(f"{place}/")


def _overlap(uri: str, place: str) -> bool:
    return _below(uri, place) or place.startswith(f"{uri}/")
