"""The tables of mucluc.toml, their values checked and their defaults given."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any, Literal, Self
from zoneinfo import ZoneInfo

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from sources.globs import Globs
from sources.principals import check_acl_entry

DEFAULT_INDEX = "main"
_MODEL = re.compile(r"e5|minilm|hashing:\d+|(?:sentence-transformers|openai):\S+")
_PLAIN_NAME = re.compile(r"[^\W_][\w.-]{0,62}")


def _name(text: str) -> str:
    if not _PLAIN_NAME.fullmatch(text):
        raise ValueError("a name has at most 63 letters, digits, '.', '_', '-', and no spaces")
    return text


def _model_name(text: str) -> str:
    if not _MODEL.fullmatch(text):
        raise ValueError("a model is e5, minilm, sentence-transformers:NAME or openai:NAME")
    return text


def _zone(text: str) -> str:
    try:
        ZoneInfo(text)
    except (ValueError, OSError, KeyError):
        raise ValueError("not a time zone, such as Asia/Ho_Chi_Minh, Europe/Berlin, UTC") from None
    return text


def _cron(text: str) -> str:
    if len(text.split()) != 5 or not re.fullmatch(r"[\dA-Za-z*/,\- ]+", text):
        raise ValueError("a schedule has the five fields of cron, such as 0 2 * * *")
    return text


def _acl(entries: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(sorted({check_acl_entry(entry) for entry in entries}))


def _globs(patterns: tuple[str, ...]) -> tuple[str, ...]:
    try:
        Globs(patterns)
    except ValueError:
        raise ValueError("not a glob as in .gitignore") from None
    return patterns


def _without_password(url: str) -> str:
    if "@" in url.partition("://")[2].partition("/")[0]:
        raise ValueError("a URL without user and password; the key is OPENAI_API_KEY")
    return url


# TOML tells a number from a text and a truth value: so do these, where pydantic would convert.
Count = Annotated[int, Field(strict=True, ge=1)]
Share = Annotated[float, Field(strict=True, ge=0, le=1)]
Flag = Annotated[bool, Field(strict=True)]
Name = Annotated[str, AfterValidator(_name)]
ModelName = Annotated[str, AfterValidator(_model_name)]
ContextName = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*$")]
Zone = Annotated[str, AfterValidator(_zone)]
Patterns = Annotated[tuple[str, ...], AfterValidator(_globs)]
Acl = Annotated[
    tuple[str, ...],
    BeforeValidator(lambda value: [value] if isinstance(value, str) else value),
    AfterValidator(_acl),
]


class Table(BaseModel):
    """A table that refuses keys it does not know."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Source(Table):
    """A folder of documents and what holds for all of them unless they say otherwise."""

    name: Name
    path: Path
    collection: str | None = None
    acl: Acl | None = None
    language: str | None = None
    include: Patterns = ()
    exclude: Patterns = ()
    hidden: Flag = False

    def defaults(self) -> dict[str, Any]:
        """Return the source's statements, as ``sources.folder.list_folder`` takes them."""
        stated = {"collection": self.collection, "acl": self.acl, "language": self.language}
        return {key: value for key, value in stated.items() if value is not None}


class Tenant(Table):
    """A company or a division whose documents nobody else ever sees."""

    name: Name
    sources: tuple[Source, ...] = ()

    @model_validator(mode="after")
    def _distinct(self) -> Self:
        refuse_twins("sources", (source.name for source in self.sources))
        return self


class Collection(Table):
    """A set of documents that is searched together."""

    index: Name = DEFAULT_INDEX
    timezone: Zone | None = None  # None: that of the settings


class Recipe(Table):
    """How documents become vectors. ``None`` leaves a number to the embedding model."""

    model: ModelName = "e5"
    context: ContextName = "title_section_page_v1"
    body_budget: Count | None = None
    context_reserve: Annotated[int, Field(strict=True, ge=0)] | None = None


class IndexRecipe(Table):
    """Where an index differs from the recipe; ``None`` means that it does not."""

    model: ModelName | None = None
    context: ContextName | None = None
    body_budget: Count | None = None
    context_reserve: Annotated[int, Field(strict=True, ge=0)] | None = None


class Limits(Table):
    """Bounds that keep one document, or one bad listing, from harming the rest."""

    parse_seconds: Count = 120
    parse_memory_mb: Count = 2048
    max_file_mb: Count = 100
    batch_documents: Count = 32
    batch_bytes: Count = 32 * 1024 * 1024
    deletion_share: Share = 0.2
    deletion_minimum: Annotated[int, Field(strict=True, ge=0)] = 10
    workers: Count | None = None  # None: one for each core


Days = Annotated[int, Field(strict=True, ge=0)]


class Versions(Table):
    """Index versions: how entries are spread, what a new one must show, how long old ones stay."""

    entry_hash_modulus: Annotated[int, Field(strict=True, ge=1, le=64)] = 1
    keep_previous_days: Days = 7
    keep_deleted_days: Days = 30
    keep_history_days: Days | None = None  # None: for ever
    fallback_share: Share = 0.05
    latency_ratio: Annotated[float, Field(gt=0)] = 1.5
    latency_refuses: Flag = False


class Search(Table):
    """Defaults of search."""

    k: Count = 5
    fusion: Literal["scores", "ranks"] = "scores"
    rrf_k: Count = 60
    glossary: Path | None = None  # None: questions are searched as they are
    variants: Annotated[int, Field(strict=True, ge=0, le=10)] = 3
    rerank_model: Annotated[str, Field(min_length=1)] | None = None  # None: the fused order
    seconds: Annotated[float, Field(gt=0)] | None = None  # None: wait for every part
    trace_text: Flag = False
    shadow: Flag = False


class Schedule(Table):
    """When ``mucluc serve`` runs the nightly job, in the settings' time zone."""

    nightly: Annotated[str, AfterValidator(_cron)] = "0 2 * * *"


class OpenAI(Table):
    """An OpenAI-compatible endpoint; ``None`` is OpenAI's own."""

    base_url: Annotated[str, AfterValidator(_without_password)] | None = None


def machine_zone() -> str:
    """The machine's time zone by name: TZ, or where /etc/localtime leads; UTC where neither says.

    Containers run in UTC; a company whose days begin elsewhere names its zone in the settings.
    """
    names = [os.environ.get("TZ", "")]
    with suppress(OSError):
        names.append(str(Path("/etc/localtime").resolve(strict=True)).partition("zoneinfo/")[2])
    for name in names:
        with suppress(ValueError):
            return _zone(name)
    return "UTC"


def refuse_twins(table: str, names: Iterable[str]) -> None:
    """Raise ``ValueError`` when two tables of a list have one name."""
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise ValueError(f"two {table} have the same name")
        seen.add(name)
