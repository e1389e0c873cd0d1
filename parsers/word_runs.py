"""A Word paragraph's words: what a reader sees of its runs, and what hangs on them."""

from __future__ import annotations

from dataclasses import dataclass, field

from parsers.packages import Node, attribute, child, children, local
from parsers.word_styles import Style, is_on

# Removed text, instructions and properties: nothing of these is on the page.
_UNSEEN = frozenset(
    {"del", "moveFrom", "delText", "instrText", "delInstrText", "rPr", "pPr", "sdtPr", "sdtEndPr"}
    | {"commentReference", "annotationRef", "rt", "proofErr", "bookmarkStart", "bookmarkEnd"}
)
_WINGDINGS = {
    0x52: "☑",
    0xFE: "☑",
    0x6F: "☐",
    0xA8: "☐",
    0xFC: "✓",
    0xFB: "✗",
    0xE0: "→",
    0xF0: "→",
}
_CHARS = {"tab": "\t", "cr": "\n", "noBreakHyphen": "-", "ptab": "\t"}


@dataclass(slots=True)
class Paragraph:
    """A paragraph as read: ``text`` raw, not normalised."""

    text: str = ""
    bold: bool = False  # every visible word is
    size: float | None = None  # points, of the largest visible run
    boxes: list[Node] = field(default_factory=list)  # w:txbxContent, in order
    tables: list[Node] = field(default_factory=list)  # w:tbl inside runs
    notes: list[tuple[str, str]] = field(default_factory=list)  # ("footnote" | "endnote", id)
    drawn: list[str] = field(default_factory=list)  # relations of charts and diagrams
    breaks_before: int = 0  # page breaks before the first word
    breaks_after: int = 0


@dataclass(slots=True)
class RunReader:
    """Reads paragraphs. A field's instruction ends with its paragraph, its result may not."""

    styles: dict[str, Style]
    rendered: bool  # the file stores where pages broke when it was last laid out
    _fields: list[bool] = field(default_factory=list)  # per open field: past its separator

    def read(self, node: Node) -> Paragraph:
        """Read one ``w:p``."""
        paragraph = Paragraph()
        self._fields.clear()
        parts: list[str] = []
        weights: list[bool] = []
        style = self.styles.get(attribute(child(node, "pPr", "pStyle"), "val") or "", Style())
        self._walk(node, paragraph, parts, weights, style)
        paragraph.text = "".join(parts)
        paragraph.bold = bool(weights) and all(weights)
        return paragraph

    def _walk(
        self, node: Node, into: Paragraph, parts: list[str], weights: list[bool], style: Style
    ) -> None:
        for item in node:
            name = local(item)
            if not name or name in _UNSEEN:
                continue
            if name == "r":
                self._read_run(item, into, parts, weights, style)
            elif name == "AlternateContent":
                self._choose(item, into, parts, weights, style)
            elif name == "txbxContent":
                into.boxes.append(item)
            elif name == "tbl":
                into.tables.append(item)
            elif name in ("chart", "relIds"):
                into.drawn.append(attribute(item, "id" if name == "chart" else "dm") or "")
            elif name == "t":
                self._say(item.text or "", parts)
            elif name in _CHARS:
                self._say(_CHARS[name], parts)
            elif name == "sym":
                self._say(_symbol(item), parts)
            elif name == "fldChar":
                self._field(attribute(item, "fldCharType"))
            elif name in ("footnoteReference", "endnoteReference"):
                into.notes.append((name.removesuffix("Reference"), attribute(item, "id") or ""))
            elif name in ("br", "lastRenderedPageBreak"):
                self._break(item, into, parts)
            else:
                self._walk(item, into, parts, weights, style)

    def _read_run(
        self, run: Node, into: Paragraph, parts: list[str], weights: list[bool], style: Style
    ) -> None:
        properties = child(run, "rPr")
        own = self.styles.get(attribute(child(properties, "rStyle"), "val") or "", Style())
        hidden = is_on(properties, "vanish")
        if (own.hidden or style.hidden) if hidden is None else hidden:
            for mark in children(run, "fldChar"):
                self._field(attribute(mark, "fldCharType"))
            return
        if is_on(properties, "webHidden") and not parts:
            return
        before = len(parts)
        self._walk(run, into, parts, weights, style)
        if "".join(parts[before:]).strip():
            bold = is_on(properties, "b")
            weights.append((own.bold or style.bold) if bold is None else bold)
            size = attribute(child(properties, "sz"), "val")
            points = int(size) / 2 if size and size.isdecimal() else own.size or style.size
            if points is not None:
                into.size = max(points, into.size or 0)

    def _choose(
        self, node: Node, into: Paragraph, parts: list[str], weights: list[bool], style: Style
    ) -> None:
        """Read one branch of an alternative: the same text box stands in each of them."""
        before = (len(parts), len(into.boxes), len(into.drawn))
        for branch in (*children(node, "Choice"), *children(node, "Fallback")):
            self._walk(branch, into, parts, weights, style)
            if (len(parts), len(into.boxes), len(into.drawn)) != before:
                return

    def _field(self, kind: str | None) -> None:
        if kind == "begin":
            self._fields.append(False)
        elif kind == "separate" and self._fields:
            self._fields[-1] = True
        elif kind == "end" and self._fields:
            self._fields.pop()

    def _say(self, text: str, parts: list[str]) -> None:
        if all(self._fields) and text:
            parts.append(text)

    def _break(self, item: Node, into: Paragraph, parts: list[str]) -> None:
        is_rendered = local(item) == "lastRenderedPageBreak"
        is_page = is_rendered or attribute(item, "type") == "page"
        if is_page and is_rendered == self.rendered:
            if "".join(parts).strip():
                into.breaks_after += 1
            else:
                into.breaks_before += 1
        if not is_rendered and attribute(item, "type") in (None, "textWrapping"):
            self._say("\n", parts)


def _symbol(node: Node) -> str:
    code = int(attribute(node, "char") or "0", 16)
    if 0xF000 <= code <= 0xF0FF:
        font = (attribute(node, "font") or "").casefold()
        return _WINGDINGS.get(code - 0xF000, "") if "wingding" in font else ""
    return chr(code) if code else ""
