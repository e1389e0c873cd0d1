"""mucluc promote, mucluc rollback."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from flows.cli_errors import VERSION_BUSY, Exit, console, stop, told
from flows.cli_options import AsJson, SettingsFile
from store.words import count

if TYPE_CHECKING:
    from rich.console import Console

    from flows.judging import PromotionReport


def promote(
    name: Annotated[str, typer.Argument(help="Version to promote, as in mucluc versions.")],
    index: Annotated[str, typer.Option(help="Index of the version.")] = "main",
    alias: Annotated[
        str,
        typer.Option(help="active, canary or shadow; search uses active unless told otherwise."),
    ] = "active",
    force: Annotated[
        bool, typer.Option("--force", help="Promote even where a gate refuses; needs --reason.")
    ] = False,
    reason: Annotated[
        str | None, typer.Option(help="Why it is forced. It is kept.", show_default=False)
    ] = None,
    report_dir: Annotated[
        Path | None,
        typer.Option(
            "--report",
            help="Folder for the report's pages; home/reports by default.",
            file_okay=False,
            show_default=False,
        ),
    ] = None,
    as_json: AsJson = False,
    settings: SettingsFile = None,
) -> None:
    """Make a version the active one, if it passes its gates: nobody notices but by better answers.

    It first takes over what arrived since its backfill. The gates: everything is there, vectors
    are the model's own, nobody sees anything else than before, indexes are built, and it answers
    the golden questions as well (mucluc golden add). Refused: exit code 5, and nothing changes.

    [bold]mucluc promote v7[/]
    [bold]mucluc promote v7 --alias canary[/]
    [bold]mucluc promote v7 --force --reason "the old parser is gone"[/]
    """
    if force and not (reason or "").strip():
        raise stop(
            Exit.WRONG_USE,
            "forcing a version needs a reason, which is kept.",
            f'mucluc promote {name} --force --reason "…"',
        )
    with told(busy=VERSION_BUSY):
        from flows.opening import open_from  # noqa: PLC0415
        from flows.prefect_env import configure  # noqa: PLC0415
        from flows.promotion_page import write_pages  # noqa: PLC0415
        from flows.settings import Settings  # noqa: PLC0415
        from flows.swapping import (  # noqa: PLC0415
            report_folder,
            run_promotion,
            versions_for,
        )
        from flows.syncing import SyncFailed  # noqa: PLC0415

        loaded = Settings.load(settings)
        with open_from(loaded) as store:
            try:
                version, active = versions_for(store, index, name, alias)
                configure(loaded.home, store.url)
                report = run_promotion(
                    store,
                    loaded,
                    version,
                    active,
                    alias=alias,
                    force=force,
                    reason=reason,
                    shown=not as_json and console().is_terminal,
                )
            except SyncFailed as exc:
                raise stop(
                    Exit.FAILED,
                    f"the promotion failed ({exc}). The alias is as it was.",
                    "Run the same command again.",
                ) from None
        page = write_pages(report, report_dir or report_folder(loaded))
        _print(report, page, console())
        model, written = version.recipe["model"], loaded.recipe_of(index).model
        if (
            report.promoted
            and alias == "active"
            and loaded.states_model(index)
            and model != written
        ):
            console().print(
                f'[yellow]note[/]  mucluc.toml says model = "{written}". Write model = "{model}" '
                "there, or the next sync asks for a version of the other model."
            )
        if as_json:
            typer.echo(json.dumps(report.to_json() | {"report": str(page)}))
    raise typer.Exit(report.exit_code)


def rollback(
    index: Annotated[str, typer.Option(help="Index to roll back.")] = "main",
    alias: Annotated[
        str,
        typer.Option(help="active goes to the version before; canary and shadow are taken away."),
    ] = "active",
    as_json: AsJson = False,
    settings: SettingsFile = None,
) -> None:
    """Go back to the version that was active before: one transaction.

    That version was kept in step by every sync, for as long as versions.keep_previous_days says.
    Deletions and access hold in it as in any other.

    [bold]mucluc rollback[/]
    [bold]mucluc rollback --alias canary[/]
    """
    with told():
        from flows.opening import open_from  # noqa: PLC0415
        from flows.settings import Settings  # noqa: PLC0415
        from flows.swapping import describe, run_rollback  # noqa: PLC0415
        from store.promotions import NoWayBack  # noqa: PLC0415

        loaded = Settings.load(settings)
        with open_from(loaded) as store:
            try:
                swap = run_rollback(store, index, alias)
            except NoWayBack as exc:
                raise stop(Exit.WRONG_USE, f"{exc}.", "See: mucluc versions") from None
        out = console()
        if swap.new is None:
            out.print(f"Alias {alias} of index {index} is gone; {swap.old} stays.")
        else:
            out.print(f"Index {index}: {swap.new} is {alias} again, in place of {swap.old}.")
        if swap.behind:
            out.print(
                f"[yellow]note[/]  it has {count(swap.behind, 'document')} in an older form only, "
                "or not at all. Bring them in: mucluc sync"
            )
        if as_json:
            typer.echo(json.dumps(describe(swap)))
    raise typer.Exit(int(Exit.DONE_BUT) if swap.behind else 0)


def _print(report: PromotionReport, page: Path, out: Console) -> None:
    from rich.table import Table  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415

    from flows.promotion_page import verdict  # noqa: PLC0415

    table = Table(title=f"{report.index} {report.version}, compared with {report.active}")
    for heading in ("gate", "result", "what it found"):
        table.add_column(heading, overflow="fold")
    results = {
        True: Text("passed", style="green"),
        False: Text("refused", style="red"),
        None: Text("skipped", style="dim"),
    }
    for name, gate in report.gates.items():
        table.add_row(name, results[gate["passed"]], Text(str(gate["words"])))
    out.print(table)
    out.print(Text(verdict(report).replace("`", "")))
    if not report.promoted:
        out.print(
            f'To go against the gates: mucluc promote {report.version} --force --reason "…"',
            markup=False,
        )
    out.print(f"[dim]{page}[/]")
