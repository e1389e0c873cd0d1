"""Markdown source put right before it is parsed: front matter, containers, tables that break."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

_FRONT_MATTER = re.compile(
    r"\A\ufeff?---[ \t]*\n(?P<body>.*?)^(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.S | re.M
)
_FRONT_KEY = re.compile(r"^[\w\"'][\w .\"'-]*:(?:\s|$)", re.MULTILINE)
_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})")
_DELIMITER_ROW = re.compile(r"^\s*\|?\s*:?-+:?\s*(?:\|\s*:?-+:?\s*)*\|?\s*$")
_CELL_BREAK = re.compile(r"(?<!\\)\|")
_CODE_SPAN = re.compile(r"(?<!`)(`+)(?!`)(.+?)(?<!`)\1(?!`)")
# mkdocs: !!! note "Title", ??? tip, === "Tab". The content below is indented by four spaces.
_INDENTED = re.compile(
    r"^(\s*)(?:(?:!!!|\?\?\?\+?)\s+([\w-]+)[^\"\n]*|===[!+]?\s*)(?:\"(.*)\")?\s*$"
)
# pandoc, VuePress, Docusaurus: :::note[Title] or ::: tip Title, closed by :::
_COLON_OPEN = re.compile(r"^\s*:{3,}\s*\{?\.?([\w-]+)[^}\[\n]*?\}?(?:\[(.*)\]|\s+(.*))?\s*$")
_COLON_CLOSE = re.compile(r"^\s*:{3,}\s*$")
_ALERT = re.compile(r"^(\s*(?:>\s*)+)\[!(\w+)\][+-]?\s*(.*)$")
_TABLE_OPEN = re.compile(r"^ {0,3}<table[\s>]", re.IGNORECASE)
_TABLE_TAG = re.compile(r"<(/?)table[\s>]", re.IGNORECASE)
_MDX = re.compile(r"^(?:import|export)\s.+(?:from\s+['\"].+['\"];?|\{|=).*$")


def without_front_matter(text: str) -> str:
    """Return ``text`` without a leading block of YAML between ``---`` lines, if it has one."""
    match = _FRONT_MATTER.match(text)
    if match is None:
        return text
    body = match.group("body")
    is_yaml = not body.strip() or _FRONT_KEY.search(body) is not None
    return text[match.end() :] if is_yaml else text


def repaired(text: str) -> str:
    """Return Markdown in which containers are plain paragraphs and no table loses a cell.

    Titles of admonitions and tabs become paragraphs before their content; blank lines within an
    HTML table go, since they would end it; bars within code or beyond a table's columns are
    escaped, since GFM drops what they would cut off. Code fences are left alone.
    """
    lines = list(_html_tables(_containers(text.split("\n"))))
    return "\n".join(_pipe_tables(lines))


def _outside_fences(lines: Sequence[str]) -> Iterator[tuple[str, bool]]:
    """Yield each line and whether it is prose, not part of a code fence."""
    fence = ""
    for line in lines:
        match = _FENCE.match(line)
        if fence:
            yield line, False
            if match and match.group(1).startswith(fence) and not line.strip().strip(fence[0]):
                fence = ""
        elif match:
            fence = match.group(1)
            yield line, False
        else:
            yield line, True


def _containers(lines: Sequence[str]) -> list[str]:
    out: list[str] = []
    open_indents: list[int] = []
    colons = 0
    fence = ""
    for raw in lines:
        indent = len(raw) - len(raw.lstrip(" "))
        while open_indents and raw.strip() and indent < open_indents[-1] + 4:
            open_indents.pop()
        line = raw[4 * len(open_indents) :] if raw.strip() else ""
        match = _FENCE.match(line)
        if fence:
            if match and match.group(1).startswith(fence) and not line.strip().strip(fence[0]):
                fence = ""
        elif match:
            fence = match.group(1)
        elif opened := _INDENTED.match(line):
            title = opened[3] if opened[3] is not None else (opened[2] or "").capitalize()
            if title or opened[2]:
                out += ["", f"{opened[1]}{title}", ""]
                open_indents.append(len(opened[1]) + 4 * len(open_indents))
                continue
        elif (opened := _COLON_OPEN.match(line)) and not _COLON_CLOSE.match(line):
            out += ["", opened[2] or (opened[3] or "").strip() or opened[1].capitalize(), ""]
            colons += 1
            continue
        elif colons and _COLON_CLOSE.match(line):
            colons -= 1
            out.append("")
            continue
        elif alert := _ALERT.match(line):
            title = alert[3] or alert[2].capitalize()
            out += [f"{alert[1]}{title}", alert[1].rstrip()]
            continue
        elif _MDX.match(line) and (not out or not out[-1].strip() or _MDX.match(out[-1])):
            out.append("")
            continue
        out.append(line)
    return out


def _html_tables(lines: Sequence[str]) -> Iterator[str]:
    """Drop blank lines within an HTML table, and close the block after it."""
    depth = 0
    for line, is_prose in _outside_fences(lines):
        if depth == 0 and not (is_prose and _TABLE_OPEN.match(line)):
            yield line
            continue
        tags = _TABLE_TAG.findall(line)
        depth += sum(-1 if closing else 1 for closing in tags)
        if line.strip():
            yield line.lstrip()
        if depth <= 0:
            depth = 0
            yield ""


def _pipe_tables(lines: Sequence[str]) -> Iterator[str]:
    columns = 0
    marked = list(_outside_fences(lines))
    for number, (line, is_prose) in enumerate(marked):
        if not is_prose or not line.strip():
            columns = 0
        elif columns:
            yield _fitted(line, columns)
            continue
        elif "|" in line and number + 1 < len(marked):
            following = marked[number + 1][0]
            if "-" in following and _DELIMITER_ROW.match(following):
                width = len(_CELL_BREAK.findall(following.strip().strip("|"))) + 1
                head = _fitted(line, width)
                columns = width if _width(head) == width else 0
                yield head
                continue
        yield line


def _width(line: str) -> int:
    bare = line.strip()
    inner = bare[1:] if bare.startswith("|") else bare
    if inner.endswith("|") and not inner.endswith("\\|"):
        inner = inner[:-1]
    return len(_CELL_BREAK.findall(inner)) + 1


def _fitted(line: str, columns: int) -> str:
    """Escape bars in code spans, then those past the last column, if a row has too many cells."""
    if _width(line) <= columns or _DELIMITER_ROW.match(line):
        return line
    line = _CODE_SPAN.sub(lambda match: _CELL_BREAK.sub(r"\\|", match.group()), line)
    if _width(line) <= columns:
        return line
    is_framed = line.lstrip().startswith("|")
    ends = line.rstrip().endswith("|") and not line.rstrip().endswith("\\|")
    breaks = [match.start() for match in _CELL_BREAK.finditer(line.rstrip())]
    keep = columns + (1 if is_framed else 0) - 1
    extra = breaks[keep : -1 if ends else None]
    for position in reversed(extra):
        line = f"{line[:position]}\\{line[position:]}"
    return line
