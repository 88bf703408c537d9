"""Track the styles on a walk over a mail's HTML, to decide which text its reader sees."""

import re
from collections.abc import Iterator
from typing import NamedTuple

from selectolax.lexbor import LexborHTMLParser, LexborNode, SelectolaxError

from shared.mail.html_styles import PLAIN, Colour, Style, colour_of, is_readable, style_of

_WHITE, _BLACK = (255, 255, 255), (0, 0, 0)
_MAX_RULES = 2_000
_LEAST_PIXELS, _USUAL_PIXELS = 5.0, 16.0
_COMMENT = re.compile(r"/\*.*?(?:\*/|\Z)|<!--|-->", re.DOTALL)
_BRACE = re.compile(r"[{}]")
_MAX_SELECTOR, _MAX_NESTED = 2_000, 20
_SMALL_SCREENS = re.compile(r"max-(?:device-)?width\s*:\s*(\d{1,5})(?:\.\d+)?px")
_NARROWEST_DESKTOP = 1_000
_PSEUDO = re.compile(r"::?[a-z-]+(?:\([^()]*\))?", re.IGNORECASE)
_NOT_TEXT = re.compile(
    r":(?:hover|active|focus\S*|:?before|:?after|:?marker|:?selection|:?placeholder)", re.IGNORECASE
)
_STYLED = "[style], [hidden], [popover], [color], [bgcolor], [background], [text], bdo"


class _Layer(NamedTuple):
    colour: Colour
    background: Colour
    pixels: float = _USUAL_PIXELS
    clips: bool = False
    is_small: bool = False
    shows: bool = True

    def under(self, style: Style) -> "_Layer":
        colour, background = style.colour or self.colour, style.background or self.background
        pixels = (self.pixels if style.pixels is None else style.pixels) * style.scale
        clips, is_small = self.clips or style.clips, self.is_small or style.is_small
        shows = self.shows and not style.hides and pixels >= _LEAST_PIXELS and not (clips and is_small)
        return _Layer(colour, background, pixels, clips, is_small, shows)


class Visibility:
    """The visibility at a position. The walk reports every element that opens and closes."""

    def __init__(self, tree: LexborHTMLParser) -> None:
        self._styles = _styles_of(tree)
        self._layers = [_Layer(_BLACK, _WHITE)]

    def open(self, node: LexborNode) -> None:
        if self._styles:
            layer = self._layers[-1]
            style = self._styles.get(node.mem_id)
            self._layers.append(layer if style is None else layer.under(style))

    def close(self) -> None:
        if self._styles:
            self._layers.pop()

    @property
    def shows(self) -> bool:
        """Return whether text at this position is visible and readable."""
        layer = self._layers[-1]
        return layer.shows and is_readable(layer.colour, layer.background)


def _styles_of(tree: LexborHTMLParser) -> dict[int, Style]:
    styles: dict[int, Style] = {}
    for selector, style in _rules(tree):
        for node in _matched(tree, selector):
            styles[node.mem_id] = style.over(styles.get(node.mem_id, PLAIN))
    for node in tree.css(_STYLED):
        style = _own_style(node).over(styles.get(node.mem_id, PLAIN))
        if style != PLAIN:
            styles[node.mem_id] = style
    return styles


def _own_style(node: LexborNode) -> Style:
    attributes = node.attributes
    hides = (
        "hidden" in attributes or "popover" in attributes or "background" in attributes or node.tag == "bdo"
    )
    written = attributes.get("color") or (attributes.get("text") if node.tag == "body" else None) or ""
    presented = Style(hides, colour_of(written.lower()), colour_of((attributes.get("bgcolor") or "").lower()))
    return style_of(attributes.get("style") or "").over(presented)


def _rules(tree: LexborHTMLParser) -> Iterator[tuple[str, Style]]:
    """Yield the rules of the style sheets that affect text on a desktop screen."""
    count = 0
    for sheet in tree.css("style"):
        for selector, declarations, enclosing in _blocks(_COMMENT.sub("", sheet.text() or "")):
            count += 1
            if count > _MAX_RULES:
                yield "body", Style(hides=True)
                return
            style = style_of(declarations)
            if style != PLAIN and not selector.startswith("@") and all(map(_applies, enclosing)):
                yield selector, style


def _blocks(sheet: str) -> Iterator[tuple[str, str, list[str]]]:
    """Yield each rule's selector and declarations, and the rules enclosing it."""
    heads: list[str] = []
    start = 0
    for found in _BRACE.finditer(sheet):
        text, start = sheet[start : found.start()], found.end()
        before, _, last = text.rpartition(";")
        if heads and (before if found[0] == "{" else text).strip():
            yield heads[-1], before if found[0] == "{" else text, heads[:-1]
        if found[0] == "{":
            heads.append(last.strip()[:_MAX_SELECTOR] if len(heads) < _MAX_NESTED else "@")
        elif heads:
            heads.pop()


def _applies(enclosing: str) -> bool:
    """Return whether the rules within this at-rule apply: not for print and not for small screens."""
    if not enclosing.startswith("@media"):
        return not enclosing.startswith("@keyframes")
    if enclosing.split()[1:] == ["print"]:
        return False
    widths = [int(found) for found in _SMALL_SCREENS.findall(enclosing)]
    return not widths or min(widths) > _NARROWEST_DESKTOP


def _matched(tree: LexborHTMLParser, selector: str) -> list[LexborNode]:
    """Return the elements of a selector, without the pseudo-elements that the library does not support."""
    named = ",".join(part for part in selector.split(",") if not _NOT_TEXT.search(part))
    for written in (named, _PSEUDO.sub("", named)):
        try:
            return tree.css(written) if written.strip() else []
        except (SelectolaxError, ValueError):
            continue
    return []
