"""Office files for the tests, built part by part, so that their truth is known."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping
from email.message import EmailMessage

from parsers.elements import Parsed, Table

W = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
_R = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_P = "http://schemas.openxmlformats.org/package/2006/relationships"
_SPACES = (
    f'xmlns:w="{W}" xmlns:r="{_R}" '
    'xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006" '
    'xmlns:wps="http://schemas.microsoft.com/office/word/2010/wordprocessingShape" '
    'xmlns:v="urn:schemas-microsoft-com:vml"'
)
STYLES = """
<w:style w:type="paragraph" w:default="1" w:styleId="Normal"><w:name w:val="Normal"/></w:style>
<w:style w:type="paragraph" w:styleId="Tiu"><w:name w:val="Title"/></w:style>
<w:style w:type="paragraph" w:styleId="u1"><w:name w:val="heading 1"/>
  <w:pPr><w:numPr><w:numId w:val="1"/></w:numPr></w:pPr></w:style>
<w:style w:type="paragraph" w:styleId="u2"><w:name w:val="heading 2"/><w:basedOn w:val="u1"/>
  <w:pPr><w:numPr><w:ilvl w:val="1"/><w:numId w:val="1"/></w:numPr></w:pPr></w:style>
<w:style w:type="paragraph" w:styleId="Chuthich"><w:name w:val="caption"/></w:style>
<w:style w:type="paragraph" w:styleId="Mucluc1"><w:name w:val="toc 1"/></w:style>
"""
NUMBERING = """
<w:abstractNum w:abstractNumId="0">
  <w:lvl w:ilvl="0"><w:numFmt w:val="decimal"/><w:lvlText w:val="Điều %1."/></w:lvl>
  <w:lvl w:ilvl="1"><w:numFmt w:val="decimal"/><w:lvlText w:val="%1.%2"/></w:lvl>
</w:abstractNum>
<w:abstractNum w:abstractNumId="1">
  <w:lvl w:ilvl="0"><w:numFmt w:val="bullet"/><w:lvlText w:val="•"/></w:lvl>
  <w:lvl w:ilvl="1"><w:numFmt w:val="lowerLetter"/><w:lvlText w:val="%2)"/></w:lvl>
</w:abstractNum>
<w:num w:numId="1"><w:abstractNumId w:val="0"/></w:num>
<w:num w:numId="2"><w:abstractNumId w:val="1"/></w:num>
"""


def zipped(parts: dict[str, str | bytes]) -> bytes:
    """Return a zip file of these parts."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in parts.items():
            archive.writestr(name, text)
    return out.getvalue()


def docx_file(body: str, *, footnotes: str = "", numbering: str = NUMBERING) -> bytes:
    """Return a .docx with this body, in WordprocessingML without the document element."""
    kinds = {"styles": "styles", "numbering": "numbering", "footnotes": "footnotes"}
    relations = "".join(
        f'<Relationship Id="r{at}" Type="{_R}/{kind}" Target="{name}.xml"/>'
        for at, (name, kind) in enumerate(kinds.items())
    )
    main = f'<Relationship Id="m" Type="{_R}/officeDocument" Target="word/document.xml"/>'
    return zipped(
        {
            "[Content_Types].xml": _CONTENT_TYPES,
            "_rels/.rels": _relations(main),
            "word/_rels/document.xml.rels": _relations(relations),
            "word/document.xml": f"<w:document {_SPACES}><w:body>{body}</w:body></w:document>",
            "word/styles.xml": f"<w:styles {_SPACES}>{STYLES}</w:styles>",
            "word/numbering.xml": f"<w:numbering {_SPACES}>{numbering}</w:numbering>",
            "word/footnotes.xml": f"<w:footnotes {_SPACES}>{footnotes}</w:footnotes>",
        }
    )


# Ours need no content types; LibreOffice does.
_WORD_TYPE = "application/vnd.openxmlformats-officedocument.wordprocessingml"
_CONTENT_TYPES = (
    '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">'
    '<Default Extension="rels" '
    'ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
    '<Default Extension="xml" ContentType="application/xml"/>'
    + "".join(
        f'<Override PartName="/word/{part}.xml" ContentType="{_WORD_TYPE}.{kind}+xml"/>'
        for part, kind in (
            ("document", "document.main"),
            ("styles", "styles"),
            ("numbering", "numbering"),
            ("footnotes", "footnotes"),
        )
    )
    + "</Types>"
)


def _relations(inner: str) -> str:
    return f'<Relationships xmlns="{_P}">{inner}</Relationships>'


def run(text: str, properties: str = "") -> str:
    """Return a run."""
    return f'<w:r><w:rPr>{properties}</w:rPr><w:t xml:space="preserve">{text}</w:t></w:r>'


def para(content: str, *, style: str = "", numbered: tuple[int, int] | None = None) -> str:
    """Return a paragraph of plain text, or of runs when the content is markup."""
    inner = content if content.startswith("<") else run(content)
    marks = f'<w:pStyle w:val="{style}"/>' if style else ""
    if numbered:
        num_id, level = numbered
        marks += f'<w:numPr><w:ilvl w:val="{level}"/><w:numId w:val="{num_id}"/></w:numPr>'
    return f"<w:p><w:pPr>{marks}</w:pPr>{inner}</w:p>"


def bold(text: str) -> str:
    """Return a paragraph whose words are all bold."""
    return para(run(text, "<w:b/>"))


def table(*rows: str) -> str:
    """Return a table of rows."""
    return f"<w:tbl>{''.join(rows)}</w:tbl>"


def row(*cells: str, properties: str = "") -> str:
    """Return a row of cells; a cell that is not markup yet becomes one."""
    inner = "".join(c if c.startswith("<w:tc>") else cell(c) for c in cells)
    return f"<w:tr><w:trPr>{properties}</w:trPr>{inner}</w:tr>"


def cell(content: str, properties: str = "") -> str:
    """Return a cell."""
    inner = content if content.startswith("<") else para(content)
    return f"<w:tc><w:tcPr>{properties}</w:tcPr>{inner}</w:tc>"


ODF = " ".join(
    f'xmlns:{name}="urn:oasis:names:tc:opendocument:xmlns:{name}:1.0"'
    for name in ("office", "text", "table", "style", "drawing", "presentation")
) + (
    ' xmlns:draw="urn:oasis:names:tc:opendocument:xmlns:drawing:1.0"'
    ' xmlns:fo="urn:oasis:names:tc:opendocument:xmlns:xsl-fo-compatible:1.0"'
    ' xmlns:svg="urn:oasis:names:tc:opendocument:xmlns:svg-compatible:1.0"'
    ' xmlns:xlink="http://www.w3.org/1999/xlink"'
)


def odf_file(
    kind: str, body: str, styles: str = "", parts: Mapping[str, str | bytes] | None = None
) -> bytes:
    """Return an OpenDocument file; ``kind`` is text, spreadsheet or presentation."""
    content = (
        f"<office:document-content {ODF}><office:automatic-styles>{styles}"
        f"</office:automatic-styles><office:body><office:{kind}>{body}</office:{kind}>"
        "</office:body></office:document-content>"
    )
    mime = f"application/vnd.oasis.opendocument.{kind}"
    return zipped({"mimetype": mime, "content.xml": content, **(parts or {})})


def epub_file(chapters: dict[str, str], order: list[str]) -> bytes:
    """Return an .epub whose spine names its chapters in this order."""
    items = "".join(f'<item id="{n}" href="{n}.xhtml"/>' for n in chapters)
    spine = "".join(f'<itemref idref="{n}"/>' for n in order)
    book = (
        '<package xmlns="http://www.idpf.org/2007/opf" '
        'xmlns:dc="http://purl.org/dc/elements/1.1/"><metadata><dc:title>Sổ tay</dc:title>'
        "<dc:language>vi</dc:language></metadata><manifest>"
        f'<item id="nav" href="nav.xhtml" properties="nav"/>{items}</manifest>'
        f'<spine><itemref idref="nav"/>{spine}</spine></package>'
    )
    container = '<container><rootfiles><rootfile full-path="OPS/book.opf"/></rootfiles></container>'
    parts: dict[str, str | bytes] = {
        "mimetype": "application/epub+zip",
        "META-INF/container.xml": container,
        "OPS/book.opf": book,
        "OPS/nav.xhtml": "<html><body><ol><li>Contents</li></ol></body></html>",
    }
    for name, inner in chapters.items():
        parts[f"OPS/{name}.xhtml"] = f"<html><body>{inner}</body></html>"
    return zipped(parts)


def said(parsed: Parsed) -> list[tuple[str, int | None, str]]:
    """Return (kind, level, text) of every element but the tables."""
    return [(e.kind.value, e.level, e.text) for e in parsed.elements if e.table is None]


def tables(parsed: Parsed) -> list[Table]:
    """Return the tables of a document."""
    return [e.table for e in parsed.elements if e.table is not None]


def grid(found: Table) -> list[list[str]]:
    """Return a table's texts row by row, spans written out."""
    rows = [["" for _ in range(found.n_cols)] for _ in range(found.n_rows)]
    for each in found.cells:
        for r in range(each.row, each.row + each.row_span):
            for c in range(each.col, each.col + each.col_span):
                rows[r][c] = each.text
    return rows


def letter() -> EmailMessage:
    """Return a short mail with a quote."""
    message = EmailMessage()
    message["Subject"] = "Thông báo giá mới"
    message["From"] = "Phòng Kinh doanh <ban@example.com>"
    message["To"] = "dai-ly@example.com"
    message.set_content("Giá mới từ 01/04.\n\n> Giá cũ bao nhiêu?\n")
    return message


RTF = rb"""{\rtf1\ansi\ansicpg1252{\fonttbl{\f0\fcharset0 Arial;}{\f1\fcharset163 Arial;}}
{\header Company}{\stylesheet{\s1\b heading 1;}}
\pard\s1\b Ph\u237?\b0\par
\pard Gi\'e1 {\v hidden}{\deleted old }m\f1\'fdi{\footnote Note text}.\f0\par
\trowd\clvmgf\cellx1000\cellx2000\cellx3000\pard\intbl Zone\cell Plan\cell Fee\cell\row
\trowd\clvmgf\cellx1000\cellx2000\cellx3000\pard\intbl North\cell Basic\cell 18\cell\row
\trowd\clvmrg\cellx1000\cellx2000\cellx3000\pard\intbl\cell Plus\cell
\pard\intbl\itap2 Min\nestcell 5\nestcell{\*\nesttableprops\trowd\cellx2500\cellx3000\nestrow}
\pard\intbl 27\cell\row
\pard The end\par}"""
