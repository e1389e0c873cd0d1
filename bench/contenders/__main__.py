"""Chunk files with one contender: python -m bench.contenders NAME FOLDER FILE... > lines

One line of JSON a chunk, ``{"file", "text"}``, and one for a file that it cannot read,
``{"file", "error"}``. A process of its own, so that no contender changes another's libraries.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path


def main() -> None:
    """Write the lines to standard output, which belongs to them alone."""
    name, folder, *files = sys.argv[1:]
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # some libraries print
    from bench.contenders.chunkers import CONTENDERS  # noqa: PLC0415 - they may print too

    for file in files:
        try:
            texts = list(CONTENDERS[name](Path(folder) / file))
        # Foreign libraries raise anything; a file that one cannot read is a result.
        except Exception as problem:
            print(json.dumps({"file": file, "error": type(problem).__name__}), file=out)
            continue
        if not any(text.strip() for text in texts):
            print(json.dumps({"file": file, "error": "nothing found"}), file=out)
        for text in texts:
            print(json.dumps({"file": file, "text": text}, ensure_ascii=False), file=out)
    out.close()


if __name__ == "__main__":
    main()
