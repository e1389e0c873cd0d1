"""Which parts of a page a reader does not see, or sees on every page of the site."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from lxml.html import HtmlElement

_NEVER_TEXT = frozenset(
    [
        "script",
        "style",
        "template",
        "noscript",
        "head",
        "iframe",
        "object",
        "embed",
        "canvas",
        "audio",
        "video",
        "svg",
        "map",
        "select",
        "datalist",
        "option",
        "button",
        "input",
        "textarea",
        "progress",
        "meter",
    ]
)
_BOILERPLATE_TAGS = frozenset({"nav", "footer"})
_BOILERPLATE_ROLES = frozenset({"navigation", "contentinfo", "banner", "search", "complementary"})
_BOILERPLATE_CLASSES = frozenset(
    {"table-of-contents", "toc", "breadcrumb", "breadcrumbs", "skip-link", "cookie-banner"}
)
_SKIP = re.compile(r"\bskip", re.I)
_CALLOUT = re.compile(r"\b(?:note|admonition|callout|alert|warning|caution|tip|info)\b", re.I)
_HIDDEN_STYLE = re.compile(r"(?:display\s*:\s*none|visibility\s*:\s*(?:hidden|collapse))", re.I)
_MSO_HIDE = re.compile(r"mso-hide\s*:\s*all", re.I)
_CSS_COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
_AT_RULE = re.compile(
    r"@(?!media\s+(?:all|screen))[^{;]*(?:;|\{(?:[^{}]*\{[^{}]*\})*[^{}]*\})", re.I
)
_RULE = re.compile(r"([^{}]+)\{([^{}]*)\}")
_SIMPLE_SELECTOR = re.compile(r"(?P<tag>[a-z][a-z0-9]*)?(?P<sign>[.#])(?P<name>[\w-]+)", re.I)


@dataclass(frozen=True, slots=True)
class Visibility:
    """What the page's own style sheets hide, and whether it marks its main part."""

    hidden_classes: frozenset[tuple[str, str]] = field(default_factory=frozenset)
    hidden_ids: frozenset[str] = field(default_factory=frozenset)
    has_main: bool = False

    @classmethod
    def of(cls, root: HtmlElement) -> Visibility:
        """Read the page's style elements; only selectors of one class or id are understood."""
        classes: set[tuple[str, str]] = set()
        ids: set[str] = set()
        for style in root.iter("style"):
            css = _AT_RULE.sub("", _CSS_COMMENT.sub("", style.text or ""))
            for selectors, body in _RULE.findall(css):
                if not _HIDDEN_STYLE.search(body):
                    continue
                for selector in selectors.split(","):
                    if match := _SIMPLE_SELECTOR.fullmatch(selector.strip()):
                        if match["sign"] == "#":
                            ids.add(match["name"])
                        else:
                            classes.add(((match["tag"] or "").lower(), match["name"]))
        has_main = any(True for _ in root.iter("main", "article"))
        return cls(frozenset(classes), frozenset(ids), has_main)

    def is_hidden(self, node: HtmlElement) -> bool:
        """Whether no reader sees ``node``: scripts, hidden parts, deletions."""
        if node.tag in _NEVER_TEXT or node.tag == "del":
            return True
        get = node.get
        if get("hidden") is not None or (get("aria-hidden") or "").strip().lower() == "true":
            return True
        style = get("style") or ""
        if style and (_HIDDEN_STYLE.search(style) or _MSO_HIDE.search(style)):
            return True
        if self.hidden_ids and get("id") in self.hidden_ids:
            return True
        return bool(self.hidden_classes) and any(
            ("", name) in self.hidden_classes or (node.tag, name) in self.hidden_classes
            for name in (get("class") or "").split()
        )

    def is_boilerplate(self, node: HtmlElement) -> bool:
        """Whether ``node`` is furniture of the site: menus, side columns, footers, banners."""
        role = (node.get("role") or "").strip().lower()
        if node.tag in _BOILERPLATE_TAGS or role in _BOILERPLATE_ROLES:
            return not (role and role.startswith("doc-"))
        classes = node.get("class") or ""
        if classes and not _BOILERPLATE_CLASSES.isdisjoint(classes.lower().split()):
            return True
        if node.tag == "a" and (node.get("href") or "").startswith("#") and _SKIP.search(classes):
            return True
        if node.tag == "aside":
            return role != "note" and not _CALLOUT.search(classes)
        if node.tag == "header" and self.has_main:
            inside = any(True for _ in node.iterancestors("main", "article", "section"))
            has_heading = any(True for _ in node.iter("h1", "main", "article"))
            return not inside and not has_heading
        return False
