"""Golden questions in the database: what a new version must answer as well as the one before.

Their words come from documents. So they lie where an erasure finds them, and no role but the
pipeline's reads them.
"""

from __future__ import annotations

import hmac
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import date, datetime
from uuid import UUID

from psycopg import Connection
from psycopg.rows import DictRow

from store.database import Store
from store.places import lock_and_find_erased_uris
from store.sql import query


@dataclass(frozen=True, slots=True, kw_only=True)
class NewQuestion:
    """A question to register. ``expected`` are (URI, quote); ``must_not`` URIs."""

    name: str
    query: str
    tenant: str
    principals: tuple[str, ...]
    as_of: date
    expected: tuple[tuple[str, str], ...]
    tags: tuple[str, ...] = ()
    language: str | None = None
    must_not: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredSource:
    """A place that a question names; ``now`` is where its live document is, if one is known.

    ``quote`` is None where this document must not come.
    """

    uri: str
    quote: str | None
    now: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredQuestion:
    """A registered question; a voided one has no words left."""

    id: UUID
    name: str
    query: str | None
    tenant: str
    principals: tuple[str, ...]
    as_of: date
    tags: tuple[str, ...]
    language: str | None
    unanswerable: bool
    sources: tuple[StoredSource, ...]
    added_at: datetime
    voided_at: datetime | None
    voided_why: str | None

    @property
    def state(self) -> str:
        """``asked``, ``gone`` (a document that it expects is not live), or ``voided``."""
        if self.voided_at is not None:
            return "voided"
        expected = [source for source in self.sources if source.quote is not None]
        return "gone" if any(source.now is None for source in expected) else "asked"


@dataclass(frozen=True, slots=True, kw_only=True)
class Added:
    """What became of the questions of a file, by their names."""

    added: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    unchanged: tuple[str, ...] = ()
    voided: tuple[str, ...] = ()  # stay so: an erasure took their words
    erased: tuple[str, ...] = ()  # not taken: they name a place that was erased
    gone: tuple[str, ...] = ()  # of the others: a document that they expect is not there
    unheld: tuple[str, ...] = ()  # of the rest: a quote that the document does not hold


def golden_id(key: bytes, index: str, question: NewQuestion) -> UUID:
    """Id of a question by its content; keyed, so that nobody can test what was once asked."""
    material = json.dumps([index, asdict(question)], default=str, ensure_ascii=True, sort_keys=True)
    return UUID(bytes=hmac.digest(key, material.encode(), "sha256")[:16])


def add(
    store: Store, index: str, questions: Sequence[NewQuestion], *, dry_run: bool = False
) -> Added:
    """Register questions, in one transaction; the same ones again change nothing.

    A question under a known name takes its place, unless that one is voided. With ``dry_run``
    everything is looked at and nothing kept.
    """
    found: dict[str, list[str]] = {name: [] for name in Added.__slots__}
    with store.transaction() as connection:
        places = {(q.tenant, uri) for q in questions for uri in _uris(q)}
        erased = lock_and_find_erased_uris(connection, store.keys.tombstone, places)
        rows = connection.execute(
            query("golden_by_name"), {"index": index, "names": [q.name for q in questions]}
        ).fetchall()
        known = {row["name"]: row for row in rows}
        for question in questions:
            row = known.get(question.name)
            identifier = golden_id(store.keys.golden, index, question)
            if row is not None and row["voided"]:
                what = "voided"
            elif erased & {(question.tenant, uri) for uri in _uris(question)}:
                what = "erased"
            elif row is not None and row["id"] == identifier:
                what = "unchanged"
            else:
                what = "added" if row is None else "changed"
                _replace(connection, index, identifier, question)
            found[what].append(question.name)
        taken = {name for what in ("added", "changed", "unchanged") for name in found[what]}
        found["gone"] = [
            row.name
            for row in _registered(connection, index)
            if row.name in taken and row.state == "gone"
        ]
        if dry_run:
            connection.rollback()
    return Added(**{name: tuple(names) for name, names in found.items()})


def texts_at(store: Store, index: str, tenant: str, uri: str, day: date) -> list[str] | None:
    """What the active version holds of a live document on a day; None where there is none."""
    with store.reading() as connection:
        rows = connection.execute(
            query("texts_at"), {"index": index, "tenant": tenant, "uri": uri, "day": day}
        ).fetchall()
    return [row["text"] for row in rows if row["text"] is not None] if rows else None


def _uris(question: NewQuestion) -> list[str]:
    return [*(uri for uri, _ in question.expected), *question.must_not]


def _replace(
    connection: Connection[DictRow], index: str, identifier: UUID, question: NewQuestion
) -> None:
    connection.execute(query("remove_golden"), {"index": index, "names": [question.name]})
    connection.execute(
        query("add_golden"),
        {
            "id": identifier,
            "index": index,
            "name": question.name,
            "tenant": question.tenant,
            "principals": list(question.principals),
            "as_of": question.as_of,
            "language": question.language,
            "tags": list(question.tags),
            "unanswerable": not question.expected,
            "query": question.query,
        },
    )
    connection.execute(
        query("add_golden_sources"),
        {
            "id": identifier,
            "uris": _uris(question),
            "quotes": [quote for _, quote in question.expected] + [None] * len(question.must_not),
        },
    )


def count(store: Store, index: str) -> int:
    """How many questions an index has, voided ones too."""
    with store.reading() as connection:
        row = connection.execute(query("count_golden"), {"index": index}).fetchone()
    return int(row["questions"]) if row else 0


def registered(store: Store, index: str) -> list[StoredQuestion]:
    """Every question of an index, by name; documents that came since are looked for first."""
    with store.transaction() as connection:
        return _registered(connection, index)


def _registered(connection: Connection[DictRow], index: str) -> list[StoredQuestion]:
    connection.execute(query("link_golden"), {"index": index})
    rows = connection.execute(query("golden_of_index"), {"index": index}).fetchall()
    return [
        StoredQuestion(
            **{name: row[name] for name in row if name not in {"tags", "principals", "sources"}},
            tags=tuple(row["tags"]),
            principals=tuple(row["principals"]),
            sources=tuple(
                StoredSource(uri=uri, quote=quote, now=now) for uri, quote, now in row["sources"]
            ),
        )
        for row in rows
    ]


def remove(
    store: Store, index: str, names: Sequence[str] | None, *, dry_run: bool = False
) -> list[str]:
    """Forget questions by name, or all (None), voided ones too; returns the names that went."""
    with store.transaction() as connection:
        rows = connection.execute(
            query("remove_golden"),
            {"index": index, "names": None if names is None else list(names)},
        ).fetchall()
        if dry_run:
            connection.rollback()
    return sorted(row["name"] for row in rows)


def void(
    connection: Connection[DictRow],
    documents: Sequence[UUID],
    *,
    why: str,
    places: Sequence[tuple[str, str]] = (),
    tenant: str | None = None,
) -> int:
    """Delete the words of every question that names one of these documents; returns how many.

    For an erasure, inside its transaction and before its documents' rows are deleted. ``places``
    are (tenant, URI) where they stood before; ``tenant`` takes all of a tenant's. What is left is
    a label, tags, a tenant and a day. ``why`` is a code. The bytes stay in ``golden`` and
    ``golden_source`` until these are vacuumed.
    """
    return connection.execute(
        query("void_golden"),
        {
            "documents": list(documents),
            "tenants": [owner for owner, _ in places],
            "uris": [uri for _, uri in places],
            "tenant": tenant,
            "why": why,
        },
    ).rowcount
