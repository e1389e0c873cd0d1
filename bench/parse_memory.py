"""Peak memory of parsing and chunking each file of a folder, read from the operating system.

    python -m bench.parse_memory ../shared/cases/docs

Each file is read in a process of its own; the figure is the most that this process and those it
started held together. Processes that share pages count them once each, so the sum is on the safe
side.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import psutil

_POLL_SECONDS = 0.02
_MB = 1_048_576
# The child keeps nothing: the chunks are made one after the other, as in a sync.
_CHILD = """
import sys
from pathlib import Path
from enrich.embedders import load
from enrich.tokenizers import recipe_for
from evals.quality import chunks_of
from parsers.elements import Unreadable
from parsers.registry import parse_file
path = Path(sys.argv[1])
embedder = load("e5")
try:
    parsed = parse_file(path.read_bytes(), suffix=path.suffix)
except Unreadable:
    sys.exit(0)
recipe = recipe_for(embedder.card, embedder.tokenizer)
for _ in chunks_of(parsed, recipe=recipe, card=embedder.card, tokenizer=embedder.tokenizer):
    pass
"""


def peak_mb(path: Path) -> float:
    """Parse and chunk a file in a process of its own; return the most memory held, in MB."""
    child = subprocess.Popen(
        [sys.executable, "-c", _CHILD, str(path)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        cwd=Path(__file__).resolve().parents[1],
    )
    watched = psutil.Process(child.pid)
    peak = own = 0
    while child.poll() is None:
        rest = 0
        try:
            for member in watched.children(recursive=True):
                rest += member.memory_info().rss
            # The kernel's own record misses nothing between two looks.
            own = max(own, _record(child.pid) or watched.memory_info().rss)
        except (psutil.Error, OSError):
            pass
        peak = max(peak, own + rest)
        time.sleep(_POLL_SECONDS)
    if child.returncode:
        raise RuntimeError(f"the process that read a file ended with {child.returncode}")
    return peak / _MB


def _record(pid: int) -> int:
    status = Path(f"/proc/{pid}/status")
    if not status.exists():
        return 0
    text = status.read_text(encoding="ascii", errors="replace")
    return int(text.split("VmHWM:", 1)[1].split(None, 1)[0]) * 1024 if "VmHWM:" in text else 0


def figures(folder: Path) -> Iterator[tuple[str, float]]:
    """Yield (file name, peak in MB) of each file below a folder."""
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            yield path.relative_to(folder).as_posix(), peak_mb(path)


def main() -> int:
    """Print the figures as they come, and the largest of them."""
    parser = argparse.ArgumentParser(description="Peak memory of parsing and chunking each file.")
    parser.add_argument("folder", type=Path, help="a folder with documents")
    folder = parser.parse_args().folder
    if not folder.is_dir():
        print(f"No folder {folder}: name one that holds documents.")
        return 2
    count, most = 0, 0.0
    for name, used in figures(folder):
        print(f"{used:8.0f} MB  {name}", flush=True)
        count, most = count + 1, max(most, used)
    print(f"{most:8.0f} MB  at most, over {count} files")
    return 0


if __name__ == "__main__":
    sys.exit(main())
