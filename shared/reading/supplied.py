"""Detects a mail that takes the place of the missing mail that its answers were written to.

Anybody can send a mail under a Message-ID that others name and the archive lacks. An answer shows what it
answers by its quotes, the attributions above them and its subject. A mail that its answers contradict is
shown, but these answers are not linked to it.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import timedelta
from enum import Enum
from functools import lru_cache

from shared.mail.subjects import split_subject
from shared.reading.mails import ThreadMail, word_key

_SKEW = timedelta(days=1)
_MAX_SEARCHED, _MAX_QUOTED = 20_000, 4_000
_MOST_PROBES, _PROBE_WORDS, _LEAST_PROBE = 12, 5, 3
_MIN_NAME = 3
_MOST_ANCESTORS = 12
_BLOCKS = ("----", "mailto:", "\nFrom: ", "\nVon: ", "\nDe: ")
"""Signs of a block that a mailer made of another mail."""
_MOST_MAILS, _MOST_SEARCHES = 200, 100
"""Beyond these bounds answers are not compared with the whole thread, because so many are hostile."""


class AnswerEvidence(Enum):
    """The evidence that an answer gives about the mail that it names."""

    CONFIRMS = "confirms"
    CONTRADICTS = "contradicts"
    NOTHING = "nothing"


def without_supplied(mails: Sequence[ThreadMail], *, by_subject: bool = False) -> list[ThreadMail]:
    """Return the mails without links that the answers' own words contradict.

    A first mail goes behind the others if its answers contradict it and none of another domain confirms it.
    With `by_subject` it also does if all answers are replies under another subject.
    """
    by_id = {mail.message_id: mail for mail in mails}
    kept: list[ThreadMail] = []
    root = mails[0]
    results: list[AnswerEvidence] = []
    answers: list[ThreadMail] = []
    searches = _MOST_SEARCHES
    for mail in mails:
        named = _named(mail, by_id)
        nearest = named[0] if named else None
        result = evidence(mail, named)
        if result is AnswerEvidence.CONTRADICTS and len(mails) <= _MOST_MAILS and searches:
            searches -= 1
            result = AnswerEvidence.NOTHING if _quotes_any(mail, mails) else result
        is_contradicted = nearest is not None and result is AnswerEvidence.CONTRADICTS
        kept.append(_unlinked(mail, nearest.message_id) if is_contradicted and nearest else mail)
        if nearest is root and _domain(mail) != _domain(root):
            answers.append(mail)
            results.append(result)
    contradicts = results.count(AnswerEvidence.CONTRADICTS) * 2 > len(results)
    contradicts = contradicts or (by_subject and _have_another_subject(answers, root))
    if contradicts and AnswerEvidence.CONFIRMS not in results:
        others = [_unlinked(mail, root.message_id) for mail in kept[1:]]
        first = _first_of(others)
        return [first, *(mail for mail in others if mail is not first), kept[0]]
    return kept


def _first_of(mails: Sequence[ThreadMail]) -> ThreadMail:
    """Return the first mail under the subject of most people, because an earlier date is easy to write."""
    people: dict[str, set[str]] = {}
    for mail in mails:
        people.setdefault(split_subject(mail.subject).text, set()).add(mail.address)
    return max(mails, key=lambda mail: len(people[split_subject(mail.subject).text]))


def _have_another_subject(answers: Sequence[ThreadMail], root: ThreadMail) -> bool:
    """Return whether all answers are replies under one subject that the first mail does not have."""
    split = [split_subject(answer.subject) for answer in answers]
    titles = {subject.text.casefold() for subject in split}
    return (
        len(titles) == 1
        and all(subject.is_reply for subject in split)
        and split_subject(root.subject).text.casefold() not in titles
    )


def _named(mail: ThreadMail, by_id: dict[str, ThreadMail]) -> list[ThreadMail]:
    """Return the present mails that the mail names, the nearest first."""
    ids = dict.fromkeys([mail.reply_to or "", *reversed(mail.references)])
    return [by_id[message_id] for message_id in ids if message_id in by_id and message_id != mail.message_id]


def _unlinked(mail: ThreadMail, dropped: str) -> ThreadMail:
    reply_to = None if mail.reply_to == dropped else mail.reply_to
    return replace(
        mail,
        reply_to=reply_to,
        references=tuple(reference for reference in mail.references if reference != dropped),
    )


def evidence(answer: ThreadMail, named: Sequence[ThreadMail]) -> AnswerEvidence:
    """Return what an answer's quotes, attributions and date say about the nearest mail that it names."""
    if not named or answer.address.lower() == named[0].address.lower():
        return AnswerEvidence.NOTHING
    if _quotes(answer, named[0]) or _names(answer, named[0]):
        return AnswerEvidence.CONFIRMS
    if any(mark in f"\n{quote.text}" for quote in answer.quotes for mark in _BLOCKS):
        return AnswerEvidence.NOTHING  # a mailer's block names its author in its own way
    if answer.attributions or answer.quotes:
        shows_another = any(
            _quotes(answer, other) or _names(answer, other) for other in named[1:_MOST_ANCESTORS]
        )
        return AnswerEvidence.NOTHING if shows_another else AnswerEvidence.CONTRADICTS
    is_later = answer.date and named[0].date and named[0].date - answer.date > _SKEW
    return AnswerEvidence.CONTRADICTS if is_later else AnswerEvidence.NOTHING


def _quotes_any(answer: ThreadMail, mails: Sequence[ThreadMail]) -> bool:
    """Return whether it quotes any other mail of the thread, because its mailer lost the chain."""
    return any(other is not answer and (_quotes(answer, other) or _names(answer, other)) for other in mails)


def _quotes(answer: ThreadMail, named: ThreadMail) -> bool:
    words = _words_of(named.text[:_MAX_SEARCHED])
    return any(probe in words for probe in _probes(answer))


def _probes(answer: ThreadMail) -> Iterator[str]:
    """Yield runs of words from its quotes, each from one line, because lines are rewrapped."""
    count = 0
    for quote in answer.quotes:
        for line in quote.text[:_MAX_QUOTED].splitlines():
            words = word_key(line).split()
            if len(words) >= _LEAST_PROBE:
                yield " ".join(words[:_PROBE_WORDS])
                count += 1
                if count == _MOST_PROBES:
                    return


def _names(answer: ThreadMail, named: ThreadMail) -> bool:
    """Return whether a line above a quote has the author's address or a part of the name."""
    address = named.address.lower()
    local = address.partition("@")[0]
    parts = {word for word in word_key(named.name).split() if len(word) >= _MIN_NAME}
    for line in answer.attributions:
        lowered = line.lower()
        if address in lowered or (len(local) >= _MIN_NAME and local in lowered):
            return True
        if parts & set(word_key(line).split()):
            return True
    return False


@lru_cache(maxsize=64)
def _words_of(text: str) -> str:
    return word_key(text)


def _domain(mail: ThreadMail) -> str:
    return mail.address.rpartition("@")[2].lower()
