"""Sentences in a model's own words: kept only where all that can be checked in them is in what they cite."""

import re
from collections.abc import Collection, Iterable, Sequence

from shared.domain.chat_reading.answer import ClaimedSentence
from shared.domain.chat_reading.located import LocatedQuote, locate
from shared.domain.chat_reading.polarity import Polarity, polarity
from shared.domain.consensus.linked_thread import LinkedMail, LinkedThread, display_name
from shared.domain.consensus.mails import fold, word_key

_NUMBER = re.compile(r"\d+(?:[.:/-]\d+)*")
_NUMBER_WORDS = {
    "two": "2", "three": "3", "four": "4", "five": "5", "six": "6", "seven": "7", "eight": "8", "nine": "9",
    "ten": "10", "eleven": "11", "twelve": "12", "twenty": "20", "hundred": "100", "thousand": "1000",
    "million": "1000000",
}  # fmt: skip
_MONTHS = (
    "january", "february", "march", "april", "may", "june",
    "july", "august", "september", "october", "november", "december",
)  # fmt: skip
_DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_NAME = re.compile(r"(?<![\w.])[A-Z][\w'\u00c0-\u024f-]*(?:\.[A-Za-z]\w*)*")
_STANCE = re.compile(
    r"\b(?:support|oppos|object|agree|disagree|accept|reject|approv|endors|adopt|merg|queu|veto|withdr|"
    r"consensus|unanimous|favou?r|"
    r"against|insist|concede|refus|declin|dissent|prefer|vot(?:e|ed|es|ing)\b)\w*"
)
_STANDS = {
    Polarity.FOR: re.compile(
        r"\b(?:supports?|supported|favou?rs|favou?red|agrees?|agreed|accepts?|accepted|approves?|"
        r"approved|endorses?|endorsed|"
        r"adopts?|adopted|merged|queued|in favou?r|likes?|welcomes?|welcomed)\b"
    ),
    Polarity.AGAINST: re.compile(
        r"\b(?:opposes?|opposed|objects?|objected|objections?|disagrees?|disagreed|rejects?|rejected|"
        r"against|vetoe[sd]|veto|"
        r"dissents?|dissented|refuses?|refused|declines?|declined|dislikes?|disliked)\b"
    ),
}
_NOT = re.compile(r"(?:n't|\b(?:not|never|no longer|no|nobody|without|neither|nor))(?: [\w'-]+){0,3} ?$")
_COMMON = frozenset({
    "a", "after", "all", "also", "although", "an", "and", "any", "as", "at", "because", "before",
    "both", "but", "by", "chairs", "each", "every", "everybody", "everyone", "for", "from", "he",
    "her", "his", "however", "i", "if", "in", "it", "its", "maintainers", "no", "nobody", "not", "of",
    "on", "one", "or", "other", "others", "out", "participants", "people", "reviewers", "several",
    "she", "so", "some", "such", "that", "the", "their", "there", "these", "they", "this", "those",
    "to", "two", "was", "we", "were", "what", "when", "where", "whether", "which", "while", "who",
    "with", "yes",
})  # fmt: skip
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
