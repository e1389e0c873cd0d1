"""Metadata files that stand beside documents: sidecars and folder defaults."""

from __future__ import annotations

import os
import re
import unicodedata
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from sources.files import SourceProblem
from sources.manifest import NAME as MANIFEST
from sources.statements import Place, check_statements
from sources.yamltext import MAX_BYTES, BadYaml, load_yaml

# .yml and other cases are read as well: an ACL in a file that is passed over would be no ACL.
_FOLDER = re.compile(r"_meta\.ya?ml", re.IGNORECASE)
_SIDECAR = re.compile(r"(.+)\.meta\.ya?ml", re.IGNORECASE | re.DOTALL)
_SETTINGS = "mucluc.toml"


def unicode_name(name: str) -> str:
    """Return a file name as URIs hold it: NFC, bytes that are not UTF-8 written ``\\xNN``."""
    if name.isascii():
        return name
    return unicodedata.normalize("NFC", os.fsencode(name).decode("utf-8", "backslashreplace"))


def is_metadata(name: str) -> bool:
    """Say whether a file of this name is about documents and so not one itself."""
    if name in (MANIFEST, _SETTINGS):
        return True
    return bool(_FOLDER.fullmatch(name) or _SIDECAR.fullmatch(name))


class Beside:
    """The metadata files of one folder.

    ``statements`` are those of its _meta.yaml laid over those of the folders above; ``fault`` is
    the hint when one of them is broken, which all files below share.
    """

    def __init__(self, root: str, statements: Mapping[str, Any], fault: str | None = None) -> None:
        self.statements = statements
        self.fault = fault
        self._root = root
        self._sidecars: dict[str, list[str]] = {}

    def below(self, paths: Iterable[str]) -> Beside:
        """Return the same for a folder below this one, given the paths of its metadata files."""
        folder_files: list[str] = []
        inner = Beside(self._root, self.statements, self.fault)
        for path in paths:
            name = Path(path).name
            sidecar = _SIDECAR.fullmatch(name)
            if _FOLDER.fullmatch(name):
                folder_files.append(path)
            elif sidecar:
                inner._sidecars.setdefault(unicode_name(sidecar[1]), []).append(path)
        if folder_files and inner.fault is None:
            try:
                own = self._read(folder_files, Place.FOLDER)
                inner.statements = {**self.statements, **own}
            except SourceProblem as problem:
                inner.fault = problem.hint
        return inner

    def about(self, name: str) -> Mapping[str, Any]:
        """Return what the sidecar of a file says, by the file's NFC name.

        Raises ``SourceProblem("broken_metadata")``.
        """
        paths = self._sidecars.get(name)
        return self._read(paths, Place.SIDECAR) if paths else {}

    def orphans(self, names: set[str]) -> set[str]:
        """Return for which names, of none of these files, there are sidecars."""
        return self._sidecars.keys() - names

    def _read(self, paths: list[str], place: Place) -> dict[str, Any]:
        """Read the one metadata file of its kind; two of them contradict each other."""
        if len(paths) > 1:
            raise SourceProblem("broken_metadata", f"{place} is there twice, under similar names")
        try:
            raw = load_yaml(self._bytes(paths[0]))
        except BadYaml as error:
            raise SourceProblem("broken_metadata", f"{place} is wrong: {error}") from None
        except (OSError, RuntimeError):
            raise SourceProblem("broken_metadata", f"{place} cannot be opened") from None
        return check_statements(raw, place)

    def _bytes(self, path: str) -> bytes:
        real = os.path.realpath(path, strict=True)
        if not is_inside(real, self._root) or not Path(real).is_file():
            raise OSError("a link out of the source")
        with Path(real).open("rb") as stream:
            return stream.read(MAX_BYTES + 1)


def is_inside(path: str, root: str) -> bool:
    """Say whether a resolved path lies below a resolved root."""
    return path.startswith(root if root.endswith(os.sep) else root + os.sep)
