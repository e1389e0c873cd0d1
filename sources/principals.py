"""Principals: who may read, written ``namespace:name``."""

from __future__ import annotations

import re
import unicodedata

# A name may be in any script and hold further colons (sharepoint:site42:members). White space,
# commas and quotes are refused because they come from lists that were written as one text, a
# star because nobody is everybody.
_PRINCIPAL = re.compile(r"""[a-z][a-z0-9_.-]{0,31}:[^\s,;*!"'`\\]{1,200}""")
_DENY = "!"


def check_principal(text: str) -> str:
    """Return a principal in NFC, such as ``role:hr``, ``user:an@acme.vn``.

    Raises ``ValueError``, without the text, when it is not of the form ``namespace:name``: a
    namespace of at most 32 characters that begins with a-z and goes on with a-z, 0-9, ``_``,
    ``.``, ``-``; a name of at most 200 characters without white space, invisible characters,
    commas, semicolons, quotes, back slashes, ``*`` or ``!``. Principals are compared letter by
    letter: ``role:HR`` is not ``role:hr``.
    """
    principal = unicodedata.normalize("NFC", text)
    visible = all(unicodedata.category(letter)[0] not in "CZ" for letter in principal)
    if not visible or not _PRINCIPAL.fullmatch(principal):
        raise ValueError("a principal is namespace:name, such as role:hr, without spaces")
    return principal


def check_acl_entry(text: str) -> str:
    """Return an entry of an ACL: a principal, or ``!`` and a principal that is denied.

    Raises ``ValueError`` as ``check_principal`` does.
    """
    if text.startswith(_DENY):
        return _DENY + check_principal(text[1:])
    return check_principal(text)
