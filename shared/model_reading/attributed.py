"""Whether a sentence credits the right person: with their own words, a proposal of theirs, their last word.

A sentence that fails here is shown as the model's reading, because words alone cannot prove it wrong.
"""

import re
from collections.abc import Iterator, Sequence
from itertools import islice

from shared.model_reading.clauses import Told, clauses, is_agent
from shared.model_reading.entailed import around
from shared.model_reading.evidence import LocatedQuote
from shared.model_reading.own_words import quotable
from shared.model_reading.words import TELLING, is_past, stem, stems, words
from shared.reading.linked_thread import LinkedThread
from shared.reading.mails import fold

_LEAST_SHARED = 2
_MOST_WORDS = 0.6
"""The share of a clause's telling words at which an earlier mail says the same."""
_ORIGINATES = re.compile(
    r"\b(?:propos\w*|suggest\w*|introduc\w*|rais(?:es|ed)|brought up|brings up|request\w*|submit\w*|offer\w*|"
    r"point(?:s|ed)? out|not(?:es|ed)|report(?:s|ed)|idea|came up with)\b"
)
_TURNS_BACK = re.compile(
    r"\b(?:withdr[ae]w\w*|retract\w*|never ?mind|no longer|on second thought|chang\w+ my mind|i was wrong|"
    r"i stand corrected|you(?:'re| are) right|fair enough|convinced|concede|resolved|ignore (?:my|that)|"
    r"scratch that|take (?:it|that) back|i(?:'m| am) (?:now )?(?:fine|ok|okay|happy) with|"
    r"sorry for the noise)\b"
)
_TOLD_TURN = re.compile(
    r"\b(?:withdr[ae]w\w*|retract\w*|first|initially|originally|at first|later|then|earlier|before|until|"
    r"no longer|dropped|conced\w*|convinced|changed|now)\b"
)
_HEDGES = re.compile(
    r"\b(?:maybe|perhaps|might|may|probably|possibly|presumably|likely|seems?|suspect|guess|wonder|unsure|"
    r"not (?:\w+ )?sure|could be|iirc|afaik|afaict|as far as i (?:know|remember|can tell)|"
    r"i believe|imagine)\b"
)
_TELLS_HEDGE = re.compile(
    r"\b(?:may|might|maybe|perhaps|could|would|should|probabl\w+|possib\w+|presum\w+|"
    r"likel\w+|unlikely|seem\w*|"
    r"appear\w*|suspect\w*|guess\w*|wonder\w*|unsure|(?:not|isn't) \w*\s?(?:sure|certain)|"
    r"doubt\w*|think\w*|thought|"
    r"believ\w*|suggest\w*|propos\w*|lean\w*|hop\w*|expect\w*|consider\w*|ask\w*|question\w*|whether|if|"
    r"prefer\w*|feel\w*|felt|assum\w*|recall\w*|open to|hesita\w*|tentativ\w*|uncertain\w*|worr\w*|fear\w*|"
    r"concern\w*|argu\w*|says?|said)\b"
)
_AHEAD = re.compile(
    r"'ll\b|\b(?:will|would|should|could|may|might|shall|going to|plan(?:s|ning)? to|want to|"
    r"intend|let's|let me|please|try to|need to|needs to|have to|hope to)\b|\?\W*$"
)
_TELLS_AHEAD = re.compile(
    r"'ll\b|\b(?:will|would|should|could|may|might|must|to|if|plan\w*|intend\w*|propos\w*|suggest\w*|ask\w*|"
    r"want\w*|promis\w*|offer\w*|request\w*|recommend\w*|agree\w*|wish\w*|hop\w*|expect\w*|consider\w*|"
    r"call\w*|need\w*|whether|willing|ready|urge\w*|announc\w*|invit\w*)\b"
)
_CONDITION = re.compile(
    r"(?<!ask )(?<!asks )(?<!asked )(?<!see )(?<!know )(?<!sure )(?<!wonders )(?<!wondered )\bif\b|"
    r"\b(?:unless|provided (?:that )?|as long as|on (?:the )?condition|only when|only after)\b"
)
_TERMS = re.compile(
    r"\b(?:if|unless|provid\w+|as long as|condition\w*|when|after|until|once|whether|would)\b"
)


def misattributed(thread: LinkedThread, told: Told) -> str:
    """Return why the sentence may credit the wrong person or moment. Empty if nothing speaks against it."""
    for clause, people, own in _acts(told):
        if _says_words_of_another(clause, own, told.found):
            return "the words under it are by another person"
        if _ORIGINATES.search(fold(clause)) and _is_said_before(thread, clause, people, own):
            return "another person wrote it earlier"
        if not _TOLD_TURN.search(told.folded) and _turns_back_later(thread, people, own):
            return "the person wrote otherwise later"
    return ""


def overstated(told: Told) -> str:
    """Return why the sentence is surer than the words under it, or adds to them. Empty if it is not."""
    if all(map(_HEDGES.search, told.sentences)) and not _TELLS_HEDGE.search(told.folded):
        return "the words under it are less sure"
    if all(map(_AHEAD.search, told.sentences)) and _tells_deed(told):
        return "the words under it look ahead"
    if _CONDITION.search(told.folded) and not any(_TERMS.search(fold(around(one))) for one in told.found):
        return "it gives a condition that nothing cited gives"
    return ""


def _acts(told: Told) -> Iterator[tuple[str, set[str], list[LocatedQuote]]]:
    """Yield each clause in which people act, with the people and their cited words."""
    for clause in clauses(told.text):
        acting = [name for name in told.agents if name in clause and is_agent(name, clause)]
        people = set().union(*(told.agents[name] for name in acting))
        own = [quote for quote in told.found if quote.mail.person in people]
        if own:
            yield clause, people, own


def _telling(text: str) -> set[str]:
    return stems(text) - TELLING


def _says_words_of_another(clause: str, own: Sequence[LocatedQuote], found: Sequence[LocatedQuote]) -> bool:
    """Whether quotes of other people have more of the clause's words than the quotes of its people."""
    mine = _telling(" ".join(quote.text for quote in own))
    others = _telling(" ".join(quote.text for quote in found if quote not in own))
    told = _telling(clause)
    return len(told & others - mine) >= max(_LEAST_SHARED, len(told & mine) + 1)


def _is_said_before(thread: LinkedThread, clause: str, people: set[str], own: Sequence[LocatedQuote]) -> bool:
    """Whether a mail by another person, before the cited ones, has most words of the clause."""
    told = _telling(clause)
    if len(told) < _LEAST_SHARED:
        return False
    first = min(quote.mail.number for quote in own)
    for mail in islice(thread.mails, first):
        if mail.person in people:
            return False  # their own mail came first
        said = _telling(" ".join(sentence.text for sentence in quotable(mail)))
        if len(told & said) >= _MOST_WORDS * len(told):
            return True
    return False


def _turns_back_later(thread: LinkedThread, people: set[str], own: Sequence[LocatedQuote]) -> bool:
    """Whether the person takes something back in a later mail."""
    last = max(quote.mail.number for quote in own)
    later = (mail for mail in islice(thread.mails, last + 1, None) if mail.person in people)
    return any(_TURNS_BACK.search(sentence.folded) for mail in later for sentence in quotable(mail))


def _tells_deed(told: Told) -> bool:
    """Whether the sentence tells a deed of the past, and no plan, wish or request."""
    past = any(is_past(word) and stem(word) not in TELLING for word in words(told.folded))
    return past and not _TELLS_AHEAD.search(told.folded)
