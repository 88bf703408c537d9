"""Which elements of an HTML mail a reader does not see: text in them was not said to anybody.

Hidden text is a way to put words into a mail that only machines read. Recognised are inline styles, the
`hidden` attribute, rules of `<style>` blocks that hide by a selector, sizes of zero, text far off the page,
and text in the colour of its background. What hides in other ways (images, scripts) has no text here.
"""

import re
from functools import lru_cache
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


_PLAIN = _Style()


class _Layer(NamedTuple):
    """The colours in force inside an element, and whether text in them can be seen."""

    colour: Colour | None
    background: Colour
    is_readable: bool = True

    def under(self, style: _Style) -> "_Layer":
        colour, background = style.colour or self.colour, style.background or self.background
        return _Layer(colour, background, colour is None or not _same(colour, background))


class Visibility:
    """Follows a walk over the tree: told of every element that opens and closes."""

    def __init__(self, tree: LexborHTMLParser) -> None:
        self._styles = _styles_of(tree)
        self._layers = [_Layer(None, _WHITE)]

    def opens(self, node: LexborNode) -> bool:
        """Enter the element; False where it is hidden, and then not entered."""
        if not self._styles:
            return True
        layer = self._layers[-1]
        if (style := self._styles.get(node.mem_id)) is not None:
            if style.hides:
                return False
            layer = layer.under(style)
        self._layers.append(layer)
        return True

    def close(self) -> None:
        if self._styles:
            self._layers.pop()

    def shows_text(self) -> bool:
        """Whether text right here stands out from its background."""
        return self._layers[-1].is_readable


def _styles_of(tree: LexborHTMLParser) -> dict[int, _Style]:
    styles: dict[int, _Style] = {}
    for node in tree.css("[style], [hidden], [color], [bgcolor]"):
        attributes = node.attributes
        found = _style(attributes.get("style") or "", attributes.get("color"), attributes.get("bgcolor"))
        if "hidden" in attributes:
            found = found._replace(hides=True)
        if found != _PLAIN:
            styles[node.mem_id] = found
    return styles | dict.fromkeys(_hidden_by_rules(tree), _Style(hides=True))


@lru_cache(maxsize=1024)  # a mail program writes the same few styles over and over
def _style(style: str, colour: str | None, background: str | None) -> _Style:
    return _Style(
        _style_hides(style),
        _colour(colour or _last(_COLOUR, style)),
        _colour(background or _last(_BACKGROUND, style)),
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


def _last(pattern: re.Pattern[str], style: str) -> str | None:
    """Of several declarations the last one holds."""
    found = pattern.findall(style) if style else []
    return str(found[-1]) if found else None


def _colour(text: str | None) -> Colour | None:
    if not text:
        return None
    text = text.strip().lower()
    if (name := _NAMES.get(text.split("!")[0].strip())) is not None:
        return name
    if (rgb := _RGB.search(text)) is not None:
        return int(rgb[1]), int(rgb[2]), int(rgb[3])
    if (found := _HEX.search(text)) is None:
        return None
    digits = found[1] if len(found[1]) > _SHORT_HEX else "".join(digit * 2 for digit in found[1])
    return int(digits[0:2], 16), int(digits[2:4], 16), int(digits[4:6], 16)


def _same(one: Colour, other: Colour) -> bool:
    return all(abs(left - right) <= _SAME_SHADE for left, right in zip(one, other, strict=True))
