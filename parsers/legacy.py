"""Old binary Office files (.doc, .ppt), turned into new ones by LibreOffice where installed."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
from dataclasses import replace
from pathlib import Path

from parsers import word
from parsers.elements import Parsed, Unreadable
from parsers.versions import family_id

VERSION = 2
TIMEOUT = 120.0  # seconds for one conversion, LibreOffice's start included

_HINT = "apt install libreoffice-writer libreoffice-impress"
_TARGETS = {".doc": "docx", ".ppt": "pptx"}
_ENCRYPTED = "EncryptedSummary".encode("utf-16-le")


def parser_id() -> str:
    """Return the id of this family's parser; it changes when LibreOffice is installed."""
    return f"{family_id('legacy', VERSION, 'lxml', 'python-pptx')} soffice={_found() is not None}"


def parse(data: bytes, *, suffix: str) -> Parsed:
    """Convert and read a file as its newer kind.

    Raises ``Unreadable``: needs_libreoffice, encrypted, damaged, timeout.
    """
    program = _found()
    if program is None:
        raise Unreadable("needs_libreoffice", _HINT)
    if _ENCRYPTED in data:
        raise Unreadable("encrypted", "remove the password and save the file again")
    target = _TARGETS.get(suffix, "docx")
    converted = _convert(program, data, suffix, target)
    if target == "pptx":
        from parsers import slides  # noqa: PLC0415 - of the extra "formats"

        parsed = slides.parse(converted, suffix=".pptx")
    else:
        parsed = word.parse(converted, suffix=".docx")
    return replace(parsed, parser_id=parser_id())


def _found() -> str | None:
    return shutil.which("soffice") or shutil.which("libreoffice")


def _convert(program: str, data: bytes, suffix: str, target: str) -> bytes:
    with tempfile.TemporaryDirectory(prefix="mucluc-") as name:
        folder = Path(name)
        source = folder / f"in{suffix}"
        source.write_bytes(data)
        command = [
            program,
            # A profile of its own: two conversions at a time would wait for one another's lock.
            f"-env:UserInstallation={(folder / 'profile').as_uri()}",
            "--headless",
            "--norestore",
            "--convert-to",
            target,
            "--outdir",
            str(folder),
            str(source),
        ]
        process = subprocess.Popen(
            command,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        try:
            process.wait(TIMEOUT)
        except subprocess.TimeoutExpired:
            # The program is a script that starts another one: end both.
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            raise Unreadable("timeout", "LibreOffice did not finish") from None
        result = folder / f"in.{target}"
        if not result.is_file():
            raise Unreadable("damaged", "LibreOffice cannot open it")
        return result.read_bytes()
