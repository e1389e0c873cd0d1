"""Pages a second of the PDF parser against pdfium's text alone and pdfplumber's words and tables.

Only PDF files with text on every page count: OCR is another matter. The files are those of the
shared cases unless another folder is named.
"""

from __future__ import annotations

import argparse
import importlib.util
import io
from collections.abc import Callable
from pathlib import Path

import pypdfium2

from bench.ratios import PAIRS, Ratio, facts, machine, seconds, table
from parsers import pdf
from parsers.elements import Unreadable

FOLDER = Path(__file__).resolve().parents[2] / "shared" / "cases" / "docs"
AIM = 1.5  # issue 3: times the library's own time for the same pages
FEW_CHARACTERS = 12


def page_texts(data: bytes) -> list[str]:
    """Each page's text as pdfium gives it, in the order of the file."""
    document = pypdfium2.PdfDocument(data)
    try:
        texts = []
        for page in document:
            textpage = page.get_textpage()
            texts.append(textpage.get_text_range())
            textpage.close()
            page.close()
        return texts
    finally:
        document.close()


def page_boxes(data: bytes) -> int:
    """Each page's text, and the box of each of its characters: what any layout begins with."""
    document = pypdfium2.PdfDocument(data)
    try:
        count = 0
        for page in document:
            textpage = page.get_textpage()
            textpage.get_text_range()
            count += len([textpage.get_charbox(at) for at in range(textpage.count_chars())])
            textpage.close()
            page.close()
        return count
    finally:
        document.close()


def plumb(data: bytes) -> int:
    """Words and cells of tables that pdfplumber finds, with its own settings."""
    import pdfplumber  # noqa: PLC0415 - no dependency of mucluc's

    found = 0
    with pdfplumber.open(io.BytesIO(data)) as document:
        for page in document.pages:
            found += len(page.extract_words())
            found += sum(len(row) for rows in page.extract_tables() for row in rows)
    return found


def text_files(folder: Path) -> list[tuple[bytes, int]]:
    """(bytes, pages) of each PDF file that all three can read and that has text on every page."""
    found = []
    for path in sorted(folder.glob("*.pdf")):
        data = path.read_bytes()
        try:
            texts = page_texts(data)
            pdf.parse(data, suffix=".pdf")
        except (Unreadable, pypdfium2.PdfiumError):
            continue
        if all(len(text.strip()) >= FEW_CHARACTERS for text in texts):
            found.append((data, len(texts)))
    return found


def over_all(call: Callable[[bytes], object], files: list[tuple[bytes, int]]) -> float:
    """Wall seconds of one call for each file."""

    def every() -> None:
        for data, _ in files:
            call(data)

    return seconds(every)


def run(folder: Path = FOLDER, *, pairs: int = PAIRS) -> list[Ratio]:
    """Interleave the parser with each library over the same files; nothing without files."""
    files = text_files(folder)
    if not files:
        print("no PDF files with text to measure on: name a folder with --folder")
        return []
    bare: dict[str, Callable[[bytes], object]] = {
        "pypdfium2, text alone": page_texts,
        "pypdfium2, text and boxes of characters": page_boxes,
    }
    if importlib.util.find_spec("pdfplumber"):
        bare["pdfplumber, words and tables"] = plumb
    else:
        print("pdfplumber is not installed and left out: pip install pdfplumber")
    pages = sum(count for _, count in files)
    rates: dict[str, list[float]] = {}
    found: dict[str, list[float]] = {name: [] for name in bare}
    for call in bare.values():
        over_all(call, files)  # imports and first touches are nobody's time
    for _ in range(pairs):
        ours = over_all(lambda data: pdf.parse(data, suffix=".pdf"), files)
        rates.setdefault("mucluc", []).append(round(pages / ours, 1))
        for name, call in bare.items():
            took = over_all(call, files)
            found[name].append(ours / took)
            rates.setdefault(name, []).append(round(pages / took, 1))
    told = {"files": len(files), "pages": pages, "pages/s": rates}
    return [
        Ratio(
            name=f"PDF parse / {name}",
            pairs=tuple(values),
            aim=AIM,
            facts=told if number == 0 else {},
        )
        for number, (name, values) in enumerate(found.items())
    ]


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, default=FOLDER, help="folder with PDF files")
    parser.add_argument("--pairs", type=int, default=PAIRS)
    asked = parser.parse_args()
    print(machine())
    ratios = run(asked.folder, pairs=asked.pairs)
    print(table(ratios))
    print(facts(ratios))


if __name__ == "__main__":
    main()
