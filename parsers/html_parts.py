"""The tree of a page, and its small parts: list numbers, definitions, captions, footnotes."""

from __future__ import annotations

import re
from collections.abc import Iterator

from lxml import etree
from lxml.html import HtmlElement, HTMLParser, document_fromstring

HEADINGS = {f"h{level}": level for level in range(1, 7)}
_FRAMES = re.compile(r"</?(?:div|span|font|b|i|u|em|strong|big|small|center|section)\b[^>]*>", re.I)


def tree_of(text: str) -> HtmlElement | None:
    """Parse a page or a piece of one; None where it has no element and no text."""
    # Encoded again, since the library refuses text whose declaration names another encoding.
    parser = HTMLParser(encoding="utf-8", huge_tree=True, remove_comments=True, remove_pis=True)
    data = text.replace("\x00", "").encode("utf-8", "replace")
    try:
        root = document_fromstring(data, parser=parser, ensure_head_body=False)
    except etree.ParserError:  # nothing but comments or white space
        return None
    if any("depth" in entry.message for entry in parser.error_log) and _FRAMES.search(text):
        # The library drops what lies too deep: take away the tags that only nest.
        return tree_of(_FRAMES.sub("<br>", text))
    return root


def language_of(node: HtmlElement) -> str | None:
    """Return the language that a part of the page states."""
    value: str = node.get("lang") or node.get("{http://www.w3.org/XML/1998/namespace}lang") or ""
    return value.strip().lower() or None


def preformatted(node: HtmlElement) -> str:
    """Return the text of a pre, its white space kept."""
    parts: list[str] = [node.text or ""]
    for part in node.iterdescendants():
        if part.tag == "br":
            parts.append("\n")
        parts += [part.text or "" if isinstance(part.tag, str) else "", part.tail or ""]
    return "".join(parts)


def definition_parts(node: HtmlElement) -> Iterator[HtmlElement]:
    """Yield the terms and descriptions of a dl, also those grouped in divs."""
    for child in node:
        if child.tag == "div":
            yield from definition_parts(child)
        elif isinstance(child.tag, str):
            yield child


def figure_caption(table: HtmlElement) -> HtmlElement | None:
    """Return the figcaption of the figure that a table stands in."""
    parent = table.getparent()
    if parent is None or parent.tag != "figure":
        return None
    return next((child for child in parent if child.tag == "figcaption"), None)


def is_table_caption(figcaption: HtmlElement) -> bool:
    """Whether a figcaption belongs to a table, which keeps it as its caption."""
    parent = figcaption.getparent()
    return parent is not None and any(
        figure_caption(child) is figcaption for child in parent if child.tag == "table"
    )


def has_blocks(node: HtmlElement) -> bool:
    """Whether a cell holds more than running text."""
    return any(True for _ in node.iter("table", "ul", "ol", "dl", "pre", *HEADINGS))


def is_footnotes(node: HtmlElement) -> bool:
    """Whether a part of the page holds its footnotes."""
    role = node.get("role") or ""
    classes = (node.get("class") or "").split()
    return role in {"doc-endnotes", "doc-footnote", "doc-endnote"} or "footnotes" in classes


def first_number(node: HtmlElement) -> int:
    """Return the number of an ordered list's first item."""
    value = node.get("start") or ""
    return int(value) if value.isdecimal() and len(value) < 9 else 1


def is_unmarked(node: HtmlElement | None) -> bool:
    """Whether a list shows neither bullets nor numbers."""
    style = (node.get("style") or "").replace(" ", "") if node is not None else ""
    return "list-style:none" in style or "list-style-type:none" in style


def numeral(number: int, style: str | None) -> str:
    """Write an item's number in the style of its list (``type`` of ol)."""
    if style in {"a", "A"} and 0 < number <= 26:
        return chr(ord(style) + number - 1)
    if style in {"i", "I"} and 0 < number < 40:
        units = ("", "i", "ii", "iii", "iv", "v", "vi", "vii", "viii", "ix")
        roman = "x" * (number // 10) + units[number % 10]
        return roman if style == "i" else roman.upper()
    return str(number)
