"""HTML mail to text that keeps its structure: paragraphs, lists, tables, quotes, preformatted text, links."""

import re
from collections import Counter
from collections.abc import Iterator
from functools import lru_cache
from html import unescape
from typing import NamedTuple

from selectolax.lexbor import LexborHTMLParser, LexborNode, SelectolaxError

_HIDES = re.compile(
    r"display\s*:\s*none|visibility\s*:\s*(?:hidden|collapse)|mso-hide\s*:\s*all"
    r"|(?<![-\w])(?:font-size|max-height|max-width|height|width|opacity|line-height)\s*:\s*0*(?:\.0+)?"
    r"\s*(?:px|pt|em|rem|ex|%|mm|cm|in|vh|vw)?\s*(?:!\s*important\s*)?(?:;|$)"
    r"|(?:text-indent|left|top|right|margin-left|margin-top)\s*:\s*-\d{3,}"
    r"|(?<![-\w])font-size\s*:\s*(?:0?\.\d{1,4}|1)\s*(?:px|pt)|(?<![-\w])color\s*:\s*transparent"
    r"|clip\s*:\s*rect\(\s*[01](?:px)?[\s,)]|clip-path\s*:\s*inset\(\s*(?:50|100)%"
    r"|transform\s*:\s*scale\(\s*0\s*[,)]",
    re.IGNORECASE,
)
# A box without height still shows what overflows it.
_BOX = re.compile(r"(?<![-\w])(?:max-)?(?:height|width|line-height)\s*:", re.IGNORECASE)
_CLIPPED = re.compile(r"overflow(?:-[xy])?\s*:\s*(?:hidden|clip)", re.IGNORECASE)
_COLOUR = re.compile(r"(?<![-\w])color\s*:\s*([^;]{1,60})", re.IGNORECASE)
_BACKGROUND = re.compile(r"(?<![-\w])background(?:-color)?\s*:\s*([^;]{1,200})", re.IGNORECASE)
_HEX = re.compile(r"#([0-9a-f]{3,8})\b", re.IGNORECASE)
_RGB = re.compile(r"rgba?\(\s*(\d{1,3})[\s,]+(\d{1,3})[\s,]+(\d{1,3})", re.IGNORECASE)
_RULE = re.compile(r"([^{}@]{1,500})\{([^{}]{0,2000})\}")
_NAMES = {"white": (255, 255, 255), "black": (0, 0, 0), "snow": (255, 250, 250), "ivory": (255, 255, 240)}
_WHITE = (255, 255, 255)
_SAME_SHADE = 12
_MAX_RULES = 200
_SHORT_HEX = 4

Colour = tuple[int, int, int]


class _Style(NamedTuple):
    """What an element says of itself: most say nothing, and have none."""

    hides: bool = False
    colour: Colour | None = None
    background: Colour | None = None


class _Layer(NamedTuple):
    """The colours in force inside an element, and whether text in them can be seen."""

    colour: Colour | None
    background: Colour
    is_readable: bool = True

    def under(self, style: _Style) -> "_Layer":
        colour, background = style.colour or self.colour, style.background or self.background
        alike = colour and all(abs(a - b) <= _SAME_SHADE for a, b in zip(colour, background, strict=True))
        return _Layer(colour, background, not alike)


class Visibility:
    """Follows a walk over the tree: told of every element that opens and closes."""

    def __init__(self, tree: LexborHTMLParser) -> None:
        self._styles = _styles_of(tree)
        self.layers = [_Layer(None, _WHITE)]

    def opens(self, node: LexborNode) -> bool:
        """Enter the element; False where it is hidden, and then not entered."""
        if not self._styles:
            return True
        layer = self.layers[-1]
        if (style := self._styles.get(node.mem_id)) is not None:
            if style.hides:
                return False
            layer = layer.under(style)
        self.layers.append(layer)
        return True

    def close(self) -> None:
        if self._styles:
            self.layers.pop()


def _styles_of(tree: LexborHTMLParser) -> dict[int, _Style]:
    styles: dict[int, _Style] = {}
    for node in tree.css("[style], [hidden], [color], [bgcolor]"):
        attributes = node.attributes
        found = _style(attributes.get("style") or "", attributes.get("color"), attributes.get("bgcolor"))
        if "hidden" in attributes:
            found = found._replace(hides=True)
        if found != _Style():
            styles[node.mem_id] = found
    return styles | dict.fromkeys(_hidden_by_rules(tree), _Style(hides=True))


@lru_cache(maxsize=1024)  # a mail program writes the same few styles over and over
def _style(style: str, colour: str | None, background: str | None) -> _Style:
    colours, backgrounds = _COLOUR.findall(style), _BACKGROUND.findall(style)  # the last declaration holds
    return _Style(
        _style_hides(style),
        _colour(colour or (colours[-1] if colours else "")),
        _colour(background or (backgrounds[-1] if backgrounds else "")),
    )


def _style_hides(style: str) -> bool:
    hiding = _HIDES.finditer(style)
    return any(not _BOX.match(found[0]) or _CLIPPED.search(style) for found in hiding)


def _hidden_by_rules(tree: LexborHTMLParser) -> set[int]:
    hidden: set[int] = set()
    sheets = [node.text() or "" for node in tree.css("style")]
    rules = [rule for sheet in sheets for rule in _RULE.findall(sheet)][:_MAX_RULES]
    for selector, style in rules:
        if not _style_hides(style):
            continue
        try:
            hidden |= {node.mem_id for node in tree.css(selector.strip())}
        except (SelectolaxError, ValueError):
            continue  # no selector that the library knows: a browser may not know it either
    return hidden


def _colour(text: str) -> Colour | None:
    text = text.strip().lower()
    if (name := _NAMES.get(text.split("!")[0].strip())) is not None:
        return name
    if (rgb := _RGB.search(text)) is not None:
        return int(rgb[1]), int(rgb[2]), int(rgb[3])
    if (found := _HEX.search(text)) is None:
        return None
    digits = found[1] if len(found[1]) > _SHORT_HEX else "".join(digit * 2 for digit in found[1])
    return int(digits[0:2], 16), int(digits[2:4], 16), int(digits[4:6], 16)


_TAG = re.compile(r"<(/?)([a-zA-Z][a-zA-Z0-9]{0,20})([^<>]*)>")
_SPACES = re.compile(r"[ \t\r\n\f\xa0\u200b]+")
_BLANK_LINES = re.compile(r"\n{3,}")
_WORDS = re.compile(r"(?:\b[^\W\d_]{1,40}[\s,;:']{1,3}){2}[^\W\d_]")  # bounded: comments are hostile
_LEFT_BY_PROGRAMS = re.compile(r"\s*(?:\[|/?\*|<|converted from\b|begin\b|end\b|start\b)", re.IGNORECASE)
_NO_TEXT = frozenset(
    {"-comment", "-document", "-doctype", "head", "script", "style", "title", "template", "noscript", "svg",
     "xml"}
)  # fmt: skip
_PARAGRAPHS = frozenset(
    {"p", "h1", "h2", "h3", "h4", "h5", "h6", "ul", "ol", "table", "pre", "blockquote", "dl"}
)
_LINES = frozenset(
    {"div", "tr", "li", "dt", "dd", "section", "article", "address", "center", "form", "body", "html"}
)
# Void elements, and those that the next one of their kind closes: they do not nest by themselves.
_NOT_NESTED = frozenset(
    {"br", "hr", "img", "input", "link", "meta", "col", "area", "base", "wbr", "source", "p", "li", "dt",
     "dd", "td", "th", "tr", "tbody", "thead", "tfoot", "colgroup", "option", "html", "head", "body"}
)  # fmt: skip
_MAX_QUOTE_DEPTH = 20
_MAX_DEPTH = 600
_MAX_TAG_LENGTH = 20_000


class HtmlText(NamedTuple):
    text: str
    has_hidden: bool = False
    """Whether there was text that a reader of the mail does not see; it is not in `text`."""


def html_to_text(html: str) -> HtmlText:
    if _is_too_deep(html):
        return HtmlText(_text_without_tags(html))
    tree = LexborHTMLParser(html)
    writer, visibility, has_hidden = _Writer(), Visibility(tree), False
    for node, tag, step in _walk(tree, visibility):
        if step == "close":
            visibility.close()
            writer.close(tag)
        elif step == "open":
            writer.open(tag, node)
        elif step == "text" and visibility.layers[-1].is_readable:
            writer.text(node.text_content or "")
        else:
            has_hidden = has_hidden or bool((node.text() or node.comment_content or "").strip())
    return HtmlText(writer.finish(), has_hidden)


def _is_too_deep(html: str) -> bool:
    """Whether tags are nested, or loaded with attributes, so much that Lexbor would take quadratic time."""
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
        # A closing tag closes only what was opened under its name: others leave the depth as it is.
        step = 1 if not closing else -1 if unclosed[name] else 0
        unclosed[name] += step
        depth += step
        if depth > _MAX_DEPTH:
            return True
    # What has no end, or a "<" inside, is no tag for the pattern above, but may be one for Lexbor.
    return any(len(piece) > _MAX_TAG_LENGTH for piece in html.split(">"))


def _text_without_tags(html: str) -> str:
    writer = _Writer()
    for line in _TAG.sub("\n", html).splitlines():
        writer.text(unescape(line))
        writer.close("div")
    return writer.finish()


def _walk(tree: LexborHTMLParser, visibility: Visibility) -> Iterator[tuple[LexborNode, str, str]]:
    """Every text and element, and whether it opens, closes or is hidden. Depth is hostile: no recursion."""
    node = tree.root
    opened: list[str] = []
    while node is not None:
        tag = node.tag or ""
        if tag == "-text":
            yield node, tag, "text"
        elif tag == "-comment":
            remark = node.comment_content or ""  # words; not a condition or a mark that mail programs leave
            if _WORDS.search(remark) and not _LEFT_BY_PROGRAMS.match(remark):
                yield node, tag, "hidden"
        elif tag not in _NO_TEXT:
            if visibility.opens(node):
                yield node, tag, "open"
                opened.append(tag)
                if (child := node.first_child) is not None:
                    node = child
                    continue
                yield node, opened.pop(), "close"
            else:
                yield node, tag, "hidden"
        while node is not None and (sibling := node.next) is None:
            node = node.parent
            if opened and node is not None:
                yield node, opened.pop(), "close"
        node = sibling if node is not None else None


class _Writer:
    """Builds lines; knows how deep in quotes and preformatted text it is."""

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
            shown = "".join(self._line[start:]).strip()
            says_it = shown.rstrip("/") in address or address.rstrip("/") in shown
            if address.startswith(("http://", "https://")) and shown and not says_it:
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
