"""Reads store/queries.sql: ``-- name: x``, one comment line of purpose, the statement."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import LiteralString, cast

QUERIES = Path(__file__).parent / "queries.sql"
SCHEMA = Path(__file__).resolve().parent.parent / "schema.sql"


@cache
def queries() -> dict[str, LiteralString]:
    """Every named statement of queries.sql, by name.

    Raises ValueError when two statements share a name.
    """
    found: dict[str, LiteralString] = {}
    for part in re.split(r"^-- name: ", QUERIES.read_text(), flags=re.M)[1:]:
        name, _, text = part.partition("\n")
        if name.strip() in found:
            raise ValueError(f"two queries are named {name.strip()}")
        # The file is part of the program, so its text is as literal as a string in the source.
        found[name.strip()] = cast("LiteralString", text.strip().rstrip(";"))
    return found


def query(name: str) -> LiteralString:
    """One statement by its name. Raises KeyError when there is none."""
    return queries()[name]
