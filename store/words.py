"""Figures and ids in the words that people know."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime, tzinfo
from typing import Any

SIZES = ("body_budget", "context_reserve")


def count(n: int, one: str, many: str | None = None) -> str:
    """``1 document``, ``2,000 documents``; ``many`` where an s at the end is not enough."""
    return f"{n:,} {one if n == 1 else many or one + 's'}"


def local(row: Mapping[str, Any], zone: tzinfo) -> dict[str, Any]:
    """A row whose times are those of a zone; the database gives them in one of its own."""
    return {
        name: value.astimezone(zone) if isinstance(value, datetime) else value
        for name, value in row.items()
    }


def parts(
    differing: Iterable[str],
    ours: Mapping[str, Any] | None = None,
    theirs: Mapping[str, Any] | None = None,
) -> str:
    """What ``Recipe.differences`` names: model, chunk sizes, contexts, parsers of ….

    Of both recipes, as JSON has them, it is told what of the chunking differs.
    """
    names, families = list(differing), []
    said = ["model"] if "fingerprint" in names else []
    for name in names:
        if name == "chunking_id":
            said.append(_chunking(ours, theirs))
        elif name == "context_id":
            said.append("contexts")
        elif name.startswith("parsers."):
            families.append(name.removeprefix("parsers."))
    if families:
        said.append(f"{'parser' if len(families) == 1 else 'parsers'} of {', '.join(families)}")
    return ", ".join(said)


def _chunking(ours: Mapping[str, Any] | None, theirs: Mapping[str, Any] | None) -> str:
    if ours is None or theirs is None:
        return "chunking"
    one, other = ours["chunking"], theirs["chunking"]
    if one.get("version") != other.get("version"):
        return "chunker"
    changed = any(one.get(size) != other.get(size) for size in SIZES)
    return "chunk sizes" if changed else "tokenizer"
