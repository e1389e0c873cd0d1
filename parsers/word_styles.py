"""What a Word file's styles and numbering say: heading depth, bold, hidden, list labels."""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass, field

from parsers.packages import Node, attribute, child, children, local

_HEADING = re.compile(r"(?:heading|tiêu đề|đề mục|überschrift|titre)\s*(\d)", re.IGNORECASE)
_OFF = frozenset({"0", "false", "off", "none"})
BULLET = "•"  # the label of an item without a number
_PLACE = re.compile(r"%(\d)")
_LOWER_ROMAN = "lowerRoman"


@dataclass(frozen=True, slots=True, kw_only=True)
class Style:
    """A style with what it inherits. ``level`` is 0 for a title, 1–9 for a heading, else None."""

    name: str = ""
    level: int | None = None
    num_id: str | None = None
    num_level: int = 0
    bold: bool = False
    hidden: bool = False
    size: float | None = None  # points


def is_on(properties: Node | None, name: str) -> bool | None:
    """Read an on/off property such as ``w:b``; None where it is not stated."""
    node = child(properties, name)
    if node is None:
        return None
    return (attribute(node, "val") or "1") not in _OFF


def read_styles(root: Node | None) -> dict[str, Style]:
    """Return every style by id, with the properties of those it is based on."""
    nodes = (
        {attribute(n, "styleId") or "": n for n in children(root, "style")}
        if root is not None
        else {}
    )
    styles: dict[str, Style] = {}
    for style_id in nodes:
        _resolve(style_id, nodes, styles, set())
    return styles


def _resolve(
    style_id: str, nodes: dict[str, Node], styles: dict[str, Style], seen: set[str]
) -> Style:
    if style_id in styles or style_id not in nodes or style_id in seen:
        return styles.get(style_id, Style())
    seen.add(style_id)
    node = nodes[style_id]
    based_on = attribute(child(node, "basedOn"), "val")
    base = _resolve(based_on, nodes, styles, seen) if based_on else Style()
    paragraph, run = child(node, "pPr"), child(node, "rPr")
    name = attribute(child(node, "name"), "val") or style_id
    num_id = attribute(child(paragraph, "numPr", "numId"), "val")
    num_level = attribute(child(paragraph, "numPr", "ilvl"), "val")
    size = attribute(child(run, "sz"), "val")
    bold, hidden = is_on(run, "b"), is_on(run, "vanish")
    style = Style(
        name=name,
        level=_level(name, style_id, attribute(child(paragraph, "outlineLvl"), "val"), base.level),
        num_id=num_id if num_id is not None else base.num_id,
        num_level=int(num_level) if num_level and num_level.isdecimal() else base.num_level,
        bold=base.bold if bold is None else bold,
        hidden=base.hidden if hidden is None else hidden,
        size=int(size) / 2 if size and size.isdecimal() else base.size,
    )
    styles[style_id] = style
    return style


def _level(name: str, style_id: str, outline: str | None, inherited: int | None) -> int | None:
    lowered = name.strip().casefold()
    if lowered in ("title", "tiêu đề", "doc title", "document title") or style_id == "Title":
        return 0
    match = _HEADING.match(lowered) or re.fullmatch(r"[Hh]eading(\d)", style_id)
    if match:
        return int(match.group(1))
    if outline is not None and outline.isdecimal():
        return int(outline) + 1 if int(outline) < 9 else None
    return None if lowered in ("subtitle", "toc heading") else inherited


@dataclass(frozen=True, slots=True)
class _NumberLevel:
    form: str = "decimal"
    text: str = ""
    start: int = 1


@dataclass(slots=True)
class Numbering:
    """Renders list labels ("1.2", "Điều 3.", "•") as Word does, counting as it is asked."""

    _abstract: dict[str, dict[int, _NumberLevel]] = field(default_factory=dict)
    _nums: dict[str, tuple[str, dict[int, int]]] = field(default_factory=dict)
    _counters: dict[str, dict[int, int]] = field(default_factory=lambda: defaultdict(dict))
    _started: set[str] = field(default_factory=set)

    @classmethod
    def read(cls, root: Node | None) -> Numbering:
        """Read numbering.xml, or nothing where the file has none."""
        numbering = cls()
        if root is None:
            return numbering
        for node in children(root, "abstractNum"):
            numbering._abstract[attribute(node, "abstractNumId") or ""] = _read_levels(node)
        for node in children(root, "num"):
            abstract = attribute(child(node, "abstractNumId"), "val") or ""
            starts: dict[int, int] = {}
            for override in children(node, "lvlOverride"):
                level = int(attribute(override, "ilvl") or 0)
                start = attribute(child(override, "startOverride"), "val")
                if start is not None and start.lstrip("-").isdecimal():
                    starts[level] = int(start)
            numbering._nums[attribute(node, "numId") or ""] = (abstract, starts)
        return numbering

    def label(self, num_id: str, level: int) -> str | None:
        """Count one paragraph and return its label; BULLET for a bullet, None for no such list."""
        if num_id == "0" or num_id not in self._nums:
            return None
        abstract, starts = self._nums[num_id]
        levels = self._abstract.get(abstract, {})
        counters = self._counters[abstract]
        if num_id not in self._started:
            self._started.add(num_id)
            for at, start in starts.items():
                counters[at] = start - 1
        current = levels.get(level, _NumberLevel())
        counters[level] = counters.get(level, current.start - 1) + 1
        for deeper in [at for at in counters if at > level]:
            del counters[deeper]
        if current.form == "bullet":
            return BULLET
        if current.form == "none" and "%" not in current.text:
            return current.text.strip()

        def number(match: re.Match[str]) -> str:
            at = int(match.group(1)) - 1
            shown = levels.get(at, _NumberLevel())
            return _format(counters.get(at, shown.start), shown.form)

        return _PLACE.sub(number, current.text).strip()


def _read_levels(node: Node) -> dict[int, _NumberLevel]:
    levels = {}
    for level in children(node, "lvl"):
        form = "decimal"
        for item in level.iter():
            if local(item) == "numFmt":
                form = attribute(item, "val") or form
                break
        start = attribute(child(level, "start"), "val") or "1"
        levels[int(attribute(level, "ilvl") or 0)] = _NumberLevel(
            form=form,
            text=attribute(child(level, "lvlText"), "val") or "",
            start=int(start) if start.lstrip("-").isdecimal() else 1,
        )
    return levels


def _format(number: int, form: str) -> str:
    if form in ("upperRoman", _LOWER_ROMAN):
        roman = to_roman(number)
        return roman.lower() if form == _LOWER_ROMAN else roman
    if form in ("upperLetter", "lowerLetter") and number > 0:
        # Word repeats letters: z, then aa, bb, cc.
        letter = chr(ord("A") + (number - 1) % 26) * ((number - 1) // 26 + 1)
        return letter.lower() if form == "lowerLetter" else letter
    if form == "none":
        return ""
    return f"{number:02d}" if form == "decimalZero" else str(number)


def to_roman(number: int) -> str:
    """Return the upper-case Roman numeral of a number from 1 to 3999, else its digits."""
    if not 0 < number < 4000:
        return str(number)
    out = ""
    for value, sign in zip(
        (1000, 900, 500, 400, 100, 90, 50, 40, 10, 9, 5, 4, 1),
        ("M", "CM", "D", "CD", "C", "XC", "L", "XL", "X", "IX", "V", "IV", "I"),
        strict=True,
    ):
        count, number = divmod(number, value)
        out += sign * count
    return out
