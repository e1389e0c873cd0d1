"""The settings: one mucluc.toml, and secrets from the environment alone."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, Self

from pydantic import AliasChoices, Field, SecretStr, ValidationError, model_validator
from pydantic_settings import (
    BaseSettings,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    TomlConfigSettingsSource,
)

from flows.settings_errors import SettingsError, explain, find_secrets, nearest
from flows.settings_tables import (
    DEFAULT_INDEX,
    Collection,
    IndexRecipe,
    Limits,
    Name,
    OpenAI,
    Recipe,
    Schedule,
    Search,
    Source,
    Tenant,
    Versions,
    Zone,
    machine_zone,
    refuse_twins,
)
from sources.files import FolderOptions
from store import keys

FILE = "mucluc.toml"
_EXAMPLE = Path(__file__).with_name("mucluc.example.toml")


class _Environment(BaseSettings):
    """What comes from the environment, by these names and no others."""

    model_config = SettingsConfigDict(env_ignore_empty=True, extra="ignore")

    home: Path | None = Field(default=None, validation_alias="MUCLUC_HOME")
    secret: SecretStr | None = Field(default=None, validation_alias="MUCLUC_SECRET")
    openai_api_key: SecretStr | None = Field(default=None, validation_alias="OPENAI_API_KEY")
    database_url: SecretStr | None = Field(
        default=None, validation_alias=AliasChoices("MUCLUC_DATABASE_URL", "DATABASE_URL")
    )


class Settings(BaseSettings):
    """All settings. ``load`` reads them; relative paths in the file start at the file."""

    model_config = SettingsConfigDict(extra="forbid", frozen=True)

    home: Path = Path(".mucluc")
    timezone: Zone = Field(default_factory=machine_zone)
    tenants: tuple[Tenant, ...] = ()
    collections: dict[Name, Collection] = Field(default_factory=dict)
    indexes: dict[Name, IndexRecipe] = Field(default_factory=dict)
    recipe: Recipe = Recipe()
    limits: Limits = Limits()
    versions: Versions = Versions()
    search: Search = Search()
    schedule: Schedule = Schedule()
    openai: OpenAI = OpenAI()
    database_url: SecretStr | None = None
    secret: SecretStr | None = None
    openai_api_key: SecretStr | None = None

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Take what ``load`` gives alone: by field names HOME would become ``home``."""
        return (init_settings,)

    @classmethod
    def load(cls, path: Path | None = None) -> Settings:
        """Read ``path``, or ./mucluc.toml if it is there, and the environment.

        Raises ``SettingsError``, which names the file, each wrong key, and the nearest right one.
        """
        file = path if path is not None else Path(FILE)
        stated: dict[str, Any] = {}
        if path is not None and not file.is_file():
            raise SettingsError(f"{file} is not there. Write it with: mucluc init")
        if file.is_file():
            stated = _read_toml(cls, file)
        environment = _Environment()
        given = environment.model_dump(exclude_none=True)
        base = file.parent.absolute()
        try:
            settings = cls(**{**stated, **given})
        except ValidationError as error:
            raise SettingsError(explain(file, error, cls, stated)) from None
        home = settings.home.expanduser()
        start = Path.cwd() if environment.home is not None else base
        return settings._resolved(base, start / home)

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        refuse_twins("tenants", (tenant.name for tenant in self.tenants))
        for name, collection in self.collections.items():
            if collection.index != DEFAULT_INDEX and collection.index not in self.indexes:
                raise ValueError(
                    f"collections.{name} uses an index without a table [indexes.NAME]"
                    + nearest(collection.index, self.indexes)
                )
        return self

    @property
    def embedded(self) -> bool:
        """Say whether the database is the embedded one, in ``home``."""
        return self.database_url is None

    def tenant(self, name: str) -> Tenant:
        """Return a tenant. Raises ``SettingsError`` when there is none of this name."""
        found = {tenant.name: tenant for tenant in self.tenants}
        if name not in found:
            raise SettingsError(f"no tenant of this name in the settings{nearest(name, found)}")
        return found[name]

    def recipe_of(self, index: str = DEFAULT_INDEX) -> Recipe:
        """Return the recipe of an index: its own settings laid over those of [recipe]."""
        own = self.indexes.get(index, IndexRecipe()).model_dump(exclude_none=True)
        return self.recipe.model_copy(update=own)

    def states_model(self, index: str = DEFAULT_INDEX) -> bool:
        """Whether a model is written down for an index; else it goes on with its own."""
        own = self.indexes.get(index)
        return "model" in self.recipe.model_fields_set or bool(own and own.model)

    def index_of(self, collection: str | None) -> str:
        """Return the index that holds a collection."""
        return self.collections.get(collection or "", Collection()).index

    def timezone_of(self, collection: str | None) -> str:
        """Return the time zone in which a collection's days begin."""
        return self.collections.get(collection or "", Collection()).timezone or self.timezone

    def folder_options(self, source: Source) -> FolderOptions:
        """Return what of a source's folder is taken."""
        return FolderOptions(
            include=source.include,
            exclude=source.exclude,
            hidden=source.hidden,
            max_bytes=self.limits.max_file_mb * 1024 * 1024,
        )

    def describe(self) -> dict[str, Any]:
        """Return everything that is set, for printing: JSON values, without secrets."""
        shown = self.model_dump(
            mode="json", exclude={"secret", "openai_api_key", "database_url"}, exclude_none=True
        )
        url = self.database_url
        shown["database_url"] = "embedded" if url is None else hide_password(url.get_secret_value())
        shown["secret"] = "from MUCLUC_SECRET" if self.secret else "from secret.key in home"
        shown["openai_api_key"] = "set" if self.openai_api_key else "not set"
        return shown

    def _resolved(self, base: Path, home: Path) -> Settings:
        """Return the same with absolute paths."""
        tenants = tuple(
            tenant.model_copy(
                update={
                    "sources": tuple(
                        source.model_copy(update={"path": base / source.path.expanduser()})
                        for source in tenant.sources
                    )
                }
            )
            for tenant in self.tenants
        )
        glossary = self.search.glossary
        search = self.search.model_copy(
            update={"glossary": glossary and base / glossary.expanduser()}
        )
        return self.model_copy(update={"home": home, "tenants": tenants, "search": search})


def secret(settings: Settings) -> bytes:
    """Return the master secret (``store.keys.master_secret``), made on first use if embedded."""
    given = settings.secret.get_secret_value() if settings.secret else None
    return keys.master_secret(given, home=settings.home, may_create=settings.embedded)


def render_example() -> str:
    """Return the commented file that ``mucluc init`` writes: all settings, at their defaults."""
    return _EXAMPLE.read_text(encoding="utf-8")


def hide_password(dsn: str) -> str:
    """Return a connection string, as a URL or as ``key=value`` pairs, with stars for passwords."""
    shown = re.sub(r"(?i)((?:ssl)?password\s*=\s*)('(?:[^'\\]|\\.)*'|[^&\s]+)", r"\1***", dsn)
    scheme, separator, rest = shown.partition("://")
    user, at, server = rest.rpartition("@")
    if not separator or not at:
        return shown
    return f"{scheme}://{user.partition(':')[0]}{':***' if ':' in user else ''}@{server}"


def _read_toml(cls: type[Settings], file: Path) -> dict[str, Any]:
    try:
        stated: dict[str, Any] = TomlConfigSettingsSource(cls, toml_file=file).toml_data
    except ValueError as error:  # TOMLDecodeError, UnicodeDecodeError
        place = re.search(r"\(at .*\)$", str(error))
        where = place[0] if place else "(not UTF-8)"
        raise SettingsError(f"{file}: not TOML {where}") from None
    except OSError as error:
        raise SettingsError(f"{file} cannot be read: {error.strerror}") from None
    found = find_secrets(stated)
    if found:
        raise SettingsError(f"{file}: {found}")
    return stated
