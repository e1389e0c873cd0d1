"""A run's report as a person reads it on a terminal, where ids become names (I10)."""

from __future__ import annotations

from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from enrich.embedders import describe_speed, load
from flows.report import Report
from flows.request import SyncRequest
from flows.settings_tables import DEFAULT_INDEX
from parsers.registry import REASONS as PARSER_REASONS
from sources.files import PARTIAL
from sources.files import REASONS as SOURCE_REASONS
from sources.files import WARNINGS as SOURCE_WARNINGS
from store import publishing
from store.database import Store
from store.versions import active_version
from store.words import count, parts

NOTICES = {
    "no_acl": "documents without an ACL anywhere, which nobody may read: {n}. State one in front "
    "matter, NAME.meta.yaml, _meta.yaml or with --acl.",
    "root_missing": "The source's folder cannot be opened; no deletion was inferred.",
    "unreadable_folder": "A folder below the root cannot be opened; no deletion was inferred.",
    "nothing_indexed": "The index holds nothing yet: no document could be taken.",
}
COUNTED = {
    "erased": (
        "file was erased on request and is not taken in again.",
        "files were erased on request and are not taken in again.",
    ),
    "changed_while_reading": (
        "file changed while it was read; the next run takes it.",
        "files changed while they were read; the next run takes them.",
    ),
    "attachments": (
        "attachment of a mail became a document of its own.",
        "attachments of mails became documents of their own.",
    ),
}


def introduce_model(store: Store, request: SyncRequest, out: Console) -> None:
    """Before an index's first run: which model it is, how fast, how to change it."""
    if active_version(store, request.index) is not None:
        return
    embedder = load(request.recipe.model)
    card = embedder.card
    out.print(
        f"Index [bold]{request.index}[/] is new. Embedding model: [bold]{card.name}[/] "
        f"({card.dimensions} dimensions, texts up to {card.max_tokens} tokens), about "
        f"{describe_speed(embedder):.0f} chunks/s here. Another one: --model minilm (fast, "
        "English), sentence-transformers:NAME or openai:NAME; see docs/models.md."
    )


def print_report(
    store: Store, request: SyncRequest, report: Report, out: Console, *, named: bool = True
) -> None:
    """The final table, then what needs attention, each with its next step.

    Documents by name, or by id where a log may be what reads (I10).
    """
    table = Table(title=f"{request.tenant} / {request.source} → {request.index} {report.version}")
    table.add_column("documents")
    table.add_column("", justify="right")
    table.add_column("chunks and tokens")
    table.add_column("", justify="right")
    table.add_column("seconds")
    table.add_column("", justify="right")
    middle = [
        ("chunks written", report.chunks["written"]),
        ("chunks reused", report.chunks["reused"]),
        ("embedded", report.embedded),
        ("tokens embedded", report.tokens),
        ("rows written", report.rows_written),
        ("peak MiB", report.peak_rss_mb),
    ]
    left = list(report.documents.items())
    right = list(report.seconds.items())
    for row in range(max(len(left), len(middle), len(right))):
        cells: list[str] = []
        for column, form in ((left, "{}"), (middle, "{:,}"), (right, "{:.2f}")):
            name, value = column[row] if row < len(column) else ("", None)
            cells += [str(name), "" if value is None else form.format(value)]
        table.add_row(*cells)
    out.print(table)
    _print_quarantine(store, request, out, named=named)
    _print_withheld(report, out)
    _print_beside(request, report, out)
    if report.pruned:
        out.print(
            f"{count(report.pruned, 'ended revision was', 'ended revisions were')} deleted "
            "(versions.keep_history_days)"
        )
    for name, times in report.warnings.items():
        out.print(Text("note  ", style="yellow") + Text(_notice(name, times)))


def _notice(name: str, n: int) -> str:
    if name in NOTICES:
        return NOTICES[name].format(n=n)
    if name in COUNTED:
        return count(n, *COUNTED[name])
    return f"{n} × {name}: {SOURCE_WARNINGS.get(name, '')}"


def _print_quarantine(store: Store, request: SyncRequest, out: Console, *, named: bool) -> None:
    rows = publishing.quarantined(store, request.tenant, request.source)
    if not rows:
        return
    table = Table(title="In quarantine", title_justify="left")
    for name in ("document", "reason", "what to do", "tries"):
        table.add_column(name, overflow="fold")
    reasons = {**SOURCE_REASONS, **PARSER_REASONS}
    for row in rows:
        document = Text(row["uri"] if named else str(row["id"]))
        if row["stale"]:
            document.append(
                " (an earlier revision still shows, to the readers it had)", style="yellow"
            )
        table.add_row(
            document,
            row["reason"],
            Text(row["hint"] or reasons.get(row["reason"], "")),
            str(row["attempts"]),
        )
    out.print(table)


def _missing(n: int) -> str:
    return count(n, "document is missing", "documents are missing")


def _why_withheld(why: str) -> str:
    # A listing that failed half-way proves nothing, whoever confirms it.
    if why == "partial_listing":
        return "the listing was not complete, so they stay until one is."
    return (
        "that is a large part of the source, so they stay. If they are really gone: mucluc sync "
        "--confirm-deletions"
    )


def _print_withheld(report: Report, out: Console) -> None:
    withheld = report.withheld
    if "deletions" in withheld:
        out.print(
            f"[yellow]withheld[/]  {_missing(withheld['deletions'])} from the listing, "
            f"but {_why_withheld(withheld['why'])}"
        )
    if "waiting" in withheld:
        out.print(
            f"[yellow]withheld[/]  {count(withheld['waiting'], 'document')} cannot be found in the "
            f"newest form yet: this program cannot make rows of the active version any more "
            f"({parts(withheld['recipe'])}), and wrote that to the next one. Deletions, access "
            "and validity are in force."
        )
    if "not_active" in withheld:
        out.print(
            f"[yellow]withheld[/]  version {report.version} is not searchable yet: gate "
            f"{', '.join(withheld['not_active'])} did not pass. Run the sync again; details: "
            "mucluc versions"
        )
    for code in report.failed:
        out.print(f"[red]failed[/]  a batch failed ({code}); run the same command again")


def _print_beside(request: SyncRequest, report: Report, out: Console) -> None:
    """The other versions that were written too, what they lack, and the next command."""
    beside = report.beside
    if not beside:
        return
    index = "" if request.index == DEFAULT_INDEX else f" --index {request.index}"
    for version in beside["versions"]:
        words = f"{version['name']} ({version['state']}) is kept in step"
        if version["missing"]:
            words += f"; it lacks {count(version['missing'], 'document')}"
        if version["state"] == "building":
            words += (
                f". Fill it: mucluc backfill{index} --name {version['name']}. Then: "
                f"mucluc promote {version['name']}{index}"
            )
        out.print(Text("note  ", style="yellow") + Text(words))
    if beside["entries"]:
        out.print(
            Text("note  ", style="yellow")
            + Text(
                f"of the above, {count(beside['embedded'], 'embedding')} and "
                f"{count(beside['entries'], 'entry', 'entries')} were for other versions than the "
                "active one"
            )
        )
    if beside["recipe"] and not any(version["today"] for version in beside["versions"]):
        out.print(
            Text("note  ", style="yellow")
            + Text(
                f"the recipe differs from that of the active version in "
                f"{parts(beside['recipe'])}. Build a version with today's: "
                f"mucluc backfill{index}"
            )
        )


def print_plan(request: SyncRequest, plan: dict[str, Any], out: Console) -> None:
    """What a dry run found."""
    out.print(f"[bold]{request.tenant} / {request.source}[/]: nothing was changed")
    for code in plan["problems"]:
        out.print(Text("note  ", "yellow") + Text(f"{request.root}: {PARTIAL[code]}"))
    if not plan["problems"] and not plan["listed"]:
        what = f"no document {' or '.join(request.within)}" if request.within else "no document"
        out.print(Text("note  ", "yellow") + Text(f"{request.root} holds {what}."))
    for name, uris in plan["uris"].items():
        for uri in uris:
            out.print(Text(f"  {name:<12}") + Text(uri))
    counts = ", ".join(f"{n} {name}" for name, n in plan["documents"].items())
    out.print(counts)
    if withheld := plan["withheld"]:
        out.print(
            f"[yellow]would be withheld[/]  {_missing(withheld['deletions'])} from "
            f"the listing, but {_why_withheld(withheld['why'])}"
        )
