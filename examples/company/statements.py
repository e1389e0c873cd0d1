"""What is stated about the documents, and where: folders, sidecars, front matter, manifests."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from datetime import date
from typing import Any

import yaml

from company.model import Document

FOLDERS: Mapping[tuple[str, str], Mapping[str, Any]] = {
    ("acme", "hr"): {"collection": "nhan-su", "acl": ["role:staff"], "language": "vi"},
    ("acme", "support"): {
        "collection": "ho-tro",
        "acl": ["role:support", "role:staff"],
        "valid_from": "2026-01-15",
        "language": "vi",
    },
    ("acme", "legal"): {"collection": "phap-che", "acl": []},  # nobody, unless stated nearer
    ("globex", "people"): {"collection": "people", "acl": ["role:staff"], "language": "en"},
}


def effective(document: Document) -> dict[str, Any]:
    """What holds for a document: for each key its own statement, else its folder's."""
    folder = FOLDERS.get((document.tenant, document.folder), {})
    return {**folder, **document.stated}


def readers(document: Document) -> tuple[str, ...]:
    """The principals that may read a document; none means nobody."""
    return tuple(effective(document).get("acl", ()))


def is_visible(document: Document, tenant: str, principals: Iterable[str], day: date) -> bool:
    """Whether an asker finds the document on a day: tenant, ACL and validity together."""
    stated = effective(document)
    first, last = stated.get("valid_from", "0001-01-01"), stated.get("valid_to", "9999-12-31")
    return (
        document.tenant == tenant
        and bool(set(principals) & set(readers(document)))
        and first <= day.isoformat() <= last
    )


def metadata_files(documents: Iterable[Document]) -> dict[str, bytes]:
    """The files that state metadata beside the documents, by path below ``documents/``."""
    files = {
        f"{tenant}/{folder}/_meta.yaml": dump_yaml(stated)
        for (tenant, folder), stated in FOLDERS.items()
    }
    manifests: dict[str, list[str]] = {}
    for document in documents:
        if document.via == "sidecar":
            path = f"{document.tenant}/{document.uri}.meta.yaml"
            files[path] = dump_yaml(document.stated)
        elif document.via == "manifest":
            entry = {"uri": document.uri, **document.stated}
            line = json.dumps(entry, ensure_ascii=False)
            manifests.setdefault(document.tenant, []).append(line)
    for tenant, lines in manifests.items():
        files[f"{tenant}/manifest.jsonl"] = ("\n".join(lines) + "\n").encode()
    return files


def dump_yaml(stated: Mapping[str, Any]) -> bytes:
    """YAML as a person would write it: keys in their order, days unquoted."""
    values = {
        key: date.fromisoformat(value) if key in ("valid_from", "valid_to") else value
        for key, value in stated.items()
    }
    text: str = yaml.safe_dump(values, allow_unicode=True, sort_keys=False)
    return text.encode()
