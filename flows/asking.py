"""From the command line's words to a request, a policy, and what helps a search."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime
from typing import Any
from zoneinfo import ZoneInfo

from flows.cli_errors import Exit, stop
from flows.settings import Settings
from search.glossary import EMPTY, GlossaryError, load_glossary
from search.request import RetrievalPolicy, SearchRequest
from sources.principals import check_principal
from store.reader import Scope


def scope_of(
    *,
    collections: Sequence[str] | None = None,
    sources: Sequence[str] | None = None,
    languages: Sequence[str] | None = None,
    kinds: Sequence[str] | None = None,
    metadata: Sequence[str] | None = None,
    holds_from: datetime | None = None,
    holds_to: datetime | None = None,
) -> Scope:
    """The filters of a search. Raises typer.Exit with words about the option."""
    if holds_from and holds_to and holds_from > holds_to:
        raise stop(Exit.WRONG_USE, "--holds-from is later than --holds-to.")
    return Scope(
        collections=_all(collections),
        sources=_all(sources),
        languages=_all(languages),
        kinds=_all(kinds),
        metadata=_metadata(metadata or ()),
        holds_from=holds_from.date() if holds_from else None,
        holds_to=holds_to.date() if holds_to else None,
    )


def request_of(
    settings: Settings,
    query: str,
    tenant: str,
    principals: Sequence[str] | None,
    as_of: datetime | None,
    index: str,
    scope: Scope,
    *,
    version: str | None = None,
) -> tuple[SearchRequest, date]:
    """What is asked, and which day it is today. Raises typer.Exit with words about the option."""
    if not query.strip():
        raise stop(Exit.WRONG_USE, "the question is empty.")
    try:
        asker = tuple(check_principal(principal) for principal in principals or ())
    except ValueError as exc:
        raise stop(Exit.WRONG_USE, f"--as: {exc}.") from None
    name, _, alias = index.partition("@")
    collection = scope.collections[0] if scope.collections else None
    today = datetime.now(ZoneInfo(settings.timezone_of(collection))).date()
    return SearchRequest(
        query=query,
        tenant=tenant,
        principals=asker,
        as_of=as_of.date() if as_of else today,
        scope=scope,
        index=name,
        alias=alias or "active",
        version=version,
    ), today


def policy_of(
    settings: Settings, k: int | None, *, dense: bool = True, text: bool = True
) -> RetrievalPolicy:
    """How to search, by the settings."""
    stated = settings.search
    return RetrievalPolicy(
        k=k or stated.k,
        fusion=stated.fusion,
        rrf_k=stated.rrf_k,
        dense=dense,
        text=text,
        variants=stated.variants,
        seconds=stated.seconds,
        trace_text=stated.trace_text,
    )


def helpers_of(settings: Settings, rerank: str | None = None) -> dict[str, Any]:
    """Glossary and reranker as ``retrieve`` takes them, where the settings or an option name one.

    Raises typer.Exit when the glossary is wrong, ModelUnavailable when the model is not here.
    """
    glossary = EMPTY
    if settings.search.glossary is not None:
        try:
            glossary = load_glossary(settings.search.glossary)
        except GlossaryError as exc:
            raise stop(Exit.WRONG_USE, f"{exc}.", "docs/search.md shows its form.") from None
    model = rerank or settings.search.rerank_model
    if model is None:
        return {"glossary": glossary}
    from search.rerank import load_reranker  # noqa: PLC0415

    return {"glossary": glossary, "reranker": load_reranker(model)}


def _all(values: Sequence[str] | None) -> tuple[str, ...] | None:
    return tuple(values) if values else None


def _metadata(stated: Sequence[str]) -> dict[str, tuple[str, ...]]:
    wanted: dict[str, tuple[str, ...]] = {}
    for pair in stated:
        key, equals, value = pair.partition("=")
        if not equals or not key.strip():
            raise stop(Exit.WRONG_USE, "--meta takes KEY=VALUE, such as --meta department=sales.")
        wanted[key.strip()] = (*wanted.get(key.strip(), ()), value.strip())
    return wanted
