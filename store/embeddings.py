"""The embedding memo: what was embedded once is not embedded again, whatever version asks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import LiteralString
from uuid import UUID

import numpy as np
from numpy.typing import NDArray
from pgvector import Vector
from psycopg import Cursor
from psycopg.errors import UniqueViolation
from psycopg.rows import DictRow

from store.database import Store
from store.errors import StoreError
from store.sql import query


@dataclass(frozen=True, slots=True, kw_only=True)
class Unembedded:
    """A contextual text that no memo holds."""

    key: bytes
    prefix: str
    text: str
    tokens: int


def missing_embeddings(
    store: Store,
    tenant: str,
    model: str,
    context_id: str,
    chunks: Sequence[UUID],
    inputs: Sequence[bytes],
) -> list[tuple[int, Unembedded]]:
    """Contextual texts that this tenant never embedded with this model.

    Each with its position in the given pairs; equal texts come as often as they stand there.
    """
    with store.reading() as connection:
        rows = connection.execute(
            query("missing_embeddings"),
            {
                "tenant": tenant,
                "model": model,
                "context": context_id,
                "chunks": list(chunks),
                "inputs": list(inputs),
            },
        ).fetchall()
    return [
        (
            row["position"] - 1,
            Unembedded(
                key=bytes(row["key"]), prefix=row["prefix"], text=row["text"], tokens=row["tokens"]
            ),
        )
        for row in rows
    ]


def add_embeddings(
    store: Store,
    run: int,
    tenant: str,
    model: str,
    keys: Sequence[bytes],
    vectors: NDArray[np.float32],
) -> int:
    """Write embeddings, float32 of shape (len(keys), dimensions), to the memo by binary COPY.

    Returns rows written: keys that the memo holds by now are left out.
    """
    if not keys:
        return 0
    # The caller has just asked what is missing, so as a rule nothing collides, and a slice goes in
    # without a table to stage it.
    try:
        with store.transaction(run) as connection, connection.cursor() as cursor:
            _copy(cursor, MEMO, (tenant, model), keys, vectors)
        return len(keys)
    except StoreError as error:
        if error.code != UniqueViolation.sqlstate:
            raise
    with store.transaction(run) as connection, connection.cursor() as cursor:
        cursor.execute(
            "create temp table incoming (key bytea, embedding public.vector) on commit drop"
        )
        _copy(cursor, INCOMING, (), keys, vectors)
        cursor.execute(query("memo_from_stage"), {"tenant": tenant, "model": model})
        return max(cursor.rowcount, 0)


MEMO: LiteralString = (
    "copy mucluc.embedding_memo (tenant, model, key, embedding) from stdin (format binary)"
)
INCOMING: LiteralString = "copy incoming (key, embedding) from stdin (format binary)"


def _copy(
    cursor: Cursor[DictRow],
    statement: LiteralString,
    constants: tuple[str, ...],
    keys: Sequence[bytes],
    vectors: NDArray[np.float32],
) -> None:
    with cursor.copy(statement) as copy:
        copy.set_types([*("text" for _ in constants), "bytea", "vector"])
        for key, vector in zip(keys, vectors, strict=True):
            copy.write_row((*constants, key, Vector(vector)))
