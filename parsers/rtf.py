"""Rich Text Format (.rtf): paragraphs, lists, notes and tables with spans and nesting.

Written against the Rich Text Format Specification 1.9.1. Converters at hand flatten nested tables
and lose spans, and with them the facts in the cells.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from parsers.blocks import Block, finish
from parsers.elements import Element, Kind, Unreadable
from parsers.plain_headings import Line, is_typed_item
from parsers.rtf_tables import Definition, RtfTable
from parsers.rtf_words import (
    CHARS,
    CHARSETS,
    KEPT,
    LABELS,
    NESTED,
    SIDE,
    SKIPPED,
    TOKEN,
    State,
    Words,
)
from parsers.vietnamese import decode_tcvn3, decode_vni

_HEADING = re.compile(r"(?:heading|tiêu đề|überschrift|titre)\s*(\d)", re.IGNORECASE)


def read_rtf(data: bytes) -> tuple[tuple[Element, ...], str | None]:
    """Return the elements and the title. Deleted and hidden text, headers and footers are out.

    Raises ``Unreadable`` ("damaged") for what does not begin as RTF.
    """
    if not data.lstrip().startswith(b"{\\rtf"):
        raise Unreadable("damaged", "not a rich text file")
    reader = _Reader(data.decode("latin-1"))
    reader.run()
    return finish(reader.blocks)


@dataclass(slots=True)
class _Row:
    """The row definition that is in force at one depth."""

    definitions: list[Definition] = field(default_factory=list)
    pending: Definition = field(default_factory=lambda: Definition(0))
    is_header: bool = False
    left: int = 0


@dataclass(slots=True)
class _Reader:
    source: str
    blocks: list[Block] = field(default_factory=list)
    _state: State = field(default_factory=State)
    _stack: list[State] = field(default_factory=list)
    _words: Words = field(default_factory=Words)
    _outer: list[Words] = field(default_factory=list)  # of paragraphs that a note interrupts
    _sides: list[tuple[Kind, str]] = field(default_factory=list)
    _tables: list[RtfTable] = field(default_factory=list)  # by depth, outermost first
    _row: _Row = field(default_factory=_Row)
    _outer_rows: list[_Row] = field(default_factory=list)
    _bytes: bytearray = field(default_factory=bytearray)
    _fonts: dict[int, str] = field(default_factory=dict)
    _styles: dict[int, str] = field(default_factory=dict)
    _codepage: str = "cp1252"
    _pass_over: int = 0

    def run(self) -> None:
        """Read the whole file into ``blocks``."""
        self._read_tables()
        at, starred = 0, False
        while at < len(self.source):
            match = TOKEN.match(self.source, at)
            if match is None:
                break
            at = match.end()
            word, sign = match["word"], match["sign"]
            if match["brace"]:
                self._brace(match["brace"])
            elif word == "bin":
                at += max(0, int(match["number"] or 0))
            elif sign == "*":
                starred = True
                continue
            elif word:
                self._word(word, int(match["number"]) if match["number"] else None, starred)
            elif match["hex"]:
                self._byte(bytes([int(match["hex"], 16)]))
            elif sign:
                self._sign(sign)
            elif match["text"]:
                self._byte(match["text"].encode("latin-1"))
            starred = False
        self._paragraph()
        self._end_tables(0)

    def _read_tables(self) -> None:
        """Read the code page, the fonts' encodings and the styles' names."""
        page = re.search(r"\\ansicpg(\d+)", self.source[:2000])
        if page and page[1] not in ("0", "65001"):
            self._codepage = f"cp{page[1]}"
        for number, rest in re.findall(
            r"\{\\f(\d+)((?:\\[^{};]*|\{[^{}]*\})*[^{};]*);", self.source
        ):
            charset = re.search(r"\\fcharset(\d+)", rest)
            plain = re.sub(r"\{[^{}]*\}|\\[a-z]+-?\d* ?|\\\*", "", rest).strip().casefold()
            if plain.startswith(".vn"):
                self._fonts[int(number)] = "tcvn3"
            elif plain.startswith("vni-"):
                self._fonts[int(number)] = "vni"
            elif charset and int(charset[1]) in CHARSETS:
                self._fonts[int(number)] = CHARSETS[int(charset[1])]
        start = self.source.find("{\\stylesheet")
        sheet = self.source[start : start + 200_000] if start >= 0 else ""
        for number, name in re.findall(
            r"\{\\s(\d+)\\[^{}]*?(?:\{[^{}]*\}[^{}]*?)*? ([^{}\\;]+);\}", sheet
        ):
            self._styles.setdefault(int(number), name.strip().casefold())

    # --- words -----------------------------------------------------------------------------------

    def _byte(self, data: bytes) -> None:
        if self._pass_over:
            # The characters that old readers show in place of a Unicode one.
            skipped = min(self._pass_over, len(data))
            self._pass_over -= skipped
            data = data[skipped:]
        if not self._state.skip:
            self._bytes += data

    def _flush(self) -> None:
        if self._bytes:
            raw, self._bytes = bytes(self._bytes), bytearray()
            name = self._fonts.get(self._state.font, self._codepage)
            if name == "tcvn3":
                self._say(decode_tcvn3(raw))
            elif name == "vni":
                self._say(decode_vni(raw))
            else:
                try:
                    self._say(raw.decode(name, "replace"))
                except LookupError:
                    self._say(raw.decode("cp1252", "replace"))

    def _say(self, text: str) -> None:
        if self._state.skip or self._state.unseen:
            return
        self._words.parts.append(text)
        if text.strip():
            self._words.weights.append(self._state.bold)

    def _sign(self, sign: str) -> None:
        if sign in "\r\n":
            self._word("par", None, False)
        elif self._pass_over:
            self._pass_over -= 1
        elif sign in CHARS:
            self._flush()
            self._say(CHARS[sign])

    # --- groups and control words ----------------------------------------------------------------

    def _brace(self, brace: str) -> None:
        self._flush()
        self._pass_over = 0
        if brace == "{":
            self._stack.append(self._state)
            self._state = replace(self._state, side="")
            return
        ended = self._state
        self._state = self._stack.pop() if self._stack else State()
        if ended.side == NESTED:
            self._row = self._outer_rows.pop()
        elif ended.side:
            self._end_side(ended.side)

    def _end_side(self, side: str) -> None:
        text, _, _ = self._words.take()
        self._words = self._outer.pop()
        if side in LABELS:
            self._words.label = text
        elif text:
            self._sides.append((SIDE[side], text))

    def _word(self, word: str, number: int | None, starred: bool) -> None:
        self._flush()
        if word == "u" and number is not None:
            self._say(chr(number % 65536))
            self._pass_over = self._state.fallback
            return
        self._pass_over = 0
        if word == "ud":
            self._state = replace(self._state, skip=False)
        elif word in SKIPPED or (starred and word not in KEPT and word not in LABELS):
            self._state = replace(self._state, skip=True)
        elif self._state.skip:
            return
        elif word in SIDE or word in LABELS:
            self._outer.append(self._words)
            self._words = Words()
            self._state = replace(self._state, side=word)
        elif word == NESTED:
            self._outer_rows.append(self._row)
            self._row = _Row()
            self._state = replace(self._state, side=word)
        elif word in CHARS:
            self._say(CHARS[word])
        elif not (self._character(word, number) or self._layout(word, number)):
            self._cells(word, number)

    def _character(self, word: str, number: int | None) -> bool:
        """Follow a word about characters; False where it is about something else."""
        on = number != 0
        state = self._state
        if word == "b":
            self._state = replace(state, bold=on)
        elif word in ("v", "deleted"):
            self._state = replace(state, unseen=on)
        elif word == "f" and number is not None:
            self._state = replace(state, font=number)
        elif word == "fs" and number is not None:
            self._state = replace(state, size=number / 2)
        elif word == "uc" and number is not None:
            self._state = replace(state, fallback=number)
        elif word == "plain":
            self._state = replace(state, bold=False, unseen=False, size=None)
        else:
            return False
        return True

    def _layout(self, word: str, number: int | None) -> bool:
        """Follow a word about paragraphs; False where it is about something else."""
        state = self._state
        if word == "pard":
            self._state = replace(state, depth=0, style=None, outline=None, centred=False)
        elif word == "intbl":
            self._state = replace(state, depth=max(1, state.depth))
        elif word == "itap" and number is not None:
            self._state = replace(state, depth=number)
        elif word == "s" and number is not None:
            self._state = replace(state, style=number)
        elif word == "outlinelevel" and number is not None:
            self._state = replace(state, outline=number)
        elif word in ("qc", "ql", "qr", "qj"):
            self._state = replace(state, centred=word == "qc")
        elif word in ("par", "sect", "page"):
            if state.side and state.side != NESTED:
                self._words.parts.append("\n")
            else:
                self._paragraph()
        else:
            return False
        return True

    def _cells(self, word: str, number: int | None) -> None:
        """Follow a word about tables; others are passed over."""
        row = self._row
        if word == "trowd":
            self._row = _Row()
        elif word == "trhdr":
            row.is_header = True
        elif word == "trleft" and number is not None:
            row.left = number
        elif word == "clvmgf":
            row.pending = replace(row.pending, starts_down=True)
        elif word == "clvmrg":
            row.pending = replace(row.pending, goes_on_down=True)
        elif word == "clmrg":
            row.pending = replace(row.pending, goes_on_right=True)
        elif word == "cellx" and number is not None:
            row.definitions.append(replace(row.pending, right=number))
            row.pending = Definition(0)
        elif word in ("cell", "nestcell"):
            depth = 1 if word == "cell" else max(2, self._state.depth)
            self._to_cell(depth)
            self._tables[depth - 1].end_cell()
        elif word in ("row", "nestrow"):
            depth = 1 if word == "row" else max(2, len(self._tables))
            if len(self._tables) >= depth:
                self._tables[depth - 1].end_row(row.definitions, row.is_header, row.left)

    # --- paragraphs ------------------------------------------------------------------------------

    def _paragraph(self) -> None:
        """End a paragraph: a line of a cell within tables, else a block."""
        if self._state.depth > 0:
            self._to_cell(self._state.depth)
            return
        text, bold, label = self._words.take()
        if text or self._sides:
            self._end_tables(0)
        if text:
            self.blocks.append(self._block(text, bold, label))
        self._add_sides()

    def _block(self, text: str, bold: bool, label: str | None) -> Block:
        name = self._styles.get(self._state.style or -1, "")
        heading = _HEADING.match(name)
        level = int(heading[1]) if heading else (0 if name in ("title", "tiêu đề") else None)
        if level is None and self._state.outline is not None and self._state.outline < 9:
            level = self._state.outline + 1
        if label and any(char.isalnum() for char in label) and not text.startswith(label):
            text = f"{label} {text}"
        is_item = level is None and (label is not None or is_typed_item(text))
        kind = Kind.LIST_ITEM if is_item else Kind.TEXT
        line = Line(
            text=text,
            bold=bold,
            centred=self._state.centred,
            size=self._state.size,
            is_item=is_item,
        )
        element = Element(kind=kind, text=text, level=1 if is_item else None)
        return Block(element, line, level, is_caption=name in ("caption", "chú thích"))

    def _to_cell(self, depth: int) -> None:
        """Put the words at hand into the open cell at ``depth``, after tables nested in it."""
        self._end_tables(depth)
        while len(self._tables) < depth:
            self._tables.append(RtfTable())
        text, bold, label = self._words.take()
        if text:
            shown = f"{label} {text}" if label and any(c.isalnum() for c in label) else text
            cell = self._tables[depth - 1].cell
            cell.lines.append(shown)
            cell.bold.append(bold)

    def _end_tables(self, depth: int) -> None:
        """End the tables below ``depth``: into the cell around them, or into the document."""
        while len(self._tables) > depth:
            table = self._tables.pop()
            table.end_row([], False, 0)
            if self._tables:
                self._tables[-1].cell.take_nested(table)
            else:
                self.blocks.extend(_table_blocks(table))
                self._add_sides()

    def _add_sides(self) -> None:
        self.blocks.extend(Block(Element(kind=kind, text=text)) for kind, text in self._sides)
        self._sides.clear()


def _table_blocks(table: RtfTable) -> Iterator[Block]:
    built = table.build()
    if built is not None:
        yield Block(Element(kind=Kind.TABLE, table=built))
    for nested in table.inner():
        yield from _table_blocks(nested)
