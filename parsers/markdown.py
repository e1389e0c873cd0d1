"""Markdown: CommonMark with GFM tables, footnotes, definition lists and embedded HTML."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from markdown_it import MarkdownIt
from markdown_it.token import Token
from mdit_py_plugins.deflist import deflist_plugin
from mdit_py_plugins.footnote import footnote_plugin

from parsers import html
from parsers.elements import Element, Kind, Parsed
from parsers.encodings import decode
from parsers.grids import table_from_rows
from parsers.markdown_source import repaired, without_front_matter
from parsers.text import normalise, normalise_code, one_line
from parsers.text_tables import Drawn, is_drawn, parts
from parsers.versions import family_id

VERSION = 2

_ANCHOR = re.compile(r"\s*\{#[\w.:-]+[^}]*\}$")
_TAG = re.compile(r"<[^>]*>")
_BREAK_TAG = re.compile(r"<br\s*/?>", re.IGNORECASE)
_IMAGE_ALT = re.compile(r"<img\b[^>]*\balt\s*=\s*[\"']([^\"']*)", re.IGNORECASE)
_DEL = re.compile(r"<(/?)del\b", re.IGNORECASE)
_MAX_BOLD_HEADING = 80
_MAX_NESTING = 150  # each level of a list takes two; the library drops what lies deeper


def parser_id() -> str:
    """Return the id of this family's parser."""
    own = family_id("markdown", VERSION, "markdown-it-py", "mdit-py-plugins")
    return f"{own} {html.parser_id()}"  # which reads the HTML inside


def parse(data: bytes, *, suffix: str) -> Parsed:
    """Parse Markdown; its front matter is left to the source stage. Raises ``Unreadable``."""
    text, encoding = decode(data)
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    elements = elements_of(without_front_matter(text))
    return Parsed(
        elements=elements,
        parser_id=parser_id(),
        title=_title(elements),
        warnings=() if encoding.startswith("utf") else (f"encoding:{encoding}",),
    )


def elements_of(text: str) -> tuple[Element, ...]:
    """Return the elements of Markdown text without front matter."""
    walk = _Walk(_parser().parse(repaired(text)))
    walk.run()
    if not any(element.kind is Kind.HEADING for element in walk.elements):
        return tuple(_bold_headings(walk.elements, walk.bold))
    return tuple(walk.elements)


@functools.cache
def _parser() -> MarkdownIt:
    parser = MarkdownIt("commonmark", {"html": True, "maxNesting": _MAX_NESTING}).enable(
        ["table", "strikethrough"]
    )
    return parser.use(footnote_plugin).use(deflist_plugin)


def _title(elements: Sequence[Element]) -> str | None:
    """The only heading of the first level, where the document opens with it."""
    tops = [e for e in elements if e.kind is Kind.HEADING and e.level == 1]
    return tops[0].text if len(tops) == 1 and elements[0] is tops[0] else None


@dataclass(slots=True)
class _Walk:
    """One pass over the tokens."""

    tokens: list[Token]
    elements: list[Element] = field(default_factory=list)
    bold: set[int] = field(default_factory=set)  # elements that are one bold line
    ordinals: list[int | None] = field(default_factory=list)  # of the open lists
    item: list[str] | None = None  # lines of the list item that is being read
    note: str | None = None  # label of the footnote that is being read

    def run(self) -> None:
        """Read all tokens into ``elements``."""
        index = 0
        while index < len(self.tokens):
            index = self.read(index)
        self.end_item()

    def read(self, index: int) -> int:
        """Read the token at ``index``; return where to go on."""
        token = self.tokens[index]
        match token.type:
            case "heading_open":
                text = _ANCHOR.sub("", one_line(_inline(self.tokens[index + 1])))
                self.emit(Element(kind=Kind.HEADING, text=text, level=int(token.tag[1])))
                return index + 3
            case "fence" | "code_block":
                self.emit(Element(kind=Kind.CODE, text=normalise_code(token.content)))
            case "html_block":
                return self.html(index)
            case "table_open":
                return self.table(index)
            case "bullet_list_open" | "ordered_list_open":
                self.end_item()
                start = token.attrs.get("start", 1)
                is_ordered = token.type.startswith("ordered")
                self.ordinals.append(int(start) if is_ordered else None)
            case "bullet_list_close" | "ordered_list_close":
                self.end_item()
                self.ordinals.pop()
            case "list_item_open":
                self.end_item()
                self.item = [self.next_number()]
            case "list_item_close" | "dl_close" | "dt_open":
                self.end_item()
                if token.type == "dt_open":
                    self.item = [""]
            case "footnote_open":
                self.end_item()
                self.note = str(token.meta.get("label") or int(token.meta.get("id", 0)) + 1)
            case "footnote_close":
                self.note = None
            case "inline":
                self.inline(token)
        return index + 1

    def inline(self, token: Token) -> None:
        """Keep a paragraph: a line of the open item or note, or an element of its own."""
        text = normalise(_inline(token))
        if not text:
            return
        if self.note is None and is_drawn(token.content):
            found = list(parts(token.content.split("\n"), spaced=False))
            if any(isinstance(part, Drawn) for part in found):
                self.drawn(found)
                return
        if self.note is not None:
            label = f"[{self.note}] " if self.note else ""
            self.elements.append(Element(kind=Kind.NOTE, text=label + text))
            self.note = ""
        elif self.item is not None:
            self.item.append(text)
        else:
            if _is_bold(token):
                self.bold.add(len(self.elements))
            self.elements.append(Element(kind=Kind.TEXT, text=text))

    def drawn(self, found: Sequence[list[str] | Drawn]) -> None:
        """Keep a paragraph that holds tables drawn in other ways than GFM's."""
        for part in found:
            if isinstance(part, Drawn):
                rows = [[_inline(_parser().parseInline(t)[0]) for t in row] for row in part.rows]
                table = replace(part, rows=rows).table()
                self.emit(Element(kind=Kind.TABLE, table=table))
            elif text := normalise(_inline(_parser().parseInline("\n".join(part))[0])):
                self.emit(Element(kind=Kind.TEXT, text=text))

    def emit(self, element: Element) -> None:
        """Keep an element that is no paragraph; the list item around it ends before it."""
        self.end_item()
        if element.text or element.table is not None:
            self.elements.append(element)

    def end_item(self) -> None:
        """Keep the open list item, if it has text."""
        if self.item is None:
            return
        number, *lines = self.item
        self.item = None
        if lines:
            level = max(1, len(self.ordinals))
            text = normalise(f"{number}{chr(10).join(lines)}")
            self.elements.append(Element(kind=Kind.LIST_ITEM, text=text, level=level))

    def next_number(self) -> str:
        """Return the number of the next item with its dot, or nothing for a bullet."""
        ordinal = self.ordinals[-1] if self.ordinals else None
        if ordinal is None:
            return ""
        self.ordinals[-1] = ordinal + 1
        return f"{ordinal}. "

    def html(self, index: int) -> int:
        """Read the HTML blocks that follow one another as one piece of HTML."""
        end = index
        while end < len(self.tokens) and self.tokens[end].type == "html_block":
            end += 1
        piece = "\n".join(token.content for token in self.tokens[index:end])
        for element in html.fragment_elements(piece):
            self.emit(element)
        return end

    def table(self, index: int) -> int:
        """Read a table to its end."""
        rows: list[list[str]] = []
        header_rows = 0
        while self.tokens[index].type != "table_close":
            token = self.tokens[index]
            if token.type == "tr_open":
                rows.append([])
            elif token.type == "thead_close":
                header_rows = len(rows)
            elif token.type == "inline":
                rows[-1].append(normalise(_inline(token)))
            index += 1
        # A table without header is written with an empty one.
        is_headless = not any(text for row in rows[:header_rows] for text in row)
        table = (
            table_from_rows(rows[header_rows:])
            if is_headless
            else table_from_rows(rows, header_rows=header_rows)
        )
        if table is not None:
            self.emit(Element(kind=Kind.TABLE, table=table))
        return index + 1


def _inline(token: Token) -> str:
    return "".join(_words(token.children or []))


def _words(tokens: Sequence[Token]) -> Iterator[str]:
    deleted = 0
    for token in tokens:
        if token.type == "html_inline" and (match := _DEL.match(token.content)):
            deleted = max(0, deleted + (-1 if match.group(1) else 1))
            continue
        if deleted:
            continue
        match token.type:
            case "text" | "code_inline":
                yield token.content
            case "text_special" | "entity":
                yield token.content
            case "softbreak":
                yield " "
            case "hardbreak":
                yield "\n"
            case "image":
                yield "".join(_words(token.children or []))
            case "s_open" | "s_close":
                # Struck words stay, since they are on the page, but must not read as valid.
                yield "~~"
            case "footnote_ref":
                yield f"[{token.meta.get('label') or int(token.meta.get('id', 0)) + 1}]"
            case "html_inline":
                yield _inline_html(token.content)


def _inline_html(tag: str) -> str:
    if _BREAK_TAG.match(tag):
        return "\n"
    if match := _IMAGE_ALT.match(tag):
        return match.group(1)
    return _TAG.sub("", tag) if not tag.startswith("<!--") else ""


def _is_bold(token: Token) -> bool:
    """Whether a paragraph is one bold phrase and nothing else."""
    children = [child for child in token.children or [] if child.type != "text" or child.content]
    return (
        len(children) >= 3
        and children[0].type == "strong_open"
        and children[-1].type == "strong_close"
        and sum(child.type == "strong_open" for child in children) == 1
        and not any(child.type.endswith("break") for child in children)
    )


def _bold_headings(elements: Sequence[Element], bold: set[int]) -> Iterator[Element]:
    """In a document without headings, short bold lines above text are its headings."""
    for index, element in enumerate(elements):
        is_followed = index + 1 < len(elements) and index + 1 not in bold
        is_short = len(element.text) <= _MAX_BOLD_HEADING
        if index in bold and is_followed and is_short and element.text[-1] not in ".:;,!?":
            yield Element(kind=Kind.HEADING, text=element.text, level=1)
        else:
            yield element
