"""Every benchmark, one after the other, and one table of ratios: ``make bench``."""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path

from bench import copy_rate, pdf_speed, search_latency, sync_vs_encode
from bench.databases import server
from bench.ratios import PAIRS, Ratio, facts, machine, table
from bench.search_data import CHUNKS


def main() -> None:
    """Measure and print. The aims are reported, not enforced: a busy machine misses them too."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small sets, three pairs")
    parser.add_argument("--files", type=int, help="Markdown files of the sync")
    parser.add_argument("--pairs", type=int, help="pairs of each ratio")
    parser.add_argument("--json", type=Path, help="write the ratios to this file, too")
    asked = parser.parse_args()
    quick = asked.quick
    pairs = asked.pairs or (3 if quick else PAIRS)
    files = asked.files or (40 if quick else sync_vs_encode.FILES)
    begun, busy = time.monotonic(), machine()
    found: list[Ratio] = []
    print(busy, flush=True)
    with server() as place:
        print("==> sync against bare encode, default model", flush=True)
        found += sync_vs_encode.run(place, files=files, pairs=pairs, command_pairs=1)
        print("==> sync with a model that costs nothing: the pipeline's own time", flush=True)
        found += sync_vs_encode.run(
            place, model=sync_vs_encode.HASHING, files=files, pairs=1, command_pairs=0
        )
        print("==> COPY", flush=True)
        found += copy_rate.run(place, pairs=pairs, rows=4_000 if quick else copy_rate.ROWS)
        print("==> search", flush=True)
        found += search_latency.run(
            place,
            chunks=4_000 if quick else CHUNKS,
            budget=2.0 if quick else 8.0,
            pairs=pairs,
        )
    print("==> PDF", flush=True)
    found += pdf_speed.run(pairs=pairs)
    print(f"\n{busy}; {(time.monotonic() - begun) / 60:.1f} minutes\n")
    print(table(found))
    print("\nMeasured on (milliseconds are this machine's):")
    print(facts(found))
    if asked.json:
        asked.json.write_text(json.dumps([ratio.to_json() for ratio in found], indent=2) + "\n")


if __name__ == "__main__":
    main()
