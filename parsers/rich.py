"""E-books and rich text: .epub by its spine, .rtf, and .org and .rst through unstructured."""

from __future__ import annotations

import posixpath
from dataclasses import dataclass
from urllib.parse import unquote

from parsers import html
from parsers.elements import Element, Kind, Parsed, Unreadable
from parsers.packages import Package, attribute, child, children, local
from parsers.text import normalise
from parsers.versions import family_id

VERSION = 2


def parser_id() -> str:
    """Return the id of this family's parser."""
    return family_id("rich", VERSION, "lxml", "unstructured", "pypandoc_binary")


def parse(data: bytes, *, suffix: str) -> Parsed:
    """Read a book or a rich text. Raises ``Unreadable``: encrypted, damaged, needs_extra."""
    if suffix == ".epub":
        return _book(data)
    if suffix == ".rtf":
        from parsers.rtf import read_rtf  # noqa: PLC0415 - only when needed

        elements, title = read_rtf(data)
        return Parsed(elements=elements, parser_id=parser_id(), title=title)
    from parsers.via_unstructured import read_marked_up  # noqa: PLC0415 - of an extra

    marked = read_marked_up(data, suffix=suffix)
    heading = next((e.text for e in marked if e.kind is Kind.HEADING and e.level == 1), None)
    return Parsed(elements=tuple(marked), parser_id=parser_id(), title=heading)


@dataclass(frozen=True, slots=True)
class _Spine:
    parts: tuple[str, ...]
    title: str | None
    language: str | None


def _book(data: bytes) -> Parsed:
    """Read an .epub: the chapters in the order of its spine, its table of contents left out."""
    package = Package(data)
    spine = _spine(package)
    _refuse_encrypted(package, spine)
    elements: list[Element] = []
    for part in spine.parts:
        if part in package:
            try:
                chapter = html.parse(package.read(part), suffix=".xhtml")
            except Unreadable as error:
                if error.code != "no_text":
                    raise
                continue
            elements.extend(chapter.elements)
    return Parsed(
        elements=tuple(elements),
        parser_id=parser_id(),
        title=spine.title,
        language=spine.language,
    )


def _spine(package: Package) -> _Spine:
    container = package.xml("META-INF/container.xml")
    root = next((n for n in container.iter() if local(n) == "rootfile"), None)
    path = posixpath.normpath(attribute(root, "full-path") or "content.opf")
    book = package.xml(path)
    folder = posixpath.dirname(path)
    manifest, order = child(book, "manifest"), child(book, "spine")
    if manifest is None or order is None:
        raise Unreadable("damaged", "the book has no spine")
    items = {attribute(n, "id") or "": n for n in children(manifest, "item")}
    parts = []
    for reference in children(order, "itemref"):
        item = items.get(attribute(reference, "idref") or "")
        if item is not None and "nav" not in (attribute(item, "properties") or "").split():
            target = unquote(attribute(item, "href") or "")
            parts.append(posixpath.normpath(posixpath.join(folder, target)))
    metadata = child(book, "metadata")
    title, language = (child(metadata, name) for name in ("title", "language"))
    return _Spine(
        parts=tuple(parts),
        title=_words(title.text if title is not None else None),
        language=_words(language.text if language is not None else None),
    )


def _words(text: str | None) -> str | None:
    return " ".join(normalise(text or "").split()) or None


def _refuse_encrypted(package: Package, spine: _Spine) -> None:
    """Refuse a book whose chapters are encrypted; scrambled fonts do not matter."""
    if "META-INF/encryption.xml" not in package:
        return
    nodes = package.xml("META-INF/encryption.xml").iter()
    targets = {unquote(attribute(n, "URI") or "") for n in nodes if local(n) == "CipherReference"}
    if targets & set(spine.parts):
        raise Unreadable("encrypted", "the book is protected; get a copy without protection")
