"""The command line: mucluc COMMAND. Each command lives in a file of its own, imported when run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from flows.cli_backfill import backfill
from flows.cli_eval import evaluate
from flows.cli_gc import gc
from flows.cli_golden import app as golden
from flows.cli_inspect import inspect
from flows.cli_promote import promote, rollback
from flows.cli_search import search
from flows.cli_sync import sync
from flows.cli_versions import versions
from flows.cli_why import why

app = typer.Typer(
    name="mucluc",
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    add_completion=True,
    help="""Keep a company's documents searchable: index, search, and forget them.

A first try, without a settings file:

  [bold]mucluc sync ./documents --tenant acme --acl role:staff[/]

  [bold]mucluc search "annual leave" --tenant acme --as role:staff[/]
""",
    epilog="Exit codes: 0 done, 1 failed, 2 wrong use, 3 done with quarantined or withheld "
    "documents, 4 another run holds the lock, 5 a version did not pass its gates, 6 not among the "
    "results (why).",
)


@app.command()
def init(
    path: Annotated[
        Path, typer.Argument(help="Where to write the settings.", dir_okay=False)
    ] = Path("mucluc.toml"),
    force: Annotated[bool, typer.Option("--force", help="Overwrite a file that is there.")] = False,
    show: Annotated[
        bool,
        typer.Option("--show", help="Write nothing; print what is in force, without secrets."),
    ] = False,
) -> None:
    """Write a commented mucluc.toml to begin with, or show the settings in force.

    Then name your tenants and sources in it, and: mucluc sync

    [bold]mucluc init[/]
    [bold]mucluc init --show[/]
    """
    from flows.cli_errors import Exit, console, stop, told  # noqa: PLC0415
    from flows.settings import Settings, render_example  # noqa: PLC0415

    if show:
        with told():
            described = Settings.load(path if path.exists() else None).describe()
        typer.echo(json.dumps(described, indent=2, ensure_ascii=False))
        return
    if path.exists() and not force:
        raise stop(
            Exit.WRONG_USE, f"{path} is there already.", f"Overwrite it: mucluc init {path} --force"
        )
    try:
        path.write_text(render_example(), encoding="utf-8")
    except OSError as exc:
        raise stop(Exit.WRONG_USE, f"{path} cannot be written: {exc.strerror}.") from None
    console().print(f"Wrote {path}. Name your tenants and sources in it, then: mucluc sync")


@app.command()
def serve(
    settings: Annotated[
        Path | None, typer.Option("--settings", help="Settings file; ./mucluc.toml by default.")
    ] = None,
    port: Annotated[
        int, typer.Option(help="Port of the Prefect server that is started if none is named.")
    ] = 4200,
) -> None:
    """Run the nightly job on its schedule, until it is stopped (Ctrl-C).

    Uses the Prefect server of PREFECT_API_URL, or starts one on this machine, with its pages at
    http://127.0.0.1:PORT.

    Example: [bold]mucluc serve[/]
    """
    from flows.cli_errors import told  # noqa: PLC0415
    from flows.serving import serve_nightly  # noqa: PLC0415

    with told():
        serve_nightly(settings, port)


app.command()(sync)
app.command()(search)
app.command()(why)
app.command()(backfill)
app.command()(promote)
app.command()(rollback)
app.command()(gc)
app.command()(versions)
app.command()(inspect)
app.command("eval")(evaluate)
app.add_typer(golden, name="golden")


def main() -> None:
    """Entry point of the console script."""
    app()


if __name__ == "__main__":
    main()
