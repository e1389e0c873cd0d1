"""Pictures of text: scans and photographs, read by tesseract."""

from __future__ import annotations

import io
import warnings

from PIL import Image, ImageSequence, UnidentifiedImageError

from parsers import ocr
from parsers.elements import Parsed, Unreadable
from parsers.pdf_lattice import find_ruled
from parsers.pdf_reading import Reading
from parsers.versions import family_id

VERSION = 2
MAX_FRAMES = 200


def parser_id() -> str:
    """Name the family, its version, the picture library and tesseract's languages."""
    return f"{family_id('image', VERSION, 'pillow')} tesseract={ocr.languages() or 'no'}"


def parse(data: bytes, *, suffix: str) -> Parsed:
    """Parse a picture; each frame of a TIFF is a page.

    Raises ``Unreadable``: ``empty_file``, ``scanned`` (no tesseract), ``damaged``, ``too_large``,
    ``no_text``.
    """
    if not data:
        raise Unreadable("empty_file", "the file has no bytes; ask its owner for it again")
    if not ocr.is_installed():
        raise Unreadable("scanned", ocr.INSTALL_HINT)
    reading = Reading()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", Image.DecompressionBombWarning)
            picture = Image.open(io.BytesIO(data))
            for number, frame in enumerate(ImageSequence.Iterator(picture), start=1):
                if number > MAX_FRAMES:
                    break
                page = ocr.read_picture(frame, number, dpi=_dpi(frame))
                reading.add(page, find_ruled(page))
    except (Image.DecompressionBombError, Image.DecompressionBombWarning):
        raise Unreadable("too_large", "the picture has too many pixels; save it smaller") from None
    except (UnidentifiedImageError, OSError, SyntaxError, ValueError):
        raise Unreadable("damaged", "the picture cannot be opened; save it again") from None
    elements, title = reading.finish()
    if not elements:
        raise Unreadable("no_text", "no text was found in the picture")
    return Parsed(
        elements=tuple(elements),
        parser_id=parser_id(),
        title=title,
        page_native=True,
        warnings=reading.warnings(),
    )


def _dpi(picture: Image.Image) -> float | None:
    """The stated resolution where it is believable for a page of text."""
    stated = picture.info.get("dpi")
    value = float(stated[0]) if isinstance(stated, tuple) and stated else 0.0
    return value if 90 <= value <= 1200 and 3 < picture.width / value < 20 else None
