"""Checks a position that the model claims: its words, their direction, and what they answer.

An agreement supports what it answers: the proposal, or the side of the person whom it answers. Elsewhere it
supports something else.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache

from shared.model_reading.answer import ClaimedPosition
from shared.model_reading.evidence import LocatedQuote
from shared.model_reading.numbered import person_number
from shared.model_reading.polarity import Polarity, judgment, leaning, outright, polarity
from shared.model_reading.words import GENERIC, stems
from shared.models.values import PositionStance
from shared.reading import cues
from shared.reading.linked_thread import LinkedThread, display_name
from shared.reading.mails import OwnSentence, fold
from shared.reading.proposal import Proposal, find_proposal
from shared.reading.stance_cues import DOUBTS, OPPOSES, OWN_DOUBTS
from shared.reading.stances import WHOLE, accepts, cue_of, is_partial, kind_of_support

_SAME = {PositionStance.SUPPORT: Polarity.FOR, PositionStance.OPPOSE: Polarity.AGAINST}
_CONTRARY = {PositionStance.SUPPORT: Polarity.AGAINST, PositionStance.OPPOSE: Polarity.FOR}
_OTHER = {PositionStance.SUPPORT: PositionStance.OPPOSE, PositionStance.OPPOSE: PositionStance.SUPPORT}
_TURNS = re.compile(
    r"(?:n't|\b(?:not|never|no longer|cannot|nor|neither|hardly|without|nobody|no one|unless|if|whether|who|"
    r"he|she|they|rather than|instead of|pretend|claims?|said|says))(?:\W+(?!but\b)[\w'-]+){0,6}\W*$"
)
"""Words before a quote that change its meaning: a negation, a condition, another person's view."""
_OWN_VIEW = re.compile(r"\b(?:i|i'm|i'd|i've|we|my|our|me|us|imo|imho)\b|^\W{0,4}[+-]\s?1\b")
_VOTE = re.compile(r"^\W{0,4}[+-]\s?1\b")
_BARE = re.compile(
    r"^\W{0,4}(?:(?:and|so|well|oh|ah|hm+|heh|but|however|yeah|thanks?)\W+)*(?:\+\s?1|yes|yep|yeah|yup|right|"
    r"true|exactly|indeed|agreed?|i (?:\w+ )?agree|fair enough|good point|correct|sure|absolutely|definitely|"
    r"ok(?:ay)?|you(?:'re| are) right|same here|me too|(?:that )?makes sense|good idea|sounds good|ditto|"
    r"no(?:pe)?|i (?:\w+ )?disagree|disagree[ds]?|ack|.{0,60}\bis right\b|"
    r".{0,40}\bi (?:\w+ )?(?:dis)?agree with (?:you|that|this|him|her|them|\w+ (?:that|here))\b)(?:\W|$)"
)
"""A yes or no that does not name its object."""
_NAMES_IT = re.compile(
    rf"{WHOLE.pattern}|\b(?:text|section|solution|option|tool|page|topic|assignment|branch|code points?|"
    rf"requirement\w*)\b"
)
_GRANTS = re.compile(
    r"^\W{0,4}(?:while |although |though )?(?:i|we) (?:\w+ )?agree that\b.{0,200}[,;] (?:but|however)\b"
)
_ASKS_WITH_A_VIEW = re.compile(
    r"\b(?:why|what's the (?:use|point)|\w+n't|really|how about|i (?:think|would|mean|don't))\b|[+-]\s?1"
)
_ARGUES = re.compile(
    r"\b(?:should|must|need|needs|rather|would|could|can|may|if|let's|please|i (?:think|believe|suggest|"
    r"feel)|will|done|fixed|but|however|instead|not?|n't|why|more|less|cost\w*|require\w*|suggest\w*|"
    r"assum\w+|belong\w*|error|tested|important|hesita\w+)\b|n't\b"
)
"""A sentence without one of these words and without a judgment argues nothing."""
_FEW = 3
_CLOSE = 300
"""Characters of a quote's end that the words below it answer."""


@dataclass
class PositionChecker:
    """The facts of a thread against which claimed positions are checked."""

    thread: LinkedThread
    proposing: frozenset[int]
    """The numbers of the mails that make the proposal."""
    proposers: frozenset[str]
    matter: frozenset[str] = frozenset()
    """Stems of the words that make the proposal."""
    sides: Mapping[str, PositionStance] = field(default_factory=dict)
    """The stance of each person, as far as it is known or claimed."""

    def refusal(self, claimed: ClaimedPosition, located: LocatedQuote | None) -> str:
        """Return why a position is not shown, or an empty string if it may be shown."""
        if located is None:
            return "the quote is not in the mail's own words"
        if not names(claimed.person, located, self.thread):
            return "another person wrote the mail"
        if claimed.stance not in _CONTRARY:
            return ""
        return self._contradicted(claimed, located)

    def _contradicted(self, claimed: ClaimedPosition, located: LocatedQuote) -> str:
        sentences = located.sentences
        supports = claimed.stance is PositionStance.SUPPORT
        causes: tuple[tuple[str, bool], ...] = (
            (f"the words say the opposite of {claimed.stance.value}", _says_opposite(located, claimed)),
            ("the words concede a point and then oppose", supports and any(map(_grants, sentences))),
            ("the words report what others think", all(map(_is_report, sentences))),
            ("the quote omits the words that reverse it", bool(_TURNS.search(fold(located.left_off)))),
            ("the words only ask", all(map(_only_asks, sentences))),
            ("the words are a courtesy", all(map(_is_courtesy, sentences))),
        )
        applied = next((cause for cause, applies in causes if applies), "")
        return applied or self._elsewhere(claimed.stance, sentences[0])

    def _elsewhere(self, stance: PositionStance, sentence: OwnSentence) -> str:
        """Return why a bare yes or no answers something other than the proposal, or an empty string."""
        if not _BARE.search(sentence.folded) or _names_it(sentence):
            return ""
        answered = self.thread.answered(sentence)
        if answered is None or answered in self.proposing:
            return ""
        person = self.thread.mails[answered].person
        side = self.sides.get(person)
        if person in self.proposers or person == self.thread.mails[sentence.mail].person:
            return ""
        disagrees = bool(re.search(r"\bdisagree|^\W{0,4}no(?:pe)?\b", sentence.folded))
        if side is None or side in {PositionStance.PROPOSER, PositionStance.MIXED}:
            return (
                "" if _VOTE.search(sentence.folded) else "it agrees with something other than the proposition"
            )
        expected = side if not disagrees else _OTHER[side]
        return "" if expected is stance else "it agrees with a person on the other side"

    def is_explicit(self, claimed: ClaimedPosition, located: LocatedQuote) -> bool:
        """Return whether words state the stance, and not only an argument."""
        if not claimed.is_explicit or claimed.stance is PositionStance.MIXED:
            return claimed.is_explicit and claimed.stance is PositionStance.MIXED
        says = _says_support if claimed.stance is PositionStance.SUPPORT else _says_opposition
        return any(says(sentence) for sentence in located.sentences) and not (
            claimed.stance is PositionStance.SUPPORT and self._is_aside(located.sentences[0])
        )

    def _is_aside(self, sentence: OwnSentence) -> bool:
        """Return whether the sentence agrees only with a term, a part, or something else."""
        if sentence.folded.startswith("if ") or is_partial(sentence, cue_of(sentence)):
            return True
        praises = judgment(sentence.text) is Polarity.FOR or _BARE.search(sentence.folded)
        if sentence.block < 0 or _names_it(sentence) or not praises or _VOTE.search(sentence.folded):
            return False
        above = self.thread.mail_of(sentence).mail.quotes[sentence.block].text[-_CLOSE:]
        if self.thread.answered(sentence) not in self.proposing:
            return True
        return bool(self.matter) and not (stems(above) & self.matter)

    def is_argued(self, located: LocatedQuote) -> bool:
        """Return whether the quote argues at all: it wishes, judges or doubts something."""
        return any(
            _ARGUES.search(sentence.folded) or leaning(sentence.text) is not Polarity.OPEN
            for sentence in located.sentences
        )


@lru_cache(maxsize=8)
def proposal_of(thread: LinkedThread) -> Proposal:
    """Return the proposal that the rules find. The search covers the thread, so the result is cached."""
    return find_proposal(thread)


def position_checker_of(
    thread: LinkedThread,
    proposing: Iterable[int],
    proposers: Iterable[str],
    sides: Mapping[str, PositionStance],
    matter: str,
) -> PositionChecker:
    proposal = proposal_of(thread)
    return PositionChecker(
        thread,
        frozenset({*proposing, *proposal.mails}),
        frozenset({*proposers, *proposal.proposers}),
        frozenset(stems(matter) - GENERIC),
        sides,
    )


def names(claimed: str, located: LocatedQuote, thread: LinkedThread) -> bool:
    """Return whether the claimed person wrote the mail, by id, address or name."""
    mail = located.mail.mail
    name = display_name(mail.name, mail.address)
    identity = f"p{person_number(thread, located.mail)}"
    known = {identity, mail.address, name, mail.name, f"{identity} {name}"}
    return claimed.strip().lower() in {known_name.lower() for known_name in known}


def _says_opposite(located: LocatedQuote, claimed: ClaimedPosition) -> bool:
    """Return whether the quote says the opposite, and nothing in it says the same."""
    way = polarity if claimed.is_explicit else outright
    ways = {way(sentence.text) for sentence in located.sentences} - {Polarity.OPEN}
    says = _says_support if claimed.stance is PositionStance.SUPPORT else _says_opposition
    return ways == {_CONTRARY[claimed.stance]} and not any(map(says, located.sentences))


def _says_support(sentence: OwnSentence) -> bool:
    way = leaning(sentence.text)
    if way in {Polarity.FOR, Polarity.AGAINST}:
        return way is Polarity.FOR
    return bool(kind_of_support(sentence) or accepts(sentence) or cues.PROMISES.finds(sentence))


def _says_opposition(sentence: OwnSentence) -> bool:
    if leaning(sentence.text) is Polarity.AGAINST:
        return True
    if judgment(sentence.text) in {Polarity.AGAINST, Polarity.BOTH}:
        return True
    cued = any(cue.finds(sentence) for cue in (OPPOSES, DOUBTS, OWN_DOUBTS, cues.REJECTS))
    return cued and outright(sentence.text) is not Polarity.FOR


def _grants(sentence: OwnSentence) -> bool:
    return bool(_GRANTS.search(sentence.folded)) and leaning(sentence.text) is not Polarity.FOR


def _is_courtesy(sentence: OwnSentence) -> bool:
    ways = {outright(sentence.text), judgment(sentence.text)}
    return cues.THANKS.finds(sentence) and ways == {Polarity.OPEN} and not accepts(sentence)


def _is_report(sentence: OwnSentence) -> bool:
    return cues.REPORTED.finds(sentence) and not _OWN_VIEW.search(sentence.folded)


def _only_asks(sentence: OwnSentence) -> bool:
    """Return whether the sentence asks without a view. "What's the use of it?" has a view."""
    if sentence.folded.rstrip("? ").endswith((", right", ", no", ", correct")):
        return True
    return sentence.asks and not _ASKS_WITH_A_VIEW.search(sentence.folded)


def _names_it(sentence: OwnSentence) -> bool:
    return bool(_NAMES_IT.search(sentence.folded)) and len(sentence.text.split()) > _FEW
