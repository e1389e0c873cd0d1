"""Facts kept by mucluc and by other chunkers, over the same files, by the same scorer.

    python -m evals.compare --cases ../shared/cases

Needs the extra "compare" and a checkout (the contenders stand in bench/contenders). Writes the
figures, with the versions and the settings they were made with, to docs/comparison.md.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from chunkers.chunk import Tokenizer
from enrich.embedders import load
from enrich.tokenizers import recipe_for
from evals.facts import score_file
from evals.quality import rows_under, totals

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "comparison.md"
PATIENCE = 3600  # seconds for one contender over all files
MEASURES = {
    "rows": "row facts intact",
    "rows_strict": "row facts strict",
    "texts": "text facts",
    "must_not": "must-not kept out",
    "files": "files read",
}
# Each contender, with the packages whose versions decide its result.
CONTENDERS: dict[str, tuple[str, tuple[str, ...]]] = {
    "mucluc": ("mucluc", ("mucluc",)),
    "unstructured": ("unstructured, `chunk_by_title`", ("unstructured", "pdfminer.six")),
    "langchain": (
        "plain text, LangChain's `RecursiveCharacterTextSplitter`",
        ("langchain-text-splitters", "pypdfium2", "python-docx", "openpyxl", "beautifulsoup4"),
    ),
    "chonkie": (
        "markitdown, chonkie's `TableChunker` and `RecursiveChunker`",
        ("markitdown", "chonkie"),
    ),
}

Sums = dict[str, tuple[Counter[str], Counter[str]]]


class ContenderFailed(Exception):
    """A contender's process ended badly: its last words go to standard error."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """What one contender kept.

    ``sums`` are (wanted, found) by kind of file, as ``evals.quality.totals`` returns them;
    ``tokens`` those of each chunk, by one tokenizer for all; ``unread`` a reason by file.
    """

    name: str
    sums: Sums
    tokens: Sequence[int]
    unread: Mapping[str, str]


def with_facts(truths: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return the files that say anything about a chunker: those with a fact or a must-not."""
    return [t for t in truths if t["tables"] or t["text_facts"] or t["must_not"]]


def compare(
    cases: Path, names: Sequence[str], truths: Sequence[Mapping[str, Any]]
) -> Iterator[Result]:
    """Run each contender over the files of ``truths`` and score its chunks.

    Raises ``ContenderFailed`` when one cannot run at all.
    """
    tokenizer = load("e5").tokenizer
    files = [str(truth["file"]) for truth in truths]
    for name in names:
        lines = _own(cases / "docs", files) if name == "mucluc" else _foreign(name, cases, files)
        yield scored(name, lines, truths, tokenizer)


def scored(
    name: str,
    lines: Iterable[Mapping[str, Any]],
    truths: Sequence[Mapping[str, Any]],
    tokenizer: Tokenizer,
) -> Result:
    """Score lines ``{"file", "text"}`` or ``{"file", "error"}`` against the truths."""
    rows: dict[str, list[Mapping[str, Any]]] = {}
    unread: dict[str, str] = {}
    for line in lines:
        if "error" in line:
            unread[line["file"]] = line["error"]
        else:
            rows.setdefault(line["file"], []).append(line)
    return Result(
        name=name,
        sums=totals(score_file(truth, rows.get(truth["file"], [])) for truth in truths),
        tokens=[tokenizer.count(row["text"]) for found in rows.values() for row in found],
        unread=unread,
    )


def _own(folder: Path, files: Sequence[str]) -> Iterator[Mapping[str, Any]]:
    for name, rows, reason in rows_under(folder, files):
        if reason or not rows:
            yield {"file": name, "error": reason or "nothing found"}
        yield from ({"file": name, "text": row["text"]} for row in rows)


def _foreign(name: str, cases: Path, files: Sequence[str]) -> Iterator[Mapping[str, Any]]:
    command = [sys.executable, "-m", "bench.contenders", name, str((cases / "docs").resolve())]
    done = subprocess.run(
        [*command, *files],
        cwd=ROOT,
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=PATIENCE,
        check=False,
    )
    if done.returncode:
        sys.stderr.write(done.stderr[-2000:])
        raise ContenderFailed(
            f"{name} cannot run here. In a checkout: pip install -c constraints.txt -e '.[compare]'"
        )
    return map(json.loads, done.stdout.splitlines())


def page(results: Sequence[Result], *, budget: int, on: date, files: int) -> str:
    """Write the comparison as Markdown."""
    kinds = sorted({kind for result in results for kind in result.sums} - {"all"})
    names = [CONTENDERS[result.name][0] for result in results]
    lines = [
        "# Comparison with other chunkers",
        "",
        "How much of what people wrote down about the documents can still be read in one chunk. "
        "Every contender reads the same files, one scorer (`evals/facts.py`) judges the chunks' "
        "own text. A *row fact* (row label, column headers, value) is intact when one chunk holds "
        "all of it, and strict when label and value stand on one line besides; a *text fact* is a "
        "sentence that stands whole in one chunk; *must-not* strings are deleted, hidden or script "
        "text that may stand in no chunk.",
        "",
        f"Measured on {on.isoformat()} over {files} files, those that need OCR apart.",
        "",
        *_grid(["", *MEASURES.values()], [_share_row(result) for result in results]),
        "",
        "## By kind of file",
        "",
        "Row facts intact / strict, of how many.",
        "",
        *_grid(
            ["kind", *names], [_kind_row(kind, results) for kind in kinds if _has(kind, results)]
        ),
        "",
        "## Sizes",
        "",
        f"Budgets are meant to be equal: {budget} tokens of multilingual-e5 for mucluc, 1,200 "
        "characters for the others, who count characters (LangChain with its default overlap of "
        "200). Counted with one tokenizer, the others' chunks turn out the larger ones, which "
        "makes it easier for them to keep a table whole:",
        "",
        *_grid(
            ["", "chunks", "median tokens", "largest", f"over {budget}"],
            [_size_row(result, budget) for result in results],
        ),
        "",
        "## Settings and versions",
        "",
        *(
            f"- {CONTENDERS[result.name][0]}: "
            + ", ".join(f"{package} {_version(package)}" for package in CONTENDERS[result.name][1])
            for result in results
        ),
        f"- Python {sys.version_info.major}.{sys.version_info.minor}; no network, no model from a "
        "hub, no OCR engine, no LibreOffice.",
        '- unstructured: `partition(strategy="fast")`, `chunk_by_title(max_characters=1200, '
        "new_after_n_chars=1200)`, its small English model from a wheel. Table chunks count by "
        "their text, in which a table is one line, so that the strict rule is easy on them; their "
        "HTML, which keeps rows apart, scores lower. Its layout models for PDF come from a hub and "
        "were not tried: with them its PDF figures would differ.",
        "- LangChain: text by pypdfium2, python-docx (tables as tabbed lines), openpyxl, "
        "BeautifulSoup and their like (`bench/contenders/readers.py`).",
        "- chonkie: markitdown makes Markdown, `MarkdownChef` finds the tables, `TableChunker` "
        "repeats their headers, `RecursiveChunker` cuts the rest.",
        "- Not a neutral ground: mucluc was developed with these files at hand, the others were "
        "not. Most files are short, and a table that fits one chunk is kept by nearly any chunker; "
        "long tables, PDF and hidden text make the difference. Measure your own documents: write "
        "down some facts in the form of `ground_truth.json`, and run the command on them.",
        "",
        "Files that could not be read (no text found, or an error):",
        "",
        *(f"- {CONTENDERS[result.name][0]}: {_unread(result)}" for result in results),
        "",
        "## Again",
        "",
        "    make compare",
        "",
        "or, in an environment that has the extra `compare`:",
        "",
        "    python -m evals.compare --cases ../shared/cases",
        "",
    ]
    return "\n".join(lines)


def _grid(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    rule = ["---", *("---:" for _ in head[1:])]
    return ["| " + " | ".join(row) + " |" for row in (head, rule, *rows)]


def _share_row(result: Result) -> list[str]:
    wanted, found = result.sums.get("all", (Counter(), Counter()))
    shares = [
        f"{found[m]}/{wanted[m]} ({found[m] / wanted[m]:.0%})" if wanted[m] else "–"
        for m in MEASURES
    ]
    return [CONTENDERS[result.name][0], *shares]


def _has(kind: str, results: Sequence[Result]) -> bool:
    return any(result.sums[kind][0]["rows"] for result in results if kind in result.sums)


def _kind_row(kind: str, results: Sequence[Result]) -> list[str]:
    cells = []
    for result in results:
        wanted, found = result.sums.get(kind, (Counter(), Counter()))
        cells.append(f"{found['rows']} / {found['rows_strict']} of {wanted['rows']}")
    return [kind, *cells]


def _size_row(result: Result, budget: int) -> list[str]:
    tokens = result.tokens or [0]
    over = sum(count > budget for count in tokens) / len(tokens)
    middle = f"{statistics.median(tokens):.0f}"
    name = CONTENDERS[result.name][0]
    return [name, f"{len(result.tokens):,}", middle, f"{max(tokens):,}", f"{over:.0%}"]


def _unread(result: Result) -> str:
    counts = Counter(Path(file).suffix.lstrip(".") for file in result.unread)
    return ", ".join(f"{count} {kind}" for kind, count in sorted(counts.items())) or "none"


def _version(package: str) -> str:
    if package == "mucluc":
        project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
        return str(project["project"]["version"])
    return version(package)


def main() -> int:
    """Run the contenders, write the page, print its first table; 0 when all ran, else 1."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0] if __doc__ else "")
    parser.add_argument("--cases", type=Path, required=True, help="folder with ground_truth.json")
    parser.add_argument("--page", type=Path, default=PAGE, help="Markdown file to write")
    options = parser.parse_args()
    truths = with_facts(json.loads((options.cases / "ground_truth.json").read_text("utf-8")))
    embedder = load("e5")
    budget = recipe_for(embedder.card, embedder.tokenizer).body_budget
    try:
        results = list(compare(options.cases, tuple(CONTENDERS), truths))
    except ContenderFailed as problem:
        sys.stderr.write(f"{problem}\n")
        return 1
    text = page(results, budget=budget, on=datetime.now(UTC).date(), files=len(truths))
    options.page.write_text(text, encoding="utf-8")
    print("\n".join(line for line in text.split("\n## ")[0].splitlines() if line[:1] == "|"))
    print(f"Wrote {options.page}.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
