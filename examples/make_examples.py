"""Make the example set: documents, facts, golden questions, and the page that lists them.

    python examples/make_examples.py [--into DIR]

Every run writes the same bytes. What a document says is known here, in ``company/``, so facts and
golden questions are taken from the same blocks that the documents are written from. Needs the
extra ``dev`` (reportlab and font-roboto, for the PDF files).
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from company.catalogue import write_catalogue
from company.facts import DOCUMENTS, facts_by_document
from company.model import TODAY, Document
from company.office_files import write_docx, write_xlsx
from company.pdf_files import FontMissing, write_pdf
from company.plain_files import (
    write_delimited,
    write_html,
    write_mail,
    write_markdown,
    write_text,
)
from company.questions import HR, STAFF, SUPPORT, questions
from company.statements import metadata_files

WRITERS: dict[str, Callable[[Document], bytes]] = {
    "md": write_markdown,
    "html": write_html,
    "txt": write_text,
    "csv": write_delimited,
    "tsv": write_delimited,
    "eml": write_mail,
    "docx": write_docx,
    "xlsx": write_xlsx,
    "pdf": write_pdf,
}


def make_files(*, without_pdf: bool = False) -> dict[str, bytes]:
    """Everything the script makes, by POSIX path below the repository's root.

    Raises ``FontMissing`` when the PDF files are wanted and their font is not installed.
    """
    files = {f"examples/documents/{path}": data for path, data in metadata_files(DOCUMENTS).items()}
    for document in DOCUMENTS:
        if not (without_pdf and document.suffix == "pdf"):
            path = f"examples/documents/{document.tenant}/{document.uri}"
            files[path] = WRITERS[document.suffix](document)
    files["examples/facts.json"] = _facts()
    rows = [question.to_json(number) for number, question in enumerate(questions(), 1)]
    files["examples/golden.jsonl"] = "".join(_line(row) + "\n" for row in rows).encode()
    files["examples/demo_questions.json"] = _demo()
    files["docs/examples.md"] = write_catalogue(DOCUMENTS, questions()).encode()
    return files


def _line(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _facts() -> bytes:
    quoted: dict[str, set[str]] = {}
    for question in questions():
        for source in question.expected:
            if not source.row:
                key = f"{source.document.tenant}/{source.document.uri}"
                quoted.setdefault(key, set()).add(source.quote)
    rows = ",\n".join(_line(entry) for entry in facts_by_document(quoted))
    return f'{{"today": "{TODAY}", "documents": [\n{rows}\n]}}\n'.encode()


def _demo() -> bytes:
    """Three stories for ``make demo``; the third is told twice, for contrast."""
    salary = "Lương cơ bản của Phạm Minh Đức là bao nhiêu?"
    rows = [
        _story(
            "Vietnamese without diacritics",
            "thuong 3 nam tham nien duoc nghi phep bao nhieu ngay",
            STAFF,
            "hr/nghi-phep-2026.docx",
            "16 ngày",
        ),
        _story(
            "an exact code",
            "ERR_4021",
            SUPPORT,
            "engineering/api-errors.md",
            "The terminal is not paired with the merchant account",
        ),
        _story(
            "asked by someone who may not see the answer",
            salary,
            STAFF,
            None,
            None,
            "hr/bang-luong-2026.xlsx",
        ),
        _story(
            "the same, asked by human resources",
            salary,
            HR,
            "hr/bang-luong-2026.xlsx",
            "18.700.000",
        ),
    ]
    return (json.dumps(rows, ensure_ascii=False, indent=2) + "\n").encode()


def _story(
    about: str,
    query: str,
    who: tuple[str, ...],
    uri: str | None,
    quote: str | None,
    hidden: str | None = None,
) -> dict[str, Any]:
    story: dict[str, Any] = {
        "about": about,
        "query": query,
        "tenant": "acme",
        "principals": list(who),
        "as_of": TODAY.isoformat(),
        "expected": uri,
        "quote": quote,
    }
    return story if hidden is None else {**story, "must_not": hidden}


def main() -> int:
    """Write all files; returns the exit code."""
    arguments = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    root = Path(__file__).resolve().parent.parent
    arguments.add_argument("--into", type=Path, default=root, help="root to write below")
    into = arguments.parse_args().into
    try:
        files = make_files()
    except FontMissing as missing:
        print(f"The PDF files need a font: {missing}", file=sys.stderr)
        return 1
    for path, data in files.items():
        target = into / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(data)
    print(f"{len(files)} files, {sum(map(len, files.values())) // 1024} KiB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
