"""Filling a version from the stage tables: what another version has and it lacks, and the cost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from uuid import UUID

from store.database import Store
from store.sql import query
from store.versions import Recipe, Version


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """Which revisions a backfill fills in; without any limit, all of them."""

    tenant: str | None = None
    source: str | None = None
    since: date | None = None  # first seen on this day or later

    @property
    def whole(self) -> bool:
        """Whether nothing is left out."""
        return self == Scope()


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """What filling would cost.

    ``exact`` says that every chunk and its context are there already, so that ``chunks`` and
    ``embeddings`` (texts of which the memo holds none) are counted and not estimated.
    """

    revisions: int
    bytes: int
    parses: int
    chunks: int
    embeddings: int
    exact: bool


def lock_key(version: int) -> str:
    """One backfill, promotion or collection of a version at a time."""
    return f"version:{version}"


def revisions_lacking(
    store: Store, version: int, *, like: int, scope: Scope
) -> list[tuple[UUID, int]]:
    """(revision, bytes) of live documents that ``like`` has and ``version`` not, oldest first."""
    with store.transaction() as connection:
        rows = connection.execute(
            query("revisions_lacking"),
            {
                "version": version,
                "like": like,
                "tenant": scope.tenant,
                "source": scope.source,
                "since": scope.since,
            },
        ).fetchall()
    return [(row["id"], row["bytes"]) for row in rows]


def next_name(store: Store, index: str) -> str:
    """The name of an index's next version, unless somebody chooses one."""
    with store.reading() as connection:
        row = connection.execute(query("next_version_name"), {"index": index}).fetchone()
    return str(row["name"]) if row else "v1"


def estimate(
    store: Store,
    recipe: Recipe,
    *,
    like: Version,
    lacking: Sequence[tuple[UUID, int]],
    parsers: Mapping[str, str],
) -> Estimate:
    """What it would cost to give revisions of ``like`` to a version of this recipe.

    ``parsers`` are ids by suffix.
    """
    with store.transaction() as connection:
        row = connection.execute(
            query("estimate_lacking"),
            {
                "like": like.id,
                "revisions": [revision for revision, _ in lacking],
                "suffixes": list(parsers),
                "parsers": list(parsers.values()),
                "chunking": recipe.chunking_id,
                "context": recipe.context_id,
                "model": recipe.fingerprint,
            },
        ).fetchone()
    if row is None:
        raise AssertionError("an aggregate returns a row")
    return Estimate(
        revisions=len(lacking),
        bytes=sum(size for _, size in lacking),
        parses=row["parses"],
        chunks=row["chunks"],
        embeddings=row["embeddings"],
        exact=row["exact"],
    )


def tenants_of(store: Store, version: int) -> list[str]:
    """Whose entries a version has."""
    with store.reading() as connection:
        rows = connection.execute(query("tenants_of_version"), {"version": version}).fetchall()
    return [row["tenant"] for row in rows]


def newest_revision(store: Store, document: UUID) -> UUID | None:
    """The newest revision of a document, published or not."""
    with store.reading() as connection:
        row = connection.execute(query("newest_revision"), {"document": document}).fetchone()
    return None if row is None else row["id"]


def is_superseded(store: Store, revision: UUID) -> bool:
    """Whether a later revision of the same document is published in some version."""
    with store.reading() as connection:
        row = connection.execute(query("superseded"), {"revision": revision}).fetchone()
    return bool(row and row["superseded"])


def whole_backfill_done(store: Store, version: int) -> bool:
    """Whether a backfill of everything ever ended well in a version."""
    with store.reading() as connection:
        row = connection.execute(
            query("whole_backfill_done"), {"key": lock_key(version)}
        ).fetchone()
    return bool(row and row["done"])
