"""The database contract: it installs, every statement prepares against it, and it refuses."""

from __future__ import annotations

import re
from datetime import date

import psycopg
import pytest
from psycopg import sql

from store import embedded
from store.database import Store
from store.errors import DatabaseUnusable
from store.install import install
from store.sql import queries

PLACEHOLDER = re.compile(r"%\((\w+)\)s")


@pytest.mark.parametrize("name", sorted(queries()))
def test_every_statement_prepares_against_a_fresh_schema(store: Store, name: str) -> None:
    text = queries()[name]
    names = list(dict.fromkeys(PLACEHOLDER.findall(text)))
    numbered = PLACEHOLDER.sub(lambda m: f"${names.index(m[1]) + 1}", text).replace("%%", "%")
    body = "\n".join(line for line in numbered.splitlines() if not line.startswith("--"))
    with store.pool.connection() as connection:
        if name == "memo_from_stage":
            connection.execute("create temp table incoming (key bytea, embedding public.vector)")
        if body.lstrip().startswith("begin"):
            connection.autocommit = True
            connection.execute(body)  # three statements, of which two cannot be prepared
            connection.execute("rollback")
            connection.autocommit = False
        elif body.lstrip().startswith(("set ", "lock table")):
            connection.execute(body)  # no utility statement can be prepared
        else:
            connection.execute(f"prepare statement_under_test as {body}")  # type: ignore[arg-type]


def test_a_second_start_changes_nothing_and_a_newer_schema_is_refused(database: str) -> None:
    install(database)
    with psycopg.connect(database) as connection:
        connection.execute("insert into mucluc.schema_version (version) values (9999)")
    with pytest.raises(DatabaseUnusable, match="9999"):
        install(database)


def test_a_role_that_may_not_create_roles_is_told_what_to_ask_for(server: str) -> None:
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute("drop database if exists lowly_db")
        connection.execute("drop role if exists lowly")
        connection.execute("create role lowly login")
        connection.execute("create database lowly_db owner lowly")
    url = embedded.beside(server, "lowly_db").replace("//postgres", "//lowly")
    with pytest.raises(DatabaseUnusable, match='ALTER ROLE "lowly" CREATEROLE'):
        install(url)


def test_an_owner_who_is_no_superuser_can_install_once_the_extension_is_there(server: str) -> None:
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute("drop database if exists owned_db")
        connection.execute("drop role if exists modest")
        connection.execute("create role modest login createrole")
        connection.execute("create database owned_db owner modest")
        # Made by a superuser before: mucluc's roles belong to the whole server.
        connection.execute("grant mucluc_search, mucluc_reader to modest with admin option")
    admin = embedded.beside(server, "owned_db")
    url = admin.replace("//postgres", "//modest")
    with pytest.raises(DatabaseUnusable, match="CREATE EXTENSION vector"):
        install(url)
    with psycopg.connect(admin) as connection:
        connection.execute("create extension vector schema public")
    install(url)
    with psycopg.connect(url) as connection:
        assert connection.execute("select max(version) from mucluc.schema_version").fetchone()


def test_a_database_that_is_not_there_is_said_in_words(server: str) -> None:
    with pytest.raises(DatabaseUnusable, match="does not answer"):
        install(embedded.beside(server, "nowhere"))


def test_i6_a_recipe_never_changes(store: Store) -> None:
    with store.pool.connection() as connection:
        connection.execute(
            "insert into mucluc.index_version (index_name, name, recipe, chunking_id, context_id,"
            " model, dimensions) values ('main', 'v1', '{}', 'c', 'x', 'm', 3)"
        )
        connection.execute("update mucluc.index_version set state = 'ready'")
        with pytest.raises(psycopg.Error) as refused:
            connection.execute("update mucluc.index_version set model = 'other'")
        assert refused.value.sqlstate == "MU002"


def test_i11_an_alias_needs_passed_gates_or_a_reason(store: Store) -> None:
    with store.pool.connection() as connection, pytest.raises(psycopg.errors.CheckViolation):
        connection.execute(
            "insert into mucluc.promotion (index_name, alias, to_version, kind, gates, passed)"
            " values ('main', 'active', 1, 'promote', '{}', false)"
        )


def test_i9_no_statistics_are_kept_of_words_names_and_vectors(store: Store) -> None:
    with store.pool.connection() as connection:
        connection.execute(
            "insert into mucluc.index_version (index_name, name, recipe, chunking_id, context_id,"
            " model, dimensions) values ('main', 'v1', '{}', 'c', 'x', 'm', 3)"
        )
        connection.execute("select mucluc.open_partition(1)")
        rows = connection.execute(
            "select c.relname as relation, a.attname as column from pg_attribute a"
            " join pg_class c on c.oid = a.attrelid"
            " join pg_type t on t.oid = a.atttypid"
            " where c.relnamespace = 'mucluc'::regnamespace and c.relkind in ('r', 'p')"
            " and a.attnum > 0 and coalesce(a.attstattarget, -1) <> 0"
            " and (t.typname in ('halfvec', 'vector', 'tsvector', 'jsonb')"
            "      or a.attname in ('text', 'title', 'uri', 'prefix', 'heading_path', 'hint',"
            "                     'query', 'quote'))"
        ).fetchall()
    kept = {(row["relation"], row["column"]) for row in rows}
    # The partitioned parents hold no rows of their own; recipes and gates hold no document.
    assert kept <= {
        ("index_version", "recipe"),
        ("promotion", "gates"),
        ("entry_1", "embedding"),
        ("entry_1", "tsv"),
    }


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("Nhân viên được nghỉ phép năm", "nghi phep"),
        ("Nhân viên được nghỉ phép năm", "NGHỈ PHÉP"),
        ("hoà giải", "hòa giải"),
        ("Lỗi ERR_4021 khi gọi", "err_4021"),
        ("giá GIA-2026-10 là 8.500.000 đồng", "8.500.000"),
        ("mã BH-01", "bh-01"),
        ("version v1.2.3", "v1.2.3"),
        ("the policies were changed", "policy changes"),
        ("Đơn đặt hàng", "don dat hang"),
        ("Call setWebhookSecret before DiffExecutor.run", "diff executor, webhook secret"),
        ("Call setWebhookSecret before DiffExecutor.run", "DiffExecutor setwebhooksecret"),
    ],
)
def test_every_lexeme_of_what_people_type_is_in_the_document(
    store: Store, text: str, query: str
) -> None:
    with store.pool.connection() as connection:
        row = connection.execute(
            "select tsvector_to_array(mucluc.lexemes(%s)) <@ tsvector_to_array(mucluc.lexemes(%s))"
            " as within",
            [query, text],
        ).fetchone()
    assert row is not None and row["within"]


def test_nfd_text_has_the_lexemes_of_nfc_text(store: Store) -> None:
    import unicodedata

    text = "Điều khoản bảo hành thiết bị"
    with store.pool.connection() as connection:
        row = connection.execute(
            "select mucluc.lexemes(%s) = mucluc.lexemes(%s) as same",
            [text, unicodedata.normalize("NFD", text)],
        ).fetchone()
    assert row is not None and row["same"]


@pytest.mark.parametrize(
    ("revisions", "expected"),
    [
        # (stated_from, stated_to, seen_on) -> effective [from, to)
        ([(None, None, "2026-01-05")], [(None, None)]),
        (
            [(None, None, "2026-01-05"), (None, None, "2026-03-01")],
            [(None, "2026-03-01"), ("2026-03-01", None)],
        ),
        (
            [("2025-01-01", "2025-12-31", "2025-01-01"), ("2026-01-01", None, "2025-12-20")],
            [("2025-01-01", "2026-01-01"), ("2026-01-01", None)],
        ),
        # A to B to A on one day: only the last shows.
        (
            [(None, None, "2026-01-05"), (None, None, "2026-01-06"), (None, None, "2026-01-06")],
            [(None, "2026-01-06"), "empty", ("2026-01-06", None)],
        ),
        # A price list that expires leaves a gap and gives nothing back.
        (
            [
                ("2026-10-01", "2026-10-31", "2026-09-28"),
                ("2026-12-01", "2026-12-31", "2026-11-28"),
            ],
            [("2026-10-01", "2026-11-01"), ("2026-12-01", "2027-01-01")],
        ),
        # Of equal starts the later revision wins.
        (
            [("2026-01-01", None, "2026-01-01"), ("2026-01-01", None, "2026-01-02")],
            ["empty", ("2026-01-01", None)],
        ),
    ],
)
def test_effective_ranges_follow_from_what_is_stated_and_seen(
    store: Store, revisions: list, expected: list
) -> None:
    with store.pool.connection() as connection:
        connection.execute(
            "insert into mucluc.index_version (index_name, name, recipe, chunking_id, context_id,"
            " model, dimensions) values ('main', 'v1', '{}', 'c', 'x', 'm', 3)"
        )
        document = connection.execute(
            "insert into mucluc.document (id, tenant, source, uri) values"
            " (gen_random_uuid(), 't', 's', 'u') returning id"
        ).fetchone()["id"]  # type: ignore[index]
        # Published in the opposite order: the ranges do not depend on it.
        for sequence, (start, stop, seen) in reversed(list(enumerate(revisions, start=1))):
            connection.execute(
                sql.SQL(
                    "with r as (insert into mucluc.revision (id, document_id, sequence,"
                    " content_sha256, raw_sha256, metadata_sha256, suffix, bytes, stated_from,"
                    " stated_to, seen_on) values (gen_random_uuid(), %s, %s, '', '', '', '.md', 1,"
                    " %s, %s, %s) returning id)"
                    " insert into mucluc.published (version_id, revision_id, document_id, cut_id,"
                    " n_chunks) select 1, id, %s, 'c', 1 from r"
                ),
                [document, sequence, start, stop, seen, document],
            )
            connection.execute("select mucluc.refresh_validity(array[%s]::uuid[])", [document])
        rows = connection.execute(
            "select isempty(p.valid) as empty, lower(p.valid) as start, upper(p.valid) as stop"
            " from mucluc.published p join mucluc.revision r on r.id = p.revision_id"
            " order by r.sequence"
        ).fetchall()
    found = ["empty" if r["empty"] else (r["start"], r["stop"]) for r in rows]
    wanted = [
        e if e == "empty" else tuple(None if d is None else date.fromisoformat(d) for d in e)
        for e in expected
    ]
    assert found == wanted
