"""Which side a sentence says that somebody takes, against the side that their cited words take."""

import re
from collections.abc import Iterator, Sequence

from shared.domain.chat_reading.evidence import LocatedQuote
from shared.domain.chat_reading.polarity import Polarity, outright, polarity
from shared.domain.chat_reading.told import Told, clauses
from shared.domain.chat_reading.wording import SMALL, stem, words
from shared.domain.consensus.mails import fold

_FOR = re.compile(
    r"\b(?:supports?|supported|favou?rs|favou?red|agrees?|agreed|accepts?|accepted|approves?|"
    r"approved|endorses?|"
    r"endorsed|acks?|acked|in favou?r|(?<!feel )(?<!feels )(?<!look )(?<!looks )(?<!would "
    r")(?<!thing )(?<!seems )(?<!sounds )likes?|liked|welcomes?|welcomed|prefers?|seconds|"
    r"seconded|excited about|"
    r"happy with|convinced (?:that|of|by))\b|\+1"
)
_AGAINST = re.compile(
    r"\b(?:opposes?|opposed|objects?|objected|disagrees?|disagreed|rejects?|rejected|against|vetoe[sd]|veto|"
    r"dissents?|refuses?|refused|declines?|declined|dislikes?|disliked|finds? "
    r".{0,30}\b(?:ugly|wrong|bad))\b|(?<!\w)-1\b"
)
NOT = re.compile(
    r"(?:n't|\b(?:not|never|no longer|no|nobody|without|neither|nor|far from|hardly))(?: "
    r"(?!so\b|but\b|and\b)[\w'-]+){0,3} ?$"
)
_OWN_STANCE = re.compile(
    r"\b(?:i|we)(?:'d| do| would| fully| strongly)? (?:like|support|prefer|agree with|oppose|"
    r"object to|dislike)\b"
)
_STANCE_STEMS_WORDS = (
    "support supports favor favour agree accept approve endorse oppose object disagree reject against "
    "disagrees dislike vote voted plus ack nak"
)
STANCE_STEMS = frozenset(stem(word) for word in _STANCE_STEMS_WORDS.split())
_BARE_CLAIM = 6


def turned_stance(told: Told) -> bool:
    """A clause that says where its agent stands, against words of that person that name the other side."""
    for claimed, own in _stances_told(told):
        contrary = Polarity.AGAINST if claimed is Polarity.FOR else Polarity.FOR
        named, ways = ({way(quote.text) for quote in own} for way in (outright, polarity))
        if contrary in named and not named & {claimed, Polarity.BOTH}:
            return True
        if contrary in ways and not ways & {claimed, Polarity.BOTH} and not _names_stance(own, claimed):
            return True
    return False


def only_takes_sides(told: Told) -> bool:
    """Whether nothing is in it but a name and a stance, as in "Ann supports it"."""
    return len(told.text.split()) <= _BARE_CLAIM


def names_it(told: Told) -> bool:
    """Whether the stance that it says is named in the words of whom it says it: a leaning is not enough."""
    return all(any(outright(quote.text) is claimed for quote in own) for claimed, own in _stances_told(told))


def unsaid_stance(told: Told) -> bool:
    return any(
        {polarity(quote.text) for quote in own} <= {Polarity.OPEN} and not _names_stance(own, claimed)
        for claimed, own in _stances_told(told)
    )


def _stances_told(told: Told) -> Iterator[tuple[Polarity, list[LocatedQuote]]]:
    """Each clause that says that somebody is for it or against it, and that person's cited words."""
    for clause in clauses(told.text):
        claimed = _claimed(fold(clause))
        if claimed in {Polarity.OPEN, Polarity.BOTH}:
            continue
        people = set().union(*(persons for name, persons in told.agents.items() if name in clause))
        yield claimed, [quote for quote in told.found if quote.mail.person in people] or list(told.found)


def of_something_else(told: Told) -> bool:
    """A stance whose object has no word of the object that the cited words have it of."""
    folded, cited = told.folded, told.cited
    for pattern in (_FOR, _AGAINST):
        mine, theirs = pattern.search(folded), _OWN_STANCE.search(cited)
        if mine is None or theirs is None:
            continue
        named = {stem(word) for word in words(folded[mine.end() : mine.end() + 80])} - SMALL
        said = {stem(word) for word in words(cited[theirs.end() : theirs.end() + 60])} - SMALL
        if named and said and not named & said:
            return True
    return False


def _names_stance(own: Sequence[LocatedQuote], claimed: Polarity) -> bool:
    """The same word, or a sentence too long to lean one way."""
    words_ = " ".join(fold(quote.text) for quote in own)
    return _claimed(words_) in {claimed, Polarity.BOTH} or bool(
        re.search(
            r"\b(?:prefer\w*|like|favou?r|no[- ]obj\w*|sympath\w+|passed|yes|passable|sound\w*|good|"
            r"great|fine|right|better)\b",
            words_,
        )
        if claimed is Polarity.FOR
        else re.search(
            r"n't|\b(?:not|but|problem|concern\w*|doubt\w*|trivial|wrong|ugly|bad|weak|however|worse)\b",
            words_,
        )
    )


def _claimed(folded: str) -> Polarity:
    ways = set()
    for towards, pattern in ((Polarity.FOR, _FOR), (Polarity.AGAINST, _AGAINST)):
        for match in pattern.finditer(folded):
            before = folded[max(0, match.start() - 40) : match.start()]
            if re.search(
                r"\b(?:to|whether|asks? (?:who|for)|if|would|may|could|can|might)\b(?: \w+){0,4} ?$", before
            ):
                continue
            turned = bool(NOT.search(before))
            ways.add((Polarity.AGAINST if towards is Polarity.FOR else Polarity.FOR) if turned else towards)
    if not ways:
        return Polarity.OPEN
    return Polarity.BOTH if len(ways) > 1 else ways.pop()
