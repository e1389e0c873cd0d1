"""Index versions: opened with a recipe, filled, indexed, gated, and pointed at by an alias."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from datetime import date
from typing import Any, LiteralString

import psycopg
from psycopg import sql
from psycopg.rows import DictRow, dict_row
from psycopg.types.json import Jsonb

from store.database import Store
from store.errors import StoreError, coded
from store.sql import query

LOCK_NOT_AVAILABLE = "55P03"
OPENING_SECONDS = 120.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """The ids of every stage. An index version is one recipe's entries (I6)."""

    parsers: Mapping[str, str]  # parser id by family of formats
    chunking: Mapping[str, Any]  # the ChunkingRecipe's fields, to make it again
    chunking_id: str
    context_id: str
    model: str  # the name to load the model by
    fingerprint: str
    dimensions: int

    def to_json(self) -> dict[str, Any]:
        """Every field, as the database keeps it."""
        return asdict(self)

    @classmethod
    def from_json(cls, kept: Mapping[str, Any]) -> Recipe:
        """Of what ``to_json`` gave."""
        return cls(**kept)

    def differences(self, kept: Mapping[str, Any]) -> tuple[str, ...]:
        """Names of what differs from a kept recipe. A new family of formats is no difference."""
        found = [
            name
            for name in ("chunking_id", "context_id", "fingerprint")
            if kept[name] != getattr(self, name)
        ]
        theirs = kept["parsers"]
        found += [
            f"parsers.{family}"
            for family in sorted(set(theirs) & set(self.parsers))
            if theirs[family] != self.parsers[family]
        ]
        return tuple(found)


@dataclass(frozen=True, slots=True, kw_only=True)
class Version:
    """An index version."""

    id: int
    index_name: str
    name: str
    recipe: dict[str, Any]
    model: str  # fingerprint
    dimensions: int
    state: str
    hot_from: date
    probe: bytes | None = None

    @classmethod
    def from_row(cls, row: DictRow) -> Version:
        """Of a row of index_version."""
        return cls(
            id=row["id"],
            index_name=row["index_name"],
            name=row["name"],
            recipe=row["recipe"],
            model=row["model"],
            dimensions=row["dimensions"],
            state=row["state"],
            hot_from=row["hot_from"],
            probe=None if row["probe"] is None else bytes(row["probe"]),
        )


def active_version(store: Store, index: str) -> Version | None:
    """The version that searches of this index use."""
    with store.transaction() as connection:
        row = connection.execute(query("active_version"), {"index": index}).fetchone()
    return None if row is None else Version.from_row(row)


def named_version(store: Store, index: str, name: str) -> Version | None:
    """A version of an index by its name, whatever its state."""
    with store.transaction() as connection:
        row = connection.execute(query("named_version"), {"index": index, "name": name}).fetchone()
    return None if row is None else Version.from_row(row)


def versions_in_step(store: Store, index: str, keep_days: int) -> list[Version]:
    """What a sync of this index writes: the active version first, if there is one.

    The others are being filled, named by an alias, or the previous version, for as long as it is
    kept for a rollback.
    """
    with store.transaction() as connection:
        rows = connection.execute(
            query("versions_in_step"), {"index": index, "keep_days": keep_days}
        ).fetchall()
    return [Version.from_row(row) for row in rows]


def version_for(store: Store, index: str, recipe: Recipe) -> Version | None:
    """The newest version of an index, filled or ready, that has this recipe."""
    with store.transaction() as connection:
        row = _live(connection, index, recipe)
    return None if row is None else Version.from_row(row)


def _live(connection: psycopg.Connection[DictRow], index: str, recipe: Recipe) -> DictRow | None:
    rows = connection.execute(query("live_versions"), {"index": index}).fetchall()
    return next((row for row in rows if not recipe.differences(row["recipe"])), None)


def version_to_fill(
    store: Store, index: str, recipe: Recipe, *, modulus: int = 1, probe: bytes | None = None
) -> Version:
    """The version that a first sync writes: the active one, or the first one, opened if need be.

    The caller compares recipes. A first version that was begun under another recipe and never
    became active is left behind: its recipe cannot change (I6), so a new one is opened.
    """

    def find(connection: psycopg.Connection[DictRow]) -> DictRow | None:
        active = connection.execute(query("active_version"), {"index": index}).fetchone()
        return active or _live(connection, index, recipe)

    return _find_or_open(store, index, recipe, find, modulus=modulus, probe=probe)


def open_version(
    store: Store,
    index: str,
    recipe: Recipe,
    *,
    name: str | None = None,
    modulus: int = 1,
    probe: bytes | None = None,
) -> Version:
    """The live version of this recipe, or of this name, opened beside the active one if need be.

    With a name it is that version, whatever its recipe: the caller compares.
    """

    def find(connection: psycopg.Connection[DictRow]) -> DictRow | None:
        if name is None:
            return _live(connection, index, recipe)
        values = {"index": index, "name": name}
        return connection.execute(query("named_version"), values).fetchone()

    return _find_or_open(store, index, recipe, find, name=name, modulus=modulus, probe=probe)


def _find_or_open(
    store: Store,
    index: str,
    recipe: Recipe,
    find: Callable[[psycopg.Connection[DictRow]], DictRow | None],
    *,
    name: str | None = None,
    modulus: int,
    probe: bytes | None,
) -> Version:
    deadline = time.monotonic() + OPENING_SECONDS
    while True:
        try:
            with store.transaction() as connection:
                connection.execute(query("lock_index"), {"index": index})
                row = find(connection) or _open(connection, index, recipe, name, modulus, probe)
            return Version.from_row(row)
        except StoreError as exc:
            # A new partition locks its parent for a moment. Behind a long reader we step back, so
            # that no other reader queues up behind us, and try again.
            if exc.code != LOCK_NOT_AVAILABLE or time.monotonic() > deadline:
                raise
            time.sleep(0.2)


def _open(
    connection: psycopg.Connection[DictRow],
    index: str,
    recipe: Recipe,
    name: str | None,
    modulus: int,
    probe: bytes | None,
) -> DictRow:
    connection.execute("set local lock_timeout = '300ms'")
    next_name = connection.execute(query("next_version_name"), {"index": index}).fetchone()
    row = connection.execute(
        query("add_version"),
        {
            "index": index,
            "name": name or (next_name and next_name["name"]),
            "recipe": Jsonb(recipe.to_json()),
            "chunking": recipe.chunking_id,
            "context": recipe.context_id,
            "model": recipe.fingerprint,
            "dimensions": recipe.dimensions,
            "modulus": modulus,
            "probe": probe,
        },
    ).fetchone()
    if row is None:
        raise AssertionError("insert returned no row")
    connection.execute(query("open_partition"), {"version": row["id"]})
    return row


HNSW: LiteralString = (
    "create index concurrently {name} on mucluc.{partition} using hnsw "
    "((embedding::public.halfvec({dimensions})) public.halfvec_cosine_ops) where hot"
)
GIN: LiteralString = "create index concurrently {name} on mucluc.{partition} using gin (tsv)"


def build_indexes(store: Store, version: Version) -> int:
    """Build the vector and text indexes that a version's partitions lack; returns how many.

    Loading first and indexing after is two to five times faster than inserting into a live HNSW.
    Built CONCURRENTLY, so that no writer waits; what a killed build left behind is made anew.
    """
    built = 0
    with (
        coded(version.id),
        psycopg.connect(store.url, autocommit=True, row_factory=dict_row) as connection,
    ):
        connection.execute("set maintenance_work_mem = '512MB'")
        for row in connection.execute(query("invalid_indexes"), {"version": version.id}).fetchall():
            connection.execute(
                sql.SQL("drop index concurrently if exists mucluc.{}").format(
                    sql.Identifier(row["index"])
                )
            )
        for row in connection.execute(query("partitions"), {"version": version.id}).fetchall():
            partition = row["partition"]
            for present, suffix, statement in (
                (row["has_hnsw"], "hnsw", HNSW),
                (row["has_gin"], "gin", GIN),
            ):
                if present:
                    continue
                name = f"{partition}_{suffix}"
                connection.execute(
                    sql.SQL(statement).format(
                        name=sql.Identifier(name),
                        partition=sql.Identifier(partition),
                        dimensions=sql.Literal(version.dimensions),
                    )
                )
                built += 1
                if suffix == "hnsw":
                    # An expression index keeps statistics of its own, vectors and all (I9).
                    connection.execute(
                        sql.SQL("alter index mucluc.{} alter column 1 set statistics 0").format(
                            sql.Identifier(name)
                        )
                    )
    return built


def refresh_statistics(store: Store, run: int, version: int, tenant: str) -> bool:
    """Count a tenant's document frequencies and lengths anew for BM25, if entries changed.

    Returns whether they had.
    """
    values = {"version": version, "tenant": tenant}
    with store.transaction(run) as connection:
        if connection.execute(query("statistics_stale"), values).fetchone() is None:
            return False
        connection.execute(query("clear_lexeme_stats"), values)
        connection.execute(query("count_lexemes"), values)
        connection.execute(query("count_entries_of_tenant"), values)
    return True


def cool(store: Store, run: int, version: int, day: date) -> int:
    """Take entries whose revisions have all ended out of the hot vector index; returns how many.

    Does nothing when no revision ended since the last time.
    """
    values = {"version": version, "today": day}
    with store.transaction(run) as connection:
        if connection.execute(query("newly_ended"), values).fetchone() is None:
            return 0
        cooled = connection.execute(query("cool_entries"), values).rowcount
        connection.execute(query("set_hot_from"), values)
    return cooled


def count_lacking(store: Store, version: int, *, like: int) -> int:
    """How many live documents another version shows in a revision that this one has not."""
    with store.reading() as connection:
        row = connection.execute(
            query("documents_lacking"), {"version": version, "like": like}
        ).fetchone()
    return 0 if row is None else int(row["documents"])


def count_behind(store: Store, version: int, *, like: int) -> int:
    """How many live documents another version shows in a newer revision than this one."""
    with store.reading() as connection:
        row = connection.execute(
            query("documents_behind"), {"version": version, "like": like}
        ).fetchone()
    return 0 if row is None else int(row["documents"])


def bootstrap_gates(store: Store, version: Version, tenant: str, source: str) -> dict[str, Any]:
    """The gates of a first version: everything of this source is in it, and vectors are honest."""
    with store.transaction() as connection:
        missing = connection.execute(
            query("incomplete_documents"),
            {"version": version.id, "tenant": tenant, "source": source},
        ).fetchone()
        facts = connection.execute(
            query("vector_facts"), {"version": version.id, "dimensions": version.dimensions}
        ).fetchone()
    if missing is None or facts is None:
        raise AssertionError("an aggregate returns a row")
    constant = facts["entries"] > 1 and facts["different"] == 1
    return {
        "complete": {"passed": missing["documents"] == 0, "missing": missing["documents"]},
        "vectors": {
            "passed": not (facts["other_dimensions"] or facts["not_unit"] or constant)
            and facts["entries"] > 0,
            **facts,
        },
    }


def bootstrap(store: Store, run: int, version: Version, gates: Mapping[str, Any]) -> bool:
    """Point ``active`` at a first version if its gates passed (I11). Returns whether they did."""
    if not all(gate["passed"] for gate in gates.values()):
        return False
    with store.transaction(run) as connection:
        connection.execute(query("lock_index"), {"index": version.index_name})
        if connection.execute(query("active_version"), {"index": version.index_name}).fetchone():
            return True
        row = connection.execute(
            query("add_promotion"),
            {
                "index": version.index_name,
                "alias": "active",
                "from": None,
                "to": version.id,
                "kind": "bootstrap",
                "gates": Jsonb(dict(gates)),
                "passed": True,
                "forced": False,
                "reason": None,
                "by": None,
            },
        ).fetchone()
        connection.execute(
            query("point_alias"),
            {
                "index": version.index_name,
                "alias": "active",
                "version": version.id,
                "promotion": row and row["id"],
            },
        )
        connection.execute(query("set_version_state"), {"version": version.id, "state": "ready"})
    return True


def list_versions(store: Store, index: str | None = None) -> list[DictRow]:
    """Every version with its aliases, sizes, and how it became active."""
    with store.transaction() as connection:
        return connection.execute(query("versions"), {"index": index}).fetchall()
