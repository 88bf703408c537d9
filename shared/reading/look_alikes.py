"""Keys for names that look the same, by Unicode's confusables (UTS 39) without invisible signs."""

import unicodedata
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any

from shared.core.lazy_import import lazy

if TYPE_CHECKING:
    from confusable_homoglyphs import confusables
else:
    confusables = lazy("confusable_homoglyphs.confusables")  # it reads a large table

_MORE = str.maketrans(
    {"0": "o", "1": "l", "|": "l", "i": "l", "5": "s", "$": "s", "ß": "ss"}
    | dict(zip("ᴀʙᴄᴅᴇғɢʜɪᴊᴋʟᴍɴᴏᴘʀꜱᴛᴜᴠᴡʏᴢгӈ", "abcdefghljklmnoprstuvwyzrh", strict=True))
)
"""Signs that people confuse in addition to Unicode's table, in lower case."""
_PAIRS = (("rn", "m"), ("vv", "w"), ("cl", "d"), ("ae", "æ"))
_UNSEEN = frozenset({"Mn", "Me", "Cf", "Cc", "Cn", "Co"})
_FILLERS = dict.fromkeys([0x115F, 0x1160, 0x3164, 0xFFA0, 0x2800])
"""Letters and symbols that show nothing although their category does not say so."""
_MAX_NAME = 200


@lru_cache(maxsize=4096)
def skeleton(name: str) -> str:
    """Return a key that is equal for names that look the same, in any script, accent or word order."""
    decomposed = unicodedata.normalize("NFKD", name[:_MAX_NAME].translate(_FILLERS))
    plain = "".join(sign for sign in decomposed if unicodedata.category(sign) not in _UNSEEN)
    if not plain.isascii():
        # A capital and its small letter may look like different signs, so each is looked up.
        plain = _plain(_plain(plain).casefold())
    looks = plain.casefold().translate(_MORE)
    for pair, letter in _PAIRS:
        looks = looks.replace(pair, letter)
    words = "".join(sign if sign.isalnum() else " " for sign in looks).split()
    return "".join(sorted(words))


def _plain(text: str) -> str:
    prototypes = _prototypes()
    return "".join([prototypes.get(sign, sign) for sign in text])


@cache
def _prototypes() -> dict[str, str]:
    """Return for each sign in Unicode's table the plainest sign that looks like it.

    The table has pairs. Two signs that look like the same third sign belong together, so pairs are joined
    into groups.
    """
    table: dict[str, list[dict[str, Any]]] = confusables.confusables_data
    group_of: dict[str, str] = {}

    def find_root(sign: str) -> str:
        while group_of.setdefault(sign, sign) != sign:
            sign = group_of[sign]
        return sign

    for sign, others in table.items():
        for other in others:
            first, second = sorted((find_root(sign), find_root(other["c"])), key=_plainness)
            group_of[second] = first
    return {sign: find_root(sign) for sign in group_of if len(sign) == 1}


def _plainness(sign: str) -> tuple[bool, bool, int, str]:
    return (not sign.isascii(), not sign.islower(), len(sign), sign)
