"""What stands in front of a chunk when it is embedded. Never part of a citation (I2).

Strategy ``title_section_page_v1`` is a template, without a language model:
``Title > Section > Subsection (page 3)``. Validity dates are left out on purpose: a changed date
must not cost an embedding (I14). A title taken from a file name must not be passed in.
"""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from uuid import UUID

from chunkers.chunk import ChunkingRecipe, Tokenizer
from enrich.models import ModelCard, Truncated

STRATEGY = "title_section_page_v1"
# The strategies there are, and the version of each one's code; the prompt's text counts apart.
_STRATEGIES: dict[str, int] = {STRATEGY: 1}
_PROMPTS = Path(__file__).with_name("prompts")
_JOIN = "\n\n"
_OUTER = 32  # characters that an outer heading is shortened to before it is dropped
_SHORTER = (160, 120, 80, 60, 40, 24)  # characters of the title and the nearest heading, in turn


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextInput:
    """What a chunk's context is made from.

    ``title`` is stated by the document or its metadata, never a file name. ``heading_path`` runs
    from the outermost to the nearest heading. ``page`` is set for page-native formats only (pdf,
    pptx): elsewhere a page inserted in front would re-embed all that follows.
    """

    title: str | None = None
    heading_path: tuple[str, ...] = ()
    page: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextualChunk:
    """A chunk as it is embedded: ``text`` is ``contextual_text(prefix, body)``.

    ``tokens`` are those of ``text`` alone, without the model's own. ``fallback`` says that the
    strategy's model could not be used and the template stands in; ``shortened`` that the context
    did not fit whole.
    """

    prefix: str
    text: str
    tokens: int
    fallback: bool = False
    shortened: bool = False
    chunk_id: UUID | None = None


@cache
def _prompt(strategy: str) -> str:
    if strategy not in _STRATEGIES:
        raise ValueError(f"unknown context strategy; one of {', '.join(_STRATEGIES)}")
    return (_PROMPTS / f"{strategy}.txt").read_text(encoding="utf-8")


@cache
def _template() -> tuple[str, str]:
    """Return the separator between headings and the page's form."""
    lines = [line for line in _prompt(STRATEGY).splitlines() if line and line[0] != "#"]
    values = {key: value.strip() for key, _, value in (line.partition(":") for line in lines)}
    return f" {values['separator']} ", values["page"]


def context_id(strategy: str = STRATEGY) -> str:
    """Return the name of a strategy in keys: it changes with its code and its prompt's text.

    Raises ValueError for a strategy that there is not.
    """
    prompt = _prompt(strategy)
    material = json.dumps([strategy, _STRATEGIES[strategy], prompt])
    return f"{strategy}-{hashlib.sha256(material.encode()).hexdigest()[:12]}"


def input_sha256(context: ContextInput) -> bytes:
    """Hash what a context is made from, 32 bytes: an equal hash needs no new context."""
    stated = {
        "title": context.title,
        "heading_path": context.heading_path,
        "page": context.page,
    }
    material = json.dumps(stated, ensure_ascii=True, sort_keys=True)
    return hashlib.sha256(material.encode()).digest()


def write_context(context: ContextInput) -> str:
    """Write the whole context; a title that the outermost heading repeats is said once."""
    separator, page_form = _template()
    parts = [_one_line(part) for part in (context.title or "", *context.heading_path)]
    parts = [part for part in parts if part]
    if len(parts) > 1 and parts[0].casefold() == parts[1].casefold():
        parts = parts[1:]
    words = [separator.join(parts)] if parts else []
    if context.page is not None:
        words.append(page_form.format(page=context.page))
    return " ".join(words)


def _one_line(text: str) -> str:
    return " ".join(text.split())


def contextual_text(prefix: str, body: str) -> str:
    """Join a context and a chunk's own text, as it is embedded."""
    return f"{prefix}{_JOIN}{body}" if prefix else body


def contextualize(
    context: ContextInput,
    body: str,
    *,
    recipe: ChunkingRecipe,
    card: ModelCard,
    tokenizer: Tokenizer,
    chunk_id: UUID | None = None,
) -> ContextualChunk:
    """Put a chunk's context in front of it, within the model's limit.

    The context is cut to ``recipe.context_reserve`` tokens, and further if the joined text is over
    the limit all the same (joined texts can count a few tokens more than their parts). Outer
    headings are shortened first, then dropped, outermost first; then the title and the nearest
    heading are shortened in turn; then the title goes, the page, and the nearest heading last.
    The body is never cut: raises ``Truncated`` if it does not fit alone.
    """
    room = card.max_tokens - card.overhead_tokens
    whole = write_context(context)
    for prefix in _candidates(context):
        if prefix and tokenizer.count(prefix) > recipe.context_reserve:
            continue
        text = contextual_text(prefix, body)
        tokens = tokenizer.count(text)
        if tokens <= room:
            return ContextualChunk(
                prefix=prefix,
                text=text,
                tokens=tokens,
                shortened=prefix != whole,
                chunk_id=chunk_id,
            )
    raise Truncated(tokenizer.count(body) + card.overhead_tokens, card.max_tokens)


def _candidates(context: ContextInput) -> Iterator[str]:
    """Yield ever shorter contexts, from the whole one to none."""
    yield write_context(context)
    outer, nearest = list(context.heading_path[:-1]), context.heading_path[-1:]
    title = context.title
    for place, heading in enumerate(outer):
        outer[place] = _shorten(heading, _OUTER)
        yield write_context(replace(context, heading_path=(*outer, *nearest)))
    while outer:
        del outer[0]
        yield write_context(replace(context, heading_path=(*outer, *nearest)))
    for length in _SHORTER:
        title = title and _shorten(title, length)
        yield write_context(replace(context, title=title, heading_path=nearest))
        nearest = tuple(_shorten(heading, length) for heading in nearest)
        yield write_context(replace(context, title=title, heading_path=nearest))
    yield write_context(replace(context, title=None, heading_path=nearest))
    yield write_context(ContextInput(heading_path=nearest))
    yield ""


def _shorten(text: str, length: int) -> str:
    """Cut to ``length`` characters, at a space if one is in the second half, with an ellipsis."""
    text = _one_line(text)
    if len(text) <= length:
        return text
    cut = text[: length - 1]
    space = cut.rfind(" ")
    return (cut[:space] if space > length // 2 else cut).rstrip() + "…"


def memo_key(key: bytes, text: str) -> bytes:
    """Return the keyed hash (HMAC-SHA256, 32 bytes) under which a text's vector is remembered.

    Keyed, so that nobody without the key can test whether a text was ever indexed. Raises
    ValueError for an empty key.
    """
    if not key:
        raise ValueError("the memo key is empty")
    return hmac.new(key, text.encode("utf-8", "surrogatepass"), hashlib.sha256).digest()
