"""mucluc versions."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from flows.cli_errors import told

if TYPE_CHECKING:
    from rich.console import Console


def versions(
    index: Annotated[
        str | None, typer.Argument(help="Only this index.", show_default=False)
    ] = None,
    runs: Annotated[bool, typer.Option("--runs", help="Show the last runs too.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
    settings: Annotated[
        Path | None, typer.Option(help="Settings file; ./mucluc.toml by default.")
    ] = None,
) -> None:
    """Show the index versions: state, recipe, size, and how each became active.

    [bold]mucluc versions[/]
    [bold]mucluc versions main --runs[/]
    """
    with told():
        from flows.opening import open_from  # noqa: PLC0415
        from flows.settings import Settings, hide_password  # noqa: PLC0415
        from store.runs import recent_runs  # noqa: PLC0415
        from store.versions import list_versions  # noqa: PLC0415

        loaded = Settings.load(settings)
        with open_from(loaded) as store:
            rows = list_versions(store, index)
            latest = recent_runs(store, 10) if runs else []
            where = hide_password(store.url)
    if as_json:
        found: dict[str, Any] = {"database": where, "versions": rows}
        if runs:
            found["runs"] = latest
        typer.echo(json.dumps(found, default=str, ensure_ascii=False))
        return
    from rich.console import Console  # noqa: PLC0415

    out = Console(highlight=False)
    if rows:
        _print_versions(rows, out)
    else:
        out.print(
            "No version yet. Make one: mucluc sync ./documents --tenant acme --acl role:staff"
        )
    if runs:
        _print_runs(latest, out)
    out.print(f"[dim]database {where}[/]")


def _print_versions(rows: list[dict[str, Any]], out: Console) -> None:
    from rich.table import Table  # noqa: PLC0415

    table = Table()
    for name in ("index", "version", "state", "alias", "model", "chunking", "documents", "chunks"):
        table.add_column(name)
    table.add_column("MiB", justify="right")
    table.add_column("active since", overflow="fold")
    for row in rows:
        since = row["promoted_at"]
        table.add_row(
            row["index_name"],
            row["name"],
            row["state"],
            ", ".join(row["aliases"]) or "–",
            f"{row['recipe']['model']} ({row['dimensions']})",
            row["recipe"]["chunking_id"],
            str(row["documents"]),
            str(row["entries"]),
            f"{row['bytes'] / 1024 / 1024:.1f}",
            f"{since:%Y-%m-%d %H:%M} ({row['promotion']} by {row['promoted_by']})"
            if since
            else "–",
        )
    out.print(table)


def _print_runs(rows: list[dict[str, Any]], out: Console) -> None:
    from rich.table import Table  # noqa: PLC0415

    table = Table(title="Last runs", title_justify="left")
    for name in ("run", "kind", "tenant", "source", "state", "started", "seconds"):
        table.add_column(name)
    for row in rows:
        ended = row["finished_at"]
        table.add_row(
            str(row["id"]),
            row["kind"],
            row["tenant"] or "–",
            row["source"] or "–",
            row["state"],
            f"{row['started_at']:%Y-%m-%d %H:%M:%S}",
            f"{(ended - row['started_at']).total_seconds():.1f}" if ended else "–",
        )
    out.print(table)
