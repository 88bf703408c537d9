"""Checks whether quoted words can show the outcome that a model claims, and who ruled it."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from shared.model_reading.evidence import LocatedQuote
from shared.model_reading.polarity import Polarity, polarity
from shared.models.values import Authority, OutcomeKind, PositionStance
from shared.reading import closings, cues
from shared.reading.closings import Ruling
from shared.reading.linked_thread import LinkedThread, display_name
from shared.reading.mails import OwnSentence
from shared.reading.rulings import DECIDING_ROLES
from shared.reading.stances import accepts

_TURNED_DOWN = frozenset({Ruling.AGAINST, Ruling.NONE})
_ACCEPTS = re.compile(
    r"\b(?:will queue|queued|merged?|applied|pick (?:it|this|these|them) up|picked up|adopt(?:ed|ing)?|"
    r"accepted|approved|has passed|passed|promote|concludes?|ready to (?:move forward|merge)|"
    r"go(?:ing)? ahead|enough consensus|done|committed|pushed|marked .{0,30}to merge|put this out|"
    r"request\w* publication|please do|seconded?|\+\s?1|take (?:it|this|them))\b|\+\s?1\b"
)
_REJECTS = re.compile(
    r"\b(?:reject\w*|cancel\w*|withdraw\w*|withdrawn|decline\w*|refuse\w*|won't|will not|not (?:going to|"
    r"adopt\w*|accept\w*|acceptable)|drop(?:ped|ping)?|has to stay|agree with (?:it|you|that)|nak|veto\w*|"
    r"worse than|turned down|never ?mind)\b|-\s?1\b"
)
_CHANGES = re.compile(
    r"\b(?:will|'ll|shall|can|i've|we've|have|both) (?:\w+ ){0,3}(?:fix\w*|updat\w*|chang\w*|edit|add\w*|"
    r"re-?send|re-?roll|modify|address\w*|incorporat\w*|send|reword\w*|clarif\w*|follow|improve\w*|split|"
    r"expand\w*|allot|merged|remove\w*|ask(?:ed)?)\b|\b(?:fixed|changed|updated|split|new version|"
    r"next version|editor'?s copy|works for me|reasonable|passable|looks (?:fine|much better|good)|"
    r"use your text|suggest\w*|expect the authors|calculations)\b"
)
_CONDITION = re.compile(
    r"\b(?:if|unless|once|until|would|could|might|may|should(?! be (?:adopted|merged))|perhaps|whether|"
    r"probably|propose|suggest|i think|we probably)\b"
)
_IN_FORM = frozenset({OutcomeKind.ACCEPTED, OutcomeKind.REVISED, OutcomeKind.REJECTED})


@dataclass(frozen=True, slots=True)
class RulingWords:
    """A sentence that decides, and the role holder who wrote it."""

    authority: Authority
    sentence: OwnSentence


def ruling(thread: LinkedThread, kind: OutcomeKind, quotes: Sequence[LocatedQuote]) -> RulingWords | None:
    """Return the ruling of a person with a deciding role, or None if no quote rules."""
    if kind not in _IN_FORM:
        return None
    for quote in quotes:
        holder = thread.people.role(quote.mail.number)
        if holder is None or holder.role not in DECIDING_ROLES or _speaks_in_person(quote):
            continue
        for sentence in quote.sentences:
            if rules(sentence, kind):
                mail = quote.mail.mail
                name = display_name(mail.name, mail.address)
                return RulingWords(Authority(mail.address.lower(), name, holder.role), sentence)
    return None


def _speaks_in_person(quote: LocatedQuote) -> bool:
    return quote.mail.matches(cues.IN_PERSON)


def rules(sentence: OwnSentence, kind: OutcomeKind | None = None) -> bool:
    """Return whether words accept, rule, reject or close without setting terms."""
    if sentence.asks or cues.REPORTED.finds(sentence):
        return False
    rejects = cues.REJECTS.finds(sentence) or closings.ruling_of(sentence, "") in _TURNED_DOWN
    closing = cues.closing_of(sentence)
    settles = (
        accepts(sentence)
        or closings.settles_it(sentence)
        or (cues.ADVANCES.finds(sentence) and not cues.ON_WHAT_TERMS.search(sentence.folded))
        or closing == "passed"
    )
    if kind is OutcomeKind.REJECTED:
        return (rejects or closing == "cancelled") and not cues.ON_WHAT_TERMS.search(sentence.folded)
    if kind is None:
        return settles or rejects or closing is not None
    return settles and not rejects and closing != "cancelled"


def outcome_refusal(
    kind: OutcomeKind, quotes: Sequence[LocatedQuote], sides: Sequence[PositionStance], thread: LinkedThread
) -> str:
    """Return why the quotes cannot show this outcome, or an empty string if they can."""
    sentences = [sentence for quote in quotes for sentence in quote.sentences]
    if kind is OutcomeKind.CONTESTED:
        several = len({quote.mail.person for quote in quotes}) > 1
        return "" if several or PositionStance.OPPOSE in sides else "no person is on the other side"
    if kind is OutcomeKind.ANSWERED:
        return _unanswered(quotes, thread)
    if kind not in _IN_FORM:
        return ""
    if kind is OutcomeKind.ACCEPTED:
        return "" if _accepted(sentences, quotes, sides, thread) else "no quoted word accepts it"
    if kind is OutcomeKind.REJECTED:
        shows = any(
            _REJECTS.search(sentence.folded)
            or cues.REJECTS.finds(sentence)
            or polarity(sentence.text) is Polarity.AGAINST
            for sentence in sentences
        )
        agreed = {polarity(sentence.text) for sentence in sentences} == {Polarity.FOR}
        return "" if shows and not agreed else "no quoted word rejects it"
    shows = any(
        _CHANGES.search(sentence.folded) or cues.PROMISES.finds(sentence) or cues.ACCEPTS.finds(sentence)
        for sentence in sentences
    )
    return "" if shows else "no quoted word changes it"


def _accepted(
    sentences: Sequence[OwnSentence],
    quotes: Sequence[LocatedQuote],
    sides: Sequence[PositionStance],
    thread: LinkedThread,
) -> bool:
    """Return whether a quote accepts without terms. An opposed outcome needs a ruling by a role holder."""
    is_accepted = any(
        (
            _ACCEPTS.search(sentence.folded)
            or cues.ACCEPTS.finds(sentence)
            or closings.settles_it(sentence)
            or cues.PROMISES.finds(sentence)
        )
        and not sentence.asks
        and not _CONDITION.search(sentence.folded)
        and polarity(sentence.text) is not Polarity.AGAINST
        for sentence in sentences
    )
    is_bare = all(re.match(r"^\W{0,4}\+\s?1\b", sentence.folded) for sentence in sentences)
    if PositionStance.OPPOSE in sides and not any(
        thread.people.role(quote.mail.number) and any(rules(sentence) for sentence in quote.sentences)
        for quote in quotes
    ):
        return False
    return is_accepted and (not is_bare or not _is_formal_vote(thread))


def _is_formal_vote(thread: LinkedThread) -> bool:
    """Return whether the thread is a vote, which bare votes alone do not close."""
    return "vote" in thread.root.mail.subject.lower()


def _unanswered(quotes: Sequence[LocatedQuote], thread: LinkedThread) -> str:
    asker = thread.root.person
    others = [quote for quote in quotes if quote.mail.person != asker]
    thanks = [
        sentence
        for quote in quotes
        if quote.mail.person == asker and quote.mail.number
        for sentence in quote.sentences
        if not cues.NEGATION.finds(sentence)
    ]
    if not others and not thanks:
        return "nobody else is quoted with an answer"
    later = [
        mail
        for mail in thread.mails
        if mail.person == asker and mail.number > max((quote.mail.number for quote in others), default=0)
    ]
    denied = any(
        re.search(
            r"\b(?:does(?:n't| not)|did(?:n't| not)|not|no) (?:\w+ ){0,3}(?:work|help|solve)\b|\bno luck\b|"
            r"\bgot nothing\b",
            sentence.folded,
        )
        for mail in later
        for sentence in mail.sentences
    )
    return "the asker says later that it did not help" if denied else ""
