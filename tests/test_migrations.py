"""An older database, migrated, is what a fresh one is; and its rows are what they would be there."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from store import embedded
from store.install import install, migrations, schema_version
from store.sql import SCHEMA

BASELINE = Path(__file__).parent / "data" / "schema_0001.sql"

# What a database is, without its rows and object numbers. Lists of rights are sorted; a column's
# place is left out, since a migration can add one at the end only.
CATALOGS = {
    "relations": """
        select c.relname, c.relkind, c.relrowsecurity, c.relforcerowsecurity, c.reloptions,
               pg_get_userbyid(c.relowner), pg_get_partkeydef(c.oid),
               array(select a::text from unnest(c.relacl) a order by 1)
        from pg_class c where c.relnamespace = 'mucluc'::regnamespace and c.relkind <> 'i'""",
    "columns": """
        select c.relname, a.attname, format_type(a.atttypid, a.atttypmod), a.attnotnull,
               pg_get_expr(d.adbin, d.adrelid), a.attidentity, a.attgenerated, a.attcollation,
               a.attstorage, a.attcompression, coalesce(a.attstattarget, -1),
               array(select x::text from unnest(a.attacl) x order by 1)
        from pg_attribute a join pg_class c on c.oid = a.attrelid
        left join pg_attrdef d on d.adrelid = a.attrelid and d.adnum = a.attnum
        where c.relnamespace = 'mucluc'::regnamespace and a.attnum > 0 and not a.attisdropped""",
    "indexes": """
        select c.relname, pg_get_indexdef(c.oid), i.indisvalid, i.indisunique, i.indisclustered
        from pg_index i join pg_class c on c.oid = i.indexrelid
        where c.relnamespace = 'mucluc'::regnamespace""",
    "constraints": """
        select conrelid::regclass::text, conname, contype, pg_get_constraintdef(oid), convalidated
        from pg_constraint where connamespace = 'mucluc'::regnamespace""",
    "functions": """
        select p.oid::regprocedure::text, p.prokind, pg_get_functiondef(p.oid),
               pg_get_userbyid(p.proowner),
               array(select a::text from unnest(p.proacl) a order by 1)
        from pg_proc p where p.pronamespace = 'mucluc'::regnamespace""",
    "triggers": """
        select pg_get_triggerdef(t.oid), t.tgenabled from pg_trigger t
        join pg_class c on c.oid = t.tgrelid
        where c.relnamespace = 'mucluc'::regnamespace and not t.tgisinternal""",
    "policies": """
        select tablename, policyname, permissive, roles::text, cmd, qual, with_check
        from pg_policies where schemaname = 'mucluc'""",
    "types": """
        select t.typname, t.typtype, pg_get_userbyid(t.typowner), t.typacl::text
        from pg_type t where t.typnamespace = 'mucluc'::regnamespace""",
    "text search": """
        select c.cfgname, pg_get_userbyid(c.cfgowner), m.maptokentype, m.mapseqno,
               m.mapdict::regdictionary::text
        from pg_ts_config c join pg_ts_config_map m on m.mapcfg = c.oid
        where c.cfgnamespace = 'mucluc'::regnamespace""",
    "dictionaries": """
        select dictname, dictinitoption from pg_ts_dict
        where dictnamespace = 'mucluc'::regnamespace""",
    "schema": """
        select nspname, pg_get_userbyid(nspowner), array(select a::text from unnest(nspacl) a
        order by 1) from pg_namespace where nspname = 'mucluc'""",
}

# One document with one entry in a version, as version 1 wrote it: its code is not yet folded.
ROWS = """
set local search_path = mucluc, public, pg_temp;
insert into index_version (index_name, name, recipe, chunking_id, context_id, model, dimensions,
                           state)
values ('main', 'v1', '{}', 'c', 'x', 'm', 3, 'ready');
select open_partition(1);
create index entry_1_0_hnsw on entry_1_0 using hnsw ((embedding::halfvec(3)) halfvec_cosine_ops)
  where hot;
create index entry_1_0_gin on entry_1_0 using gin (tsv);
insert into acl_set (tenant, principals) values ('t', '{role:a}');
insert into document (id, tenant, source, uri, acl_id)
values (md5('d')::uuid, 't', 's', 'u', 1);
insert into revision (id, document_id, sequence, content_sha256, raw_sha256, metadata_sha256,
                      suffix, bytes, seen_on)
values (md5('r')::uuid, md5('d')::uuid, 1, '', '', '', '.md', 1, '2026-01-01');
insert into chunk (id, document_id, heading_path, text, kinds, tokens)
select md5('c' || n)::uuid, md5('d')::uuid, '{}', t, '{text}', 5
from unnest(array['Hợp đồng HĐK-2026-017', 'Not touched']) with ordinality x(t, n);
insert into revision_chunk (revision_id, cut_id, ordinal, chunk_id, char_start, char_end)
select md5('r')::uuid, 'cut', row_number() over (), id, 0, 1 from chunk;
insert into context (chunk_id, context_id, input_sha256, prefix, tokens, embedding_key)
select id, 'x', 'i', 'Title', 5, 'k' from chunk;
insert into entry (chunk_id, version_id, tenant, document_id, embedding, tsv, len, input_sha256)
select id, 1, 't', document_id, '[1,0,0]', l, lexeme_count(l), 'i'
from chunk, lexemes(E'Title\\n' || text) l;
insert into version_stat values (1, 't', 0, 2, 9, false), (1, 'other', 0, 0, 0, false);
insert into published (version_id, revision_id, document_id, cut_id, n_chunks)
values (1, md5('r')::uuid, md5('d')::uuid, 'cut', 2);
select refresh_validity(array[md5('d')::uuid]);
"""


@pytest.fixture
def old(server: str) -> Iterator[str]:
    """URL of a database as the first schema made it, with rows."""
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute("drop database if exists migrated with (force)")
        connection.execute("create database migrated")
    url = embedded.beside(server, "migrated")
    _make_old(url)
    yield url
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute("drop database if exists migrated with (force)")


def _make_old(url: str) -> None:
    with psycopg.connect(url) as connection:
        connection.execute(BASELINE.read_text(encoding="utf-8"))  # type: ignore[arg-type]
    with psycopg.connect(url) as connection:
        connection.execute(ROWS)


def catalogs(url: str) -> dict[str, list[str]]:
    """Every object of the schema; partitions and what hangs on them left out."""
    with psycopg.connect(url) as connection:
        found = {
            name: sorted(map(repr, connection.execute(statement).fetchall()))  # type: ignore[arg-type]
            for name, statement in CATALOGS.items()
        }
    return {
        name: [row for row in rows if not re.search(r"\bentry_\d|_entry_\d", row)]
        for name, rows in found.items()
    }


def one(url: str, statement: str) -> Any:
    with psycopg.connect(url) as connection:
        row = connection.execute(statement).fetchone()  # type: ignore[arg-type]
    assert row is not None
    return row[0] if len(row) == 1 else row


def test_a_migrated_database_is_a_fresh_one(old: str, database: str) -> None:
    install(old)
    migrated, fresh = catalogs(old), catalogs(database)
    assert all(fresh[name] for name in CATALOGS)
    for name, wanted in fresh.items():
        assert migrated[name] == wanted, name


def test_each_migration_is_recorded_and_runs_once(old: str) -> None:
    install(old)
    versions = "select array_agg(version order by version) from mucluc.schema_version"
    assert one(old, versions) == [1, *migrations()]
    install(old)
    assert one(old, versions) == [1, *migrations()]


def test_a_fresh_database_states_the_newest_version_and_runs_no_migration(database: str) -> None:
    assert one(database, "select array_agg(version) from mucluc.schema_version") == [
        schema_version()
    ]


def test_versions_of_the_schema_have_no_gap() -> None:
    assert list(migrations()) == list(range(2, schema_version() + 1))
    stated = re.search(
        r"insert into schema_version \(version\) values \((\d+)\)", SCHEMA.read_text()
    )
    assert stated is not None and int(stated[1]) == schema_version()


def test_entries_have_the_lexemes_that_they_would_get_today(old: str) -> None:
    untouched = "select xmin::text from mucluc.entry where chunk_id = md5('c2')::uuid"
    before = one(old, untouched)
    install(old)
    assert one(
        old,
        "select bool_and(e.tsv = mucluc.entry_lexemes('Title', null, '{}', c.text)"
        " and e.len = mucluc.lexeme_count(e.tsv))"
        " from mucluc.entry e join mucluc.chunk c on c.id = e.chunk_id",
    )
    assert one(
        old,
        "select 'hdk-2026-017' = any(tsvector_to_array(tsv)) from mucluc.entry"
        " where chunk_id = md5('c1')::uuid",
    )
    assert one(old, untouched) == before
    stale = "select array_agg(tenant) from mucluc.version_stat where stale"
    assert sorted(one(old, stale)) == ["other", "t"]


def test_an_owner_who_is_no_superuser_can_migrate(server: str) -> None:
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute("drop database if exists migrated_by_owner with (force)")
        connection.execute("drop role if exists migrator")
        connection.execute("create role migrator login createrole")
        connection.execute("create database migrated_by_owner owner migrator")
        connection.execute("grant mucluc_search, mucluc_reader to migrator with admin option")
    admin = embedded.beside(server, "migrated_by_owner")
    with psycopg.connect(admin) as connection:
        connection.execute("create extension vector schema public")
    url = admin.replace("//postgres", "//migrator")
    _make_old(url)
    install(url)
    assert one(url, "select max(version) from mucluc.schema_version") == schema_version()
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute("drop database migrated_by_owner with (force)")
        connection.execute("drop role migrator")
