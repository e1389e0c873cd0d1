"""The page docs/examples.md: which documents there are, who reads them and when."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from company.model import TODAY, Document
from company.questions import Question
from company.statements import effective, readers

_WAYS = {"front": "front matter", "sidecar": "sidecar", "manifest": "manifest", "": "folder"}


def write_catalogue(documents: Sequence[Document], questions: Sequence[Question]) -> str:
    """Markdown with a table of the documents and the number of golden questions by tag."""
    lines = [
        "# The example set",
        "",
        "Two fictional companies share one database: **Acme** (tenant `acme`) sells point-of-sale",
        "machines and the payment service AcmePay, **Globex** (tenant `globex`) ships containers.",
        "`make demo` indexes both. The documents, their facts and this page are written by",
        "`python examples/make_examples.py`; what they say is known in `examples/company/`. Every",
        "run writes the same bytes, and a test compares them with what is committed. Nobody and",
        "nothing in them is real.",
        "",
        f"The stories are told on {TODAY}: the leave policy of 2026 and the price list of November",
        "2026 are in force, the price list of October has expired, the price list of December and",
        f"the leave policy of 2027 lie ahead. In another year, ask with `--as-of {TODAY}`.",
    ]
    for tenant in ("acme", "globex"):
        lines += [
            "",
            f"## {tenant}",
            "",
            "| document | what it is | language | who reads it | valid from | valid to | stated by |",
            "| --- | --- | --- | --- | --- | --- | --- |",
        ]
        lines += [_row(document) for document in documents if document.tenant == tenant]
    formats = Counter(document.suffix for document in documents)
    listed = ", ".join(f"{name} {count}" for name, count in sorted(formats.items()))
    tags = Counter(tag for question in questions for tag in question.tags)
    lines += [
        "",
        f"{len(documents)} documents by format: {listed}.",
        "",
        "`stated by` names where the document's own metadata stands; keys that it does not state",
        "come from the `_meta.yaml` of its folder. A document that is read by nobody has no ACL",
        "anywhere: it is indexed, and the run says that nobody can find it.",
        "",
        "## What to look for",
        "",
        "- The two notices on working hours contradict each other, and the old one was never",
        "  withdrawn: both are found today, with their dates.",
        "- The sheet of salaries and the annex of employee E042 (`employee: E042`) are for human",
        "  resources alone. The sheet's folder would show it to all staff; its sidecar says otherwise.",
        "- `ERR_4021` means one thing at Acme and another at Globex.",
        "- The spare parts (150 rows) and the sea freight rates (128 rows over several pages) are",
        "  too long for one chunk; the warranty terms, the refund policy, the travel rules, the price",
        "  lists and the salaries have merged cells.",
        "",
        "## Golden questions",
        "",
        f"`examples/golden.jsonl` holds {len(questions)} questions, one JSON object a line: `id`,",
        "`query`, `language`, `tags`, `tenant`, `principals`, `as_of`, `expected` (a list of `uri` and",
        "`quote`, and for a table cell also `row`, `col` and `value`) and, where it matters,",
        "`must_not`, the documents that this asker must not get on that day. A quote stands verbatim",
        "in its document, and for a cell in that row of the table alone. An empty `expected` means",
        "that nothing answers the question for this asker.",
        "",
        "| tag | questions |",
        "| --- | --- |",
        *(f"| {tag} | {count} |" for tag, count in sorted(tags.items())),
        "",
        "`examples/facts.json` lists, for each document, who may read it, every table cell with its",
        "row label and column headers, and the sentences that the questions ask for.",
        "`examples/demo_questions.json` holds the stories that `make demo` tells.",
        "",
        "## The font of the PDF files",
        "",
        "They embed the letters that they use of Roboto (Apache License 2.0), taken from the PyPI",
        "package `font-roboto`. Only the script needs the package.",
        "",
    ]
    return "\n".join(lines)


def _row(document: Document) -> str:
    stated = effective(document)
    who = ", ".join(f"`{principal}`" for principal in readers(document)) or "nobody"
    way = _WAYS[document.via] if stated else "nowhere"
    cells = (
        f"`{document.uri}`",
        stated.get("title") or document.heading,
        stated.get("language", ""),
        who,
        stated.get("valid_from", ""),
        stated.get("valid_to", ""),
        way,
    )
    return "| " + " | ".join(cells) + " |"
