"""Words compared as words: their stems, numbers however they are written, and names."""

import calendar
import re
from collections.abc import Iterator
from functools import lru_cache

from shared.domain.consensus.mails import fold

_NUMBER = re.compile(r"\d+(?:[.:/-]\d+)*")
_NUMBER_WORDS = {
    "two": "2", "three": "3", "four": "4", "five": "5", "six": "6", "seven": "7", "eight": "8", "nine": "9",
    "ten": "10", "eleven": "11", "twelve": "12", "thirteen": "13", "fourteen": "14", "fifteen": "15",
    "sixteen": "16", "seventeen": "17", "eighteen": "18", "nineteen": "19", "twenty": "20", "thirty": "30",
    "forty": "40", "fifty": "50", "hundred": "100", "thousand": "1000", "million": "1000000",
    "second": "2", "third": "3", "fourth": "4", "fifth": "5", "both": "2", "twice": "2",
}  # fmt: skip
_COUNTS_NOTHING = frozenset({"second", "third", "both", "twice"})
"""Words that may stand for a number, and need none."""
MONTHS = tuple(month.lower() for month in calendar.month_name[1:])
DAYS = tuple(day.lower() for day in calendar.day_name)
_WORD = re.compile(r"[^\W_]+(?:'[^\W_]+)?")
_SUFFIX = re.compile(
    r"(?:ations?|ings?|edly|ed|ies|es|ers?|ors?|ments?|ly|ities|ity|ness|ions?|ives?|ables?|ible|s|e|y)$"
)
_LEAST_STEM = 3


@lru_cache(maxsize=65536)
def stem(word: str) -> str:
    """The same for the inflections of a word, and for some of its relatives."""
    bare = word.removesuffix("'s").removesuffix("'")
    for _ in range(2):
        shorter = _SUFFIX.sub("", bare)
        if len(shorter) < _LEAST_STEM:
            bare = bare[:-1] if bare.endswith("s") and len(bare) > _LEAST_STEM else bare
            break
        bare = shorter
    return bare[:-1] if len(bare) > _LEAST_STEM and bare[-1] == bare[-2] else bare


def words(text: str) -> list[str]:
    return _WORD.findall(fold(text))


def stems(text: str) -> set[str]:
    return {stem(word) for word in words(text)}


def numbers(text: str) -> Iterator[str]:
    """Numbers in digits, with their parts; those in words; months and days."""
    folded = fold(text)
    for match in _NUMBER.finditer(folded):
        yield match[0]
        yield from (part.lstrip("0") or "0" for part in re.split(r"\D", match[0]))
    for word in re.findall(r"[a-z]+", folded):
        if word in _NUMBER_WORDS:
            yield _NUMBER_WORDS[word]
        elif word in MONTHS[:4] + MONTHS[5:] or word in DAYS:
            yield word


def numbers_told(text: str) -> set[str]:
    """The numbers that a sentence tells: "both" and "second" tell none of their own."""
    kept = " ".join(word for word in fold(text).split() if word.strip(".,;:") not in _COUNTS_NOTHING)
    return set(numbers(kept))


def counted(text: str) -> dict[str, set[str]]:
    """The numbers that stand right before a thing, or before one word and it: "two failed tests"."""
    found: dict[str, set[str]] = {}
    folded = fold(text)
    for match in re.finditer(r"(?<![\w.:/-])(\d+|[a-z]+)(?=[ -]([a-z][\w]*)(?:[ -]([a-z][\w]*))?)", folded):
        number = match[1] if match[1].isdigit() else _NUMBER_WORDS.get(match[1])
        if number is None or match[1] in _COUNTS_NOTHING:
            continue
        for thing in match[2], match[3]:
            if thing and stem(thing) not in TELLING and len(thing) > _LEAST_STEM:
                found.setdefault(stem(thing), set()).add(number)
    # "option 3", "version 2", and the votes.
    for match in re.finditer(r"\b([a-z]{4,})[ -](\d+)(?![\w.])", folded):
        if stem(match[1]) not in TELLING:
            found.setdefault(f"{stem(match[1])} no.", set()).add(match[2])
    for match in re.finditer(r"(?<![\w+-])([+-]) ?(\d)(?![\w.])", folded):
        found.setdefault("vote", set()).add(match[1] + match[2])
    return found


_TELLING_WORDS = (
    "be is are was were been has have had do does did can could will would shall should may might "
    "must say said tell told think thought believe find found note report explain answer ask wonder "
    "suggest propose want like call give gave add see saw get got make made put draft mail thread "
    "patch proposal version question change write wrote reply point raise describe mention concern "
    "mean argue state consider need use idea issue list group people person member work it its they "
    "them their he she his her him this that these those which who whom whose what when where why how "
    "while whereas and or but if as at by for from in into of off on onto out over than then to too "
    "up with without about after before because since so such also only just very more most some any "
    "other another both each one two first later once again still yet even there here not no nor "
    "neither never a an the all"
)
TELLING = frozenset(stem(word) for word in _TELLING_WORDS.split())


"""Stems of words with which anything is told: they show nothing."""

_SMALL_WORDS = (
    "be is are was were do does did have has had it this that the a an to of in on for and or with as "
    "at by from so very really i we you he she they my our your its any some at all quite yet even "
    "really too"
)
SMALL = frozenset(stem(word) for word in _SMALL_WORDS.split())
"""Stems of words that stand in any clause."""
