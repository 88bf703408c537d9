"""Decide whether a style could hide text. Every property or value hides that is not known to be harmless."""

import re
from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

Colour = tuple[int, int, int]


class Style(NamedTuple):
    """The effect of an element's declarations on its text."""

    hides: bool = False
    colour: Colour | None = None
    background: Colour | None = None
    clips: bool = False
    """Overflow of the box is cut off."""
    is_small: bool = False
    """The box has its own size, which may be too small for its text."""
    pixels: float | None = None
    """The font size."""
    scale: float = 1.0
    """The font size relative to the parent element."""

    def over(self, other: "Style") -> "Style":
        """Combine the styles. Both may hide text, and this style's colors and sizes win."""
        return Style(
            self.hides or other.hides,
            self.colour or other.colour,
            self.background or other.background,
            self.clips or other.clips,
            self.is_small or other.is_small,
            self.pixels if self.pixels is not None else other.pixels,
            min(self.scale, other.scale),
        )


PLAIN = Style()
_LEAST_PIXELS = 5.0
_MOST_SHIFT, _MOST_SPACE = 100.0, 2_000.0
_LEAST_OPACITY = 0.3
_NARROW = 120.0
_COMMENT = re.compile(r"/\*.*?(?:\*/|\Z)", re.DOTALL)
_DECLARATION = re.compile(r"""((?:[^;"'(]|"[^"]*"|'[^']*'|\([^()]*\)|[("'])*)(?:;|\Z)""")
_IMPORTANT = re.compile(r"\s*!\s*important\s*\Z")
_LENGTH = re.compile(r"([-+]?(?:\d{1,9}(?:\.\d{0,9})?|\.\d{1,9}))(px|pt|pc|em|rem|ex|ch|%|in|cm|mm|q)?\Z")
_PIXELS_OF = {
    "": 1.0, "px": 1.0, "pt": 4 / 3, "pc": 16.0, "in": 96.0, "cm": 37.8, "mm": 3.78, "q": 0.945,
    "em": 16.0, "rem": 16.0, "ex": 8.0, "ch": 8.0, "%": 0.16,
}  # fmt: skip
_RELATIVE = {"em": 1.0, "ex": 0.5, "ch": 0.5, "%": 0.01}
_DEFAULTS = frozenset({"inherit", "initial", "unset", "revert", "normal", "none", "auto", ""})
_HARMLESS = re.compile(
    r"(?:-\w+-)?(?:"
    r"font-(?:family|weight|style|variant\S*|stretch|kerning|feature-settings|smoothing|display|optical-sizing)|"
    r"text-(?:align\S*|transform|decoration\S*|underline\S*|justify\S*|shadow|rendering|wrap|autospace|emphasis\S*|"
    r"overflow|size-adjust|combine\S*|orientation|effect|line-through|fit)|"
    r"padding\S*|border\S*|outline\S*|list-style\S*|box-(?:sizing|shadow|decoration-break|align|direction)|"
    r"background-(?:repeat|position\S*|size|attachment|origin)|"
    r"vertical-align|white-space\S*|word-(?:break|wrap)|overflow-wrap|hyphens|line-break|tab-\S*|cursor|float|clear|"
    r"table-layout|border-collapse|border-spacing|caption-side|empty-cells|page\S*|break-\S*|orphans|widows|"
    r"quotes|direction|writing-mode|min-(?:width|height|inline-size|block-size)|flex\S*|grid\S*|gap|row-gap|"
    r"column\S*|justify-\S*|align-\S*|place-\S*|object-\S*|user-select|pointer-events|touch-action|resize|"
    r"appearance|interpolation-mode|color-scheme|color-adjust|print-color-adjust|accent-color|caret-color|"
    r"scroll\S*|will-change|isolation|speak\S*|nbsp-mode|line-break|user-modify|user-drag|tap-highlight-color|"
    r"mso-(?!hide)\S*|layout-\S*|punctuation-\S*|ruby-\S*|behavior|panose-\S*|size|src|unicode-range|"
    r"composition-\S*|widows|orphans|azimuth|widget\S*|-\S*|tab-stops|image-rendering|hanging-punctuation|"
    r"stroke\S*|inset-area"
    r")\Z"
)
_DISPLAYS = re.compile(
    r"(?:inline|block|inline-block|list-item|table(?:-[a-z-]+)?|inline-table|flex|inline-flex|grid|"
    r"inline-grid|contents|flow-root|run-in|-webkit-(?:inline-)?(?:box|flex)|-ms-(?:inline-)?flexbox)\Z"
)
_SIZES = frozenset(
    {"xx-small", "x-small", "small", "medium", "large", "x-large", "xx-large", "larger", "smaller"}
)
_HEIGHTS = frozenset({"height", "max-height", "block-size", "max-block-size"})
_CLOSEST, _FARTHEST = 2.0, 20.0
_FONT_SIZE = re.compile(r"(?:^|\s)(\d*\.?\d+)\s*(px|pt|em|rem|%)?(?:/|\s)")


@lru_cache(maxsize=2048)
def style_of(declarations: str) -> Style:
    if not declarations.strip():
        return PLAIN
    text = _COMMENT.sub("", declarations.lower())
    if "\\" in text:
        return Style(hides=True)  # An escape may spell any property.
    style = PLAIN
    for found in _DECLARATION.finditer(text):
        name, colon, value = found[1].partition(":")
        if colon:
            style = _declared(name.strip(), " ".join(_IMPORTANT.sub("", value).split())).over(style)
    return style


def _declared(name: str, value: str) -> Style:
    if (read := _READ.get(name)) is not None:
        return read(name, value)
    if value in _DEFAULTS or _HARMLESS.match(name):
        return PLAIN
    if name.startswith("margin"):
        name = "margin"
    shows = _SHOWS.get(name)
    return Style(hides=shows is None or not shows(value))


def _displayed(_name: str, value: str) -> Style:
    return Style(hides=not (_DISPLAYS.match(value) or value in _DEFAULTS - {"none"}))


def _visible(_name: str, value: str) -> Style:
    return Style(hides=value not in {"visible", "inherit", "initial", "unset"})


def _overflowing(_name: str, value: str) -> Style:
    return Style(clips=not {"visible", "inherit", "initial"}.issuperset(value.split()))


def _boxed(name: str, value: str) -> Style:
    return Style(is_small=_is_small(name, value))


def _is_near(value: str) -> bool:
    sizes = [pixels_of(part) for part in value.split() if part not in _DEFAULTS]
    return all(size is not None and -_MOST_SHIFT <= size <= _MOST_SPACE for size in sizes)


def _is_apart(value: str) -> bool:
    """Return whether letters and words keep a visible distance."""
    size = pixels_of(value)
    return size is not None and -_CLOSEST <= size <= _FARTHEST


def _is_high(value: str) -> bool:
    size, unit = pixels_of(value), _LENGTH.match(value)
    return size is not None and (size * 16 if unit and not unit[2] else size) >= _LEAST_PIXELS


def _is_opaque(value: str) -> bool:
    found = _LENGTH.match(value)
    return found is not None and float(found[1]) * (0.01 if found[2] else 1) >= _LEAST_OPACITY


def pixels_of(value: str) -> float | None:
    """Return a length in pixels, or None if that is unknown."""
    found = _LENGTH.match(value)
    return float(found[1]) * _PIXELS_OF[found[2] or ""] if found else None


def _sized(name: str, value: str) -> Style:
    if value in _SIZES or value in _DEFAULTS - {"none", "auto"}:
        return PLAIN
    if name == "font":
        found = _FONT_SIZE.search(f"{value} ")
        if found is None:
            return Style(hides=not any(word in _SIZES for word in value.replace("/", " ").split()))
        value = found[1] + (found[2] or "")
    length = _LENGTH.match(value)
    if length is None:
        return Style(hides=True)
    number, unit = float(length[1]), length[2] or ""
    if unit in _RELATIVE:
        return Style(scale=number * _RELATIVE[unit])
    return Style(pixels=number * _PIXELS_OF[unit])


def _is_small(name: str, value: str) -> bool:
    """Return whether the box may be too small for its text: any own height, or a width below one word."""
    if value in _DEFAULTS or value in {"100%", "fit-content", "max-content", "min-content"}:
        return False
    size = _LENGTH.match(value)
    if size is None:
        return True
    if size[2] == "%":
        return name in _HEIGHTS or float(size[1]) < 10  # noqa: PLR2004 -- a tenth of the page
    return name in _HEIGHTS or float(size[1]) * _PIXELS_OF[size[2] or ""] < _NARROW


def _coloured(_name: str, value: str) -> Style:
    if value in {"inherit", "initial", "unset", "revert", "currentcolor", "auto", "windowtext", ""}:
        return PLAIN
    colour = colour_of(value)
    return Style(colour=colour) if colour else Style(hides=True)


def _backed(_name: str, value: str) -> Style:
    if value in _DEFAULTS or value in {"transparent", "window"}:
        return PLAIN
    if "gradient" in value or "url(" in value or "image" in value or "var(" in value:
        return Style(hides=True)
    words = re.findall(r"(?:rgba?|hsla?)\([^()]*\)|#\w+|[a-z]\S*", value)
    found = [colour for colour in map(colour_of, words) if colour]
    return Style(background=found[-1]) if found else PLAIN


_READ: dict[str, Callable[[str, str], Style]] = {
    **dict.fromkeys(("color", "-webkit-text-fill-color"), _coloured),
    **dict.fromkeys(("background", "background-color", "background-image"), _backed),
    "display": _displayed,
    "visibility": _visible,
    **dict.fromkeys(("font", "font-size"), _sized),
    **dict.fromkeys(
        ("overflow", "overflow-x", "overflow-y", "overflow-block", "overflow-inline"), _overflowing
    ),
    **dict.fromkeys(("height", "max-height", "block-size", "max-block-size"), _boxed),
    **dict.fromkeys(("width", "max-width", "inline-size", "max-inline-size"), _boxed),
}
_SHOWS: dict[str, Callable[[str], bool]] = {
    **dict.fromkeys(("margin", "text-indent", "top", "left", "right", "bottom"), _is_near),
    **dict.fromkeys(("letter-spacing", "word-spacing"), _is_apart),
    "line-height": _is_high,
    "opacity": _is_opaque,
    "position": {"static", "relative"}.__contains__,
    "z-index": str.isdigit,
    "unicode-bidi": {"embed", "isolate", "plaintext"}.__contains__,
    "zoom": {"1", "100%"}.__contains__,
    "order": {"0"}.__contains__,
    "content": bool,
}
"""The values with which the text stays visible."""


_HEX = re.compile(r"#([0-9a-f]{3}|[0-9a-f]{4}|[0-9a-f]{6}|[0-9a-f]{8})\Z")
_BARE_HEX = re.compile(r"([0-9a-f]{6})\Z")
_RGB = re.compile(
    r"rgba?\(\s*(\d{1,3})(?:\.\d+)?\s*[\s,]\s*(\d{1,3})(?:\.\d+)?\s*[\s,]\s*(\d{1,3})(?:\.\d+)?"
    r"\s*(?:[,/]\s*(\d*\.?\d+)(%)?\s*)?\)\Z"
)
_SHORT = 4


def colour_of(text: str) -> Colour | None:
    """Return the color, or None if it is unknown or too transparent."""
    text = text.strip()
    if (named := NAMED_COLOURS.get(text)) is not None:
        text = f"#{named}"
    if found := _RGB.match(text):
        alpha = float(found[4]) * (0.01 if found[5] else 1) if found[4] else 1.0
        return (int(found[1]), int(found[2]), int(found[3])) if alpha >= _OPAQUE else None
    match = _HEX.match(text) or _BARE_HEX.match(text)
    if match is None:
        return None
    digits = match[1] if len(match[1]) > _SHORT else "".join(digit * 2 for digit in match[1])
    if len(digits) > len("rrggbb") and int(digits[6:], 16) < _OPAQUE * 255:
        return None
    return int(digits[0:2], 16), int(digits[2:4], 16), int(digits[4:6], 16)


_OPAQUE = 0.5
_LEAST_CONTRAST = 1.3


def is_readable(colour: Colour, background: Colour) -> bool:
    """Return whether the contrast (WCAG 2) suffices. Black on white has 21, and a pale gray footer 2."""
    light, dark = sorted((_luminance(colour), _luminance(background)), reverse=True)
    return (light + 0.05) / (dark + 0.05) >= _LEAST_CONTRAST


def _linear(part: float) -> float:
    return part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4  # noqa: PLR2004 -- sRGB's own


def _luminance(colour: Colour) -> float:
    red, green, blue = (_linear(value / 255) for value in colour)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


_TABLE = """
aliceblue f0f8ff antiquewhite faebd7 aqua 00ffff aquamarine 7fffd4 azure f0ffff beige f5f5dc bisque ffe4c4
black 000000 blanchedalmond ffebcd blue 0000ff blueviolet 8a2be2 brown a52a2a burlywood deb887 cadetblue
5f9ea0 chartreuse 7fff00 chocolate d2691e coral ff7f50 cornflowerblue 6495ed cornsilk fff8dc crimson dc143c
cyan 00ffff darkblue 00008b darkcyan 008b8b darkgoldenrod b8860b darkgray a9a9a9 darkgreen 006400 darkgrey
a9a9a9 darkkhaki bdb76b darkmagenta 8b008b darkolivegreen 556b2f darkorange ff8c00 darkorchid 9932cc darkred
8b0000 darksalmon e9967a darkseagreen 8fbc8f darkslateblue 483d8b darkslategray 2f4f4f darkslategrey 2f4f4f
darkturquoise 00ced1 darkviolet 9400d3 deeppink ff1493 deepskyblue 00bfff dimgray 696969 dimgrey 696969
dodgerblue 1e90ff firebrick b22222 floralwhite fffaf0 forestgreen 228b22 fuchsia ff00ff gainsboro dcdcdc
ghostwhite f8f8ff gold ffd700 goldenrod daa520 gray 808080 green 008000 greenyellow adff2f grey 808080
honeydew f0fff0 hotpink ff69b4 indianred cd5c5c indigo 4b0082 ivory fffff0 khaki f0e68c lavender e6e6fa
lavenderblush fff0f5 lawngreen 7cfc00 lemonchiffon fffacd lightblue add8e6 lightcoral f08080 lightcyan
e0ffff lightgoldenrodyellow fafad2 lightgray d3d3d3 lightgreen 90ee90 lightgrey d3d3d3 lightpink ffb6c1
lightsalmon ffa07a lightseagreen 20b2aa lightskyblue 87cefa lightslategray 778899 lightslategrey 778899
lightsteelblue b0c4de lightyellow ffffe0 lime 00ff00 limegreen 32cd32 linen faf0e6 magenta ff00ff maroon
800000 mediumaquamarine 66cdaa mediumblue 0000cd mediumorchid ba55d3 mediumpurple 9370db mediumseagreen
3cb371 mediumslateblue 7b68ee mediumspringgreen 00fa9a mediumturquoise 48d1cc mediumvioletred c71585
midnightblue 191970 mintcream f5fffa mistyrose ffe4e1 moccasin ffe4b5 navajowhite ffdead navy 000080 oldlace
fdf5e6 olive 808000 olivedrab 6b8e23 orange ffa500 orangered ff4500 orchid da70d6 palegoldenrod eee8aa
palegreen 98fb98 paleturquoise afeeee palevioletred db7093 papayawhip ffefd5 peachpuff ffdab9 peru cd853f
pink ffc0cb plum dda0dd powderblue b0e0e6 purple 800080 rebeccapurple 663399 red ff0000 rosybrown bc8f8f
royalblue 4169e1 saddlebrown 8b4513 salmon fa8072 sandybrown f4a460 seagreen 2e8b57 seashell fff5ee sienna
a0522d silver c0c0c0 skyblue 87ceeb slateblue 6a5acd slategray 708090 slategrey 708090 snow fffafa
springgreen 00ff7f steelblue 4682b4 tan d2b48c teal 008080 thistle d8bfd8 tomato ff6347 turquoise 40e0d0
violet ee82ee wheat f5deb3 white ffffff whitesmoke f5f5f5 yellow ffff00 yellowgreen 9acd32 windowtext 000000
window ffffff canvastext 000000 canvas ffffff buttontext 000000 infotext 000000 menutext 000000
"""
_WORDS = _TABLE.split()
NAMED_COLOURS = dict(zip(_WORDS[::2], _WORDS[1::2], strict=True))
