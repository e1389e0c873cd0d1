"""Filters that name what this asker sees nowhere, most often a misspelt name."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches

from search.request import SearchRequest
from store.database import Store
from store.errors import StoreError
from store.reader import Identity, Reader, read_as

SECONDS = 2.0  # a hint is worth no longer wait
SHOWN = 8  # names in a hint


@dataclass(frozen=True, slots=True, kw_only=True)
class Unseen:
    """A filter's value that nothing has which the asker may see, and the values that are seen.

    For the filter ``tenant`` nothing at all is seen. What does not exist and what is hidden are
    told alike (I5): all of this is read as the asker, behind the same policies as a search.
    """

    option: str
    value: str
    seen: tuple[str, ...] = ()

    def __str__(self) -> str:
        if self.option == "tenant":
            return (
                f"this asker sees nothing at all of tenant {self.value} on this day. Check "
                "--tenant, --as and --as-of."
            )
        words = f"nothing that this asker may read on this day has --{self.option} {self.value}"
        if alike := get_close_matches(self.value, self.seen, 1):
            return f"{words}. Did you mean {alike[0]}?"
        rest = len(self.seen) - SHOWN
        more = f" and {rest} more" if rest > 0 else ""
        return f"{words}. It sees: {', '.join(self.seen[:SHOWN])}{more}."


def unseen(store: Store, request: SearchRequest) -> list[Unseen]:
    """Why a search that found nothing may have done so: its filters' values that nothing has.

    Empty also where it cannot be told, or not in time.
    """
    identity = Identity(tenant=request.tenant, principals=request.principals, as_of=request.as_of)
    try:
        with read_as(store, identity) as reader, reader.step(SECONDS):
            return list(_unseen(reader, request))
    except StoreError:
        return []


def _unseen(reader: Reader, request: SearchRequest) -> Iterable[Unseen]:
    active = reader.resolve(request.index)
    if active is None:
        return
    rows = reader.values(active["version_id"])
    if not rows:
        yield Unseen(option="tenant", value=request.tenant)
        return
    scope = request.scope
    for option, asked in (("collection", scope.collections), ("source", scope.sources)):
        seen = {row[option] for row in rows}
        yield from _missed(option, asked, seen, seen)
    tongues = {row["language"] for row in rows if row["language"]}
    # A language stands for its regions too.
    matched = tongues | {tongue.partition("-")[0] for tongue in tongues}
    asked = tuple(name for name in scope.languages or () if name.lower() not in matched)
    yield from _missed("language", asked, set(), tongues)
    if scope.kinds:
        kinds = reader.kinds()
        yield from _missed("kind", scope.kinds, kinds, kinds)


def _missed(
    option: str, asked: Sequence[str] | None, matched: set[str], seen: set[str]
) -> Iterable[Unseen]:
    for value in asked or ():
        if value not in matched:
            yield Unseen(option=option, value=value, seen=tuple(sorted(seen)))
