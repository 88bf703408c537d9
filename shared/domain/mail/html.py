"""HTML mail to text that keeps its structure: paragraphs, lists, tables, quotes, preformatted text, links.

A scanner of its own rather than html.parser, whose time grows with the square of some broken inputs:
this one looks at every character a constant number of times.
"""

import re
from html import unescape

__all__ = ["html_to_text"]

_NAME = re.compile(r"/?([a-zA-Z][a-zA-Z0-9]{0,20})")
_HREF = re.compile(
    r"""\bhref\s{0,5}=\s{0,5}(?:"([^"]{0,2000})"|'([^']{0,2000})'|([^\s"'>]{1,2000}))""", re.IGNORECASE
)
_SPACES = re.compile(r"[ \t\r\n\f\xa0\u200b]+")
_BLANK_LINES = re.compile(r"\n{3,}")
_HIDDEN = frozenset({"head", "script", "style", "title", "template", "noscript", "svg", "xml"})
_PARAGRAPHS = frozenset(
    {"p", "h1", "h2", "h3", "h4", "h5", "h6", "ul", "ol", "table", "pre", "blockquote", "dl"}
)
_LINES = frozenset(
    {"div", "tr", "li", "dt", "dd", "section", "article", "address", "center", "form", "body", "html"}
)
_CELLS = frozenset({"td", "th"})
_MAX_QUOTE_DEPTH = 20


def html_to_text(html: str) -> str:
    writer = _Writer()
    for text, tag in _tokens(html):
        if text:
            writer.text(text)
        if tag:
            writer.tag(tag)
    return writer.finish()


def _tokens(html: str) -> "list[tuple[str, str]]":
    """Stretches of text, each with the inside of the tag that follows it."""
    tokens: list[tuple[str, str]] = []
    position, size = 0, len(html)
    comment_ends = True
    while position < size:
        start = html.find("<", position)
        while start >= 0 and html[start + 1 : start + 2] not in _TAG_STARTS:
            start = html.find("<", start + 1)
        if start < 0:
            tokens.append((html[position:], ""))
            break
        text = html[position:start]
        end = -1
        if html.startswith("<!--", start) and comment_ends:
            end = html.find("-->", start + 4)
            comment_ends = end >= 0
            end += 2 if comment_ends else 0
        if end < 0:
            end = html.find(">", start)
        if end < 0:
            # No tag can end any more: what is left is a cut-off tag.
            tokens.append((text, ""))
            break
        tokens.append((text, "" if html[start + 1] in "!?" else html[start + 1 : end]))
        position = end + 1
    return tokens


_TAG_STARTS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ/!?")


class _Writer:
    """Builds lines; knows how deep in quotes and preformatted text it is."""

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._line: list[str] = []
        self._hidden = ""
        self._pre = 0
        self._quotes = 0
        self._lists: list[int] = []
        self._links: list[tuple[str, int]] = []
        self._cells = 0

    def text(self, raw: str) -> None:
        if self._hidden:
            return
        text = unescape(raw) if "&" in raw else raw
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

    def tag(self, inside: str) -> None:
        match = _NAME.match(inside)
        if match is None:
            return
        name, closing = match[1].lower(), inside.startswith("/")
        if self._hidden:
            if closing and name == self._hidden:
                self._hidden = ""
            return
        if name in _HIDDEN:
            self._hidden = "" if closing or inside.endswith("/") else name
            return
        self._structure(name, inside, closing=closing)

    def _structure(self, name: str, inside: str, *, closing: bool) -> None:
        if name == "br":
            self._end_line(keep_blank=True)
        elif name == "a":
            self._anchor(inside, closing=closing)
        elif name in _CELLS:
            self._cell(closing=closing)
        elif name == "hr":
            self._end_line()
            self._line.append("-" * 20)
            self._end_line()
        elif name in _PARAGRAPHS:
            self._paragraph(name, closing=closing)
        elif name in _LINES:
            self._end_line()
            self._cells = 0
            if name == "li" and not closing:
                self._line.append(self._bullet())

    def _paragraph(self, name: str, *, closing: bool) -> None:
        self._end_line()
        if not closing:
            self._blank_line()
        step = -1 if closing else 1
        if name == "pre":
            self._pre = max(0, self._pre + step)
        elif name == "blockquote":
            self._quotes = min(max(0, self._quotes + step), _MAX_QUOTE_DEPTH)
        elif name in {"ul", "ol"} and closing:
            self._lists[-1:] = []
        elif name in {"ul", "ol"}:
            self._lists.append(1 if name == "ol" else 0)
        if closing:
            self._blank_line()

    def _bullet(self) -> str:
        indent = "  " * min(len(self._lists) - 1, 10) if self._lists else ""
        if not self._lists or not self._lists[-1]:
            return f"{indent}- "
        self._lists[-1] += 1
        return f"{indent}{self._lists[-1] - 1}. "

    def _cell(self, *, closing: bool) -> None:
        if not closing:
            if self._cells and self._line:
                self._line.append(" | " if not self._line[-1].endswith(" ") else "| ")
            self._cells += 1

    def _anchor(self, inside: str, *, closing: bool) -> None:
        if not closing:
            href = _HREF.search(inside)
            address = unescape(next((group for group in href.groups() if group), "")) if href else ""
            self._links = [(address, len(self._line))]
        elif self._links:
            address, start = self._links.pop()
            shown = "".join(self._line[start:]).strip()
            if address.startswith(("http://", "https://")) and shown and not _same_link(shown, address):
                self._line.append(f" <{address}>")

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
        return "> " * self._quotes

    def finish(self) -> str:
        self._end_line()
        text = _BLANK_LINES.sub("\n\n", "\n".join(self._lines)).strip("\n")
        return text + "\n" if text else ""


def _same_link(shown: str, address: str) -> bool:
    """Whether the link's text already says where it leads."""
    return shown.rstrip("/") in address or address.rstrip("/") in shown
