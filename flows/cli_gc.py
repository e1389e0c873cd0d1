"""mucluc gc."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated, Any

import typer

from flows.cli_errors import Exit, console, stop, told
from flows.cli_options import AsJson, SettingsFile

if TYPE_CHECKING:
    from rich.console import Console


def gc(
    retire: Annotated[
        str | None,
        typer.Option(
            metavar="VERSION",
            help="Retire this version now, and drop it. Not one that an alias names.",
            show_default=False,
        ),
    ] = None,
    index: Annotated[str, typer.Option(help="Index of the version in --retire.")] = "main",
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what would go, and change nothing.")
    ] = False,
    as_json: AsJson = False,
    settings: SettingsFile = None,
) -> None:
    """Free what nothing needs: versions past their time, and rows behind them.

    Works beside searches and syncs. What a rollback, an answer about the past, a pending document
    or a version that is being built may want stays. A run that was killed is finished by the next.

    [bold]mucluc gc --dry-run[/]
    [bold]mucluc gc[/]
    [bold]mucluc gc --retire v7[/]
    """
    with told(busy="another collection is running."):
        from flows.collecting import (  # noqa: PLC0415
            exit_code,
            plan_collection,
            run_collection,
            version_to_retire,
        )
        from flows.opening import open_from  # noqa: PLC0415
        from flows.prefect_env import configure  # noqa: PLC0415
        from flows.settings import Settings  # noqa: PLC0415
        from flows.syncing import SyncFailed  # noqa: PLC0415

        loaded = Settings.load(settings)
        with open_from(loaded) as store:
            named = version_to_retire(store, index, retire) if retire else None
            if retire and named is None:
                raise stop(
                    Exit.WRONG_USE,
                    f"there is no version {retire} of index {index} to retire.",
                    "See: mucluc versions",
                )
            if dry_run:
                report = plan_collection(store, loaded, named=named)
            else:
                configure(loaded.home, store.url)
                try:
                    report = run_collection(store, loaded, named=named)
                except SyncFailed as exc:
                    raise stop(
                        Exit.FAILED,
                        f"the collection failed ({exc}). What is done is kept.",
                        "Run the same command again; it goes on where this one stopped.",
                    ) from None
        if named is not None and not dry_run and not report["retired"]:
            raise stop(
                Exit.WRONG_USE,
                f"version {retire} is in use: an alias names it, or another job works on it.",
                "See: mucluc versions",
            )
        _print(report, console())
        if as_json:
            typer.echo(json.dumps(report))
    raise typer.Exit(exit_code(report))


def _print(report: dict[str, Any], out: Console) -> None:
    would = "would be " if report.get("dry_run") else ""
    for what in ("retired", "dropped"):
        if report[what]:
            out.print(f"{would}{what}: {', '.join(report[what])}")
    counts = [f"{count:,} {name}" for name, count in report["deleted"].items() if count]
    out.print(f"{would}deleted: {', '.join(counts) or 'nothing'}")
    if report.get("dry_run") and report["dropped"]:
        out.print("[yellow]note[/]  what these versions alone refer to goes as well, uncounted.")
    if report.get("waiting"):
        out.print(
            f"[yellow]note[/]  still held by readers or another job: "
            f"{', '.join(report['waiting'])}. The next run goes on."
        )
    if report["busy"]:
        out.print("[yellow]note[/]  what is being worked on right now was left alone.")
