"""Convert HTML mail to text: paragraphs, lists, tables, quotes, preformatted text and links."""

import re
from collections import Counter
from collections.abc import Iterator
from html import unescape
from typing import NamedTuple

from selectolax.lexbor import LexborHTMLParser, LexborNode

from shared.mail.html_visibility import Visibility

_TAG = re.compile(r"<(/?)([a-zA-Z][a-zA-Z0-9]{0,20})([^<>]*)>")
_SPACES = re.compile(r"[ \t\r\n\f\xa0\u200b]+")
_BLANK_LINES = re.compile(r"\n{3,}")
_WORDS = re.compile(r"(?:\b[^\W\d_]{1,40}[\s,;:']{1,3}){2}[^\W\d_]")  # Bounded, because comments are hostile.
_LEFT_BY_PROGRAMS = re.compile(r"\s*(?:\[|/?\*|<|converted from\b|begin\b|end\b|start\b)", re.IGNORECASE)
_NO_TEXT = frozenset(
    {"-comment", "-document", "-doctype", "head", "script", "style", "title", "svg", "xml"}
)  # fmt: skip
_PARAGRAPHS = frozenset(
    {"p", "h1", "h2", "h3", "h4", "h5", "h6", "ul", "ol", "table", "pre", "blockquote", "dl"}
)
_LINES = frozenset(
    {"div", "tr", "li", "dt", "dd", "section", "article", "address", "center", "form", "body", "html"}
)
# Void elements, and elements that the next one of their kind closes. They do not nest.
_NOT_NESTED = frozenset(
    {"br", "hr", "img", "input", "link", "meta", "col", "area", "base", "wbr", "source", "p", "li", "dt",
     "dd", "td", "th", "tr", "tbody", "thead", "tfoot", "colgroup", "option", "html", "head", "body"}
)  # fmt: skip
_UNSHOWN = frozenset(
    {"iframe", "object", "audio", "video", "canvas", "dialog", "datalist", "noframes", "noembed", "applet",
     "template", "noscript"}
)  # fmt: skip
"""Elements whose text replaces hidden content, or is visible only on request."""
_EMBEDDED = re.compile(r"""=\s?(?:"data:[^"<>]{200,}"|'data:[^'<>]{200,}')""")
_MAY_HIDE = re.compile(r"style|hidden|class\s*=|colou?r|popover", re.IGNORECASE)
_MAX_HIDDEN = 20_000
_MAX_QUOTE_DEPTH = 20
_MAX_DEPTH = 600
_MAX_TAG_LENGTH = 20_000


class HtmlText(NamedTuple):
    text: str
    hidden: str = ""
    """Text that a reader of the mail cannot see. It is not in `text`."""


def html_to_text(html: str) -> HtmlText:
    html = _EMBEDDED.sub('=""', html)
    if _is_too_deep(html):
        text = _text_without_tags(html)
        return HtmlText("", text) if _MAY_HIDE.search(html) else HtmlText(text)
    tree = LexborHTMLParser(html)
    writer, visibility, hidden = _Writer(), Visibility(tree), _HiddenText()
    for node, tag, step in _walk(tree):
        if step == "close":
            visibility.close()
            writer.close(tag)
        elif step == "open":
            visibility.open(node)
            writer.open(tag, node)
        elif step == "text" and visibility.shows:
            writer.text(node.text_content or "")
        else:
            hidden.add(node.text_content or node.text() or node.comment_content or "")
    return HtmlText(writer.finish(), hidden.text)


class _HiddenText:
    def __init__(self) -> None:
        self._pieces: list[str] = []
        self._size = 0

    def add(self, text: str) -> None:
        plain = " ".join(text.split())[:_MAX_HIDDEN]
        if plain and self._size < _MAX_HIDDEN:
            self._pieces.append(plain)
            self._size += len(plain)

    @property
    def text(self) -> str:
        return "\n".join(self._pieces)[:_MAX_HIDDEN]


def _is_too_deep(html: str) -> bool:
    """Return whether deep tags or many attributes would make Lexbor take quadratic time."""
    if html.count("<") <= _MAX_DEPTH and len(html) <= _MAX_TAG_LENGTH:
        return False
    unclosed: Counter[str] = Counter()
    depth = 0
    for closing, raw_name, rest in _TAG.findall(html):
        if len(rest) > _MAX_TAG_LENGTH:
            return True
        name = raw_name.lower()
        if name in _NOT_NESTED:
            continue
        # A closing tag closes only an open element of its name. Other closing tags do not change the depth.
        step = 1 if not closing else -1 if unclosed[name] else 0
        unclosed[name] += step
        depth += step
        if depth > _MAX_DEPTH:
            return True
    # Lexbor may accept a tag without an end, or with a "<" inside, that the pattern above does not match.
    return any(len(piece) > _MAX_TAG_LENGTH for piece in html.split(">"))


def _text_without_tags(html: str) -> str:
    writer = _Writer()
    for line in _TAG.sub("\n", html).splitlines():
        writer.text(unescape(line))
        writer.close("div")
    return writer.finish()


def _walk(tree: LexborHTMLParser) -> Iterator[tuple[LexborNode, str, str]]:
    """Yield every text and element, and whether it opens, closes or is hidden, without recursion."""
    node = tree.root
    opened: list[str] = []
    while node is not None:
        tag = node.tag or ""
        if tag == "-text":
            yield node, tag, "text"
        elif tag == "-comment":
            remark = node.comment_content or ""  # Words, not a condition or a mark of a mail program.
            if _WORDS.search(remark) and not _LEFT_BY_PROGRAMS.match(remark):
                yield node, tag, "hidden"
        elif tag in _UNSHOWN:
            yield node, tag, "hidden"
        elif tag not in _NO_TEXT:
            yield node, tag, "open"
            opened.append(tag)
            if (child := node.first_child) is not None:
                node = child
                continue
            yield node, opened.pop(), "close"
        while node is not None and (sibling := node.next) is None:
            node = node.parent
            if opened and node is not None:
                yield node, opened.pop(), "close"
        node = sibling if node is not None else None


class _Writer:
    """Write lines with the current depth of quotes and preformatted text."""

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._line: list[str] = []
        self._pre = 0
        self._quotes = 0
        self._lists: list[int] = []
        self._links: list[tuple[str, int]] = []
        self._cells = 0

    def text(self, text: str) -> None:
        if self._pre:
            first, *rest = text.replace("\r\n", "\n").split("\n")
            self._line.append(first)
            for line in rest:
                self._end_line(keep_blank=True)
                self._line.append(line)
            return
        text = _SPACES.sub(" ", text)
        if text == " " and not self._line:
            return
        if text.startswith(" ") and (not self._line or self._line[-1].endswith(" ")):
            text = text[1:]
        if text:
            self._line.append(text)

    def open(self, name: str, node: LexborNode) -> None:
        if name == "br":
            self._end_line(keep_blank=True)
        elif name == "a":
            self._links = [(node.attributes.get("href") or "", len(self._line))]
        elif name in {"td", "th"}:
            if self._cells and self._line:
                self._line.append(" | " if not self._line[-1].endswith(" ") else "| ")
            self._cells += 1
        elif name == "hr":
            self._end_line()
            self._line.append("-" * 20)
            self._end_line()
        elif name in _PARAGRAPHS:
            self._end_line()
            self._blank_line()
            self._nest(name, 1)
        elif name in _LINES:
            self._end_line()
            self._cells = 0
            if name == "li":
                self._line.append(self._bullet())

    def close(self, name: str) -> None:
        if name == "a" and self._links:
            address, start = self._links.pop()
            label = "".join(self._line[start:]).strip()
            is_its_address = label.rstrip("/") in address or address.rstrip("/") in label
            if address.startswith(("http://", "https://")) and label and not is_its_address:
                self._line.append(f" <{address}>")
        elif name in _PARAGRAPHS:
            self._end_line()
            self._nest(name, -1)
            self._blank_line()
        elif name in _LINES:
            self._end_line()
            self._cells = 0

    def _nest(self, name: str, step: int) -> None:
        if name == "pre":
            self._pre += step
        elif name == "blockquote":
            self._quotes += step
        elif name in {"ul", "ol"} and step > 0:
            self._lists.append(1 if name == "ol" else 0)
        elif name in {"ul", "ol"}:
            self._lists.pop()

    def _bullet(self) -> str:
        number = self._lists[-1] if self._lists else 0
        if number:
            self._lists[-1] += 1
        return "  " * min(max(len(self._lists) - 1, 0), 10) + (f"{number}. " if number else "- ")

    def _end_line(self, *, keep_blank: bool = False) -> None:
        text = "".join(self._line)
        self._line.clear()
        self._links.clear()
        text = text.rstrip() if self._pre else text.strip(" ") if not text.startswith("  ") else text.rstrip()
        if text or keep_blank:
            self._lines.append(self._prefix() + text if text else self._prefix().rstrip())

    def _blank_line(self) -> None:
        if self._lines and self._lines[-1].strip("> "):
            self._lines.append(self._prefix().rstrip())

    def _prefix(self) -> str:
        return "> " * min(self._quotes, _MAX_QUOTE_DEPTH)

    def finish(self) -> str:
        self._end_line()
        text = _BLANK_LINES.sub("\n\n", "\n".join(self._lines)).strip("\n")
        return text + "\n" if text else ""
