"""Which way words point: for what they speak of, against it, both, or neither."""

import re
from enum import StrEnum

from shared.domain.consensus.mails import fold


class Polarity(StrEnum):
    FOR = "for"
    AGAINST = "against"
    BOTH = "both"
    OPEN = "open"
    """No word of stance."""


# Words that name a stance, and words that only lean one way. Where a stance is named, leanings do not count:
# "without any issue, so +1".
_NAMED = {
    Polarity.FOR: re.compile(
        r"(?<![\w+])\+\s?1\b|\b(?:agree[ds]?(?! with (?:you|"
        r"him|her|them|[a-z]+(?: [a-z]+)?)[:,. ](?!proposal|plan|change|idea))|(?:i|we|"
        r"and|also|would|do|not|can|could|fully|strongly|therefore|to|i'd|who) (?:\w+ )?support|supportive|"
        r"in favou?r|lgtm|ack(?:ed)?|approv(?:e|ed|es|ing|al)|endorse[ds]?|makes? (?:\w+ ){0,2}sense|"
        r"(?:looks?|sounds?|seems?|is|are|looking) (?:\w+ ){0,2}(?:good|fine|great|reasonable|"
        r"sensible)|(?:good|great|excellent|nice) (?:idea|plan|change|approach|patch|catch)|queued?|"
        r"no objections?|i (?!feel|would|think|look)(?:\w+ )?(?:like|love)|no need to (?:hold|delay|block|"
        r"wait)|(?:will|i'll) go ahead|(?:should|please) (?:be )?(?:adopt|merge|accept|publish)(?:ed)?)\b"
    ),
    Polarity.AGAINST: re.compile(
        r"(?<![\w-])-\s?1\b(?![\d.])|\b(?:disagree[ds]?|i (?:\w+ )?object|object(?:s|ed|ing)? to|objections?|"
        r"oppose[ds]?|against|nac?k(?:ed)?|veto(?:ed)?|reject(?:ed|s)?|rather not|bad idea|dislike|hate)\b"
    ),
}
_LEANING = {
    Polarity.FOR: re.compile(
        r"\b(?:favou?r|like[ds]?|love[ds]?|good|great|fine|nice(?:ly)?|excellent|awesome|reasonabl[ey]|"
        r"sensibl[ey]|happy|glad|excited|thanks?|welcome|useful|helpful|better|best|improve\w*|merge[ds]?|"
        r"appl(?:y|ied)|works? for|suits?|needed|pick (?:\w+ )?up|(?:will|i'll|we'll) (?:\w+ )?(?:update|"
        r"fix|do|change|edit|add|include|incorporate)|right (?:way|thing|direction)|"
        r"prefer\w*|recommend\w*|adopt\w*|yes|yeah|yep|sure|definitely|ingenious|masterpiece|promis(?:e|"
        r"ing)|appealing|clean(?:ly)?|well done|exactly|passable|perfect|correct|cool|neat|elegant|enough|"
        r"vote for|preference for|(?:we|i|it|they) should|i(?:'d| would) (?:simply |just |rather )?(?:take|"
        r"go|use|choose|do)|have done|simpler|cleaner|easier|safer|faster|clearer|less (?:duplication|"
        r"code|work|noise)|more (?:coverage|useful|robust)|want (?:it|this|that)|(?:good|great) job)\b"
    ),
    Polarity.AGAINST: re.compile(
        r"\b(?:bad|"
        r"worse|worst|terrible|ridiculous|dumb|wrong|misleading|confus\w+|harm\w*|premature|unnecessary|"
        r"needless|pointless|useless|concern(?:s|ed)?|worr(?:y|ied|ies|ying)|problem(?:s|atic)?|reluctant|"
        r"s[ck]eptical|uncomfortable|unhappy|hurts?|breaks?|broken|overkill|inappropriate|protest|refuse|"
        r"complaints?|too (?:long|complex|complicated|late|early|risky|much)|no (?:reason|point|benefit))\b"
    ),
}
_NEGATED = re.compile(
    r"(?:n't|\b(?:not|never|no longer|hardly|nor|neither|without|cannot|"
    r"no|rather than|instead of|far from|nothing))(?: (?!(?:so|but|and|because|still|yet)\b)[\w'-]+){0,4} ?$"
)
_INNER = re.compile(r"n't\b|\bnot?\b")
_BUT = re.compile(r"[,;.(] ?(?:but|however)\b|\bbut\b")
_ONLY = re.compile(
    r"\b(?:not|n't) (?:only|just|so strongly)\b|\(no \w+\)|\b(?:while|although|though)"
    r" (?:i|we) (?:\w+ ){0,2}(?:agree|like|support)\b|\bno (?:doubt|problem|worries)\b"
)
_DENIES = re.compile(
    r"n't (?:think|believe|see|want|understand|need)\b|"
    r"\bnot (?:\w+ )?(?:sure|convinced|excited|interested|think|believe|want)\b|\b(?:should|must|do|does)"
    r" not\b|\bis not\b|\bsee no\b|\bthere(?: is|'s) no (?:\w+ )?(?:case|need|reason|point|benefit)\b"
)
_BEFORE = 48
_SHORT = 110
"""A word that only leans one way tells the direction of a short sentence, not of a long one."""
_TURN = {Polarity.FOR: Polarity.AGAINST, Polarity.AGAINST: Polarity.FOR}


def polarity(text: str) -> Polarity:
    """Which way the sentence's words point; a negation close before a word turns it."""
    folded = _ONLY.sub(" ", " ".join(fold(text).split()))
    named = _found(folded, _NAMED)
    if not named and _DENIES.search(folded):
        return Polarity.AGAINST
    if named or len(folded) > _SHORT:
        return _one_of(named)
    # A question that only leans one way asks.
    return Polarity.OPEN if folded.endswith("?") else _one_of(_found(folded, _LEANING))


def outright(text: str) -> Polarity:
    """Which stance the words name; what only leans is open."""
    return _one_of(_found(_ONLY.sub(" ", " ".join(fold(text).split())), _NAMED))


def _one_of(found: set[Polarity]) -> Polarity:
    if not found:
        return Polarity.OPEN
    return Polarity.BOTH if len(found) > 1 else next(iter(found))


def _found(folded: str, words: dict[Polarity, re.Pattern[str]]) -> set[Polarity]:
    matches = [(towards, match) for towards, pattern in words.items() for match in pattern.finditer(folded)]
    found = {_direction(folded, match, towards) for towards, match in matches}
    # "I agree that it is long, but ...": what comes before the turn is granted, not held.
    if found == {Polarity.FOR} and any(_BUT.search(folded, match.end()) for _, match in matches):
        found.add(Polarity.AGAINST)
    return found


def _direction(folded: str, match: re.Match[str], towards: Polarity) -> Polarity:
    before = folded[max(0, match.start() - _BEFORE) : match.start()]
    is_negated = bool(_NEGATED.search(before)) != bool(
        not match[0].startswith("no ") and _INNER.search(match[0])
    )
    return _TURN[towards] if is_negated else towards
