"""mucluc versions."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import TYPE_CHECKING, Annotated, Any
from zoneinfo import ZoneInfo

import typer

from flows.cli_errors import told
from flows.cli_options import AsJson, SettingsFile
from store.words import count, local, parts

if TYPE_CHECKING:
    from rich.console import Console

    from store.database import Store


WIDE = 110  # columns, from which on a table of versions shows its figures uncut
MIB = 1024 * 1024
# How a run ended, where the database's word says little.
ENDED = {"lost": "killed or cut off"}


def versions(
    index: Annotated[
        str | None, typer.Argument(help="Only this index.", show_default=False)
    ] = None,
    runs: Annotated[bool, typer.Option("--runs", help="Show the last runs too.")] = False,
    as_json: AsJson = False,
    settings: SettingsFile = None,
) -> None:
    """Show the index versions: state, recipe, what differs, size, and how each passed its gates.

    A version that is kept in step is written to by every sync, so it costs as much again: the
    previous one until its day, those being built, and those behind canary and shadow.

    [bold]mucluc versions[/]
    [bold]mucluc versions main --runs[/]
    """
    with told():
        from flows.opening import open_from  # noqa: PLC0415
        from flows.settings import Settings, hide_password  # noqa: PLC0415
        from store.promotions import aliases  # noqa: PLC0415
        from store.runs import recent_runs  # noqa: PLC0415
        from store.versions import list_versions  # noqa: PLC0415

        loaded = Settings.load(settings)
        with open_from(loaded) as store:
            rows = list_versions(store, index)
            _compare(store, rows, loaded.versions.keep_previous_days)
            others = [] if rows else list(aliases(store))
            latest = recent_runs(store, 10) if runs else []
            where = hide_password(store.url)
        zone = ZoneInfo(loaded.timezone)
        rows, latest = [local(r, zone) for r in rows], [local(r, zone) for r in latest]
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
    elif others:
        out.print(f"There is no index {index}. There are: {', '.join(others)}.", markup=False)
    else:
        out.print(
            "No version yet. Make one: mucluc sync ./documents --tenant acme --acl role:staff"
        )
    if runs:
        _print_runs(latest, out)
    out.print(f"[dim]times in {loaded.timezone}; database {where}[/]")


def _compare(store: Store, rows: list[dict[str, Any]], keep_days: int) -> None:
    """Add to each version what it lacks and how it differs from its index's active one."""
    from store.versions import Recipe, count_lacking, versions_in_step  # noqa: PLC0415

    active = {row["index_name"]: row for row in rows if "active" in row["aliases"]}
    written = {
        version.id
        for index in {row["index_name"] for row in rows}
        for version in versions_in_step(store, index, keep_days)
    }
    for row in rows:
        like = active.get(row["index_name"])
        live = row["state"] in {"building", "ready"}
        row["in_step"] = row["id"] in written
        row["differs"], row["differs_in"] = [], ""
        row["missing"], row["kept_until"] = None, None
        if like is None or like is row:
            continue
        row["differs"] = list(Recipe.from_json(row["recipe"]).differences(like["recipe"]))
        row["differs_in"] = parts(row["differs"], row["recipe"], like["recipe"])
        row["missing"] = count_lacking(store, row["id"], like=like["id"]) if live else None
        if live and like["from_version"] == row["id"]:
            row["kept_until"] = like["promoted_at"] + timedelta(days=keep_days)


def _print_versions(rows: list[dict[str, Any]], out: Console) -> None:
    if out.width < WIDE:
        for row in rows:
            _print_block(row, out)
    else:
        _print_table(rows, out)
    led = {row["index_name"] for row in rows if "active" in row["aliases"]}
    beside = [
        row
        for row in rows
        if row["in_step"] and row["index_name"] in led and "active" not in row["aliases"]
    ]
    if beside:
        size = sum(row["bytes"] for row in beside) / MIB
        names = ", ".join(f"{row['index_name']}/{row['name']}" for row in beside)
        out.print(f"Every sync writes to {names} too ({size:.1f} MiB).")


def _print_table(rows: list[dict[str, Any]], out: Console) -> None:
    from rich.table import Table  # noqa: PLC0415

    table = Table()
    for name in ("index", "version", "state", "model", "differs in"):
        table.add_column(name, overflow="fold")
    for name in ("documents", "lacks", "chunks", "MiB"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("gates", overflow="fold")
    for row in rows:
        table.add_row(
            row["index_name"],
            row["name"],
            _state(row),
            f"{row['recipe']['model']} ({row['dimensions']})",
            row["differs_in"] or "–",
            f"{row['documents']:,}",
            "–" if row["missing"] is None else f"{row['missing']:,}",
            f"{row['entries']:,}",
            f"{row['bytes'] / MIB:.1f}",
            _gates(row),
        )
    out.print(table)


def _print_block(row: dict[str, Any], out: Console) -> None:
    """A version on lines of its own, where a table would cut its figures."""
    lacks = f", lacks {row['missing']:,}" if row["missing"] else ""
    lines = {
        "model": f"{row['recipe']['model']} ({row['dimensions']})",
        "differs in": row["differs_in"],
        "holds": f"{count(row['documents'], 'document')}{lacks}; {count(row['entries'], 'chunk')}, "
        f"{row['bytes'] / MIB:.1f} MiB",
        "gates": _gates(row) if row["promoted_at"] else "",
    }
    from rich.padding import Padding  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415

    out.print(f"[bold]{row['index_name']} {row['name']}[/]: {_state(row)}")
    for name, value in lines.items():
        if value:
            out.print(Padding(Text(f"{name:<11} {value}"), (0, 0, 0, 2)))


def _state(row: dict[str, Any]) -> str:
    words = ", ".join([row["state"], *row["aliases"]])
    until = row["kept_until"]
    return f"{words}, kept until {until:%Y-%m-%d}" if until and row["in_step"] else words


def _gates(row: dict[str, Any]) -> str:
    since = row["promoted_at"]
    if since is None:
        return "–"
    verdict = "passed" if row["passed"] else f"forced: {row['reason']}"
    return (
        f"{verdict}; {row['promotion']} to {row['promoted_to']} by {row['promoted_by']}, "
        f"{since:%Y-%m-%d %H:%M}"
    )


def _print_runs(rows: list[dict[str, Any]], out: Console) -> None:
    from rich.table import Table  # noqa: PLC0415

    table = Table(title="Last runs", title_justify="left")
    for name in ("run", "kind", "tenant", "source", "state", "started"):
        table.add_column(name, overflow="fold")
    table.add_column("seconds", justify="right", no_wrap=True)
    for row in rows:
        ended = row["finished_at"]
        table.add_row(
            str(row["id"]),
            row["kind"],
            row["tenant"] or "–",
            row["source"] or "–",
            ENDED.get(row["state"], row["state"]),
            f"{row['started_at']:%Y-%m-%d %H:%M:%S}",
            f"{(ended - row['started_at']).total_seconds():.1f}" if ended else "–",
        )
    out.print(table)
