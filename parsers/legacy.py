"""Old binary Office files (.doc, .ppt), turned into new ones by LibreOffice where installed."""

from __future__ import annotations

import contextlib
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

VERSION = 3
TIMEOUT = 120.0  # seconds for one conversion, LibreOffice's start included

_HINT = "apt install libreoffice-writer libreoffice-impress libreoffice-calc"
_TARGETS = {".doc": "docx", ".ppt": "pptx", ".xls": "xlsx"}
_ENCRYPTED = "EncryptedSummary".encode("utf-16-le")
# A parse worker bounds its own address space, and a helper inherits that. LibreOffice maps more
# than it uses; what it does use is counted by the worker's parent, which is the real limit.
_UNBOUNDED = 'ulimit -S -v unlimited 2>/dev/null; exec "$0" "$@"'
# No macro runs and no link is followed: a document may not make us fetch an address.
_PROFILE = """<?xml version="1.0" encoding="UTF-8"?>
<oor:items xmlns:oor="http://openoffice.org/2001/registry">
<item oor:path="/org.openoffice.Office.Common/Security/Scripting">
<prop oor:name="DisableMacrosExecution" oor:op="fuse"><value>true</value></prop></item>
<item oor:path="/org.openoffice.Office.Common/Security/Scripting">
<prop oor:name="BlockUntrustedRefererLinks" oor:op="fuse"><value>true</value></prop></item>
<item oor:path="/org.openoffice.Office.Common/Security/Scripting">
<prop oor:name="DisableActiveContent" oor:op="fuse"><value>true</value></prop></item>
<item oor:path="/org.openoffice.Office.Writer/Content/Update">
<prop oor:name="Link" oor:op="fuse"><value>0</value></prop></item>
<item oor:path="/org.openoffice.Office.Calc/Content/Update">
<prop oor:name="Link" oor:op="fuse"><value>1</value></prop></item>
</oor:items>
"""


def parser_id() -> str:
    """Return the id of this family's parser; it changes when LibreOffice is installed."""
    return f"{family_id('legacy', VERSION, 'lxml', 'python-pptx')} soffice={is_installed()}"


def parse(data: bytes, *, suffix: str) -> Parsed:
    """Convert and read a file as its newer kind.

    Raises ``Unreadable``: needs_libreoffice, encrypted, damaged, crashed, timeout.
    """
    converted = convert(data, suffix=suffix)
    if _TARGETS.get(suffix) == "pptx":
        from parsers import slides  # noqa: PLC0415 - of the extra "formats"

        parsed = slides.parse(converted, suffix=".pptx")
    else:
        parsed = word.parse(converted, suffix=".docx")
    return replace(parsed, parser_id=parser_id())


def is_installed() -> bool:
    """Whether LibreOffice can be started here."""
    return _found() is not None


def convert(data: bytes, *, suffix: str) -> bytes:
    """Return an old file (.doc, .ppt, .xls) as LibreOffice writes its newer kind.

    Raises ``Unreadable``: needs_libreoffice, encrypted, damaged, crashed, timeout.
    """
    program = _found()
    if program is None:
        raise Unreadable("needs_libreoffice", _HINT)
    if _ENCRYPTED in data:
        raise Unreadable("encrypted", "remove the password and save the file again")
    with tempfile.TemporaryDirectory(prefix="mucluc-") as name:
        return _run(program, data, Path(name), suffix, _TARGETS.get(suffix, "docx"))


def _found() -> str | None:
    return shutil.which("soffice") or shutil.which("libreoffice")


def _run(program: str, data: bytes, folder: Path, suffix: str, target: str) -> bytes:
    source = folder / f"in{suffix}"
    source.write_bytes(data)
    # A profile of its own: two conversions at a time would wait for one another's lock.
    profile = folder / "profile"
    (profile / "user").mkdir(parents=True)
    (profile / "user" / "registrymodifications.xcu").write_text(_PROFILE, encoding="utf-8")
    command = [
        *(["/bin/sh", "-c", _UNBOUNDED] if os.name == "posix" else []),
        program,
        f"-env:UserInstallation={profile.as_uri()}",
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
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        code = process.wait(TIMEOUT)
    except subprocess.TimeoutExpired:
        raise Unreadable("timeout", "LibreOffice did not finish") from None
    finally:
        # The program is a script that starts another one: end both, also after an interrupt, and
        # also what a start that failed has left behind.
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    result = folder / f"in.{target}"
    if code < 0 or code >= 128:
        raise Unreadable("crashed", "LibreOffice died over it")
    if not result.is_file():
        raise Unreadable("damaged", "LibreOffice cannot open it")
    return result.read_bytes()
