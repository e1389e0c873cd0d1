"""What the operator may know of one document, whoever may see it: for ``mucluc why``.

These statements run with the pipeline's own rights, past every filter of the read side. Nothing
here may be shown to an asker.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from psycopg.types.json import Jsonb

from store.database import Store
from store.places import keyed_hash, tombstoned
from store.reader import Scope
from store.sql import query

Row = dict[str, Any]
MOST = 2000  # names that a suggestion is looked for among


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """A document's revisions as one version holds them, and its chunks there."""

    revisions: list[Row]  # by sequence; valid is None where the version does not hold one
    chunks: list[Row]  # of published revisions, with has_entry and valid


def find_documents(store: Store, tenant: str, uri: str) -> list[Row]:
    """A tenant's documents at this URI or ending in it, deleted ones too, living ones first.

    Raises StoreError.
    """
    with store.reading() as connection:
        return connection.execute(query("why_documents"), {"tenant": tenant, "uri": uri}).fetchall()


def names_like(store: Store, tenant: str, words: Sequence[str]) -> list[str]:
    """URIs of a tenant that hold one of these folded words, at most ``MOST``."""
    with store.reading() as connection:
        rows = connection.execute(
            query("why_names"), {"tenant": tenant, "words": list(words), "most": MOST}
        ).fetchall()
    return [row["uri"] for row in rows]


def was_erased(store: Store, tenant: str, uri: str) -> bool:
    """Whether a tombstone stands for this URI."""
    with store.reading() as connection:
        digest = keyed_hash(store.keys.tombstone, tenant, "uri", uri.encode())
        return bool(tombstoned(connection, tenant, [digest]))


def standing_in(
    store: Store, document: UUID, version: int, scope: Scope, quoted: Sequence[str]
) -> Standing:
    """A document's revisions and chunks as a version holds them.

    A chunk ``obeys`` the phrases and exclusions of the scope, as a search takes them; ``quoted``
    says whether it holds these phrases too.

    Raises StoreError.
    """
    values = {
        "document": document,
        "version": version,
        "scope": Jsonb(Scope(phrases=scope.phrases, without=scope.without).to_json()),
        "quoted": Jsonb(Scope(phrases=tuple(quoted)).to_json()),
    }
    with store.reading() as connection:
        return Standing(
            revisions=connection.execute(query("why_revisions"), values).fetchall(),
            chunks=connection.execute(query("why_chunks"), values).fetchall(),
        )


def version_facts(store: Store, index: str, alias: str, name: str | None) -> Row | None:
    """A version by alias or by name, with its state and since when the alias points at it."""
    with store.reading() as connection:
        return connection.execute(
            query("why_version"), {"index": index, "alias": alias, "name": name}
        ).fetchone()


def homes(store: Store, document: UUID) -> list[Row]:
    """Versions, with their indexes, that hold a revision of a document."""
    with store.reading() as connection:
        return connection.execute(query("why_homes"), {"document": document}).fetchall()
