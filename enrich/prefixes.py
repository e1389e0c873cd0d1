"""What families of models want in front of questions and passages.

A model's own prompts configuration wins; these tables are for models that carry none. Sources:
the model cards of intfloat/e5-* and multilingual-e5-*, and of BAAI/bge-*-en(-v1.5).
"""

from __future__ import annotations

import re
from collections.abc import Mapping

_E5 = ("query: ", "passage: ")
_BGE = ("Represent this sentence for searching relevant passages: ", "")

_FAMILIES: dict[str, tuple[str, str]] = {
    r"(multilingual-)?e5-(small|base|large)(-v2|-unsupervised)?": _E5,
    r"bge-(small|base|large)-en(-v1\.5)?": _BGE,
}


def prefixes_for(name: str, prompts: Mapping[str, str | None] | None = None) -> tuple[str, str]:
    """Return (query prefix, passage prefix) of a model, given its name and its own prompts."""
    stated = {key: value for key, value in (prompts or {}).items() if value}
    if stated:
        passage = stated.get("document") or stated.get("passage") or ""
        return stated.get("query") or "", passage
    last = re.split(r"[/\\]", name.rstrip("/\\"))[-1].lower()
    for pattern, prefixes in _FAMILIES.items():
        if re.fullmatch(pattern, last):
            return prefixes
    return "", ""
