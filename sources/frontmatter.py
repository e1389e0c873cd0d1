"""Front matter: the YAML block between two fences at the top of a Markdown file."""

from __future__ import annotations

import codecs
import re
from typing import Any

from sources.files import SourceProblem
from sources.yamltext import MAX_BYTES, BadYaml, load_yaml

_SUFFIXES = (".md", ".markdown")
_FENCE = re.compile(r"---[ \t]*(?:\r\n|\n|\r|$)")
_END = re.compile(r"^(?:---|\.\.\.)[ \t]*(?:\r\n|\n|\r|\Z)", re.MULTILINE)
_KEY = re.compile(r"""\s*["']?[^\W\d][\w -]*["']?\s*:""")
_OWN_KEY = re.compile(
    r"""^\s*["']?(?:title|collection|acls?|valid[_ -]?(?:from|to|until)|language)["']?\s*:""",
    re.MULTILINE | re.IGNORECASE,
)
_ENCODINGS = {  # by the mark at the start of the file
    codecs.BOM_UTF8: "utf-8",
    codecs.BOM_UTF16_LE: "utf-16-le",
    codecs.BOM_UTF16_BE: "utf-16-be",
}


def has_front_matter(uri: str) -> bool:
    """Say whether a file of this name may state its metadata itself (.md, .markdown)."""
    return uri.lower().endswith(_SUFFIXES)


def split(data: bytes) -> tuple[dict[Any, Any], int]:
    """Return the statements of a file's front matter, unchecked, and where its body begins.

    The offset counts bytes of ``data``; without front matter the answer is ``({}, 0)``. The block
    begins in the first line with ``---`` and ends with ``---`` or ``...``, as in pandoc's manual
    (extension yaml_metadata_block). A file that merely begins with a thematic break is all body.

    Raises ``SourceProblem("broken_metadata")`` for a block that is meant as front matter and
    cannot be read, or is not closed within 64 KiB: its ACL must not be passed over.
    """
    mark = next((mark for mark in _ENCODINGS if data.startswith(mark)), b"")
    encoding = _ENCODINGS.get(mark, "utf-8")
    # Latin-1 maps each byte to one character: fences are found in any encoding that extends ASCII.
    reading = encoding if encoding.startswith("utf-16") else "latin-1"
    head = data[len(mark) : len(mark) + 2 * MAX_BYTES].decode(reading, "replace")
    opening = _FENCE.match(head)
    if opening is None:
        return {}, 0
    closing = _END.search(head, opening.end())
    if closing is None:
        return _unclosed(head[opening.end() :])
    block = head[opening.end() : closing.start()]
    try:
        front = load_yaml(block.encode("latin-1" if reading == "latin-1" else "utf-8"))
    except BadYaml as error:
        return _not_front_matter(block, str(error))
    if block.strip() and not isinstance(front, dict):
        return _not_front_matter(block, "not keys and values")
    if block.strip() and not block.splitlines()[0].strip() and not _OWN_KEY.search(block):
        return {}, 0  # prose between two thematic breaks: pandoc's rule about the blank line
    return front or {}, len(mark) + len(head[: closing.end()].encode(reading))


def _unclosed(rest: str) -> tuple[dict[Any, Any], int]:
    paragraph = re.split(r"(?:\r\n|\n|\r)[ \t]*(?:\r\n|\n|\r)", rest.lstrip(), maxsplit=1)[0]
    return _not_front_matter(paragraph, "not closed by a line of ---")


def _not_front_matter(block: str, reason: str) -> tuple[dict[Any, Any], int]:
    """Take the file as all body, unless the block was meant to state something."""
    if _OWN_KEY.search(block) or _KEY.match(block.partition("\n")[0]):
        raise SourceProblem("broken_metadata", f"its front matter is wrong: {reason}")
    return {}, 0
