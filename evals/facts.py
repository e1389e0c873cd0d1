"""Scoring chunks against the facts that people wrote down about the documents.

The rules are those of the shared cases' scorer, so that figures can be compared: text is compared
without case, width, Markdown marks and kinds of hyphen; a fact is intact when one chunk holds all
of it, and strict when label and value stand on one line besides.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

MEASURES = (
    "rows",
    "rows_strict",
    "texts",
    "paths",
    "pages",
    "must_not",
    "tables",
    "files",
)

_MARKS = re.compile(r"\\(?=[|*_#`])|[*`\u00ad\u200b]")
_LINE_BREAK = re.compile(r"<br\s*/?>")
_ALIKE = str.maketrans({"\u2011": "-", "\u2013": "-", "\u2014": "-", "’": "'"})
_SPACE = re.compile(r"\s+")
_NOT_WORD = re.compile(r"\W")
_BEFORE, _AFTER = r"(?<!\w)(?<!\d[.,])", r"(?!\w)"


@dataclass(frozen=True, slots=True)
class Scored:
    """What of one file's facts was found: counts by measure."""

    kind: str
    wanted: Counter[str]
    found: Counter[str]


@dataclass(frozen=True, slots=True)
class _Text:
    raw: str
    normal: str
    flat: str
    path: str
    pages: tuple[int, int] | None
    table_id: str | None


def score_file(truth: Mapping[str, Any], rows: Iterable[Mapping[str, Any]]) -> Scored:
    """Score the chunk rows of one file against its entry in the ground truth."""
    chunks = [_text(row) for row in rows]
    suffix = str(truth["file"]).rsplit(".", 1)[-1]
    wanted: Counter[str] = Counter()
    found: Counter[str] = Counter()
    for measure, is_right in _outcomes(truth, chunks):
        wanted[measure] += 1
        found[measure] += is_right
    return Scored(f"OCR {suffix}" if truth.get("needs_ocr") else suffix, wanted, found)


def _outcomes(truth: Mapping[str, Any], chunks: Sequence[_Text]) -> Iterator[tuple[str, bool]]:
    for table in truth["tables"]:
        for fact in table["facts"]:
            holding = [chunk for chunk in chunks if _holds_row(chunk, fact)]
            yield "rows", bool(holding)
            yield "rows_strict", any(_holds_line(chunk, fact) for chunk in holding)
    for fact in truth["text_facts"]:
        sentence = flat(fact["sentence"])
        holding = [chunk for chunk in chunks if sentence in chunk.flat]
        yield "texts", bool(holding)
        if fact.get("heading_path"):
            wanted = [_NOT_WORD.sub("", flat(name)) for name in fact["heading_path"]]
            yield "paths", any(all(name in chunk.path for name in wanted) for chunk in holding)
        if fact.get("page"):
            page = fact["page"]
            yield (
                "pages",
                any(chunk.pages and chunk.pages[0] <= page <= chunk.pages[1] for chunk in holding),
            )
    for words in truth["must_not"]:
        yield "must_not", not any(flat(words) in chunk.flat for chunk in chunks)
    ids = {chunk.table_id for chunk in chunks if chunk.table_id}
    if ids and truth["expected_tables"] is not None:
        yield "tables", len(ids) == truth["expected_tables"]
    if truth["tables"] or truth["text_facts"]:
        yield "files", bool(chunks)


def normal(text: str) -> str:
    """Return ``text`` in the spelling in which it is compared."""
    text = unicodedata.normalize("NFC", unicodedata.normalize("NFKC", text)).casefold()
    has_breaks = "<br" in text
    text = _LINE_BREAK.sub(" ", text) if has_breaks else text
    text = _MARKS.sub(" " if has_breaks else "", text)
    return _SPACE.sub(" ", text.translate(_ALIKE)).strip()


def flat(text: str) -> str:
    """Return ``normal(text)`` without any white space."""
    return _SPACE.sub("", normal(text))


def _text(row: Mapping[str, Any]) -> _Text:
    text = normal(row["text"])
    start, end = row.get("page_start"), row.get("page_end")
    return _Text(
        raw=row["text"],
        normal=text,
        flat=_SPACE.sub("", text),
        path=_NOT_WORD.sub("", flat(" ".join(row.get("heading_path") or ()))),
        pages=None if start is None else (start, start if end is None else end),
        table_id=row.get("table_id"),
    )


def _several(value: Any) -> list[str]:
    return [str(item) for item in value] if isinstance(value, list) else [str(value)]


def _holds_row(chunk: _Text, fact: Mapping[str, Any]) -> bool:
    names = [*_several(fact["row"]), *_several(fact["col"])]
    return all(flat(name) in chunk.flat for name in names) and _holds_value(
        chunk.normal, chunk.flat, fact["value"]
    )


def _holds_line(chunk: _Text, fact: Mapping[str, Any]) -> bool:
    for line in re.split(r"\n|</tr>", chunk.raw):
        text = normal(line)
        packed = _SPACE.sub("", text)
        is_named = all(flat(name) in packed for name in _several(fact["row"]))
        if packed and is_named and _holds_value(text, packed, fact["value"]):
            return True
    return False


def _holds_value(text: str, packed: str, value: Any) -> bool:
    return any(_holds_spelling(text, packed, spelling) for spelling in _several(value))


def _holds_spelling(text: str, packed: str, value: str) -> bool:
    wanted = normal(value)
    if re.search(_BEFORE + re.escape(wanted) + _AFTER, text):
        return True
    is_loose = " " in wanted or not wanted.isascii() or not re.search(r"\w", wanted)
    if is_loose and flat(value) in packed:
        return True
    return bool(re.fullmatch(r"-?\d+", wanted)) and _holds_number(text, int(wanted))


def _holds_number(text: str, number: int) -> bool:
    """Whether a whole number stands in ``text`` with separators or with zeros behind a point."""
    comma = f"{number:,}"
    spellings = (
        re.escape(comma) + r"(?:\.0+)?",
        re.escape(comma.replace(",", ".")),
        rf"{number}\.0+",
    )
    return any(re.search(_BEFORE + spelling + _AFTER, text) for spelling in spellings)
