"""PowerPoint slides (.pptx): one page each, in reading order, with tables, charts and notes."""

from __future__ import annotations

import io
import zlib
from collections.abc import Iterator
from typing import Any
from zipfile import BadZipFile

from pptx import Presentation
from pptx.enum.shapes import MSO_SHAPE_TYPE, PP_PLACEHOLDER

from parsers.charts import chart_texts, diagram_texts
from parsers.elements import Element, Kind, Parsed, Table, Unreadable
from parsers.grids import table_from_rows
from parsers.packages import Package, local, parse_xml
from parsers.text import normalise
from parsers.versions import family_id

VERSION = 2

_EMU_PER_POINT = 12_700
_ROW_STEP = 12.0  # points: shapes whose tops are nearer than this read from left to right
_FURNITURE = frozenset(
    {PP_PLACEHOLDER.SLIDE_NUMBER, PP_PLACEHOLDER.FOOTER, PP_PLACEHOLDER.DATE, PP_PLACEHOLDER.HEADER}
)
_LISTS = frozenset({PP_PLACEHOLDER.BODY, PP_PLACEHOLDER.OBJECT, PP_PLACEHOLDER.VERTICAL_BODY})

# What python-pptx raises over parts that are not what they should be.
_BROKEN = (KeyError, ValueError, AttributeError, TypeError, OSError)

Box = tuple[float, float, float, float]


def parser_id() -> str:
    """Return the id of this family's parser."""
    return family_id("slides", VERSION, "python-pptx")


def parse(data: bytes, *, suffix: str) -> Parsed:
    """Read a .pptx: per slide its title as a heading, its shapes from the top left, its notes.

    The page of an element is its slide's number. A chart becomes lines of its data. Hidden
    slides are left out, with a warning. Raises ``Unreadable``: encrypted, damaged, zip_bomb.
    """
    Package(data)  # refuses what is encrypted, damaged or a bomb, with its code
    try:
        slides = list(Presentation(io.BytesIO(data)).slides)
    except (*_BROKEN, BadZipFile, zlib.error, EOFError):
        raise Unreadable("damaged", "not a whole presentation") from None
    elements: list[Element] = []
    title: str | None = None
    hidden = False
    for page, slide in enumerate(slides, start=1):
        if slide.element.get("show") in ("0", "false"):
            hidden = True
            continue
        found = list(_slide(slide, page))
        if title is None:
            title = next((e.text for e in found if e.kind is Kind.HEADING), None)
        elements.extend(found)
    return Parsed(
        elements=tuple(elements),
        parser_id=parser_id(),
        title=title,
        page_native=True,
        warnings=("hidden_slides_left_out",) if hidden else (),
    )


def _slide(slide: Any, page: int) -> Iterator[Element]:
    heading = slide.shapes.title
    text = normalise(heading.text_frame.text) if heading is not None else ""
    if text:
        yield Element(
            kind=Kind.HEADING,
            text=" ".join(text.split()),
            level=1,
            page_start=page,
            page_end=page,
            bbox=_box(heading),
        )
    for shape in _in_reading_order(slide.shapes):
        if heading is None or shape.shape_id != heading.shape_id:
            yield from _shape(shape, page)
    if slide.has_notes_slide:
        frame = slide.notes_slide.notes_text_frame
        text = normalise(frame.text) if frame is not None else ""
        if text:
            yield Element(kind=Kind.NOTE, text=text, page_start=page, page_end=page)


def _in_reading_order(shapes: Any) -> list[Any]:
    flat = list(_flatten(shapes))
    boxes = {id(shape): _box(shape) or (0.0, 0.0, 0.0, 0.0) for shape in flat}
    flat.sort(key=lambda shape: boxes[id(shape)][1])
    rows: list[list[Any]] = []
    for shape in flat:
        top = boxes[id(shape)][1]
        if rows and top - boxes[id(rows[-1][0])][1] < _ROW_STEP:
            rows[-1].append(shape)
        else:
            rows.append([shape])
    return [shape for row in rows for shape in sorted(row, key=lambda s: boxes[id(s)][0])]


def _flatten(shapes: Any) -> Iterator[Any]:
    for shape in shapes:
        if shape.shape_type == MSO_SHAPE_TYPE.GROUP:
            yield from _flatten(shape.shapes)
        elif not (shape.is_placeholder and shape.placeholder_format.type in _FURNITURE):
            yield shape


def _box(shape: Any) -> Box | None:
    edges = (shape.left, shape.top, shape.width, shape.height)
    if any(edge is None for edge in edges):
        return None
    left, top, width, height = (edge / _EMU_PER_POINT for edge in edges)
    return (round(left, 1), round(top, 1), round(left + width, 1), round(top + height, 1))


def _shape(shape: Any, page: int) -> Iterator[Element]:
    box = _box(shape)
    if getattr(shape, "has_table", False) and shape.has_table:
        yield from _as_element(_table(shape.table), page, box)
    elif getattr(shape, "has_chart", False) and shape.has_chart:
        for text in chart_texts(shape.chart._chartSpace):
            yield Element(kind=Kind.TEXT, text=text, page_start=page, page_end=page, bbox=box)
    elif shape.has_text_frame:
        is_list = shape.is_placeholder and shape.placeholder_format.type in _LISTS
        yield from _paragraphs(shape.text_frame, page, box, is_list)
    else:
        for text in _diagram(shape):
            yield Element(kind=Kind.LIST_ITEM, text=text, level=1, page_start=page, page_end=page)


def _as_element(table: Table | None, page: int, box: Box | None) -> Iterator[Element]:
    if table is not None:
        yield Element(kind=Kind.TABLE, table=table, page_start=page, page_end=page, bbox=box)


def _paragraphs(frame: Any, page: int, box: Box | None, is_list: bool) -> Iterator[Element]:
    texts = [(normalise(p.text), p.level + 1) for p in frame.paragraphs]
    texts = [(text, level) for text, level in texts if text]
    for text, level in texts:
        as_item = is_list and len(texts) > 1
        yield Element(
            kind=Kind.LIST_ITEM if as_item else Kind.TEXT,
            text=text,
            level=level if as_item else None,
            page_start=page,
            page_end=page,
            bbox=box,
        )


def _table(table: Any) -> Table | None:
    rows, merges = [], []
    for at, row in enumerate(table.rows):
        texts = []
        for col, cell in enumerate(row.cells):
            texts.append("" if cell.is_spanned else cell.text_frame.text)
            if cell.is_merge_origin:
                merges.append((at, col, cell.span_height, cell.span_width))
        rows.append(texts)
    # The style's special first row is on by default, so it weighs no more than bold does.
    return table_from_rows(rows, merges=merges, bold_rows=(0,) if table.first_row else ())


def _diagram(shape: Any) -> Iterator[str]:
    """Yield the words of a SmartArt drawing, from its data part."""
    for node in shape._element.iter():
        if local(node) != "relIds":
            continue
        target = next((v for k, v in node.attrib.items() if str(k).endswith("}dm")), None)
        if target is not None and target in shape.part.rels:
            yield from diagram_texts(parse_xml(shape.part.related_part(target).blob))
