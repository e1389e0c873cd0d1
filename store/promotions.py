"""Aliases move here: a promotion after its gates, and the way back. Each is one transaction."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from psycopg import Connection
from psycopg.rows import DictRow
from psycopg.types.json import Jsonb

from store.database import Store
from store.gates import Gate
from store.sql import query
from store.versions import Version

ACTIVE = "active"


class Unsettled(Exception):
    """Under the lock things were not as the gates saw them: look again."""


class NoWayBack(Exception):
    """There is no version to go back to. The message says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Swap:
    """An alias that moved. ``behind`` counts live documents that are in newer form elsewhere."""

    index: str
    alias: str
    old: str | None
    new: str | None
    kind: str
    behind: int = 0


def aliases(store: Store) -> dict[str, tuple[str, ...]]:
    """The indexes there are, and the aliases of each."""
    with store.reading() as connection:
        rows = connection.execute(query("aliases")).fetchall()
    return {row["index_name"]: tuple(row["aliases"]) for row in rows}


def promote(
    store: Store,
    run: int,
    version: Version,
    like: Version,
    *,
    alias: str,
    gates: Sequence[Gate],
    lacking: int,
    reason: str | None,
    by: str,
) -> Swap:
    """Point an alias at a version that passed its gates, or that somebody forces with a reason.

    Nobody publishes while this transaction lasts. Raises Unsettled when documents arrived that
    the version lacks (more than the gates saw), or when another version became active.
    """
    passed = all(gate.passed is not False for gate in gates)
    with store.transaction(run) as connection:
        connection.execute(query("lock_index"), {"index": version.index_name})
        active = _target(connection, version.index_name, ACTIVE)
        if active is None or active["version_id"] != like.id:
            raise Unsettled
        now = connection.execute(
            query("documents_lacking"), {"version": version.id, "like": like.id}
        ).fetchone()
        if now is None or now["documents"] > lacking:
            raise Unsettled
        old = _target(connection, version.index_name, alias)
        return _point(
            connection,
            version,
            alias=alias,
            old=old["version_id"] if old else None,
            kind="promote",
            gates={gate.name: gate.to_json() for gate in gates},
            passed=passed,
            reason=reason,
            by=by,
        )


def rollback(store: Store, index: str, *, alias: str = ACTIVE, by: str) -> Swap:
    """Point ``active`` at the version before it; take any other alias away.

    What let that version pass counts still. Raises NoWayBack.
    """
    with store.transaction() as connection:
        connection.execute(query("lock_index"), {"index": index})
        now = _target(connection, index, alias)
        if now is None:
            raise NoWayBack(f"index {index} has no alias {alias}")
        if alias != ACTIVE:
            connection.execute(query("remove_alias"), {"index": index, "alias": alias})
            old = _version(connection, now["version_id"])
            return Swap(index=index, alias=alias, old=old.name, new=None, kind="rollback")
        if now["from_version"] is None:
            raise NoWayBack(f"the active version of index {index} is its first")
        back = _version(connection, now["from_version"])
        if back.state != "ready":
            raise NoWayBack(f"the version before is {back.name}, and it is {back.state} by now")
        before = connection.execute(
            query("last_promotion"), {"index": index, "version": back.id}
        ).fetchone()
        behind = connection.execute(
            query("documents_behind"), {"version": back.id, "like": now["version_id"]}
        ).fetchone()
        return _point(
            connection,
            back,
            alias=alias,
            old=now["version_id"],
            kind="rollback",
            gates={"earlier": before["gates"] if before else {}},
            passed=bool(before and before["passed"]),
            reason=before["reason"] if before else None,
            by=by,
            behind=int(behind["documents"]) if behind else 0,
        )


def _target(connection: Connection[DictRow], index: str, alias: str) -> DictRow | None:
    return connection.execute(query("alias_target"), {"index": index, "alias": alias}).fetchone()


def _version(connection: Connection[DictRow], version: int) -> Version:
    row = connection.execute(query("version_by_id"), {"version": version}).fetchone()
    if row is None:
        raise AssertionError("a promotion names a version that there is")
    return Version.from_row(row)


def _point(
    connection: Connection[DictRow],
    version: Version,
    *,
    alias: str,
    old: int | None,
    kind: str,
    gates: dict[str, Any],
    passed: bool,
    reason: str | None,
    by: str,
    behind: int = 0,
) -> Swap:
    row = connection.execute(
        query("add_promotion"),
        {
            "index": version.index_name,
            "alias": alias,
            "from": old,
            "to": version.id,
            "kind": kind,
            "gates": Jsonb(gates),
            "passed": passed,
            "forced": not passed,
            "reason": reason,
            "by": by,
        },
    ).fetchone()
    connection.execute(
        query("point_alias"),
        {
            "index": version.index_name,
            "alias": alias,
            "version": version.id,
            "promotion": row and row["id"],
        },
    )
    connection.execute(query("set_version_state"), {"version": version.id, "state": "ready"})
    return Swap(
        index=version.index_name,
        alias=alias,
        old=None if old is None else _version(connection, old).name,
        new=version.name,
        kind=kind,
        behind=behind,
    )
