"""Settings: one file, wrong keys named, secrets from the environment and never shown."""

from __future__ import annotations

import json
import os
import re
import stat
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import get_args

import pytest
from pydantic import BaseModel

from flows.settings import Settings, hide_password, render_example, secret
from flows.settings_errors import SettingsError
from sources.files import FolderOptions
from store.keys import KeyProblem, derive_key, key_id, master_secret

ENVIRONMENT = ["DATABASE_URL", "MUCLUC_DATABASE_URL", "MUCLUC_SECRET", "OPENAI_API_KEY"]


@pytest.fixture(autouse=True)
def alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Stand in an empty directory, with none of the variables that settings read."""
    for name in [*ENVIRONMENT, "MUCLUC_HOME"]:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)


def load(text: str) -> Settings:
    Path("mucluc.toml").write_text(text, encoding="utf-8")
    return Settings.load()


def refusal(text: str) -> str:
    with pytest.raises(SettingsError) as caught:
        load(text)
    return str(caught.value)


FULL = """
home = "state"
timezone = "Europe/Berlin"
[[tenants]]
name = "acme"
[[tenants.sources]]
name = "policies"
path = "documents"
collection = "hr"
acl = "role:staff"
exclude = ["drafts/"]
[[tenants.sources]]
name = "prices"
path = "/srv/prices"
[collections.hr]
index = "english"
timezone = "UTC"
[indexes.english]
model = "minilm"
body_budget = 160
[recipe]
context_reserve = 48
[limits]
max_file_mb = 3
"""


def test_without_a_file_the_defaults_hold(tmp_path: Path) -> None:
    settings = Settings.load()
    assert settings.home == tmp_path / ".mucluc"
    assert settings.limits.deletion_share == 0.2
    assert settings.recipe.model == "e5"
    assert settings.embedded


def test_a_whole_file_is_read_and_its_paths_start_at_the_file(tmp_path: Path) -> None:
    settings = load(FULL)
    policies, prices = settings.tenant("acme").sources
    assert (policies.path, prices.path) == (tmp_path / "documents", Path("/srv/prices"))
    assert settings.home == tmp_path / "state"
    assert policies.defaults() == {"collection": "hr", "acl": ("role:staff",)}
    assert prices.defaults() == {}
    assert settings.folder_options(policies) == FolderOptions(
        exclude=("drafts/",), max_bytes=3 * 1024 * 1024
    )
    os.chdir("/")
    assert Settings.load(tmp_path / "mucluc.toml") == settings


def test_an_index_differs_from_the_recipe_where_it_says_so() -> None:
    settings = load(FULL)
    assert settings.index_of("hr") == "english"
    assert settings.index_of("other") == settings.index_of(None) == "main"
    english, main = settings.recipe_of("english"), settings.recipe_of()
    assert (english.model, english.body_budget, english.context_reserve) == ("minilm", 160, 48)
    assert (main.model, main.body_budget) == ("e5", None)
    assert (settings.timezone_of("hr"), settings.timezone_of(None)) == ("UTC", "Europe/Berlin")


WRONG = {
    "[limits]\nparse_secs = 3": ["limits.parse_secs", "did you mean parse_seconds?"],
    "[limit]\n": ["limit is not a setting", "did you mean limits?"],
    "[limits]\nworkers = 'two'": ["limits.workers is text", "integer"],
    "[limits]\nworkers = true": ["limits.workers is true or false"],
    "[limits]\nworkers = 0": ["limits.workers is a whole number", "greater than"],
    "[limits]\ndeletion_share = 20": ["limits.deletion_share", "less than or equal to 1"],
    "[limits]\nbatch_bytes = 1.5": ["limits.batch_bytes is a decimal number"],
    "limits = 3": ["limits is a whole number"],
    "timezone = 'Asia/Saigong'": ["timezone", "Asia/Ho_Chi_Minh"],
    "timezone = '../etc/passwd'": ["timezone", "not a time zone"],
    "timezone = 2026-01-01": ["timezone is a date"],
    "[recipe]\nmodel = 'e6'": ["recipe.model", "sentence-transformers:NAME"],
    "[[tenants]]\nnam = 'acme'": ["tenants[#1].name is missing", "did you mean name?"],
    "[[tenants]]\nname = 'a b'": ["no spaces"],
    "[[tenants]]\nname = 'a'\n[[tenants]]\nname = 'a'": ["two tenants have the same name"],
    "[[tenants]]\nname = 'acme'\n[[tenants.sources]]\nname = 's'\npath = 'p'\nacl = ['hr']": [
        'tenants["acme"].sources["s"].acl',
        "namespace:name",
    ],
    "[[tenants]]\nname = 'acme'\n[[tenants.sources]]\nname = 's'\npath = 'p'\nhiden = true": [
        'tenants["acme"].sources["s"].hiden',
        "did you mean hidden?",
    ],
    "[[tenants]]\nname = 'a'\n[[tenants.sources]]\nname = 's'\npath = 'p'\nexclude = ['!']": [
        "exclude",
        "not a glob",
    ],
    "[collections.hr]\nindex = 'englsh'\n[indexes.english]": ["did you mean english?"],
    "[indexes.main]\nmodle = 'e5'": ["indexes.main.modle", "did you mean model?"],
    "[schedule]\nnightly = 'at night'": ["schedule.nightly", "five fields"],
    "[openai]\nbase_url = 'http://u:p@h/v1'": ["OPENAI_API_KEY"],
    "home = 'a'\nhome 2": ["not TOML", "line 2"],
    "home = 1\nhome = 2": ["not TOML"],
}


@pytest.mark.parametrize("text", WRONG)
def test_a_wrong_key_or_value_is_an_error_that_names_it(text: str) -> None:
    message = refusal(text)
    assert message.startswith("mucluc.toml: ")
    for words in WRONG[text]:
        assert words in message


def test_every_fault_is_named_at_once() -> None:
    message = refusal("[limits]\nworkers = 'two'\nparse_secs = 1\n[search]\nkk = 1")
    assert len(message.splitlines()) == 3


def test_a_file_that_is_named_and_missing_is_an_error() -> None:
    with pytest.raises(SettingsError, match="mucluc init"):
        Settings.load(Path("elsewhere.toml"))


@pytest.mark.parametrize(
    ("key", "variable"),
    [
        ("database_url", "DATABASE_URL"),
        ("DATABASE-URL", "DATABASE_URL"),
        ("secret", "MUCLUC_SECRET"),
        ("openai_api_key", "OPENAI_API_KEY"),
        ("[openai]\napi_key", "OPENAI_API_KEY"),
        ("[[tenants]]\npassword", "DATABASE_URL"),
    ],
)
def test_a_secret_in_the_file_is_an_error_that_names_the_variable(key: str, variable: str) -> None:
    message = refusal(f"{key} = 'hunter2hunter2'")
    assert variable in message
    assert "hunter2" not in message


def test_no_message_holds_a_value() -> None:
    for text in WRONG:
        for value in ("two", "e6", "englsh", "at night", "Saigong", "passwd"):
            assert value not in refusal(text).replace("two tenants", "")


def test_secrets_come_from_the_environment_and_are_never_shown(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv(
        "DATABASE_URL", "postgresql://mucluc:p%40ss@db.example:5432/m?sslmode=require"
    )
    monkeypatch.setenv("MUCLUC_SECRET", "m" * 40)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-verysecret")
    settings = load(FULL)
    shown = (
        json.dumps(settings.describe())
        + repr(settings)
        + str(settings)
        + settings.model_dump_json()
    )
    for value in ("p%40ss", "m" * 40, "sk-verysecret"):
        assert value not in shown
    assert settings.describe()["database_url"] == (
        "postgresql://mucluc:***@db.example:5432/m?sslmode=require"
    )
    assert settings.database_url is not None
    assert settings.database_url.get_secret_value().startswith("postgresql://mucluc:p%40ss")
    assert not settings.embedded
    assert secret(settings) == b"m" * 40


def test_the_environment_gives_the_home_and_prefers_its_own_database_url(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MUCLUC_HOME", "elsewhere")
    monkeypatch.setenv("DATABASE_URL", "postgresql://other/app")
    monkeypatch.setenv("MUCLUC_DATABASE_URL", "postgresql://own/mucluc")
    monkeypatch.setenv("LIMITS", '{"workers": 7}')
    settings = load("home = 'state'")
    assert settings.home == tmp_path / "elsewhere"
    assert settings.database_url is not None
    assert settings.database_url.get_secret_value() == "postgresql://own/mucluc"
    assert settings.limits.workers is None
    monkeypatch.setenv("MUCLUC_DATABASE_URL", "")
    monkeypatch.setenv("DATABASE_URL", "")
    assert Settings.load().embedded


@pytest.mark.parametrize(
    "dsn",
    [
        "postgresql://u:hunter2@h/d",
        "postgresql://u:hunter2@x@h:1/d",
        "postgresql://u:hunter2/x@h/d",
        "postgresql:///d?host=/tmp&user=u&password=hunter2",
        "host=h password=hunter2 user=u",
        "host=h password = 'hunter2 x' user=u",
        "host=h sslpassword=hunter2",
    ],
)
def test_a_password_is_hidden_in_every_form_of_connection_string(dsn: str) -> None:
    assert "hunter2" not in hide_password(dsn)
    assert "***" in hide_password(dsn)


# --- the example ---------------------------------------------------------------------------------


def uncommented() -> str:
    return re.sub(r"^#: ?", "", render_example(), flags=re.MULTILINE)


def test_the_example_loads_and_equals_the_defaults() -> None:
    defaults = Settings.load()
    assert load(render_example()) == defaults


def test_the_example_loads_with_every_line_in_use() -> None:
    settings = load(uncommented())
    assert settings.tenant("acme").sources[0].acl == ("role:staff",)
    assert settings.recipe_of("english").model == "minilm"


def test_the_example_shows_every_setting() -> None:
    shown = set(re.findall(r"^#?:? ?([a-z_]+) *=", uncommented(), flags=re.MULTILINE))
    shown |= set(re.findall(r"^\[+(?:tenants\.)?([a-z_]+)", uncommented(), flags=re.MULTILINE))
    missing = []
    pending: list[type[BaseModel]] = [Settings]
    while pending:
        for name, field in pending.pop().model_fields.items():
            parts = [field.annotation, *get_args(field.annotation)]
            pending += [p for p in parts if isinstance(p, type) and issubclass(p, BaseModel)]
            if name not in shown and name not in ("database_url", "secret", "openai_api_key"):
                missing.append(name)
    assert missing == []


def test_settings_are_read_without_prefect_torch_or_a_database_driver() -> None:
    code = (
        "import sys, flows.settings; "
        "print([m for m in ('prefect', 'torch', 'psycopg', 'openai', 'numpy') if m in sys.modules])"
    )
    run = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        cwd=Path(__file__).parents[1],
    )
    assert run.stdout.strip() == "[]"


# --- keys ----------------------------------------------------------------------------------------


def test_the_secret_is_made_once_for_the_embedded_database(tmp_path: Path) -> None:
    home = tmp_path / "home"
    with ThreadPoolExecutor(8) as pool:
        found = set(pool.map(lambda _: master_secret(None, home=home, may_create=True), range(16)))
    assert len(found) == 1
    assert len(found.pop()) == 64
    assert [path.name for path in home.iterdir()] == ["secret.key"]
    assert stat.S_IMODE((home / "secret.key").stat().st_mode) == 0o600


def test_with_a_server_the_secret_must_be_given_or_be_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = secret(Settings.load())
    monkeypatch.setenv("DATABASE_URL", "postgresql://h/d")
    assert secret(Settings.load()) == kept
    monkeypatch.setenv("MUCLUC_HOME", str(tmp_path / "new"))
    with pytest.raises(KeyProblem, match="MUCLUC_SECRET"):
        secret(Settings.load())
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize("given", ["", "short", "x" * 31, " " * 40])
def test_a_short_secret_is_refused_without_showing_it(tmp_path: Path, given: str) -> None:
    with pytest.raises(KeyProblem) as caught:
        master_secret(given, home=tmp_path, may_create=True)
    assert "token_hex" in str(caught.value)
    assert not given or given not in str(caught.value)
    (tmp_path / "secret.key").write_text(given)
    (tmp_path / "secret.key").chmod(0o600)
    with pytest.raises(KeyProblem, match="at least 32"):
        master_secret(None, home=tmp_path, may_create=True)


def test_a_secret_that_others_may_read_is_refused(tmp_path: Path) -> None:
    master_secret(None, home=tmp_path, may_create=True)
    (tmp_path / "secret.key").chmod(0o640)
    with pytest.raises(KeyProblem, match="chmod 600"):
        master_secret(None, home=tmp_path, may_create=True)


def test_keys_are_hkdf_of_rfc_5869() -> None:
    pytest.importorskip("cryptography", reason="compares with the HKDF of cryptography")
    from cryptography.hazmat.primitives import hashes
    from cryptography.hazmat.primitives.kdf.hkdf import HKDF

    for purpose in ("identity", "memo", "tombstone", "mục đích"):
        reference = HKDF(hashes.SHA256(), 32, b"mucluc master secret v1", purpose.encode())
        assert derive_key(b"s" * 32, purpose) == reference.derive(b"s" * 32)


def test_keys_differ_by_purpose_and_secret_and_are_named() -> None:
    keys = {derive_key(s * 32, p) for s in (b"a", b"b") for p in ("identity", "memo")}
    assert len(keys) == len({key_id(key) for key in keys}) == 4
    assert all(re.fullmatch("[0-9a-f]{8}", key_id(key)) for key in keys)
    with pytest.raises(ValueError, match="purpose"):
        derive_key(b"a" * 32, "")
