"""The direction of words: for something, against it, both, or neither."""

import re
from collections.abc import Iterator
from enum import StrEnum

from shared.model_reading.words import word_set
from shared.reading.mails import fold


class Polarity(StrEnum):
    FOR = "for"
    AGAINST = "against"
    BOTH = "both"
    OPEN = "open"
    """No word takes a stance."""


_NAMED = {
    Polarity.FOR: (
        "support supports supported supporting supportive agree agrees agreed concur concurs favor favors "
        "favored favour favours favoured endorse endorses endorsed approve approves approved approval accept "
        "accepts accepted lgtm sgtm ack acked seconds seconded prefer prefers preferred welcome welcomes "
        "welcomed like likes liked love loves loved +1"
    ),
    Polarity.AGAINST: (
        "oppose opposes opposed object objects objected objecting objection objections disagree disagrees "
        "disagreed against reject rejects rejected veto vetoes vetoed nak nack nacked dislike dislikes "
        "disliked hate refuse refuses refused protest protests decline declines declined dissent dissents "
        "discouraged -1"
    ),
}
"""Words that name a stance."""
_JUDGING = {
    Polarity.FOR: (
        "sense good great fine nice excellent awesome reasonable sensible useful helpful better best right "
        "correct clean cleaner clear clearer easy easier simple simpler straightforward safe safer elegant "
        "neat perfect faster worthwhile valuable preferable promising appealing robust solid sound amazing "
        "ingenious passable"
    ),
    Polarity.AGAINST: (
        "bad worse worst terrible ridiculous dumb wrong misleading inaccurate incorrect confusing harmful "
        "premature unnecessary needless pointless useless problematic uncomfortable overkill inappropriate "
        "excessive difficult hard complex weird ugly unworkable unacceptable trivial risky slower slow"
    ),
}
"""Adjectives of judgment."""
_LEANING = {
    Polarity.FOR: (
        "nicely happy glad excited improve improves improved improvement improvements works suits needed "
        "cleanly clearly simplification worth benefit benefits yes yeah yep sure definitely exactly "
        "absolutely promise queue queued merge merged applied ready enough cool satisfied convinced "
        "advantage positive thanks masterpiece preference recommend recommended"
    ),
    Polarity.AGAINST: (
        "confusion harm harms hurt hurts concern concerns concerned worry worried worries problem problems "
        "reluctant skeptical sceptical unhappy breaks break broken complaint complaints complexity "
        "complicated doubt doubts doubtful unfortunately issue issues trouble risk disservice mistake too"
    ),
}
"""Words that only lean one way. Next to a named stance they do not count: "without any issue, so +1"."""
_Found = tuple[int, Polarity, dict[Polarity, str]]
_DIRECTION = {
    word: (way, table)
    for table in (_LEANING, _JUDGING, _NAMED)
    for way, row in table.items()
    for word in row.split()
}
JUDGMENTS = frozenset(word for row in _JUDGING.values() for word in row.split())
_TOKEN = re.compile(r"(?<![\w])[+-] ?1\b(?![\d.])|[a-z]+(?:'[a-z]+)?|[,.;:!?()]")
_QUOTED = re.compile(r'"[^"]{3,200}"')
_OPTION = re.compile(r"\W?--|.*\[")
_NEGATES = word_set(
    "not never no hardly nor neither without cannot nothing none nobody unless isn't aren't don't doesn't "
    "didn't can't won't wouldn't shouldn't couldn't wasn't weren't haven't hasn't unconvinced doubt doubts "
    "doubted"
)
_ENDS = word_set(", . ; : ! ? ( ) but because so and still yet")
_REACH = 6
_SHORT, _LONG = 20, 80
"""The most words of a sentence in which a leaning word decides the direction."""
_WHO_TAKES = word_set(
    "i we i'd also really not don't do would who and to you they can cannot strongly fully can't my full will"
)
_MAY_BE_NOUNS = frozenset(("like", "object", "support", "welcome"))
_SET_ASIDE = re.compile(
    r"\b(?:not|n't) (?:only|just|so strongly)\b|\(no \w+\)|\bno (?:doubt|worries|wonder|surprise)\b|"
    r"\b(?:while|although|though) (?:i|we) (?:\w+ ){0,2}(?:agree|like|support)\b|"
    r"\bagree[ds]? with (?:you (?:that|there)\b|(?:you|him|her|them|[a-z]+(?: [a-z]+)?)[:,.])"
)
_DENIES = re.compile(
    r"n't (?:think|believe|see|want|understand|need)\b|\b(?:should|must) (?:not|never)\b|\bhas to stay\b|"
    r"\bnot (?:\w+ )?(?:sure|convinced|interested|excited|think|believe|want)\b|\bsee no (?!\w+ (?:with|in))|"
    r"\brather not\b|\bthere(?: is|'s) no (?:\w+ )?(?:case|need(?! to hold)|reason|point|benefit)\b|"
    r"n't be (?:\w+ )?(?:interested|comfortable|happy)\b"
)
_COMMITS = re.compile(
    r"\b(?:i|we)(?:'ll| will|'d| would) (?:\w+ )?(?:update|fix|do|change|edit|add|include|take|go|use|"
    r"choose)\b|\b(?:we|i|it|this|they) (?:\w+ )?should(?! not|n't)\b|\bgo(?:ing)? ahead\b|\blet's\b|"
    r"\bno need to (?:hold|wait|delay|block)\b|\b(?:i|we) can (?:\w+ )?fix\b|^\W*(?:\w+ ){0,2}(?:fixed|done|"
    r"added|updated|changed)\b|\bshould be (?:adopted|merged|added|done|fixed|published)\b|\bplease (?:do|"
    r"adopt|merge|accept|publish)\b"
)
_BUT = re.compile(r"\bbut\b|[,;.(] ?however\b")
_TURN = {Polarity.FOR: Polarity.AGAINST, Polarity.AGAINST: Polarity.FOR}


def polarity(text: str, short: int = _SHORT) -> Polarity:
    """Return which way a sentence points. A negation shortly before a word reverses the word."""
    folded = _plain(text)
    found = list(_found(folded))
    if any(table is _NAMED for *_, table in found):
        return outright(text)
    leaning = _one_of(folded, found)
    if _DENIES.search(folded):
        return Polarity.BOTH if leaning is Polarity.FOR and len(found) > 1 else Polarity.AGAINST
    # A question that only leans one way takes no side.
    if len(folded.split()) > short or folded.endswith("?"):
        return Polarity.OPEN
    if leaning is not Polarity.FOR and (commits := list(_COMMITS.finditer(folded))):
        is_last = all(place < commits[-1].start() for place, *_ in found)
        return Polarity.FOR if is_last else Polarity.BOTH
    return leaning


def leaning(text: str) -> Polarity:
    """Return which way a sentence of any length points. In a mixed one, the part after "but" decides."""
    way = polarity(text, _LONG)
    if way is Polarity.BOTH and (parts := _BUT.split(_plain(text))):
        return polarity(parts[-1], _LONG)
    return way


def outright(text: str) -> Polarity:
    """Return the stance that the words name. Leaning words do not count."""
    folded = _plain(text)
    return _one_of(folded, [entry for entry in _found(folded) if entry[2] is _NAMED])


def judgment(text: str) -> Polarity:
    folded = _plain(text)
    return _one_of(folded, [entry for entry in _found(folded) if entry[2] is _JUDGING])


def _plain(text: str) -> str:
    words = (word for word in _QUOTED.sub(" ", fold(text)).split() if not _OPTION.match(word))
    return _SET_ASIDE.sub(" ", " ".join(words).replace("far from", "not"))


def _one_of(folded: str, found: list[_Found]) -> Polarity:
    ways = {way for _, way, _ in found}
    # "I agree that it is long, but ...": the words before the turn only concede a point.
    if ways == {Polarity.FOR} and any(_BUT.search(folded, place) for place, _, _ in found):
        return Polarity.BOTH
    return next(iter(ways), Polarity.OPEN) if len(ways) < len(_TURN) else Polarity.BOTH


def _found(folded: str) -> Iterator[_Found]:
    """Yield each stance word with its position, its direction after negations, and its table."""
    tokens = [(match[0].replace(" ", ""), match.start()) for match in _TOKEN.finditer(folded)]
    for number, (word, place) in enumerate(tokens):
        if word not in _DIRECTION or (
            word in _MAY_BE_NOUNS and number and tokens[number - 1][0] not in _WHO_TAKES | _ENDS
        ):
            continue
        way, table = _DIRECTION[word]
        is_turned = False
        for before, _ in reversed(tokens[max(0, number - _REACH) : number]):
            if before in _ENDS:
                break
            is_turned ^= before in _NEGATES
        yield place, _TURN[way] if is_turned else way, table
