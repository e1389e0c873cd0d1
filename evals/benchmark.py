"""A self-contained retrieval set: documents of passages, questions, and which passage answers.

The format is that of ``docs/quality.md``: one JSON object a line in each of three files.

- documents: ``{id, title, passages: [{id, text, kind?, cells?, heading_path?}], valid_from?,
  valid_to?}``. A passage with ``cells`` (rows of cell texts) is a table; its header is found as in
  a spreadsheet. ``kind: "code"`` keeps indentation, and is told by its looks where it is not said.
- questions: ``{id, query, tags?, language?, as_of?, answer?}``; what must stand in an answer may
  also be named answer_phrase, must_contain or gold_text, and be a list of spellings.
- judgements: ``{query_id, doc_id, passage_id, relevance?}``.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

from evals.passages import PlacedPassage, elements_of
from parsers.elements import Element

ANSWERS = ("answer", "answer_phrase", "must_contain", "gold_text")
LANGUAGES = ("vi", "en")


class BenchmarkProblem(Exception):
    """A file of a set cannot be used. The message names the file, the line and the cause."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchDocument:
    """A document as a parser would give it, and where its passages stand in its text."""

    id: str
    title: str | None
    elements: tuple[Element, ...]
    passages: tuple[PlacedPassage, ...]
    valid_from: date | None = None
    valid_to: date | None = None  # inclusive

    def holds_on(self, day: date) -> bool:
        """Whether the document is stated to hold on a day."""
        return (self.valid_from is None or self.valid_from <= day) and (
            self.valid_to is None or day <= self.valid_to
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchQuestion:
    """A question, the passages that answer it, as (document, passage), and words of the answer."""

    id: str
    query: str
    gold: tuple[tuple[str, str], ...]
    tags: tuple[str, ...] = ()
    language: str | None = None
    as_of: date | None = None
    answers: tuple[str, ...] = ()

    @property
    def documents(self) -> tuple[str, ...]:
        """The documents that answer."""
        return tuple(dict.fromkeys(document for document, _ in self.gold))


@dataclass(frozen=True, slots=True, kw_only=True)
class Benchmark:
    """A set. ``unjudged`` counts questions left out because no passage is named for them."""

    documents: Mapping[str, BenchDocument]
    questions: tuple[BenchQuestion, ...]
    unjudged: int = 0


def read_benchmark(docs: Path, queries: Path, qrels: Path) -> Benchmark:
    """Read the three files of a set. Raises BenchmarkProblem."""
    documents: dict[str, BenchDocument] = {}
    for place, row in _rows(docs):
        document = _document(place, row)
        if document.id in documents:
            raise BenchmarkProblem(f"{place}: a second document {document.id}")
        documents[document.id] = document
    passages = {(d.id, p.id) for d in documents.values() for p in d.passages}
    gold: dict[str, dict[tuple[str, str], None]] = {}
    for place, row in _rows(qrels):
        if row.get("relevance", 1) <= 0:
            continue
        pair = (_text(place, row, "doc_id"), _text(place, row, "passage_id"))
        if pair not in passages:
            raise BenchmarkProblem(f"{place}: no passage {pair[1]} in document {pair[0]}")
        gold.setdefault(_text(place, row, "query_id"), {})[pair] = None
    questions = []
    unjudged = 0
    for place, row in _rows(queries):
        pairs = tuple(gold.get(_text(place, row, "id"), ()))
        if pairs:
            questions.append(_question(place, row, pairs))
        else:
            unjudged += 1
    if not questions:
        raise BenchmarkProblem(f"{queries}: no question has a passage in {qrels}")
    return Benchmark(documents=documents, questions=tuple(questions), unjudged=unjudged)


def day_of(
    question: BenchQuestion, documents: Mapping[str, BenchDocument], today: date
) -> tuple[date, bool]:
    """Return the day to ask for, and whether it was moved.

    The question's own day, else today. A question without a day whose document does not hold
    today is asked for the day nearest to today on which it does: a set that was written in another
    year asks about what held then.
    """
    if question.as_of is not None:
        return question.as_of, False
    gold = [documents[name] for name in question.documents]
    if any(document.holds_on(today) for document in gold):
        return today, False
    edges = [
        edge
        for document in gold
        for edge in (document.valid_from, document.valid_to)
        if edge is not None and document.holds_on(edge)
    ]
    nearest = min(edges, key=lambda edge: abs((edge - today).days), default=today)
    return nearest, nearest != today


def _rows(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    try:
        lines = path.read_text(encoding="utf-8").split("\n")
    except FileNotFoundError:
        raise BenchmarkProblem(f"{path} is not there") from None
    except (OSError, UnicodeDecodeError) as exc:
        raise BenchmarkProblem(f"{path} cannot be read as UTF-8 ({type(exc).__name__})") from None
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except ValueError:
            raise BenchmarkProblem(f"{path}, line {number}: not JSON") from None
        if not isinstance(row, dict):
            raise BenchmarkProblem(f"{path}, line {number}: not a JSON object")
        yield f"{path}, line {number}", row


def _document(place: str, row: Mapping[str, Any]) -> BenchDocument:
    passages = row.get("passages")
    if not isinstance(passages, list) or not passages:
        raise BenchmarkProblem(f"{place}: no passages")
    for passage in passages:
        if not isinstance(passage, dict) or not isinstance(passage.get("text", ""), str):
            raise BenchmarkProblem(f"{place}: a passage is not an object with a text")
        _text(place, passage, "id")
    elements, placed = elements_of(passages)
    return BenchDocument(
        id=_text(place, row, "id"),
        title=str(row.get("title") or "").strip() or None,
        elements=elements,
        passages=placed,
        valid_from=_day(place, row, "valid_from"),
        valid_to=_day(place, row, "valid_to"),
    )


def _question(
    place: str, row: Mapping[str, Any], gold: tuple[tuple[str, str], ...]
) -> BenchQuestion:
    tags = tuple(str(tag) for tag in row.get("tags") or ())
    answers: Sequence[Any] = [value for name in ANSWERS for value in _several(row.get(name))]
    language = row.get("language") or next((tag for tag in tags if tag in LANGUAGES), None)
    return BenchQuestion(
        id=_text(place, row, "id"),
        query=_text(place, row, "query"),
        gold=gold,
        tags=tags,
        language=language,
        as_of=_day(place, row, "as_of"),
        answers=tuple(dict.fromkeys(str(value) for value in answers if str(value).strip())),
    )


def _several(value: Any) -> list[Any]:
    if value is None:
        return []
    return list(value) if isinstance(value, list) else [value]


def _text(place: str, row: Mapping[str, Any], name: str) -> str:
    value = row.get(name)
    if not isinstance(value, str | int) or not str(value).strip():
        raise BenchmarkProblem(f"{place}: no {name}")
    return str(value)


def _day(place: str, row: Mapping[str, Any], name: str) -> date | None:
    value = row.get(name)
    if not value:
        return None
    try:
        return date.fromisoformat(str(value))
    except ValueError:
        raise BenchmarkProblem(f"{place}: {name} is no day (YYYY-MM-DD)") from None
