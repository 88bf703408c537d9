"""Names from outside: fit to be shown, and fit to be part of a blob's name. Never used as paths."""

import re
import unicodedata

SHOWN = 200
KEPT = 100
_UNSAFE = re.compile(r"[^A-Za-z0-9._@+-]+")


def printable(name: str) -> str:
    """On one line, without control characters, cut to what a message can carry."""
    text = "".join(letter if letter.isprintable() else "�" for letter in name)
    return text if len(text) <= SHOWN else text[: SHOWN - 1] + "…"


def safe_filename(name: str, default: str = "archive") -> str:
    """The last part of a path, in plain letters; never empty, hidden, or a way upwards."""
    last = re.split(r"[/\\]", unicodedata.normalize("NFKD", name))[-1]
    plain = _UNSAFE.sub("_", last.encode("ascii", "ignore").decode()).strip("._")
    stem, dot, ending = plain[-KEPT:].partition(".") if len(plain) > KEPT else (plain, "", "")
    return (stem + dot + ending).strip("._") or default
