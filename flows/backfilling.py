"""Runs a backfill from beginning to end: which version, which recipe, the flow, the run's end."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import date
from typing import Any

from pydantic import TypeAdapter, ValidationError

from enrich.embedders import describe_speed, load, probe
from flows.errors import CannotRun, first_version_of
from flows.filling import FillReport, FillRequest, open_fill
from flows.lanes import lane_of, obstacles, parser_ids, recipe_of
from flows.opening import open_from
from flows.prefect_env import configure
from flows.progress import StageProgress
from flows.settings import Settings
from flows.settings_tables import Name
from flows.settings_tables import Recipe as Asked
from flows.stopping import go_on
from flows.syncing import SyncFailed, ended, settings_file
from parsers.registry import FAMILIES
from store import filling
from store.database import Store
from store.promotions import aliases
from store.versions import Recipe, Version, active_version, named_version, open_version, version_for
from store.words import parts

# What --set takes: a setting of [recipe], also by the name of the stage that it concerns.
SETTABLE = {
    "embedding.model": "model",
    "context.strategy": "context",
    "chunking.body_budget": "body_budget",
    "chunking.context_reserve": "context_reserve",
    **{f"recipe.{name}": name for name in Asked.model_fields},
    **{name: name for name in Asked.model_fields},
}
LIVE = {"building", "ready"}
# A backfill seldom parses, so its batches hold more documents than a sync's, if not more bytes: the
# more texts are sorted by length before they are embedded, the less an encoder pads.
MORE_DOCUMENTS = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """What to build: a version that is there, or one to be opened with a recipe."""

    index: str
    active: Version
    recipe: Recipe
    name: str | None
    version: Version | None

    @property
    def nothing_to_do(self) -> bool:
        """The active version has this recipe, and no copy was asked for by a name."""
        return self.version is not None and self.version.id == self.active.id


def asked_recipe(
    settings: Settings, index: str, active: Version, changes: Mapping[str, str]
) -> Asked:
    """The settings' recipe with the changes of --set laid over. Raises CannotRun."""
    base = settings.recipe_of(index).model_dump()
    if not settings.states_model(index):
        base["model"] = active.recipe["model"]  # an index goes on with its own
    for key, value in changes.items():
        if key not in SETTABLE:
            known = ", ".join(name for name in SETTABLE if "." in name)
            raise CannotRun(f"--set {key} is no setting of a recipe.", f"There are {known}.")
        base[SETTABLE[key]] = int(value) if value.isdecimal() else value
    try:
        return Asked.model_validate(base)
    except ValidationError as exc:
        first = exc.errors()[0]
        words = first["msg"].removeprefix("Value error, ")
        raise CannotRun(f"--set {first['loc'][0]}: {words}.") from None


def target_of(
    store: Store, settings: Settings, index: str, name: str | None, changes: Mapping[str, str]
) -> Target:
    """Which version to build, and whether it is there. Opens nothing. Raises CannotRun."""
    try:
        TypeAdapter(Name | None).validate_python(name)
    except ValidationError as exc:
        words = exc.errors()[0]["msg"].removeprefix("Value error, ")
        raise CannotRun(f"--name: {words}.") from None
    active = active_version(store, index)
    if active is None:
        raise CannotRun(
            f"index {index} has no active version yet, so there is nothing to build from.",
            first_version_of(index, aliases(store)),
        )
    kept = named_version(store, index, name) if name else None
    if kept is not None and kept.state not in LIVE:
        raise CannotRun(
            f"version {name} of index {index} is {kept.state}.", "Give the new one another --name."
        )
    if kept is not None and not changes:
        missing = obstacles(kept.recipe)
        if missing:
            raise CannotRun(
                f"the recipe of {name} cannot be run here any more ({parts(missing)}).",
                "Build one of today's recipe: mucluc backfill",
            )
        recipe = Recipe.from_json(kept.recipe)
        return Target(index=index, active=active, recipe=recipe, name=name, version=kept)
    try:
        recipe = recipe_of(asked_recipe(settings, index, active, changes))
    except ValueError as exc:
        raise CannotRun(
            f"the chunk sizes do not fit the model (I4): {exc}.",
            "Set them: --set chunking.body_budget=160 --set chunking.context_reserve=64",
        ) from None
    if kept is not None and (differs := recipe.differences(kept.recipe)):
        raise CannotRun(
            f"version {name} was begun with another recipe (it differs in: "
            f"{parts(differs, recipe.to_json(), kept.recipe)}), and a recipe never changes.",
            "Leave --set away to go on with it, or give the new one another --name.",
        )
    if name is None:
        kept = version_for(store, index, recipe)
        if kept is not None and not recipe.differences(active.recipe):
            kept = active
    return Target(index=index, active=active, recipe=recipe, name=name, version=kept)


def fill_request(
    settings: Settings, target: Target, version: str, only: str | None, since: date | None
) -> FillRequest:
    """The backfill as its run keeps it. ``only`` is SOURCE or TENANT/SOURCE."""
    tenant, _, source = (only or "").rpartition("/")
    return FillRequest(
        index=target.index,
        version=version,
        tenant=tenant or None,
        source=source or None,
        since=since,
        limits=settings.limits.model_copy(
            update={"batch_documents": MORE_DOCUMENTS * settings.limits.batch_documents}
        ),
        timezone=settings.timezone,
        modulus=settings.versions.entry_hash_modulus,
    )


def run_backfill(
    store: Store,
    settings: Settings,
    target: Target,
    *,
    only: str | None = None,
    since: date | None = None,
    shown: bool = False,
) -> FillReport:
    """Fill a version through the Prefect flow; opened first if it is not there.

    Raises LockHeldError (another job works on the version), SyncFailed. Prefect's surroundings
    must be configured.
    """
    version = target.version or open_version(
        store,
        target.index,
        target.recipe,
        name=target.name,
        modulus=settings.versions.entry_hash_modulus,
        probe=probe(load(target.recipe.model)),
    )
    lane = lane_of(version)
    if lane is None:
        raise SyncFailed("recipe_cannot_be_run")
    request = fill_request(settings, target, version.name, only, since)
    with StageProgress(shown=shown) as progress:
        job = open_fill(store, request, lane, target.active, progress)
        with ended(job):
            # Prefect takes a second to import; commands that only read do without it.
            from flows.backfill import fill_version  # noqa: PLC0415

            report: FillReport = fill_version(job.run.id)
            go_on()
            job.run.close(store, "failed" if report.failed else "done", report.to_json())
    return report


def plan_backfill(
    store: Store, settings: Settings, target: Target, only: str | None, since: date | None
) -> dict[str, Any]:
    """What a backfill would do, without doing it: no version, no run, no write."""
    request = fill_request(settings, target, target.name or "new", only, since)
    version = target.version.id if target.version else 0
    lacking = filling.revisions_lacking(store, version, like=target.active.id, scope=request.scope)
    ours = parser_ids()
    parsers = {suffix: ours[family] for suffix, family in FAMILIES.items() if family in ours}
    cost = filling.estimate(
        store, target.recipe, like=target.active, lacking=lacking, parsers=parsers
    )
    differs = target.recipe.differences(target.active.recipe)
    speed = describe_speed(load(target.recipe.model)) if cost.embeddings else 1.0
    return {
        "dry_run": True,
        "index": target.index,
        "version": target.version.name
        if target.version
        else target.name or filling.next_name(store, target.index),
        "opened": target.version is not None,
        "nothing_to_do": target.nothing_to_do,
        "active": target.active.name,
        "differs": list(differs),
        "differs_in": parts(differs, target.recipe.to_json(), target.active.recipe),
        "model": target.recipe.model,
        **asdict(cost),
        "seconds_embedding": round(cost.embeddings / speed, 1),
    }


def backfill_from_settings(
    index: str, name: str | None, changes: Mapping[str, str], only: str | None, since: date | None
) -> dict[str, Any]:
    """A scheduled backfill, with the settings that the environment names.

    Raises CannotRun, SyncFailed, LockHeldError.
    """
    settings = Settings.load(settings_file())
    with open_from(settings) as store:
        configure(settings.home, store.url)
        target = target_of(store, settings, index, name, changes)
        if target.nothing_to_do:
            return {"version": target.active.name, "nothing_to_do": True}
        report = run_backfill(store, settings, target, only=only, since=since)
    if report.failed:
        raise SyncFailed("+".join(sorted(set(report.failed))))
    return report.to_json()
