"""Mails (.eml, .msg): who, when and about what, the body once, attachments apart."""

from __future__ import annotations

import mimetypes
import re
from collections.abc import Iterator
from email import message_from_bytes, policy
from email.message import EmailMessage

from parsers.elements import Attachment, Element, Kind, Parsed, Unreadable
from parsers.encodings import decode
from parsers.html import fragment_elements
from parsers.text import normalise
from parsers.text_tables import Drawn, parts
from parsers.versions import family_id

VERSION = 2
DEEPEST = 8  # mails in mails

HEADERS = ("From", "To", "Cc", "Date", "Subject")
_BOMS = ((b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16"))
_QUOTED = re.compile(r"^(?:>[ \t]?)+", re.MULTILINE)


def parser_id() -> str:
    """Return the id of this family's parser."""
    return family_id("mail", VERSION, "lxml", "python-oxmsg", "unstructured")


def parse(data: bytes, *, suffix: str) -> Parsed:
    """Read a mail: its subject as heading, its headers, its body in one form, quotes included.

    Of several forms of the body the HTML one is read if it holds tables, else the plain one.
    A forwarded mail stands in the text under its own subject; other attachments are returned.
    Raises ``Unreadable``: damaged, needs_extra (.msg without the extra "formats").
    """
    if suffix == ".msg":
        from parsers.via_unstructured import read_msg  # noqa: PLC0415 - of an extra

        elements, attachments = read_msg(data)
    else:
        message = message_from_bytes(_as_ascii(data), policy=policy.default)
        if not isinstance(message, EmailMessage) or not (message.keys() or message.get_payload()):
            raise Unreadable("damaged", "not a mail")
        attachments = []
        elements = list(_message(message, attachments, 1))
    title = next((e.text for e in elements if e.kind is Kind.HEADING), None)
    return Parsed(
        elements=tuple(elements),
        parser_id=parser_id(),
        title=title,
        attachments=tuple(attachments),
    )


def head_elements(headers: dict[str, str], level: int) -> Iterator[Element]:
    """Yield a mail's subject as a heading and its headers as one text, a line each."""
    lines = {name: " ".join(normalise(value).split()) for name, value in headers.items()}
    if lines.get("Subject"):
        yield Element(kind=Kind.HEADING, text=lines["Subject"], level=level)
    text = "\n".join(f"{name}: {value}" for name, value in lines.items() if value)
    if text:
        yield Element(kind=Kind.TEXT, text=text)


def body_elements(plain: str, html: str) -> list[Element]:
    """Read the form of a body that keeps most: HTML where it holds tables, else plain text."""
    marked = list(fragment_elements(html)) if html.strip() else []
    if not plain.strip() or any(element.table is not None for element in marked):
        return marked
    return list(_paragraphs(plain))


def _as_ascii(data: bytes) -> bytes:
    """Return a mail that was saved as UTF-16 in UTF-8; others as they are."""
    for bom, name in _BOMS:
        if data.startswith(bom):
            return data.decode(name, "replace").encode()
    if data[1:40:2].count(0) > 12:
        return data.decode("utf-16-le", "replace").encode()
    return data.removeprefix(b"\xef\xbb\xbf").lstrip(b"\r\n")


def _message(message: EmailMessage, attachments: list[Attachment], level: int) -> Iterator[Element]:
    yield from head_elements({name: _header(message, name) for name in HEADERS}, level)
    forwarded: list[EmailMessage] = []
    yield from _part(message, attachments, forwarded)
    for inner in forwarded:
        if level < DEEPEST:
            yield from _message(inner, attachments, level + 1)


def _header(message: EmailMessage, name: str) -> str:
    try:
        return str(message.get(name, ""))
    except (ValueError, IndexError, AttributeError, TypeError):  # a malformed header
        raw = next((value for key, value in message.raw_items() if key.lower() == name.lower()), "")
        return str(raw)


def _part(
    part: EmailMessage, attachments: list[Attachment], forwarded: list[EmailMessage]
) -> Iterator[Element]:
    kind = part.get_content_type()
    if kind == "message/rfc822":
        payload = part.get_payload()
        inner = payload[0] if isinstance(payload, list) and payload else None
        if isinstance(inner, EmailMessage):
            forwarded.append(inner)
    elif kind == "multipart/alternative":
        yield from _alternative(part, attachments, forwarded)
    elif part.is_multipart():
        for inner in part.iter_parts():
            if isinstance(inner, EmailMessage):
                yield from _part(inner, attachments, forwarded)
    elif _is_attached(part):
        payload = part.get_payload(decode=True)
        if isinstance(payload, bytes) and payload:
            attachments.append(Attachment(name=_name(part, len(attachments)), data=payload))
    elif kind in ("text/plain", "text/html"):
        text = _text(part)
        is_html = kind == "text/html"
        yield from body_elements("" if is_html else text, text if is_html else "")


def _alternative(
    part: EmailMessage, attachments: list[Attachment], forwarded: list[EmailMessage]
) -> Iterator[Element]:
    """Read one of several forms of the same text; what is attached to any of them is kept."""
    texts = {"text/plain": "", "text/html": ""}
    for inner in part.walk():
        if inner is part or inner.is_multipart() or not isinstance(inner, EmailMessage):
            continue
        kind = inner.get_content_type()
        if kind in texts and not _is_attached(inner):
            texts[kind] = texts[kind] or _text(inner)
        elif _is_attached(inner):
            yield from _part(inner, attachments, forwarded)
    yield from body_elements(texts["text/plain"], texts["text/html"])


def _is_attached(part: EmailMessage) -> bool:
    if part.get_content_disposition() == "attachment":
        return True
    kind = part.get_content_maintype()
    # A picture that the text shows belongs to the text's layout.
    is_shown = kind == "image" and (part.get("Content-ID") or not part.get_filename())
    return not is_shown and (bool(part.get_filename()) or kind not in ("text", "image"))


def _name(part: EmailMessage, count: int) -> str:
    name = part.get_filename()
    if name:
        return " ".join(normalise(str(name)).split()).replace("/", "_").replace("\\", "_")
    suffix = mimetypes.guess_extension(part.get_content_type()) or ".bin"
    return f"attachment-{count + 1}{suffix}"


def _text(part: EmailMessage) -> str:
    payload = part.get_payload(decode=True)
    if not isinstance(payload, bytes):
        return str(payload or "")
    text, _ = decode(payload, declared=part.get_content_charset()) if payload.strip() else ("", "")
    return text


def _paragraphs(text: str) -> Iterator[Element]:
    """Paragraphs of a plain body, without the marks of quoting, and tables drawn in it."""
    plain = text.replace("\r\n", "\n").replace("\r", "\n").replace("\xa0", " ")
    for block in re.split(r"\n(?:[^\S\n]*\n)+", _QUOTED.sub("", plain)):
        for part in parts(block.split("\n")):
            if isinstance(part, Drawn):
                yield Element(kind=Kind.TABLE, table=part.table())
            elif shown := normalise("\n".join(part)):
                yield Element(kind=Kind.TEXT, text=shown)
