"""Search policies from files, to be measured against the default."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from dataclasses import fields, replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from search.request import RetrievalPolicy


class PolicyProblem(Exception):
    """A policy file cannot be used. The message names the file and the cause."""


def read_policy(path: Path, base: RetrievalPolicy) -> RetrievalPolicy:
    """Lay a TOML or JSON file of a policy's fields over ``base``. Raises PolicyProblem."""
    try:
        text = path.read_text(encoding="utf-8")
        stated = json.loads(text) if path.suffix == ".json" else tomllib.loads(text)
    except (OSError, UnicodeDecodeError) as exc:
        raise PolicyProblem(f"{path} cannot be read ({type(exc).__name__})") from None
    except ValueError:
        raise PolicyProblem(f"{path} is neither TOML nor JSON (by its suffix)") from None
    try:
        return policy_from(stated, base)
    except ValueError as exc:
        raise PolicyProblem(f"{path}: {exc}") from None


def policy_from(stated: Mapping[str, Any], base: RetrievalPolicy) -> RetrievalPolicy:
    """Lay values over a policy. Raises ValueError for a name or a kind of value that is wrong."""
    known = {item.name: getattr(base, item.name) for item in fields(base)}
    for name, value in stated.items():
        if name not in known:
            near = get_close_matches(name, known, n=1)
            raise ValueError(
                f"no {name} in a policy" + (f"; did you mean {near[0]}?" if near else "")
            )
        before = known[name]
        wanted: tuple[type, ...] = (float, int) if isinstance(before, float) else (type(before),)
        # A field that is unset says nothing of its kind; a truth value is no number.
        is_number = isinstance(value, int) and not isinstance(value, bool)
        if before is not None and not (type(value) in wanted or (is_number and int in wanted)):
            raise ValueError(f"{name} is a {type(before).__name__}")
        known[name] = value
    return replace(base, **known)
