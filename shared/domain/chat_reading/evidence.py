"""Which words bear a claim: where a quote stands, which way it points, and what a sentence may say of it."""

import calendar
import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from shared.documents.values import SentenceCitation
from shared.domain.chat_reading.answer import ClaimedQuote, ClaimedSentence
from shared.domain.consensus.linked_thread import LinkedMail, LinkedThread, display_name
from shared.domain.consensus.mails import OwnSentence, fold, word_key

_MIN_WORDS = 3
_MAX_QUOTE = 2_400
_MOST_SENTENCES = 3
_SPACES = re.compile(r"\s+")


@dataclass(frozen=True, slots=True)
class LocatedQuote:
    """The whole sentences that a quote is a part of, so that no "not" is cut off."""

    mail: LinkedMail
    sentences: tuple[OwnSentence, ...]
    left_off: str = ""
    """What stands in the first of them before the quote."""

    @property
    def text(self) -> str:
        return " ".join(sentence.text for sentence in self.sentences)

    def citation(self) -> SentenceCitation:
        start, end = self.sentences[0].start, self.sentences[-1].end
        words = _SPACES.sub(" ", self.mail.mail.text[start:end])
        return SentenceCitation(self.mail.mail.message_id, start, end, words)


def find_words(quote: str, text: str) -> tuple[int, int] | None:
    """Where a quote stands in a text: verbatim but for white space, and at the edges of words."""
    words = quote.split()
    if not words or len(quote) > _MAX_QUOTE:
        return None
    pattern = r"\s+".join(re.escape(word) for word in words)
    before = r"(?<!\w)" if re.match(r"\w", words[0]) else ""
    after = r"(?!\w)" if re.search(r"\w$", words[-1]) else ""
    match = re.search(before + pattern + after, text)
    return (match.start(), match.end()) if match else None


def locate(thread: LinkedThread, quote: ClaimedQuote) -> LocatedQuote | None:
    """None where the mail is not there, or the words are not its sender's own.

    What stands quoted, in a signature, a diff or an ancestor's mail is not in the own sentences.
    """
    if not 1 <= quote.mail <= len(thread.mails):
        return None
    mail = thread.mails[quote.mail - 1]
    found = find_words(quote.quote, mail.mail.text)
    if found is None:
        return None
    start, end = found
    covering = tuple(one for one in mail.sentences if one.start < end and one.end > start)
    if not covering or len(covering) > _MOST_SENTENCES or not _is_long_enough(quote.quote, covering):
        return None
    # Between two sentences may stand somebody else's words: then the quote is not one person's.
    own = sum(one.end - one.start for one in covering)
    is_own = covering[0].start <= start and covering[-1].end >= end and own * 2 > end - start
    left_off = mail.mail.text[covering[0].start : start]
    return LocatedQuote(mail, covering, left_off) if is_own else None


def _is_long_enough(quote: str, covering: tuple[OwnSentence, ...]) -> bool:
    """Three words, or a whole sentence such as "+1"."""
    words = quote.split()
    bare = " ".join(words).strip(".!")
    return len(words) >= _MIN_WORDS or any(bare == " ".join(one.text.split()).strip(".!") for one in covering)


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
_BUT = re.compile(r"[,;.(] ?(?:but|however|though)\b|\bbut\b")
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


_NUMBER = re.compile(r"\d+(?:[.:/-]\d+)*")
_NUMBER_WORDS = {
    "two": "2", "three": "3", "four": "4", "five": "5", "six": "6", "seven": "7", "eight": "8", "nine": "9",
    "ten": "10", "eleven": "11", "twelve": "12", "twenty": "20", "hundred": "100", "thousand": "1000",
    "million": "1000000",
}  # fmt: skip
_MONTHS = tuple(month.lower() for month in calendar.month_name[1:])
_DAYS = tuple(day.lower() for day in calendar.day_name)
_NAME = re.compile(r"(?<![\w.])[A-Z][\w'\u00c0-\u024f-]*(?:\.[A-Za-z]\w*)*")
_STANCE = re.compile(
    r"\b(?:support|oppos|object|agree|disagree|accept|reject|approv|endors|adopt|merg|queu|veto|withdr|"
    r"consensus|unanimous|favou?r|against|insist|concede|refus|declin|dissent|prefer|vot(?:e|ed|es|ing)\b)\w*"
)
_STANDS = {
    Polarity.FOR: re.compile(
        r"\b(?:supports?|supported|favou?rs|favou?red|agrees?|agreed|accepts?|accepted|approves?|"
        r"approved|endorses?|endorsed|adopts?|adopted|merged|queued|in favou?r|likes?|welcomes?|welcomed)\b"
    ),
    Polarity.AGAINST: re.compile(
        r"\b(?:opposes?|opposed|objects?|objected|objections?|disagrees?|disagreed|rejects?|rejected|against|"
        r"vetoe[sd]|veto|dissents?|dissented|refuses?|refused|declines?|declined|dislikes?|disliked)\b"
    ),
}
_NOT = re.compile(r"(?:n't|\b(?:not|never|no longer|no|nobody|without|neither|nor))(?: [\w'-]+){0,3} ?$")
_COMMON_WORDS = (
    "a after all also although an and any as at because before both but by chairs each every everybody "
    "everyone for from he her his however i if in it its maintainers no nobody not of on one or other "
    "others out participants people reviewers several she so some such that the their there these they "
    "this those to two was we were what when where whether which while who with yes"
)
_COMMON = frozenset(_COMMON_WORDS.split())
"""Words that open a sentence in capitals and name nobody."""


def supported(
    thread: LinkedThread, sentence: ClaimedSentence | None, subject: str
) -> tuple[LocatedQuote, ...]:
    """What a sentence rests on; empty where it rests on nothing, or says more than that shows."""
    if sentence is None or not sentence.text or not sentence.evidence:
        return ()
    located = [locate(thread, quote) for quote in sentence.evidence]
    found = tuple(one for one in located if one is not None)
    # One invented quote discredits the sentence it stands under, whatever else it cites.
    if len(found) < len(located) or not found:
        return ()
    shown = _shown(thread, found, subject)
    is_borne = (
        not _unknown_numbers(sentence.text, shown)
        and not _unknown_names(sentence.text, shown, thread)
        and _stances_agree(sentence.text, found)
    )
    return found if is_borne else ()


def _shown(thread: LinkedThread, found: Sequence[LocatedQuote], subject: str) -> str:
    """All that a reader sees at the citation: the words, who wrote them, when, in answer to whom."""
    parts = [subject]
    for quote in found:
        parts += [quote.text, _header(quote.mail)]
        if quote.mail.parent is not None:
            parts.append(_header(thread.mails[quote.mail.parent]))
    return " ".join(parts)


def _header(mail: LinkedMail) -> str:
    name = display_name(mail.mail.name, mail.mail.address)
    day = mail.mail.date
    date = (
        f"{day.date().isoformat()} {day.day} {_MONTHS[day.month - 1]} {day.year} {_DAYS[day.weekday()]}"
        if day
        else ""
    )
    return f"{name} {mail.mail.name} {mail.mail.subject} {date}"


def _unknown_numbers(text: str, shown: str) -> set[str]:
    there = set(_numbers(shown))
    return {number for number in _numbers(text) if number not in there}


def _numbers(text: str) -> Iterable[str]:
    folded = fold(text)
    for match in _NUMBER.finditer(folded):
        yield match[0]
        yield from (part.lstrip("0") or "0" for part in re.split(r"\D", match[0]))
    for word in re.findall(r"[a-z]+", folded):
        if word in _NUMBER_WORDS:
            yield _NUMBER_WORDS[word]
        elif word in _MONTHS[:4] + _MONTHS[5:] or word in _DAYS:
            yield word


def _unknown_names(text: str, shown: str, thread: LinkedThread) -> set[str]:
    """Names that do not stand where the sentence points: of people of the thread, and of anything else."""
    there = set(word_key(shown).split())
    people = {
        word
        for mail in thread.mails
        for word in word_key(display_name(mail.mail.name, mail.mail.address)).split()
    }
    unknown = set()
    for match in _NAME.finditer(text):
        words = word_key(match[0]).split()
        opens = match.start() == 0 or text[: match.start()].rstrip().endswith((".", "!", "?", ":"))
        for word in words:
            is_common = word in _COMMON or (opens and word not in people)
            if not is_common and not _stands_in(word, there):
                unknown.add(word)
    return unknown | _absent_people(text, shown, thread)


def _absent_people(text: str, shown: str, thread: LinkedThread) -> set[str]:
    """People of the thread who are named, in capitals or not, though nothing cited shows them."""
    said, there = f" {word_key(text)} ", f" {word_key(shown)} "
    names = {word_key(display_name(mail.mail.name, mail.mail.address)) for mail in thread.mails}
    return {name for name in names if name and f" {name} " in said and f" {name} " not in there}


def _stands_in(word: str, there: Collection[str]) -> bool:
    return word in there or (word.endswith("s") and word[:-1] in there)


def _stances_agree(text: str, found: Sequence[LocatedQuote]) -> bool:
    """A sentence that says where somebody stands must not turn what the quoted words say.

    "Carl supports adoption" above "I do not support adoption" is a lie in every word's company.
    """
    if not _STANCE.search(fold(text)):
        return True
    claimed = _claimed_stance(fold(text))
    said = {polarity(quote.text) for quote in found}
    if claimed is Polarity.FOR:
        return Polarity.FOR in said and Polarity.AGAINST not in said
    if claimed is Polarity.AGAINST:
        return Polarity.AGAINST in said and Polarity.FOR not in said
    return True


def _claimed_stance(folded: str) -> Polarity:
    """Where the sentence says that somebody stands, in the third person."""
    found = set()
    for towards, words in _STANDS.items():
        for match in words.finditer(folded):
            turned = _NOT.search(folded[max(0, match.start() - 40) : match.start()])
            found.add((Polarity.AGAINST if towards is Polarity.FOR else Polarity.FOR) if turned else towards)
    if not found:
        return Polarity.OPEN
    return Polarity.BOTH if len(found) > 1 else found.pop()
