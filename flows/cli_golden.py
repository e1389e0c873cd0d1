"""mucluc golden: the questions that a promotion asks."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from flows.cli_errors import Exit, console, stop, told
from flows.cli_options import AsJson, DryRun, SettingsFile
from store.words import count

if TYPE_CHECKING:
    from rich.console import Console

    from store.golden import Added, StoredQuestion

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode="rich",
    help="""Register the golden questions that a promotion asks of a version before it swaps.

They lie in the database, so that an erasure voids those of its documents. Ids and tags are
labels: they stand in reports, so they should name nobody.

  [bold]mucluc golden add examples/golden.jsonl[/]
""",
)
Index = Annotated[str, typer.Option(help="Index whose versions are to answer.")]
SHOWN = 12  # names in a message


@app.command()
def add(
    file: Annotated[Path, typer.Argument(help="Golden questions, one JSON object a line.")],
    index: Index = "main",
    dry_run: DryRun = False,
    as_json: AsJson = False,
    settings: SettingsFile = None,
) -> None:
    """Register the questions of a file; the same file again changes nothing.

    A question under a known id takes its place. One whose words an erasure took stays voided, and
    one about an erased document is not taken (exit code 3). A quote that its document does not
    hold in the active version is named. The format: docs/quality.md.

    [bold]mucluc golden add examples/golden.jsonl[/]
    [bold]mucluc golden add golden.jsonl --index english --dry-run[/]
    """
    with told():
        from flows.cli_eval_golden import read_questions  # noqa: PLC0415
        from flows.opening import open_from  # noqa: PLC0415
        from flows.registering import register  # noqa: PLC0415
        from flows.settings import Settings  # noqa: PLC0415
        from store.versions import list_versions  # noqa: PLC0415

        loaded = Settings.load(settings)
        questions = read_questions(file, (), (), None)
        with open_from(loaded) as store:
            found = register(store, index, questions, dry_run=dry_run)
            is_known = bool(list_versions(store, index))
        if not is_known:
            console().print(
                f"[yellow]note[/]  index {index} has no version yet. See: mucluc versions"
            )
        _print_added(found, index, console(), dry_run=dry_run)
        if as_json:
            typer.echo(json.dumps(_added(found, index, dry_run=dry_run), ensure_ascii=False))
    raise typer.Exit(int(Exit.DONE_BUT) if found.voided or found.erased else 0)


@app.command("list")
def list_questions(
    index: Index = "main",
    words: Annotated[
        bool,
        typer.Option("--words", help="Show the questions themselves; a terminal does so anyway."),
    ] = False,
    as_json: AsJson = False,
    settings: SettingsFile = None,
) -> None:
    """List the registered questions: who asks, on which day, and whether they can be asked.

    gone: a document that the question expects is not there (any more). voided: an erasure took the
    question's words. Neither is asked; both are counted in a promotion's report.

    [bold]mucluc golden list[/]
    [bold]mucluc golden list --json[/]
    """
    with told():
        from flows.opening import open_from  # noqa: PLC0415
        from flows.settings import Settings  # noqa: PLC0415
        from store import golden  # noqa: PLC0415

        loaded = Settings.load(settings)
        with open_from(loaded) as store:
            rows = golden.registered(store, index)
    if as_json:
        listed = [_row(row, words=words) for row in rows]
        states = Counter(row.state for row in rows)
        counts = {state: states[state] for state in ("asked", "gone", "voided")}
        typer.echo(json.dumps({"index": index, **counts, "questions": listed}, ensure_ascii=False))
        return
    from rich.console import Console  # noqa: PLC0415

    out = Console(highlight=False)
    _print_rows(rows, index, out, words=words or out.is_terminal)


@app.command()
def remove(
    ids: Annotated[
        list[str] | None, typer.Argument(help="Ids of questions.", show_default=False)
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="All questions of the index.")] = False,
    index: Index = "main",
    dry_run: DryRun = False,
    as_json: AsJson = False,
    settings: SettingsFile = None,
) -> None:
    """Forget registered questions, by id or all of them.

    [bold]mucluc golden remove ex-017 ex-018[/]
    [bold]mucluc golden remove --all --dry-run[/]
    """
    if bool(ids) == everything:
        raise stop(
            Exit.WRONG_USE,
            "name the questions, or say --all; not both.",
            "See which there are: mucluc golden list",
        )
    with told():
        from flows.opening import open_from  # noqa: PLC0415
        from flows.settings import Settings  # noqa: PLC0415
        from store import golden  # noqa: PLC0415

        loaded = Settings.load(settings)
        with open_from(loaded) as store:
            known = {row.name for row in golden.registered(store, index)}
            unknown = sorted(set(ids or ()) - known)
            if unknown:
                raise stop(
                    Exit.WRONG_USE,
                    f"index {index} has no question {_names(unknown)}.",
                    "See which there are: mucluc golden list",
                )
            gone = golden.remove(store, index, None if everything else ids, dry_run=dry_run)
    would = "would be " if dry_run else ""
    console().print(
        f"{len(gone)} of {count(len(known), 'question')} of index {index} {would}removed.",
        markup=False,
    )
    if as_json:
        typer.echo(
            json.dumps({"index": index, "dry_run": dry_run, "removed": gone}, ensure_ascii=False)
        )


def _added(found: Added, index: str, *, dry_run: bool) -> dict[str, Any]:
    return {
        "index": index,
        "dry_run": dry_run,
        "added": len(found.added),
        "changed": len(found.changed),
        "unchanged": len(found.unchanged),
        "voided": list(found.voided),
        "erased": list(found.erased),
        "gone": list(found.gone),
        "unheld": list(found.unheld),
    }


def _print_added(found: Added, index: str, out: Console, *, dry_run: bool) -> None:
    would = "would be " if dry_run else ""
    out.print(
        f"index {index}: {count(len(found.added), 'question')} {would}added, {len(found.changed)} "
        f"{would}changed, {len(found.unchanged)} as they were.",
        markup=False,
    )
    notes = (
        (
            found.voided,
            ("stays", "stay"),
            "voided: an erasure took the words. Forget one: mucluc golden remove",
        ),
        (found.erased, ("is", "are"), "not taken: a document named there was erased"),
        (found.gone, ("is", "are"), "not asked until an expected document is there"),
        (
            found.unheld,
            ("has", "have"),
            "a quote that no chunk of the document holds on the question's day, in the active "
            "version, and so cannot count as answered",
        ),
    )
    for names, (one, many), words in notes:
        if names:
            said = count(len(names), f"question {one}", f"questions {many}")
            out.print(f"[yellow]note[/]  {said} {words}: ", end="")
            out.print(_names(names), markup=False)


def _names(names: list[str] | tuple[str, ...]) -> str:
    rest = len(names) - SHOWN
    return ", ".join(names[:SHOWN]) + (f" and {rest} more" if rest > 0 else "")


def _row(row: StoredQuestion, *, words: bool) -> dict[str, Any]:
    return {
        "id": row.name,
        "state": row.state,
        "tenant": row.tenant,
        "as_of": row.as_of.isoformat(),
        "tags": list(row.tags),
        "language": row.language,
        "unanswerable": row.unanswerable,
        "sources": sum(source.quote is not None for source in row.sources),
        "added_at": row.added_at.isoformat(),
        "voided_at": row.voided_at and row.voided_at.isoformat(),
        "voided_why": row.voided_why,
        **({"query": row.query, "principals": list(row.principals)} if words else {}),
    }


def _print_rows(rows: list[StoredQuestion], index: str, out: Console, *, words: bool) -> None:
    from rich.table import Table  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415

    if not rows:
        out.print(f"Index {index} has no golden question. Register some: mucluc golden add FILE")
        return
    table = Table()
    shown = ("asked by", "question") if words else ()
    for name in ("id", "state", "tenant", "day", "tags", *shown):
        table.add_column(name, overflow="fold")
    styles = {"asked": "", "gone": "yellow", "voided": "dim"}
    for row in rows:
        table.add_row(
            Text(row.name),
            Text(row.state, style=styles[row.state]),
            Text(row.tenant),
            f"{row.as_of}",
            Text(", ".join([*row.tags, *([row.language] if row.language else [])])),
            *([Text(", ".join(row.principals)), Text(row.query or "–")] if words else []),
        )
    out.print(table)
    states = Counter(row.state for row in rows)
    out.print(
        f"index {index}: {states['asked']} asked, {states['gone']} gone, {states['voided']} voided"
    )
