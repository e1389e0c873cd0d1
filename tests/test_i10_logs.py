"""I10: Prefect, logs and exceptions know documents by id, whatever goes wrong.

Names are for people: on a terminal, in the table of a run without ``--json``, and in a dry run.
With ``--json`` and no terminal, which is what cron and scripts have, neither stream holds one.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from commands import PATIENCE, environment, last_line
from psycopg import conninfo, sql
from syncs import rows

from store import embedded, prefect_database
from store.database import Store
from store.errors import StoreError

NAME, TEXT, VALUE, TITLE, QUERY, DEFECT = (
    "quincename", "mulberrytext", "medlarvalue", "damsontitle", "loquatquery", "sloedefect",
)  # fmt: skip
MARKERS = (NAME, TEXT, VALUE, TITLE, QUERY, DEFECT)

# Defects of our own, whose messages quote a document, in a stage and before the stages.
BROKEN = f"""
import sys
from flows import changes, stages

cut, compare = stages.chunk, changes.compare

def chunk(elements, **asked):
    if any("{DEFECT}" in str(element) for element in elements):
        raise ValueError(str(elements))
    return cut(elements, **asked)

def diff(listing, *asked):
    if "break-the-diff" in sys.argv[0]:
        raise ValueError(str(listing))
    return compare(listing, *asked)

stages.chunk, changes.compare = chunk, diff
from flows.cli import main
main()
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    docs = tmp_path_factory.mktemp("documents")
    stated = f"title: {TITLE}\nowner: {VALUE}\nacl: [role:staff]\n"
    (docs / f"{NAME}.md").write_text(f"---\n{stated}---\n# Note\n\nThe {TEXT} clause.\n")
    (docs / f"{NAME}-broken.docx").write_bytes(b"PK\x03\x04 " + TEXT.encode())
    (docs / f"{NAME}-empty.pdf").write_bytes(b"")
    (docs / f"{NAME}-defect.md").write_text(f"# Note\n\nThe {DEFECT} clause, {TEXT}.\n")
    (docs / f"{NAME}-odd.csv").write_bytes(b"\xff\xfe\x00" + TEXT.encode())
    (docs / f"{NAME}.html").write_text(f"<title>{TITLE}</title><table><tr><td>{TEXT}")
    (docs / f"{NAME}-wrong.md").write_text(f"---\nacl: {VALUE}\nvalid_from: {VALUE}\n---\n{TEXT}\n")
    (docs / f"{NAME}-side.txt").write_text(f"{TEXT}\n")
    (docs / f"{NAME}-side.txt.meta.yaml").write_text(f"acl: [role:staff\ntitle: {VALUE}\n")
    return docs


def run(program_name: str, *arguments: str, env: dict[str, str]) -> Any:
    """The command line with the defects in it, in a process of its own."""
    program = BROKEN.replace("import sys\n", f"import sys\nsys.argv[0] = {program_name!r}\n", 1)
    return subprocess.run(
        [sys.executable, "-c", program, *arguments],
        env=env,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )


def found_in(text: str) -> list[str]:
    return [marker for marker in MARKERS if marker in text.casefold()]


def dump(url: str) -> Iterator[tuple[str, str]]:
    """Every row of every table of a database, as text."""
    with psycopg.connect(url) as connection:
        tables = connection.execute(
            "select table_schema, table_name from information_schema.tables"
            " where table_schema not in ('pg_catalog', 'information_schema')"
        ).fetchall()
        for schema, table in tables:
            statement = sql.SQL("select t::text from {} t").format(sql.Identifier(schema, table))
            for (row,) in connection.execute(statement):
                yield table, row


@pytest.mark.slow
def test_no_name_text_value_or_query_is_in_prefect_in_a_log_or_in_a_report(
    database: str, store: Store, folder: Path, tmp_path: Path
) -> None:
    home = tmp_path / "home"
    env = environment(home, DATABASE_URL=database, PREFECT_LOGGING_TO_API_ENABLED="true")
    sync = (
        "sync", str(folder), "--tenant", "acme", "--acl", "role:staff", "--model", "hashing:64",
        "--source", "docs", "--json",
    )  # fmt: skip
    done = run("mucluc", *sync, env=env)
    assert done.returncode == 3, done.stderr
    report = last_line(done)
    reasons = {entry["reason"] for entry in report["quarantined"]}
    assert {"internal_error", "broken_metadata"} <= reasons
    assert report["documents"]["new"] >= 2
    assert found_in(done.stdout + done.stderr) == []

    failed = run("break-the-diff", *sync, env=env)
    assert failed.returncode == 1, failed.stderr
    assert "ValueError at " in " ".join(failed.stderr.split())
    assert found_in(failed.stdout + failed.stderr) == []

    asked = run(
        "mucluc", "search", f"{QUERY} {TEXT}", "--tenant", "acme", "--as", "role:staff", "--json",
        env=env,
    )  # fmt: skip
    assert TEXT in json.dumps(last_line(asked)["results"])  # results are what was asked for
    assert found_in(asked.stderr) == []

    # Foreign errors that carry values: a constraint's row, a cast's input, a wrong statement.
    for statement in (
        "insert into mucluc.document (id, uri) values (gen_random_uuid(), %s)",
        "select %s::uuid",
        f"select '{TEXT}'::date, %s",
    ):
        with pytest.raises(StoreError) as refused, store.transaction() as connection:
            connection.execute(statement, [f"{NAME} {TEXT}"])  # type: ignore[arg-type]
        assert found_in(str(refused.value)) == []
        assert refused.value.__cause__ is None

    prefects = embedded.beside(database, prefect_database.NAME)
    seen = {table for table, _ in dump(prefects)}
    assert {"flow_run", "task_run", "artifact", "log"} <= seen, "Prefect kept nothing to look at"
    leaks = [(table, found_in(row)) for table, row in dump(prefects) if found_in(row)]
    assert leaks == []

    server_log = Path(str(conninfo.conninfo_to_dict(database)["host"])) / "log"
    assert "database system is ready" in server_log.read_text(errors="replace")
    assert found_in(server_log.read_text(errors="replace")) == []
    for file in home.rglob("*"):
        if file.is_file():
            assert found_in(file.read_bytes().decode(errors="replace")) == [], file.name

    kept = rows(store, "select report::text as report, options::text as options from mucluc.run")
    assert len(kept) == 2
    for row in kept:
        assert found_in(f"{row['report']} {row['options']}") == []
    hints = rows(store, "select reason, hint, cause from mucluc.quarantine")
    assert len(hints) == len(report["quarantined"])
    assert found_in(str(hints)) == []
