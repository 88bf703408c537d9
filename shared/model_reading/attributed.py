"""Checks whether a sentence credits the right person.

Words alone cannot prove a wrong credit, so a sentence that fails is shown as the model's reading.
"""

import re
from collections.abc import Iterator, Sequence
from itertools import islice

from shared.model_reading.clauses import SummarySentence, clauses, is_agent
from shared.model_reading.entailed import around
from shared.model_reading.evidence import LocatedQuote
from shared.model_reading.own_words import quotable
from shared.model_reading.words import GENERIC, is_past, stem, stems, words
from shared.reading.linked_thread import LinkedThread
from shared.reading.mails import fold

_MIN_SHARED = 2
_MOST_WORDS = 0.6
"""The share of a clause's content words at which an earlier mail counts as saying the same."""
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
_MENTIONS_TURN = re.compile(
    r"\b(?:withdr[ae]w\w*|retract\w*|first|initially|originally|at first|later|then|earlier|before|until|"
    r"no longer|dropped|conced\w*|convinced|changed|now)\b"
)
_HEDGES = re.compile(
    r"\b(?:maybe|perhaps|might|may|probably|possibly|presumably|likely|seems?|suspect|guess|wonder|unsure|"
    r"not (?:\w+ )?sure|could be|iirc|afaik|afaict|as far as i (?:know|remember|can tell)|"
    r"i believe|imagine)\b"
)
_MENTIONS_HEDGE = re.compile(
    r"\b(?:may|might|maybe|perhaps|could|would|should|probabl\w+|possib\w+|presum\w+|likel\w+|unlikely|"
    r"seem\w*|appear\w*|suspect\w*|guess\w*|wonder\w*|unsure|(?:not|isn't) \w*\s?(?:sure|certain)|doubt\w*|"
    r"think\w*|thought|believ\w*|suggest\w*|propos\w*|lean\w*|hop\w*|expect\w*|consider\w*|ask\w*|"
    r"question\w*|whether|if|prefer\w*|feel\w*|felt|assum\w*|recall\w*|open to|hesita\w*|tentativ\w*|"
    r"uncertain\w*|worr\w*|fear\w*|concern\w*|argu\w*|says?|said)\b"
)
_FUTURE = re.compile(
    r"'ll\b|\b(?:will|would|should|could|may|might|shall|going to|plan(?:s|ning)? to|want to|"
    r"intend|let's|let me|please|try to|need to|needs to|have to|hope to)\b|\?\W*$"
)
_MENTIONS_FUTURE = re.compile(
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


def misattributed(thread: LinkedThread, sentence: SummarySentence) -> str:
    """Return why the sentence may credit the wrong person or time, or an empty string."""
    for clause, people, own in _acts(sentence):
        if _says_words_of_another(clause, own, sentence.quotes):
            return "its quotes are by another person"
        if _ORIGINATES.search(fold(clause)) and _is_said_before(thread, clause, people, own):
            return "another person wrote it earlier"
        if not _MENTIONS_TURN.search(sentence.folded) and _turns_back_later(thread, people, own):
            return "the person wrote otherwise later"
    return ""


def overstated(sentence: SummarySentence) -> str:
    """Return why the sentence is surer than its quotes or adds to them, or an empty string."""
    if all(map(_HEDGES.search, sentence.quoted)) and not _MENTIONS_HEDGE.search(sentence.folded):
        return "its quotes are less sure"
    if all(map(_FUTURE.search, sentence.quoted)) and _states_deed(sentence):
        return "its quotes look ahead"
    if _CONDITION.search(sentence.folded) and not any(
        _TERMS.search(fold(around(quote))) for quote in sentence.quotes
    ):
        return "it gives a condition that nothing cited gives"
    return ""


def _acts(sentence: SummarySentence) -> Iterator[tuple[str, set[str], list[LocatedQuote]]]:
    """Yield each clause that has acting people, with these people and their quotes."""
    for clause in clauses(sentence.text):
        acting = [name for name in sentence.agents if name in clause and is_agent(name, clause)]
        people = set().union(*(sentence.agents[name] for name in acting))
        own = [quote for quote in sentence.quotes if quote.mail.person in people]
        if own:
            yield clause, people, own


def _content_words(text: str) -> set[str]:
    return stems(text) - GENERIC


def _says_words_of_another(clause: str, own: Sequence[LocatedQuote], found: Sequence[LocatedQuote]) -> bool:
    """Return whether quotes of other people share more words with the clause than quotes of its people."""
    mine = _content_words(" ".join(quote.text for quote in own))
    others = _content_words(" ".join(quote.text for quote in found if quote not in own))
    clause_words = _content_words(clause)
    return len(clause_words & others - mine) >= max(_MIN_SHARED, len(clause_words & mine) + 1)


def _is_said_before(thread: LinkedThread, clause: str, people: set[str], own: Sequence[LocatedQuote]) -> bool:
    """Return whether an earlier mail by another person has most words of the clause."""
    clause_words = _content_words(clause)
    if len(clause_words) < _MIN_SHARED:
        return False
    first = min(quote.mail.number for quote in own)
    for mail in islice(thread.mails, first):
        if mail.person in people:
            return False  # their own mail came first
        mail_words = _content_words(" ".join(sentence.text for sentence in quotable(mail)))
        if len(clause_words & mail_words) >= _MOST_WORDS * len(clause_words):
            return True
    return False


def _turns_back_later(thread: LinkedThread, people: set[str], own: Sequence[LocatedQuote]) -> bool:
    last = max(quote.mail.number for quote in own)
    later = (mail for mail in islice(thread.mails, last + 1, None) if mail.person in people)
    return any(_TURNS_BACK.search(sentence.folded) for mail in later for sentence in quotable(mail))


def _states_deed(sentence: SummarySentence) -> bool:
    """Return whether the sentence states a past deed, and no plan, wish or request."""
    past = any(is_past(word) and stem(word) not in GENERIC for word in words(sentence.folded))
    return past and not _MENTIONS_FUTURE.search(sentence.folded)
