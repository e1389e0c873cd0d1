"""What a file is by its first bytes, whatever its name says; and the check for zip bombs."""

from __future__ import annotations

import io
import re
import zipfile

from parsers.elements import Unreadable

MAX_UNPACKED_BYTES = 1_000_000_000
MAX_MEMBERS = 50_000
# Office XML shrinks 10 to 40 times. Small archives may shrink more without doing harm.
MAX_RATIO = 150
RATIO_COUNTS_FROM_BYTES = 30_000_000

_OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_ZIP = (b"PK\x03\x04", b"PK\x05\x06", b"PK\x07\x08")
_ZIP_MEMBERS = {
    "word/document.xml": ".docx",
    "xl/workbook.xml": ".xlsx",
    "xl/workbook.bin": ".xlsb",
    "ppt/presentation.xml": ".pptx",
}
_ZIP_MIMETYPES = {
    "application/epub+zip": ".epub",
    "application/vnd.oasis.opendocument.text": ".odt",
    "application/vnd.oasis.opendocument.spreadsheet": ".ods",
    "application/vnd.oasis.opendocument.presentation": ".odp",
}
# Stream names in an OLE file's directory, which is UTF-16.
_OLE_STREAMS = {
    "EncryptedPackage": ".encrypted",
    "WordDocument": ".doc",
    "PowerPoint Document": ".ppt",
    "__properties_version1.0": ".msg",
    "Workbook": ".xls",
    "Book": ".xls",
}
_MAGIC = (
    (b"{\\rtf", ".rtf"),
    (b"\x89PNG\r\n\x1a\n", ".png"),
    (b"\xff\xd8\xff", ".jpg"),
    (b"GIF87a", ".gif"),
    (b"GIF89a", ".gif"),
    (b"II*\x00", ".tif"),
    (b"MM\x00*", ".tif"),
    (b"\x1f\x8b\x08", ".gz"),
    (b"7z\xbc\xaf\x27\x1c", ".7z"),
    (b"Rar!\x1a\x07", ".rar"),
    (b"\x7fELF", ".elf"),
    (b"SQLite format 3\x00", ".sqlite"),
)
_HTML = re.compile(
    rb"\A(?:\xef\xbb\xbf)?\s*(?:<\?xml[^>]*\?>\s*|<!--.*?-->\s*)*"
    rb"(?:<!doctype\s+html|<(?:html|head|body|table)[\s>])",
    re.IGNORECASE | re.DOTALL,
)
_MAIL = re.compile(rb"\A(?:[A-Za-z][A-Za-z0-9-]*: [^\n]*\n(?:[ \t][^\n]*\n)*){2,}\r?\n")
_MAIL_FIELDS = re.compile(rb"^(?:MIME-Version|Message-ID|Received|Return-Path):", re.I | re.M)


def sniff(data: bytes, suffix: str = "") -> str | None:
    """Return the suffix that the content speaks for, or None where it is text or unknown.

    Containers of no known type give ``.zip`` and ``.ole``, and Office files behind a password
    ``.encrypted``. ``suffix`` decides where one OLE file shows the streams of several types, as a
    mail with a Word file attached does.
    """
    if b"%PDF-" in data[:1024]:
        return ".pdf"
    if data.startswith(_ZIP):
        return _zip_type(data)
    if data.startswith(_OLE):
        return _ole_type(data, suffix)
    for magic, kind in _MAGIC:
        if data.startswith(magic):
            return kind
    if data.startswith(b"RIFF") and data[8:12] == b"WEBP":
        return ".webp"
    head = data[:16384]
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        head = head.decode("utf-16", "ignore").encode()
    if _HTML.match(head):
        return ".html"
    if (fields := _MAIL.match(head)) and _MAIL_FIELDS.search(fields.group()):
        return ".eml"
    return None


def check_archive(data: bytes) -> None:
    """Raise ``Unreadable`` when unpacking ``data`` could do harm, or when it is no zip at all.

    Sizes come from the directory; ``zipfile`` never unpacks more of a member than it states.
    Codes: zip_bomb, damaged, encrypted.
    """
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            members = archive.infolist()
    except (zipfile.BadZipFile, ValueError, OSError, NotImplementedError):
        raise Unreadable("damaged", "the archive inside is incomplete") from None
    unpacked = sum(member.file_size for member in members)
    if len(members) > MAX_MEMBERS or unpacked > MAX_UNPACKED_BYTES:
        raise Unreadable("zip_bomb", f"it would unpack to {unpacked // 1_000_000} MB")
    if unpacked > RATIO_COUNTS_FROM_BYTES and unpacked > MAX_RATIO * len(data):
        raise Unreadable("zip_bomb", f"it would grow {unpacked // len(data)} times when unpacked")
    if any(member.flag_bits & 1 for member in members):
        raise Unreadable("encrypted", "remove the password and save the file again")


def _zip_type(data: bytes) -> str:
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            names = set(archive.namelist())
            for name, suffix in _ZIP_MEMBERS.items():
                if name in names:
                    return suffix
            if "mimetype" in names and archive.getinfo("mimetype").file_size < 200:
                kind = archive.read("mimetype").decode("ascii", "ignore").strip()
                kind = kind.removesuffix("-template")
                return _ZIP_MIMETYPES.get(kind, ".zip")
    except (zipfile.BadZipFile, ValueError, OSError, NotImplementedError, RuntimeError):
        return ".zip"
    return ".zip"


def _ole_type(data: bytes, suffix: str) -> str:
    found = [kind for name, kind in _OLE_STREAMS.items() if name.encode("utf-16-le") in data]
    return suffix if suffix in found else next(iter(found), ".ole")
