"""Why a document is not among the results: every way of falling out is named, with a way back."""

from __future__ import annotations

import json
import shlex
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import psycopg
import pytest
import yaml
from syncs import TODAY, request, rows, sync
from test_cli import call

from enrich.embedders import load
from flows.cli_errors import Exit
from search.request import NoActiveVersion, NoSuchVersion, RetrievalPolicy, SearchRequest
from search.why import Explanation, explain
from store.database import Store
from store.reader import Reader, Scope

ASKED = SearchRequest(query="annual leave", tenant="acme", principals=("role:staff",), as_of=TODAY)
POLICY = RetrievalPolicy(k=5)


def write(folder: Path, name: str, text: str, **metadata: Any) -> None:
    file = folder / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    if metadata:
        (folder / f"{name}.meta.yaml").write_text(yaml.safe_dump(metadata))


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    folder = tmp_path / "docs"
    write(folder, "hr/leave.md", "# Leave\n\nAnnual leave is fourteen days a year.\n",
          metadata={"department": "hr"}, language="en")  # fmt: skip
    write(
        folder, "hr/pay.md", "# Pay\n\nSalaries are paid monthly.\n", acl=["role:hr", "!role:temp"]
    )
    write(folder, "nobody.md", "# Nobody\n\nAnnual plans.\n", acl=[])
    write(folder, "old.md", "# Old\n\nAnnual leave was twelve days.\n",
          valid_from=date(2025, 1, 1), valid_to=date(2025, 12, 31))  # fmt: skip
    (folder / "broken.docx").write_bytes(b"PK\x03\x04 not a document")
    write(folder, "empty/leave.md", "# Leave elsewhere\n\nForms for leave.\n")
    return folder


@pytest.fixture
def indexed(store: Store, docs: Path) -> Store:
    sync(store, docs)
    return store


def why(store: Store, uri: str, quote: str | None = None, **changes: Any) -> Explanation:
    policy = changes.pop("policy", POLICY)
    more = {name: changes.pop(name) for name in ("reranker",) if name in changes}
    return explain(store, replace(ASKED, **changes), policy, load, uri, quote, **more)


def out(found: Explanation) -> str:
    assert not found.shown and found.fell_out is not None
    assert found.fell_out.says
    return found.fell_out.name


def test_what_is_found_says_its_place_and_every_rank(indexed: Store) -> None:
    found = why(indexed, "hr/leave.md", "FOURTEEN  days")
    assert found.shown and found.rank == 1 and found.fell_out is None
    assert all(check.holds in (True, None) for check in found.checks)
    assert found.ranks["text"] == 1 and found.ranks["fused"] == 1 and found.ranks["dense"]
    json.dumps(found.to_json())


def test_a_name_may_be_the_end_of_a_uri_and_twins_of_name_are_listed(indexed: Store) -> None:
    found = why(indexed, "leave.md", "fourteen")
    assert found.uri == "hr/leave.md" and found.others == ("empty/leave.md",)
    assert why(indexed, "eave.md").uri is None, "whole names only"


def test_what_is_not_there_suggests_the_nearest_names_of_the_tenant(indexed: Store) -> None:
    found = why(indexed, "hr/leaves.md")
    assert out(found) == "document"
    assert found.suggestions[0] == "hr/leave.md"
    other = why(indexed, "leaves.md", tenant="globex")
    assert other.suggestions == ()


def test_a_deleted_document(indexed: Store, docs: Path) -> None:
    (docs / "hr/pay.md").unlink()
    sync(indexed, docs)
    found = why(indexed, "hr/pay.md", principals=("role:hr",))
    assert out(found) == "not_deleted"
    assert "mucluc sync --tenant acme --source docs" in found.fell_out.brings_back[0]  # type: ignore[union-attr]


def test_an_erased_document_says_no_more_than_that(indexed: Store) -> None:
    from uuid import uuid4

    from store.keys import key_id
    from store.places import keyed_hash

    erasure, key = uuid4(), indexed.keys.tombstone
    with indexed.transaction() as connection:
        connection.execute("insert into mucluc.erasure (id, tenant, requester, reason)"
                           " values (%s, 'acme', 'dpo', 'x')", [erasure])  # fmt: skip
        connection.execute(
            "insert into mucluc.tombstone (tenant, kind, key_id, hash, erasure_id)"
            " values ('acme', 'uri', %s, %s, %s)",
            [key_id(key), keyed_hash(key, "acme", "uri", b"gone.md"), erasure],
        )
    found = why(indexed, "gone.md")
    assert out(found) == "document" and "erased" in found.checks[0].says
    assert found.fell_out.brings_back == ()  # type: ignore[union-attr]


def test_a_quarantined_document(indexed: Store) -> None:
    found = why(indexed, "broken.docx")
    assert out(found) == "readable"
    assert "quarantine" in found.fell_out.says  # type: ignore[union-attr]


def test_an_earlier_revision_beside_a_quarantined_one_is_searched(
    indexed: Store, docs: Path
) -> None:
    (docs / "hr/leave.md").write_bytes(b"\xff\xfe\x00\xd8" * 8)
    sync(indexed, docs)
    statement = (
        "select q.reason from mucluc.document d left join mucluc.quarantine q"
        " on q.document_id = d.id where d.uri = 'hr/leave.md'"
    )
    (row,) = rows(indexed, statement)
    found = why(indexed, "hr/leave.md")
    (check,) = [c for c in found.checks if c.name == "readable"]
    assert check.holds and ("earlier revision" in check.says) == (row["reason"] is not None)


def test_a_document_in_another_index(indexed: Store, docs: Path) -> None:
    with pytest.raises(NoActiveVersion):
        why(indexed, "hr/leave.md", index="other")
    with pytest.raises(NoSuchVersion):
        why(indexed, "hr/leave.md", version="v9")
    write(docs.with_name("more"), "note.md", "# Note\n\nOther words.\n")
    asked = request(docs.with_name("more"), source="more")
    sync(indexed, docs.with_name("more"), source="more")
    assert asked.tenant == "acme"
    with indexed.transaction() as connection:
        connection.execute("delete from mucluc.published p using mucluc.document d"
                           " where d.id = p.document_id and d.uri = 'note.md'")  # fmt: skip
    found = why(indexed, "note.md")
    assert out(found) == "in_version"
    assert "no version" in found.fell_out.says  # type: ignore[union-attr]


def test_a_document_without_an_acl_and_one_for_others(indexed: Store) -> None:
    assert out(why(indexed, "nobody.md")) == "has_acl"
    found = why(indexed, "pay.md")
    assert out(found) == "visible"
    assert "role:hr" in found.fell_out.says  # type: ignore[union-attr]
    assert "--as role:hr" in found.fell_out.brings_back[0]  # type: ignore[union-attr]
    denied = why(indexed, "pay.md", principals=("role:hr", "role:temp"))
    assert out(denied) == "visible" and "denied" in denied.fell_out.says  # type: ignore[union-attr]
    assert why(indexed, "pay.md", query="salaries", principals=("role:hr",)).shown


def test_a_document_of_another_day(indexed: Store) -> None:
    found = why(indexed, "old.md")
    assert out(found) == "valid"
    assert "2025-01-01 to 2025-12-31" in found.fell_out.says  # type: ignore[union-attr]
    assert "--as-of 2025-12-31" in found.fell_out.brings_back[0]  # type: ignore[union-attr]
    assert why(indexed, "old.md", as_of=date(2025, 12, 31)).shown


@pytest.mark.parametrize(
    "scope",
    [
        Scope(collections=("hr",)),
        Scope(sources=("mail",)),
        Scope(languages=("vi",)),
        Scope(metadata={"department": ("it", "sales")}),
    ],
)
def test_a_filter_that_leaves_it_out(indexed: Store, scope: Scope) -> None:
    assert out(why(indexed, "hr/leave.md", scope=scope)) == "filters"


def test_days_that_the_revision_does_not_meet(indexed: Store) -> None:
    asked = {"as_of": date(2025, 6, 1)}
    for scope in (Scope(holds_from=date(2026, 1, 1)), Scope(holds_to=date(2024, 12, 31))):
        assert out(why(indexed, "old.md", scope=scope, **asked)) == "filters"


def test_a_kind_quoted_words_or_a_minus_that_leave_its_chunk_out(indexed: Store) -> None:
    assert out(why(indexed, "hr/leave.md", scope=Scope(kinds=("table",)))) == "chunk_filters"
    asked = Scope(phrases=("days annual",))
    assert out(why(indexed, "hr/leave.md", scope=asked)) == "chunk_filters"
    assert why(indexed, "hr/leave.md", query="annual leave -four").shown, "whole words"
    found = why(indexed, "hr/leave.md", query="annual leave -fourteen")
    assert out(found) == "chunk_filters"
    assert "minus" in found.fell_out.says  # type: ignore[union-attr]


def test_quoted_words_that_others_hold_or_nobody(
    indexed: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    policy = replace(POLICY, dense=False)
    whole = Reader.text
    kept: list[str] = ["old.md"]

    def text(reader: Reader, version: int, question: str, k: int, scope: Scope) -> list[Any]:
        found = whole(reader, version, question, k, replace(scope, phrases=()))
        shown = reader.read(version, [row["chunk_id"] for row in found])
        return [r for r in found if not scope.phrases or shown[r["chunk_id"]]["uri"] in kept]

    monkeypatch.setattr(Reader, "text", text)
    asked = {"query": '"days annual" leave and its forms in the year', "policy": policy}
    found = why(indexed, "hr/leave.md", **asked)
    assert found.shown, "nobody holds them, so they are words"
    assert [c.holds for c in found.checks if c.name == "quoted_words"] == [False]
    kept[:] = ["empty/leave.md"]
    assert out(why(indexed, "hr/leave.md", **asked)) == "quoted_words"


def test_chunks_that_are_not_in_the_index(indexed: Store) -> None:
    with indexed.transaction() as connection:
        connection.execute("delete from mucluc.entry e using mucluc.document d"
                           " where d.id = e.document_id and d.uri = 'hr/leave.md'")  # fmt: skip
    assert out(why(indexed, "hr/leave.md")) == "chunks"


def test_words_that_no_chunk_holds_or_another_revision_does(indexed: Store, docs: Path) -> None:
    found = why(indexed, "hr/leave.md", "leave is twenty days")
    assert out(found) == "quote" and "nearest is chunk 1 of 1" in found.fell_out.says  # type: ignore[union-attr]
    write(docs, "hr/leave.md", "# Leave\n\nAnnual leave is sixteen days a year.\n",
          valid_from=date(2027, 1, 1), language="en")  # fmt: skip
    sync(indexed, docs)
    found = why(indexed, "hr/leave.md", "sixteen days")
    assert out(found) == "quote"
    assert "--as-of 2027-01-01" in found.fell_out.brings_back[0]  # type: ignore[union-attr]
    assert why(indexed, "hr/leave.md", "sixteen days", as_of=date(2027, 1, 1)).shown


def test_what_no_retriever_has_among_its_best(indexed: Store) -> None:
    policy = replace(POLICY, dense=False)
    found = why(indexed, "hr/leave.md", query="tigers", policy=policy)
    assert out(found) == "candidate"
    assert found.ranks["text"] is None and found.ranks["shown"] is None


def test_what_is_below_the_first_k(indexed: Store) -> None:
    found = why(indexed, "empty/leave.md", query="annual fourteen", policy=replace(POLICY, k=1))
    assert out(found) == "shown"
    assert found.ranks["fused"] and found.ranks["fused"] > 1
    assert "--k" in found.fell_out.brings_back[0]  # type: ignore[union-attr]


def test_what_another_chunk_stands_for(indexed: Store, docs: Path) -> None:
    write(docs, "copy of leave.md", (docs / "hr/leave.md").read_text())
    sync(indexed, docs)
    found = [why(indexed, uri) for uri in ("hr/leave.md", "copy of leave.md")]
    assert sorted(f.shown for f in found) == [False, True]
    hidden = next(f for f in found if not f.shown)
    assert out(hidden) == "not_a_twin" and "result 1" in hidden.fell_out.says  # type: ignore[union-attr]


def test_what_a_reranker_puts_below(indexed: Store) -> None:
    class Shortest:
        def score(self, query: str, texts: list[str]) -> list[float]:
            return [-float("fourteen" in text) for text in texts]

    policy = replace(POLICY, k=1)
    assert why(indexed, "hr/leave.md", policy=policy).shown
    found = why(indexed, "hr/leave.md", policy=policy, reranker=Shortest())
    assert out(found) == "reranked"


# --- the command ----------------------------------------------------------------------------------


def test_the_command_ends_with_0_or_5_and_its_remedy_works(
    here: dict[str, str],
    indexed: Store,
) -> None:
    asked = ("annual leave", "--tenant", "acme", "--as-of", TODAY.isoformat())
    done = call("why", *asked, "--as", "role:staff", "--expect", "hr/leave.md#fourteen days")
    assert done.exit_code == Exit.DONE, done.output
    assert "It is result 1" in done.output and "✗" not in done.output
    done = call("why", *asked, "--as", "role:staff", "--expect", "old.md", "--json")
    assert done.exit_code == Exit.NOT_SHOWN == 6
    found = json.loads(done.stdout)
    assert (found["fell_out"], found["shown"], found["rank"]) == ("valid", False, None)
    command = shlex.split(found["brings_back"][0])
    again = call(*command[1:], "--json")
    assert "old.md" in {r["uri"] for r in json.loads(again.stdout)["results"]}
    done = call("why", *asked, "--expect", "hr/leave.md")
    assert done.exit_code == 6 and "✗" in done.output and "role:staff" in done.output
    assert call("why", *asked, "--expect", "#words").exit_code == 2


def test_without_the_operators_rights_the_command_tells_nothing(
    here: dict[str, str],
    indexed: Store,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A login that may only become the reader."""
    with psycopg.connect(indexed.url, autocommit=True) as connection:
        connection.execute("drop role if exists only_reads")
        connection.execute("create role only_reads login")
        connection.execute("grant mucluc_reader to only_reads with inherit true")
    monkeypatch.setenv("DATABASE_URL", indexed.url.replace("postgres@", "only_reads@"))
    done = call("why", "annual leave", "--tenant", "acme", "--expect", "pay.md", "--json")
    assert done.exit_code == 1, done.output
    assert done.stdout == "" and "role of DATABASE_URL" in " ".join(done.output.split())
    assert "hr" not in done.output and "Traceback" not in done.output

    from store.errors import StoreError
    from store.explaining import find_documents

    limited = replace(indexed, pool=_pool(indexed, "only_reads"))
    try:
        with pytest.raises(StoreError, match="42501"):
            find_documents(limited, "acme", "pay.md")
    finally:
        limited.pool.close()


def _pool(store: Store, role: str) -> Any:
    from psycopg.rows import dict_row
    from psycopg_pool import ConnectionPool

    url = store.url.replace("postgres@", f"{role}@")
    return ConnectionPool(url, min_size=1, max_size=1, kwargs={"row_factory": dict_row}, open=True)
