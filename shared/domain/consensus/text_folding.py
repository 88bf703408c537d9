"""Text made easy to match, without changing its length: offsets found in it hold in the original."""

import re

MAX_CHARS = 200_000
"""Of one message; what lies beyond is not looked at."""

_PLAIN = str.maketrans(
    dict.fromkeys("\u2019\u2018\u00b4`", "'")
    | dict.fromkeys("\u201c\u201d\u201e", '"')
    | dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2212", "-")
    | dict.fromkeys("\xa0\t", " ")
)
_QUOTED_LINE = re.compile(r"^[ \t]{0,4}(?:[A-Z]{1,3})?(?:>|\|(?=\s)).*$", re.MULTILINE)
_ATTRIBUTION = re.compile(
    r"^[^\n]{0,200}(?:\n[^\n]{0,200})?\b(?:wrote|writes|said|schrieb|écrit)\s{0,3}:[ \t]*$", re.MULTILINE
)
_ORIGINAL_MESSAGE = re.compile(
    r"^[ \t]{0,4}-{2,}\s?(?:original|forwarded) message\s?-{2,}", re.IGNORECASE | re.MULTILINE
)
_PATCH = re.compile(
    r"^(?:diff --git|index [0-9a-f]{4,}\.\.|--- a/|\+\+\+ b/)[^\n]*$|^@@ [^\n]*(?:\n[ +\\-][^\n]*)*",
    re.MULTILINE,
)
_SAYING = re.compile(
    r'"[^"\n]{2,400}(?:\n[^"\n]{1,400}){0,3}"'
    r"|(?<![a-z0-9])'[^'\n]{0,200} [^'\n]{1,200}'(?![a-z0-9])"
)


def fold(text: str) -> str:
    """Lower case, straight quotes, plain dashes and spaces; as long as the text."""
    plain = text.translate(_PLAIN)
    lowered = plain.lower()
    # A few letters (such as the Turkish capital dotted I) grow when lowered; they keep their place instead.
    return lowered if len(lowered) == len(plain) else "".join(_lower_one(letter) for letter in plain)


def _lower_one(letter: str) -> str:
    lowered = letter.lower()
    return lowered if len(lowered) == 1 else letter


def hide_quotes(text: str) -> str:
    """Blank out quoted lines and what introduces them, and patches.

    Normalised text has none left. This is the second wall: what got through is still not the sender's word.
    """
    text = text[:MAX_CHARS]
    if original := _ORIGINAL_MESSAGE.search(text):
        text = text[: original.start()] + _blank(text[original.start() :])
    text = _PATCH.sub(lambda match: _blank(match[0]), text)
    hidden = _QUOTED_LINE.sub(lambda match: _blank(match[0]), text)
    return _ATTRIBUTION.sub(lambda match: _blank(match[0]), hidden) if hidden != text else hidden


def hide_sayings(folded: str) -> str:
    """Blank out what stands in quotation marks: somebody else's words, or words talked about."""
    return _SAYING.sub(lambda match: _blank(match[0]), folded)


def _blank(text: str) -> str:
    return "".join("\n" if letter == "\n" else " " for letter in text)
