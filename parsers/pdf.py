"""Text PDF: pages read one by one with pdfium, tables found by lines and by white space."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import pypdfium2

from parsers import ocr
from parsers.elements import Parsed, Unreadable
from parsers.pdf_furniture import Margins, furniture, margins_of
from parsers.pdf_lattice import Grid, find_ruled
from parsers.pdf_page import Page, read_page, without_words
from parsers.pdf_reading import Reading
from parsers.versions import family_id

VERSION = 2
REACH = 2  # pages before and after that show which lines are running heads
SCAN_SHARE = 0.25  # of the page that pictures must cover for a page without text to be a scan
SCAN_DRAWINGS = 150  # text drawn as outlines
FEW_GLYPHS = 12
MOST_AT_WORK = 4  # scanned pages read side by side: each holds a picture and one tesseract
_PASSWORD_CODES = {4, 5}


def parser_id() -> str:
    """Name the family, its version, the library, and tesseract's languages for scanned pages."""
    return f"{family_id('pdf', VERSION, 'pypdfium2')} tesseract={ocr.languages() or 'no'}"


def parse(data: bytes, *, suffix: str) -> Parsed:
    """Parse a PDF file.

    Raises ``Unreadable``: ``empty_file``, ``damaged``, ``encrypted``, ``scanned`` (no text layer
    and no tesseract), ``no_text``. Warnings: ``garbled_text`` (most characters have no known
    meaning), ``scanned_pages`` (pages without text were skipped), ``damaged_pages``.
    """
    if not data:
        raise Unreadable("empty_file", "the file has no bytes; ask its owner for it again")
    document = _open(data)
    try:
        reading = Reading()
        for page, grids in _pages(document, reading):
            reading.add(page, grids)
    finally:
        document.close()
    elements, title = reading.finish()
    if not elements:
        raise reading.failure()
    return Parsed(
        elements=tuple(elements),
        parser_id=parser_id(),
        title=title,
        page_native=True,
        warnings=reading.warnings(),
    )


def _open(data: bytes) -> Any:
    try:
        document = pypdfium2.PdfDocument(data)
        pages = len(document)
    except pypdfium2.PdfiumError as error:
        if getattr(error, "err_code", None) in _PASSWORD_CODES or "password" in str(error).lower():
            raise Unreadable(
                "encrypted", "the PDF asks for a password; save a copy without one"
            ) from None
        raise Unreadable("damaged", "pdfium cannot open the file; export the PDF again") from None
    if not pages:
        document.close()
        raise Unreadable("damaged", "the PDF has no pages; export it again")
    return document


@dataclass(slots=True)
class _Waiting:
    page: Page
    ruled: list[Grid]
    margins: Margins


def _pages(document: Any, reading: Reading) -> Iterator[tuple[Page, list[Grid]]]:
    """Yield pages without furniture; only a few pages are in memory at any time."""
    window: deque[_Waiting] = deque(maxlen=2 * REACH + 1)
    total = len(document)
    ready = 0
    read = _read_all(document, reading)
    for index in range(total + REACH):
        if index < total:
            page = next(read)
            ruled = find_ruled(page)
            window.append(_Waiting(page, ruled, margins_of(page, ruled)))
        if index >= REACH or index >= total - 1:
            while ready <= index - REACH and ready < total:
                item = next(w for w in window if w.page.number == ready + 1)
                near = [w.margins for w in window if abs(w.page.number - item.page.number) <= REACH]
                others = [margins for margins in near if margins is not item.margins]
                dropped = furniture(item.page, item.margins, others)
                yield without_words(item.page, dropped), item.ruled
                ready += 1


def _read_all(document: Any, reading: Reading) -> Iterator[Page]:
    """Yield every page; tesseract reads several scanned ones side by side, pdfium none."""
    at_work = min(os.cpu_count() or 1, MOST_AT_WORK)
    with ThreadPoolExecutor(at_work) as pool:
        ahead: deque[Page | Future[Page]] = deque()
        for index in range(len(document)):
            ahead.append(_read(document, index, reading, pool))
            if len(ahead) > at_work or not any(isinstance(item, Future) for item in ahead):
                yield _ready(ahead.popleft())
        while ahead:
            yield _ready(ahead.popleft())


def _ready(item: Page | Future[Page]) -> Page:
    return item.result() if isinstance(item, Future) else item


def _read(document: Any, index: int, reading: Reading, pool: Executor) -> Page | Future[Page]:
    try:
        page = read_page(document, index)
    except pypdfium2.PdfiumError:
        reading.damaged += 1
        return Page(index + 1, 1.0, 1.0, (), (), (), 0.0, 0, 0, 0, 0)
    is_scan = page.glyphs < FEW_GLYPHS and (
        page.image_share > SCAN_SHARE or page.drawings > SCAN_DRAWINGS or not page.words
    )
    reading.glyphs += len(page.words) and page.glyphs
    reading.unmapped += page.unmapped
    if is_scan and (page.image_share > 0.01 or page.drawings > SCAN_DRAWINGS):
        if ocr.is_installed():
            picture, dpi = ocr.draw_pdf_page(document, index)
            return pool.submit(ocr.read_picture, picture, index + 1, dpi=dpi)
        reading.scanned += 1
    return page
