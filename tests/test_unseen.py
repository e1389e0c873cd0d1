"""A search that finds nothing says which filters name what the asker sees nowhere, and no more."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import pytest
import yaml
from syncs import NOW, TODAY, sync
from test_cli import call

from search.request import SearchRequest
from search.unseen import unseen
from store.database import Store
from store.reader import Scope

ASKED = SearchRequest(query="leave", tenant="acme", principals=("role:staff",), as_of=TODAY)


def write(folder: Path, name: str, text: str, **metadata: Any) -> None:
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(text)
    (folder / f"{name}.meta.yaml").write_text(yaml.safe_dump(metadata))


@pytest.fixture
def indexed(store: Store, tmp_path: Path) -> Store:
    docs, secret, other = tmp_path / "docs", tmp_path / "secret", tmp_path / "other"
    write(docs, "leave.md", "# Leave\n\nFourteen days.\n", collection="policies", language="en")
    write(docs, "page.html", '<html lang="fr-CA"><body><p>Quinze jours.</p></body></html>')
    write(
        docs, "old.md", "# Old\n\nTwelve days.\n", collection="archive",
        valid_from=date(2024, 1, 1), valid_to=date(2024, 12, 31),
    )  # fmt: skip
    prices = "code,price\nBH-01,8\n"
    write(secret, "pay.csv", prices, acl=["role:hr"], collection="payroll", language="vi")
    write(other, "rates.md", "# Rates\n\nSeven.\n", acl=["role:sales"], collection="rates")
    sync(store, docs)
    sync(store, secret, source="salaries")
    sync(store, other, tenant="globex", source="rates")
    return store


def hints(store: Store, tenant: str = "acme", who: str = "role:staff", **scope: Any) -> list[str]:
    asked = replace(ASKED, tenant=tenant, principals=(who,), scope=Scope(**scope))
    return [str(hint) for hint in unseen(store, asked)]


def test_a_misspelt_name_is_named_with_the_nearest_or_with_all(indexed: Store) -> None:
    assert hints(indexed) == []
    assert hints(indexed, collections=("policies",), sources=("docs",), kinds=("text",)) == []
    (near,) = hints(indexed, collections=("polices", "policies"))
    assert near == (
        "nothing that this asker may read on this day has --collection polices. "
        "Did you mean policies?"
    )
    (far,) = hints(indexed, sources=("intranet",))
    assert far.endswith("has --source intranet. It sees: docs.")
    (kind,) = hints(indexed, kinds=("texts",))
    assert kind.endswith("Did you mean text?")


def test_a_language_is_known_by_its_regions_and_from_the_document_itself(indexed: Store) -> None:
    assert hints(indexed, languages=("en", "FR", "fr-ca")) == []
    (hint,) = hints(indexed, languages=("Fr-FR",))
    assert "--language Fr-FR. " in hint
    (hint,) = hints(indexed, languages=("xx",))
    assert hint.endswith("It sees: en, fr-ca.")


@pytest.mark.parametrize(
    ("option", "field", "hidden", "absent"),
    [
        ("collection", "collections", "payroll", "nowhere"),
        ("source", "sources", "salaries", "nowhere"),
        ("language", "languages", "vi", "zz"),
        ("kind", "kinds", "table", "graph"),
    ],
)
def test_i5_what_is_hidden_is_told_as_what_does_not_exist(
    indexed: Store, option: str, field: str, hidden: str, absent: str
) -> None:
    (of_hidden,) = hints(indexed, **{field: (hidden,)})
    (of_absent,) = hints(indexed, **{field: (absent,)})
    assert of_hidden.replace(hidden, absent) == of_absent
    assert f"--{option} {absent}" in of_absent
    assert not any(word in of_absent for word in ("payroll", "salaries", "vi,", "table", "rates"))
    assert hints(indexed, who="role:hr", **{field: (hidden,)}) == []


def test_i5_a_tenant_that_shows_nothing_is_told_as_one_that_is_not_there(indexed: Store) -> None:
    (of_hidden,) = hints(indexed, tenant="globex", collections=("rates",))
    (of_absent,) = hints(indexed, tenant="nobody", collections=("rates",))
    assert of_hidden.replace("globex", "nobody") == of_absent
    assert "sees nothing at all of tenant nobody" in of_absent


def test_what_holds_on_another_day_only_is_not_seen(indexed: Store) -> None:
    (hint,) = hints(indexed, collections=("archive",))
    assert "archive" not in hint.partition(". ")[2]
    then = replace(ASKED, as_of=date(2024, 6, 1), scope=Scope(collections=("archive",)))
    assert unseen(indexed, then) == []


@pytest.mark.usefixtures("here")
def test_the_command_says_so_on_standard_error(indexed: Store) -> None:
    who = ("--tenant", "acme", "--as", "role:staff", "--as-of", NOW.date().isoformat())
    for more in ((), ("--json",)):
        done = call("search", "leave", *who, "--collection", "poli[b]ces", *more)
        assert done.exit_code == 0, done.output
        said = " ".join(done.stderr.split())
        assert "has --collection poli[b]ces. Did you mean policies?" in said
        assert "policies" not in done.stdout
    assert json.loads(done.stdout)["results"] == []
    found = call("search", "leave", *who, "--collection", "policies")
    assert "Did you mean" not in found.output
