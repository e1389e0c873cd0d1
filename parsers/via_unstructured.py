"""unstructured, offline: the formats that it reads best (.msg, .org, .rst), as our elements."""

from __future__ import annotations

import functools
import io
import os
from collections.abc import Iterable
from email.utils import format_datetime
from typing import Any

from parsers.elements import Attachment, Element, Kind, Unreadable
from parsers.html import fragment_elements
from parsers.text import normalise, normalise_code

_HINT = "pip install 'mucluc[formats]'"
_DROPPED = frozenset({"Header", "Footer", "PageBreak", "PageNumber", "Image"})


@functools.cache
def _prepare() -> None:
    """Keep unstructured from its network: no telemetry, no download of a language model.

    It labels texts with a spaCy model that it downloads when first used. A blank pipeline with a
    sentencizer in its place gives the same elements; only the labels "Title" and "NarrativeText"
    differ, and those are not used here.
    """
    os.environ["UNSTRUCTURED_DISABLE_NOTICE"] = "1"
    os.environ["DO_NOT_TRACK"] = "true"
    os.environ["SCARF_NO_ANALYTICS"] = "true"
    try:
        import spacy  # noqa: PLC0415 - of the extra "formats"
        from unstructured.nlp import tokenize  # noqa: PLC0415 - of the extra "formats"
    except ImportError:
        raise Unreadable("needs_extra", _HINT) from None
    blank = spacy.blank("xx")
    blank.add_pipe("sentencizer")
    tokenize._load_spacy_model = lambda: blank


def read_marked_up(data: bytes, *, suffix: str) -> list[Element]:
    """Read Org mode or reStructuredText. Raises ``Unreadable``: needs_extra, damaged."""
    _prepare()
    try:
        if suffix == ".org":
            from unstructured.partition.org import partition_org as partition  # noqa: PLC0415
        else:
            from unstructured.partition.rst import partition_rst as partition  # noqa: PLC0415
    except ImportError:
        raise Unreadable("needs_extra", _HINT) from None
    try:
        found = partition(file=io.BytesIO(data))
    except (RuntimeError, ValueError, OSError, UnicodeError):
        raise Unreadable("damaged", "the markup cannot be read") from None
    return list(_mapped(found, titles=True))


def read_msg(data: bytes) -> tuple[list[Element], list[Attachment]]:
    """Read an Outlook message: elements and attachments. Raises ``Unreadable``."""
    _prepare()
    try:
        from oxmsg import Message  # noqa: PLC0415 - of the extra "formats"
        from unstructured.partition.msg import partition_msg  # noqa: PLC0415
    except ImportError:
        raise Unreadable("needs_extra", _HINT) from None
    from parsers.mail import body_elements, head_elements  # noqa: PLC0415 - it imports this module

    try:
        message = Message.load(io.BytesIO(data))
        marked = body_elements("", message.html_body or "")
        if any(element.table is not None for element in marked):
            body = marked  # unstructured loses the spans of a table in HTML
        else:
            found = partition_msg(file=io.BytesIO(data), process_attachments=False)
            body = list(_mapped(found, titles=False))
        elements = [*head_elements(_headers(message), 1), *body]
        attachments = [
            Attachment(name=_name(each.file_name, at), data=each.file_bytes)
            for at, each in enumerate(message.attachments, start=1)
            if each.file_bytes
        ]
    except Unreadable:
        raise
    except Exception:
        raise Unreadable("damaged", "not a whole Outlook message") from None
    return elements, attachments


def _headers(message: Any) -> dict[str, str]:
    headers = {key.title(): value for key, value in message.message_headers.items()}
    to = ", ".join(
        f"{r.name} <{r.email_address}>" if r.name else r.email_address for r in message.recipients
    )
    sent = message.sent_date
    return {
        "From": headers.get("From") or message.sender or "",
        "To": headers.get("To") or to,
        "Cc": headers.get("Cc", ""),
        "Date": headers.get("Date") or (format_datetime(sent) if sent is not None else ""),
        "Subject": message.subject or headers.get("Subject", ""),
    }


def _name(stated: str | None, at: int) -> str:
    name = " ".join(normalise(stated or "").split()).replace("/", "_").replace("\\", "_")
    return name or f"attachment-{at}.bin"


def _mapped(found: Iterable[Any], *, titles: bool) -> Iterable[Element]:
    """Map unstructured's elements to ours; its titles are headings only where markup says so."""
    for each in found:
        depth = (each.metadata.category_depth or 0) + 1
        category, text = each.category, normalise(each.text or "")
        if category in _DROPPED or not text:
            continue
        if category == "Table" and each.metadata.text_as_html:
            yield from fragment_elements(each.metadata.text_as_html)
        elif category == "Title" and titles:
            yield Element(kind=Kind.HEADING, text=" ".join(text.split()), level=depth)
        elif category == "ListItem":
            yield Element(kind=Kind.LIST_ITEM, text=text, level=depth)
        elif category == "CodeSnippet":
            yield Element(kind=Kind.CODE, text=normalise_code(each.text))
        else:
            yield Element(kind=Kind.TEXT, text=text)
