"""Old binary Office files by way of LibreOffice: the real program where installed, else a fake."""

from __future__ import annotations

import io
import os
import shutil
import subprocess
import threading
import time
from pathlib import Path

import openpyxl
import psutil
import pytest
from office_files import cell, docx_file, para, row, table

from parsers import excel, legacy, word
from parsers.elements import Parsed, Unreadable
from parsers.registry import parse_file
from parsers.worker import ParseWorker

OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"

needs_libreoffice = pytest.mark.skipif(
    not legacy.is_installed(), reason="LibreOffice is not installed"
)


def old_file(data: bytes, folder: Path, new: str, old: str) -> bytes:
    """Save a new Office file as its old kind, with LibreOffice."""
    source = folder / f"made.{new}"
    source.write_bytes(data)
    program = shutil.which("soffice") or shutil.which("libreoffice") or ""
    profile = f"-env:UserInstallation={(folder / 'profile').as_uri()}"
    command = [program, profile, "--headless", "--convert-to", old, "--outdir", str(folder)]
    subprocess.run([*command, str(source)], check=True, capture_output=True, timeout=120)
    return (folder / f"made.{old}").read_bytes()


@pytest.fixture(scope="module")
def price_rules() -> bytes:
    """A Word file with a heading, a list and a table with merged cells."""
    merged = '<w:gridSpan w:val="2"/>'
    return docx_file(
        para("Biểu phí vận chuyển", style="Heading1")
        + para("Phí tính theo vùng.")
        + table(
            row("Vùng", cell("Khối lượng", merged)),
            row("", "Dưới 5 kg", "Trên 5 kg"),
            row("Nội thành", "25.000", "40.000"),
            row("Ngoại thành", "35.000", "60.000"),
        )
        + para("Phí đã gồm thuế.")  # LibreOffice saves no table at the very end of a .doc
    )


@pytest.fixture(scope="module")
def old_price_rules(price_rules: bytes, tmp_path_factory: pytest.TempPathFactory) -> bytes:
    return old_file(price_rules, tmp_path_factory.mktemp("old"), "docx", "doc")


@needs_libreoffice
def test_an_old_word_file_reads_as_its_new_kind_does(
    price_rules: bytes, old_price_rules: bytes
) -> None:
    new, old = word.parse(price_rules, suffix=".docx"), parse_file(old_price_rules, suffix=".doc")
    assert old_price_rules.startswith(OLE)
    assert [(e.kind, e.level, e.text) for e in old.elements] == [
        (e.kind, e.level, e.text) for e in new.elements
    ]
    assert [e.table for e in old.elements] == [e.table for e in new.elements]
    assert old.parser_id == legacy.parser_id()


@needs_libreoffice
def test_two_old_files_at_once_within_a_memory_limit_below_what_libreoffice_maps(
    old_price_rules: bytes,
) -> None:
    found: list[Parsed] = []

    def read() -> None:
        with ParseWorker(memory_mb=500) as worker:
            found.append(worker.parse(old_price_rules, ".doc"))

    threads = [threading.Thread(target=read) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 2
    assert found[0] == found[1]


@needs_libreoffice
@pytest.mark.parametrize("kept", [512, 3000, 9000])
def test_half_an_old_file_is_damaged(old_price_rules: bytes, kept: int) -> None:
    with pytest.raises(Unreadable) as caught:
        legacy.parse(old_price_rules[:kept], suffix=".doc")
    assert caught.value.code == "damaged"


@needs_libreoffice
def test_an_old_workbook_that_xlrd_cannot_read_goes_through_libreoffice(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    xlrd = pytest.importorskip("xlrd")
    book = openpyxl.Workbook()
    for cells in (["Mặt hàng", "Giá"], ["Bơm A1", 450], ["Bơm B2", 520]):
        book.active.append(cells)
    buffer = io.BytesIO()
    book.save(buffer)
    data = old_file(buffer.getvalue(), tmp_path, "xlsx", "xls")

    def refuse(**_: object) -> None:
        raise xlrd.XLRDError("Workbook corruption")

    plain = excel.parse(data, suffix=".xls")
    monkeypatch.setattr(xlrd, "open_workbook", refuse)
    parsed = excel.parse(data, suffix=".xls")
    assert parsed.elements == plain.elements
    assert parsed.warnings == ("read_by_libreoffice",)
    monkeypatch.setenv("PATH", "")
    with pytest.raises(Unreadable) as caught:
        excel.parse(data, suffix=".xls")
    assert caught.value.code == "damaged"
    assert "LibreOffice" in caught.value.hint


def pretend(folder: Path, monkeypatch: pytest.MonkeyPatch, script: str) -> None:
    """Put a program in LibreOffice's place."""
    program = folder / "soffice"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")


def test_i12_a_hanging_libreoffice_is_ended_with_all_it_started(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    pids = tmp_path / "pids"
    pretend(tmp_path, monkeypatch, f"sleep 60 &\necho $$ $! > {pids}\nwait")
    monkeypatch.setattr(legacy, "TIMEOUT", 0.5)
    with pytest.raises(Unreadable) as caught:
        legacy.parse(OLE, suffix=".doc")
    assert caught.value.code == "timeout"
    for pid in map(int, pids.read_text().split()):
        deadline = time.monotonic() + 10
        while psutil.pid_exists(pid) and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE:
            assert time.monotonic() < deadline
            time.sleep(0.02)


@pytest.mark.parametrize("end", ["kill -SEGV $$", "exit 134"])
def test_i12_a_crashing_libreoffice_is_told_from_a_damaged_file(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, end: str
) -> None:
    pretend(tmp_path, monkeypatch, end)
    with pytest.raises(Unreadable) as caught:
        legacy.parse(OLE, suffix=".doc")
    assert caught.value.code == "crashed"
