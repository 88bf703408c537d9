"""How a thread ends, as the model reads it: by whose words, and whether these can show such an end."""

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
    """A sentence that decides, by one whom the source names as deciding."""

    authority: Authority
    sentence: OwnSentence


def ruling(thread: LinkedThread, kind: OutcomeKind, found: Sequence[LocatedQuote]) -> RulingWords | None:
    """Who decided: a role alone does not turn a remark into a decision."""
    if kind not in _IN_FORM:
        return None
    for quote in found:
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
    return any(cues.IN_PERSON.search(one.folded) for one in quote.mail.sentences)


def rules(sentence: OwnSentence, kind: OutcomeKind | None = None) -> bool:
    """Words that accept, rule, reject or close, and set no terms."""
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


def why_not(
    kind: OutcomeKind, found: Sequence[LocatedQuote], sides: Sequence[PositionStance], thread: LinkedThread
) -> str:
    """Why the quoted words cannot show this end; empty where they can."""
    sentences = [one for quote in found for one in quote.sentences]
    if kind is OutcomeKind.CONTESTED:
        several = len({quote.mail.person for quote in found}) > 1
        return "" if several or PositionStance.OPPOSE in sides else "nobody is seen on the other side"
    if kind is OutcomeKind.ANSWERED:
        return _unanswered(found, thread)
    if kind not in _IN_FORM:
        return ""
    if kind is OutcomeKind.ACCEPTED:
        return "" if _accepted(sentences, found, sides, thread) else "no quoted word accepts it"
    if kind is OutcomeKind.REJECTED:
        shows = any(
            _REJECTS.search(one.folded) or cues.REJECTS.finds(one) or polarity(one.text) is Polarity.AGAINST
            for one in sentences
        )
        agreed = {polarity(one.text) for one in sentences} == {Polarity.FOR}
        return "" if shows and not agreed else "no quoted word rejects it"
    shows = any(
        _CHANGES.search(one.folded) or cues.PROMISES.finds(one) or cues.ACCEPTS.finds(one)
        for one in sentences
    )
    return "" if shows else "no quoted word changes it"


def _accepted(
    sentences: Sequence[OwnSentence],
    found: Sequence[LocatedQuote],
    sides: Sequence[PositionStance],
    thread: LinkedThread,
) -> bool:
    """Words that take it, and not on terms; or several who are for it and nobody against."""
    taken = any(
        (
            _ACCEPTS.search(one.folded)
            or cues.ACCEPTS.finds(one)
            or closings.settles_it(one)
            or cues.PROMISES.finds(one)
        )
        and not one.asks
        and not _CONDITION.search(one.folded)
        and polarity(one.text) is not Polarity.AGAINST
        for one in sentences
    )
    bare = all(re.match(r"^\W{0,4}\+\s?1\b", one.folded) for one in sentences)
    if PositionStance.OPPOSE in sides and not any(
        thread.people.role(quote.mail.number) and any(rules(one) for one in quote.sentences)
        for quote in found
    ):
        return False
    return taken and (not bare or not _is_formal_vote(thread))


def _is_formal_vote(thread: LinkedThread) -> bool:
    """Votes alone close no vote that has a form."""
    return "vote" in thread.root.mail.subject.lower()


def _unanswered(found: Sequence[LocatedQuote], thread: LinkedThread) -> str:
    asker = thread.root.person
    others = [quote for quote in found if quote.mail.person != asker]
    thanks = [
        one
        for quote in found
        if quote.mail.person == asker and quote.mail.number
        for one in quote.sentences
        if not cues.NEGATION.finds(one)
    ]
    if not others and not thanks:
        return "nobody else is quoted with an answer"
    later = [
        mail
        for mail in thread.mails
        if mail.person == asker and mail.number > max((one.mail.number for one in others), default=0)
    ]
    denied = any(
        re.search(
            r"\b(?:does(?:n't| not)|did(?:n't| not)|not|no) (?:\w+ ){0,3}(?:work|help|solve)\b|\bno luck\b|"
            r"\bgot nothing\b",
            one.folded,
        )
        for mail in later
        for one in mail.sentences
    )
    return "who asked says later that it did not help" if denied else ""
