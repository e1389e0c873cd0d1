"""mucluc search."""

from __future__ import annotations

import json
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any
from zoneinfo import ZoneInfo

import typer

from flows.cli_errors import Exit, console, stop, told

if TYPE_CHECKING:
    from search.request import Candidate


def search(
    query: Annotated[str, typer.Argument(help="The question, or an exact code.")],
    tenant: Annotated[str, typer.Option(help="Whose documents to search.")],
    principals: Annotated[
        list[str] | None,
        typer.Option(
            "--as",
            help="A principal of the asker, such as role:hr. Repeatable.",
            show_default=False,
        ),
    ] = None,
    as_of: Annotated[
        datetime | None,
        typer.Option(
            formats=["%Y-%m-%d"],
            help="The day to answer for, YYYY-MM-DD; today by default, in the settings' time zone.",
            metavar="DAY",
            show_default=False,
        ),
    ] = None,
    k: Annotated[
        int | None, typer.Option("--k", "-k", min=1, max=100, help="Results; 5 by default.")
    ] = None,
    collection: Annotated[
        list[str] | None, typer.Option(help="Only this collection. Repeatable.", show_default=False)
    ] = None,
    index: Annotated[str, typer.Option(help="Index, or INDEX@ALIAS.")] = "main",
    as_json: Annotated[bool, typer.Option("--json", help="Print one line of JSON.")] = False,
    settings: Annotated[
        Path | None, typer.Option(help="Settings file; ./mucluc.toml by default.")
    ] = None,
) -> None:
    """Ask the index, as somebody, on a day.

    Finds by meaning and by words (hybrid: vectors and BM25, fused by rank), inside what the asker
    may read and what holds on that day. Without --as, nothing is visible.

    [bold]mucluc search "nghi phep nam" --tenant acme --as role:staff[/]
    [bold]mucluc search "ERR_4021" --tenant acme --as role:support --json[/]
    [bold]mucluc search "annual leave" --tenant acme --as role:hr --as-of 2025-06-01[/]
    """
    with told():
        from enrich.embedders import load  # noqa: PLC0415
        from flows.opening import open_from  # noqa: PLC0415
        from flows.settings import Settings  # noqa: PLC0415
        from search.request import (  # noqa: PLC0415
            NoActiveVersion,
            RetrievalPolicy,
            SearchRequest,
        )
        from search.retrieval import retrieve  # noqa: PLC0415
        from sources.principals import check_principal  # noqa: PLC0415
        from store.reader import Scope  # noqa: PLC0415

        loaded = Settings.load(settings)
        if not query.strip():
            raise stop(Exit.WRONG_USE, "the question is empty.")
        try:
            asker = tuple(check_principal(principal) for principal in principals or ())
        except ValueError as exc:
            raise stop(Exit.WRONG_USE, f"--as: {exc}.") from None
        zone = ZoneInfo(loaded.timezone_of(collection[0] if collection else None))
        name, _, alias = index.partition("@")
        request = SearchRequest(
            query=query,
            tenant=tenant,
            principals=asker,
            as_of=as_of.date() if as_of else datetime.now(zone).date(),
            scope=Scope(collections=tuple(collection) if collection else None),
            index=name,
            alias=alias or "active",
        )
        policy = RetrievalPolicy(k=k or loaded.search.k, rrf_k=loaded.search.rrf_k)
        with open_from(loaded) as store:
            try:
                candidates, trace = retrieve(store, request, policy, load)
            except NoActiveVersion:
                raise stop(
                    Exit.FAILED,
                    f"index {index} has nothing to search yet.",
                    "mucluc sync ./documents --tenant acme --acl role:staff   (versions: mucluc "
                    "versions)",
                ) from None
    if as_json:
        typer.echo(
            json.dumps(
                {
                    "version": trace.version,
                    "as_of": request.as_of.isoformat(),
                    "results": [_row(n, c) for n, c in enumerate(candidates, start=1)],
                },
                ensure_ascii=False,
            )
        )
        return
    if not asker:
        console().print("Nobody is asking: without --as nothing is visible.")
    _print(candidates, request.query, request.as_of.isoformat(), trace.version)


def _row(rank: int, found: Candidate) -> dict[str, Any]:
    return {
        "rank": rank,
        "score": round(found.score, 6),
        "uri": found.uri,
        "title": found.title,
        "section": " > ".join(found.heading_path),
        "page": found.page_start,
        "valid_from": found.valid_from and found.valid_from.isoformat(),
        "valid_to": found.valid_to and found.valid_to.isoformat(),
        "text": found.text,
        "chunk_id": str(found.chunk_id),
        "ranks": found.ranks,
        "stale": found.stale,
    }


def _print(candidates: list[Candidate], query: str, as_of: str, version: str | None) -> None:
    from rich.console import Console  # noqa: PLC0415
    from rich.padding import Padding  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415

    from search.quotes import quote  # noqa: PLC0415

    out = Console(highlight=False)
    if not candidates:
        out.print(
            f"Nothing that this asker may read answers that, as of {as_of} (version {version})."
        )
        return
    for rank, found in enumerate(candidates, start=1):
        head = Text(f"{rank}. ", style="bold")
        head.append(found.title or found.uri.rpartition("/")[2], style="bold")
        for part in found.heading_path:
            if part != found.title:
                head.append(f" › {part}")
        out.print(head)
        out.print(Padding(Text(_place(found), style="dim"), (0, 0, 0, 3)))
        out.print(Padding(Text(quote(found.text, query, found.added)), (0, 0, 1, 3)))
    out.print(Text(f"version {version}, as of {as_of}", style="dim"))


def _place(found: Candidate) -> str:
    parts = [found.uri]
    if found.page_start is not None:
        parts.append(f"page {found.page_start}")
    if found.valid_from or found.valid_to:
        parts.append(f"valid {found.valid_from or '…'} to {found.valid_to or '…'}")
    if found.stale:
        parts.append("a newer revision is in quarantine")
    ranks = ", ".join(f"{name} #{rank}" for name, rank in found.ranks.items())
    parts.append(f"score {found.score:.4f} ({ranks})")
    return " · ".join(parts)
