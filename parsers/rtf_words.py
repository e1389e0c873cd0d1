"""The words of RTF: tokens, destinations, special characters, and a paragraph being read."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from parsers.elements import Kind
from parsers.text import normalise

TOKEN = re.compile(
    r"\\(?P<word>[a-zA-Z]{1,32})(?P<number>-?\d{1,10})? ?|\\'(?P<hex>[0-9a-fA-F]{2})"
    r"|\\(?P<sign>[^a-zA-Z])|(?P<brace>[{}])|(?P<text>[^\\{}\r\n]+)|[\r\n]+|\\"
)
# Destinations whose text is not the document's, or that repeat what another one says.
SKIPPED = frozenset(
    {"fonttbl", "colortbl", "stylesheet", "info", "pict", "fldinst", "object", "objdata", "upr"}
    | {"header", "headerl", "headerr", "headerf", "footer", "footerl", "footerr", "footerf"}
    | {"nonshppict", "shprslt", "nonesttables", "ftnsep", "ftnsepc", "aftnsep", "annotation"}
    | {"listtable", "listoverridetable", "revtbl", "rsidtbl", "generator", "themedata", "sp"}
    | {"bkmkstart", "bkmkend", "xe", "tc", "atnid", "atnauthor", "pgptbl", "latentstyles"}
)
# Destinations marked as ignorable that are read all the same.
NESTED = "nesttableprops"  # defines a row of a nested table, inside the row around it
KEPT = frozenset({"shpinst", NESTED, "ud", "shptxt"})
SIDE = {"footnote": Kind.NOTE, "shptxt": Kind.TEXT}
LABELS = frozenset({"listtext", "pntext"})
CHARS = {
    "tab": "\t",
    "line": "\n",
    "emdash": "—",
    "endash": "–",
    "lquote": "‘",
    "rquote": "’",
    "ldblquote": "“",
    "rdblquote": "”",
    "bullet": "•",
    "emspace": " ",
    "enspace": " ",
    "~": " ",
    "_": "-",
    "\\": "\\",
    "{": "{",
    "}": "}",
}
CHARSETS = {
    128: "cp932",
    129: "cp949",
    134: "gbk",
    136: "big5",
    161: "cp1253",
    162: "cp1254",
    163: "cp1258",
    177: "cp1255",
    178: "cp1256",
    186: "cp1257",
    204: "cp1251",
    222: "cp874",
    238: "cp1250",
}


@dataclass(frozen=True, slots=True)
class State:
    """What a group inherits and its end restores."""

    skip: bool = False
    side: str = ""  # the destination this group opened: a note, a text box, a label
    bold: bool = False
    unseen: bool = False  # hidden or deleted
    font: int = 0
    fallback: int = 1  # characters that stand for a Unicode one
    depth: int = 0  # of tables
    size: float | None = None
    style: int | None = None
    outline: int | None = None
    centred: bool = False


@dataclass(slots=True)
class Words:
    """A paragraph's words as they come in."""

    parts: list[str] = field(default_factory=list)
    weights: list[bool] = field(default_factory=list)
    label: str | None = None

    def take(self) -> tuple[str, bool, str | None]:
        """Return (normalised text, whether all of it is bold, its label) and begin anew."""
        raw = "".join(self.parts)
        text = normalise(raw.encode("utf-16", "surrogatepass").decode("utf-16", "replace"))
        found = (text, bool(self.weights) and all(self.weights), self.label)
        self.parts, self.weights, self.label = [], [], None
        return found
