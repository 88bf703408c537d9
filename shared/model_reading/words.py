"""Compares words by stems and forms, and numbers in any notation."""

import calendar
import re
from collections.abc import Iterator
from functools import lru_cache

from shared.reading.mails import fold

_NUMBER = re.compile(r"\d+(?:[.:/-]\d+)*")
_NUMBER_WORDS = {
    "two": "2", "three": "3", "four": "4", "five": "5", "six": "6", "seven": "7", "eight": "8", "nine": "9",
    "ten": "10", "eleven": "11", "twelve": "12", "thirteen": "13", "fourteen": "14", "fifteen": "15",
    "sixteen": "16", "seventeen": "17", "eighteen": "18", "nineteen": "19", "twenty": "20", "thirty": "30",
    "forty": "40", "fifty": "50", "hundred": "100", "thousand": "1000", "million": "1000000",
    "second": "2", "third": "3", "fourth": "4", "fifth": "5", "both": "2", "twice": "2",
}  # fmt: skip
_COUNTS_NOTHING = frozenset({"second", "third", "both", "twice"})
"""Words that may express a number without a number in the quotes."""
MONTHS = tuple(month.lower() for month in calendar.month_name[1:])
_DAYS = tuple(day.lower() for day in calendar.day_name)
_WORD = re.compile(r"[^\W_]+(?:'[^\W_]+)?")
_SUFFIX = re.compile(
    r"(?:ations?|ings?|edly|ed|ies|es|ers?|ors?|ments?|ly|ities|ity|ness|ions?|ives?|ables?|ible|s|e|y)$"
)
_LEAST_STEM = 3
_LEAST_ROOT = 5
_PAST_FORMS = (
    "was be, were be, been be, became become, began begin, begun begin, broke break, broken break, brought "
    "bring, built build, chose choose, chosen choose, came come, did do, done do, drew draw, drawn draw, "
    "fell fall, fallen fall, found find, got get, gotten get, gave give, given give, went go, gone go, held "
    "hold, kept keep, left leave, lost lose, made make, met meet, paid pay, ran run, said say, saw see, seen "
    "see, sent send, shown show, spoke speak, spoken speak, took take, taken take, told tell, thought think, "
    "understood understand, withdrew withdraw, withdrawn withdraw, wrote write, written write, won win"
)
_IRREGULAR = dict(pair.split() for pair in _PAST_FORMS.split(", "))


def word_set(text: str) -> frozenset[str]:
    """Return the words of a table that is written as text."""
    return frozenset(text.split())


@lru_cache(maxsize=65536)
def stem(word: str) -> str:
    """Return a stem that the inflections of a word and some of its relatives share."""
    bare = word.removesuffix("'s").removesuffix("'")
    bare = _IRREGULAR.get(bare, bare)
    for _ in range(2):
        shorter = _SUFFIX.sub("", bare)
        if len(shorter) < _LEAST_STEM:
            bare = bare[:-1] if bare.endswith("s") and len(bare) > _LEAST_STEM else bare
            break
        bare = shorter
    return bare[:-1] if len(bare) > _LEAST_STEM and bare[-1] == bare[-2] else bare


def is_past(word: str) -> bool:
    """Return whether a verb form may say that something was done."""
    return word in _IRREGULAR or (len(word) > _LEAST_ROOT - 1 and word.endswith("ed"))


def words(text: str) -> list[str]:
    return _WORD.findall(fold(text))


def stems(text: str) -> set[str]:
    return {stem(word) for word in words(text)}


def has_root_in(word: str, known: set[str]) -> bool:
    """Return whether the set has a stem or another word with the same root."""
    root = word[:_LEAST_ROOT]
    return word in known or (len(root) == _LEAST_ROOT and any(other.startswith(root) for other in known))


def numbers(text: str) -> Iterator[str]:
    """Yield the numbers in digits with their parts, the numbers in words, months and days."""
    folded = fold(text)
    for match in _NUMBER.finditer(folded):
        yield match[0]
        yield from (part.lstrip("0") or "0" for part in re.split(r"\D", match[0]))
    for word in re.findall(r"[a-z]+", folded):
        if word in _NUMBER_WORDS:
            yield _NUMBER_WORDS[word]
        elif word in MONTHS[:4] + MONTHS[5:] or word in _DAYS:
            yield word


def numbers_stated(text: str) -> set[str]:
    """Return the numbers that a sentence states. "Both" and "second" do not count."""
    kept = " ".join(word for word in fold(text).split() if word.strip(".,;:") not in _COUNTS_NOTHING)
    return set(numbers(kept))


def counted(text: str) -> dict[str, set[str]]:
    """Return the numbers directly before a thing, or one word before it: "two failed tests"."""
    found: dict[str, set[str]] = {}
    folded = fold(text)
    for match in re.finditer(r"(?<![\w.:/-])(\d+|[a-z]+)(?=[ -]([a-z][\w]*)(?:[ -]([a-z][\w]*))?)", folded):
        number = match[1] if match[1].isdigit() else _NUMBER_WORDS.get(match[1])
        if number is None or match[1] in _COUNTS_NOTHING:
            continue
        for thing in match[2], match[3]:
            if thing and stem(thing) not in GENERIC and len(thing) > _LEAST_STEM:
                found.setdefault(stem(thing), set()).add(number)
    # Also "option 3", "version 2", and votes.
    for match in re.finditer(r"\b([a-z]{4,})[ -](\d+)(?![\w.])", folded):
        if stem(match[1]) not in GENERIC:
            found.setdefault(f"{stem(match[1])} no.", set()).add(match[2])
    for match in re.finditer(r"(?<![\w+-])([+-]) ?(\d)(?![\w.])", folded):
        found.setdefault("vote", set()).add(match[1] + match[2])
    return found


def changes_number(stated: str, cited: str) -> bool:
    """Return whether a number replaces another with the same neighbor word and as many digits."""
    ours, theirs = _neighbors(stated), _neighbors(cited)
    changed = ours.keys() - theirs.keys()
    return any(
        len(number) == len(other) and ours[number] & theirs[other]
        for number in changed
        for other in theirs.keys() - ours.keys()
    )


def _neighbors(text: str) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for match in re.finditer(r"(?:([a-z]+)[ -])?(?<![\w.])(\d+)(?![\w.]\w)(?:[ -]([a-z]+))?", fold(text)):
        around = found.setdefault(match[2], set())
        around |= {f"{match[1]} _"} if match[1] else set()
        around |= {f"_ {match[3]}"} if match[3] else set()
    return found


_FUNCTION_WORDS = (
    "be is are was were do does did have has had it this that the a an to of in on for and or with as at by "
    "from so very really i we you he she they my our your its his her their any some all at quite yet even "
    "too been"
)
_GENERIC_WORDS = (
    "can could will would shall should may might must say tell think believe find note report explain answer "
    "ask wonder suggest propose want like call give add see get make put draft mail thread patch proposal "
    "version question change write reply point raise describe mention concern mean argue state consider need "
    "use idea issue list group people person member work them these those which who whom whose what when "
    "where why how whether while whereas although though itself and but if into off onto out over than then "
    "up without about after before because since such also only just more most another other both each one "
    "two first later once again still there here not no nor neither never during according approve accept "
    "agree argue admit apologize claim clarify clear concede convince declare decline dispute doubt "
    "explanation favor favour finally hold indifferent instead main mind note opinion oppose object overall "
    "part place praise prefer presume promise protest rather reason recommend refer refuse regard regret "
    "reject reply request satisfied suppose plus nak ack suspect support surprise try unsure verdict view "
    "vote warn welcome well"
)
FUNCTION_WORDS = frozenset(map(stem, _FUNCTION_WORDS.split()))
"""Stems of words that any clause may have."""
GENERIC = FUNCTION_WORDS | frozenset(map(stem, _GENERIC_WORDS.split()))
"""Stems of words without content of their own."""
