"""OpenDocument's words: styles, paragraphs with their notes and boxes, list numbers."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from parsers.packages import Node, attribute, child, children, local
from parsers.word_styles import to_roman

# Removed text, remarks and layout: nothing of these is in the text.
_UNSEEN = frozenset(
    {"annotation", "annotation-end", "tracked-changes", "change", "change-start", "change-end"}
    | {"bookmark", "reference-mark", "ruby-text", "note-citation", "hidden-text", "title", "desc"}
)


@dataclass(frozen=True, slots=True, kw_only=True)
class OdfStyle:
    """A style with what it inherits."""

    names: tuple[str, ...] = ()  # its own name and those of its ancestors, decoded
    bold: bool = False
    hidden: bool = False
    centred: bool = False
    size: float | None = None
    list_style: str | None = None
    properties: tuple[Node, ...] = ()


@dataclass(slots=True)
class OdfStyles:
    """All styles of a document by (family, name), read when asked for."""

    _nodes: dict[tuple[str, str], Node] = field(default_factory=dict)
    _known: dict[tuple[str, str], OdfStyle] = field(default_factory=dict)
    lists: dict[str, dict[int, Node]] = field(default_factory=dict)
    outline: dict[int, Node] = field(default_factory=dict)

    @classmethod
    def read(cls, roots: Iterable[Node]) -> OdfStyles:
        """Collect the styles of content.xml and styles.xml, the first of a name winning."""
        styles = cls()
        for root in roots:
            for group in children(root, "automatic-styles", "styles"):
                for node in children(group):
                    name = attribute(node, "name") or ""
                    if local(node) == "style":
                        styles._nodes.setdefault((attribute(node, "family") or "", name), node)
                    elif local(node) == "list-style":
                        styles.lists.setdefault(name, _levels(node))
                    elif local(node) == "outline-style" and not styles.outline:
                        styles.outline = _levels(node)
        return styles

    def get(self, family: str, name: str | None, depth: int = 0) -> OdfStyle:
        """Return a style of a family ("paragraph", "text", "table", …)."""
        key = (family, name or "")
        if key in self._known:
            return self._known[key]
        node = self._nodes.get(key)
        if node is None or depth > 50:
            return OdfStyle(names=(_decoded(name or ""),))
        base = self.get(family, attribute(node, "parent-style-name"), depth + 1)
        text, paragraph = child(node, "text-properties"), child(node, "paragraph-properties")
        weight, display = attribute(text, "font-weight"), attribute(text, "display")
        align, size = attribute(paragraph, "text-align"), attribute(text, "font-size")
        own = tuple(filter(None, (_decoded(name or ""), attribute(node, "display-name"))))
        style = OdfStyle(
            names=(*own, *base.names),
            bold=base.bold if weight is None else weight in ("bold", "600", "700", "800", "900"),
            hidden=base.hidden if display is None else display == "none",
            centred=base.centred if align is None else align == "center",
            size=points(size) if size and size.endswith("pt") else base.size,
            list_style=attribute(node, "list-style-name") or base.list_style,
            properties=(*children(node), *base.properties),
        )
        self._known[key] = style
        return style


def _levels(node: Node) -> dict[int, Node]:
    return {int(attribute(n, "level") or 1): n for n in children(node)}


def _decoded(name: str) -> str:
    return name.replace("_20_", " ")


def points(length: str | None) -> float | None:
    """Read a length such as "2.5cm" in points; None where it has no unit that is known."""
    units = {"pt": 1.0, "cm": 72 / 2.54, "mm": 72 / 25.4, "in": 72.0, "px": 0.75}
    if length and length[-2:] in units:
        try:
            return float(length[:-2]) * units[length[-2:]]
        except ValueError:
            return None
    return None


@dataclass(slots=True)
class OdfParagraph:
    """A paragraph as read; ``text`` raw, not normalised."""

    text: str = ""
    bold: bool = False
    boxes: list[Node] = field(default_factory=list)  # draw:frame and the like, in order
    notes: list[Node] = field(default_factory=list)  # text:note-body
    breaks: int = 0  # soft page breaks


def read_paragraph(node: Node, styles: OdfStyles) -> OdfParagraph:
    """Read a ``text:p`` or ``text:h``: what is seen of it, and what hangs on it."""
    paragraph = OdfParagraph()
    style = styles.get("paragraph", attribute(node, "style-name"))
    parts: list[str] = []
    weights: list[bool] = []
    _walk(node, paragraph, parts, weights, style, styles)
    paragraph.text = "".join(parts)
    paragraph.bold = bool(weights) and all(weights)
    return paragraph


def _walk(
    node: Node,
    into: OdfParagraph,
    parts: list[str],
    weights: list[bool],
    style: OdfStyle,
    styles: OdfStyles,
) -> None:
    def say(text: str | None) -> None:
        if text and not style.hidden:
            parts.append(" ".join(text.replace("\t", " ").replace("\n", " ").split(" ")))
            if text.strip():
                weights.append(style.bold)

    say(node.text)
    for item in node:
        name = local(item)
        if name == "s":
            parts.append(" " * int(attribute(item, "c") or 1))
        elif name in ("tab", "line-break"):
            parts.append("\t" if name == "tab" else "\n")
        elif name == "soft-page-break":
            into.breaks += 1
        elif name == "note":
            body = child(item, "note-body")
            if body is not None:
                into.notes.append(body)
        elif name in ("frame", "text-box", "custom-shape", "g", "table"):
            into.boxes.append(item)
        elif name == "span":
            own = styles.get("text", attribute(item, "style-name"))
            inner = OdfStyle(
                bold=own.bold or (style.bold and not _says_normal(own)),
                hidden=own.hidden or style.hidden,
            )
            _walk(item, into, parts, weights, inner, styles)
        elif name and name not in _UNSEEN:
            _walk(item, into, parts, weights, style, styles)
        say(item.tail)


def _says_normal(style: OdfStyle) -> bool:
    return any(attribute(node, "font-weight") == "normal" for node in style.properties)


@dataclass(slots=True)
class OdfCounter:
    """Counts the items of one list style and renders their labels."""

    levels: dict[int, Node]
    _counts: dict[int, int] = field(default_factory=dict)

    def label(self, level: int, start: str | None = None) -> str:
        """Count one item at ``level`` (from 1) and return its label; empty for a bullet."""
        node = self.levels.get(level)
        first = start or attribute(node, "start-value") or "1"
        begin = int(first) if first.isdecimal() else 1
        if start is not None or level not in self._counts:
            self._counts[level] = begin - 1
        self._counts[level] += 1
        for deeper in [at for at in self._counts if at > level]:
            del self._counts[deeper]
        if node is None or not attribute(node, "num-format"):
            return ""
        shown = int(attribute(node, "display-levels") or 1)
        numbers = [
            _numeral(self._counts.get(at, 1), attribute(self.levels.get(at), "num-format") or "1")
            for at in range(max(1, level - shown + 1), level + 1)
        ]
        prefix, suffix = attribute(node, "num-prefix") or "", attribute(node, "num-suffix") or ""
        return f"{prefix}{'.'.join(numbers)}{suffix}".strip()


def _numeral(number: int, form: str) -> str:
    if form in ("i", "I"):
        roman = to_roman(number)
        return roman if form == "I" else roman.lower()
    if form in ("a", "A") and number > 0:
        letter = chr(ord(form) + (number - 1) % 26)
        return letter * ((number - 1) // 26 + 1)
    return str(number)
