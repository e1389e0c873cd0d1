"""A search as a command, with something changed."""

from __future__ import annotations

from datetime import date
from shlex import quote as shell

from search.request import SearchRequest


def again(
    request: SearchRequest,
    *,
    query: str | None = None,
    k: int | None = None,
    day: date | None = None,
    principal: str | None = None,
    source: str | None = None,
    index: str | None = None,
    without: tuple[str, ...] = (),
) -> str:
    """The command that asks again. ``without`` names options that are left out."""
    scope = request.scope
    options: list[tuple[str, object]] = [("--tenant", request.tenant)]
    options += [("--as", name) for name in request.principals]
    options += [("--as", principal)] if principal else []
    options.append(("--as-of", (day or request.as_of).isoformat()))
    if index or (request.index, request.alias) != ("main", "active"):
        options.append(("--index", index or f"{request.index}@{request.alias}"))
    elif request.version:
        options.append(("--version", request.version))
    for option, values in (
        ("--collection", scope.collections),
        ("--source", scope.sources if source is None else (source,)),
        ("--language", scope.languages),
        ("--kind", scope.kinds),
    ):
        options += [(option, value) for value in values or ()]
    options += [("--meta", f"{key}={v}") for key, vs in scope.metadata.items() for v in vs]
    options += [("--holds-from", scope.holds_from)] if scope.holds_from else []
    options += [("--holds-to", scope.holds_to)] if scope.holds_to else []
    options += [("--k", k)] if k is not None else []
    # A question that begins with a minus is not an option.
    asked = request.query if query is None else query
    first = not asked.startswith("-")
    words = ["mucluc search", *([shell(asked)] if first else [])]
    for option, value in options:
        if option not in without:
            words += [option, shell(str(value))]
    return " ".join([*words, *([] if first else ["--", shell(asked)])])
