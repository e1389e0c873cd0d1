"""The master secret, and the keys that are derived from it."""

from __future__ import annotations

import hashlib
import hmac
import os
import secrets
import tempfile
from pathlib import Path

FILE = "secret.key"
_MIN_BYTES = 32
_SALT = b"mucluc master secret v1"
_MAKE = 'python -c "import secrets; print(secrets.token_hex(32))"'


class KeyProblem(Exception):
    """There is no master secret that can be used; the message says how to come by one."""


def master_secret(given: str | None, *, home: Path, may_create: bool) -> bytes:
    """Return the master secret: ``given`` (MUCLUC_SECRET), else the file ``home/secret.key``.

    With ``may_create`` the file is made on first use (mode 0600, 32 random bytes as hex); this is
    for the embedded database, which lives in the same home. A database on a server outlives this
    home and is written from other machines, so its secret has to be given or be there already.

    Raises ``KeyProblem``: nothing there, fewer than 32 bytes, a file that others may read.
    """
    if given is not None:
        return _long_enough(given.strip().encode(), "MUCLUC_SECRET")
    file = home / FILE
    if not file.exists():
        if not may_create:
            raise KeyProblem(
                "no master secret: with DATABASE_URL set, MUCLUC_SECRET must be set as well, to "
                f"the same value on every machine. Make one with: {_MAKE}"
            )
        _create(file)
    try:
        if os.name == "posix" and file.stat().st_mode & 0o077:
            raise KeyProblem(f"others may read {file}; run: chmod 600 {file}")
        return _long_enough(file.read_bytes().strip(), str(file))
    except OSError as error:
        raise KeyProblem(f"{file} cannot be read: {error.strerror}") from None


def derive_key(secret: bytes, purpose: str) -> bytes:
    """Derive a key of 32 bytes for one purpose, such as ``identity``, ``memo``, ``tombstone``.

    HKDF with HMAC-SHA256 (RFC 5869): extract with a fixed salt, expand with the purpose as info
    into one block. Keys of different purposes say nothing about each other or about the secret.
    """
    if not purpose:
        raise ValueError("a key needs a purpose")
    pseudorandom = hmac.digest(_SALT, secret, "sha256")
    return hmac.digest(pseudorandom, purpose.encode() + b"\x01", "sha256")


def key_id(key: bytes) -> str:
    """Return the first 8 hex digits of the key's SHA-256: enough to see that a key changed."""
    return hashlib.sha256(key).hexdigest()[:8]


def _long_enough(secret: bytes, place: str) -> bytes:
    if len(secret) < _MIN_BYTES:
        raise KeyProblem(
            f"{place} holds {len(secret)} bytes, at least {_MIN_BYTES} are needed. "
            f"Make a secret with: {_MAKE}"
        )
    return secret


def _create(file: Path) -> None:
    """Write a new secret that appears whole or not at all, and never over another's."""
    file.parent.mkdir(parents=True, exist_ok=True)
    handle, draft = tempfile.mkstemp(dir=file.parent, prefix=f".{FILE}.")  # mode 0600
    try:
        with os.fdopen(handle, "w") as stream:
            stream.write(secrets.token_hex(32) + "\n")
            stream.flush()
            os.fsync(stream.fileno())
        try:
            os.link(draft, file)
        except FileExistsError:
            return  # another process was first: its secret is the one
    finally:
        Path(draft).unlink()
