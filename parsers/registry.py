"""Which parser reads which file, and what every refusal means."""

from __future__ import annotations

import functools
import importlib
import shutil
import subprocess
from dataclasses import replace
from typing import Protocol, cast

from parsers.elements import Element, Kind, Parsed, Table, Unreadable
from parsers.sniffing import check_archive, sniff
from parsers.text import has_text, normalise, normalise_code
from parsers.versions import library_version

# Imported when first needed: most runs meet few families, and some need an optional extra.
MODULES = {
    "markdown": "parsers.markdown",
    "html": "parsers.html",
    "plain": "parsers.plain",
    "delimited": "parsers.delimited",
    "word": "parsers.word",
    "excel": "parsers.excel",
    "pdf": "parsers.pdf",
    "slides": "parsers.slides",
    "mail": "parsers.mail",
    "opendocument": "parsers.opendocument",
    "rich": "parsers.rich",
    "image": "parsers.image",
    "legacy": "parsers.legacy",
}

FAMILIES = {
    ".md": "markdown",
    ".markdown": "markdown",
    ".html": "html",
    ".htm": "html",
    ".xhtml": "html",
    ".txt": "plain",
    ".text": "plain",
    ".log": "plain",
    ".csv": "delimited",
    ".tsv": "delimited",
    ".docx": "word",
    ".docm": "word",
    ".xlsx": "excel",
    ".xlsm": "excel",
    ".xls": "excel",
    ".pdf": "pdf",
    ".pptx": "slides",
    ".pptm": "slides",
    ".eml": "mail",
    ".msg": "mail",
    ".odt": "opendocument",
    ".ods": "opendocument",
    ".odp": "opendocument",
    ".epub": "rich",
    ".rtf": "rich",
    ".org": "rich",
    ".rst": "rich",
    ".png": "image",
    ".jpg": "image",
    ".jpeg": "image",
    ".tif": "image",
    ".tiff": "image",
    ".webp": "image",
    ".doc": "legacy",
    ".ppt": "legacy",
}

REASONS: dict[str, str] = {
    "empty_file": "The file is empty (zero bytes, or nothing but white space).",
    "not_supported": "Files of this type are not read yet.",
    "wrong_type": "The content is not what the file's name says, and not of a type that is read.",
    "encrypted": "The file is protected by a password. Remove the password and save it again.",
    "damaged": "The file is incomplete or broken. Open and save it again in its own program.",
    "no_text": "The file was read but holds no text.",
    "scanned": "The file is a picture of text and needs tesseract: "
    "apt install tesseract-ocr tesseract-ocr-vie",
    "needs_extra": "Files of this type need an optional part: pip install 'mucluc[formats]'",
    "needs_libreoffice": "Old binary Office files need LibreOffice: "
    "apt install libreoffice-writer libreoffice-impress libreoffice-calc",
    "binary": "The file is named as text but holds binary data.",
    "timeout": "Reading the file took longer than the limit for one file.",
    "memory": "Reading the file took more memory than the limit for one file.",
    "too_large": "The file is larger than the limit for one file.",
    "zip_bomb": "The file would grow beyond all measure when unpacked.",
    "crashed": "The process that read the file died. The run went on without it.",
    "broken_metadata": "The metadata beside the file, or in its front matter, cannot be read.",
    "unreadable_source": "The source listed the file but would not give its bytes.",
}

# Families whose files are zip archives or OLE containers: text under such a name is a surprise.
_BINARY_FAMILIES = frozenset(
    {"word", "excel", "slides", "opendocument", "rich", "legacy", "image", "pdf"}
)
# Text that begins with a tag or with mail headers is at home in these.
_TEXT_FAMILIES = frozenset({"markdown", "html", "mail"})
_MARKUP = frozenset({".org", ".rst"})
# Families that read all their suffixes alike (.docm as .docx, .jpeg as .png).
_ONE_READER = frozenset({"word", "slides", "image", "html", "markdown", "pdf"})
_EXTRA_HINT = "pip install 'mucluc[formats]'"
_SCAN_HINT = "apt install tesseract-ocr tesseract-ocr-vie"  # also in REASONS


class Parser(Protocol):
    """What the module of a family offers."""

    VERSION: int

    def parser_id(self) -> str:
        """Family, version and library versions (see ``parsers.versions.family_id``)."""
        ...

    def parse(self, data: bytes, *, suffix: str) -> Parsed:
        """Return the document; raise ``Unreadable`` for what cannot be read."""
        ...


def parse_file(data: bytes, *, suffix: str) -> Parsed:
    """Parse a file's bytes into normalised elements, at least one of them with text.

    ``suffix`` is the file name's, with its dot. Content that is plainly of another type wins over
    it, with the warning ``content_is:SUFFIX``; ``parser_id`` is then still that of the suffix, so
    that ``parser_id_for`` finds the parse again. Raises ``Unreadable`` with a code of ``REASONS``
    and never with words of the document or of a library's exception.
    """
    suffix = suffix.lower()
    if not data.strip(b"\x00 \t\r\n"):
        raise Unreadable("empty_file")
    actual = _actual_suffix(data, suffix)
    family = FAMILIES.get(actual)
    if family is None:
        raise Unreadable("not_supported" if actual == suffix else "wrong_type")
    if data.startswith(b"PK") and family in _BINARY_FAMILIES:
        check_archive(data)
    parsed = _finished(_parse(family, data, actual))
    if actual != suffix:
        parsed = replace(
            parsed,
            parser_id=parser_id_for(suffix) or parsed.parser_id,
            warnings=(*parsed.warnings, f"content_is:{actual}"),
        )
    return parsed


@functools.cache
def parser_id_for(suffix: str) -> str | None:
    """Return the id of the parser for a suffix, or None for a type that is not read."""
    family = FAMILIES.get(suffix.lower())
    if family is None:
        return None
    try:
        return _module(family).parser_id()
    except Unreadable as exc:
        return None if exc.code == "not_supported" else f"{family}-{exc.code}"


def capabilities() -> str:
    """Return what optional helpers are installed, as short text that changes when they do."""
    return " ".join(
        [
            f"tesseract={_tesseract()}",
            f"soffice={'yes' if shutil.which('soffice') or shutil.which('libreoffice') else 'no'}",
            f"unstructured={library_version('unstructured')}",
            f"xlrd={library_version('xlrd')}",
        ]
    )


def _tesseract() -> str:
    program = shutil.which("tesseract")
    if program is None:
        return "no"
    try:
        answer = subprocess.run(  # the path was found by which
            [program, "--list-langs"], capture_output=True, text=True, timeout=20, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return "broken"
    return "+".join(sorted(answer.stdout.split("\n")[1:])).strip("+") or "none"


def _actual_suffix(data: bytes, suffix: str) -> str:
    """The suffix to parse by. Raises ``Unreadable`` for what its content rules out."""
    family = FAMILIES.get(suffix)
    found = sniff(data, suffix)
    if found == ".encrypted":
        raise Unreadable("encrypted", "remove the password and save the file again")
    if found in {".zip", ".ole"}:
        if family in _BINARY_FAMILIES:
            # A damaged archive has lost its directory, and so the members that tell its type.
            if found == ".zip":
                check_archive(data)
            raise Unreadable("damaged" if found == ".ole" else "wrong_type")
        return found if family else suffix
    if found is None:
        is_odd = family in _BINARY_FAMILIES and suffix not in _MARKUP
        return _text_suffix(data, suffix) if is_odd else suffix
    if family is not None and FAMILIES.get(found) == family:
        is_alias = family in _ONE_READER or (found, suffix) == (".xlsx", ".xlsm")
        return suffix if is_alias else found
    if found in {".html", ".eml"} and family in _TEXT_FAMILIES:
        return suffix
    return found


def _text_suffix(data: bytes, suffix: str) -> str:
    """A binary format's name over something without its magic: text, or not what it says."""
    from parsers.encodings import decode  # noqa: PLC0415

    try:
        text, _ = decode(data)
    except Unreadable:
        raise Unreadable("damaged" if suffix == ".pdf" else "wrong_type") from None
    lines = text.split("\n", 20)[:20]
    is_grid = suffix in {".xls", ".xlsx"} and sum("\t" in line for line in lines) > len(lines) // 2
    return ".tsv" if is_grid else ".txt"


def _module(family: str) -> Parser:
    name = MODULES[family]
    try:
        return cast(Parser, importlib.import_module(name))
    except ModuleNotFoundError as exc:
        if exc.name == name:
            is_blind = family == "image" and shutil.which("tesseract") is None
            raise (
                Unreadable("scanned", _SCAN_HINT) if is_blind else Unreadable("not_supported")
            ) from None
        raise Unreadable("needs_extra", _EXTRA_HINT) from None
    except ImportError:
        raise Unreadable("needs_extra", _EXTRA_HINT) from None


def _parse(family: str, data: bytes, suffix: str) -> Parsed:
    module = _module(family)
    try:
        return module.parse(data, suffix=suffix)
    except (Unreadable, MemoryError):
        raise
    except ImportError:
        raise Unreadable("needs_extra", _EXTRA_HINT) from None
    except Exception as exc:
        # The exception's own words may quote the document (I10): its class and place suffice.
        name = type(exc).__name__
        code = "encrypted" if "password" in name.lower() or "encrypt" in name.lower() else "damaged"
        raise Unreadable(code, f"{name} in parsers.{family}, line {_line_of(exc)}") from None


def _line_of(exc: Exception) -> int:
    line = 0
    trace = exc.__traceback__
    while trace is not None:
        if trace.tb_frame.f_globals.get("__name__", "").startswith("parsers."):
            line = trace.tb_lineno
        trace = trace.tb_next
    return line


def _finished(parsed: Parsed) -> Parsed:
    """Elements normalised and empty ones gone, whatever module they come from (I2)."""
    elements = tuple(e for e in map(_normalised, parsed.elements) if e.text or e.table is not None)
    texts = (text for e in elements for text in _texts(e))
    if not parsed.attachments and not any(has_text([text]) for text in texts):
        raise Unreadable("no_text")
    return replace(parsed, elements=elements)


def _texts(element: Element) -> list[str]:
    if element.table is None:
        return [element.text]
    table = element.table
    return [table.caption or "", table.notes or "", *(cell.text for cell in table.cells)]


def _normalised(element: Element) -> Element:
    if element.table is not None:
        table = _normalised_table(element.table)
        is_empty = not any(cell.text for cell in table.cells) and not table.caption
        return replace(element, text="", table=None if is_empty else table)
    clean = normalise_code if element.kind is Kind.CODE else normalise
    text = clean(element.text)
    return element if text == element.text else replace(element, text=text)


def _normalised_table(table: Table) -> Table:
    cells = tuple(
        cell if (text := normalise(cell.text)) == cell.text else replace(cell, text=text)
        for cell in table.cells
    )
    caption = normalise(table.caption or "") or None
    notes = normalise(table.notes or "") or None
    return replace(table, cells=cells, caption=caption, notes=notes)
