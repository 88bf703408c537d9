"""What became of each objection. Rough consensus means objections addressed, not counted."""

import re

from shared.documents.values import Fate
from shared.domain.consensus.cues import PROMISES, WITHDRAWS
from shared.domain.consensus.linked_thread import LinkedMail, LinkedThread
from shared.domain.consensus.own_sentences import OwnSentence
from shared.domain.consensus.positions import withdraws
from shared.domain.consensus.proposition import Put
from shared.domain.consensus.sentence_context import takes_nothing_back
from shared.domain.consensus.stance_cues import AGREES, APPROVES, SUPPORTS
from shared.domain.consensus.votes import takes_back_a_vote

_CONTENT = re.compile(r"[a-z][a-z0-9_-]{3,}")
_PARTLY_SHARED = 2
_REASSURED = re.compile(
    r"\b(?:fair enough|makes? sense|good point|you(?:'re| are) right|i stand corrected|i see|got it|"
    r"ok(?:ay)? then|that works|"
    r"point taken|works for me|no (?:further|more) objections?|thanks,? that)\b"
)


def fate_of(thread: LinkedThread, put: Put, objection: OwnSentence) -> Fate:
    """By what comes after it: its owner's word first, then the proposer's, then any answer at all."""
    raised = thread.mail_of(objection)
    later = [mail for mail in thread.mails if mail.number > raised.number]
    own = [mail for mail in later if mail.person == raised.person]
    answers = [mail for mail in later if _answers(mail, raised) and mail.person != raised.person]
    if any(map(_withdraws, own)):
        return Fate.WITHDRAWN
    if _is_taken(put, objection, raised, later):
        return Fate.TAKEN
    if answers and any(_is_content(thread, mail) for mail in own):
        return Fate.ANSWERED
    if not answers:
        return Fate.OUTSTANDING
    # Answered by others, and its owner was silent after that: who can say whether they were content?
    return Fate.OUTSTANDING if own and own[-1].number > answers[-1].number else Fate.UNCLEAR


def withdrawal_of(thread: LinkedThread, objection: OwnSentence) -> OwnSentence | None:
    """The sentence in which its owner withdraws it: the last one after it."""
    raised = thread.mail_of(objection)
    later = [mail for mail in thread.mails if mail.number > raised.number and mail.person == raised.person]
    found = [one for mail in later for one in mail.sentences if withdraws(one) or takes_back_a_vote(one)]
    return found[-1] if found else None


def _answers(mail: LinkedMail, raised: LinkedMail) -> bool:
    return mail.parent == raised.number


def _withdraws(mail: LinkedMail) -> bool:
    return any(map(WITHDRAWS.finds, mail.sentences))


def _is_content(thread: LinkedThread, mail: LinkedMail) -> bool:
    return any(
        _REASSURED.search(one.folded)
        or (
            (SUPPORTS.finds(one) or APPROVES.finds(one) or AGREES.finds(one))
            and takes_nothing_back(thread, one)
        )
        for one in mail.sentences
    )


def _is_taken(put: Put, objection: OwnSentence, raised: LinkedMail, later: list[LinkedMail]) -> bool:
    """The proposer promises a change in answer to it, or brings a new version that speaks of it."""
    words = set(_CONTENT.findall(objection.folded))
    for mail in later:
        if mail.person not in put.proposers:
            continue
        if mail.parent == raised.number and any(map(PROMISES.finds, mail.sentences)):
            return True
        if mail.number in put.mails and mail.version > put.mail.version:
            named = len(words & set(_CONTENT.findall(" ".join(one.folded for one in mail.sentences[:60]))))
            if named >= _PARTLY_SHARED:
                return True
    return False
