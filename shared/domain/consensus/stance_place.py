"""Whether a sentence answers the very words that put something, and not some other lines of that mail.

In a long answer between quoted lines "Sounds good" may be of anything. Right below the sentence that
proposes, or as the first words of the answer, it is of the proposition.
"""

import re

from shared.domain.consensus.cues import ASKS_GROUP, PROPOSES
from shared.domain.consensus.linked_thread import LinkedThread
from shared.domain.consensus.own_sentences import OwnSentence, word_key
from shared.domain.consensus.proposition import Put, proposes_plainly

_MAX_TAIL = 1_200
"""Letters of a quote's end in which the words that propose are looked for."""
_NEAR = 220
"""Letters that may follow these words before the answer: a reason, a courtesy."""
_MIN_KEY = 12
_FEW_SENTENCES = 3
_PUTS_A_QUESTION = re.compile(
    r"\b(?:should(?:n't)? we|shall we|could(?:n't)? we|why (?:don't we|not)|how about|what about \w+ing|"
    r"do (?:you|others|people|we) (?:all )?agree|does (?:that|this|it) (?:all )?(?:make sense|sound|seem|"
    r"look|work)|"
    r"(?:is|are|would) (?:that|this|it|these|such an? \w+) (?:be )?(?:ok|okay|acceptable|fine|reasonable|"
    r"sensible|a good idea)|(?:is|would be) a good idea)\b[^?]*\?\W*$"
)
_TURNED_QUESTION = re.compile(
    r"\b(?:or|keep|really|still|at all|even|bother|not|n't we|nobody|anybody|anyone|mind|object)\b|"
    r"n't\b(?! we)"
)
"""A question whose "yes" may mean either side."""


def opens_the_answer(thread: LinkedThread, sentence: OwnSentence) -> bool:
    """One of the first two sentences of a mail, above all its quotes or below the first of them."""
    return sentence.index <= 1 and sentence.block <= 0 and _shows_quotes(thread, sentence)


def answers_the_proposal(thread: LinkedThread, put: Put, sentence: OwnSentence) -> bool:
    """The first words of an answer, or the words right below the quoted sentence that proposes."""
    if sentence.block < 0:
        return opens_the_answer(thread, sentence)
    return _stands_below_the_words(thread, put, sentence)


def answers_a_question_put(thread: LinkedThread, sentence: OwnSentence) -> bool:
    """Whether it stands right below a quoted question that proposes, such as "Should we drop it?"."""
    if sentence.block < 0 or (sentence.index > 0 and not sentence.opens_paragraph):
        return False
    quoted = " ".join(thread.mail_of(sentence).mail.quotes[sentence.block].text[-_MAX_TAIL:].split()).lower()
    last = re.split(r"[.!?:;]\s+(?=\S)", quoted)[-1]
    found = _PUTS_A_QUESTION.search(last)
    return found is not None and not _TURNED_QUESTION.search(last, found.start())


def _stands_below_the_words(thread: LinkedThread, put: Put, sentence: OwnSentence) -> bool:
    quoted = word_key(thread.mail_of(sentence).mail.quotes[sentence.block].text[-_MAX_TAIL:])
    for one in put.mail.sentences:
        if not (PROPOSES.finds(one) or ASKS_GROUP.finds(one) or proposes_plainly(one)):
            continue
        key = one.key[-80:]
        place = quoted.rfind(key) if len(key) >= _MIN_KEY else -1
        if place >= 0 and len(quoted) - place - len(key) <= _NEAR:
            return True
    return False


def _shows_quotes(thread: LinkedThread, sentence: OwnSentence) -> bool:
    """An archive that lost its quotes does not show that a long answer opens with words on the whole."""
    mail = thread.mail_of(sentence)
    return len(mail.sentences) <= _FEW_SENTENCES or keeps_quotes(thread)


def keeps_quotes(thread: LinkedThread) -> bool:
    return any(one.mail.quotes for one in thread.mails)
