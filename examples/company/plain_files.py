"""Writers of text formats: Markdown, HTML, plain text, CSV, TSV, mail. Each returns bytes."""

from __future__ import annotations

import csv
import io
from email import policy
from email.message import EmailMessage
from html import escape

from company.model import LEFT, UP, C, Document, H, L, P, T
from company.statements import dump_yaml

_MENU = (
    "<nav><ul><li><a href='/'>Intranet</a></li><li><a href='/lien-he'>Liên hệ</a></li></ul></nav>"
)
_STYLE = "body{font-family:sans-serif;max-width:50em;margin:2em auto}td,th{border:1px solid #999;padding:.3em}"


def write_markdown(document: Document) -> bytes:
    """GFM, with front matter when the document states its metadata that way."""
    parts = []
    if document.via == "front":
        parts.append(f"---\n{dump_yaml(document.stated).decode()}---")
    for block in document.blocks:
        match block:
            case H():
                parts.append("#" * block.level + " " + block.text)
            case P():
                parts.append(block.text)
            case L():
                marks = [f"{n}." if block.ordered else "-" for n in range(1, len(block.items) + 1)]
                parts.append("\n".join(f"{m} {i}" for m, i in zip(marks, block.items, strict=True)))
            case C():
                parts.append(f"```\n{block.text}\n```")
            case T():
                parts.append(_markdown_table(block))
    return ("\n\n".join(parts) + "\n").encode()


def _markdown_table(table: T) -> str:
    lines = ["| " + " | ".join(row) + " |" for row in table.rows]
    lines.insert(1, "|" + " --- |" * len(table.rows[0]))
    caption = f"**{table.caption}**\n\n" if table.caption else ""
    return caption + "\n".join(lines)


def write_html(document: Document) -> bytes:
    """A page as an intranet serves it: a menu, the article, a footer; spans in its tables."""
    parts = []
    for block in document.blocks:
        match block:
            case H():
                parts.append(f"<h{block.level}>{escape(block.text)}</h{block.level}>")
            case P():
                parts.append(f"<p>{escape(block.text)}</p>")
            case L():
                tag = "ol" if block.ordered else "ul"
                items = "\n".join(f"<li>{escape(item)}</li>" for item in block.items)
                parts.append(f"<{tag}>\n{items}\n</{tag}>")
            case C():
                parts.append(f"<pre><code>{escape(block.text)}</code></pre>")
            case T():
                parts.append(_html_table(block))
    language = document.stated.get("language", "vi")
    body = "\n".join(parts)
    page = (
        f'<!doctype html>\n<html lang="{language}">\n<head><meta charset="utf-8">'
        f"<title>{escape(document.heading)}</title><style>{_STYLE}</style></head>\n<body>\n"
        f"<header>{_MENU}</header>\n<main>\n<article>\n{body}\n</article>\n</main>\n"
        "<script>window.visited = true;</script>\n</body>\n</html>\n"
    )
    return page.encode()


def _html_table(table: T) -> str:
    lines = ["<table>"]
    if table.caption:
        lines.append(f"<caption>{escape(table.caption)}</caption>")
    for number, row in enumerate(table.rows):
        if number == 0:
            lines.append("<thead>")
        cells = []
        for col, text in enumerate(row):
            if text in (LEFT, UP):
                continue
            height, width = table.span(number, col)
            tag = "th" if number < table.header_rows else "td"
            spans = (f' rowspan="{height}"' if height > 1 else "") + (
                f' colspan="{width}"' if width > 1 else ""
            )
            cells.append(f"<{tag}{spans}>{escape(text)}</{tag}>")
        lines.append("<tr>" + "".join(cells) + "</tr>")
        if number == table.header_rows - 1:
            lines.append("</thead>\n<tbody>")
    return "\n".join([*lines, "</tbody>\n</table>"])


def write_text(document: Document) -> bytes:
    """Plain UTF-8 text: headings in a line of their own, the title underlined."""
    parts = []
    for block in document.blocks:
        match block:
            case H(level=1):
                parts.append(f"{block.text}\n{'=' * len(block.text)}")
            case H() | P() | C():
                parts.append(block.text)
            case L():
                parts.append("\n".join(f"- {item}" for item in block.items))
            case T():
                raise ValueError("plain text holds no tables here")
    return ("\n\n".join(parts) + "\n").encode()


def write_delimited(document: Document) -> bytes:
    """The document's one table as CSV, or TSV by its extension; UTF-8, LF."""
    (table,) = document.tables
    out = io.StringIO()
    delimiter = "\t" if document.suffix == "tsv" else ","
    csv.writer(out, delimiter=delimiter, lineterminator="\n").writerows(table.rows)
    return out.getvalue().encode()


def write_mail(document: Document) -> bytes:
    """A single-part message, quoted-printable UTF-8; its subject is the document's heading."""
    message = EmailMessage(policy=policy.SMTP)
    for name, value in document.mail.items():
        message[name] = value
    message["Subject"] = document.heading
    body = "\n\n".join(
        "\n".join(f"- {item}" for item in b.items) if isinstance(b, L) else b.text
        for b in document.blocks[1:]
        if not isinstance(b, T)
    )
    message.set_content(body + "\n", cte="quoted-printable")
    return message.as_bytes()
