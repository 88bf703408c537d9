"""A position that the model claims: whose words, which way they point, and what they answer.

An agreement supports what it answers. It is of the proposition only where its place leads there; in answer to
somebody with a side it takes that side; elsewhere it is of something else.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache

from shared.documents.values import PositionStance
from shared.domain.chat_reading.answer import ClaimedPosition
from shared.domain.chat_reading.evidence import LocatedQuote
from shared.domain.chat_reading.numbered import person_number
from shared.domain.chat_reading.polarity import Polarity, outright, polarity
from shared.domain.consensus import cues
from shared.domain.consensus.linked_thread import LinkedThread, display_name
from shared.domain.consensus.mails import OwnSentence, fold
from shared.domain.consensus.proposal import Put, find_put
from shared.domain.consensus.stance_cues import DOUBTS, OPPOSES, OWN_DOUBTS
from shared.domain.consensus.stances import accepts, kind_of_support

_CONTRARY = {PositionStance.SUPPORT: Polarity.AGAINST, PositionStance.OPPOSE: Polarity.FOR}
_TURNS = re.compile(
    r"(?:n't|\b(?:not|never|no longer|cannot|nor|neither|hardly|without|nobody|no one|unless|"
    r"if|whether|who|he|she|they|rather than|instead of|pretend|claims?|said|"
    r"says))(?:\W+(?!but\b)[\w'-]+){0,6}\W*$"
)
"""Words before a quote that turn what it says: a negation, a condition, somebody else's view."""
_OWN_VIEW = re.compile(r"\b(?:i|i'm|i'd|i've|we|my|our|me|us|imo|imho)\b|^\W{0,4}[+-]\s?1\b")
_BARE = re.compile(
    r"^\W{0,4}(?:(?:and|so|well|oh|ah|hm+|heh|but|however|yeah|thanks?)\W+)*(?:\+\s?1|yes|yep|"
    r"yeah|yup|right|true|exactly|indeed|agreed?|"
    r"i (?:\w+ )?agree|agree|fair enough|good point|correct|sure|absolutely|definitely|"
    r"ok(?:ay)?|you(?:'re| are) right|same here|"
    r"me too|makes sense|that makes sense|good idea|sounds good|ditto|no(?:pe)?|i (?:\w+ "
    r")?disagree|disagree[ds]?|ack|"
    r".{0,60}\bis right\b|.{0,40}\bi (?:\w+ )?(?:dis)?agree with (?:you|that|this|him|her|"
    r"them|\w+ (?:that|here))\b)(?:\W|$)"
)
"""An answer that says yes or no, and not to what."""
_NAMES_IT = re.compile(
    r"\b(?:adopt\w*|publi\w+|merg\w+|release|proposal|patch(?:es)?|series|draft|document|"
    r"change|version|feature|approach|"
    r"plan|idea|text|section|solution|option|tool|page|topic|assignment|fix|branch|code "
    r"points?|requirement\w*)\b"
)
_TASTES = re.compile(
    r"\b(?:great|good|nice|amazing|awesome|cool|excellent|interesting|love|like|thank\w*|"
    r"welcome|wanted|glad|happy)\b"
)
_NO_PART = re.compile(
    r"^\W{0,4}(?:thanks?|thank you|thx)\b[^.]{0,60}\b(?:for|notice|repost\w*|reply\w*|info|"
    r"help|time)\b|\bwelcome to\b|"
    r"\bjust a bit of\b|^\W{0,4}/me\b"
)
_GRANTS = re.compile(
    r"^\W{0,4}(?:while |although |though )?(?:i|we) (?:\w+ )?agree that\b.{0,200}[,;] (?:but|"
    r"however)\b(?!.{0,80}\b(?:support|good|fine)\b)"
)
_OWN_WISH = re.compile(
    r"\b(?:should|must|need|needs|better|prefer|would|could|rather|let's|please|i think|i believe|i suggest|"
    r"makes? sense|useful|important|enough|simpl\w+|clear\w*|ready|works?|tested|no trouble|"
    r"no issues?|will|done|fixed|"
    r"but|however|problem\w*|issue\w*|concern\w*|wrong|break\w*|confus\w+|complex\w*|cost\w*|instead|not|n't|"
    r"unfortunately|doubt\w*|hesita\w+|why|worse|improve\w*|benefit\w*|belong\w*|error|"
    r"require\w*|suggest\w*|assum\w+|thank\w*|trivial|unnecessary|harm\w*|risk\w*|too)\b|n't\b"
)
"""Words without which nothing is argued: neither for something nor against it."""


@dataclass
class Stands:
    """What the positions of a thread are held against."""

    thread: LinkedThread
    proposing: frozenset[int]
    """The mails that put what is spoken of, by number."""
    proposers: frozenset[str]
    sides: Mapping[str, PositionStance] = field(default_factory=dict)
    """Who stands where, as far as that is known or claimed."""

    def refusal(self, claimed: ClaimedPosition, located: LocatedQuote | None) -> str:
        """Why a position is not shown; empty where it may be."""
        if located is None:
            return "the quote is not in the mail's own words"
        if not names(claimed.person, located, self.thread):
            return "somebody else wrote the mail"
        if claimed.stance not in _CONTRARY:
            return ""
        return self._contradicted(claimed, located)

    def _contradicted(self, claimed: ClaimedPosition, located: LocatedQuote) -> str:
        sentences = located.sentences
        supports = claimed.stance is PositionStance.SUPPORT
        causes: tuple[tuple[str, bool], ...] = (
            (f"the words say the opposite of {claimed.stance.value}", _says_opposite(located, claimed)),
            (
                "the words grant a point, and go on against it",
                supports and any(_GRANTS.search(one.folded) for one in sentences),
            ),
            ("the words report what others think", all(map(_is_report, sentences))),
            ("what turns the words was cut off", bool(_TURNS.search(fold(located.left_off)))),
            ("the words only ask", all(map(_only_asks, sentences))),
            ("the words are a courtesy", all(map(_is_courtesy, sentences))),
        )
        found = next((why for why, applies in causes if applies), "")
        return found or self._elsewhere(claimed.stance, sentences[0])

    def _elsewhere(self, stance: PositionStance, sentence: OwnSentence) -> str:
        """A bare yes or no is of what it answers."""
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
            return "" if _is_formal(sentence) else "it agrees with something other than the proposition"
        expected = side if not disagrees else _OTHER[side]
        return "" if expected is stance else "it agrees with somebody who stands on the other side"

    def is_explicit(self, claimed: ClaimedPosition, located: LocatedQuote) -> bool:
        """Whether words say it, and not only an argument."""
        if not claimed.is_explicit or claimed.stance is PositionStance.MIXED:
            return claimed.is_explicit and claimed.stance is PositionStance.MIXED
        says = _says_support if claimed.stance is PositionStance.SUPPORT else _says_opposition
        return any(says(one) for one in located.sentences) and not self._is_aside(located.sentences[0])

    def _is_aside(self, sentence: OwnSentence) -> bool:
        """Praise under a quote that neither puts the proposition nor is by who puts it."""
        if sentence.block < 0 or _names_it(sentence) or not _TASTES.search(sentence.folded):
            return False
        answered = self.thread.answered(sentence)
        return answered is not None and answered not in self.proposing

    def is_argued(self, located: LocatedQuote) -> bool:
        """Whether an argument is there at all: something is wished, judged or doubted."""
        return any(
            _OWN_WISH.search(one.folded) or polarity(one.text) is not Polarity.OPEN
            for one in located.sentences
        )


_OTHER = {
    PositionStance.SUPPORT: PositionStance.OPPOSE,
    PositionStance.OPPOSE: PositionStance.SUPPORT,
}


@lru_cache(maxsize=8)
def put_of(thread: LinkedThread) -> Put:
    """What the rules take for the proposition: asked for once a thread, as it is looked for in all of it."""
    return find_put(thread)


def stands_of(
    thread: LinkedThread, put_in: Iterable[int], proposers: Iterable[str], sides: Mapping[str, PositionStance]
) -> Stands:
    put = put_of(thread)
    return Stands(
        thread,
        frozenset({*put_in, *put.mails}),
        frozenset({*proposers, *put.proposers}),
        sides,
    )


def names(claimed: str, located: LocatedQuote, thread: LinkedThread) -> bool:
    """Whether the person named is the one who wrote the mail: by id, address or name."""
    mail = located.mail.mail
    name = display_name(mail.name, mail.address)
    identity = f"p{person_number(thread, located.mail)}"
    known = {identity, mail.address, name, mail.name, f"{identity} {name}"}
    return claimed.strip().lower() in {one.lower() for one in known}


def _says_opposite(located: LocatedQuote, claimed: ClaimedPosition) -> bool:
    """Outright, and nothing in it says the same."""
    stance = claimed.stance
    contrary = _CONTRARY[stance]
    way = polarity if claimed.is_explicit else outright
    ways = {way(one.text) for one in located.sentences}
    if contrary not in ways or len(ways - {Polarity.OPEN}) > 1:
        return False
    if stance is PositionStance.SUPPORT:
        return not any(map(_says_support, located.sentences))
    # Who opposes by an argument grants something on the way: there only a named stance says the opposite.
    named = {outright(one.text) for one in located.sentences}
    says_support = claimed.is_explicit or Polarity.FOR in named
    return says_support and not any(map(_says_opposition, located.sentences))


def _says_support(sentence: OwnSentence) -> bool:
    if polarity(sentence.text) is Polarity.FOR:
        return True
    return (
        bool(
            kind_of_support(sentence)
            or accepts(sentence)
            or cues.PROMISES.finds(sentence)
            or _SUPPORTS.search(sentence.folded)
        )
        and polarity(sentence.text) is not Polarity.AGAINST
    )


_SUPPORTS = re.compile(
    r"\b(?:(?:definitely|clearly|really|much) needed|worth(?:while)? \w+|will (?:help|take|"
    r"use|do)|done|fixed|balloted no|"
    r"no[- ]obj\w*|passable|prefer\w*|we should(?! not)|should be (?:adopted|added|done|fixed|"
    r"published)|seconded|changed|nice about|"
    r"mark\w* .{0,20}to merge|no need to hold|merge it|fix(?:es|ed)? (?:this|it|both)|can "
    r"fix)\b|\bboth fixed\b|"
    r"\bsimply take\b|\bworks for me\b|\bgood enough\b"
)
_AGAINST = re.compile(
    r"n't\b|\b(?:not|no longer|never|disagree\w*|object\w*|oppose\w*|against|bad|wrong|worse|ugly|problem\w*|"
    r"unfortunately|concern\w*|excessive|unacceptable|too|why|rather not|has to stay|rid of|makes? matters|"
    r"quickly become|discouraged|trivial|hurts?|incursion|protest|further discussion|far from|"
    r"unworkable|-\s?1)\b|-\s?1\b"
)


def _says_opposition(sentence: OwnSentence) -> bool:
    if polarity(sentence.text) is Polarity.AGAINST:
        return True
    cued = (
        OPPOSES.finds(sentence)
        or DOUBTS.finds(sentence)
        or OWN_DOUBTS.finds(sentence)
        or cues.REJECTS.finds(sentence)
    )
    return (cued or bool(_AGAINST.search(sentence.folded))) and outright(sentence.text) is not Polarity.FOR


def _is_courtesy(sentence: OwnSentence) -> bool:
    return bool(_NO_PART.search(sentence.folded)) and outright(sentence.text) is Polarity.OPEN


def _is_report(sentence: OwnSentence) -> bool:
    return cues.REPORTED.finds(sentence) and not _OWN_VIEW.search(sentence.folded)


def _only_asks(sentence: OwnSentence) -> bool:
    """A question without a view of its writer's: "what's the use of it?" has one."""
    if not sentence.asks:
        return False
    return not re.search(
        r"\b(?:why|what's the (?:use|point)|isn't|doesn't|wouldn't|shouldn't|can't we|really|how "
        r"about|i (?:think|would|mean|don't))\b|\+1|-1",
        sentence.folded,
    )


def _names_it(sentence: OwnSentence) -> bool:
    return bool(_NAMES_IT.search(sentence.folded)) and len(sentence.text.split()) > 3  # noqa: PLR2004


def _is_formal(sentence: OwnSentence) -> bool:
    return bool(re.match(r"^\W{0,4}(?:\+|-)\s?1\b", sentence.folded))
