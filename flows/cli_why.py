"""mucluc why."""

from __future__ import annotations

import json
from datetime import datetime
from typing import TYPE_CHECKING, Annotated
from zoneinfo import ZoneInfo

import typer

from flows.cli_errors import Exit, console, stop, told
from flows.cli_options import (
    AsJson,
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

if TYPE_CHECKING:
    from search.why import Explanation

_WORDS = {
    "document": "is there",
    "not_deleted": "not deleted",
    "readable": "can be read",
    "in_version": "in this version",
    "has_acl": "has an ACL",
    "visible": "visible to the asker",
    "valid": "holds on the day",
    "filters": "passes the filters",
    "chunks": "has chunks",
    "quote": "holds the quote",
    "chunk_filters": "chunk passes",
    "as_asker": "read as the asker",
    "dense": "found by meaning",
    "text": "found by words",
    "quoted_words": "holds the quoted words",
    "candidate": "among the candidates",
    "not_a_twin": "nothing stands for it",
    "reranked": "reranked",
    "shown": "among the results",
}


def why(
    query: Annotated[str, typer.Argument(help="The question, as it was asked.")],
    expect: Annotated[
        str,
        typer.Option(
            help="The document that should be found, its URI or the end of it; after # words "
            "that its chunk holds.",
            metavar="URI[#QUOTE]",
        ),
    ],
    tenant: Annotated[str, typer.Option(help="Whose documents were searched.")],
    principals: Principals = None,
    as_of: Annotated[
        datetime | None,
        typer.Option(
            formats=["%Y-%m-%d"],
            help="The day that was asked for, YYYY-MM-DD; today by default.",
            metavar="DAY",
            show_default=False,
        ),
    ] = None,
    k: Annotated[
        int | None,
        typer.Option("--k", "-k", min=1, max=100, help="Among so many results; 5 by default."),
    ] = None,
    collection: Collections = None,
    source: Sources = None,
    language: Languages = None,
    kind: Kinds = None,
    meta: Metadata = None,
    index: IndexOrAlias = "main",
    version: Annotated[
        str | None, typer.Option(help="This version instead of the alias's.", show_default=False)
    ] = None,
    rerank: Reranker = None,
    as_json: AsJson = False,
    settings: SettingsFile = None,
) -> None:
    """Say why a document is, or is not, among the results, and what would bring it back.

    For the operator: it looks past the filters with the pipeline's rights in the database, and
    names documents and principals that the asker may not see. Ends with exit code 0 when the
    document is among the first k results, with 6 when it is not.

    [bold]mucluc why "nghi phep nam" --expect nghi-phep-2026.docx --tenant acme --as role:staff[/]
    [bold]mucluc why "giá BH-01" --expect "bang-gia.xlsx#8.500.000" --tenant acme --as role:sales[/]
    """
    with told():
        from enrich.embedders import load  # noqa: PLC0415
        from flows.asking import helpers_of, policy_of, request_of, scope_of  # noqa: PLC0415
        from flows.opening import open_from  # noqa: PLC0415
        from flows.settings import Settings  # noqa: PLC0415
        from search.why import explain  # noqa: PLC0415

        loaded = Settings.load(settings)
        uri, _, quote = expect.partition("#")
        if not uri.strip("/ "):
            raise stop(Exit.WRONG_USE, "--expect takes URI or URI#QUOTE.")
        scope = scope_of(
            collections=collection, sources=source, languages=language, kinds=kind, metadata=meta
        )
        request, _ = request_of(
            loaded, query, tenant, principals, as_of, index, scope, version=version
        )
        helpers = helpers_of(loaded, rerank)
        policy = policy_of(loaded, k)
        with open_from(loaded) as store:
            found = explain(
                store,
                request,
                policy,
                load,
                uri.strip("/ "),
                quote.strip() or None,
                zone=ZoneInfo(loaded.timezone),
                **helpers,
            )
    if as_json:
        typer.echo(json.dumps(found.to_json(), ensure_ascii=False, default=str))
    else:
        _print(found, loaded.timezone)
    if not found.shown:
        raise typer.Exit(int(Exit.NOT_SHOWN))


def _print(found: Explanation, zone: str) -> None:
    from rich.console import Console  # noqa: PLC0415
    from rich.table import Table  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415

    out = Console(highlight=False)
    signs = {True: Text("✓", "green"), False: Text("✗", "red"), None: Text("–", "dim")}
    table = Table(box=None, show_header=False, pad_edge=False)
    for check in found.checks:
        table.add_row(signs[check.holds], Text(_WORDS[check.name]), Text(check.says))
    out.print(table)
    if found.ranks:
        ranks = ", ".join(f"{name} {rank or '–'}" for name, rank in found.ranks.items())
        out.print(Text(f"ranks: {ranks}   (version {found.version})", style="dim"))
    if found.others:
        out.print(Text(f"Of the same name too: {', '.join(found.others)}"))
    if found.suggestions:
        out.print(Text(f"Did you mean: {', '.join(found.suggestions)}"))
    out_at = found.fell_out
    if found.shown:
        out.print(Text(f"It is result {found.rank}.", style="bold green"))
        console().print(f"[dim]Times: {zone}.[/]")
        return
    out.print(Text(f"It fell out at: {_WORDS[out_at.name] if out_at else 'the results'}", "bold"))
    for remedy in out_at.brings_back if out_at else ():
        out.print(Text(f"  {remedy}"))
    console().print(
        "[dim]Names and principals above are for the operator, not for the asker. "
        f"Times: {zone}.[/]"
    )
