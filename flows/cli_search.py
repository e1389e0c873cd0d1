"""mucluc search."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any
from uuid import UUID

import typer

from flows.cli_errors import Exit, console, stop, told
from flows.cli_options import (
    Collections,
    IndexOrAlias,
    Kinds,
    Languages,
    Metadata,
    Principals,
    Reranker,
    SettingsFile,
    Sources,
)
from store.words import count

if TYPE_CHECKING:
    from rich.text import Text

    from search.request import Candidate, SearchTrace

DAY = "%Y-%m-%d"


def search(
    query: Annotated[
        str,
        typer.Argument(
            help='The question, or an exact code. "Quoted words" must stand together; -word and '
            '-"words" must not be there.'
        ),
    ],
    tenant: Annotated[str, typer.Option(help="Whose documents to search.")],
    principals: Principals = None,
    as_of: Annotated[
        datetime | None,
        typer.Option(
            formats=[DAY],
            help="The day to answer for, YYYY-MM-DD; today by default, in the settings' time zone.",
            metavar="DAY",
            show_default=False,
        ),
    ] = None,
    k: Annotated[
        int | None, typer.Option("--k", "-k", min=1, max=100, help="Results; 5 by default.")
    ] = None,
    collection: Collections = None,
    source: Sources = None,
    language: Languages = None,
    kind: Kinds = None,
    meta: Metadata = None,
    holds_from: Annotated[
        datetime | None,
        typer.Option(
            formats=[DAY],
            help="Only revisions that hold on this day or later.",
            metavar="DAY",
            show_default=False,
        ),
    ] = None,
    holds_to: Annotated[
        datetime | None,
        typer.Option(
            formats=[DAY],
            help="Only revisions that hold on this day or earlier.",
            metavar="DAY",
            show_default=False,
        ),
    ] = None,
    index: IndexOrAlias = "main",
    version: Annotated[
        str | None,
        typer.Option(
            help="Search this version instead of the alias's, such as v2 (mucluc versions).",
            show_default=False,
        ),
    ] = None,
    dense: Annotated[
        bool, typer.Option("--dense/--no-dense", help="Search by meaning.", show_default=False)
    ] = True,
    text: Annotated[
        bool, typer.Option("--text/--no-text", help="Search by words.", show_default=False)
    ] = True,
    rerank: Reranker = None,
    trace: Annotated[
        bool, typer.Option("--trace", help="Show how the search went: plans, counts, times.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one line of JSON.")] = False,
    settings: SettingsFile = None,
) -> None:
    """Ask the index, as somebody, on a day.

    Finds by meaning and by words (hybrid: vectors and BM25, fused by score), inside what the asker
    may read and what holds on that day. Without --as, nothing is visible. docs/search.md has more.

    [bold]mucluc search "nghi phep nam" --tenant acme --as role:staff[/]
    [bold]mucluc search "ERR_4021" --tenant acme --as role:support --json[/]
    [bold]mucluc search "annual leave" --tenant acme --as role:hr --as-of 2025-06-01[/]
    [bold]mucluc search 'giá "máy bơm" -"phụ kiện"' --tenant acme --as role:sales --kind table[/]
    """
    with told():
        from rich.markup import escape  # noqa: PLC0415

        from enrich.embedders import load  # noqa: PLC0415
        from flows.asking import helpers_of, policy_of, request_of, scope_of  # noqa: PLC0415
        from flows.opening import open_from  # noqa: PLC0415
        from flows.settings import Settings  # noqa: PLC0415
        from search.retrieval import retrieve  # noqa: PLC0415
        from search.shadow import ask_shadow, write_down  # noqa: PLC0415
        from search.standing import standings  # noqa: PLC0415
        from search.unseen import unseen  # noqa: PLC0415

        loaded = Settings.load(settings)
        if not (dense or text):
            raise stop(Exit.WRONG_USE, "--no-dense and --no-text leave nothing to search with.")
        scope = scope_of(
            collections=collection,
            sources=source,
            languages=language,
            kinds=kind,
            metadata=meta,
            holds_from=holds_from,
            holds_to=holds_to,
        )
        request, today = request_of(
            loaded, query, tenant, principals, as_of, index, scope, version=version
        )
        policy = policy_of(loaded, k, dense=dense, text=text)
        helpers = helpers_of(loaded, rerank)
        with open_from(loaded) as store:
            candidates, went = retrieve(store, request, policy, load, **helpers)
            standing = standings(store, request, candidates, today)
            hints = [] if candidates or not principals else unseen(store, request)
            if loaded.search.shadow:
                record = ask_shadow(store, request, policy, load, candidates, **helpers)
                if record is not None:
                    write_down(record, loaded.home / "shadow.jsonl")
    for note in (*went.warnings, *went.fallbacks, *hints):
        console().print(f"[yellow]Note:[/] {escape(str(note))}")
    if as_json:
        typer.echo(
            json.dumps(
                {
                    "version": went.version,
                    "as_of": request.as_of.isoformat(),
                    "results": [
                        _row(n, c, standing[c.chunk_id]) for n, c in enumerate(candidates, start=1)
                    ],
                    **({"trace": went.to_json()} if trace else {}),
                },
                ensure_ascii=False,
            )
        )
        return
    if not request.principals:
        console().print("Nobody is asking: without --as nothing is visible.")
    _print(candidates, request.query, request.as_of.isoformat(), went.version, standing)
    if trace:
        _print_trace(went)


def _row(rank: int, found: Candidate, standing: str) -> dict[str, Any]:
    return {
        "rank": rank,
        "score": round(found.score, 6),
        "uri": found.uri,
        "title": found.title,
        "section": " > ".join(found.heading_path),
        "page": found.page_start,
        "valid_from": found.valid_from and found.valid_from.isoformat(),
        "valid_to": found.valid_to and found.valid_to.isoformat(),
        "today": standing,
        "text": found.text,
        "chunk_id": str(found.chunk_id),
        "duplicates": [str(twin) for twin in found.duplicates],
        "ranks": found.ranks,
        "stale": found.stale,
    }


def _print(
    candidates: list[Candidate],
    query: str,
    as_of: str,
    version: str | None,
    standing: Mapping[UUID, str],
) -> None:
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
        out.print(Padding(_place(found, standing[found.chunk_id]), (0, 0, 0, 3)))
        out.print(Padding(Text(quote(found.text, query, found.added)), (0, 0, 1, 3)))
    out.print(Text(f"version {version}, as of {as_of}", style="dim"))


def _place(found: Candidate, standing: str) -> Text:
    from rich.text import Text  # noqa: PLC0415

    from search.standing import IN_FORCE, WORDS  # noqa: PLC0415

    parts = [found.uri]
    if found.page_start is not None:
        parts.append(f"page {found.page_start}")
    if found.valid_from or found.valid_to:
        parts.append(f"valid {found.valid_from or '…'} to {found.valid_to or '…'}")
    if found.stale:
        parts.append("a newer revision is in quarantine")
    if found.duplicates:
        parts.append(f"said {count(len(found.duplicates), 'more time')}")
    ranks = ", ".join(f"{name} #{rank}" for name, rank in found.ranks.items())
    parts.append(f"score {found.score:.4f} ({ranks})")
    shown = Text(" · ".join(parts), style="dim")
    if standing != IN_FORCE:
        shown.append(f" · {WORDS[standing]}", style="not dim yellow")
    return shown


def _print_trace(went: SearchTrace) -> None:
    from rich.console import Console  # noqa: PLC0415
    from rich.table import Table  # noqa: PLC0415

    out = Console(highlight=False)
    table = Table(title="How the search went", title_justify="left")
    for name in ("retriever", "question", "plan", "weight", "found"):
        table.add_column(name)
    for ranking in went.rankings:
        asked = f"{ranking.variant} {ranking.kind}"
        if went.variant_texts:
            asked += f": {went.variant_texts[ranking.variant]}"
        table.add_row(
            ranking.retriever,
            asked,
            ranking.plan,
            f"{ranking.weight:g}",
            str(len(ranking.chunks)),
        )
    out.print(table)
    times = ", ".join(f"{step} {taken * 1000:.1f}" for step, taken in went.seconds.items())
    kind = "an exact look-up" if went.exact_lookup else "a question in words"
    out.print(f"version {went.version}, model {went.model}; {kind}")
    out.print(
        f"{len(went.fused)} fused, {len(went.collapsed)} said before, {len(went.reranked)} reranked"
    )
    out.print(f"milliseconds: {times}")
