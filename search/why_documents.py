"""What can keep a document from being found before anything is ranked."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any
from uuid import UUID

from search.folding import fold, words
from search.request import SearchRequest
from search.why_commands import again
from store import explaining
from store.database import Store
from store.reader import Identity, read_as
from store.words import count

Row = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One thing that must hold. ``holds`` is None where it was not looked at.

    ``decides`` is False for what is good to know and keeps nothing out by itself.
    """

    name: str
    holds: bool | None
    says: str
    brings_back: tuple[str, ...] = ()
    decides: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Expected:
    """The chunks of which one should be found, and where they are from."""

    chunks: tuple[UUID, ...]
    source: str
    quoted: bool | None  # whether one holds the question's quoted words; None without any


def document_checks(
    store: Store,
    request: SearchRequest,
    row: Row,
    version: Row,
    quote: str | None,
    phrases: Sequence[str] = (),
) -> tuple[list[Check], Expected]:
    """From the source to a chunk that the asker may see: checks up to the first that fails."""
    standing = explaining.standing_in(
        store, row["id"], version["version_id"], request.scope, phrases
    )
    held = [r for r in standing.revisions if r["valid"] is not None]
    revision = next((r for r in held if request.as_of in r["valid"]), None)
    mine = [c for c in standing.chunks if revision and c["revision_id"] == revision["id"]]
    holding = [c for c in mine if quote is None or _holds(c, quote)]
    searched = [c for c in holding if not _chunk_filters(request, c)]
    expected = Expected(
        chunks=tuple(c["id"] for c in searched),
        source=row["source"],
        quoted=any(c["quoted"] for c in searched) if phrases else None,
    )
    steps: list[Callable[[], Check]] = [
        lambda: Check(name="document", holds=True, says=_where(row)),
        lambda: _deleted(request, row),
        lambda: _quarantine(row, held),
        lambda: _version(store, request, row, version, held),
        lambda: _acl(row),
        lambda: _visible(request, row),
        lambda: _valid(
            request, held, revision, pruned=sum(r["pruned"] for r in standing.revisions)
        ),
        lambda: _filters(request, row, revision or {}),
        lambda: _entries(request, mine),
        lambda: _quoted(request, standing, mine, revision or {}, quote),
        lambda: _words(request, holding, searched),
        lambda: _as_reader(store, request, version, expected),
    ]
    checks: list[Check] = []
    for step in steps:
        checks.append(step())
        if checks[-1].holds is False:
            break
    return checks, expected


def _where(row: Row) -> str:
    return f"{row['uri']} (source {row['source']}, first seen {row['first_seen']:%Y-%m-%d})"


def _sync(request: SearchRequest, row: Row) -> str:
    return f"mucluc sync --tenant {request.tenant} --source {row['source']}"


def _deleted(request: SearchRequest, row: Row) -> Check:
    gone = row["deleted_at"]
    return Check(
        name="not_deleted",
        holds=gone is None,
        says="the source still has it"
        if gone is None
        else f"gone from its source since {gone:%Y-%m-%d %H:%M}",
        brings_back=(f"Put the file back, then: {_sync(request, row)}",),
    )


def _quarantine(row: Row, held: Sequence[Row]) -> Check:
    if row["reason"] is None:
        return Check(name="readable", holds=True, says="not in quarantine")
    hint = row["hint"] or "Mend the file."
    says = f"in quarantine: {row['reason']} ({count(row['attempts'], 'attempt')})"
    if held:
        return Check(
            name="readable",
            holds=True,
            says=f"{says}; an earlier revision is searched",
            brings_back=(hint,),
        )
    return Check(name="readable", holds=False, says=says, brings_back=(hint, "mucluc sync"))


def _version(
    store: Store, request: SearchRequest, row: Row, version: Row, held: Sequence[Row]
) -> Check:
    since = f", active since {version['since']:%Y-%m-%d %H:%M}" if version["since"] else ""
    name = f"{version['index_name']} {version['name']} ({version['state']}{since})"
    if held:
        return Check(
            name="in_version", holds=True, says=f"{name} holds {count(len(held), 'revision')}"
        )
    homes = explaining.homes(store, row["id"])
    elsewhere = ", ".join(f"{h['index_name']} {h['name']}" for h in homes) or "no version"
    other = [h for h in homes if h["aliases"] and h["index_name"] != request.index]
    commands = [again(request, index=f"{h['index_name']}@{h['aliases'][0]}") for h in other]
    return Check(
        name="in_version",
        holds=False,
        says=f"not in {name}; it is in {elsewhere}",
        brings_back=(*commands, _sync(request, row)),
    )


def _acl(row: Row) -> Check:
    stated = "the ACL names nobody" if row["acl_stated"] else "nothing states an ACL"
    return Check(
        name="has_acl",
        holds=bool(row["principals"]),
        says=f"readable by {', '.join(row['principals'])}"
        + (f", not by {', '.join(row['denied'])}" if row["denied"] else "")
        if row["principals"]
        else f"{stated}, so nobody may read it",
        brings_back=(
            f"State an ACL, for example in {row['uri']}.meta.yaml (acl: [role:staff]), then: "
            f"mucluc sync --source {row['source']}   (docs/sources.md)",
        ),
    )


def _visible(request: SearchRequest, row: Row) -> Check:
    asker = set(request.principals)
    denied = sorted(asker & set(row["denied"]))
    allowed = sorted(asker & set(row["principals"]))
    if denied:
        says, remedy = (
            f"denied to {', '.join(denied)}",
            "Ask without the principal, or change the ACL.",
        )
    elif allowed:
        says, remedy = f"the asker is {', '.join(allowed)}", ""
    else:
        needed = " or ".join(row["principals"])
        says = f"the asker is none of: {needed}"
        remedy = again(request, principal=row["principals"][0]) + "   (if the asker is that)"
    return Check(
        name="visible", holds=bool(allowed) and not denied, says=says, brings_back=(remedy,)
    )


def _valid(
    request: SearchRequest, held: Sequence[Row], revision: Row | None, *, pruned: int
) -> Check:
    ranges = ", ".join(_range(r["valid"]) for r in held if not r["valid"].isempty)
    day = request.as_of.isoformat()
    if revision is not None:
        return Check(
            name="valid",
            holds=True,
            says=f"revision {revision['sequence']} holds on {day} ({_range(revision['valid'])})",
        )
    days = [found for r in held if (found := _a_day_in(r["valid"], request.as_of)) is not None]
    nearest = min(days, key=lambda found: abs((found - request.as_of).days), default=None)
    return Check(
        name="valid",
        holds=False,
        says=f"no revision holds on {day}; they hold {ranges or 'on no day'}"
        + (f"; {pruned} that ended earlier are no longer kept" if pruned else ""),
        brings_back=(again(request, day=nearest),) if nearest else (),
    )


def _range(valid: Any) -> str:
    last = valid.upper and valid.upper - timedelta(days=1)
    return f"{valid.lower or '…'} to {last or '…'}"


def _a_day_in(valid: Any, wanted: date) -> date | None:
    """The day of a range that is nearest to another."""
    if valid.isempty:
        return None
    if valid.lower is not None and wanted < valid.lower:
        return date.fromisoformat(valid.lower.isoformat())
    if valid.upper is not None and wanted >= valid.upper:
        last: date = valid.upper - timedelta(days=1)
        return last
    return wanted


def _filters(request: SearchRequest, row: Row, revision: Row) -> Check:
    """Filters of whole documents. A revision's range must meet the days that are asked for."""
    scope = request.scope
    out: list[tuple[str, str]] = []
    for option, wanted, stated in (
        ("--collection", scope.collections, row["collection"]),
        ("--source", scope.sources, row["source"]),
        ("--language", scope.languages, revision.get("language")),
    ):
        if wanted is not None and not _is_one_of(stated, wanted, option == "--language"):
            out.append(
                (option, f"{option} asks for {', '.join(wanted)}, it has {stated or 'none'}")
            )
    metadata = revision.get("metadata") or {}
    for key, values in scope.metadata.items():
        if not _states(metadata.get(key), values):
            out.append(("--meta", f"--meta asks for another {key}"))
    valid = revision.get("valid")
    if valid is not None and not valid.isempty:
        early = scope.holds_to and valid.lower and valid.lower > scope.holds_to
        late = scope.holds_from and valid.upper and valid.upper <= scope.holds_from
        if early or late:
            says = f"it holds {_range(valid)}, on other days"
            out.append(("--holds-from" if late else "--holds-to", says))
    return Check(
        name="filters",
        holds=not out,
        says="; ".join(words for _, words in out) or "no filter leaves it out",
        brings_back=(again(request, without=tuple(option for option, _ in out)),) if out else (),
    )


def _is_one_of(stated: str | None, wanted: Sequence[str], language: bool) -> bool:
    """As the database compares: a language by itself stands for its regions too (en, en-GB)."""
    if not language:
        return stated in wanted
    known = (stated or "").lower()
    return any(known == w.lower() or known.split("-")[0] == w.lower() for w in wanted)


def _states(stated: Any, wanted: Sequence[str]) -> bool:
    values = stated if isinstance(stated, list) else [stated]
    said = [v if isinstance(v, str) else json.dumps(v) for v in values if v is not None]
    return any(value in said for value in wanted)


def _entries(request: SearchRequest, mine: Sequence[Row]) -> Check:
    without = sum(not chunk["has_entry"] for chunk in mine)
    if not mine:
        says = "the revision has no chunks: no text was found in the file"
    elif without:
        says = f"{without} of {count(len(mine), 'chunk')} not in the index"
    else:
        says = f"{count(len(mine), 'chunk')}, all in the index"
    return Check(
        name="chunks",
        holds=bool(mine) and not without,
        says=says,
        brings_back=("mucluc inspect FILE   (shows what was read)", "mucluc sync --verify"),
    )


def _holds(chunk: Row, quote: str) -> bool:
    return _plain(quote) in _plain(chunk["text"])


def _plain(text: str) -> str:
    return " ".join(fold(text).split())


def _quoted(
    request: SearchRequest,
    standing: explaining.Standing,
    mine: Sequence[Row],
    revision: Row,
    quote: str | None,
) -> Check:
    if quote is None:
        return Check(name="quote", holds=None, says="none was given")
    holding = [chunk for chunk in mine if _holds(chunk, quote)]
    if holding:
        places = ", ".join(str(chunk["ordinal"] + 1) for chunk in holding)
        return Check(name="quote", holds=True, says=f"in chunk {places} of {len(mine)}")
    for other in standing.revisions:
        chunks = [c for c in standing.chunks if c["revision_id"] == other["id"]]
        if any(_holds(c, quote) for c in chunks):
            day = _a_day_in(other["valid"], request.as_of)
            return Check(
                name="quote",
                holds=False,
                says=f"it stands in revision {other['sequence']}, which holds "
                f"{_range(other['valid'])}"
                if day
                else "it stands in a revision that never holds",
                brings_back=(again(request, day=day),) if day else (),
            )
    wanted = set(words(quote))
    nearest = max(mine, key=lambda c: len(wanted & set(words(c["text"]))))
    shared = len(wanted & set(words(nearest["text"])))
    warned = sorted({*revision.get("warnings", ()), *(w for c in mine for w in c["warnings"])})
    return Check(
        name="quote",
        holds=False,
        says=f"no chunk holds these words; nearest is chunk {nearest['ordinal'] + 1} of "
        f"{len(mine)} ({shared} of {len(wanted)} words)"
        + (f"; the parser warned: {', '.join(warned)}" if warned else ""),
        brings_back=("mucluc inspect FILE   (shows what was read)",),
    )


def _chunk_filters(request: SearchRequest, chunk: Row) -> list[str]:
    """Filters of single chunks that leave this one out: kind, quoted words, excluded words."""
    scope = request.scope
    out = []
    if scope.kinds is not None and not set(scope.kinds) & set(chunk["kinds"]):
        out.append("--kind")
    if not chunk["obeys"]:
        out.append("words after a minus" if scope.without else "quoted words")
    return out


def _words(request: SearchRequest, holding: Sequence[Row], searched: Sequence[Row]) -> Check:
    out = sorted({name for chunk in holding for name in _chunk_filters(request, chunk)})
    return Check(
        name="chunk_filters",
        holds=bool(searched),
        says="the kind, quoted words and words after a minus leave it in"
        if searched
        else f"left out by: {', '.join(out)}",
        brings_back=tuple(f"Ask without the {name}" for name in out),
    )


def _as_reader(store: Store, request: SearchRequest, version: Row, expected: Expected) -> Check:
    """What the asker gets, by the way that every search goes."""
    identity = Identity(tenant=request.tenant, principals=request.principals, as_of=request.as_of)
    with read_as(store, identity) as reader:
        shown = reader.read(version["version_id"], expected.chunks)
    return Check(
        name="as_asker",
        holds=bool(shown),
        says=f"the asker may read {len(shown)} of {count(len(expected.chunks), 'chunk')} meant",
        brings_back=("This contradicts the lines above; please report it.",),
    )
