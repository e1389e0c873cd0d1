"""Text in pictures: tesseract for the words, their own rulings for the tables.

Tesseract is a program of its own and optional; without it pictures are refused with the command
that installs it.
"""

from __future__ import annotations

import csv
import functools
import io
import os
import shutil
import statistics
import subprocess
import unicodedata
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageFilter

from parsers.elements import Unreadable
from parsers.pdf_drawings import Rule
from parsers.pdf_page import Page
from parsers.pdf_words import Word
from parsers.ruling import deskew, find_rules, wipe

INSTALL_HINT = "apt install tesseract-ocr tesseract-ocr-vie"
LANGUAGES = ("vie", "eng")
TIMEOUT = 180  # seconds for one page
RENDER_DPI = 300
MIN_CONFIDENCE = 25.0  # of 100; below it marks on the paper are taken for letters
SMALL_SIDE = 1900  # pixels; smaller pictures are enlarged, since tesseract wants tall letters
LARGE_SIDE = 4200
A4_WIDTH = 8.27  # inches
_X_HEIGHT = frozenset("acemnorsuvwxz")
_TAILS = frozenset("gjpqy,;()[]{}Q/|")


def is_installed() -> bool:
    """Whether tesseract can be run, with at least one of the languages it is asked for."""
    return languages() != ""


def languages() -> str:
    """The languages that tesseract is run with, joined by ``+``; empty where it is missing."""
    program = shutil.which("tesseract")
    return _languages_of(program) if program else ""


@functools.cache
def _languages_of(program: str) -> str:
    try:
        answer = subprocess.run(
            [program, "--list-langs"], capture_output=True, text=True, timeout=20, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    known = set(answer.stdout.split())
    return "+".join(language for language in LANGUAGES if language in known)


def read_pdf_page(document: Any, index: int) -> Page:
    """Render page ``index`` (from 0) of an open pdfium document and read it.

    Raises ``Unreadable`` (``scanned``) where tesseract fails.
    """
    page = document[index]
    try:
        width, height = page.get_size()
        scale = min(RENDER_DPI / 72, LARGE_SIDE / max(width, height))
        picture = page.render(scale=scale, grayscale=True).to_pil()
    finally:
        page.close()
    return read_picture(picture, index + 1, dpi=72 * scale)


def read_picture(picture: Image.Image, number: int, *, dpi: float | None = None) -> Page:
    """Read one picture as page ``number``; ``dpi`` is taken for that of an A4 sheet if unknown.

    Raises ``Unreadable`` (``scanned``) where tesseract is missing or fails.
    """
    grey = _flat_grey(picture)
    if dpi is None:
        dpi = max(grey.width / A4_WIDTH, 60.0)
    side = max(grey.width, grey.height)
    factor = min(max(1.0, np.ceil(SMALL_SIDE / side)), 4.0) if side < SMALL_SIDE else 1.0
    factor = min(factor, LARGE_SIDE / side)
    if factor != 1.0:
        size = (round(grey.width * factor), round(grey.height * factor))
        grey = grey.resize(size, Image.Resampling.LANCZOS)
    unit = 72 / (dpi * factor)  # points in a pixel
    pixels = deskew(np.asarray(grey, dtype=np.uint8))
    rules = find_rules(pixels)
    words = list(_words(_recognise(wipe(pixels, rules)), unit))
    return Page(
        number=number,
        width=pixels.shape[1] * unit,
        height=pixels.shape[0] * unit,
        words=tuple(words),
        rules=tuple(
            Rule(rule.horizontal, rule.at * unit, rule.start * unit, rule.end * unit)
            for rule in rules
        ),
        fills=(),
        image_share=1.0,
        drawings=0,
        turn=0,
        glyphs=sum(len(word.text) for word in words),
        unmapped=0,
    )


def _flat_grey(picture: Image.Image) -> Image.Image:
    """The picture in grey on white, its contrast stretched."""
    if picture.mode in {"RGBA", "LA", "PA"} or "transparency" in picture.info:
        layer = picture.convert("RGBA")
        ground = Image.new("RGBA", layer.size, "white")
        picture = Image.alpha_composite(ground, layer)
    grey = picture.convert("L")
    # Half a pixel of blur takes the paper's grain, which tesseract would read as thousands of dots.
    pixels = np.asarray(grey.filter(ImageFilter.GaussianBlur(0.7)), dtype=np.float32)
    paper = float(np.median(pixels))
    grain = float(np.median(np.abs(pixels - paper))) * 1.48
    dark, light = float(np.percentile(pixels, 0.1)), paper - max(3.5 * grain, 2.0)
    if light - dark < 12:
        return grey
    stretched = np.clip((pixels - dark) * 255 / (light - dark), 0, 255)
    return Image.fromarray(stretched.astype(np.uint8))


def _recognise(pixels: NDArray[np.uint8]) -> str:
    program = shutil.which("tesseract")
    if program is None:
        raise Unreadable("scanned", INSTALL_HINT)
    data = io.BytesIO()
    Image.fromarray(pixels).save(data, "PNG", compress_level=1)
    command = [program, "stdin", "stdout", "-l", languages(), "--psm", "4", "tsv"]
    try:
        answer = subprocess.run(
            command,
            input=data.getvalue(),
            capture_output=True,
            timeout=TIMEOUT,
            check=True,
            # Its threads spin on each other: on shared cores one alone is the fastest.
            env={**os.environ, "OMP_THREAD_LIMIT": "1"},
        )
    except (OSError, subprocess.SubprocessError):
        # The exception's own words would show the command's output (I10).
        raise Unreadable("scanned", "tesseract failed on a page; check its installation") from None
    return answer.stdout.decode("utf-8", "replace")


def _words(tsv: str, unit: float) -> Iterable[Word]:
    """Words of tesseract's table, in points, each as tall as its line."""
    lines: dict[tuple[str, str, str], list[tuple[str, list[int]]]] = {}
    for row in csv.DictReader(io.StringIO(tsv), delimiter="\t", quoting=csv.QUOTE_NONE):
        text = (row.get("text") or "").strip()
        is_sure = float(row["conf"]) >= MIN_CONFIDENCE
        if row["level"] != "5" or not text or not (is_sure or text.isalnum()):
            continue
        key = (row["block_num"], row["par_num"], row["line_num"])
        box = [int(row[name]) for name in ("left", "top", "width", "height")]
        lines.setdefault(key, []).append((text, box))
    raw = {
        key: statistics.median(box[3] / _height(text) for text, box in words) * unit
        for key, words in lines.items()
    }
    sizes = _snapped(list(raw.values()))
    for key, words in lines.items():
        size = sizes[raw[key]]
        for text, (left, top, width, height) in words:
            middle = (top + height / 2) * unit
            yield Word(
                text,
                left * unit,
                middle - 0.55 * size,
                (left + width) * unit,
                middle + 0.55 * size,
                size,
                bold=False,
            )


def _height(text: str) -> float:
    """The height of a word's ink, of its font size, by the letters in it."""
    parts = unicodedata.normalize("NFD", text)
    marks = [unicodedata.combining(char) for char in parts]
    is_low = all(char in _X_HEIGHT or mark for char, mark in zip(parts, marks, strict=True))
    above = 0.55 if is_low else 0.73
    if any(mark >= 230 for mark in marks):
        above = max(above + (0.0 if is_low else 0.12), 0.78)
    has_tail = any(
        char in _TAILS or 0 < mark < 230 for char, mark in zip(parts, marks, strict=True)
    )
    return above + (0.2 if has_tail else 0.0)


def _snapped(sizes: list[float]) -> dict[float, float]:
    """Measured sizes to the sizes that a page is really set in: neighbours become one."""
    groups: list[list[float]] = []
    for size in sorted(sizes):
        if groups and size <= 1.16 * statistics.median(groups[-1]):
            groups[-1].append(size)
        else:
            groups.append([size])
    return {
        size: max(round(statistics.median(group) * 2) / 2, 4.0)
        for group in groups
        for size in group
    }
