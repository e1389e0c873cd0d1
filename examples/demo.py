"""The demo: index two small companies, ask questions as somebody, and check the answers.

Run by ``make demo``. Works through the command line alone, as a person would, and ends with exit
code 1 when an expected answer is missing or one is shown to somebody who may not see it.
"""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
SETTINGS = "examples/mucluc.toml"
QUESTIONS = ROOT / "examples" / "demo_questions.json"
# The demo has a database of its own, whatever the environment says.
FOREIGN = (
    "DATABASE_URL",
    "MUCLUC_DATABASE_URL",
    "MUCLUC_HOME",
    "MUCLUC_SECRET",
    "PREFECT_API_URL",
    "PREFECT_API_DATABASE_CONNECTION_URL",
)
SHOWN = 240  # characters of a quote
DONE, DONE_BUT = 0, 3


def main() -> int:
    """Index, ask, and return the exit code."""
    began = time.monotonic()
    print("\nTwo companies, acme and globex, go into one database:\n", flush=True)
    code = run("sync", "--settings", SETTINGS).returncode
    if code not in (DONE, DONE_BUT):
        print(f"\nThe demo failed: mucluc sync ended with exit code {code}.")
        return 1
    if code == DONE_BUT:
        print("\nSome documents could not be read; the rest is indexed.")
    questions = json.loads(QUESTIONS.read_text(encoding="utf-8"))
    failures = [failure for question in questions if (failure := ask(question))]
    for failure in failures:
        print(f"FAILED: {failure}")
    if failures:
        return 1
    print(f"All answers are as they should be ({time.monotonic() - began:.0f} s).")
    print_next_steps()
    return 0


def run(*arguments: str, capture: bool = False) -> subprocess.CompletedProcess[str]:
    """Print a command and run it from the checkout."""
    print(f"$ mucluc {shlex.join(arguments)}", flush=True)
    environment = {name: value for name, value in os.environ.items() if name not in FOREIGN}
    return subprocess.run(
        [sys.executable, "-m", "flows.cli", *arguments],
        cwd=ROOT,
        env=environment,
        stdout=subprocess.PIPE if capture else None,
        text=True,
        encoding="utf-8",
        check=False,
    )


def ask(question: dict[str, Any]) -> str | None:
    """Ask one question, print the answer, and return what is wrong with it, if anything."""
    principals = question["principals"]
    print(f"\n── {question['about']} " + "─" * max(0, 76 - len(question["about"])))
    print(f"{' and '.join(principals)} of {question['tenant']} asks: {question['query']}")
    command = ["search", question["query"], "--tenant", question["tenant"]]
    for principal in principals:
        command += ["--as", principal]
    command += ["--as-of", question["as_of"], "--settings", SETTINGS, "--json"]
    done = run(*command, capture=True)
    if done.returncode != DONE:
        return f"mucluc search ended with exit code {done.returncode}"
    results = json.loads(done.stdout.splitlines()[-1])["results"]
    return judge(question, results)


def judge(question: dict[str, Any], results: list[dict[str, Any]]) -> str | None:
    """Print the answer among the results and return what is wrong with it, if anything."""
    print()
    forbidden = question.get("must_not")
    if forbidden and any(result["uri"] == forbidden for result in results):
        return f"{forbidden} was shown to somebody who may not see it"
    if question["expected"] is None:
        print(f"  Not one of the {len(results)} results comes from {forbidden},")
        print("  which this asker may not read: the database filters before it ranks.")
        return None
    for result in results:
        if result["uri"] == question["expected"] and question["quote"] in result["text"]:
            show(result, question["quote"])
            return None
    return f"{question['expected']} with “{question['quote']}” is not among the results"


def show(result: dict[str, Any], quote: str) -> None:
    """Print one result: where it stands, when it holds, and its words."""
    place = [result["title"] or result["uri"]]
    place += [part for part in result["section"].split(" > ") if part and part != place[0]]
    print(f"  {result['rank']}. {' › '.join(place)}")
    valid = f"valid {result['valid_from'] or '…'} to {result['valid_to'] or '…'}"
    page = f" · page {result['page']}" if result["page"] is not None else ""
    print(f"     {result['uri']}{page} · {valid}")
    for line in excerpt(result["text"], quote):
        print(f"     │ {line}")


def excerpt(text: str, quote: str) -> list[str]:
    """Return the lines of a chunk that hold the quote, with what leads to it, if it is short."""
    if len(text) <= SHOWN:
        return text.splitlines()
    at = text.index(quote)
    start = text.rfind("\n", 0, at) + 1
    end = text.find("\n", at + len(quote))
    line = text[start : end if end >= 0 else len(text)]
    if len(line) <= SHOWN:
        return [line]
    begin = max(0, line.index(quote) - SHOWN // 2)
    return [f"{'…' if begin else ''}{line[begin : begin + SHOWN]}…"]


def print_next_steps() -> None:
    """Say what a newcomer does next."""
    mucluc = Path(sys.executable).parent / "mucluc"
    shown = mucluc.relative_to(ROOT) if mucluc.is_relative_to(ROOT) else mucluc
    print(
        f"""
Next:
  1. Ask the demo yourself, and see who may read what in docs/examples.md:
       {shown} search "bang gia thang 11" --tenant acme --as role:sales --as-of 2026-11-30 \\
         --settings {SETTINGS}
  2. Index a folder of your own (README.md, "Your own folder"):
       {shown} sync ./documents --tenant acme --acl role:staff
"""
    )


if __name__ == "__main__":
    sys.exit(main())
