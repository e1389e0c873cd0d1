"""I5, attacked: what somebody with SQL and the reader's rights tries, and does not get.

The attacker's login is a member of mucluc_reader and nothing else. The pipeline's own login is
no measure: a superuser who did SET ROLE can always RESET ROLE (docs/security.md).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

import psycopg
import pytest
import worlds
from worlds import Asker, Document, Revision, World

from store import embedded
from store.reader import sign

KEY = b"the identity key of these tests.."
TODAY = date(2026, 1, 5)
STAFF = Asker("acme", ("role:staff",), TODAY)
HR = Asker("acme", ("role:staff", "role:hr"), TODAY)
READABLE = ("document", "revision", "published", "revision_chunk", "chunk", "entry")


def _document(
    number: int,
    acl: tuple[str, ...] | None,
    *,
    tenant: str = "acme",
    deleted: bool = False,
    slots: tuple[int, ...] = (worlds.MAIN,),
    until: date | None = None,
) -> Document:
    revision = Revision(
        sequence=1,
        stated_from=None,
        stated_to=until,
        seen_on=date(2026, 1, 1),
        chunks=(0, 1),
        slots=frozenset(slots),
    )
    return Document(
        number=number,
        tenant=tenant,
        collection="default",
        acl=acl,
        deleted=deleted,
        place=number,
        revisions=(revision,),
    )


WORLD = World(
    (
        _document(1, ("role:staff",)),
        _document(2, ("role:hr",)),
        _document(3, ("role:staff",), tenant="globex"),
        _document(4, ("role:staff",), deleted=True),
        _document(5, ("role:staff",), until=date(2026, 1, 3)),
        _document(6, ("role:staff",), slots=(worlds.BUILDING,)),
        _document(7, None),
        _document(8, ()),
        _document(9, ("role:staff", "!role:staff")),
    ),
    frozenset({worlds.MAIN}),
)
VISIBLE, *HIDDEN = WORLD.documents


@dataclass(frozen=True, slots=True)
class Ground:
    """Where the attack takes place."""

    owner: str  # URL as the pipeline
    attacker: str  # URL as the attacker
    versions: tuple[int, ...]


@pytest.fixture(scope="module")
def ground(server: str) -> Iterator[Ground]:
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute("drop database if exists attacked with (force)")
        connection.execute("create database attacked template fresh")
        connection.execute("drop role if exists attacker")
        connection.execute("create role attacker login nosuperuser in role mucluc_reader")
    url = embedded.beside(server, "attacked")
    with psycopg.connect(url) as connection:
        connection.execute("insert into mucluc.signing_key values ('k', %s)", [KEY])
        versions = worlds.open_versions(connection)
        worlds.write(connection, WORLD, versions)
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("analyze")
    yield Ground(url, url.replace("//postgres", "//attacker"), tuple(versions))
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute("drop database if exists attacked with (force)")


@contextmanager
def attacking(ground: Ground) -> Iterator[psycopg.Connection[Any]]:
    with psycopg.connect(ground.attacker) as connection:
        yield connection
        connection.rollback()


def payload_for(connection: psycopg.Connection[Any], asker: Asker, **changes: Any) -> str:
    row = connection.execute("select mucluc.challenge()").fetchone()
    assert row is not None
    values = {
        "tenant": asker.tenant,
        "principals": list(asker.principals),
        "as_of": asker.as_of.isoformat(),
        "challenge": row[0],
    }
    return json.dumps({**values, **changes})


def identify(connection: psycopg.Connection[Any], asker: Asker) -> tuple[str, str]:
    """What the application does for an asker, in the transaction that the asker then uses."""
    payload = payload_for(connection, asker)
    signature = sign(KEY, payload)
    connection.execute("select mucluc.identify(%s, %s)", [payload, signature])
    return payload, signature


def set_by_hand(connection: psycopg.Connection[Any], payload: str, signature: str) -> None:
    connection.execute("select set_config('mucluc.identity', %s, false)", [payload])
    connection.execute("select set_config('mucluc.signature', %s, false)", [signature])


def everything(connection: psycopg.Connection[Any], ground: Ground) -> str:
    """All that comes out by every granted way, as one text."""
    ids = [
        d.chunk_id(n, cut) for d in WORLD.documents for n in (0, 1) for cut in worlds.CUTS.values()
    ]
    out = []
    for table in READABLE:
        out += connection.execute(f"select t::text from mucluc.{table} t").fetchall()  # type: ignore[arg-type]
    for version in ground.versions:
        out += connection.execute(
            "select chunk_id::text from mucluc.search_dense(%s, 'model', '[1,0,0,0,0,0,0,0]', 100)",
            [version],
        ).fetchall()
        out += connection.execute(
            "select chunk_id::text from mucluc.search_text(%s, %s, 100)",
            [version, " ".join([worlds.COMMON, *(d.mark for d in WORLD.documents)])],
        ).fetchall()
        out += connection.execute(
            "select r::text from mucluc.read_chunks(%s, %s::uuid[]) r", [version, ids]
        ).fetchall()
    return "\n".join(row[0] for row in out)


def traces(document: Document) -> list[str]:
    return [
        document.mark,
        str(document.id),
        *(str(document.chunk_id(n, cut)) for n in (0, 1) for cut in worlds.CUTS.values()),
    ]


def assert_hidden(text: str, documents: tuple[Document, ...] = tuple(HIDDEN)) -> None:
    for document in documents:
        for trace in traces(document):
            assert trace not in text, f"document {document.number} came out"


# What the building version shows is under the same filter: document 6 may be read by staff.
NEVER = tuple(d for d in HIDDEN if d.number != 6)


def test_the_attacker_sees_what_its_identity_may_so_that_nothing_here_passes_by_being_empty(
    ground: Ground,
) -> None:
    with attacking(ground) as connection:
        identify(connection, STAFF)
        out = everything(connection, ground)
        assert VISIBLE.mark in out and str(VISIBLE.chunk_id(1, "cut one")) in out
        assert_hidden(out, NEVER)
        raw = "\n".join(
            row[0] for row in connection.execute("select t::text from mucluc.entry t").fetchall()
        )
        assert_hidden(raw)
        connection.rollback()
        identify(connection, HR)
        assert HIDDEN[0].mark in everything(connection, ground)


def test_without_an_identity_nothing_comes_out(ground: Ground) -> None:
    with attacking(ground) as connection:
        assert everything(connection, ground) == ""
        assert connection.execute("select mucluc.my_acls(), mucluc.me()").fetchone() == ([], None)


@pytest.mark.parametrize("signature", ["", "00", "0" * 64, "null"])
def test_an_identity_set_by_hand_is_none(ground: Ground, signature: str) -> None:
    with attacking(ground) as connection:
        set_by_hand(connection, payload_for(connection, STAFF), signature)
        assert everything(connection, ground) == ""
        with pytest.raises(psycopg.Error) as refused:
            connection.execute(
                "select mucluc.identify(%s, %s)", [payload_for(connection, STAFF), signature]
            )
        assert refused.value.sqlstate == "MU004"


@pytest.mark.parametrize(
    "change",
    [
        {"tenant": "globex"},
        {"principals": ["role:staff", "role:hr"]},
        {"as_of": "2026-01-02"},
        {"extra": True},
    ],
    ids=lambda change: next(iter(change)),
)
def test_a_signed_payload_cannot_be_changed(ground: Ground, change: dict[str, Any]) -> None:
    with attacking(ground) as connection:
        signature = sign(KEY, payload_for(connection, STAFF))
        forged = payload_for(connection, STAFF, **change)
        set_by_hand(connection, forged, signature)
        assert everything(connection, ground) == ""
        with pytest.raises(psycopg.Error) as refused:
            connection.execute("select mucluc.identify(%s, %s)", [forged, signature])
        assert refused.value.sqlstate == "MU004"


@pytest.mark.parametrize("ending", ["commit", "rollback", "commit and chain"])
def test_a_signature_is_worthless_in_the_next_transaction(ground: Ground, ending: str) -> None:
    with attacking(ground) as connection:
        payload, signature = identify(connection, HR)
        set_by_hand(connection, payload, signature)
        connection.execute(ending)  # type: ignore[arg-type]
        set_by_hand(connection, payload, signature)
        assert everything(connection, ground) == ""


def test_a_signature_is_worthless_on_another_connection(ground: Ground) -> None:
    with attacking(ground) as one, attacking(ground) as other:
        payload, signature = identify(one, HR)
        set_by_hand(other, payload, signature)
        assert everything(other, ground) == ""


def test_a_signature_is_worthless_after_a_commit_inside_a_block(ground: Ground) -> None:
    with attacking(ground) as connection:
        connection.autocommit = True
        payload = payload_for(connection, HR)
        connection.execute(
            psycopg.sql.SQL(
                "do $$ declare n int; begin"
                " perform set_config('mucluc.identity', {p}, false),"
                "         set_config('mucluc.signature', {s}, false);"
                " commit; select count(*) into n from mucluc.document;"
                " if n > 0 then raise exception 'came out'; end if; end $$"
            ).format(p=psycopg.sql.Literal(payload), s=psycopg.sql.Literal(sign(KEY, payload)))
        )
        assert everything(connection, ground) == ""


def test_a_transaction_has_one_identity(ground: Ground) -> None:
    with attacking(ground) as connection:
        identify(connection, STAFF)
        with pytest.raises(psycopg.Error) as refused:
            identify(connection, HR)
        assert refused.value.sqlstate == "MU003"


def test_another_tenant_with_the_same_principals_sees_its_own(ground: Ground) -> None:
    with attacking(ground) as connection:
        identify(connection, Asker("globex", ("role:staff", "role:hr"), TODAY))
        out = everything(connection, ground)
        assert WORLD.documents[2].mark in out
        assert_hidden(out, tuple(d for d in WORLD.documents if d.tenant == "acme"))


@pytest.mark.parametrize("day", ["0001-01-01", "2026-01-02", "2026-01-03", "9999-12-31"])
def test_deleted_and_unstated_documents_show_at_no_date(ground: Ground, day: str) -> None:
    with attacking(ground) as connection:
        identify(connection, Asker("acme", ("role:staff",), date.fromisoformat(day)))
        out = everything(connection, ground)
        assert VISIBLE.mark in out
        assert_hidden(out, tuple(d for d in HIDDEN if d.number in {2, 3, 4, 7, 8, 9}))
        assert (WORLD.documents[4].mark in out) == (day <= "2026-01-03")


@pytest.mark.parametrize(
    "statement",
    [
        "set role mucluc_search",
        "set role postgres",
        "set session authorization postgres",
        "set session authorization mucluc_search",
        "grant mucluc_search to attacker",
        "alter role attacker superuser",
        "alter role attacker bypassrls",
        "alter table mucluc.document disable row level security",
        "alter table mucluc.document no force row level security",
        "create policy p on mucluc.document using (true)",
        "drop policy visible_document on mucluc.document",
        "alter function mucluc.me() owner to attacker",
        "create or replace function mucluc.challenge() returns text language sql return 'mine'",
        "create function mucluc.f() returns int language sql return 1",
        "create table mucluc.t (x int)",
        "create table public.t (x int)",
        "create schema mine",
        "create extension dblink",
        "create language plpython3u",
        "create operator mucluc.&& (leftarg = text[], rightarg = text[], function = arrayoverlap)",
        "create trigger t before update on mucluc.document execute function mucluc.keep_recipe()",
        "create rule r as on select to mucluc.document do instead select 1",
        "alter system set log_statement = 'all'",
        "set session_replication_role = replica",
        "set log_min_error_statement = error",
        "alter default privileges for role postgres grant select on tables to attacker",
        "truncate mucluc.document",
        "delete from mucluc.document",
        "update mucluc.document set acl_id = 1",
        "update mucluc.document set deleted_at = null",
        "insert into mucluc.acl_set (tenant, principals) values ('acme', '{role:staff}')",
        "insert into mucluc.signing_key values ('mine', 'mine')",
        "select * from mucluc.document for share",
        "lock table mucluc.document in access exclusive mode",
        "copy mucluc.document from stdin",
        "copy mucluc.document to '/tmp/out'",
        "copy mucluc.document to program 'cat'",
        "select lo_import('/etc/hostname')",
        "select lo_export(1, '/tmp/out')",
        "select pg_read_file('PG_VERSION')",
        "select pg_ls_dir('.')",
        "select * from pg_statistic",
        "select * from pg_statistic_ext_data",
        "select * from pg_authid",
        "select * from pg_user_mapping",
        "select pg_reload_conf()",
        "select pg_read_binary_file('PG_VERSION')",
    ],
)
def test_what_the_attacker_may_not_do(ground: Ground, statement: str) -> None:
    with attacking(ground) as connection:
        identify(connection, STAFF)
        with pytest.raises(psycopg.Error) as refused:
            connection.execute(statement)  # type: ignore[arg-type]
        # Not allowed, not the owner, or no such language and the like: never a syntax error.
        assert refused.value.sqlstate != "42601"
        assert_hidden(str(refused.value))


def test_the_reader_has_the_rights_that_are_written_down_and_no_others(ground: Ground) -> None:
    with psycopg.connect(ground.owner) as connection:
        relations = connection.execute(
            "select c.relname, p from pg_class c,"
            " unnest(array['select','insert','update','delete','truncate','references','trigger'])"
            "   as p"
            " where c.relnamespace = 'mucluc'::regnamespace and c.relkind in ('r','p','v','m','f')"
            " and (has_table_privilege('attacker', c.oid, p)"
            "      or (p in ('select','insert','update','references')"
            "          and has_any_column_privilege('attacker', c.oid, p)))"
        ).fetchall()
        assert sorted(relations) == sorted((table, "select") for table in READABLE)
        unprotected = connection.execute(
            "select relname from pg_class where relnamespace = 'mucluc'::regnamespace"
            " and relkind in ('r', 'p') and not relrowsecurity"
        ).fetchall()
        assert unprotected == []
        functions = connection.execute(
            "select p.proname from pg_proc p where p.pronamespace = 'mucluc'::regnamespace"
            " and has_function_privilege('attacker', p.oid, 'execute')"
        ).fetchall()
        assert {name for (name,) in functions} == {
            "lexemes", "fold", "toned", "with_tone", "codes", "lexeme_count", "challenge", "identify", "me",
            "my_acls", "visible_documents", "visible_revisions", "visible_published",
            "visible_entries", "resolve", "resolve_version", "search_dense", "search_text", "read_chunks",
        }  # fmt: skip
        to_public = connection.execute(
            "select p.proname from pg_proc p, aclexplode(coalesce(p.proacl,"
            " acldefault('f', p.proowner))) a"
            " where p.pronamespace = 'mucluc'::regnamespace and a.grantee = 0"
        ).fetchall()
        assert to_public == []
        assert (
            connection.execute(
                "select rolsuper, rolbypassrls, rolcanlogin, rolcreaterole from pg_roles"
                " where rolname in ('mucluc_search', 'mucluc_reader')"
            ).fetchall()
            == [(False,) * 4] * 2
        )


def test_functions_that_run_as_another_role_have_a_path_nobody_can_write_to(
    ground: Ground,
) -> None:
    with psycopg.connect(ground.owner) as connection:
        rows = connection.execute(
            "select proname, pg_get_userbyid(proowner), array_to_string(proconfig, ';')"
            " from pg_proc where pronamespace = 'mucluc'::regnamespace and prosecdef"
        ).fetchall()
    assert len(rows) >= 12
    for name, owner, configuration in rows:
        assert owner == "mucluc_search", name
        assert "search_path=mucluc, pg_catalog, pg_temp" in configuration, name


def test_objects_in_a_public_schema_left_open_do_not_reach_into_the_functions(
    ground: Ground,
) -> None:
    with psycopg.connect(ground.owner, autocommit=True) as owner:
        owner.execute("grant create on schema public to attacker")
        try:
            with attacking(ground) as connection:
                for name, left, right, back in [
                    ("@>", "daterange", "date", "boolean"),
                    (">=", "bigint", "numeric", "boolean"),
                    ("*", "numeric", "int", "numeric"),
                    ("+", "double precision", "numeric", "double precision"),
                    ("-", "bigint", "double precision", "double precision"),
                ]:
                    function = f"public.spy_{abs(hash(name)) % 10**8}_{left[:3]}"
                    connection.execute(
                        f"create function {function}({left}, {right}) returns {back}"  # type: ignore[arg-type]
                        " language plpgsql as $f$ begin"
                        " raise exception 'ran as %', current_user; end $f$"
                    )
                    connection.execute(
                        f"create operator public.{name} (leftarg = {left}, rightarg = {right},"  # type: ignore[arg-type]
                        f" function = {function})"
                    )
                identify(connection, STAFF)
                connection.execute("set local search_path = pg_temp, public, mucluc")
                assert VISIBLE.mark in everything(connection, ground)
        finally:
            owner.execute("revoke create on schema public from attacker")


def test_temporary_objects_do_not_shadow_what_the_functions_use(ground: Ground) -> None:
    with attacking(ground) as connection:
        for table in ("document", "alias", "acl_set", "signing_key", "published", "pg_class"):
            connection.execute(f"create temp table {table} (key_id text, key bytea)")  # type: ignore[arg-type]
        connection.execute("insert into pg_temp.signing_key values ('mine', 'mine')")
        connection.execute(
            "create function pg_temp.sign(text, bytea) returns text language sql return 'mine'"
        )
        connection.execute(
            "create function pg_temp.challenge() returns text language sql return 'mine'"
        )
        connection.execute(
            "create function pg_temp.spy(text[], text[]) returns boolean language plpgsql as"
            " $$ begin raise exception 'ran as %', current_user; end $$"
        )
        connection.execute(
            "create operator pg_temp.&& (leftarg = text[], rightarg = text[],"
            " function = pg_temp.spy)"
        )
        connection.execute("set local search_path = pg_temp, mucluc, pg_catalog, public")
        set_by_hand(connection, payload_for(connection, HR), "mine")
        connection.execute("drop function pg_temp.sign, pg_temp.challenge")
        assert everything(connection, ground) == ""
        set_by_hand(connection, "", "")
        identify(connection, STAFF)
        out = everything(connection, ground)
        assert VISIBLE.mark in out
        assert_hidden(out, NEVER)


@pytest.mark.parametrize(
    "statement",
    [
        "select text from mucluc.chunk where pg_temp.tell(text)",
        "select uri from mucluc.document where pg_temp.tell(uri)",
        "select * from mucluc.entry where pg_temp.tell(tsv::text)",
        "select * from mucluc.document d join mucluc.chunk c on pg_temp.tell(c.text || d.uri)",
        "select * from mucluc.chunk where text::int > 0",
        "select * from mucluc.chunk where 1 / (case when text like '%mark0002%' then 0 else 1 end)"
        " > 0",
        "select count(*) filter (where 1 / length(replace(text, text, '')) > 0) from mucluc.chunk",
        "select * from mucluc.document where (uri || '!')::date is null",
        "select * from mucluc.chunk order by pg_temp.tell(text)",
        "select query_to_xml('select * from mucluc.chunk', true, false, '')",
        "select table_to_xml('mucluc.document', true, false, '')",
        "select schema_to_xml('mucluc', true, false, '')",
        "select database_to_xml(true, false, '')",
        "select ts_stat from ts_stat('select tsv from mucluc.entry')",
        "select * from pg_temp.through",
        "select pg_temp.inline(text) from mucluc.chunk",
        "table mucluc.chunk",
        "with recursive r as (select text from mucluc.chunk) select * from r",
        "select c from mucluc.chunk c tablesample system (100)",
        "select * from mucluc.chunk where ctid = any (array(select format('(0,%s)', i)::tid"
        " from generate_series(1, 100) i))",
        "select * from only mucluc.entry",
        "explain (analyze, verbose) select * from mucluc.chunk where text like '%mark0002%'",
        "do $$ declare r record; begin for r in execute 'select * from mucluc.chunk' loop"
        " raise notice '%', r; end loop; end $$",
    ],
)
@pytest.mark.parametrize("settings", ["", "row", "generic"])
def test_functions_errors_and_plans_tell_nothing_of_hidden_rows(
    ground: Ground, statement: str, settings: str
) -> None:
    notices: list[str] = []
    with attacking(ground) as connection:
        connection.add_notice_handler(lambda n: notices.append(str(n.message_primary)))
        connection.execute(
            "create function pg_temp.tell(text) returns boolean cost 0.0000001 language plpgsql as"
            " $$ begin raise notice '%', $1; return true; end $$"
        )
        connection.execute(
            "create function pg_temp.inline(text) returns text language sql return upper($1)"
        )
        connection.execute("create temp view through as select * from mucluc.chunk")
        if settings == "row":
            connection.execute("set local enable_hashjoin = off; set local work_mem = '64kB'")
        if settings == "generic":
            connection.execute("set local plan_cache_mode = force_generic_plan")
        identify(connection, STAFF)
        try:
            cursor = connection.execute(statement)  # type: ignore[arg-type]
            out = repr(cursor.fetchall()) if cursor.description else ""
        except psycopg.Error as error:
            out = str(error) + repr(error.diag.message_detail) + repr(error.diag.context)
        written = out.replace("%mark0002%", "")
        assert_hidden(written + "\n".join(notices))


def test_turning_row_security_off_is_an_error_and_no_way_in(ground: Ground) -> None:
    with attacking(ground) as connection:
        identify(connection, STAFF)
        connection.execute("set local row_security = off")
        with pytest.raises(psycopg.errors.InsufficientPrivilege) as refused:
            connection.execute("select * from mucluc.chunk")
        assert_hidden(str(refused.value))


@pytest.mark.parametrize("version", range(4))
def test_partitions_cannot_be_read(ground: Ground, version: int) -> None:
    with attacking(ground) as connection:
        for partition in ("", "_0", "_1"):
            identify(connection, STAFF)
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                connection.execute(
                    f"copy mucluc.entry_{ground.versions[version]}{partition} to stdout"  # type: ignore[arg-type]
                )
            connection.rollback()


def test_copy_gives_what_select_gives(ground: Ground) -> None:
    with attacking(ground) as connection:
        identify(connection, STAFF)
        with connection.cursor().copy("copy mucluc.chunk to stdout") as copy:
            out = b"".join(bytes(block) for block in copy).decode()
        assert VISIBLE.mark in out
        assert_hidden(out)


def test_a_cursor_kept_open_shows_what_its_own_transaction_could_see(ground: Ground) -> None:
    with attacking(ground) as connection:
        identify(connection, STAFF)
        connection.execute("declare kept cursor with hold for select text from mucluc.chunk")
        connection.commit()
        identify(connection, Asker("globex", ("role:staff",), TODAY))
        assert_hidden(repr(connection.execute("fetch all from kept").fetchall()))
        connection.rollback()
        # One that was opened by nobody stays empty or shows the later identity's rows alone.
        connection.execute("declare early cursor for select text from mucluc.chunk")
        identify(connection, STAFF)
        assert_hidden(repr(connection.execute("fetch all from early").fetchall()))


@pytest.mark.parametrize("mode", ["force_generic_plan", "force_custom_plan", "auto"])
def test_a_prepared_statement_takes_its_identity_anew(ground: Ground, mode: str) -> None:
    with attacking(ground) as connection:
        connection.execute(f"set plan_cache_mode = {mode}")  # type: ignore[arg-type]
        connection.execute("prepare raw as select text from mucluc.chunk")
        connection.execute(
            f"prepare found as select r::text from mucluc.search_text({ground.versions[0]},"  # type: ignore[arg-type]
            f" '{worlds.COMMON}', 100) s, mucluc.read_chunks({ground.versions[0]},"
            " array[s.chunk_id]) r"
        )
        connection.commit()
        for _ in range(3):
            for asker, sees in ((HR, True), (STAFF, False)):
                identify(connection, asker)
                for name in ("raw", "found"):
                    out = repr(connection.execute(f"execute {name}").fetchall())  # type: ignore[arg-type]
                    assert (HIDDEN[0].mark in out) == sees
                connection.rollback()
        assert connection.execute("execute raw").fetchall() == []


# Conditions that are right for a hidden document, and the same conditions gone wrong. Operators on
# text are leakproof, so the planner may put them before the policy: the plan that ran and its row
# counts must be the same for both, or names and texts could be had by halving.
GUESSES = [
    ("document", "uri = '{}/2.md'"),
    ("document", "uri >= '{0}' and uri < '{0}~'"),
    ("document", "tenant = 'acme' and source = 'files' and uri = '{}/2.md'"),
    ("document", "tenant = 'acme' and source = 'files' and uri >= '{0}' and uri < '{0}~'"),
    ("chunk", "text = 'everywhere {}'"),
    ("chunk", "text >= 'everywhere {0}' and text < 'everywhere {0}~'"),
    ("chunk", "heading_path = array['{0}'] or text = 'everywhere {0}'"),
    ("document", "uri in ('{0}/2.md', '{0}/3.md')"),
    ("document", "coalesce(uri, '') = '{}/2.md'"),
    ("chunk", "text in (select 'everywhere {0}')"),
]
HOSTILE = [
    "",
    "set local enable_seqscan = off",
    "set local work_mem = '64kB'; set local hash_mem_multiplier = 1",
    "set local cpu_operator_cost = 0",
    "set local cpu_operator_cost = 1000000; set local enable_seqscan = off",
    "set local enable_hashjoin = off; set local enable_mergejoin = off;"
    " set local enable_material = off; set local enable_memoize = off",
]


@pytest.mark.parametrize("hostile", HOSTILE)
@pytest.mark.parametrize(("table", "guess"), GUESSES)
def test_explain_analyze_does_not_tell_right_guesses_from_wrong_ones(
    ground: Ground, table: str, guess: str, hostile: str
) -> None:
    plans = []
    with attacking(ground) as connection:
        identify(connection, STAFF)
        if hostile:
            connection.execute(hostile)  # type: ignore[arg-type]
        for word in (HIDDEN[0].mark, "mirk0002"):
            condition = guess.format(word)  # both name an equally long word
            rows = connection.execute(
                "explain (analyze, costs off, timing off, summary off, buffers off)"
                f" select 1 from mucluc.{table} where {condition}"  # type: ignore[arg-type]
            ).fetchall()
            plans.append("\n".join(row[0] for row in rows).replace(word, "guess"))
    assert plans[0] == plans[1]


def test_statistics_and_other_sessions_are_not_shown(ground: Ground) -> None:
    with psycopg.connect(ground.owner) as pipeline, attacking(ground) as connection:
        pipeline.execute("select 'secret of the pipeline'")
        identify(connection, STAFF)
        assert (
            connection.execute("select * from pg_stats where schemaname = 'mucluc'").fetchall()
            == []
        )
        activity = repr(connection.execute("select * from pg_stat_activity").fetchall())
        assert "secret of the pipeline" not in activity
        assert_hidden(activity)


def test_a_word_that_only_hidden_documents_hold_finds_nothing(ground: Ground) -> None:
    with attacking(ground) as connection:
        identify(connection, STAFF)
        for document in NEVER:
            for version in ground.versions:
                assert (
                    connection.execute(
                        "select * from mucluc.search_text(%s, %s, 10)", [version, document.mark]
                    ).fetchall()
                    == []
                )


def test_errors_of_the_search_functions_carry_codes_and_no_values(ground: Ground) -> None:
    with attacking(ground) as connection:
        for call in (
            "select * from mucluc.search_dense({}, 'another model', '[1]', 10)",
            "select * from mucluc.search_dense({}, 'model', '[1]', 10)",
            "select * from mucluc.search_dense(-1, 'model', '[1]', 10)",
        ):
            identify(connection, STAFF)
            with pytest.raises(psycopg.Error) as refused:
                connection.execute(call.format(ground.versions[0]))  # type: ignore[arg-type]
            assert_hidden(str(refused.value), WORLD.documents)
            connection.rollback()


@pytest.mark.parametrize(
    "scope",
    [
        {"phrases": ["mark0002"]},
        {"phrases": ["everywhere mark0002"]},
        {"without": ["mark0001"]},
        {"sources": ["files", "mail"], "kinds": ["text", "table", "list"]},
        {"metadata": {"dept": ["hr", "it"]}},
        {"languages": ["vi", "en", "fr"]},
        {"collections": ["default", "hr"], "holds_from": "0001-01-01", "holds_to": "9999-12-31"},
    ],
)
def test_a_scope_narrows_and_never_widens_nor_tells_in_plans(
    ground: Ground, scope: dict[str, Any]
) -> None:
    calls = [
        "mucluc.search_text(%(v)s, 'everywhere mark0002', 100, %(s)s::jsonb)",
        "mucluc.search_dense(%(v)s, 'model', '[1,0,0,0,0,0,0,0]', 100, %(s)s::jsonb)",
    ]
    with attacking(ground) as connection:
        identify(connection, STAFF)
        allowed = everything(connection, ground)
        for version in ground.versions:
            values = {"v": version, "s": json.dumps(scope)}
            for call in calls:
                found = connection.execute(f"select chunk_id::text from {call}", values).fetchall()  # type: ignore[arg-type]
                assert all(chunk in allowed for (chunk,) in found)
                plan = connection.execute(
                    f"explain (analyze, verbose, buffers off) select chunk_id from {call}",  # type: ignore[arg-type]
                    values,
                ).fetchall()
                assert_hidden(
                    repr(plan).replace("everywhere mark0002", "").replace('"mark0002"', "")
                )
                assert "Rows Removed" not in repr(plan) and "entry" not in repr(plan)
        for phrase in (d.mark for d in NEVER):
            assert (
                connection.execute(
                    "select * from mucluc.search_text(%s, %s, 9, jsonb_build_object('phrases',"
                    " array[%s]))",
                    [ground.versions[0], worlds.COMMON, phrase],
                ).fetchall()
                == []
            )


@pytest.mark.parametrize(
    "scope",
    [
        "[]",
        "1",
        '{"phrase": ["a"]}',
        '{"metadata": {"dept": "hr"}}',
        '{"holds_from": "2026-02-31"}',
        '{"phrases": ["(", "[a", "\\\\", "a{1,99999}", "(?=a)*"]}',
        '{"metadata": {"dept": [1, null, {"a": "b"}]}}',
    ],
)
def test_errors_of_a_scope_carry_no_row(ground: Ground, scope: str) -> None:
    for call in (
        "mucluc.search_text(%s, 'everywhere', 100, %s::jsonb)",
        "mucluc.search_dense(%s, 'model', '[1,0,0,0,0,0,0,0]', 100, %s::jsonb)",
    ):
        with attacking(ground) as connection:
            identify(connection, STAFF)
            try:
                out = repr(
                    connection.execute(
                        f"select * from {call}",  # type: ignore[arg-type]
                        [ground.versions[0], scope],
                    ).fetchall()
                )
                assert_hidden(out)
            except psycopg.Error as error:
                assert error.sqlstate in {"MU006", "22008"}
                assert_hidden(str(error) + repr(error.diag.context), WORLD.documents)


@pytest.mark.parametrize(
    "question",
    ["'", "\\", "a'b\\c", "'; drop table mucluc.chunk; --", "%s %L $1", "a & !b | (c", ":*", ""],
)
def test_a_question_is_never_code(ground: Ground, question: str) -> None:
    with attacking(ground) as connection:
        identify(connection, STAFF)
        connection.execute(
            "select * from mucluc.search_text(%s, %s, 10)", [ground.versions[0], question]
        )
        assert VISIBLE.mark in everything(connection, ground)


# --- what docs/security.md says to run -----------------------------------------------------------

PAGE = Path(__file__).resolve().parents[1] / "docs" / "security.md"


def block(name: str) -> str:
    found = re.search(rf"```sql\n-- {name}\n(.*?)```", PAGE.read_text(), re.DOTALL)
    assert found is not None, f"docs/security.md has no block named {name}"
    return found[1]


@pytest.fixture
def hardened(ground: Ground, server: str) -> Iterator[str]:
    """URL as the asker's login that the page makes, in the attacked database."""
    with psycopg.connect(ground.owner, autocommit=True) as owner:
        owner.execute("drop role if exists asker")
    with psycopg.connect(ground.owner) as owner:
        owner.execute(block("a login for questions only"))  # type: ignore[arg-type]
        owner.execute(block("no locks and no temporary objects"))  # type: ignore[arg-type]
    yield ground.owner.replace("//postgres", "//asker")
    with psycopg.connect(ground.owner) as owner:
        owner.execute("drop owned by asker")
        owner.execute("drop role asker")


def test_the_login_for_questions_only_searches_and_reads_no_table(
    ground: Ground, hardened: str
) -> None:
    with psycopg.connect(hardened) as connection:
        payload = payload_for(connection, STAFF)
        connection.execute("select mucluc.identify(%s, %s)", [payload, sign(KEY, payload)])
        found = connection.execute(
            "select r.text from mucluc.search_text(%s, %s, 10) s,"
            " mucluc.read_chunks(%s, array[s.chunk_id]) r",
            [ground.versions[0], worlds.COMMON, ground.versions[0]],
        ).fetchall()
        assert VISIBLE.mark in repr(found)
        assert_hidden(repr(found))
        for table in READABLE:
            connection.execute("savepoint s")
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                connection.execute(f"select 1 from mucluc.{table}")  # type: ignore[arg-type]
            connection.execute("rollback to savepoint s")
        for statement in ("select pg_advisory_lock(1)", "create temp table t (x int)"):
            connection.execute("savepoint s")
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                connection.execute(statement)  # type: ignore[arg-type]
            connection.execute("rollback to savepoint s")


def test_askers_of_one_login_do_not_read_each_others_questions(
    ground: Ground, hardened: str
) -> None:
    with psycopg.connect(hardened) as one, psycopg.connect(hardened) as other:
        one.execute("select 'a question of mine'")
        shown = other.execute("select query from pg_stat_activity").fetchall()
    assert "a question of mine" not in repr(shown)
