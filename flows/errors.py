"""What was asked for cannot be done as asked."""

from __future__ import annotations


class CannotRun(Exception):
    """A job that cannot be run as asked. The message says why; ``hint`` names the next command."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.hint = hint
