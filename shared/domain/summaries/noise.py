"""Lines of a mail that say nothing about its matter: greetings, sign-offs, addresses, rules."""

import re

_FEW_WORDS = 8
_GREETING = re.compile(
    r"\W*(?:hi|hello|hey|dear|good (?:morning|afternoon|evening)|thanks|thank you|many thanks|cheers"
    r"|regards|best|kind|"
    r"warm|sincerely|yours|greetings|ciao|bye|--)\b",
    re.IGNORECASE,
)
_CONTACT = re.compile(
    r"https?://\S+\s*$|\b(?:tel|fax|phone|mobile|mailto|www)\b[.:]?|\+\d[\d ()-]{6,}"
    r"|@[\w-]+\.\w|\bat\b.*\bdot\b",
    re.IGNORECASE,
)
_RULE = re.compile(r"\W*$|\s*[-_=*~+#]{3,}")
_ATTRIBUTION = re.compile(r"\b(?:wrote|writes|said)\s?:?\s*$", re.IGNORECASE)
_CODE = re.compile(
    r"^\s*(?:[+-]{3} [ab]/|@@ |diff --git|[+-]\s*\w+.*[;{}]|#include|(?:\w+"
    r" ){0,3}\w+\([^\n]{0,200}\)\s*[;{]|[|+]-{2,})",
    re.MULTILINE,
)
_CODE_SHARE = 0.35


def is_noise(text: str) -> bool:
    words = len(text.split())
    if _RULE.match(text) or not re.search(r"[^\W\d_]{2}", text):
        return True
    if _ATTRIBUTION.search(text) and re.search(r"\d|@|\bon\b", text, re.IGNORECASE):
        return True
    return words < _FEW_WORDS and bool(_GREETING.match(text) or _CONTACT.search(text))


def looks_like_code(text: str) -> bool:
    """Patches, listings and tables: too many marks for prose."""
    marks = sum(not (letter.isalnum() or letter.isspace() or letter in ".,'\"-()?!") for letter in text)
    return marks > _CODE_SHARE * max(1, len(text.replace(" ", ""))) or bool(_CODE.search(text))
