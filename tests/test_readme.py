"""What the pages say to type works: commands, options, make targets, links."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest
import typer

from flows.cli import app
from flows.cli_errors import Exit

ROOT = Path(__file__).resolve().parents[1]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
CLI = typer.main.get_command(app)
COMMANDS = sorted(CLI.commands)  # type: ignore[attr-defined]
PACKAGES = ("sources", "parsers", "chunkers", "enrich", "store", "search", "evals", "flows")
# Commands as code names them in messages; other words after "mucluc" are prose.
VERBS = {
    *("init", "sync", "plan", "backfill", "versions", "promote", "rollback", "gc", "erase"),
    *("search", "why", "inspect", "eval", "golden", "doctor", "serve"),
}


def blocks(page: Path) -> Iterator[str]:
    """Lines of the fenced blocks, continued ones joined."""
    for block in re.findall(r"^```\w*\n(.*?)^```", page.read_text("utf-8"), re.M | re.S):
        yield from block.replace("\\\n", " ").splitlines()


def spans(page: Path) -> Iterator[str]:
    """Inline code outside the fenced blocks."""
    text = re.sub(r"^```.*?^```", "", page.read_text("utf-8"), flags=re.M | re.S)
    yield from re.findall(r"`([^`\n]+)`", text)


def invocations(line: str) -> Iterator[list[str]]:
    """The arguments of every ``mucluc`` call in a line of shell."""
    lexer = shlex.shlex(line, posix=True, punctuation_chars="|&;")
    lexer.whitespace_split = True
    call: list[str] | None = None
    for word in lexer:
        if set(word) <= set("|&;"):
            if call is not None:
                yield call
            call = None
        elif call is not None:
            call.append(word)
        elif re.fullmatch(r"(\S*/)?mucluc", word):
            call = []
    if call is not None:
        yield call


def problem(arguments: list[str]) -> str | None:
    """Parse as the command line would, without running anything."""
    if not arguments or arguments[0] == "COMMAND" or arguments[0].startswith("-"):
        return None
    try:
        with CLI.make_context("mucluc", list(arguments)) as context:
            name, command, rest = CLI.resolve_command(context, list(arguments))  # type: ignore[attr-defined]
            if "--help" not in rest:
                command.make_context(name, rest, parent=context)
    except typer.Exit:
        return None
    except Exception as exc:  # typer carries a click of its own, and does not export its errors
        if type(exc).__name__ == "NoArgsIsHelpError":
            return None  # a family of commands, which answers with its help
        message = str(getattr(exc, "message", None) or exc)
        if re.match(r"path .* does not exist", message):
            return None  # the pages speak of the reader's files
        return f"mucluc {shlex.join(arguments)}: {message}"
    return None


def shell_lines(page: Path) -> list[str]:
    return [line for line in blocks(page) if re.search(r"(^|[\s/])mucluc\s", line)]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_command_of_a_page_parses(page: Path) -> None:
    wrong = []
    for line in shell_lines(page):
        if not re.match(r"[$.\w/-]", line):
            continue
        wrong += [found for call in invocations(line) if (found := problem(call))]
    for span in spans(page):
        if span.startswith("mucluc ") and "…" not in span:
            # Prose names a command or an option, not always all that it needs.
            call = next(invocations(span))
            wrong += [f for f in [problem(call)] if f and "issing" not in f]
    assert wrong == []


def test_the_readme_shows_every_command_and_no_other() -> None:
    text = (ROOT / "README.md").read_text("utf-8")
    table = re.findall(r"^\| `mucluc (\w+)` \|", text, re.M)
    assert sorted(table) == COMMANDS
    shown = {call[0] for line in shell_lines(ROOT / "README.md") for call in invocations(line)}
    assert {"init", "sync", "search", "serve"} <= shown


def test_a_command_that_does_not_exist_or_an_option_that_is_wrong_is_found() -> None:
    (call,) = invocations("MUCLUC_HOME=x .venv/bin/mucluc synch ./documents  # all of it")
    assert call[:1] == ["synch"]
    assert problem(call)
    assert problem(["sync", "./documents", "--tenants", "acme"])
    assert problem(["search", "annual leave"]), "search without --tenant"
    assert problem(["sync", "./documents", "--tenant", "acme"]) is None


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_make_target_of_a_page_exists(page: Path) -> None:
    makefile = (ROOT / "Makefile").read_text("utf-8")
    targets = set(re.findall(r"^([a-z-]+):", makefile, re.M))
    code = [*blocks(page), *spans(page)]
    named = {name for line in code for name in re.findall(r"^make ([a-z-]+)", line)}
    assert named - targets == set()


def test_every_make_target_says_what_it_does() -> None:
    makefile = (ROOT / "Makefile").read_text("utf-8")
    phony = re.search(r"^\.PHONY: (.*)$", makefile, re.M)
    assert phony
    assert set(phony[1].split()) == set(re.findall(r"^([a-z-]+):.*## \w", makefile, re.M))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_link_to_a_file_leads_somewhere(page: Path) -> None:
    links = re.findall(r"\]\(([^)#\s]+)[^)]*\)", page.read_text("utf-8"))
    local = [link for link in links if not re.match(r"[a-z]+:", link)]
    assert [link for link in local if not (page.parent / link).exists()] == []


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help_with_an_example_that_parses(name: str) -> None:
    command = CLI.commands[name]  # type: ignore[attr-defined]
    text = re.sub(r"\[/?(?:bold|dim)?\]", "", command.help or "")
    examples = [line for line in text.splitlines() if re.search(r"\bmucluc \w", line)]
    assert examples, f"mucluc {name} --help shows no example"
    calls = [call for line in examples for call in invocations(line)]
    assert name in {call[0] for call in calls}
    assert [found for call in calls if (found := problem(call))] == []
    bare = [p.name for p in command.params if not getattr(p, "help", None) and p.name != "help"]
    assert bare == [], f"mucluc {name}: parameters without help"


def test_the_readme_explains_every_exit_code() -> None:
    text = (ROOT / "README.md").read_text("utf-8")
    codes = {int(code) for code in re.findall(r"^\| (\d+) \|", text, re.M)}
    assert codes == {int(code) for code in Exit}


def test_no_message_names_a_command_that_is_not_there() -> None:
    """A hint that cannot be followed is worse than none."""
    wrong = []
    for package in (
        "sources",
        "parsers",
        "chunkers",
        "enrich",
        "store",
        "search",
        "evals",
        "flows",
    ):
        for path in sorted((ROOT / package).rglob("*.py")):
            for word in re.findall(r"\bmucluc ([a-z]+)", path.read_text("utf-8")):
                if word in VERBS and word not in COMMANDS:
                    wrong.append(f"{path.relative_to(ROOT)}: mucluc {word}")
    assert wrong == []
