"""Facts about the documents: sentences and table cells, found in the documents' own blocks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from company import acme_people, acme_trade, globex
from company.model import Document, T
from company.statements import effective, readers

DOCUMENTS = (*acme_people.DOCUMENTS, *acme_trade.DOCUMENTS, *globex.DOCUMENTS)
DELIMITED = ("csv", "tsv", "xlsx")  # formats in which only tables and lines above them stand


@dataclass(frozen=True, slots=True)
class Source:
    """Where an answer stands: a sentence, or a cell with its row label and column headers.

    ``quote`` stands verbatim in the document; for a cell it stands in that row alone.
    """

    document: Document
    quote: str
    row: str = ""
    col: tuple[str, ...] = ()
    value: str = ""

    def to_json(self) -> dict[str, Any]:
        """The form in which golden.jsonl holds it."""
        found: dict[str, Any] = {"uri": self.document.uri, "quote": self.quote}
        if self.row:
            found |= {"row": self.row, "col": list(self.col), "value": self.value}
        return found


def said(document: Document, quote: str) -> Source:
    """A sentence of the document. Raises ``ValueError`` unless exactly one block holds it."""
    holders = [text for text in document.texts if quote in text]
    if len(holders) != 1:
        raise ValueError(f"{document.uri}: {len(holders)} blocks hold the quote {quote!r}")
    return Source(document, quote)


def cell(document: Document, row: str, col: str) -> Source:
    """The cell at a row's label and a column's innermost header.

    The quote is the value, or where that is a mere digit or two, or other rows or sentences hold
    it too, another cell of the row that they do not hold. Raises ``ValueError`` when there is no such cell or quote.
    """
    for table in document.tables:
        for number in body(table):
            if table.cell(number, table.label_col) != row:
                continue
            for c in range(len(table.rows[0])):
                if table.headers(c)[-1] == col:
                    value = table.cell(number, c)
                    texts = [
                        value,
                        row,
                        *(table.cell(number, k) for k in range(len(table.rows[0]))),
                    ]
                    quote = next(
                        t for t in texts if len(t) > 2 and _is_distinct(document, table, number, t)
                    )
                    return Source(document, quote, row, table.headers(c), value)
    raise ValueError(f"{document.uri}: no cell at {row!r}, {col!r}")


def _is_distinct(document: Document, table: T, number: int, text: str) -> bool:
    if any(text in other for other in document.texts):
        return False
    rows = [
        (other, n)
        for other in document.tables
        for n in range(len(other.rows))
        if any(text in other.cell(n, c) for c in range(len(other.rows[0])))
    ]
    return rows == [(table, number)]


def body(table: T) -> range:
    """Numbers of the rows below the header."""
    return range(table.header_rows, len(table.rows))


def cells(document: Document) -> Iterator[Source]:
    """Every body cell of every table with its row label and column headers."""
    for table in document.tables:
        for number in body(table):
            for col in range(len(table.rows[0])):
                if col != table.label_col:
                    value = table.cell(number, col)
                    label = table.cell(number, table.label_col)
                    yield Source(document, value, label, table.headers(col), value)


def facts_by_document(quoted: Mapping[str, set[str]]) -> list[dict[str, Any]]:
    """What facts.json holds; ``quoted`` are the sentences asked for, by tenant/URI."""
    found = []
    for document in DOCUMENTS:
        stated = effective(document)
        key = f"{document.tenant}/{document.uri}"
        found.append(
            {
                "tenant": document.tenant,
                "uri": document.uri,
                "title": stated.get("title"),
                "readers": list(readers(document)),
                "valid_from": stated.get("valid_from"),
                "valid_to": stated.get("valid_to"),
                "quotes": sorted(quoted.get(key, ())),
                "cells": [
                    {"row": s.row, "col": list(s.col), "value": s.value} for s in cells(document)
                ],
            }
        )
    return found
