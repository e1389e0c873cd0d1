"""Normalised text: the one spelling of white space and characters that offsets refer to (I2)."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence

from parsers.elements import Element, Table

ELEMENT_SEPARATOR = "\n\n"
CELL_SEPARATOR = " | "

# U+2029 ends a paragraph; the others end a line.
_BREAKS = {"\v": "\n", "\f": "\n", "\x85": "\n", "\u2028": "\n", "\u2029": "\n\n"}
# Line breaks in every notation are handled before controls and format characters are dropped.
_SPECIAL = re.compile(
    "["
    "\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\xa0\xad\u034f\u061c\u115f\u1160\u1680\u17b4\u17b5\u180b-\u180e"
    "\u2000-\u200f\u2028-\u202f\u205f-\u206f\u3000\u3164\ufeff\uffa0\ufff9-\ufffb\ufffe\uffff"
    "\ud800-\udfff\U000e0000-\U000e007f"
    "]"
)
# Characters of _SPECIAL that str.isprintable lets pass.
_UNSEEN = re.compile("[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u3164\uffa0]")
_SPACES = re.compile("[ \t]{2,}|\t")
_AROUND_BREAK = re.compile(" ?\n ?")
_BREAK_RUN = re.compile("\n{3,}")
_TRAILING = re.compile("[ \t]+(?=\n|$)")


def normalise(text: str) -> str:
    """Return ``text`` in NFC with canonical white space; idempotent.

    Control, zero-width and other invisible characters and lone surrogates are dropped, every kind
    of space and run of spaces or tabs becomes one space, line ends become ``\\n`` without spaces
    around them, and more than two of them become two.
    """
    if _is_clean(text):
        return text
    text = _SPACES.sub(" ", _visible(text))
    if "\n" in text:
        text = _BREAK_RUN.sub("\n\n", _AROUND_BREAK.sub("\n", text))
    return text.strip(" \n")


def normalise_code(text: str) -> str:
    """Return ``text`` as ``normalise`` does, but with its indentation, tabs and blank lines."""
    return _TRAILING.sub("", _visible(text)).strip("\n")


def document_text(elements: Iterable[Element]) -> tuple[str, list[tuple[int, int]]]:
    """Return a document's normalised text and each element's (start, end) in it.

    Elements are joined by a blank line; one without text takes an empty span and no blank line.
    """
    parts: list[str] = []
    spans: list[tuple[int, int]] = []
    length = 0
    for element in elements:
        text = element.text if element.table is None else table_text(element.table)
        if text and length:
            parts.append(ELEMENT_SEPARATOR)
            length += len(ELEMENT_SEPARATOR)
        spans.append((length, length + len(text)))
        parts.append(text)
        length += len(text)
    return "".join(parts), spans


def table_text(table: Table) -> str:
    """Return a plain rendering: caption, one line per row with ``|`` between cells, notes.

    A cell that spans stands once, at its top left; the other positions it covers are empty, as
    are positions that no cell covers. Empty positions at the end of a row are left out.
    """
    rows: dict[int, dict[int, str]] = {}
    for cell in table.cells:
        text = one_line(cell.text)
        if text:
            rows.setdefault(cell.row, {})[cell.col] = text
    lines = [one_line(table.caption or "")]
    for number in sorted(rows):
        row = rows[number]
        lines.append(CELL_SEPARATOR.join(row.get(col, "") for col in range(max(row) + 1)).strip())
    lines.append(one_line(table.notes or ""))
    return "\n".join(line for line in lines if line)


def one_line(text: str) -> str:
    """Return ``text`` normalised, with its line breaks turned into spaces."""
    return " ".join(normalise(text).split("\n")).replace("  ", " ").strip()


def has_text(texts: Sequence[str]) -> bool:
    """Whether any of ``texts`` holds a letter or a digit."""
    return any(char.isalnum() for text in texts for char in text)


def _is_clean(text: str) -> bool:
    """Whether ``text`` is one normal line already, as most are; told without a regex pass."""
    return (
        text.isprintable()
        and "  " not in text
        and text[:1] != " "
        and text[-1:] != " "
        and (
            text.isascii() or (unicodedata.is_normalized("NFC", text) and not _UNSEEN.search(text))
        )
    )


def _visible(text: str) -> str:
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    text = _SPECIAL.sub(_replacement, text)
    # Last: a character dropped above may have stood between a letter and its mark.
    return text if text.isascii() else unicodedata.normalize("NFC", text)


def _replacement(match: re.Match[str]) -> str:
    char = match.group()
    if char in _BREAKS:
        return _BREAKS[char]
    # Hangul fillers and the mathematical space are blanks to the eye, as every Zs character is.
    is_blank = unicodedata.category(char) == "Zs" or char in "\u115f\u1160\u3164\uffa0"
    return " " if is_blank else ""
