"""How a sentence stands in its thread: what it answers, where it is, and whether anything takes it back."""

import re

from shared.domain.consensus.cues import BUT_NEXT, CONDITION, CONTRAST, NEGATION, REPORTED
from shared.domain.consensus.linked_thread import LinkedThread
from shared.domain.consensus.own_sentences import OwnSentence
from shared.domain.consensus.proposition import Put
from shared.domain.consensus.votes import is_legend

_LONG = 300
_FEW_SENTENCES = 3
_NO_NEGATION = re.compile(
    r"\bno (?:objections?|problems?|issues?|concerns?)\b|\b(?:no longer|don't|do not) have any\b|\bno "
    r"doubt\b|\bwhy not\b|\bno[,.]? ?(?:this|it|i) "
)
_REASON_START = re.compile(r"[:;] |, ?(?:as|because|since|so that)\b|\b(?:because|since) |\b(?:al)?though\b")
_CONDITION = re.compile(CONDITION.pattern)
_NEGATION = re.compile(
    r"n't\b|\b(?:not|no longer|never|nothing|without|cannot|nor|hardly|doubt(?:ful)?|unlikely|wonder|"
    r"neither|none|barely|nobody)\b"
)
_OTHERWISE = re.compile(
    r"\b(?:but|and|that said,?) (?:otherwise|other than that|overall|apart from that|aside from that),? "
    r"(?:(?:this|it|all|the|these) )?(?:\w+ )?(?:looks?|lgtm|seems?|is|are)\b|^\W{0,4}(?:otherwise|other "
    r"than that|apart from that|aside from that|with that|besides that)\b"
)


def relation(thread: LinkedThread, put: Put, sentence: OwnSentence) -> str:
    """How the answered mail stands to the proposition: `put`, `author`, `other` or `unknown`."""
    answered = thread.answered(sentence)
    mail = thread.mail_of(sentence)
    if answered is None:
        # A cut thread opens with an answer to what came before it.
        return "put" if mail is thread.root and mail is not put.mail and len(put.mails) > 1 else "unknown"
    if answered in put.mails:
        return "put"
    return "author" if thread.mails[answered].person == put.person else "other"


def takes_nothing_back(thread: LinkedThread, sentence: OwnSentence, cue_end: int = 0) -> bool:
    """No question, condition, negation, contrast or reported speech in it, and no "but" right after it.

    `cue_end` is where the words that count end: what follows a colon or a "because" after them is the reason
    for the stance, not a condition on it, and a concession ("though it is a hack") leaves it standing.
    """
    folded = sentence.folded
    if sentence.asks or len(folded) > _LONG or is_legend(sentence):
        return False
    following = thread.following(sentence)
    if following is not None and BUT_NEXT.finds(following):
        return False
    if REPORTED.finds(sentence):
        return False
    contrast = CONTRAST.search(sentence)
    if contrast is not None and not _OTHERWISE.search(folded) and not _concedes(contrast, cue_end):
        return False
    clause = folded[: _clause_end(folded, cue_end)]
    if CONDITION.finds(sentence) and _CONDITION.search(clause):
        return False
    return not NEGATION.finds(sentence) or not _NEGATION.search(_NO_NEGATION.sub("", clause))


def _concedes(contrast: re.Match[str], cue_end: int) -> bool:
    return bool(cue_end) and contrast.start() >= cue_end and contrast[0] in {"though", "although"}


def _clause_end(folded: str, cue_end: int) -> int:
    """Where the clause with the cue ends; the whole sentence where no cue is given."""
    found = _REASON_START.search(folded, cue_end) if cue_end else None
    return found.start() if found else len(folded)


def place(thread: LinkedThread, sentence: OwnSentence) -> str:
    """Where a sentence stands: the whole of a short mail, its opening, its closing, or inside."""
    mail = thread.mail_of(sentence)
    count = len(mail.sentences)
    if count <= _FEW_SENTENCES:
        return "whole"
    if sentence.index <= 1 and len(mail.mail.quotes) <= 1:
        return "opening"
    return "closing" if sentence.index >= count - 2 else "inside"
