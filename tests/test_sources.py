"""Sources: what is listed, what is said about it, and what is never guessed."""

from __future__ import annotations

import json
import os
import random
import shutil
import socket
import subprocess
import sys
import unicodedata
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import date
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from sources import folder, walk
from sources.files import REASONS, FolderOptions, ListedFile, Listing, Metadata, SourceProblem
from sources.folder import list_folder, read_file, stated_metadata
from sources.frontmatter import split
from sources.principals import check_principal
from sources.statements import KNOWN

quick = settings(max_examples=60, deadline=None)


def write(root: Path, files: dict[str, str | bytes]) -> Path:
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
    return root


def by_uri(listing: Listing) -> dict[str, ListedFile]:
    return {file.uri: file for file in listing.files}


def uris(root: Path, **options: Any) -> list[str]:
    return [file.uri for file in list_folder(root, options=FolderOptions(**options)).files]


def tokens(root: Path) -> dict[str, str]:
    return {file.uri: file.token for file in list_folder(root).files}


def metadata(root: Path, uri: str, **defaults: Any) -> Metadata:
    return read_file(by_uri(list_folder(root, defaults=defaults))[uri]).metadata


def problem(root: Path, uri: str) -> str:
    """Return the code under which a file is not taken; fail if it is taken."""
    with pytest.raises(SourceProblem) as caught:
        read_file(by_uri(list_folder(root))[uri])
    assert caught.value.code in REASONS
    return caught.value.code


# --- the listing ---------------------------------------------------------------------------------


def test_documents_are_listed_in_byte_order_and_metadata_files_are_none(tmp_path: Path) -> None:
    names = ["b.txt", "a/z.txt", "a.txt", "Z.txt", "Lương.docx", "a-b.txt"]
    metadata_files = ["_meta.yaml", "b.txt.meta.yaml", "manifest.jsonl", "mucluc.toml"]
    write(tmp_path, dict.fromkeys([*names, *metadata_files, "a/_meta.yml"], ""))
    assert uris(tmp_path) == sorted(names, key=str.encode)


def test_hidden_and_junk_names_are_passed_over(tmp_path: Path) -> None:
    write(tmp_path, dict.fromkeys(["a.md", ".b.md", ".c/d.md", "~$a.docx", "Thumbs.db"], "x"))
    write(tmp_path, {".git/config": "x", ".mucluc/secret.key": "x"})
    assert uris(tmp_path) == ["a.md"]
    assert uris(tmp_path, hidden=True) == [".b.md", ".c/d.md", "a.md"]


def test_globs_are_those_of_gitignore(tmp_path: Path) -> None:
    names = ["a.md", "a.txt", "drafts/b.md", "hr/drafts/c.md", "hr/d.md", "hr/deep/e.md"]
    write(tmp_path, dict.fromkeys(names, "x"))
    assert uris(tmp_path, include=("*.md",)) == sorted(n for n in names if n.endswith(".md"))
    assert uris(tmp_path, exclude=("drafts/",)) == ["a.md", "a.txt", "hr/d.md", "hr/deep/e.md"]
    assert uris(tmp_path, exclude=("/drafts", "*.txt", "!a.txt", "hr/**/e.md")) == [
        "a.md",
        "a.txt",
        "hr/d.md",
        "hr/drafts/c.md",
    ]
    assert uris(tmp_path, include=("hr/",), exclude=("hr/*.md",)) == [
        "hr/deep/e.md",
        "hr/drafts/c.md",
    ]


def test_a_wrong_glob_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r".+"):
        list_folder(tmp_path, options=FolderOptions(exclude=("!",)))


PARTS = st.lists(st.sampled_from(["a", "b.c", "á", "ấ", "Z", "1-"]), min_size=1, max_size=3)


@quick
@given(
    names=st.lists(PARTS.map("/".join), min_size=1, max_size=6, unique=True), random=st.randoms()
)
def test_i7_a_listing_does_not_depend_on_the_order_of_creation(
    names: list[str], random: random.Random
) -> None:
    wanted = [f"{name}.md" for name in names]
    listings = []
    for shuffled in (wanted, random.sample(wanted, len(wanted))):
        with TemporaryDirectory() as place:
            root = write(Path(place), dict.fromkeys(shuffled, "x"))
            for path in root.rglob("*.md"):
                os.utime(path, ns=(1, 1_700_000_000_123_456_789))
            listings.append([(file.uri, file.token) for file in list_folder(root).files])
    assert listings[0] == listings[1]
    assert [uri for uri, _ in listings[0]] == sorted(wanted, key=str.encode)


def test_uris_are_nfc_and_twins_are_taken_by_nobody(tmp_path: Path) -> None:
    nfd = unicodedata.normalize("NFD", "Lương.txt")
    write(tmp_path, {f"{nfd}": "one"})
    assert uris(tmp_path) == ["Lương.txt"]
    assert read_file(list_folder(tmp_path).files[0]).data == b"one"
    write(tmp_path, {"Lương.txt": "two", "other.txt": "three"})
    listing = list_folder(tmp_path)
    assert [(file.uri, file.problem) for file in listing.files] == [
        ("Lương.txt", "name_collision"),
        ("other.txt", None),
    ]
    assert listing.complete
    assert problem(tmp_path, "Lương.txt") == "name_collision"


def test_a_name_that_is_not_utf8_has_a_uri_that_a_database_can_hold(tmp_path: Path) -> None:
    try:
        Path(os.fsdecode(os.fsencode(tmp_path) + b"/gi\xe1.txt")).write_text("x")
    except OSError:
        pytest.skip("this file system takes UTF-8 names alone")
    listing = list_folder(tmp_path)
    assert [file.uri for file in listing.files] == ["gi\\xe1.txt"]
    assert listing.warnings == {"name_not_utf8": 1}
    assert read_file(listing.files[0]).data == b"x"


def test_links_are_followed_to_files_inside_the_root_alone(tmp_path: Path) -> None:
    outside = write(tmp_path / "outside", {"secret.txt": "s"})
    root = write(tmp_path / "root", {"real/a.txt": "a", "b.txt": "b"})
    (root / "inside.txt").symlink_to("real/a.txt")
    (root / "out.txt").symlink_to(outside / "secret.txt")
    (root / "up.txt").symlink_to("../outside/secret.txt")
    (root / "loop").symlink_to(".")
    (root / "loop.txt").symlink_to("loop.txt")
    (root / "gone.txt").symlink_to("nowhere.txt")
    (root / "outside").symlink_to(outside)
    os.mkfifo(root / "pipe.txt")
    listing = list_folder(root)
    assert [file.uri for file in listing.files] == ["b.txt", "inside.txt", "real/a.txt"]
    assert read_file(by_uri(listing)["inside.txt"]).data == b"a"
    assert listing.complete
    assert listing.warnings == {
        "folder_link": 2,
        "link_broken": 2,
        "link_outside": 2,
        "special_file": 1,
    }


def test_a_sibling_whose_name_begins_like_the_root_is_outside(tmp_path: Path) -> None:
    write(tmp_path, {"root-2/secret.txt": "s", "root/a.txt": "a"})
    (tmp_path / "root" / "b.txt").symlink_to("../root-2/secret.txt")
    assert uris(tmp_path / "root") == ["a.txt"]


def test_a_file_that_became_a_link_or_a_pipe_after_the_listing_is_not_read(tmp_path: Path) -> None:
    root = write(tmp_path / "root", {"a.txt": "a", "b.txt": "b"})
    write(tmp_path, {"outside.txt": "o"})
    listed = by_uri(list_folder(root))
    for name in ("a.txt", "b.txt"):
        (root / name).unlink()
    (root / "a.txt").symlink_to(tmp_path / "outside.txt")
    os.mkfifo(root / "b.txt")
    for name, code in (("a.txt", "unreadable"), ("b.txt", "changed_while_reading")):
        with pytest.raises(SourceProblem) as caught:
            read_file(listed[name])
        assert caught.value.code == code


def test_a_root_that_is_a_file_is_a_listing_of_that_file(tmp_path: Path) -> None:
    write(tmp_path, {"a.txt": "a", "b.txt": "b", "sub/c.txt": "c", "_meta.yaml": "acl: role:hr"})
    listing = list_folder(tmp_path / "a.txt", options=FolderOptions(exclude=("*.txt",)))
    assert tuple(file.uri for file in listing.files) == listing.scope == ("a.txt",)
    assert listing.complete
    assert read_file(listing.files[0]).metadata.acl == ("role:hr",)


def test_i13_a_scoped_listing_says_what_it_is_complete_for(tmp_path: Path) -> None:
    write(tmp_path, {"hr/a.md": "", "hr/x/b.md": "", "hr2/c.md": "", "d.md": ""})
    write(tmp_path, {"_meta.yaml": "acl: role:all", "hr/_meta.yaml": "acl: role:hr"})
    listing = list_folder(tmp_path, options=FolderOptions(within=("hr/", "d.md")))
    assert [file.uri for file in listing.files] == ["d.md", "hr/a.md", "hr/x/b.md"]
    assert listing.scope == ("hr", "d.md")
    assert read_file(by_uri(listing)["hr/x/b.md"]).metadata.acl == ("role:hr",)
    assert list_folder(tmp_path, options=FolderOptions(within=(".",))).scope == ()


def test_i13_a_missing_root_is_an_incomplete_listing(tmp_path: Path) -> None:
    listing = list_folder(tmp_path / "nowhere")
    assert (listing.files, listing.complete) == ((), False)
    assert listing.problems == ("root_missing",)
    assert list_folder(tmp_path).complete


@contextmanager
def meddling(
    monkeypatch: pytest.MonkeyPatch, when: str, act: Callable[[str], None]
) -> Iterator[None]:
    """Do something to the disk at the moment the walk opens a folder."""
    real = os.scandir

    def scandir(path: str) -> Any:
        if isinstance(path, str) and Path(path).name == when:
            act(path)
        return real(path)

    with monkeypatch.context() as patch:
        patch.setattr(walk.os, "scandir", scandir)
        yield


def test_i13_a_folder_that_cannot_be_opened_makes_the_listing_partial(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path, {"a/x.txt": "", "b/y.txt": ""})

    def refuse(path: str) -> None:
        raise PermissionError(13, "no")

    with meddling(monkeypatch, "a", refuse):
        listing = list_folder(tmp_path)
    assert [file.uri for file in listing.files] == ["b/y.txt"]
    assert (listing.complete, listing.problems) == (False, ("unreadable_folder",))


def test_i13_a_folder_or_root_that_vanishes_makes_the_listing_partial(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = write(tmp_path / "root", {"a/x.txt": "", "b/y.txt": ""})
    with meddling(monkeypatch, "a", shutil.rmtree):
        assert list_folder(root).problems == ("unreadable_folder",)
    with meddling(monkeypatch, "b", lambda path: shutil.rmtree(root)):
        assert list_folder(root).problems == ("root_changed", "unreadable_folder")
    write(root, {"b/y.txt": ""})
    with meddling(monkeypatch, "b", lambda path: shutil.move(root, tmp_path / "taken")):
        assert not list_folder(root).complete


def test_a_file_that_vanishes_during_the_walk_does_not_stop_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path, {"a.txt": "", "b.txt": ""})
    real = walk.os.stat

    def stat(path: Any, **keywords: Any) -> os.stat_result:
        if str(path).endswith("a.txt"):
            Path(path).unlink(missing_ok=True)
        return real(path, **keywords)

    monkeypatch.setattr(walk.os, "stat", stat)
    listing = list_folder(tmp_path)
    assert [file.uri for file in listing.files] == ["b.txt"]
    assert (listing.complete, listing.warnings) == (True, {"vanished": 1})


@pytest.mark.skipif(sys.platform == "win32" or os.geteuid() != 0, reason="needs another user")
def test_what_another_user_may_not_open_is_kept_as_a_problem(tmp_path: Path) -> None:
    with TemporaryDirectory(dir="/tmp") as place:
        root = write(Path(place), {"a.txt": "a", "closed/b.txt": "b", "c.txt": "c"})
        Path(place).chmod(0o755)
        (root / "closed").chmod(0o000)
        (root / "c.txt").chmod(0o000)
        child = os.fork()
        if child == 0:
            try:
                os.setuid(65534)
                listing = list_folder(root)
                try:
                    read_file(by_uri(listing)["c.txt"])
                except SourceProblem as caught:
                    right = caught.code == "unreadable" and not listing.complete
                    os._exit(0 if right and list(by_uri(listing)) == ["a.txt", "c.txt"] else 1)
            finally:
                os._exit(2)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_a_file_over_the_limit_is_listed_and_never_read(tmp_path: Path) -> None:
    write(tmp_path, {"big.txt": "x" * 11, "fits.txt": "x" * 10})
    listed = by_uri(list_folder(tmp_path, options=FolderOptions(max_bytes=10)))
    assert listed["fits.txt"].problem is None
    with pytest.raises(SourceProblem, match="too_large"):
        read_file(listed["big.txt"])
    assert listed["big.txt"].token != tokens(tmp_path)["big.txt"]


def test_a_socket_is_no_document_and_progress_is_told_once_a_folder(tmp_path: Path) -> None:
    write(tmp_path, {"a.txt": "", "b/c.txt": ""})
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(tmp_path / "s"))
        seen: list[int] = []
        listing = list_folder(tmp_path, progress=seen.append)
    assert listing.warnings == {"special_file": 1}
    assert seen == [1, 2]


# --- tokens --------------------------------------------------------------------------------------


def test_i14_a_token_stays_until_something_is_said_or_written(tmp_path: Path) -> None:
    write(tmp_path, {"hr/a.md": "a", "hr/sub/b.md": "b", "c.md": "c", "hr/own.md": "d"})
    write(tmp_path, {"hr/_meta.yaml": "acl: [role:hr]\n", "hr/own.md.meta.yaml": "acl: [role:x]"})
    before = tokens(tmp_path)
    assert tokens(tmp_path) == before
    write(tmp_path, {"hr/_meta.yaml": "# a remark\nacl: role:hr\n"})
    assert tokens(tmp_path) == before
    write(tmp_path, {"hr/_meta.yaml": "acl: [role:hr, role:board]\n"})
    after = tokens(tmp_path)
    assert {uri for uri in after if after[uri] != before[uri]} == {"hr/a.md", "hr/sub/b.md"}
    write(tmp_path, {"hr/own.md.meta.yaml": "acl: []"})
    assert {u for u, token in tokens(tmp_path).items() if token != after[u]} == {"hr/own.md"}


def test_a_token_follows_size_mtime_and_defaults(tmp_path: Path) -> None:
    write(tmp_path, {"a.md": "a"})
    os.utime(tmp_path / "a.md", ns=(0, 10**18))
    seen = {tokens(tmp_path)["a.md"], list_folder(tmp_path, defaults={"acl": []}).files[0].token}
    os.utime(tmp_path / "a.md", ns=(0, 10**18 + 1))
    seen.add(tokens(tmp_path)["a.md"])
    write(tmp_path, {"a.md": "ab"})
    os.utime(tmp_path / "a.md", ns=(0, 10**18))
    seen.add(tokens(tmp_path)["a.md"])
    assert len(seen) == 4


def test_mending_a_broken_sidecar_changes_the_token(tmp_path: Path) -> None:
    write(tmp_path, {"a.md": "a"})
    plain = tokens(tmp_path)
    write(tmp_path, {"a.md.meta.yaml": "acl: ["})
    broken = tokens(tmp_path)
    write(tmp_path, {"a.md.meta.yaml": "acl: []"})
    assert len({t["a.md"] for t in (plain, broken, tokens(tmp_path))}) == 3


# --- precedence ----------------------------------------------------------------------------------

STATED = st.fixed_dictionaries(
    {},
    optional={
        "collection": st.sampled_from(["hr", "sales", "Nhân sự"]),
        "acl": st.lists(
            st.sampled_from(["role:hr", "role:all", "!role:guest", "user:an@acme.vn"]), unique=True
        ),
        "valid_from": st.dates(date(2020, 1, 1), date(2022, 1, 1)),
        "valid_to": st.dates(date(2023, 1, 1), date(2025, 1, 1)) | st.none(),
        "language": st.sampled_from(["vi", "en"]),
        "employee": st.sampled_from(["E042", "0042", "yes", "1.10", "12:30"]),
        "tags": st.lists(st.integers(-5, 5) | st.booleans() | st.text("aé: #", max_size=4)),
    },
)
TITLED = st.tuples(STATED, st.fixed_dictionaries({}, optional={"title": st.just("Bảng giá")})).map(
    lambda pair: pair[0] | pair[1]
)


def model(*nearest_first: dict[str, Any]) -> Metadata:
    """Say the rule again, as plainly as it can be said."""
    values: dict[str, Any] = {}
    for statements in reversed(nearest_first):
        values.update(statements)
    known = {key: values.get(key) for key in KNOWN}
    if known["acl"] is not None:
        known["acl"] = tuple(sorted(known["acl"]))
    return Metadata(**known, extra={k: v for k, v in values.items() if k not in KNOWN})


@quick
@given(TITLED, TITLED, TITLED, STATED, STATED, STATED, st.sampled_from(["a.md", "a.txt"]))
def test_the_nearest_statement_of_each_key_holds(
    manifest: dict[str, Any],
    sidecar: dict[str, Any],
    front: dict[str, Any],
    inner: dict[str, Any],
    outer: dict[str, Any],
    defaults: dict[str, Any],
    name: str,
) -> None:
    with TemporaryDirectory() as place:
        uri = f"hr/{name}"
        line = json.dumps({"uri": uri, **manifest}, default=str)
        top = f"---\n{yaml.safe_dump(front, allow_unicode=True)}---\n" if front else ""
        root = write(
            Path(place),
            {
                "manifest.jsonl": line,
                f"{uri}.meta.yaml": yaml.safe_dump(sidecar, allow_unicode=True),
                uri: f"{top}body\n",
                "hr/_meta.yaml": yaml.safe_dump(inner),
                "_meta.yaml": yaml.safe_dump(outer),
            },
        )
        layers = [manifest, sidecar, front, inner, outer, defaults]
        if name == "a.txt":
            del layers[2]
        listed = list_folder(root, defaults=defaults).files[0]
        read = read_file(listed)
        assert read.metadata == model(*layers)
        assert read.metadata.sha256() == model(*layers).sha256()
        if name == "a.txt":
            assert stated_metadata(listed) == read.metadata


def test_a_statement_replaces_and_never_merges(tmp_path: Path) -> None:
    write(tmp_path, {"_meta.yaml": "acl: [role:all, role:hr]\nowner: {team: hr, room: 2}\n"})
    write(tmp_path, {"a.md": "---\nacl: role:board\nowner: {team: board}\n---\nbody"})
    said = metadata(tmp_path, "a.md", acl=["role:everyone"])
    assert said.acl == ("role:board",)
    assert said.extra == {"owner": {"team": "board"}}


def test_i5_nobody_and_nothing_stated_are_told_apart(tmp_path: Path) -> None:
    write(tmp_path, {"a.md": "---\nacl: []\n---\n", "b.md": ""})
    assert metadata(tmp_path, "a.md").acl == ()
    assert metadata(tmp_path, "b.md").acl is None
    assert metadata(tmp_path, "a.md", acl=["role:all"]).acl == ()
    assert metadata(tmp_path, "b.md", acl="role:all").acl == ("role:all",)


def test_an_empty_value_hides_what_is_stated_farther_away(tmp_path: Path) -> None:
    write(tmp_path, {"_meta.yaml": "valid_to: 2025-12-31\ncollection: old", "a.txt": ""})
    write(tmp_path, {"a.txt.meta.yaml": "valid_to:\ncollection: null"})
    said = metadata(tmp_path, "a.txt")
    assert (said.valid_to, said.collection) == (None, None)


def test_values_are_taken_as_they_are_written(tmp_path: Path) -> None:
    front = """---
title: 2026
language: no
valid_from: 2026-01-01
valid_to: "2026-12-31"
employee: 0042
version: 1.10
time: 12:30
price: 8.500
on: yes
count: 12
draft: true
seen: 2025-02-03
---
"""
    write(tmp_path, {"a.md": front})
    assert metadata(tmp_path, "a.md") == Metadata(
        title="2026",
        language="no",
        valid_from=date(2026, 1, 1),
        valid_to=date(2026, 12, 31),
        extra={
            "employee": "0042",
            "version": "1.10",
            "time": "12:30",
            "price": "8.500",
            "on": "yes",
            "count": 12,
            "draft": True,
            "seen": "2025-02-03",
        },
    )


# --- what is broken is never guessed -------------------------------------------------------------

BROKEN = {
    "not YAML": "acl: [role:hr",
    "not a mapping": "role:hr",
    "a list": "- acl",
    "acl without entries": "acl:",
    "acl a number": "acl: 7",
    "a star": 'acl: ["*"]',
    "no namespace": "acl: [hr]",
    "upper-case namespace": "acl: [Role:hr]",
    "two in one": 'acl: "role:hr, role:all"',
    "a mapping in the list": "acl: [role: hr]",
    "a deny entry as a tag": "acl: [role:all, !role:guest]",
    "a nested list": "acl: [[role:hr]]",
    "an invisible letter": "acl: ['role:h\u200br']",
    "misspelt acl": "ACL: [role:hr]",
    "plural acl": "acls: [role:hr]",
    "misspelt validity": "valid-from: 2026-01-01",
    "valid until": "valid_until: 2026-01-01",
    "acl twice": "acl: [role:hr]\nacl: [role:all]",
    "no such day": "valid_from: 2025-02-30",
    "no such quoted day": 'valid_from: "2025-02-30"',
    "a time": "valid_to: 2025-02-03 10:00:00",
    "a Vietnamese date": "valid_to: 31/12/2025",
    "a short date": 'valid_to: "20251231"',
    "from after to": "valid_from: 2026-01-02\nvalid_to: 2026-01-01",
    "title a list": "title: [a]",
    "a language by name": "language: Tiếng Việt",
    "python": "x: !!python/object/apply:os.getcwd []",
    "bytes": "x: !!binary aGk=",
    "infinity": "x: !!float .inf",
    "NUL": 'x: "a\\0b"',
    "a bomb": "a: &a [x, x]\nb: &b [*a, *a]\nc: [*b, *b]",
    "depth": "x: " + "[" * 5000 + "]" * 5000,
    "too much": "x: " + "y" * 70_000,
    "two documents": "acl: []\n---\nacl: [role:all]",
}


@pytest.mark.parametrize("text", BROKEN.values(), ids=BROKEN.keys())
def test_a_broken_statement_never_falls_back_to_a_wider_acl(tmp_path: Path, text: str) -> None:
    write(tmp_path, {"_meta.yaml": "acl: [role:everyone]", "x.txt": "", "y.txt": ""})
    write(tmp_path, {"x.txt.meta.yaml": text})
    assert problem(tmp_path, "x.txt") == "broken_metadata"
    assert metadata(tmp_path, "y.txt").acl == ("role:everyone",)
    listed = by_uri(list_folder(tmp_path))["x.txt"]
    assert (listed.nearer, listed.farther) == ({}, {})


@pytest.mark.parametrize("text", BROKEN.values(), ids=BROKEN.keys())
def test_a_broken_folder_default_quarantines_all_below_it_alone(tmp_path: Path, text: str) -> None:
    write(tmp_path, {"_meta.yaml": "acl: [role:everyone]", "x.txt": "", "hr/sub/y.txt": ""})
    write(tmp_path, {"hr/_meta.yaml": text, "hr/sub/_meta.yaml": "acl: []", "hr/z.txt": ""})
    assert problem(tmp_path, "hr/sub/y.txt") == problem(tmp_path, "hr/z.txt") == "broken_metadata"
    assert metadata(tmp_path, "x.txt").acl == ("role:everyone",)


@pytest.mark.parametrize("text", BROKEN.values(), ids=BROKEN.keys())
def test_broken_front_matter_quarantines_its_file(tmp_path: Path, text: str) -> None:
    write(tmp_path, {"_meta.yaml": "acl: [role:everyone]", "x.md": f"---\n{text}\n---\nbody"})
    if text == BROKEN["a list"]:
        assert read_file(list_folder(tmp_path).files[0]).body_offset == 0  # thematic breaks
    elif text == BROKEN["two documents"]:
        assert metadata(tmp_path, "x.md").acl == ()
    else:
        assert problem(tmp_path, "x.md") == "broken_metadata"


def test_i10_hints_hold_no_names_and_no_values(tmp_path: Path) -> None:
    for number, text in enumerate(BROKEN.values()):
        write(tmp_path, {f"{number}/confidential.txt": "", f"{number}/_meta.yaml": text})
        write(tmp_path, {f"{number}/s/secretname.md": f"---\nxhidden: 1\n{text}\n---\n"})
    for file in list_folder(tmp_path).files:
        try:
            read_file(file)
        except SourceProblem as caught:
            words = str(caught)
            assert caught.hint
            for inner in ("confidential", "secretname", "xhidden", "role:all", "31/12", "getcwd"):
                assert inner not in words


@pytest.mark.parametrize(
    "name", ["x.txt.meta.yml", "x.txt.META.YAML", "x.meta.yaml", "x.txt.meta.yaml"]
)
def test_a_sidecar_that_is_nearly_named_right_is_not_passed_over(tmp_path: Path, name: str) -> None:
    write(tmp_path, {"_meta.yaml": "acl: [role:everyone]", "x.txt": "", name: "acl: [role:hr]"})
    assert uris(tmp_path) == ["x.txt"]
    if name == "x.meta.yaml":
        assert problem(tmp_path, "x.txt") == "broken_metadata"
        assert list_folder(tmp_path).warnings == {"orphan_sidecar": 1}
    else:
        assert metadata(tmp_path, "x.txt").acl == ("role:hr",)


def test_two_sidecars_or_two_folder_files_contradict_each_other(tmp_path: Path) -> None:
    write(tmp_path, {"x.txt": "", "x.txt.meta.yaml": "acl: []", "x.txt.meta.yml": "acl: []"})
    write(tmp_path, {"f/y.txt": "", "f/_meta.yaml": "acl: []", "f/_meta.yml": "acl: []"})
    assert problem(tmp_path, "x.txt") == problem(tmp_path, "f/y.txt") == "broken_metadata"


def test_metadata_files_are_not_read_through_links_out_of_the_source(tmp_path: Path) -> None:
    outside = write(tmp_path / "outside", {"m.yaml": "acl: [role:everyone]"})
    root = write(tmp_path / "root", {"a/x.txt": "", "y.txt": "", "m.yaml": "acl: [role:hr]"})
    (root / "a" / "_meta.yaml").symlink_to(outside / "m.yaml")
    (root / "y.txt.meta.yaml").symlink_to("m.yaml")
    assert problem(root, "a/x.txt") == "broken_metadata"
    assert metadata(root, "y.txt").acl == ("role:hr",)


def test_a_title_for_a_whole_folder_or_source_is_refused(tmp_path: Path) -> None:
    write(tmp_path, {"a/x.txt": "", "a/_meta.yaml": "title: One"})
    assert problem(tmp_path, "a/x.txt") == "broken_metadata"
    with pytest.raises(SourceProblem, match="broken_metadata"):
        list_folder(tmp_path, defaults={"title": "One"})


def test_dates_that_meet_from_different_places_are_compared(tmp_path: Path) -> None:
    write(
        tmp_path, {"_meta.yaml": "valid_to: 2025-12-31", "x.md": "---\nvalid_from: 2026-01-01\n---"}
    )
    write(tmp_path, {"y.md": "---\nvalid_from: 2026-01-01\nvalid_to:\n---"})
    assert problem(tmp_path, "x.md") == "broken_metadata"
    assert metadata(tmp_path, "y.md").valid_from == date(2026, 1, 1)


# --- the manifest --------------------------------------------------------------------------------


def test_a_manifest_speaks_by_uri_in_any_unicode_form(tmp_path: Path) -> None:
    lines = [
        {"uri": unicodedata.normalize("NFD", "hr/Lương.txt"), "acl": ["role:hr"], "employee": "E1"},
        {"uri": "./b.txt", "acl": "role:x", "valid_from": "2026-01-01"},
        {"uri": "gone.txt", "acl": []},
    ]
    text = "\ufeff" + "\n\n".join(json.dumps(line, ensure_ascii=False) for line in lines)
    write(tmp_path, {"hr/Lương.txt": "", "b.txt": "", "manifest.jsonl": text})
    assert metadata(tmp_path, "hr/Lương.txt") == Metadata(
        acl=("role:hr",), extra={"employee": "E1"}
    )
    assert metadata(tmp_path, "b.txt").valid_from == date(2026, 1, 1)
    assert list_folder(tmp_path).warnings == {"manifest_unmatched": 1}


@pytest.mark.parametrize(
    "line",
    [
        '{"uri": "b.txt", "acl": ["role:hr"',
        '["b.txt"]',
        '{"acl": []}',
        '{"uri": "b.txt", "acl": [], "acl": ["role:all"]}',
        '{"uri": "b.txt", "x": NaN}',
        '{"uri": 7}',
        "[" * 60_000,
        "x" * 70_000,
    ],
)
def test_a_line_about_nobody_knows_whom_concerns_all_without_a_line(
    tmp_path: Path, line: str
) -> None:
    write(tmp_path, {"a.txt": "", "b.txt": "", "_meta.yaml": "acl: [role:all]"})
    write(tmp_path, {"manifest.jsonl": f'{{"uri": "a.txt", "acl": ["role:a"]}}\n{line}\n'})
    assert metadata(tmp_path, "a.txt").acl == ("role:a",)
    assert problem(tmp_path, "b.txt") == "broken_metadata"


@pytest.mark.parametrize(
    "lines",
    [
        '{"uri": "b.txt", "acl": null}',
        '{"uri": "b.txt", "valid_from": 20260101}',
        '{"uri": "b.txt", "x": "\\ud800"}',
        '{"uri": "b.txt", "x": 1' + "0" * 400 + "}",
        '{"uri": "b.txt", "acl": []}\n{"uri": "b.txt", "acl": ["role:all"]}',
    ],
)
def test_a_wrong_line_concerns_its_own_file(tmp_path: Path, lines: str) -> None:
    write(tmp_path, {"a.txt": "", "b.txt": "", "manifest.jsonl": lines})
    assert problem(tmp_path, "b.txt") == "broken_metadata"
    assert by_uri(list_folder(tmp_path))["a.txt"].problem is None


def test_a_manifest_below_the_root_is_no_document_and_is_not_passed_over(tmp_path: Path) -> None:
    line = '{"uri": "x/a.txt", "acl": ["role:hr"]}'
    write(tmp_path, {"hr/manifest.jsonl": line, "hr/x/a.txt": "", "hr/b.txt": "", "x/a.txt": ""})
    listing = list_folder(tmp_path, defaults={"acl": ["role:everyone"]})
    assert {file.uri: file.problem for file in listing.files} == {
        "hr/b.txt": None,
        "hr/x/a.txt": "broken_metadata",
        "x/a.txt": None,
    }
    assert listing.warnings == {"manifest_below_root": 1}
    assert metadata(tmp_path / "hr", "x/a.txt").acl == ("role:hr",)


# --- front matter and bytes ----------------------------------------------------------------------

PLAIN = st.text(st.characters(codec="utf-8", exclude_categories=("Cc", "Cs")), max_size=20)
JSON = (
    st.none() | st.booleans() | st.integers(-(10**17), 10**17) | PLAIN | st.lists(PLAIN, max_size=3)
)


@quick
@given(
    front=st.dictionaries(st.from_regex(r"\A[a-z]{1,8}\Z"), JSON, max_size=4),
    body=st.text(st.characters(codec="utf-8"), max_size=60),
    newline=st.sampled_from(["\n", "\r\n"]),
    mark=st.sampled_from([b"", b"\xef\xbb\xbf"]),
    fence=st.sampled_from(["---", "...", "---  "]),
)
def test_front_matter_and_body_come_apart_as_they_were_put_together(
    front: dict[str, Any], body: str, newline: str, mark: bytes, fence: str
) -> None:
    block = yaml.safe_dump(front, allow_unicode=True) if front else ""
    top = f"---\n{block}{fence}\n".replace("\n", newline).encode()
    assert split(mark + top + body.encode()) == (front, len(mark + top))


@pytest.mark.parametrize(
    "text",
    [
        "# A heading\n---\n",
        "---\n\nProse between breaks: and more\n\n---\n",
        "---\n# Only a heading\n---\ntext",
        "---\nA heading by underline\n---\n",
        "---\n\n# Never closed\n",
        "----\ntitle: x\n----\n",
        " ---\ntitle: x\n---\n",
        "---",
        "",
        "---\n* one\n* two *three\n---\n",
    ],
)
def test_a_thematic_break_is_no_front_matter(text: str) -> None:
    assert split(text.encode()) == ({}, 0)


@pytest.mark.parametrize(
    "data",
    [
        b"---\ntitle: x\nacl: [role:hr]\n\n# Body\n",
        b"---\n\nacl: [role:hr\n---\n",
        b"---\nacl:[role:hr]\n---\n",
        "---\ntitle: Chính sách\nacl: [role:hr]\n---\n".encode("utf-16-le"),
        "---\ntitle: giá\nacl: [role:hr]\n---\n".encode("latin-1"),
        b"---\nauthor: An: Binh\n---\n",
    ],
    ids=["not closed", "behind a blank line", "no space", "no mark", "latin-1", "colon"],
)
def test_front_matter_that_was_meant_is_not_passed_over(data: bytes) -> None:
    if data[1:2] == b"\0":
        data = b"\xff\xfe" + data
        front, offset = split(data)
        assert front["acl"] == ["role:hr"]
        assert offset == len(data)
        return
    with pytest.raises(SourceProblem, match="broken_metadata"):
        split(data)


def test_a_change_of_front_matter_alone_leaves_the_content_hash(tmp_path: Path) -> None:
    reads = []
    for top in ("", "---\nacl: []\n---\n", "---\r\ntitle: Bảng giá\r\n---\r\n"):
        write(tmp_path, {"a.md": f"{top}# Giá\n\nVăn bản\n"})
        reads.append(read_file(list_folder(tmp_path).files[0]))
    assert len({read.content_sha256 for read in reads}) == 1
    assert len({read.raw_sha256 for read in reads}) == 3
    assert {read.body for read in reads} == {"# Giá\n\nVăn bản\n".encode()}


def test_only_markdown_has_front_matter(tmp_path: Path) -> None:
    write(tmp_path, dict.fromkeys(("a.txt", "b.MD", "c.markdown"), "---\nacl: [role:x]\n---\nb"))
    assert [metadata(tmp_path, n).acl for n in ("a.txt", "b.MD", "c.markdown")] == [
        None,
        ("role:x",),
        ("role:x",),
    ]


def test_a_file_that_changes_while_it_is_read_is_not_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path, {"a.txt": "aaaa"})
    listed = list_folder(tmp_path).files[0]
    real = folder.os.fstat
    calls = []

    def fstat(descriptor: int) -> os.stat_result:
        calls.append(descriptor)
        if len(calls) == 2:
            (tmp_path / "a.txt").write_text("bbbb")
            os.utime(tmp_path / "a.txt", ns=(0, 1))
        return real(descriptor)

    monkeypatch.setattr(folder.os, "fstat", fstat)
    with pytest.raises(SourceProblem, match="changed_while_reading"):
        read_file(listed)
    monkeypatch.undo()
    write(tmp_path, {"a.txt": "longer than listed"})
    with pytest.raises(SourceProblem, match="changed_while_reading"):
        read_file(listed)
    (tmp_path / "a.txt").unlink()
    with pytest.raises(SourceProblem, match="vanished"):
        read_file(listed)


def test_a_problem_of_the_listing_is_raised_before_anything_is_read(tmp_path: Path) -> None:
    write(tmp_path, {"a.txt": "a"})
    listed = replace(list_folder(tmp_path).files[0], problem="too_large", path=tmp_path / "no")
    for reader in (read_file, stated_metadata):
        with pytest.raises(SourceProblem, match="too_large"):
            reader(listed)


@pytest.mark.parametrize(
    "text", ["role:hr", "user:an@acme.vn", "sharepoint:site42:members", "role:nhân-sự"]
)
def test_principals_are_namespaced(text: str) -> None:
    assert check_principal(unicodedata.normalize("NFD", text)) == text


def test_sources_import_neither_prefect_nor_a_parser() -> None:
    code = (
        "import sys, sources.folder; "
        "print([m for m in ('prefect', 'torch', 'psycopg', 'parsers') if m in sys.modules])"
    )
    run = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        cwd=Path(__file__).parents[1],
    )
    assert run.stdout.strip() == "[]"


def test_pages_of_inspect_are_no_documents(tmp_path: Path) -> None:
    (tmp_path / "leave.md").write_text("# Leave\n")
    (tmp_path / "leave.md.inspect.html").write_text("<p>Leave</p>")
    assert [listed.uri for listed in list_folder(tmp_path).files] == ["leave.md"]
