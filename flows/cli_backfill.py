"""mucluc backfill."""

from __future__ import annotations

import json
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any

import typer

from flows.cli_errors import GO_ON, VERSION_BUSY, Exit, console, stop, stoppable, told
from flows.cli_options import AsJson, SettingsFile
from store.words import count

if TYPE_CHECKING:
    from rich.console import Console

    from flows.backfilling import Target
    from flows.filling import FillReport


def backfill(
    index: Annotated[str, typer.Option(help="Index to build a version of.")] = "main",
    name: Annotated[
        str | None,
        typer.Option(
            help="Name of the version: a new one, or one that is being built. By default the one "
            "that is being built with this recipe, or the next of v1, v2, …",
            show_default=False,
        ),
    ] = None,
    changes: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="KEY=VALUE",
            help="Where the recipe differs from the settings: embedding.model, context.strategy, "
            "chunking.body_budget, chunking.context_reserve. Repeatable.",
            show_default=False,
        ),
    ] = None,
    only: Annotated[
        str | None,
        typer.Option(
            metavar="SOURCE",
            help="Only this source (or TENANT/SOURCE). Nothing is inferred about others.",
            show_default=False,
        ),
    ] = None,
    since: Annotated[
        datetime | None,
        typer.Option(
            formats=["%Y-%m-%d"],
            metavar="DATE",
            help="Only what was first seen on this day or later.",
            show_default=False,
        ),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what it would do and cost, and do nothing.")
    ] = False,
    as_json: AsJson = False,
    settings: SettingsFile = None,
) -> None:
    """Build a new version of an index beside the active one, from what is stored.

    Only what the recipe changes is done again: another embedding model calls no parser. Searches
    go on as before, until the version is promoted. A run that was stopped or killed is finished by
    the same command.

    [bold]mucluc backfill --set embedding.model=minilm --dry-run[/]
    [bold]mucluc backfill --set embedding.model=minilm --name v7[/]
    [bold]mucluc backfill --name v7 --only policies[/]
    """
    with told(busy=VERSION_BUSY), stoppable():
        from flows.backfilling import (  # noqa: PLC0415
            plan_backfill,
            run_backfill,
            target_of,
        )
        from flows.opening import open_from  # noqa: PLC0415
        from flows.prefect_env import configure  # noqa: PLC0415
        from flows.settings import Settings  # noqa: PLC0415
        from flows.syncing import SyncFailed  # noqa: PLC0415

        loaded = Settings.load(settings)
        day = since.date() if since else None
        with open_from(loaded) as store:
            try:
                target = target_of(store, loaded, index, name, _pairs(changes or []))
                if dry_run:
                    plan = plan_backfill(store, loaded, target, only, day)
                    if target.nothing_to_do:
                        _say_nothing_to_do(target)
                    else:
                        _print_plan(plan, console())
                    _json(plan, as_json)
                    return
                if target.nothing_to_do:
                    _say_nothing_to_do(target)
                    _json({"version": target.active.name, "nothing_to_do": True}, as_json)
                    return
                configure(loaded.home, store.url)
                report = run_backfill(
                    store,
                    loaded,
                    target,
                    only=only,
                    since=day,
                    shown=not as_json and console().is_terminal,
                )
            except SyncFailed as exc:
                raise stop(
                    Exit.FAILED,
                    f"the backfill failed ({exc}). What is done is kept.",
                    GO_ON,
                ) from None
        _print_report(report, console())
        _json(report.to_json(), as_json)
    raise typer.Exit(report.exit_code)


def _pairs(changes: list[str]) -> dict[str, str]:
    found = {}
    for change in changes:
        key, equals, value = change.partition("=")
        if not equals or not value:
            raise stop(Exit.WRONG_USE, "--set takes KEY=VALUE, as in --set embedding.model=minilm.")
        found[key.strip()] = value.strip()
    return found


def _json(found: dict[str, Any], wanted: bool) -> None:
    if wanted:
        typer.echo(json.dumps(found))


def _say_nothing_to_do(target: Target) -> None:
    console().print(
        f"There is nothing to build: {target.active.name}, the active version of index "
        f"{target.index}, has this recipe. Another recipe: --set embedding.model=…; a copy of "
        "this one: --name NAME"
    )


def _print_plan(plan: dict[str, Any], out: Console) -> None:
    flag = "" if plan["index"] == "main" else f" --index {plan['index']}"
    verb = "go on with" if plan["opened"] else "open"
    out.print(
        f"A backfill would {verb} version {plan['version']} of index {plan['index']}. "
        "Nothing was changed."
    )
    out.print(
        f"  it differs from the active {plan['active']} in: {plan['differs_in']}"
        if plan["differs"]
        else f"  it is a copy of the active {plan['active']}: the same recipe"
    )
    if not plan["revisions"]:
        lacks = f"  it lacks nothing that was asked for. Next: mucluc promote {plan['version']}"
        out.print(lacks + flag)
        return
    about = "" if plan["exact"] else "about "
    again = count(plan["parses"], "file") if plan["parses"] else "no file"
    out.print(
        f"  {count(plan['revisions'], 'revision')} to fill in, {about}"
        f"{count(plan['chunks'], 'chunk')}; {again} to be parsed again"
    )
    made = count(plan["embeddings"], "embedding")
    seconds = plan["seconds_embedding"]
    out.print(
        f"  {about}{made} to make with {plan['model']}: about {max(seconds, 1):,.0f} s here"
        if plan["embeddings"]
        else f"  no embedding to make: {plan['model']} has seen all of it"
    )


def _print_report(report: FillReport, out: Console) -> None:
    from rich.table import Table  # noqa: PLC0415

    table = Table(title=f"{report.index} {report.version}, from {report.like}")
    for heading in ("", "reused", "made"):
        table.add_column(heading, justify="left" if not heading else "right")
    for stage, made in report.made.items():
        table.add_row(stage, f"{report.reused[stage]:,}", f"{made:,}")
    table.add_row("entries", "", f"{report.entries:,}")
    table.add_row("indexes", "", f"{report.indexes:,}")
    out.print(table)
    if report.older_parses:
        out.print(
            f"[yellow]note[/]  {count(report.older_parses, 'revision')} of the past: elements of "
            "an older parser are kept, the bytes are gone."
        )
    for item in report.not_transferable:
        out.print(
            f"[yellow]left out[/]  document {item.get('document', '–')}: {item['reason']}. "
            "Its source's bytes are not to be had, or this recipe cannot take it."
        )
    for code in report.failed:
        out.print(f"[red]failed[/]  a batch failed ({code}); run the same command again")
    if report.missing:
        out.print(f"It lacks {count(report.missing, 'document')} of the active version.")
    elif not report.failed:
        flag = "" if report.index == "main" else f" --index {report.index}"
        out.print(
            f"It has all documents of the active version. Next: mucluc promote "
            f"{report.version}{flag}"
        )
