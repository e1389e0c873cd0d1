"""The main job over real files: what it writes, what it leaves alone, and what it takes back."""

from __future__ import annotations

import os
import shutil
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pytest
from office_files import docx_file, para
from syncs import NOW, content, rows, search, sync, writes

from parsers.registry import parser_id_for
from store.database import Store
from store.errors import FencedError, LockHeldError

LEAVE = """---
title: Leave policy
acl: [role:staff]
valid_from: 2026-01-01
valid_to: 2026-12-31
---
# Leave policy

## Annual leave

Every employee has fourteen days of annual leave.

## Sick leave

A certificate is needed from the third day on.
"""


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    folder = tmp_path / "docs"
    folder.mkdir()
    (folder / "leave.md").write_text(LEAVE)
    (folder / "errors.md").write_text("# Errors\n\nERR_4021 means that the token has expired.\n")
    (folder / "prices.csv").write_text(
        "code,item,price\nBH-01,pump,8.500.000\nBH-02,hose,120.000\n"
    )
    return folder


def touch(path: Path, seconds: int = 5) -> None:
    """Make a change visible to a listing, whatever the file system's clock."""
    stat = path.stat()
    os.utime(path, (stat.st_atime, stat.st_mtime + seconds))


def uris(found: list) -> set[str]:
    return {candidate.uri for candidate in found}


def test_a_folder_becomes_searchable(store: Store, docs: Path) -> None:
    report = sync(store, docs)
    assert report.documents == {
        "new": 3, "changed": 0, "unchanged": 0, "moved": 0, "gone": 0, "quarantined": 0,
    }  # fmt: skip
    assert report.exit_code == 0
    assert report.embedded == report.chunks["written"] > 0
    first = search(store, "ERR_4021")[0]
    assert first.uri == "errors.md"
    assert "ERR_4021" in first.text
    leave = search(store, "annual leave days")[0]
    assert (leave.uri, leave.title) == ("leave.md", "Leave policy")
    assert (leave.valid_from, leave.valid_to) == (date(2026, 1, 1), date(2026, 12, 31))
    assert "8.500.000" in search(store, "BH-01")[0].text


def test_i14_unchanged_input_writes_no_row(store: Store, docs: Path) -> None:
    sync(store, docs)
    before = writes(store)
    report = sync(store, docs)
    assert report.documents["unchanged"] == 3
    assert (report.embedded, report.rows_written, report.chunks["written"]) == (0, 0, 0)
    assert writes(store) - before == {"run": 2}  # one row of history, begun and ended


def test_i14_reading_every_file_again_writes_no_row_either(store: Store, docs: Path) -> None:
    sync(store, docs)
    before = writes(store)
    assert sync(store, docs, verify=True).documents["unchanged"] == 3
    assert writes(store) - before == {"run": 2}


def test_i14_a_changed_acl_embeds_nothing_and_holds_at_once(store: Store, docs: Path) -> None:
    sync(store, docs)
    assert "leave.md" in uris(search(store, "annual leave"))
    (docs / "leave.md").write_text(LEAVE.replace("role:staff", "role:hr"))
    touch(docs / "leave.md")
    before = writes(store)
    report = sync(store, docs)
    assert report.documents["changed"] == 1
    assert report.embedded == report.rows_written == 0
    assert set(writes(store) - before) == {"run", "document", "revision", "acl_set"}
    assert "leave.md" not in uris(search(store, "annual leave"))
    assert "leave.md" in uris(search(store, "annual leave", principals=("role:hr",)))


def test_i14_a_changed_date_embeds_nothing_and_holds_at_once(store: Store, docs: Path) -> None:
    sync(store, docs)
    (docs / "leave.md").write_text(LEAVE.replace("2026-12-31", "2026-06-30"))
    touch(docs / "leave.md")
    report = sync(store, docs)
    assert report.embedded == report.rows_written == 0
    assert "leave.md" not in uris(search(store, "annual leave"))
    assert "leave.md" in uris(search(store, "annual leave", as_of=date(2026, 6, 30)))
    assert "leave.md" not in uris(search(store, "annual leave", as_of=date(2026, 7, 1)))


def test_i14_a_rename_embeds_nothing_and_keeps_history(store: Store, docs: Path) -> None:
    sync(store, docs)
    chunks = {c.chunk_id for c in search(store, "annual leave") if c.uri == "leave.md"}
    (docs / "hr").mkdir()
    (docs / "leave.md").rename(docs / "hr" / "leave policy.md")
    before = writes(store)
    report = sync(store, docs)
    assert report.documents["moved"] == 1
    assert report.documents["gone"] == report.documents["new"] == 0
    assert report.embedded == report.rows_written == 0
    assert set(writes(store) - before) == {"run", "document"}
    found = search(store, "annual leave")
    assert "leave.md" not in uris(found)
    assert {c.chunk_id for c in found if c.uri == "hr/leave policy.md"} == chunks


def test_a_new_file_may_take_the_place_of_a_moved_one(store: Store, docs: Path) -> None:
    sync(store, docs)
    (docs / "leave.md").rename(docs / "leave-2026.md")
    assert sync(store, docs).documents["moved"] == 1
    (docs / "leave.md").write_text("# Leave policy 2027\n\nSixteen days of annual leave.\n")
    assert sync(store, docs).documents["new"] == 1
    found = {
        (c.uri, "Sixteen" in c.text, "fourteen" in c.text) for c in search(store, "annual leave")
    }
    assert ("leave.md", True, False) in found
    assert ("leave-2026.md", False, True) in found
    assert sync(store, docs).documents["unchanged"] == 4


def test_two_files_may_swap_their_names(store: Store, docs: Path) -> None:
    sync(store, docs)
    (docs / "errors.md").rename(docs / "x.md")
    (docs / "leave.md").rename(docs / "errors.md")
    (docs / "x.md").rename(docs / "leave.md")
    sync(store, docs)
    assert search(store, "ERR_4021")[0].uri == "leave.md"
    assert sync(store, docs).documents["unchanged"] == 3


def test_a_moved_document_takes_the_access_of_its_new_place(store: Store, docs: Path) -> None:
    (docs / "errors.md").write_text("# Errors\n\nERR_4021 means that the token has expired.\n")
    (docs / "secret").mkdir()
    (docs / "secret" / "_meta.yaml").write_text("acl: [role:hr]\n")
    sync(store, docs)
    (docs / "errors.md").rename(docs / "secret" / "errors.md")
    assert sync(store, docs).documents["moved"] == 1
    assert "secret/errors.md" not in uris(search(store, "ERR_4021"))
    assert "secret/errors.md" in uris(search(store, "ERR_4021", principals=("role:hr",)))


def test_i14_one_paragraph_of_a_long_document_costs_its_own_chunks(
    store: Store, tmp_path: Path
) -> None:
    folder = tmp_path / "long"
    folder.mkdir()
    sections = [
        f"## Clause {n}\n\n"
        + " ".join(f"Duty {n}.{m} is binding for party {m}." for m in range(12))
        for n in range(320)
    ]
    (folder / "contract.md").write_text("# Contract\n\n" + "\n\n".join(sections) + "\n")
    first = sync(store, folder)
    assert first.chunks["written"] >= 300
    shown = (
        "select e.chunk_id, e.xmin::text as x from mucluc.entry e"
        " join mucluc.revision_chunk rc using (chunk_id)"
        " join mucluc.revision r on r.id = rc.revision_id"
        " where r.sequence = (select max(sequence) from mucluc.revision)"
    )
    entries = {row["chunk_id"]: row["x"] for row in rows(store, shown)}
    sections[150] = sections[150].replace("Duty 150.3 is binding", "Duty 150.3 is void")
    (folder / "contract.md").write_text("# Contract\n\n" + "\n\n".join(sections) + "\n")
    touch(folder / "contract.md")
    second = sync(store, folder)
    assert second.documents["changed"] == 1
    assert 1 <= second.embedded <= 3
    assert second.chunks["written"] <= 3
    after = {row["chunk_id"]: row["x"] for row in rows(store, shown)}
    assert len(after.keys() - entries.keys()) == second.embedded
    assert all(after[chunk] == entries[chunk] for chunk in after.keys() & entries.keys())
    assert "void" in search(store, "Duty 150.3 void")[0].text


def test_i15_a_deleted_file_is_gone_before_anything_is_embedded(
    store: Store, docs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sync(store, docs)
    (docs / "errors.md").unlink()
    (docs / "new.md").write_text("# New\n\nSomething to embed.\n")
    from enrich.hashing import HashingEmbedder
    from enrich.models import EmbeddingFailed

    def refuse(*_: object) -> None:
        raise EmbeddingFailed("down", transient=False)

    with monkeypatch.context() as patch:
        patch.setattr(HashingEmbedder, "embed_passages", refuse)
        with pytest.raises(EmbeddingFailed):
            sync(store, docs)
    assert "errors.md" not in uris(search(store, "ERR_4021"))
    assert sync(store, docs).documents["new"] == 1


def test_i13_a_partial_listing_deletes_nothing(store: Store, docs: Path) -> None:
    sync(store, docs)
    away = docs.with_name("away")
    docs.rename(away)
    report = sync(store, docs)
    assert report.exit_code == 3
    assert report.withheld == {"deletions": 3, "why": "partial_listing"}
    assert search(store, "ERR_4021")[0].uri == "errors.md"
    away.rename(docs)
    assert sync(store, docs).documents["unchanged"] == 3


def test_i13_many_deletions_at_once_wait_for_a_word(store: Store, tmp_path: Path) -> None:
    folder = tmp_path / "many"
    folder.mkdir()
    for n in range(30):
        (folder / f"n{n:02}.md").write_text(f"# Note {n}\n\nNumber {n} of the notes.\n")
    sync(store, folder)
    for n in range(20):
        (folder / f"n{n:02}.md").unlink()
    (folder / "extra.md").write_text("# Extra\n\nAdditions go through.\n")
    report = sync(store, folder)
    assert report.withheld == {"deletions": 20, "why": "too_many"}
    assert report.documents["new"] == 1
    assert len(uris(search(store, "notes", k=50))) == 31
    report = sync(store, folder, confirm_deletions=True)
    assert report.documents["gone"] == 20
    assert len(uris(search(store, "notes", k=50))) == 11


def test_i13_a_scoped_run_infers_nothing_outside_its_scope(store: Store, docs: Path) -> None:
    sync(store, docs)
    (docs / "errors.md").unlink()
    (docs / "leave.md").write_text(LEAVE + "\nMore.\n")
    touch(docs / "leave.md")
    report = sync(store, docs, within=("leave.md",))
    assert (report.documents["changed"], report.documents["gone"]) == (1, 0)
    assert "errors.md" in uris(search(store, "ERR_4021"))


def test_history_is_searched_as_of_its_day_under_todays_access(store: Store, docs: Path) -> None:
    sync(store, docs, now=NOW - timedelta(days=10))
    (docs / "errors.md").write_text("# Errors\n\nERR_4021 means that the account is locked.\n")
    touch(docs / "errors.md")
    sync(store, docs)
    assert "locked" in search(store, "ERR_4021")[0].text
    assert "expired" in search(store, "ERR_4021", as_of=NOW.date() - timedelta(days=5))[0].text
    both = [c.text for c in search(store, "ERR_4021") if "ERR_4021" in c.text]
    assert len(both) == 1


def test_a_to_b_to_a_shows_a_again(store: Store, docs: Path) -> None:
    a, b = "# Errors\n\nERR_4021: version A.\n", "# Errors\n\nERR_4021: version B.\n"
    for day, text in enumerate([a, b, a]):
        (docs / "errors.md").write_text(text)
        touch(docs / "errors.md", 10 * (day + 1))
        sync(store, docs, now=NOW + timedelta(days=day))
    texts = [
        search(store, "ERR_4021", as_of=NOW.date() + timedelta(days=day))[0].text
        for day in range(3)
    ]
    assert ["A" in t.split("version ")[1] for t in texts] == [True, False, True]


def test_a_deleted_file_that_returns_is_found_again(store: Store, docs: Path) -> None:
    text = (docs / "errors.md").read_text()
    sync(store, docs)
    (docs / "errors.md").unlink()
    assert sync(store, docs).documents["gone"] == 1
    assert "errors.md" not in uris(search(store, "ERR_4021"))
    (docs / "errors.md").write_text(text)
    report = sync(store, docs)
    assert report.documents["new"] == 1
    assert report.embedded == 0
    assert "errors.md" in uris(search(store, "ERR_4021"))


def test_i12_a_bad_file_is_quarantined_and_tried_again_when_it_changes(
    store: Store, docs: Path
) -> None:
    good = (docs / "errors.md").read_bytes()
    (docs / "bad.docx").write_bytes(b"PK\x03\x04 not a document")
    report = sync(store, docs)
    assert report.exit_code == 3
    assert report.documents == {
        "new": 3, "changed": 0, "unchanged": 0, "moved": 0, "gone": 0, "quarantined": 1,
    }  # fmt: skip
    before = writes(store)
    assert sync(store, docs).documents == {
        "new": 0, "changed": 0, "unchanged": 3, "moved": 0, "gone": 0, "quarantined": 1,
    }  # fmt: skip
    assert writes(store) - before == {"run": 2}
    (docs / "bad.docx").unlink()
    (docs / "bad.md").write_bytes(good.replace(b"4021", b"5000"))
    assert sync(store, docs).exit_code == 0


def test_i12_a_file_that_needs_a_helper_is_tried_again_when_the_helper_is_installed(
    store: Store, docs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    programs = tmp_path / "programs"
    programs.mkdir()
    made = tmp_path / "made.docx"
    made.write_bytes(docx_file(para("The pump of type BX-77 is out of stock.")))
    monkeypatch.setenv("PATH", str(programs))
    parser_id_for.cache_clear()  # as in the next night's process
    (docs / "old.doc").write_bytes(
        b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + "WordDocument".encode("utf-16-le") + bytes(512)
    )
    report = sync(store, docs)
    assert [item["reason"] for item in report.quarantined] == ["needs_libreoffice"]
    before = writes(store)
    assert sync(store, docs).documents["quarantined"] == 1
    assert writes(store) - before == {"run": 2}
    program = programs / "soffice"
    program.write_text(
        f'#!/bin/sh\nfor a; do last=$a; done\n/bin/cp "{made}" "${{last%.*}}.docx"\n'
    )
    program.chmod(0o755)
    parser_id_for.cache_clear()
    report = sync(store, docs)
    assert (report.documents["quarantined"], report.exit_code) == (0, 0)
    assert "old.doc" in uris(search(store, "BX-77"))
    parser_id_for.cache_clear()


def test_i12_an_earlier_good_revision_goes_on_showing_and_says_so(store: Store, docs: Path) -> None:
    sync(store, docs)
    (docs / "errors.md").write_text("   ")
    touch(docs / "errors.md")
    report = sync(store, docs)
    assert report.documents["quarantined"] == 1
    first = search(store, "ERR_4021")[0]
    assert (first.uri, first.stale) == ("errors.md", True)
    (docs / "errors.md").write_text("# Errors\n\nERR_4021 is back.\n")
    touch(docs / "errors.md", 20)
    assert sync(store, docs).exit_code == 0
    first = search(store, "ERR_4021")[0]
    assert (first.stale, "back" in first.text) == (False, True)


def test_broken_metadata_quarantines_and_never_widens_access(store: Store, docs: Path) -> None:
    (docs / "errors.md.meta.yaml").write_text("acl: [role:hr]\n")
    sync(store, docs)
    assert "errors.md" not in uris(search(store, "ERR_4021"))
    (docs / "errors.md.meta.yaml").write_text("acl: [role:hr\n")
    report = sync(store, docs)
    assert report.quarantined[0]["reason"] == "broken_metadata"
    assert "errors.md" not in uris(search(store, "ERR_4021"))
    assert "errors.md" in uris(search(store, "ERR_4021", principals=("role:hr",)))
    assert sync(store, docs).documents["quarantined"] == 1
    (docs / "errors.md.meta.yaml").write_text("acl: [role:staff]\n")
    assert sync(store, docs).exit_code == 0
    assert "errors.md" in uris(search(store, "ERR_4021"))


def test_i5_a_document_without_an_acl_is_seen_by_nobody_and_said(store: Store, docs: Path) -> None:
    report = sync(store, docs, acl=None)
    assert report.warnings["no_acl"] == 2  # leave.md states one in its front matter
    assert uris(search(store, "ERR_4021 BH-01")) <= {"leave.md"}


def test_a_changed_title_is_embedded_anew_and_a_killed_run_over_it_is_finished(
    store: Store, docs: Path
) -> None:
    from syncs import request

    from flows import changes
    from flows.job import open_job
    from flows.progress import StageProgress

    sync(store, docs)
    (docs / "leave.md").write_text(LEAVE.replace("title: Leave policy", "title: Holidays"))
    touch(docs / "leave.md")
    job = open_job(store, request(docs), StageProgress(shown=False))
    changes.list_source(job)
    changes.diff(job)
    changes.revoke(job)
    job.close()  # dies here: the title is in force, the contexts are not written
    report = sync(store, docs)
    assert report.embedded > 0
    found = rows(
        store,
        "select prefix from mucluc.entry e join mucluc.context k using (chunk_id, input_sha256)",
    )
    assert any("Holidays" in row["prefix"] for row in found)
    assert sync(store, docs).embedded == 0


def test_two_runs_of_one_source_exclude_each_other(store: Store, docs: Path) -> None:
    from syncs import request

    from flows.job import open_job
    from flows.progress import StageProgress

    job = open_job(store, request(docs), StageProgress(shown=False))
    with pytest.raises(LockHeldError):
        sync(store, docs)
    sync(store, docs, source="other")
    job.close()
    assert sync(store, docs).documents["new"] == 3


def test_i8_a_run_that_lost_its_lock_can_no_longer_write(store: Store, docs: Path) -> None:
    from syncs import request

    from flows import changes
    from flows.job import open_job
    from flows.progress import StageProgress

    old = open_job(store, request(docs), StageProgress(shown=False))
    changes.list_source(old)
    changes.diff(old)
    old.run.release()  # as when its connection breaks
    sync(store, docs)
    before = content(store)
    with pytest.raises(FencedError):
        changes.revoke(old)
    assert content(store) == before
    old.close()


def test_i7_order_and_batches_do_not_matter(
    store: Store, docs: Path, server: str, tmp_path: Path
) -> None:
    import psycopg
    from conftest import SECRET

    from store import embedded
    from store.database import open_store

    sync(store, docs)
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute("drop database if exists twin with (force)")
        connection.execute("create database twin template fresh")
    with open_store(embedded.beside(server, "twin"), SECRET) as twin:
        # One file after the other, each a batch of its own, in another order.
        for name in ("prices.csv", "leave.md", "errors.md"):
            sync(twin, docs, within=(name,), limits={"batch_documents": 1})
        assert content(twin) == content(store)


@pytest.mark.parametrize(
    "stage", ["revoke", "parse", "chunk", "contextualize", "embed", "write", "index"]
)
def test_i8_a_run_that_died_before_a_stage_is_finished_by_the_next(
    store: Store, docs: Path, server: str, stage: str
) -> None:
    import psycopg
    from conftest import SECRET
    from syncs import request, run_stages

    from flows.job import open_job
    from flows.progress import StageProgress
    from store import embedded
    from store.database import open_store

    sync(store, docs)
    name = f"died_{stage}"
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f"drop database if exists {name} with (force)")  # type: ignore[arg-type]
        connection.execute(f"create database {name} template fresh")  # type: ignore[arg-type]

    class Died(Exception):
        pass

    left = 2

    def die(at: str) -> None:
        nonlocal left
        if at == stage:
            left -= 1
            if left == 0 or stage in ("revoke", "index"):
                raise Died

    with open_store(embedded.beside(server, name), SECRET) as twin:
        job = open_job(
            twin, request(docs, limits={"batch_documents": 1}), StageProgress(shown=False)
        )
        with pytest.raises(Died):
            run_stages(job, before=die)
        job.close()
        sync(twin, docs)
        assert content(twin) == content(store)


def test_i9_what_was_erased_does_not_come_back_even_renamed(store: Store, docs: Path) -> None:
    import hashlib
    from uuid import uuid4

    from store.places import Place, place_hashes

    sync(store, docs)
    raw = (docs / "errors.md").read_bytes()
    digest = hashlib.sha256(raw).digest()
    hashes = place_hashes(
        store.keys.tombstone, "acme",
        Place(uri="errors.md", raw_sha256=digest, content_sha256=digest),
    )  # fmt: skip
    from store.keys import key_id

    erasure = uuid4()
    with store.pool.connection() as connection:
        connection.execute(
            "insert into mucluc.erasure (id, tenant, requester, reason) values (%s, 'acme', 'dpo', 'x')",
            [erasure],
        )
        for kind, value in hashes:
            connection.execute(
                "insert into mucluc.tombstone (tenant, kind, key_id, hash, erasure_id)"
                " values ('acme', %s, %s, %s, %s)",
                [kind, key_id(store.keys.tombstone), value, erasure],
            )
        connection.execute("delete from mucluc.document where uri = 'errors.md'")
    shutil.copy(docs / "errors.md", docs / "renamed.md")
    report = sync(store, docs)
    assert report.warnings["erased"] == 2
    assert report.documents["new"] == 0
    assert not uris(search(store, "ERR_4021")) & {"errors.md", "renamed.md"}
    sync(store, docs, tenant="globex")
    assert "errors.md" in uris(search(store, "ERR_4021", tenant="globex"))


def test_a_secret_that_cannot_match_the_tombstones_is_refused(
    store: Store, docs: Path, database: str
) -> None:
    from uuid import uuid4

    from store.database import open_store
    from store.errors import DatabaseUnusable

    erasure = uuid4()
    with store.pool.connection() as connection:
        connection.execute(
            "insert into mucluc.erasure (id, tenant, requester, reason) values (%s, 'acme', 'd', 'x')",
            [erasure],
        )
        connection.execute(
            "insert into mucluc.tombstone (tenant, kind, key_id, hash, erasure_id)"
            " values ('acme', 'uri', 'another', 'h', %s)",
            [erasure],
        )
    with pytest.raises(DatabaseUnusable, match="MUCLUC_SECRET"):
        open_store(database, b"another secret of at least 32 bytes!")


def test_a_mails_attachments_are_documents_with_its_readers_and_days(
    store: Store, tmp_path: Path
) -> None:
    from email.message import EmailMessage

    folder = tmp_path / "mails"
    folder.mkdir()
    mail = EmailMessage()
    mail["Subject"], mail["From"], mail["To"] = "New prices", "a@acme.vn", "b@acme.vn"
    mail.set_content("Dear all, the new prices are attached.")
    mail.add_attachment(
        b"code,price\nBH-77,990.000\n", maintype="text", subtype="csv", filename="prices.csv"
    )
    (folder / "mail.eml").write_bytes(bytes(mail))
    report = sync(store, folder)
    assert report.warnings["attachments"] == 1
    found = search(store, "BH-77")[0]
    assert found.uri == "mail.eml!/prices.csv"
    assert sync(store, folder).documents["unchanged"] == 1
    (folder / "mail.eml.meta.yaml").write_text("acl: [role:hr]\nvalid_to: 2026-12-31\n")
    sync(store, folder)
    assert not search(store, "BH-77")
    assert search(store, "BH-77", principals=("role:hr",))[0].valid_to == date(2026, 12, 31)
    (folder / "mail.eml").unlink()
    (folder / "mail.eml.meta.yaml").unlink()
    (folder / "other.md").write_text("# Other\n\nNothing.\n")
    sync(store, folder)
    assert not uris(search(store, "BH-77", principals=("role:hr", "role:staff"))) & {
        "mail.eml", "mail.eml!/prices.csv",
    }  # fmt: skip
    (folder / "mail.eml").write_bytes(bytes(mail))
    report = sync(store, folder)
    assert (report.documents["new"], report.embedded) == (1, 0)
    assert "mail.eml!/prices.csv" in uris(search(store, "BH-77"))


def test_ended_revisions_leave_the_hot_index_and_are_still_found_for_their_day(
    store: Store, docs: Path
) -> None:
    sync(store, docs)
    later = datetime(2027, 2, 1, 9, 0, tzinfo=UTC)
    sync(store, docs, now=later)
    cold = rows(store, "select count(*) as n from mucluc.entry where not hot")[0]["n"]
    assert cold > 0
    assert "leave.md" not in uris(search(store, "annual leave", as_of=later.date()))
    assert "leave.md" in uris(search(store, "annual leave", as_of=date(2026, 5, 1)))
    # A correction gives it its days back.
    (docs / "leave.md").write_text(LEAVE.replace("valid_to: 2026-12-31\n", ""))
    touch(docs / "leave.md")
    sync(store, docs, now=later)
    assert "leave.md" in uris(search(store, "annual leave", as_of=later.date()))
    assert rows(store, "select count(*) as n from mucluc.entry where not hot")[0]["n"] == 0
