"""What a run is asked to do, kept with the run so that a flow needs only its id."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from pydantic import BaseModel, ConfigDict

from flows.settings import Settings
from flows.settings_tables import Limits, Name, Recipe, Source
from sources.files import FolderOptions


class SyncRequest(BaseModel):
    """One source's sync. Serialises to the JSON of ``run.options``."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    tenant: Name
    source: Name
    root: Path
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    hidden: bool = False
    within: tuple[str, ...] = ()
    max_bytes: int
    defaults: dict[str, Any]
    collection: str
    index: str
    timezone: str
    recipe: Recipe
    model_stated: bool = False  # else an index that is there goes on with its own
    limits: Limits
    modulus: int = 1
    keep_previous_days: int = 7  # how long a replaced version is written to as well
    keep_history_days: int | None = None  # how long a superseded revision answers; None: for ever
    verify: bool = False
    confirm_deletions: bool = False
    now: datetime | None = None

    @property
    def lock_key(self) -> str:
        """One sync of a source at a time."""
        return f"sync:{self.tenant}:{self.source}"

    @property
    def folder_options(self) -> FolderOptions:
        """What of the folder is taken."""
        return FolderOptions(
            include=self.include,
            exclude=self.exclude,
            hidden=self.hidden,
            max_bytes=self.max_bytes,
            within=self.within,
        )

    def clock(self, started: datetime) -> datetime:
        """The run's one moment: the pinned one or its start, in the collection's time zone."""
        return (self.now or started).astimezone(ZoneInfo(self.timezone))


def request_for(settings: Settings, tenant: str, source: Source, **asked: Any) -> SyncRequest:
    """The sync of a source as the settings describe it; ``asked`` is laid over."""
    index = asked.pop("index", None) or settings.index_of(source.collection)
    recipe = settings.recipe_of(index)
    stated = settings.states_model(index)
    model = asked.pop("model", None)
    if model:
        recipe = Recipe.model_validate({**recipe.model_dump(), "model": model})
    return SyncRequest(
        tenant=tenant,
        source=source.name,
        root=source.path,
        include=source.include,
        exclude=source.exclude,
        hidden=source.hidden,
        max_bytes=settings.limits.max_file_mb * 1024 * 1024,
        defaults=source.defaults(),
        collection=source.collection or "default",
        index=index,
        timezone=settings.timezone_of(source.collection),
        recipe=recipe,
        model_stated=bool(model) or stated,
        limits=settings.limits,
        modulus=settings.versions.entry_hash_modulus,
        keep_previous_days=settings.versions.keep_previous_days,
        keep_history_days=settings.versions.keep_history_days,
        **asked,
    )
