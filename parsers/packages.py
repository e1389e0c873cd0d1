"""Zip packages (docx, xlsx, pptx, odf, epub) and their XML parts, opened with limits."""

from __future__ import annotations

import io
import posixpath
import zipfile
import zlib
from collections.abc import Iterator

from lxml import etree

from parsers.elements import Unreadable
from parsers.sniffing import check_archive

_OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_ENCRYPTED_STREAM = "EncryptedPackage".encode("utf-16-le")

Node = etree._Element


class Package:
    """A zip file's parts by name.

    Raises ``Unreadable`` with "encrypted" for an OLE container that wraps an encrypted package or
    a zip with a password, "damaged" for anything that is no whole zip file, and "zip_bomb" for
    what would unpack out of all proportion.
    """

    def __init__(self, data: bytes) -> None:
        if data.startswith(_OLE):
            if _ENCRYPTED_STREAM in data:
                raise Unreadable("encrypted", "remove the password and save the file again")
            raise Unreadable("damaged", "an old binary Office file under a new suffix")
        check_archive(data)
        self._zip = zipfile.ZipFile(io.BytesIO(data))
        self._infos = {info.filename: info for info in self._zip.infolist()}

    def __contains__(self, name: str) -> bool:
        return name in self._infos

    def names(self) -> list[str]:
        """Names of all parts, in the order of the zip directory."""
        return list(self._infos)

    def read(self, name: str) -> bytes:
        """Return a part's bytes; raises ``Unreadable`` where it is missing or damaged."""
        info = self._infos.get(name)
        if info is None:
            raise Unreadable("damaged", "a part of the package is missing")
        try:
            return self._zip.read(info)
        except (zipfile.BadZipFile, zlib.error, EOFError, OSError, NotImplementedError):
            raise Unreadable("damaged", "a part of the package cannot be unpacked") from None

    def xml(self, name: str) -> Node:
        """Return a part's root element."""
        return parse_xml(self.read(name))

    def relations(self, part: str) -> dict[str, tuple[str, str]]:
        """Relations of ``part``: id to (last word of the type, target part's name)."""
        folder, base = posixpath.split(part)
        name = posixpath.join(folder, "_rels", base + ".rels")
        if name not in self:
            return {}
        found = {}
        for node in children(self.xml(name)):
            if node.get("TargetMode") == "External":
                continue
            target = node.get("Target", "")
            path = target.lstrip("/") if target.startswith("/") else posixpath.join(folder, target)
            kind = node.get("Type", "").rsplit("/", 1)[-1]
            found[node.get("Id", "")] = (kind, posixpath.normpath(path))
        return found


def parse_xml(data: bytes) -> Node:
    """Parse XML without entities, network or size limit; raises ``Unreadable`` ("damaged")."""
    parser = etree.XMLParser(resolve_entities=False, no_network=True, huge_tree=True)
    try:
        root = etree.fromstring(data, parser)
    except (etree.XMLSyntaxError, ValueError):
        raise Unreadable("damaged", "a part of the package is not well-formed XML") from None
    if root is None:
        raise Unreadable("damaged", "a part of the package is empty")
    return root


def local(node: Node) -> str:
    """Name of an element without its namespace; empty for comments and instructions."""
    tag = node.tag
    return tag.rpartition("}")[2] if isinstance(tag, str) else ""


def children(node: Node, *names: str) -> Iterator[Node]:
    """Yield the child elements with one of these local names, or all child elements."""
    for child in node:
        name = local(child)
        if name and (not names or name in names):
            yield child


def child(node: Node | None, *path: str) -> Node | None:
    """Return the first descendant along a path of local names, or None."""
    for name in path:
        if node is None:
            return None
        node = next(children(node, name), None)
    return node


def attribute(node: Node | None, name: str) -> str | None:
    """Return the attribute of this local name in whatever namespace, or None."""
    if node is None:
        return None
    for key, value in node.attrib.items():
        if str(key).rpartition("}")[2] == name:
            return str(value)
    return None
