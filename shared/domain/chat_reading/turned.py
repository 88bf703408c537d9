"""Whether a sentence turns what it cites: a "not", a comparison, a word by its contrary, a part into all."""

import re
from collections.abc import Sequence

from shared.domain.chat_reading.evidence import LocatedQuote
from shared.domain.chat_reading.told import Told
from shared.domain.chat_reading.wording import SMALL, stem, words

_ELLIPSIS = re.compile(
    r"\b(?:does|do|did|is|are|was|were|will|has|have)(?: not|n't)[.,;!)]|\b(?:did|does)[.,;!)]"
)
_ADDRESS = re.compile(r"\bor not\b|\bhttps?://\S+|\bwww\.\S+|\S+@\S+")
_PART = re.compile(r"[;:]|, (?:but|however|and|as|since|because|while|so)\b|\bbut\b")
_NEGATIONS = frozenset(("not", "never", "cannot", "hardly"))
"""Those of verbs: "no" and "without" deny that there is something, and are told in many ways."""
_FAR = re.compile(r"\b(?:far from|no longer|instead of|rather than|fail(?:s|ed)? to|neither|nor)\b")
_LIGHT_WORDS = (
    "seem appear think believe expect look like want try really super very entirely quite particularly fully "
    "necessarily easily actually currently strictly simply longer sure aware able going"
)
_LIGHT = frozenset(stem(word) for word in _LIGHT_WORDS.split())
"""Stems of words through which a negation reaches the next: "does not seem to work"."""
_THAN = re.compile(r"\b(?:than|preferable to|as \w+ as)\b")
_WHOLE = re.compile(r"\b(?:all|every)\b")
_PARTLY = re.compile(r"\b(?:some|at least|this one|one of|single|most|few|several|part of|only)\b")
_PAIRS = (
    "like/dislike good/bad fine/wrong works/fails useful/useless accept/reject easy/hard "
    "easy/difficult better/worse needed/unneeded needed/unnecessary add/remove keep/remove keep/drop "
    "merge/revert more/less enable/disable possible/impossible increase/decrease faster/slower "
    "larger/smaller bigger/smaller allow/forbid allow/prevent include/exclude start/stop "
    "prefer/reject approve/reject adopt/reject happy/unhappy comfortable/uncomfortable clear/unclear "
    "safe/unsafe secure/insecure compatible/incompatible valid/invalid necessary/unnecessary "
    "reasonable/unreasonable passed/failed succeeded/failed ready/unready correct/incorrect "
    "right/wrong convinced/unconvinced likely/unlikely mandatory/optional required/optional "
    "always/never simpler/harder simple/complex"
)
_CONTRARIES = tuple(tuple(map(stem, pair.split("/"))) for pair in _PAIRS.split())


def turned_negation(folded: str, found: Sequence[LocatedQuote]) -> bool:
    """A word that the cited words deny and the sentence does not, or the other way round.

    Clause by clause: each is held against the cited clause that has most of its words.
    """
    if any(_ELLIPSIS.search(quote.text.lower()) for quote in found):
        return False  # "the one passes, the other does not": what is denied stands elsewhere
    said = [
        governed
        for quote in found
        for one in quote.sentences
        if not one.asks or folded.endswith("?")  # "We don't need to, right?" denies nothing
        for part in _PART.split(one.folded)
        if (governed := _governed(part))
    ]
    for part in _PART.split(folded):
        told = _governed(part)
        if not told or not said:
            continue
        best = max(said, key=lambda one: (len(one.keys() & told.keys()), -len(one)))
        shared = best.keys() & told.keys()
        is_same = shared and len(shared) * 2 >= min(len(best), len(told))
        if is_same and any(best[word] is not told[word] for word in shared):
            return True
    return False


def _governed(folded: str) -> dict[str, bool]:
    """Of each telling word whether a negation governs it; a word that stands both ways is left out."""
    found: dict[str, set[bool]] = {}
    plain = _FAR.sub("not", _ADDRESS.sub(" ", folded))
    negated = False
    for sign in re.findall(r"[\w']+|[,.;:!?()]", plain):
        root = stem(sign)
        if sign in ",.;:!?()":
            negated = False
        elif sign in _NEGATIONS or sign.endswith("n't"):
            negated = not negated
        elif root not in SMALL and sign[0].isalpha() and len(root) > 1:
            found.setdefault(root, set()).add(negated)
            # It governs the first word after it that tells anything.
            negated = negated and root in _LIGHT
    return {word: next(iter(ways)) for word, ways in found.items() if len(ways) == 1}


def says_contrary(folded: str, cited: str) -> bool:
    """A word whose contrary is cited, and the word itself is not."""
    told = {stem(word) for word in words(folded)}
    said = {stem(word) for word in words(cited)}
    return any(
        (one in told and other in said and other not in told and one not in said)
        or (other in told and one in said and one not in told and other not in said)
        for one, other in _CONTRARIES
    )


def turned_comparison(folded: str, cited: str) -> bool:
    mine, theirs = _THAN.search(folded), _THAN.search(cited)
    if mine is None or theirs is None:
        return False
    left, right = _sides(folded, mine)
    other_left, other_right = _sides(cited, theirs)
    same = len(left & other_left) + len(right & other_right)
    turned = len(left & other_right) + len(right & other_left)
    order, other = _order(folded, mine), _order(cited, theirs)
    return turned > same or (len(order) > 1 and order != other and sorted(order) == sorted(other))


def _order(text: str, match: re.Match[str]) -> list[str]:
    """The words after the comparison that also stand before it, in their order."""
    before = {stem(word) for word in words(text[: match.start()])}
    after = [stem(word) for word in words(text[match.end() : match.end() + 40])]
    return [word for word in after if word in before and word not in SMALL]


def _sides(text: str, match: re.Match[str]) -> tuple[set[str], set[str]]:
    left = {stem(word) for word in words(text[max(0, match.start() - 100) : match.start()])} - SMALL
    right = {stem(word) for word in words(text[match.end() : match.end() + 100])} - SMALL
    return left - right, right - left


def widens(told: Told) -> bool:
    """It speaks of all, and what it cites of a part."""
    return bool(_WHOLE.search(told.folded) and _PARTLY.search(told.cited) and not _WHOLE.search(told.cited))
