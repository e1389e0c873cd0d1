"""Globs as in .gitignore, over URIs."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

from pathspec import GitIgnoreSpec

# What offices and systems leave behind, and what is never a document.
JUNK = ("~$*", "Thumbs.db", "desktop.ini", ".DS_Store", "__MACOSX/", ".git/", ".mucluc/")


class Globs:
    """Which files of a source are taken: those that are included and not excluded."""

    def __init__(self, include: Sequence[str] = (), exclude: Sequence[str] = ()) -> None:
        """Compile the patterns. Raises ``ValueError`` for a pattern that git would refuse."""
        self._include = _compile(include) if include else None
        self._exclude = _compile([*JUNK, *exclude])

    def takes(self, uri: str) -> bool:
        """Say whether a file is taken. No pattern to include means all files."""
        included = self._include is None or self._include.match_file(uri)
        return included and not self._exclude.match_file(uri)

    def enters(self, uri: str) -> bool:
        """Say whether a folder is entered; as in git, nothing below an excluded one comes back."""
        return not self._exclude.match_file(f"{uri}/")


def _compile(patterns: Sequence[str]) -> GitIgnoreSpec:
    return GitIgnoreSpec.from_lines(unicodedata.normalize("NFC", line) for line in patterns)
