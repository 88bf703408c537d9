"""For or against: which way the words of a sentence point, judged without its thread.

The rules of the reader ask when words are a position. Here the question is weaker: can a sentence bear the
stance that is claimed of it? So the lexicon is wide, and what it cannot read it leaves open.
"""

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
        r"(?<![\w+])\+\s?1\b|\b(?:agree[ds]?(?! with (?:you|him|her|them|[a-z]+(?: "
        r"[a-z]+)?)[:,. ](?!proposal|plan|change|idea))"
        r"|(?:i|we|and|also|would|do|not|can|could|fully|strongly|therefore|to|i'd|who) (?:\w+ "
        r")?support|supportive|in favou?r|lgtm|ack(?:ed)?|approv(?:e|ed|es|ing|al)"
        r"|endorse[ds]?|makes? (?:\w+ ){0,2}sense|(?:looks?|sounds?|seems?|is|are|looking) (?:\w+ "
        r"){0,2}(?:good|fine|great|"
        r"reasonable|sensible)|(?:good|great|excellent|nice) (?:idea|plan|change|approach|patch|catch)|"
        r"queued?|"
        r"no objections?|i (?!feel|would|think|look)(?:\w+ )?(?:like|love)|no need to (?:hold|delay|"
        r"block|wait)|(?:will|i'll) go ahead|(?:should|please) (?:be )?(?:adopt|merge|accept|"
        r"publish)(?:ed)?)\b"
    ),
    Polarity.AGAINST: re.compile(
        r"(?<![\w-])-\s?1\b(?![\d.])|\b(?:disagree[ds]?|i (?:\w+ )?object|object(?:s|ed|ing)? to|"
        r"objections?|oppose[ds]?|against|nac?k(?:ed)?|veto(?:ed)?"
        r"|reject(?:ed|s)?|rather not|bad idea|dislike|hate)\b"
    ),
}
_LEANING = {
    Polarity.FOR: re.compile(
        r"\b(?:favou?r|like[ds]?|love[ds]?|good|great|fine|nice(?:ly)?|excellent|awesome|reasonabl[ey]|"
        r"sensibl[ey]|happy|glad|"
        r"excited|thanks?|welcome|useful|helpful|better|best|improve\w*|merge[ds]?|appl(?:y|ied)|works? "
        r"for|suits?|needed|"
        r"pick (?:\w+ )?up|(?:will|i'll|we'll) (?:\w+ )?(?:update|fix|do|change|edit|add|include|"
        r"incorporate)|"
        r"right (?:way|thing|direction)|prefer\w*|recommend\w*|adopt\w*|yes|yeah|yep|sure|definitely|"
        r"ingenious|masterpiece|"
        r"promis(?:e|ing)|appealing|clean(?:ly)?|well done|exactly|passable|perfect|correct|cool|neat|"
        r"elegant|enough|vote for|preference for|(?:we|i|it|they) should|i(?:'d| would) (?:simply |just "
        r"|rather )?(?:take|go|use|choose|do)|have done|"
        r"simpler|cleaner|easier|safer|faster|clearer|less (?:duplication|code|work|noise)|more "
        r"(?:coverage|useful|robust)|want (?:it|this|that)|(?:good|great) job)\b"
    ),
    Polarity.AGAINST: re.compile(
        r"\b(?:bad|worse|worst|terrible|ridiculous|dumb|wrong|misleading|confus\w+|harm\w*|premature|"
        r"unnecessary|needless|"
        r"pointless|useless|concern(?:s|ed)?|worr(?:y|ied|ies|ying)|problem(?:s|atic)?|reluctant|"
        r"s[ck]eptical|uncomfortable|"
        r"unhappy|hurts?|breaks?|broken|overkill|inappropriate|protest|refuse|complaints?|"
        r"too (?:long|complex|complicated|late|early|risky|much)|no (?:reason|point|benefit))\b"
    ),
}
_NEGATED = re.compile(
    r"(?:n't|\b(?:not|never|no longer|hardly|nor|neither|without|cannot|no|rather than|instead of|far "
    r"from|nothing))"
    r"(?: (?!(?:so|but|and|because|still|yet)\b)[\w'-]+){0,4} ?$"
)
_INNER = re.compile(r"n't\b|\bnot?\b")
_BUT = re.compile(r"[,;.(] ?(?:but|however|though)\b|\bbut\b")
_ONLY = re.compile(
    r"\b(?:not|n't) (?:only|just|so strongly)\b|\(no \w+\)|\b(?:while|although|though) (?:i|we) (?:\w+ "
    r"){0,2}(?:agree|like|support)\b|\bno (?:doubt|problem|worries)\b"
)
_DENIES = re.compile(
    r"n't (?:think|believe|see|want|understand|need)\b|\bnot (?:\w+ )?(?:sure|convinced|excited|"
    r"interested|think|believe|want)\b"
    r"|\b(?:should|must|do|does) not\b|\bis not\b|\bsee no\b|\bthere(?: is|'s) no (?:\w+ )?(?:case|need|"
    r"reason|point|benefit)\b"
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
