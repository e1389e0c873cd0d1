"""Options that several commands take, in the same words everywhere."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

SettingsFile = Annotated[
    Path | None, typer.Option("--settings", help="Settings file; ./mucluc.toml by default.")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object on the last line.")]
DryRun = Annotated[
    bool, typer.Option("--dry-run", help="Say what would change, and change nothing.")
]

# Who asks, and of what: search and why.
Principals = Annotated[
    list[str] | None,
    typer.Option(
        "--as", help="A principal of the asker, such as role:hr. Repeatable.", show_default=False
    ),
]
IndexOrAlias = Annotated[str, typer.Option("--index", help="Index, or INDEX@ALIAS.")]
Collections = Annotated[
    list[str] | None,
    typer.Option("--collection", help="Only this collection. Repeatable.", show_default=False),
]
Sources = Annotated[
    list[str] | None,
    typer.Option("--source", help="Only this source. Repeatable.", show_default=False),
]
Languages = Annotated[
    list[str] | None,
    typer.Option(
        "--language",
        help="Only documents in this language, such as vi. Repeatable.",
        show_default=False,
    ),
]
Kinds = Annotated[
    list[str] | None,
    typer.Option(
        "--kind", help="Only chunks of this kind, such as table. Repeatable.", show_default=False
    ),
]
Metadata = Annotated[
    list[str] | None,
    typer.Option(
        "--meta",
        help="Only documents that state this, KEY=VALUE. Several values of one key: any of them. "
        "Repeatable.",
        metavar="KEY=VALUE",
        show_default=False,
    ),
]
Reranker = Annotated[
    str | None,
    typer.Option(
        "--rerank",
        help="Order the best results by this cross-encoder, a folder or a Hugging Face name that "
        "is on this machine.",
        metavar="MODEL",
        show_default=False,
    ),
]
