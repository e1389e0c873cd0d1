"""mucluc inspect."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import IO, TYPE_CHECKING, Annotated

import typer

from flows.cli_errors import Exit, console, stop, told
from flows.cli_options import SettingsFile
from store.words import count

if TYPE_CHECKING:
    from chunkers.chunk import Chunk
    from parsers.elements import Parsed
    from sources.files import ListedFile


def inspect(
    paths: Annotated[
        list[Path], typer.Argument(help="Files or folders.", exists=True, show_default=False)
    ],
    jsonl: Annotated[
        Path | None,
        typer.Option(
            help="Write one line of JSON a chunk to this file; - for standard output.",
            show_default=False,
        ),
    ] = None,
    html: Annotated[
        Path | None,
        typer.Option(
            help="Write one file's page here; NAME.inspect.html in this folder by default, when "
            "one file is named and nothing else is asked for.",
            show_default=False,
        ),
    ] = None,
    terminal: Annotated[
        bool, typer.Option("--terminal", help="Print the chunks here, as for several files.")
    ] = False,
    model: Annotated[
        str, typer.Option(help="Embedding model whose tokens and limits cut the chunks.")
    ] = "e5",
    settings: SettingsFile = None,
) -> None:
    """Show what a document becomes: its elements and its chunks. Needs no database.

    One file becomes a page for the browser, with the elements on one side and the chunks on the
    other; it stands alone and asks for no network. Files are parsed as a sync does it: in a worker
    process, within time and memory limits.

    [bold]mucluc inspect leave-policy.docx[/]
    [bold]mucluc inspect leave-policy.docx --terminal[/]
    [bold]mucluc inspect ./documents --jsonl chunks.jsonl[/]
    """
    is_one = len(paths) == 1 and paths[0].is_file()
    if html is not None and not is_one:
        raise stop(Exit.WRONG_USE, "--html takes one file, no folder and no list of files.")
    if html is None and is_one and jsonl is None and not terminal:
        html = Path(f"{paths[0].name}.inspect.html")
    terminal = terminal or (html is None and jsonl is None)
    refused = 0
    with told():
        from enrich.embedders import load  # noqa: PLC0415
        from enrich.tokenizers import recipe_for  # noqa: PLC0415
        from evals.quality import chunk_row, chunks_of  # noqa: PLC0415
        from flows.inspect_page import render  # noqa: PLC0415
        from flows.settings import Settings  # noqa: PLC0415
        from parsers.elements import Unreadable  # noqa: PLC0415
        from parsers.registry import REASONS  # noqa: PLC0415
        from parsers.worker import ParseWorker  # noqa: PLC0415

        limits = Settings.load(settings).limits
        embedder = load(model)
        card, tokenizer = embedder.card, embedder.tokenizer
        recipe = recipe_for(card, tokenizer)
        with (
            _opened(jsonl) if jsonl else nullcontext() as out,
            ParseWorker(seconds=limits.parse_seconds, memory_mb=limits.parse_memory_mb) as worker,
        ):
            for listed in _files(paths):
                name, path = listed.uri, listed.path
                try:
                    body, title = _body(listed)
                    parsed = worker.parse(body, path.suffix.lower())
                    parsed = replace(parsed, title=title or parsed.title)
                except Unreadable as problem:
                    refused += 1
                    reason = problem.hint or REASONS.get(problem.code, "")
                    console().print(f"{name}: {problem.code}. {reason}", markup=False)
                    continue
                pieces = list(chunks_of(parsed, recipe=recipe, card=card, tokenizer=tokenizer))
                if out is not None:
                    for chunk, contextual in pieces:
                        row = chunk_row(name, chunk, contextual)
                        out.write(json.dumps(row, ensure_ascii=False) + "\n")
                if html is not None:
                    _write(html, render(path.name, parsed, pieces, recipe=recipe, model=card.name))
                if terminal:
                    _print(name, parsed, [chunk for chunk, _ in pieces], recipe.body_budget)
    if refused and jsonl is None and is_one:
        raise typer.Exit(int(Exit.FAILED))
    if refused:
        raise typer.Exit(int(Exit.DONE_BUT))


def _files(paths: list[Path]) -> Iterator[ListedFile]:
    """The files named, in a source's order and by its rules."""
    from sources.folder import list_folder  # noqa: PLC0415

    for path in paths:
        listing = list_folder(path)
        if not listing.files:
            raise stop(Exit.WRONG_USE, f"{path} holds no document that a source would list.")
        yield from listing.files


def _body(listed: ListedFile) -> tuple[bytes, str | None]:
    """A file's bytes behind its front matter, and the title that is stated about it."""
    from sources.files import SourceProblem, body_of  # noqa: PLC0415
    from sources.folder import read_file  # noqa: PLC0415
    from sources.frontmatter import has_front_matter, split  # noqa: PLC0415

    try:
        file = read_file(listed)
        return file.body, file.metadata.title
    except SourceProblem as problem:
        # A sync would put it in quarantine; here one wants to see what the file holds.
        console().print(f"{listed.uri}: {problem.code}. {problem.hint}", markup=False)
    data = listed.path.read_bytes()
    try:
        offset = split(data)[1] if has_front_matter(listed.uri) else 0
    except SourceProblem:
        offset = 0
    return body_of(data, offset), None


@contextmanager
def _opened(path: Path) -> Iterator[IO[str]]:
    """A file to write, standard output for "-"."""
    if str(path) == "-":
        yield sys.stdout
        return
    try:
        file = path.open("w", encoding="utf-8", errors="backslashreplace")
    except OSError as problem:
        raise stop(
            Exit.FAILED,
            f"{path} cannot be written: {problem.strerror}.",
            "Name another place with --html or --jsonl, or print the chunks here with --terminal.",
        ) from None
    with file:
        yield file


def _write(html: Path, page: str) -> None:
    """Write a page and say where."""
    with _opened(html) as out:
        out.write(page)
    if str(html) != "-":
        console().print(f"Wrote {html}. Open it in a browser.", markup=False, soft_wrap=True)


def _print(name: str, parsed: Parsed, chunks: list[Chunk], budget: int) -> None:
    from rich.console import Console  # noqa: PLC0415
    from rich.panel import Panel  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415

    out = Console(highlight=False)
    kinds: dict[str, int] = {}
    for element in parsed.elements:
        kinds[element.kind.value] = kinds.get(element.kind.value, 0) + 1
    out.rule(Text(name))
    summary = ", ".join(f"{n} {kind}" for kind, n in kinds.items())
    out.print(Text(f"title: {parsed.title or '–'} · {summary} · {count(len(chunks), 'chunk')}"))
    if parsed.warnings:
        out.print(Text("warnings: " + ", ".join(parsed.warnings), style="yellow"))
    for number, chunk in enumerate(chunks, start=1):
        text = Text(chunk.text)
        for start, end in chunk.added:
            text.stylize("dim", start, end)
        head = " › ".join(chunk.heading_path) or "–"
        pages = f" · page {chunk.page_start}" if chunk.page_start else ""
        table = f" · table {chunk.table_id}" if chunk.table_id else ""
        out.print(
            Panel(
                text,
                title=Text(f"{number}. {head}"),
                title_align="left",
                subtitle=Text(
                    f"{chunk.tokens} of {budget} tokens{pages}{table}"
                    + "".join(f" · {warning}" for warning in chunk.warnings)
                ),
                subtitle_align="right",
            )
        )
