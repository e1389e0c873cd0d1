"""The command line as scripts and people meet it: exit codes, JSON, words instead of tracebacks."""

from __future__ import annotations

import json
import re
import shutil
import signal
import socket
import tempfile
import time
from contextlib import suppress
from pathlib import Path

import pytest
from commands import PATIENCE, environment, last_line, mucluc, servers_of, start
from conftest import SECRET
from syncs import NOW, content, rows, sync
from typer.testing import CliRunner, Result

from flows.cli import app
from flows.settings import Settings
from store.database import Store
from store.runs import open_run

COMMANDS = (
    *("init", "sync", "search", "why", "inspect", "eval", "golden", "serve"),
    *("backfill", "promote", "rollback", "gc", "versions"),
)
DOCUMENTS = {"new", "changed", "unchanged", "moved", "gone", "quarantined"}
STAGES = {"list", "diff", "revoke", "parse", "chunk", "contextualize", "embed", "write", "index"}
SYNC = {
    "run", "version", "documents", "chunks", "embedded", "truncated", "rows_written", "tokens",
    "seconds", "peak_rss_mb", "pruned", "withheld", "warnings", "quarantined", "failed",
    "beside",
}  # fmt: skip
RESULT = {
    "rank", "score", "uri", "title", "section", "page", "valid_from", "valid_to", "text",
    "chunk_id", "ranks", "stale", "today", "duplicates",
}  # fmt: skip

PRICES = """---
title: Price list 2025
valid_from: 2025-01-01
valid_to: 2025-12-31
---
# Price list

Pump BH-01 costs 8.500.000 until the end of the year.
"""


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    folder = tmp_path / "shared documents"  # with a space, as people name them
    folder.mkdir()
    (folder / "errors.md").write_text("# Errors\n\nERR_4021 means that the token has expired.\n")
    (folder / "leave.md").write_text("# Leave\n\n## Annual leave\n\nFourteen days a year.\n")
    (folder / "prices.md").write_text(PRICES)
    return folder


def call(*arguments: str | Path) -> Result:
    """Run a command in this process: for those that need no flow."""
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def sync_arguments(docs: Path) -> tuple[str | Path, ...]:
    return ("sync", docs, "--tenant", "acme", "--acl", "role:staff", "--model", "hashing:64")


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help_with_an_example(command: str) -> None:
    shown = call(command, "--help")
    assert shown.exit_code == 0
    assert re.search(rf"^[│\s]*(Example: )?mucluc {command}\b", shown.output, re.MULTILINE)


def test_the_commands_are_listed_with_the_exit_codes() -> None:
    shown = call("--help")
    for command in COMMANDS:
        assert re.search(rf"\b{command}\b", shown.output)
    assert "4 another run" in " ".join(shown.output.split())


@pytest.mark.usefixtures("here")
def test_init_writes_settings_that_load_and_overwrites_nothing() -> None:
    assert call("init").exit_code == 0
    file = Path("mucluc.toml")
    assert Settings.load(file).recipe.model == "e5"
    file.write_text(file.read_text() + "\n# mine\n")
    again = call("init")
    assert again.exit_code == 2
    assert "--force" in again.output
    assert file.read_text().endswith("# mine\n")
    assert call("init", "--force").exit_code == 0
    assert "# mine" not in file.read_text()
    other = call("init", "no such folder/mucluc.toml")
    assert other.exit_code == 2
    assert "no such folder" in " ".join(other.output.split())


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("sync", "--colour"), "--colour"),
        (("sync", "absent"), "--tenant"),
        (("sync", ".", "--tenant", "two words"), "tenant"),
        (("sync", ".", "--tenant", "acme", "--acl", "staff"), "acl"),
        (("sync", ".", "--tenant", "acme", "--model", "gpt"), "model"),
        (("sync",), "nothing to sync"),
        (("sync", "--tenant", "nobody"), "nothing to sync"),
        (("sync", "--acl", "role:hr"), "mucluc sync PATH --tenant acme --acl role:hr"),
        (("sync", "absent", "--tenant", "acme", "--dry-run"), "is not there"),
        (("search", "x"), "tenant"),
        (("search", "x", "--tenant", "acme", "--as-of", "yesterday"), "yesterday"),
        (("search", "x", "--tenant", "acme", "--k", "0"), "--k"),
        (("search", "x", "--tenant", "acme", "--as", "staff"), "--as"),
        (("versions", "--settings", "absent.toml"), "absent.toml"),
        (("inspect", "absent.md"), "absent.md"),
        (("serve",), "no source"),
        (("nonsense",), "nonsense"),
    ],
)
@pytest.mark.usefixtures("here")
def test_wrong_use_ends_with_2_and_says_what_is_wrong(
    arguments: tuple[str, ...], words: str
) -> None:
    done = call(*arguments)
    assert (done.exit_code, words in done.output) == (2, True), done.output
    assert "Traceback" not in done.output


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ("[recipee]\nmodel = 'e5'\n", "recipee"),
        ("[limits]\nparse_seconds = 'soon'\n", "parse_seconds"),
        ("[[tenants]]\nname = 'acme'\n[[tenants.sources]]\nname = 'x'\n", "path"),
        ("timezone = 'Moon/Crater'\n", "timezone"),
        ("openai_api_key = 'sk-secret-1'\n", "OPENAI_API_KEY"),
        ("this is not toml", "TOML"),
        ("\udcff\udcfe", "UTF-8"),
    ],
)
@pytest.mark.usefixtures("here")
def test_rubbish_in_the_settings_ends_with_2_and_names_the_key(settings: str, words: str) -> None:
    Path("mucluc.toml").write_bytes(settings.encode(errors="surrogateescape"))
    for command in (("sync",), ("versions",), ("search", "x", "--tenant", "acme")):
        done = call(*command)
        assert (done.exit_code, words in done.output) == (2, True), done.output
        assert "sk-secret-1" not in done.output
        assert "Traceback" not in done.output


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://me:hunter2@127.0.0.1:1/none?connect_timeout=2",
        "postgresql://me:hunter2@no-such-host.invalid/none?connect_timeout=2",
        "postgresql:///none?host=/no/such/folder",
        "mysql://me:hunter2@127.0.0.1/none",
        "not a url hunter2",
    ],
)
@pytest.mark.usefixtures("here")
def test_a_database_that_is_not_there_ends_with_1_and_names_the_setting(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DATABASE_URL", url)
    for command in (("versions",), ("search", "x", "--tenant", "acme", "--as", "role:staff")):
        done = call(*command)
        assert done.exit_code == 1, done.output
        assert done.exception is None or isinstance(done.exception, SystemExit)
        assert "DATABASE_URL" in done.output
        assert "Traceback" not in done.output
        assert "hunter2" not in done.output


def test_a_dry_run_says_what_would_change_and_changes_nothing(
    here: dict[str, str], store: Store, docs: Path
) -> None:
    (docs / "broken.docx").write_bytes(b"")
    before = content(store)
    done = call(*sync_arguments(docs), "--dry-run", "--json")
    assert done.exit_code == 0, done.output
    plan = json.loads(done.stdout.splitlines()[-1])
    assert plan["documents"]["new"] + plan["documents"]["quarantined"] == 4
    assert "errors.md" in plan["uris"]["new"]
    assert content(store) == before
    assert rows(store, "select * from mucluc.run") == []
    assert rows(store, "select * from mucluc.index_version") == []
    assert "errors.md" in call(*sync_arguments(docs), "--dry-run").output


def test_a_dry_run_on_a_wrong_path_says_so_before_it_counts_deletions(
    here: dict[str, str], store: Store, docs: Path
) -> None:
    for n in range(30):
        (docs / f"note-{n}.md").write_text(f"# Note {n}\n\nWords.\n")
    sync(store, docs, source="shared-documents")
    empty = docs.with_name("empty")
    empty.mkdir()

    def dry(path: Path, *more: str) -> tuple[int, str]:
        done = call(*sync_arguments(path), "--source", "shared-documents", "--dry-run", *more)
        return done.exit_code, " ".join(done.output.split())

    code, said = dry(empty)
    assert (code, "was last read from" in said, "--root-moved" in said) == (2, True, True)
    code, said = dry(empty.with_name("typo"))
    assert (code, "is not there" in said) == (2, True)
    code, said = dry(empty, "--root-moved")
    assert code == 3
    assert said.index("holds no document") < said.index("--confirm-deletions")
    code, said = dry(docs, "--only", "typo.md")
    assert (code, "holds no document typo.md" in said) == (0, True)
    docs.rename(docs.with_name("elsewhere"))
    code, said = dry(docs)
    assert code == 3
    assert "not there or cannot be opened" in said
    assert "they stay until one is" in said
    assert "--confirm-deletions" not in said  # which would not help


def test_another_run_on_the_source_ends_with_4(
    here: dict[str, str], store: Store, docs: Path
) -> None:
    held = open_run(store, kind="sync", lock_key="sync:acme:shared-documents")
    done = call(*sync_arguments(docs), "--json")
    held.release()
    assert done.exit_code == 4, done.output
    assert done.stdout == ""
    assert "another run" in done.output
    assert rows(store, "select count(*) as n from mucluc.document")[0]["n"] == 0


def test_a_folder_becomes_an_index_that_answers_inside_what_the_asker_may_see(
    here: dict[str, str], store: Store, docs: Path, prefect_api: str
) -> None:
    env = here | {"PREFECT_API_URL": prefect_api}
    arguments = (*sync_arguments(docs), "--json")
    done = mucluc(*arguments, env=env)
    assert done.returncode == 0, done.stderr
    report = last_line(done)
    assert set(report) == SYNC
    assert set(report["documents"]) == DOCUMENTS
    assert set(report["chunks"]) == {"written", "reused"}
    assert set(report["seconds"]) == STAGES
    assert report["documents"]["new"] == 3
    assert "Traceback" not in done.stderr

    def ask(query: str, *options: str, tenant: str = "acme") -> list[dict[str, object]]:
        answer = call("search", query, "--tenant", tenant, "--json", *options)
        assert answer.exit_code == 0, answer.output
        assert answer.stdout.count("\n") == 1, "one line"
        found = json.loads(answer.stdout)
        assert set(found) == {"version", "as_of", "results"}
        assert all(set(result) == RESULT for result in found["results"])
        assert [result["rank"] for result in found["results"]] == list(
            range(1, len(found["results"]) + 1)
        )
        return list(found["results"])

    staff = ("--as", "role:staff")
    first = ask("ERR_4021", *staff)[0]
    assert first["uri"] == "errors.md"
    assert "ERR_4021" in str(first["text"])
    assert ask("annual leave", *staff)[0]["section"] == "Leave > Annual leave"
    assert len(ask("ERR_4021", *staff, "--k", "1")) == 1
    assert ask("ERR_4021") == []  # nobody
    assert ask("ERR_4021", "--as", "role:hr") == []
    assert ask("ERR_4021", *staff, tenant="umbra") == []
    assert ask("ERR_4021", *staff, tenant="") == []
    old = ask("BH-01", *staff, "--as-of", "2025-06-01")[0]
    assert (old["uri"], old["title"], old["valid_from"], old["valid_to"]) == (
        "prices.md", "Price list 2025", "2025-01-01", "2025-12-31",
    )  # fmt: skip
    assert "prices.md" in {r["uri"] for r in ask("BH-01", *staff, "--as-of", "2025-12-31")}
    for day in ("2024-12-31", "2026-01-01"):
        assert "prices.md" not in {r["uri"] for r in ask("BH-01", *staff, "--as-of", day)}
    shown = call("search", "ERR_4021", "--tenant", "acme", *staff).output
    assert "errors.md" in shown and "ERR_4021" in shown
    assert "Nothing" in call("search", "ERR_4021", "--tenant", "acme").output

    found = json.loads(call("versions", "--json", "--runs").stdout)
    assert [(v["name"], v["aliases"], v["entries"]) for v in found["versions"]] == [
        ("v1", ["active"], report["chunks"]["written"])
    ]
    assert [r["state"] for r in found["runs"]] == ["done"]
    assert SECRET.decode() not in json.dumps(found)
    assert "v1" in call("versions").output

    # A file that goes, and one that cannot be read.
    (docs / "errors.md").unlink()
    (docs / "broken.docx").write_bytes(b"PK\x03\x04 not a document")
    done = mucluc(*arguments, env=env)
    assert done.returncode == 3, done.stderr
    report = last_line(done)
    assert (report["documents"]["gone"], report["documents"]["quarantined"]) == (1, 1)
    assert [set(entry) for entry in report["quarantined"]] == [{"id", "reason"}]
    assert "errors.md" not in {r["uri"] for r in ask("ERR_4021", *staff)}
    assert "Traceback" not in done.stderr

    # Scripts get ids: what they read ends in logs (I10). People get names and what to do.
    assert "broken.docx" not in done.stderr + done.stdout
    assert report["quarantined"][0]["id"] in done.stderr


def test_sources_of_the_settings_have_their_turn_whatever_becomes_of_the_others(
    here: dict[str, str],
    store: Store,
    docs: Path,
    prefect_api: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("PREFECT_API_URL", prefect_api)
    more = docs.with_name("more")
    more.mkdir()
    (more / "broken quince.docx").write_bytes(b"PK\x03\x04 not a document")
    (more / "note.md").write_text("# Note\n\nERR_7777 is new.\n")
    source = '[[tenants.sources]]\nname = "{}"\npath = "{}"\nacl = ["role:staff"]\n'
    Path("mucluc.toml").write_text(
        SETTINGS.format(path=docs) + source.format("more", more) + source.format("off", "absent")
    )
    held = open_run(store, kind="sync", lock_key="sync:acme:docs")
    done = call("sync", "--json")
    held.release()
    assert done.exit_code == 4, done.output
    assert "source docs of tenant acme" in " ".join(done.output.split())
    joined = json.loads(done.stdout.splitlines()[-1])
    assert [run["documents"]["new"] for run in joined["runs"]] == [1, 0]
    assert joined["runs"][1]["withheld"] == {"listing": ["root_missing"]}
    done = call("sync", "--source", "more")
    assert done.exit_code == 3
    assert "broken quince.docx" not in done.output  # no terminal: it may end in a log (I10)
    done = call("sync", "--source", "more", "--names")
    assert "broken quince.docx" in done.output

    # The same name for another folder would count every document as gone.
    moved = call(*sync_arguments(docs), "--source", "more")
    assert moved.exit_code == 2
    assert "--root-moved" in moved.output


def test_a_folder_that_is_empty_or_absent_is_said_in_words(
    here: dict[str, str], tmp_path: Path, prefect_api: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PREFECT_API_URL", prefect_api)
    (tmp_path / "empty").mkdir()
    done = call(*sync_arguments(tmp_path / "empty"), "--json")
    assert done.exit_code == 0, done.output
    assert last_line(done)["warnings"] == {"nothing_indexed": 1}
    assert "holds nothing yet" in " ".join(done.output.split())
    absent = call(*sync_arguments(tmp_path / "absent"))
    assert absent.exit_code == 2
    assert "is not there" in " ".join(absent.output.split())
    asked = call("search", "anything", "--tenant", "acme", "--as", "role:staff")
    assert asked.exit_code == 1
    assert "mucluc sync" in asked.output
    (tmp_path / "empty").rmdir()  # read before, and gone now: not a typing error (I13)
    assert call(*sync_arguments(tmp_path / "empty")).exit_code == 3


@pytest.mark.usefixtures("here")
def test_inspect_writes_a_line_a_chunk_and_needs_no_database(
    docs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DATABASE_URL", "postgresql://nobody@127.0.0.1:1/none")
    done = call("inspect", docs, "--jsonl", "chunks.jsonl", "--model", "hashing:64")
    assert done.exit_code == 0, done.output
    lines = [json.loads(line) for line in Path("chunks.jsonl").read_text().splitlines()]
    assert {line["file"] for line in lines} == {"errors.md", "leave.md", "prices.md"}
    for line in lines:
        assert {
            "file", "text", "contextual_text", "heading_path", "page_start", "page_end",
            "table_id", "char_start", "char_end", "added", "tokens", "kinds", "warnings",
        } <= set(line)  # fmt: skip
    shown = call("inspect", docs / "leave.md", "--terminal", "--model", "hashing:64")
    assert "Fourteen days" in shown.output
    (docs / "broken.docx").write_bytes(b"PK\x03\x04 not a document")
    assert call("inspect", docs / "broken.docx", "--model", "hashing:64").exit_code == 1
    assert call("inspect", docs, "--jsonl", "-", "--model", "hashing:64").exit_code == 3


SETTINGS = """
[recipe]
model = "hashing:64"

[[tenants]]
name = "acme"
[[tenants.sources]]
name = "docs"
path = "{path}"
acl = ["role:staff"]
"""


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@pytest.mark.slow
def test_serve_runs_the_job_when_it_is_asked_and_leaves_nothing_behind(
    docs: Path, tmp_path: Path
) -> None:
    """On an embedded server, as root not below pytest's own private folder."""
    import httpx

    home = Path(tempfile.mkdtemp(prefix="mucluc-serve-"))
    settings = tmp_path / "nightly jobs" / "company.toml"  # neither here nor by the default name
    settings.parent.mkdir()
    settings.write_text(SETTINGS.format(path=docs))
    port = free_port()
    env = environment(home)
    process = start(
        "serve", "--settings", "nightly jobs/company.toml", "--port", str(port),
        env=env, cwd=tmp_path,
    )  # fmt: skip
    api = f"http://127.0.0.1:{port}/api"
    try:
        deadline = time.monotonic() + PATIENCE
        deployment = None
        while deployment is None and time.monotonic() < deadline:
            assert process.poll() is None, process.communicate()
            with suppress(httpx.HTTPError):
                answer = httpx.get(f"{api}/deployments/name/nightly/nightly", timeout=5)
                deployment = answer.json() if answer.status_code == 200 else None
            time.sleep(0.5)
        assert deployment is not None
        assert deployment["schedules"][0]["schedule"]["cron"] == "0 2 * * *"
        run = httpx.post(
            f"{api}/deployments/{deployment['id']}/create_flow_run", json={}, timeout=30
        ).json()
        state = ""
        while state not in {"COMPLETED", "FAILED", "CRASHED"} and time.monotonic() < deadline:
            time.sleep(1)
            found = httpx.get(f"{api}/flow_runs/{run['id']}", timeout=30).json()
            state = found["state"]["type"]
        assert state == "COMPLETED", found["state"]
        answer = mucluc(
            "search", "ERR_4021", "--tenant", "acme", "--as", "role:staff", "--json",
            "--as-of", NOW.date().isoformat(), "--settings", settings, env=env,
        )  # fmt: skip
        assert last_line(answer)["results"][0]["uri"] == "errors.md"
    finally:
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)
    assert "Traceback" not in err
    assert servers_of(home) == []
    shutil.rmtree(home, ignore_errors=True)


def test_settings_are_shown_without_their_secrets(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MUCLUC_SECRET", "s3cret-of-more-than-thirty-two-bytes!")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-hidden")
    monkeypatch.setenv("DATABASE_URL", "postgresql://mucluc:hunter2@db.example.com/documents")
    found = CliRunner().invoke(app, ["init", "--show"])
    assert found.exit_code == 0
    shown = json.loads(found.stdout)
    assert shown["recipe"]["model"] == "e5"
    assert "db.example.com" in shown["database_url"]
    assert not {"s3cret", "sk-hidden", "hunter2"} & set(re.findall(r"[\w-]+", found.stdout))
    assert not list(tmp_path.iterdir())
