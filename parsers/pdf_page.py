"""One PDF page as pdfium reads it: words with boxes, ruling lines, filled bands, pictures.

All coordinates are points from the top left of the page turned so that most of its text reads
from left to right; ``Page.to_displayed`` turns a box back to the page as a viewer shows it.
"""

from __future__ import annotations

import ctypes
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import pypdfium2.raw as pdfium

from parsers.pdf_drawings import PALE, Box, Frame, Rule, read_drawings, rule_of
from parsers.pdf_words import Glyph, Style, Word, join_glyphs

_BOLD_NAMES = ("bold", "black", "heavy", "semibold", "demi")
_BOLD_FLAG = 1 << 18
_FIXED_PITCH_FLAG = 1
# The same function with its answer as a plain number: a pointer object for each character costs.
_get_object = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int)(
    ctypes.cast(pdfium.FPDFText_GetTextObject, ctypes.c_void_p).value or 0
)
# Cells that pdfium writes to, one call at a time (see ``parsers.pdf_drawings``).
_MATRIX = pdfium.FS_MATRIX()
_MATRIX_REF = ctypes.byref(_MATRIX)
_CHANNELS = [ctypes.c_uint() for _ in range(4)]
_CHANNEL_REFS = [ctypes.byref(channel) for channel in _CHANNELS]
_SOFT_HYPHENS = frozenset((0x02, 0xFFFE))
_SPACES = frozenset((0x0D, 0x0A, 0x20, 0xA0, 0x09, 0x200B))


@dataclass(frozen=True, slots=True)
class Page:
    """What is on one page; ``number`` counts from 1, ``turn`` is in clockwise quarter turns."""

    number: int
    width: float
    height: float
    words: tuple[Word, ...]
    rules: tuple[Rule, ...]
    fills: tuple[Box, ...]
    image_share: float  # of the page's area
    drawings: int  # path objects, of any kind
    turn: int
    glyphs: int
    unmapped: int  # glyphs whose character is unknown (private use, replacement, control)

    def to_displayed(self, box: Box) -> Box:
        """Turn a box of this page back to the page as displayed."""
        x0, top, x1, bottom = box
        if self.turn == 1:
            return (top, self.width - x1, bottom, self.width - x0)
        if self.turn == 2:
            return (self.width - x1, self.height - bottom, self.width - x0, self.height - top)
        if self.turn == 3:
            return (self.height - bottom, x0, self.height - top, x1)
        return box


def read_page(document: Any, index: int) -> Page:
    """Read page ``index`` (from 0) of an open pdfium document and release it."""
    page = document[index]
    try:
        frame = Frame(page)
        rules, fills, grounds, image_share, drawings = read_drawings(page, frame)
        glyphs, unmapped = _read_glyphs(page, frame, grounds)
        turn = _dominant_turn(glyphs)
    finally:
        page.close()
    width, height = frame.width, frame.height
    if turn:
        glyphs = [_turn_glyph(glyph, turn, width, height) for glyph in glyphs]
        fills = [_turn_box(box, turn, width, height) for box in fills]
        rules = [_turn_rule(rule, turn, width, height) for rule in rules]
        if turn % 2:
            width, height = height, width
    return Page(
        number=index + 1,
        width=width,
        height=height,
        words=tuple(join_glyphs(glyphs)),
        rules=tuple(rules),
        fills=tuple(fills),
        image_share=image_share,
        drawings=drawings,
        turn=turn,
        glyphs=len(glyphs),
        unmapped=unmapped,
    )


def _read_glyphs(page: Any, frame: Frame, grounds: Sequence[Box]) -> tuple[list[Glyph], int]:
    text_page = page.get_textpage()
    try:
        return _glyphs_of(text_page.raw, frame, grounds)
    finally:
        text_page.close()


def _glyphs_of(text: Any, frame: Frame, grounds: Sequence[Box]) -> tuple[list[Glyph], int]:
    loose = pdfium.FS_RECTF()
    loose_ref = ctypes.byref(loose)
    get_code, get_box = pdfium.FPDFText_GetUnicode, pdfium.FPDFText_GetLooseCharBox
    handle = ctypes.cast(text, ctypes.c_void_p).value
    to_box = frame.box
    styles: dict[int | None, tuple[Style, int, float]] = {}
    faces: dict[int, tuple[bool, bool]] = {}
    glyphs: list[Glyph] = []
    unmapped = 0
    limit_x, limit_y = frame.width + 2, frame.height + 2
    for index in range(pdfium.FPDFText_CountChars(text)):
        code = get_code(text, index)
        if code in _SPACES:
            glyphs.append(_BLANK)
            continue
        key = _get_object(handle, index)
        known = styles.get(key)
        if known is None:
            known = styles[key] = _style_of(text, index, frame, faces)
        style, quarter, size = known
        if not get_box(text, index, loose_ref):
            continue
        x0, top, x1, bottom = to_box(loose.left, loose.bottom, loose.right, loose.top)
        if x1 < -2 or bottom < -2 or x0 > limit_x or top > limit_y:
            continue
        if (bottom - top if quarter % 2 == 0 else x1 - x0) < 0.3 * size:
            x0, top, x1, bottom = _box_by_origin(text, index, frame, size, quarter) or (
                x0, top, x1, bottom,
            )  # fmt: skip
        if code in _SOFT_HYPHENS:
            char = "\u00ad"
        else:
            char = chr(code)
            if code < 0x20 or 0xE000 <= code <= 0xF8FF or code == 0xFFFD:
                unmapped += 1
        if style.pale and not _is_over((x0 + x1) / 2, (top + bottom) / 2, grounds):
            continue  # white on white: nobody sees it
        glyphs.append(Glyph(char, x0, top, x1, bottom, quarter, style))
    return glyphs, unmapped


def _is_over(x: float, y: float, grounds: Sequence[Box]) -> bool:
    return any(x0 <= x <= x1 and top <= y <= bottom for x0, top, x1, bottom in grounds)


_BLANK = Glyph(" ", 0.0, 0.0, 0.0, 0.0, 0, Style(0.0, False, False, False))


def _style_of(
    text: Any, index: int, frame: Frame, faces: dict[int, tuple[bool, bool]]
) -> tuple[Style, int, float]:
    """Style, direction and size of a text object; ``faces`` remembers the page's fonts."""
    pdfium.FPDFText_GetMatrix(text, index, _MATRIX_REF)
    scale = math.hypot(_MATRIX.c, _MATRIX.d) or 1.0
    size = pdfium.FPDFText_GetFontSize(text, index) * scale
    handle = pdfium.FPDFText_GetTextObject(text, index)
    font = pdfium.FPDFTextObj_GetFont(handle) if handle else None
    face = (False, False)
    if font:
        key = ctypes.addressof(font.contents)
        known = faces.get(key)
        face = faces[key] = _face_of(font) if known is None else known
    style = Style(round(size * 2) / 2 or 1.0, face[0], face[1], _is_pale(text, index))
    return style, frame.quarter(math.atan2(_MATRIX.b, _MATRIX.a)), size


def _face_of(font: Any) -> tuple[bool, bool]:
    """Whether a font is bold, and whether all its letters are equally wide."""
    buffer = ctypes.create_string_buffer(128)
    pdfium.FPDFFont_GetBaseFontName(font, buffer, 128)
    name = buffer.value.decode("utf-8", "replace").lower()
    flags = pdfium.FPDFFont_GetFlags(font)
    is_heavy = pdfium.FPDFFont_GetWeight(font) >= 600 or bool(flags & _BOLD_FLAG)
    bold = is_heavy or any(mark in name for mark in _BOLD_NAMES)
    fixed = bool(flags & _FIXED_PITCH_FLAG) or "courier" in name or "mono" in name
    return bold, fixed


def _is_pale(text: Any, index: int) -> bool:
    """Whether a glyph is filled with white, or with nothing at all."""
    if not pdfium.FPDFText_GetFillColor(text, index, *_CHANNEL_REFS):
        return False
    red, green, blue, alpha = [channel.value for channel in _CHANNELS]
    return alpha < 8 or min(red, green, blue) >= PALE


def _box_by_origin(text: Any, index: int, frame: Frame, size: float, quarter: int) -> Box | None:
    """A box from the baseline and the font size, for fonts that state no height."""
    values = [ctypes.c_double() for _ in range(4)]
    if not pdfium.FPDFText_GetCharBox(text, index, *(ctypes.byref(value) for value in values)):
        return None
    left, right, bottom, top = (value.value for value in values)
    x, y = ctypes.c_double(), ctypes.c_double()
    pdfium.FPDFText_GetCharOrigin(text, index, ctypes.byref(x), ctypes.byref(y))
    box = frame.box(left, bottom, right, top)
    origin_x, origin_y = frame.point(x.value, y.value)
    if quarter == 0:
        return (box[0], origin_y - 0.75 * size, box[2], origin_y + 0.25 * size)
    if quarter == 1:
        return (origin_x - 0.25 * size, box[1], origin_x + 0.75 * size, box[3])
    if quarter == 2:
        return (box[0], origin_y - 0.25 * size, box[2], origin_y + 0.75 * size)
    return (origin_x - 0.75 * size, box[1], origin_x + 0.25 * size, box[3])


def _dominant_turn(glyphs: list[Glyph]) -> int:
    counts = Counter(glyph.quarter for glyph in glyphs if glyph is not _BLANK)
    if not counts:
        return 0
    quarter, count = counts.most_common(1)[0]
    return quarter if count > 0.6 * sum(counts.values()) else 0


def _turn_box(box: Box, turn: int, width: float, height: float) -> Box:
    """Turn a box back by ``turn`` clockwise quarter turns on a page of ``width`` × ``height``."""
    x0, top, x1, bottom = box
    if turn == 1:
        return (top, width - x1, bottom, width - x0)
    if turn == 2:
        return (width - x1, height - bottom, width - x0, height - top)
    return (height - bottom, x0, height - top, x1)


def _turn_glyph(glyph: Glyph, turn: int, width: float, height: float) -> Glyph:
    if glyph is _BLANK:
        return glyph
    x0, top, x1, bottom = _turn_box(
        (glyph.x0, glyph.top, glyph.x1, glyph.bottom), turn, width, height
    )
    return Glyph(glyph.char, x0, top, x1, bottom, (glyph.quarter - turn) % 4, glyph.style)


def _turn_rule(rule: Rule, turn: int, width: float, height: float) -> Rule:
    if rule.horizontal:
        box = _turn_box((rule.start, rule.at, rule.end, rule.at), turn, width, height)
    else:
        box = _turn_box((rule.at, rule.start, rule.at, rule.end), turn, width, height)
    return rule_of(box, horizontal=rule.horizontal == (turn == 2))


def without_words(page: Page, dropped: set[int]) -> Page:
    """The page without the words at these positions of ``page.words``."""
    kept = tuple(word for index, word in enumerate(page.words) if index not in dropped)
    return replace(page, words=kept)
