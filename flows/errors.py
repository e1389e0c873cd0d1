"""What was asked for cannot be done as asked."""

from __future__ import annotations

from collections.abc import Iterable

from flows.settings_tables import DEFAULT_INDEX


def first_version_of(index: str, known: Iterable[str]) -> str:
    """How an index that has no active version gets one, and which indexes there are."""
    flag = "" if index == DEFAULT_INDEX else f" --index {index}"
    others = ", ".join(name for name in known if name != index)
    there = f" Indexes there are: {others}." if others else ""
    return f"Its first version is filled by: mucluc sync{flag}.{there}"


class CannotRun(Exception):
    """A job that cannot be run as asked. The message says why; ``hint`` names the next command."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.hint = hint
