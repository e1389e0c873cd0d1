"""Paths and pictures of a PDF page: ruling lines, filled bands, grounds that text stands on."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import pypdfium2.raw as pdfium

Box = tuple[float, float, float, float]
Matrix = tuple[float, float, float, float, float, float]

MAX_OBJECTS = 60_000  # drawings beyond this are maps and plots, not tables
RULE_THICKNESS = 3.0
MIN_RULE = 5.0
PALE = 250  # of 255 in every colour: not to be seen on white
_IDENTITY: Matrix = (1.0, 0.0, 0.0, 1.0, 0.0, 0.0)
_EDGE = "edge"
# Cells that pdfium writes its answers to, one call at a time (it knows no threads): a page has
# thousands of objects, and making new cells for each call costs more than the calls.
_FILL, _STROKE = ctypes.c_int(), ctypes.c_int()
_FILL_REF, _STROKE_REF = ctypes.byref(_FILL), ctypes.byref(_STROKE)
_X, _Y = ctypes.c_float(), ctypes.c_float()
_X_REF, _Y_REF = ctypes.byref(_X), ctypes.byref(_Y)
_MATRIX = pdfium.FS_MATRIX()
_MATRIX_REF = ctypes.byref(_MATRIX)
_CHANNELS = [ctypes.c_uint() for _ in range(4)]
_CHANNEL_REFS = [ctypes.byref(channel) for channel in _CHANNELS]


@dataclass(frozen=True, slots=True)
class Rule:
    """A straight horizontal or vertical line; ``at`` is its fixed coordinate, in points."""

    horizontal: bool
    at: float
    start: float
    end: float

    @property
    def length(self) -> float:
        """In points."""
        return self.end - self.start


class Frame:
    """Maps a page's user space to the displayed page, with the origin at the top left."""

    def __init__(self, page: Any) -> None:
        self.rotation = (page.get_rotation() // 90) % 4
        left, bottom, right, top = page.get_cropbox()
        self.left, self.bottom = min(left, right), min(bottom, top)
        self.inner_width, self.inner_height = abs(right - left), abs(top - bottom)
        swap = self.rotation % 2
        self.width = self.inner_height if swap else self.inner_width
        self.height = self.inner_width if swap else self.inner_height

    @property
    def affine(self) -> Matrix:
        """The same mapping as a matrix."""
        x0, y0 = self.point(0.0, 0.0)
        (ax, ay), (bx, by) = self.point(1.0, 0.0), self.point(0.0, 1.0)
        return (ax - x0, ay - y0, bx - x0, by - y0, x0, y0)

    def point(self, x: float, y: float) -> tuple[float, float]:
        """Map a point."""
        x, y = x - self.left, y - self.bottom
        if self.rotation == 1:
            return y, x
        if self.rotation == 2:
            return self.inner_width - x, y
        if self.rotation == 3:
            return self.inner_height - y, self.inner_width - x
        return x, self.inner_height - y

    def box(self, x0: float, y0: float, x1: float, y1: float) -> Box:
        """Map two corners to (left, top, right, bottom)."""
        if self.rotation == 0 and x0 <= x1 and y0 <= y1:
            height = self.inner_height + self.bottom
            return (x0 - self.left, height - y1, x1 - self.left, height - y0)
        ax, ay = self.point(x0, y0)
        bx, by = self.point(x1, y1)
        return (min(ax, bx), min(ay, by), max(ax, bx), max(ay, by))

    def quarter(self, angle: float) -> int:
        """Clockwise quarter turns, as displayed, of text that runs at ``angle`` (radians)."""
        return int(self.rotation - round(angle / (math.pi / 2))) % 4


def rule_of(box: Box, *, horizontal: bool) -> Rule:
    """The middle line of a thin box."""
    x0, top, x1, bottom = box
    if horizontal:
        return Rule(True, (top + bottom) / 2, x0, x1)
    return Rule(False, (x0 + x1) / 2, top, bottom)


def _multiply(inner: Matrix, outer: Matrix) -> Matrix:
    if inner == _IDENTITY:
        return outer
    a, b, c, d, e, f = inner
    g, h, i, j, k, m = outer
    return (
        a * g + b * i, a * h + b * j, c * g + d * i, c * h + d * j,
        e * g + f * i + k, e * h + f * j + m,
    )  # fmt: skip


def _matrix_of(handle: Any) -> Matrix:
    if not pdfium.FPDFPageObj_GetMatrix(handle, _MATRIX_REF):
        return _IDENTITY
    return (_MATRIX.a, _MATRIX.b, _MATRIX.c, _MATRIX.d, _MATRIX.e, _MATRIX.f)


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
            kind = get_type(handle)
            if kind in (pdfium.FPDF_PAGEOBJ_PATH, pdfium.FPDF_PAGEOBJ_IMAGE):
                yield handle, kind, outer
            elif kind == pdfium.FPDF_PAGEOBJ_FORM and depth < 6:
                inner = _multiply(_matrix_of(handle), outer)
                size = pdfium.FPDFFormObj_CountObjects(handle)
                yield from walk(size, pdfium.FPDFFormObj_GetObject, handle, inner, depth + 1)

    count = pdfium.FPDFPage_CountObjects(page.raw)
    get_type = pdfium.FPDFPageObj_GetType
    yield from walk(count, pdfium.FPDFPage_GetObject, page.raw, _IDENTITY, 0)


def read_drawings(page: Any, frame: Frame) -> tuple[list[Rule], list[Box], list[Box], float, int]:
    """Lines, filled boxes, grounds that white text shows on, pictures' share, count of paths."""
    rules: list[Rule] = []
    fills: list[Box] = []
    grounds: list[Box] = []
    images, drawings = 0.0, 0
    affine = frame.affine
    for handle, kind, outer in _objects(page):
        matrix = _multiply(_matrix_of(handle), outer)
        if kind == pdfium.FPDF_PAGEOBJ_IMAGE:
            a, b, c, d, _, _ = matrix
            images += abs(a * d - b * c)
            grounds.append(_bounds(handle, outer, frame))
            continue
        drawings += 1
        pdfium.FPDFPath_GetDrawMode(handle, _FILL_REF, _STROKE_REF)
        is_filled, is_stroked = bool(_FILL.value), bool(_STROKE.value)
        if not is_filled and not is_stroked:
            continue
        before = len(fills)
        for kind_of, box, stroked in _path_boxes(handle, _multiply(matrix, affine), is_stroked):
            _add_box((kind_of, box), stroked, is_filled and kind_of != _EDGE, rules, fills)
        if is_filled and _is_dark(handle):
            grounds += fills[before:] or [_bounds(handle, outer, frame)]
    area = max(frame.width * frame.height, 1.0)
    return rules, fills, grounds, min(images / area, 1.0), drawings


def _is_dark(handle: Any) -> bool:
    """Whether a filled path has a colour that white text shows on."""
    known = pdfium.FPDFPageObj_GetFillColor(handle, *_CHANNEL_REFS)
    return not known or min(channel.value for channel in _CHANNELS[:3]) < PALE


def _bounds(handle: Any, outer: Matrix, frame: Frame) -> Box:
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


def _path_boxes(handle: Any, matrix: Matrix, is_stroked: bool) -> Iterator[tuple[str, Box, bool]]:
    """Straight parts of a path, "line" or "rect", with the box of each and whether it is drawn.

    ``matrix`` leads to the displayed page. An edge of another shape is an ``_EDGE``.
    """
    count = pdfium.FPDFPath_CountSegments(handle)
    if count > 4000:
        return
    a, b, c, d, e, f = matrix
    get_segment, get_type = pdfium.FPDFPath_GetPathSegment, pdfium.FPDFPathSegment_GetType
    get_point, get_close = pdfium.FPDFPathSegment_GetPoint, pdfium.FPDFPathSegment_GetClose
    points: list[tuple[float, float]] = []
    curved = False
    for index in range(count):
        segment = get_segment(handle, index)
        kind = get_type(segment)
        get_point(segment, _X_REF, _Y_REF)
        x, y = _X.value, _Y.value
        point = (a * x + c * y + e, b * x + d * y + f)
        if kind == pdfium.FPDF_SEGMENT_MOVETO:
            if len(points) > 1 and not curved:
                yield from _straight(points, is_stroked)
            points, curved = [point], False
        else:
            curved = curved or kind == pdfium.FPDF_SEGMENT_BEZIERTO
            points.append(point)
            if get_close(segment) and points[0] != point:
                points.append(points[0])
    if len(points) > 1 and not curved:
        yield from _straight(points, is_stroked)


def _straight(
    points: list[tuple[float, float]], is_stroked: bool
) -> Iterator[tuple[str, Box, bool]]:
    """The shapes of one run of straight segments."""
    corners = {(round(x, 1), round(y, 1)) for x, y in points}
    if len(corners) <= 2 or (
        len(corners) == 4
        and len({x for x, _ in corners}) == 2
        and len({y for _, y in corners}) == 2
    ):
        xs, ys = [x for x, _ in points], [y for _, y in points]
        box = (min(xs), min(ys), max(xs), max(ys))
        yield "rect" if len(corners) == 4 else "line", box, is_stroked
    elif is_stroked:
        for (ax, ay), (bx, by) in pairwise(points):
            yield _EDGE, (min(ax, bx), min(ay, by), max(ax, bx), max(ay, by)), True


def _add_box(
    shape: tuple[str, Box], stroked: bool, filled: bool, rules: list[Rule], fills: list[Box]
) -> None:
    kind, box = shape
    x0, top, x1, bottom = box
    width, height = x1 - x0, bottom - top
    if height <= RULE_THICKNESS and width >= MIN_RULE and width > 2 * height:
        rules.append(rule_of(box, horizontal=True))
    elif width <= RULE_THICKNESS and height >= MIN_RULE and height > 2 * width:
        rules.append(rule_of(box, horizontal=False))
    elif kind == "rect" and stroked and min(width, height) >= MIN_RULE:
        rules += [
            Rule(True, top, x0, x1),
            Rule(True, bottom, x0, x1),
            Rule(False, x0, top, bottom),
            Rule(False, x1, top, bottom),
        ]
    if kind == "rect" and filled and min(width, height) > RULE_THICKNESS:
        fills.append(box)
