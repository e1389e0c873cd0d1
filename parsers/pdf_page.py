"""One PDF page as pdfium reads it: words with boxes, ruling lines, filled bands, pictures.

All coordinates are points from the top left of the page turned so that most of its text reads
from left to right; ``Page.to_displayed`` turns a box back to the page as a viewer shows it.
"""

from __future__ import annotations

import ctypes
import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pypdfium2.raw as pdfium

from parsers.pdf_words import Glyph, Style, Word, join_glyphs

Box = tuple[float, float, float, float]
Matrix = tuple[float, float, float, float, float, float]

MAX_OBJECTS = 60_000  # drawings beyond this are maps and plots, not tables
RULE_THICKNESS = 3.0
MIN_RULE = 5.0
PALE = 250  # of 255 in every colour: not to be seen on white
_IDENTITY: Matrix = (1.0, 0.0, 0.0, 1.0, 0.0, 0.0)
_BOLD_NAMES = ("bold", "black", "heavy", "semibold", "demi")
_BOLD_FLAG = 1 << 18
_FIXED_PITCH_FLAG = 1


@dataclass(frozen=True, slots=True)
class Rule:
    """A straight horizontal or vertical line; ``at`` is its fixed coordinate, in points."""

    horizontal: bool
    at: float
    start: float
    end: float

    @property
    def length(self) -> float:
        return self.end - self.start


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
        frame = _Frame(page)
        rules, fills, grounds, image_share, drawings = _read_drawings(page, frame)
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


class _Frame:
    """Maps a page's user space to the displayed page, with the origin at the top left."""

    def __init__(self, page: Any) -> None:
        self.rotation = (page.get_rotation() // 90) % 4
        left, bottom, right, top = page.get_cropbox()
        self.left, self.bottom = min(left, right), min(bottom, top)
        self.inner_width, self.inner_height = abs(right - left), abs(top - bottom)
        swap = self.rotation % 2
        self.width = self.inner_height if swap else self.inner_width
        self.height = self.inner_width if swap else self.inner_height

    def point(self, x: float, y: float) -> tuple[float, float]:
        x, y = x - self.left, y - self.bottom
        if self.rotation == 1:
            return y, x
        if self.rotation == 2:
            return self.inner_width - x, y
        if self.rotation == 3:
            return self.inner_height - y, self.inner_width - x
        return x, self.inner_height - y

    def box(self, x0: float, y0: float, x1: float, y1: float) -> Box:
        ax, ay = self.point(x0, y0)
        bx, by = self.point(x1, y1)
        return (min(ax, bx), min(ay, by), max(ax, bx), max(ay, by))

    def quarter(self, angle: float) -> int:
        """Clockwise quarter turns, as displayed, of text that runs at ``angle`` (radians)."""
        return (self.rotation - round(angle / (math.pi / 2))) % 4


def _read_glyphs(page: Any, frame: _Frame, grounds: Sequence[Box]) -> tuple[list[Glyph], int]:
    text_page = page.get_textpage()
    try:
        return _glyphs_of(text_page.raw, frame, grounds)
    finally:
        text_page.close()


def _glyphs_of(text: Any, frame: _Frame, grounds: Sequence[Box]) -> tuple[list[Glyph], int]:
    loose, matrix = pdfium.FS_RECTF(), pdfium.FS_MATRIX()
    loose_ref, matrix_ref = ctypes.byref(loose), ctypes.byref(matrix)
    get_code, get_box = pdfium.FPDFText_GetUnicode, pdfium.FPDFText_GetLooseCharBox
    get_object = pdfium.FPDFText_GetTextObject
    styles: dict[int, tuple[Style, int, float]] = {}
    glyphs: list[Glyph] = []
    unmapped = 0
    limit_x, limit_y = frame.width + 2, frame.height + 2
    for index in range(pdfium.FPDFText_CountChars(text)):
        code = get_code(text, index)
        if code in (0x0D, 0x0A, 0x20, 0xA0, 0x09, 0x200B):
            glyphs.append(_BLANK)
            continue
        handle = get_object(text, index)
        key = ctypes.addressof(handle.contents) if handle else 0
        known = styles.get(key)
        if known is None:
            pdfium.FPDFText_GetMatrix(text, index, matrix_ref)
            known = styles[key] = _style_of(text, index, handle, matrix, frame)
        style, quarter, size = known
        if not get_box(text, index, loose_ref):
            continue
        x0, top, x1, bottom = frame.box(loose.left, loose.bottom, loose.right, loose.top)
        if x1 < -2 or bottom < -2 or x0 > limit_x or top > limit_y:
            continue
        if (bottom - top if quarter % 2 == 0 else x1 - x0) < 0.3 * size:
            x0, top, x1, bottom = _box_by_origin(text, index, frame, size, quarter) or (
                x0, top, x1, bottom,
            )  # fmt: skip
        if code == 0xFFFD or 0xE000 <= code <= 0xF8FF or (code < 0x20 and code != 0x02):
            unmapped += 1
        elif code == 0:
            continue
        char = "\u00ad" if code in (0x02, 0xFFFE) else chr(code)
        if style.pale and not _is_over((x0 + x1) / 2, (top + bottom) / 2, grounds):
            continue  # white on white: nobody sees it
        glyphs.append(Glyph(char, x0, top, x1, bottom, quarter, style))
    return glyphs, unmapped


def _is_over(x: float, y: float, grounds: Sequence[Box]) -> bool:
    return any(x0 <= x <= x1 and top <= y <= bottom for x0, top, x1, bottom in grounds)


_BLANK = Glyph(" ", 0.0, 0.0, 0.0, 0.0, 0, Style(0.0, False, False, False))


def _style_of(
    text: Any, index: int, handle: Any, matrix: Any, frame: _Frame
) -> tuple[Style, int, float]:
    scale = math.hypot(matrix.c, matrix.d) or 1.0
    size = pdfium.FPDFText_GetFontSize(text, index) * scale
    name, flags, weight = "", 0, 0
    if handle:
        font = pdfium.FPDFTextObj_GetFont(handle)
        if font:
            buffer = ctypes.create_string_buffer(128)
            pdfium.FPDFFont_GetBaseFontName(font, buffer, 128)
            name = buffer.value.decode("utf-8", "replace").lower()
            flags = pdfium.FPDFFont_GetFlags(font)
            weight = pdfium.FPDFFont_GetWeight(font)
    bold = weight >= 600 or bool(flags & _BOLD_FLAG) or any(mark in name for mark in _BOLD_NAMES)
    fixed = bool(flags & _FIXED_PITCH_FLAG) or "courier" in name or "mono" in name
    style = Style(round(size * 2) / 2 or 1.0, bold, fixed, _is_pale(text, index))
    return style, frame.quarter(math.atan2(matrix.b, matrix.a)), size


def _is_pale(text: Any, index: int) -> bool:
    """Whether a glyph is filled with white, or with nothing at all."""
    channels = [ctypes.c_uint() for _ in range(4)]
    if not pdfium.FPDFText_GetFillColor(text, index, *(ctypes.byref(c) for c in channels)):
        return False
    red, green, blue, alpha = (channel.value for channel in channels)
    return alpha < 8 or min(red, green, blue) >= PALE


def _box_by_origin(text: Any, index: int, frame: _Frame, size: float, quarter: int) -> Box | None:
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
    return _rule(box, horizontal=rule.horizontal == (turn == 2))


def _rule(box: Box, *, horizontal: bool) -> Rule:
    x0, top, x1, bottom = box
    if horizontal:
        return Rule(True, (top + bottom) / 2, x0, x1)
    return Rule(False, (x0 + x1) / 2, top, bottom)


def _multiply(inner: Matrix, outer: Matrix) -> Matrix:
    a, b, c, d, e, f = inner
    g, h, i, j, k, m = outer
    return (
        a * g + b * i, a * h + b * j, c * g + d * i, c * h + d * j,
        e * g + f * i + k, e * h + f * j + m,
    )  # fmt: skip


def _matrix_of(handle: Any) -> Matrix:
    matrix = pdfium.FS_MATRIX()
    if not pdfium.FPDFPageObj_GetMatrix(handle, ctypes.byref(matrix)):
        return _IDENTITY
    return (matrix.a, matrix.b, matrix.c, matrix.d, matrix.e, matrix.f)


def _objects(page: Any) -> Iterator[tuple[Any, int, Matrix]]:
    """Every path and picture with the matrix of the forms around it."""
    left = MAX_OBJECTS

    def walk(count: int, get: Any, parent: Any, outer: Matrix, depth: int) -> Iterator[Any]:
        nonlocal left
        for index in range(count):
            if left <= 0:
                return
            left -= 1
            handle = get(parent, index)
            kind = pdfium.FPDFPageObj_GetType(handle)
            if kind in (pdfium.FPDF_PAGEOBJ_PATH, pdfium.FPDF_PAGEOBJ_IMAGE):
                yield handle, kind, outer
            elif kind == pdfium.FPDF_PAGEOBJ_FORM and depth < 6:
                inner = _multiply(_matrix_of(handle), outer)
                size = pdfium.FPDFFormObj_CountObjects(handle)
                yield from walk(size, pdfium.FPDFFormObj_GetObject, handle, inner, depth + 1)

    count = pdfium.FPDFPage_CountObjects(page.raw)
    yield from walk(count, pdfium.FPDFPage_GetObject, page.raw, _IDENTITY, 0)


def _read_drawings(
    page: Any, frame: _Frame
) -> tuple[list[Rule], list[Box], list[Box], float, int]:
    """Lines, filled boxes, grounds that white text shows on, pictures' share, count of paths."""
    rules: list[Rule] = []
    fills: list[Box] = []
    grounds: list[Box] = []
    images, drawings = 0.0, 0
    for handle, kind, outer in _objects(page):
        matrix = _multiply(_matrix_of(handle), outer)
        if kind == pdfium.FPDF_PAGEOBJ_IMAGE:
            a, b, c, d, _, _ = matrix
            images += abs(a * d - b * c)
            grounds.append(_bounds(handle, outer, frame))
            continue
        drawings += 1
        before = len(fills)
        is_dark = _is_dark(handle)
        for box, stroked, filled in _path_boxes(handle, matrix, frame):
            _add_box(box, stroked, filled, rules, fills)
        if is_dark:
            grounds += fills[before:] or [_bounds(handle, outer, frame)]
    area = max(frame.width * frame.height, 1.0)
    return rules, fills, grounds, min(images / area, 1.0), drawings


def _is_dark(handle: Any) -> bool:
    """Whether a path is filled with a colour that white text shows on."""
    fill, stroke = ctypes.c_int(), ctypes.c_int()
    pdfium.FPDFPath_GetDrawMode(handle, ctypes.byref(fill), ctypes.byref(stroke))
    channels = [ctypes.c_uint() for _ in range(4)]
    known = pdfium.FPDFPageObj_GetFillColor(handle, *(ctypes.byref(c) for c in channels))
    return bool(fill.value) and (not known or min(c.value for c in channels[:3]) < PALE)


def _bounds(handle: Any, outer: Matrix, frame: _Frame) -> Box:
    """The box around an object, on the displayed page."""
    values = [ctypes.c_float() for _ in range(4)]
    if not pdfium.FPDFPageObj_GetBounds(handle, *(ctypes.byref(value) for value in values)):
        return (0.0, 0.0, 0.0, 0.0)
    left, bottom, right, top = (value.value for value in values)
    a, b, c, d, e, f = outer
    return frame.box(
        a * left + c * bottom + e, b * left + d * bottom + f,
        a * right + c * top + e, b * right + d * top + f,
    )  # fmt: skip


def _path_boxes(
    handle: Any, matrix: Matrix, frame: _Frame
) -> Iterator[tuple[tuple[str, Box], bool, bool]]:
    """Straight parts of a path: ("line" or "rect", box), stroked, filled."""
    fill, stroke = ctypes.c_int(), ctypes.c_int()
    pdfium.FPDFPath_GetDrawMode(handle, ctypes.byref(fill), ctypes.byref(stroke))
    if not fill.value and not stroke.value:
        return
    a, b, c, d, e, f = matrix
    x, y = ctypes.c_float(), ctypes.c_float()
    count = pdfium.FPDFPath_CountSegments(handle)
    if count > 4000:
        return
    points: list[tuple[float, float]] = []
    curved = False

    def flush() -> Iterator[tuple[tuple[str, Box], bool, bool]]:
        if len(points) < 2 or curved:
            return
        xs, ys = [p[0] for p in points], [p[1] for p in points]
        box = (min(xs), min(ys), max(xs), max(ys))
        corners = {(round(px, 1), round(py, 1)) for px, py in points}
        is_box = len(corners) == 4 and len({cx for cx, _ in corners}) == 2
        if (is_box and len({cy for _, cy in corners}) == 2) or len(corners) <= 2:
            yield ("rect" if is_box else "line", box), bool(stroke.value), bool(fill.value)
            return
        if stroke.value:
            for (ax, ay), (bx, by) in zip(points, points[1:], strict=False):
                yield ("line", (min(ax, bx), min(ay, by), max(ax, bx), max(ay, by))), True, False

    for index in range(count):
        segment = pdfium.FPDFPath_GetPathSegment(handle, index)
        kind = pdfium.FPDFPathSegment_GetType(segment)
        pdfium.FPDFPathSegment_GetPoint(segment, ctypes.byref(x), ctypes.byref(y))
        point = frame.point(a * x.value + c * y.value + e, b * x.value + d * y.value + f)
        if kind == pdfium.FPDF_SEGMENT_MOVETO:
            yield from flush()
            points, curved = [point], False
        else:
            curved = curved or kind == pdfium.FPDF_SEGMENT_BEZIERTO
            points.append(point)
            if pdfium.FPDFPathSegment_GetClose(segment) and points[0] != point:
                points.append(points[0])
    yield from flush()


def _add_box(
    shape: tuple[str, Box], stroked: bool, filled: bool, rules: list[Rule], fills: list[Box]
) -> None:
    kind, box = shape
    x0, top, x1, bottom = box
    width, height = x1 - x0, bottom - top
    if height <= RULE_THICKNESS and width >= MIN_RULE and width > 2 * height:
        rules.append(_rule(box, horizontal=True))
    elif width <= RULE_THICKNESS and height >= MIN_RULE and height > 2 * width:
        rules.append(_rule(box, horizontal=False))
    elif kind == "rect" and stroked and min(width, height) >= MIN_RULE:
        rules += [
            Rule(True, top, x0, x1),
            Rule(True, bottom, x0, x1),
            Rule(False, x0, top, bottom),
            Rule(False, x1, top, bottom),
        ]
    if kind == "rect" and filled and min(width, height) > RULE_THICKNESS:
        fills.append(box)


def without_words(page: Page, dropped: set[int]) -> Page:
    """The page without the words at these positions of ``page.words``."""
    kept = tuple(word for index, word in enumerate(page.words) if index not in dropped)
    return replace(page, words=kept)
