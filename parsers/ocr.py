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
SURE = 70.0
SURE_SHARE = 0.8  # of the letters on a page that stands upright
FEW_LETTERS = 30
SURE_TURN = 2.0  # of tesseract's measure for an orientation; it has no upper end
SMALL_SIDE = 1900  # pixels; smaller pictures are enlarged, since tesseract wants tall letters
LARGE_SIDE = 4200
A4_WIDTH = 8.27  # inches
_X_HEIGHT = frozenset("acemnorsuvwxz")
_TAILS = frozenset("gjpqy,;()[]{}Q/|")


def is_installed() -> bool:
    """Whether tesseract can be run with every language it is asked for.

    With English alone Vietnamese words come out without their marks, and nothing would tell.
    """
    return languages() == "+".join(LANGUAGES)


def languages() -> str:
    """The languages that tesseract has of those wanted, joined by ``+``; empty without it."""
    program = shutil.which("tesseract")
    return "+".join(name for name in LANGUAGES if name in _data_of(program)) if program else ""


@functools.cache
def _data_of(program: str) -> frozenset[str]:
    """The names of tesseract's data files, of languages and of ``osd``."""
    try:
        answer = subprocess.run(
            [program, "--list-langs"], capture_output=True, text=True, timeout=20, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return frozenset()
    return frozenset(answer.stdout.split())


def draw_pdf_page(document: Any, index: int) -> tuple[Image.Image, float]:
    """Render page ``index`` (from 0) of an open pdfium document; the picture and its dpi."""
    page = document[index]
    try:
        width, height = page.get_size()
        scale = min(RENDER_DPI / 72, LARGE_SIDE / max(width, height))
        picture = page.render(scale=scale, grayscale=True).to_pil()
    finally:
        page.close()
    return picture, 72 * scale


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
    pixels, rules, table = _read_upright(np.asarray(grey, dtype=np.uint8))
    lines = list(_lines(table, unit))
    drawn = tuple(
        Rule(rule.horizontal, rule.at * unit, rule.start * unit, rule.end * unit) for rule in rules
    )
    for line in lines:
        _close_brackets(line, drawn)
    words = [word for line in lines for word in line]
    return Page(
        number=number,
        width=pixels.shape[1] * unit,
        height=pixels.shape[0] * unit,
        words=tuple(words),
        rules=drawn,
        fills=(),
        image_share=1.0,
        drawings=0,
        turn=0,
        glyphs=sum(len(word.text) for word in words),
        unmapped=0,
    )


Pixels = NDArray[np.uint8]
Row = dict[str, str]  # of tesseract's table, by its column names


def _read_upright(pixels: Pixels) -> tuple[Pixels, list[Rule], list[Row]]:
    """Read a picture; where hardly a word is sure, read it turned as tesseract advises."""
    pixels, rules, table = _read_deskewed(pixels)
    sure = _sure_letters(table)
    letters = sum(len(row["text"]) for row in table)
    if sure > SURE_SHARE * letters and sure >= FEW_LETTERS:
        return pixels, rules, table
    turns = _turns(pixels)
    if not turns:
        return pixels, rules, table
    turned = _read_deskewed(np.ascontiguousarray(np.rot90(pixels, -turns)))
    return turned if _sure_letters(turned[2]) > sure else (pixels, rules, table)


def _read_deskewed(pixels: Pixels) -> tuple[Pixels, list[Rule], list[Row]]:
    pixels = deskew(pixels)
    rules = find_rules(pixels)
    answer = _run(wipe(pixels, rules), ["-l", "+".join(LANGUAGES), "--psm", "4", "tsv"])
    reader = csv.DictReader(io.StringIO(answer), delimiter="\t", quoting=csv.QUOTE_NONE)
    table = [row for row in reader if row["level"] == "5" and (row.get("text") or "").strip()]
    return pixels, rules, table


def _sure_letters(table: list[Row]) -> int:
    return sum(len(row["text"]) for row in table if float(row["conf"]) >= SURE)


def _turns(pixels: Pixels) -> int:
    """Clockwise quarter turns that set a page upright, by tesseract's own detection; else 0."""
    program = shutil.which("tesseract")
    if program is None or "osd" not in _data_of(program):
        return 0
    try:
        answer = _run(pixels, ["--psm", "0"])
    except Unreadable:  # too few letters to tell
        return 0
    found = dict(line.split(": ", 1) for line in answer.splitlines() if ": " in line)
    try:
        is_sure = float(found.get("Orientation confidence", "0")) >= SURE_TURN
        return int(found.get("Rotate", "0")) // 90 % 4 if is_sure else 0
    except ValueError:
        return 0


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


def _run(pixels: Pixels, options: list[str]) -> str:
    """What tesseract writes about a picture. Raises ``Unreadable`` where it is missing or fails."""
    program = shutil.which("tesseract")
    if program is None:
        raise Unreadable("scanned", INSTALL_HINT)
    data = io.BytesIO()
    Image.fromarray(pixels).save(data, "PNG", compress_level=1)
    try:
        answer = subprocess.run(
            [program, "stdin", "stdout", *options],
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


def _lines(table: list[Row], unit: float) -> Iterable[list[Word]]:
    """Lines of tesseract's table, their words in points, each as tall as its line."""
    lines: dict[tuple[str, str, str], list[tuple[str, list[int]]]] = {}
    for row in table:
        text = row["text"].strip()
        if float(row["conf"]) < MIN_CONFIDENCE and not text.isalnum():
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
        line = []
        for text, (left, top, width, height) in words:
            middle = (top + height / 2) * unit
            line.append(
                Word(
                    text,
                    left * unit,
                    middle - 0.55 * size,
                    (left + width) * unit,
                    middle + 0.55 * size,
                    size,
                    bold=False,
                )
            )
        yield line


def _close_brackets(line: list[Word], rules: Iterable[Rule]) -> None:
    """Give back the closing bracket that a ruling line took at the end of a cell.

    Its bow lies in the line; what is left of it reads like a comma, a colon or nothing.
    """
    opened = False
    for word in line:
        opened = word.text.rfind("(") > word.text.rfind(")") or (opened and ")" not in word.text)
        reach = 0.5 * word.size
        at_line = any(
            not rule.horizontal
            and rule.length > 3 * word.size
            and rule.start < word.middle < rule.end
            and word.x1 - reach < rule.at < word.x1 + reach
            for rule in rules
        )
        if opened and at_line:
            word.text = word.text.rstrip("|,;:.!]}'’") + ")"
        opened = opened and not at_line


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
    """Measured sizes to the sizes that a page is really set in: neighbours become one.

    Two sizes are parted where the measures between them leave a gap.
    """
    groups: list[list[float]] = []
    for size in sorted(sizes):
        usual = statistics.median(groups[-1]) if groups else 0.0
        is_apart = not groups or (size > 1.12 * usual and size > 1.045 * groups[-1][-1])
        if is_apart or size > 1.25 * usual:
            groups.append([size])
        else:
            groups[-1].append(size)
    return {
        size: max(round(statistics.median(group) * 2) / 2, 4.0)
        for group in groups
        for size in group
    }
