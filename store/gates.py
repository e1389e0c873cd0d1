"""What a version must show before an alias may point at it (I11): each gate looks and says."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import Any

import numpy as np
from numpy.typing import NDArray
from psycopg.rows import DictRow

from store.database import Store
from store.errors import coded
from store.reader import Identity, identify
from store.sql import query
from store.versions import Version
from store.words import count

THIN = 0.6  # a revision whose chunks cover less of its text than this share is thin
THIN_SHARE = 0.02  # of the revisions may be: another parser leaves out other page furniture
TEXT_SHARE = 0.9  # of the text that the active version covers, all documents together
ONE_WAY = 0.995  # mean length of a sample of vectors; models with a narrow cone stay below 0.95
DISTINCT = 0.5  # different vectors to different texts; equal vectors of unequal texts are suspect
EACH = 20  # ACL sets of a tenant that probe
FOREIGN = "\x01nobody's tenant"


@dataclass(frozen=True, slots=True, kw_only=True)
class Gate:
    """A gate's result. ``passed`` is None where there was nothing to look at."""

    name: str
    passed: bool | None
    words: str
    figures: dict[str, Any] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """As ``promotion.gates`` keeps it under the gate's name."""
        kept = {"passed": self.passed, "words": self.words, **self.figures}
        return kept | ({"skipped": True} if self.passed is None else {})


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """A stored vector, float32 of shape (dimensions,), and the text that it stands for."""

    vector: NDArray[np.float32]
    prefix: str
    text: str


def complete(store: Store, version: Version, like: Version, *, fallback_share: float) -> Gate:
    """Everything that the active version shows is there, whole, and with real contexts."""
    values = {"version": version.id, "like": like.id, "thin": THIN}
    with store.transaction() as connection:
        found = _one(connection.execute(query("completeness"), values).fetchone())
        text = _one(connection.execute(query("coverage"), values).fetchone())
        contexts = _one(connection.execute(query("fallback_contexts"), values).fetchone())
    figures = {**found, **text, **contexts}
    share = contexts["fallbacks"] / max(contexts["contexts"], 1)
    wrong = []
    if found["missing_documents"]:
        wrong.append(
            f"{count(found['missing_documents'], 'document lacks', 'documents lack')} a revision: "
            f"mucluc backfill --name {version.name}"
        )
    if found["missing_entries"]:
        wrong.append(
            f"{count(found['missing_entries'], 'chunk')} of "
            f"{count(found['documents_without_entries'], 'document')} without an entry"
        )
    if found["miscounted_revisions"]:
        wrong.append(
            f"{count(found['miscounted_revisions'], 'revision has', 'revisions have')} lost chunks"
        )
    if text["thin_revisions"] > THIN_SHARE * text["compared"]:
        wrong.append(
            f"the chunks of {count(text['thin_revisions'], 'revision')} cover less than {THIN:.0%} "
            "of the text that they cover in the active version"
        )
    if text["text_share"] < TEXT_SHARE:
        wrong.append(f"all chunks cover {text['text_share']:.0%} of the active version's text")
    if share > fallback_share:
        wrong.append(f"{share:.1%} of the contexts are stand-ins, {fallback_share:.1%} may be")
    return _gate("complete", wrong, "every live revision is there with all its chunks", figures)


def vectors(
    store: Store, version: Version, *, probe_agrees: bool | None, lowest_cosine: float | None
) -> Gate:
    """Vectors are of the version's model: their shape, and what the caller found by the model.

    ``probe_agrees`` and ``lowest_cosine`` (of stored vectors with fresh ones) are None where the
    model cannot be loaded.
    """
    with store.transaction() as connection:
        found = _one(
            connection.execute(
                query("vector_shape"), {"version": version.id, "dimensions": version.dimensions}
            ).fetchone()
        )
    figures = {**found, "probe_agrees": probe_agrees, "lowest_cosine": lowest_cosine}
    wrong = []
    if not found["entries"]:
        wrong.append("there are none")
    if found["other_dimensions"]:
        wrong.append(f"{found['other_dimensions']} are not of {version.dimensions} dimensions")
    if found["not_unit"]:
        wrong.append(f"{found['not_unit']} are not of unit length")
    texts = found["different_texts"]
    if texts > 1 and found["different"] < max(DISTINCT * texts, 2):
        wrong.append(f"{texts} different texts have {found['different']} different vectors")
    if texts >= 10 and found["mean_length"] > ONE_WAY:
        wrong.append("nearly all of them are equal")
    if probe_agrees is None:
        wrong.append("the model cannot be loaded here, so nobody can tell whose they are")
    elif not probe_agrees:
        wrong.append("the model gives other vectors today than when the version was opened")
    if lowest_cosine is not None and lowest_cosine < 0.98:
        wrong.append(
            f"stored vectors are not those of the model: embedded again, one has a cosine of "
            f"{lowest_cosine:.2f}"
        )
    return _gate("vectors", wrong, "all are the model's own", figures)


def sample(store: Store, version: Version, *, seed: int, limit: int) -> list[Sample]:
    """Some stored vectors with their texts; another seed, another sample."""
    with store.transaction() as connection:
        rows = connection.execute(
            query("vector_sample"), {"version": version.id, "seed": seed, "limit": limit}
        ).fetchall()
    return [
        Sample(vector=row["embedding"].to_numpy(), prefix=row["prefix"], text=row["text"])
        for row in rows
    ]


def visibility(store: Store, version: Version, like: Version, *, today: date) -> Gate:
    """Nobody sees anything else than before: equal days, and probes that look for leaks.

    Each ACL set alone, with its denied principals too, nobody, and a foreign tenant look at both
    versions on several days, through the one filter that every search uses.
    """
    values = {"version": version.id, "like": like.id, "today": today, "each": EACH}
    with store.transaction() as connection:
        days = _one(connection.execute(query("validity_differences"), values).fetchone())
        sets = connection.execute(query("probe_identities"), values).fetchall()
        dates = [row["day"] for row in connection.execute(query("probe_days"), values).fetchall()]
    probes = [
        Identity(tenant=tenant, principals=principals, as_of=day)
        for day in [today, *dates]
        for tenant, principals in _askers(sets)
    ]
    lost = gained = leaks = 0
    for identity in probes:
        seen = _compare(store, version, like, identity)
        lost += seen["lost"]
        gained += seen["gained"]
        if not identity.principals or identity.tenant == FOREIGN:
            leaks += seen["new"]
    figures = {**days, "probes": len(probes), "lost": lost, "gained": gained, "leaks": leaks}
    wrong = []
    if days["other_days"]:
        wrong.append(
            f"{count(days['other_days'], 'document holds', 'documents hold')} on other days"
        )
    if leaks:
        wrong.append(f"{count(leaks, 'document')} can be seen by who may see none")
    if gained:
        wrong.append(f"{count(gained, 'document')} can be seen that could not")
    if lost:
        wrong.append(f"{count(lost, 'document')} cannot be seen that could")
    return _gate(
        "visibility",
        wrong,
        f"{count(len(probes), 'asker sees', 'askers see')} the same documents",
        figures,
    )


def indexes(store: Store, version: Version) -> Gate:
    """Every partition has its vector index and its text index, whole."""
    with store.transaction() as connection:
        parts = connection.execute(query("partitions"), {"version": version.id}).fetchall()
        broken = connection.execute(query("invalid_indexes"), {"version": version.id}).fetchall()
    absent = sum(not row["has_hnsw"] for row in parts) + sum(not row["has_gin"] for row in parts)
    figures = {"partitions": len(parts), "absent": absent, "invalid": len(broken)}
    wrong = []
    if absent:
        wrong.append(f"{absent} are not built: mucluc backfill --name {version.name}")
    if broken:
        wrong.append(f"{len(broken)} were left unfinished: mucluc backfill --name {version.name}")
    return _gate("indexes", wrong, "all are built and valid", figures)


def _askers(sets: Sequence[DictRow]) -> list[tuple[str, tuple[str, ...]]]:
    askers = [(FOREIGN, tuple(row["principals"])) for row in sets[:1]]
    for tenant in sorted({row["tenant"] for row in sets}):
        askers.append((tenant, ()))
    for row in sets:
        askers.append((row["tenant"], tuple(row["principals"])))
        if row["denied"]:
            askers.append((row["tenant"], (*row["principals"], *row["denied"])))
    return askers


def _compare(store: Store, version: Version, like: Version, identity: Identity) -> DictRow:
    with coded(), store.pool.connection() as connection:
        connection.execute(query("become_search"))
        identify(connection, store, identity)
        return _one(
            connection.execute(
                query("compare_visible"), {"version": version.id, "like": like.id}
            ).fetchone()
        )


def _gate(name: str, wrong: list[str], right: str, figures: dict[str, Any]) -> Gate:
    return Gate(name=name, passed=not wrong, words="; ".join(wrong) or right, figures=figures)


def _one(row: DictRow | None) -> DictRow:
    if row is None:
        raise AssertionError("an aggregate returns a row")
    return row
