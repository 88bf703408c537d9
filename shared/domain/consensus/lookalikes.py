"""Names that look alike: one form for what a reader cannot tell apart."""

import unicodedata
from functools import lru_cache

_LOOKS_LIKE = str.maketrans(
    {
        **dict(zip("абвгеёзийкмнортусхцьѕіјһԁԛԝѵ", "a6breee3nnkmhoptycxubsijhdqwv", strict=False)),
        **dict(zip("αβγεζηικμνορτυχωϲ", "abyezniKuvoptuxwc".lower(), strict=False)),
        **dict(zip("ıȷɑɡʟɴʀꜱ", "ijaglnrs", strict=True)),
        "0": "o", "1": "l", "|": "l", "i": "l", "5": "s", "$": "s", "ß": "ss", "æ": "ae", "œ": "oe", "ø": "o",
    }
)  # fmt: skip
_PAIRS = (("rn", "m"), ("vv", "w"), ("cl", "d"))
MAX_NAME = 200


@lru_cache(maxsize=4096)
def skeleton(name: str) -> str:
    """Equal for names that look the same: letters of other scripts, accents, signs without width, order."""
    decomposed = unicodedata.normalize("NFKD", name[:MAX_NAME].casefold())
    plain = "".join(one for one in decomposed if unicodedata.category(one) not in {"Mn", "Cf", "Cc"})
    looks = plain.translate(_LOOKS_LIKE)
    for pair, one in _PAIRS:
        looks = looks.replace(pair, one)
    words = "".join(one if one.isalnum() else " " for one in looks).split()
    return " ".join(sorted(words))
