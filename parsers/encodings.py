"""Bytes to text: Unicode with or without a mark, and the Vietnamese encodings before it.

Legacy Vietnamese encodings use the same bytes for different letters, so they are told apart by
how many of the words with marks are Vietnamese syllables, never by a file's name.
"""

from __future__ import annotations

import codecs
import unicodedata
from collections.abc import Callable

from parsers.elements import Unreadable
from parsers.vietnamese import decode_tcvn3, decode_vni, vietnamese_share

_BOMS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_SAMPLE_BYTES = 200_000
_MAX_CONTROL_SHARE = 0.02
_MAX_BROKEN_SHARE = 0.05  # of the multi-byte characters in a file that is UTF-8 but for slips
_MIN_PLAUSIBLE = 0.6
_FOREIGN_SHARE = 0.3  # of high bytes, above which a script other than Latin is likely


def decode(data: bytes, *, declared: str | None = None) -> tuple[str, str]:
    """Return a text file's text (line ends kept) and the name of its encoding.

    ``declared`` is an encoding the file itself states: it is believed over a guess, unless the
    bytes say otherwise. Raises ``Unreadable`` with code binary.
    """
    for bom, name in _BOMS:
        if data.startswith(bom):
            return _checked(data[len(bom) :].decode(name, "replace")), name
    if wide := _wide(data):
        return _checked(data.decode(wide, "replace")), wide
    try:
        return _checked(data.decode("utf-8")), "utf-8"
    except UnicodeDecodeError:
        pass
    if _is_slightly_broken_utf8(data):
        return _checked(data.decode("utf-8", "replace")), "utf-8"
    name = _legacy(data, declared)
    decoder = _DECODERS.get(name)
    return _checked(decoder(data) if decoder else data.decode(name, "replace")), name


def _cp1258(data: bytes) -> str:
    return unicodedata.normalize("NFC", data.decode("cp1258", "replace"))


_DECODERS: dict[str, Callable[[bytes], str]] = {
    "windows-1252": lambda data: data.decode("cp1252", "replace"),
    "windows-1258": _cp1258,
    "tcvn3": decode_tcvn3,
    "vni": decode_vni,
}
_VIETNAMESE = ("windows-1258", "tcvn3", "vni")


def _wide(data: bytes) -> str | None:
    """UTF-16 without a byte order mark shows by spaces, digits and line ends of two bytes."""
    sample = data[: _SAMPLE_BYTES & ~1]
    if len(sample) < 4 or b"\x00" not in sample:
        return None
    even, odd = sample[0::2], sample[1::2]
    half = len(even)
    zeros = {"utf-16-le": odd.count(0), "utf-16-be": even.count(0)}
    name, other = sorted(zeros, key=lambda key: zeros[key], reverse=True)
    if zeros[name] < 0.2 * half or zeros[other] > 0.02 * half:
        return None
    text = sample.decode(name, "ignore")
    return name if _control_share(text) <= _MAX_CONTROL_SHARE else None


def _is_slightly_broken_utf8(data: bytes) -> bool:
    text = data[:_SAMPLE_BYTES].decode("utf-8", "replace")
    broken = text.count("\ufffd")
    whole = sum(1 for char in text if char > "\x7f") - broken
    return whole > 0 and broken <= max(1.0, _MAX_BROKEN_SHARE * whole) and whole >= 10 * broken


def _legacy(data: bytes, declared: str | None) -> str:
    sample = data[:_SAMPLE_BYTES]
    shares = {name: vietnamese_share(_DECODERS[name](sample)) for name in _DECODERS}
    best = max(_VIETNAMESE, key=lambda name: shares[name][0])
    western = shares["windows-1252"][0]
    share, words = shares[best]
    # One marked word proves little, since French, Portuguese and German have some alike.
    needed = _MIN_PLAUSIBLE if words >= 4 else 1.0
    if share >= needed and share > western and _has_vietnamese_letters(_DECODERS[best](sample)):
        return best
    named = _known(declared)
    if named and named not in {"ascii", "iso8859-1", "cp1252", "utf-8"} and _fits(data, named):
        return named
    high = sum(1 for byte in sample if byte > 0x7F)
    if high > _FOREIGN_SHARE * len(sample) and (guess := _foreign(sample)):
        return guess
    return "windows-1252"


def _has_vietnamese_letters(text: str) -> bool:
    """Whether letters occur that no western European language has."""
    return any(char in "ăơưđ" or "\u1ea0" <= char <= "\u1ef9" for char in text.lower())


def _known(declared: str | None) -> str | None:
    try:
        return codecs.lookup(declared).name if declared else None
    except LookupError:
        return None


def _fits(data: bytes, name: str) -> bool:
    try:
        data.decode(name)
    except (UnicodeDecodeError, LookupError):
        return False
    return True


def _foreign(sample: bytes) -> str | None:
    from charset_normalizer import from_bytes  # noqa: PLC0415 (slow to load, seldom needed)

    guess = from_bytes(sample).best()
    return str(guess.encoding) if guess is not None else None


def _checked(text: str) -> str:
    if _control_share(text[:_SAMPLE_BYTES]) > _MAX_CONTROL_SHARE:
        raise Unreadable("binary")
    return text


def _control_share(text: str) -> float:
    odd = sum(
        1 for char in text if (char < " " and char not in "\t\n\r\f\v\x1b") or char == "\ufffd"
    )
    return odd / max(1, len(text))
