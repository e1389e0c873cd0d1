"""mucluc sync."""

from __future__ import annotations

import json
import re
import unicodedata
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from flows.cli_errors import GO_ON, Exit, console, stop, stoppable, told
from flows.cli_options import AsJson, SettingsFile

if TYPE_CHECKING:
    from flows.request import SyncRequest
    from flows.settings import Settings
    from store.database import Store


def sync(
    path: Annotated[
        Path | None,
        typer.Argument(
            help="Folder (or one file) to index. Without it, every source of mucluc.toml.",
            show_default=False,
        ),
    ] = None,
    tenant: Annotated[
        str | None, typer.Option(help="Whose documents these are.", show_default=False)
    ] = None,
    acl: Annotated[
        list[str] | None,
        typer.Option(
            help="Who may read documents that say nothing themselves, such as role:hr. Repeatable.",
            show_default=False,
        ),
    ] = None,
    source: Annotated[
        str | None,
        typer.Option(help="Name of the source; by default the folder's name.", show_default=False),
    ] = None,
    model: Annotated[
        str | None,
        typer.Option(
            help="e5 (default), minilm, sentence-transformers:NAME or openai:NAME.",
            show_default=False,
        ),
    ] = None,
    index: Annotated[
        str | None, typer.Option(help="Index to write to; main by default.", show_default=False)
    ] = None,
    only: Annotated[
        list[str] | None,
        typer.Option(
            help="Only this file or folder below PATH; nothing is inferred about others. "
            "Repeatable.",
            show_default=False,
        ),
    ] = None,
    verify: Annotated[
        bool, typer.Option("--verify", help="Read every file, even where size and time agree.")
    ] = False,
    confirm_deletions: Annotated[
        bool,
        typer.Option("--confirm-deletions", help="Believe that many documents are gone at once."),
    ] = False,
    root_moved: Annotated[
        bool,
        typer.Option("--root-moved", help="The source's folder is at another place than before."),
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what would change, and change nothing.")
    ] = False,
    names: Annotated[
        bool,
        typer.Option("--names", help="Name documents even where the report goes to a file or log."),
    ] = False,
    as_json: AsJson = False,
    settings: SettingsFile = None,
) -> None:
    """Bring the index up to date with its sources: the nightly job, by hand.

    New and changed files are parsed, chunked, embedded and written; files that are gone leave the
    index at once, and so do readers who lost their access. What did not change costs nothing.
    A run that was killed is finished by the next one.

    [bold]mucluc sync ./documents --tenant acme --acl role:staff[/]
    [bold]mucluc sync --dry-run[/]
    """
    with told(), stoppable():
        from flows.settings import Settings  # noqa: PLC0415

        loaded = Settings.load(settings)
        requests = _requests(loaded, path, tenant, acl, source, model, index, only)
        requests = [
            request.model_copy(update={"verify": verify, "confirm_deletions": confirm_deletions})
            for request in requests
        ]
        code = (
            _plan(loaded, requests, as_json=as_json, root_moved=root_moved)
            if dry_run
            else _run(loaded, requests, as_json=as_json, root_moved=root_moved, names=names)
        )
    raise typer.Exit(code)


def _requests(
    settings: Settings,
    path: Path | None,
    tenant: str | None,
    acl: list[str] | None,
    source: str | None,
    model: str | None,
    index: str | None,
    only: list[str] | None,
) -> list[SyncRequest]:
    from pydantic import ValidationError  # noqa: PLC0415

    from flows.request import request_for  # noqa: PLC0415
    from flows.settings_tables import Source  # noqa: PLC0415

    asked = {"model": model, "index": index}
    try:
        if path is not None:
            if tenant is None:
                raise stop(
                    Exit.WRONG_USE,
                    "whose documents are these?",
                    f"mucluc sync {path} --tenant acme --acl role:staff",
                )
            root = path.resolve()
            within = tuple(only or ())
            if root.is_file():
                root, within = root.parent, (root.name,)
            name = source or _source_name(root.name)
            given = Source(name=name, path=root, acl=acl)  # type: ignore[arg-type]
            return [request_for(settings, tenant, given, within=within, **asked)]
        if acl:
            raise stop(
                Exit.WRONG_USE,
                "--acl is for a PATH; the sources of mucluc.toml state their own.",
                f"mucluc sync PATH --tenant {tenant or 'acme'} --acl {acl[0]}   or write acl = "
                "[…] to the source in mucluc.toml",
            )
        found = [
            request_for(settings, t.name, s, within=tuple(only or ()), **asked)
            for t in settings.tenants
            for s in t.sources
            if tenant in (None, t.name) and source in (None, s.name)
        ]
    except ValidationError as exc:
        first = exc.errors()[0]
        raise stop(
            Exit.WRONG_USE,
            f"{'.'.join(str(part) for part in first['loc'])}: "
            f"{first['msg'].removeprefix('Value error, ')}.",
        ) from None
    if not found:
        named = tenant is not None or source is not None
        raise stop(
            Exit.WRONG_USE,
            "there is nothing to sync: no PATH, and "
            + ("no such source" if named and settings.tenants else "no [[tenants]] with a source")
            + " in mucluc.toml.",
            "mucluc sync ./documents --tenant acme --acl role:staff   or   mucluc init",
        )
    return found


def _source_name(folder: str) -> str:
    """A folder's name as a source's: people name folders with spaces and brackets."""
    plain = re.sub(r"[^\w.-]+", "-", unicodedata.normalize("NFC", folder))
    return plain.strip("-._")[:63] or "documents"


def _run(
    settings: Settings,
    requests: list[SyncRequest],
    *,
    as_json: bool,
    root_moved: bool,
    names: bool,
) -> int:
    from flows.opening import open_from  # noqa: PLC0415
    from flows.prefect_env import configure  # noqa: PLC0415
    from flows.report_tables import introduce_model, print_report  # noqa: PLC0415
    from flows.syncing import SourceMoved, SyncFailed, run_sync  # noqa: PLC0415
    from store.errors import LockHeldError  # noqa: PLC0415

    out = console()
    worst, reports = 0, []
    with open_from(settings) as store:
        configure(settings.home, store.url)
        _refuse_nowhere(store, requests)
        for request in requests:
            introduce_model(store, request, out)
            try:
                report = run_sync(
                    store,
                    request,
                    shown=not as_json and out.is_terminal,
                    root_moved=root_moved,
                )
            except (LockHeldError, SourceMoved, SyncFailed) as exc:
                # The other sources have their turn all the same.
                worst = max(worst, _say(request, exc), key=_severity)
                continue
            # What is redirected ends in a log, and logs know documents by id (I10).
            print_report(store, request, report, out, named=out.is_terminal or names)
            reports.append(report)
            worst = max(worst, report.exit_code, key=_severity)
        if as_json and reports:
            typer.echo(json.dumps(_joined([report.to_json() for report in reports])))
    return worst


def _refuse_nowhere(store: Store, requests: list[SyncRequest]) -> None:
    """Stop where the one source asked for is a path that is not there, and not its own."""
    from store.runs import last_root  # noqa: PLC0415

    for request in requests if len(requests) == 1 else ():
        own = last_root(store, request.tenant, request.source) == str(request.root)
        if not own and not request.root.exists():
            raise stop(Exit.WRONG_USE, f"{request.root} is not there.")


def _say(request: SyncRequest, error: Exception) -> int:
    """Say why a source had no run or lost it; returns the exit code."""
    from flows.syncing import SourceMoved  # noqa: PLC0415
    from store.errors import LockHeldError  # noqa: PLC0415

    which = f"source {request.source} of tenant {request.tenant}"
    if isinstance(error, LockHeldError):
        ended = stop(
            Exit.LOCKED,
            f"another run works on {which}.",
            "Wait for it, or look at it with: mucluc versions --runs",
        )
    elif isinstance(error, SourceMoved):
        ended = stop(
            Exit.WRONG_USE,
            f"{which} was last read from {error}, and this is {request.root}.",
            "If it is another set of documents, give it a name: --source NAME. If the folder "
            "moved: --root-moved",
        )
    else:
        ended = stop(
            Exit.FAILED,
            f"the run of {which} failed ({error}). What is done is kept.",
            GO_ON,
        )
    return ended.exit_code


def _plan(
    settings: Settings, requests: list[SyncRequest], *, as_json: bool, root_moved: bool
) -> int:
    from flows.opening import open_from  # noqa: PLC0415
    from flows.planning import plan_sync  # noqa: PLC0415
    from flows.report_tables import print_plan  # noqa: PLC0415
    from flows.syncing import SourceMoved, check_root  # noqa: PLC0415

    worst, plans = 0, []
    with open_from(settings) as store:
        _refuse_nowhere(store, requests)
        for request in requests:
            try:
                check_root(store, request, root_moved=root_moved)
            except SourceMoved as exc:
                worst = max(worst, _say(request, exc), key=_severity)
                continue
            plan = plan_sync(store, request)
            plans.append(plan)
            if not as_json:
                print_plan(request, plan, console())
            if plan["withheld"]:
                worst = max(worst, int(Exit.DONE_BUT), key=_severity)
    if as_json and plans:
        typer.echo(json.dumps(_joined(plans)))
    return worst


def _severity(code: int) -> int:
    """Failure outweighs withheld, withheld outweighs done."""
    return {0: 0, 3: 1, 1: 2}.get(code, 3)


def _joined(reports: list[dict[str, object]]) -> dict[str, object]:
    """One report as it is; of several, the sums and the parts."""
    if len(reports) == 1:
        return reports[0]
    joined: dict[str, object] = {"runs": reports}
    for name in ("embedded", "truncated", "rows_written", "tokens"):
        joined[name] = sum(int(str(report.get(name, 0))) for report in reports)
    for name in ("documents", "chunks", "seconds"):
        sums: dict[str, float] = {}
        for report in reports:
            part = report.get(name)
            if isinstance(part, dict):
                for key, value in part.items():
                    sums[key] = round(sums.get(key, 0) + value, 3)
        joined[name] = sums
    joined["peak_rss_mb"] = max(int(str(report.get("peak_rss_mb", 0))) for report in reports)
    return joined
