"""Where text may be cut without splitting a character as people see it."""

from __future__ import annotations

import unicodedata

_JOINER = "\u200d"
_FIRST_EXTENDED = "\u0300"  # below it every code point stands alone


def is_boundary(text: str, position: int) -> bool:
    """Whether ``text`` may be cut before ``position``.

    Follows the extended grapheme clusters of UAX 29 where they matter for documents: marks,
    joined and coloured emoji, flags, and Hangul syllables in parts are never cut.
    """
    if not 0 < position < len(text):
        return True
    before, after = text[position - 1], text[position]
    if after < _FIRST_EXTENDED:
        return not (before == "\r" and after == "\n")
    if _JOINER in (before, after) or _extends(after):
        return False
    if _is_flag_letter(after) and _is_flag_letter(before):
        return _flag_letters_before(text, position) % 2 == 0
    return not (_is_jamo(before) and _is_jamo(after))


def boundary_before(text: str, position: int) -> int:
    """Return the last boundary at or before ``position`` (0 when there is none)."""
    while position > 0 and not is_boundary(text, position):
        position -= 1
    return position


def _extends(char: str) -> bool:
    return unicodedata.category(char) in ("Mn", "Me", "Mc") or "\U0001f3fb" <= char <= "\U0001f3ff"


def _is_flag_letter(char: str) -> bool:
    return "\U0001f1e6" <= char <= "\U0001f1ff"


def _flag_letters_before(text: str, position: int) -> int:
    start = position
    while start > 0 and _is_flag_letter(text[start - 1]):
        start -= 1
    return position - start


def _is_jamo(char: str) -> bool:
    # Two leading consonants of separate words would be kept together too: harmless.
    return "\u1100" <= char <= "\u11ff"
