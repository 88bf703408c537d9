"""How the review of a patch ended: taken, changed, left, given up."""

import re

from shared.documents.values import ConsensusBasis, OutcomeKind
from shared.domain.consensus.cues import THANKS, TRAILER
from shared.domain.consensus.doubt_cues import DOUBTS, OPPOSES
from shared.domain.consensus.endings import Ending, Evidence, counted, ended_by, unknown
from shared.domain.consensus.linked_thread import LinkedMail
from shared.domain.consensus.rulings import EndingWord
from shared.domain.consensus.stance_cues import APPROVES

_PART = re.compile(
    r"\bpatch(?:es)? #?\d|\b(?:the )?(?:first|second|third|last|other|rest|remaining)\b|\bpostponed\b|"
    r"\bpart(?:s|ly|ially)?\b|"
    r"\bsome of\b|\bexcept\b|\d/\d|"
    r"\b(?:appl(?:y|ied)|queued?|t[oa]ke?n?|merged?|picked up|pushed) #?\d{1,2}(?: ?[-,] ?\d| and \d| to \b)"
)
"""Only some of a series is taken."""
_RESISTS = re.compile(
    r"\b(?:but|however|although|though|rather|prefer|instead|intentional\w*|deliberate\w*|on purpose|"
    r"disagree|"
    r"unfortunately|unless|until|if|when|later|another (?:patch|series)|separate\w*|wonder|actually|maybe|"
    r"perhaps|"
    r"i think|cannot|(?:do|does|is|are|should|will|need) not|not (?:sure|needed|necessary))\b|"
    r"\b(?:do|does|is|are|should|wo|ca|need)n't\b|(?:^|[.,;] )no\b[,. ]|"
    r"\b(?:drop|ignore|discard) (?:it|this|that|the patch)\b|\b(?:update|tell|keep) you\b|\blet you know\b"
)
"""Words of an author who does not take a remark over as it is, or not in this series."""
_WILL_CHANGE = re.compile(
    r"\b(?:will|going to|let me)\b|'ll\b|^\W{0,4}(?:\w+,? ){0,2}(?:done|fixed|changed|updated|corrected|"
    r"removed)\b"
)
_SETTLED_ELSEWHERE = re.compile(
    r"\balready (?:\w+ )?(?:applied|sent|merged|fixed|queued|committed|upstream|done|in)\b|\b(?:same|"
    r"identical) "
    r"(?:patch|fix|change|e?mail)\b|\bduplicates?\b"
)
"""A reviewer tells that there is another patch, or that this one is taken."""
_ENOUGH_TRAILERS = 2
_A_WORD = 2
_MOST_VERSIONS, _MAX_NOTES = 6, 6_000
_REMARKS = r"(?:comments?|feedback|remarks|suggestions?|reviews?|reviewing)"
_TAKES_OVER = re.compile(
    rf"\b(?:as|per|following|based on|taking) (?:\w+ ){{0,3}}"
    rf"(?:suggested|requested|pointed|advised|{_REMARKS})\b|"
    r"\b(?:suggested|requested|pointed out|noticed|spotted) by\b|"
    rf"\b(?:address\w*|incorporat\w+|appl(?:y|ied)|took|taken) (?:[\w']+ ){{0,3}}{_REMARKS}\b|"
    rf"\bthanks?\b[^.!]{{0,60}}\b{_REMARKS}\b"
)
"""What a version says of the remarks on the one before."""


def of_patch(ending: Evidence) -> Ending:
    return _by_authority(ending) or _by_others(ending) or _by_nobody()


def _kind(ending: Evidence) -> OutcomeKind:
    return OutcomeKind.REVISED if _is_changed(ending) else OutcomeKind.ACCEPTED


def _is_changed(ending: Evidence) -> bool:
    return bool(ending.settlements.promised) or ending.newer_version or ending.is_taken_with_changes


def _may_be_changed(ending: Evidence) -> bool:
    """One with the proposer's name, and another address, promises a change: it may be them, or not."""
    return any(
        ending.thread.mail_of(word.sentence).person in ending.put.proposers
        for word in ending.settlements.edited
    )


def _by_authority(ending: Evidence) -> Ending | None:
    found = ending.settlements
    if found.accepted:
        word = found.accepted[-1]
        unchanged = not _is_changed(ending) and not _may_be_changed(ending)
        shown = ending.newer_version or found.names_next_version or unchanged
        sure = shown and not _PART.search(word.sentence.folded) and not _is_doubted_after(ending, word)
        return ended_by(_kind(ending), word, ConsensusBasis.RULED, "accepted by authority", sure=sure)
    if found.rejected:
        word = found.rejected[-1]
        return ended_by(OutcomeKind.REJECTED, word, ConsensusBasis.RULED, "rejected by authority", sure=False)
    return None


def _by_others(ending: Evidence) -> Ending | None:
    found = ending.settlements
    if found.withdrawn and len(ending.put.proposers) == 1:
        word = found.withdrawn[-1]
        return ended_by(OutcomeKind.REJECTED, word, ConsensusBasis.UNKNOWN, "withdrawn", sure=True)
    if found.taken:
        sure = not _is_changed(ending)
        return ended_by(_kind(ending), found.taken[-1], ConsensusBasis.COUNTED, "taken", sure=sure)
    if ending.newer_version:
        return unknown(OutcomeKind.REVISED, "new version", sure=_is_content_with_the_last(ending))
    if found.promised_next:
        word = found.promised_next[-1]
        sure = not ending.heard_against and not _is_doubted_after(ending, word)
        return ended_by(OutcomeKind.REVISED, word, ConsensusBasis.UNKNOWN, "taken over", sure=sure)
    return _by_reviewers(ending)


def _by_reviewers(ending: Evidence) -> Ending | None:
    """Nobody takes it: all consented, or the author takes all wishes over."""
    if _is_acked(ending):
        return counted(OutcomeKind.ACCEPTED, "acked")
    if word := _all_taken_over(ending):
        return ended_by(OutcomeKind.REVISED, word, ConsensusBasis.UNKNOWN, "remarks taken over", sure=True)
    return None


def _all_taken_over(ending: Evidence) -> EndingWord | None:
    """The author answers every review, resists nothing, and in the last answer promises the changes."""
    proposers, mails = ending.put.proposers, ending.thread.mails
    reviews = [mail for mail in mails if mail.person not in proposers and _has_remarks(mail)]
    if not reviews or ending.heard_against:
        return None
    answers = [mail for mail in mails[reviews[0].number :] if mail.person in proposers and not mail.is_patch]
    words = [
        word
        for word in ending.settlements.promised
        if answers and word.sentence.mail == answers[-1].number and _WILL_CHANGE.search(word.sentence.folded)
    ]
    if not words or any(
        one.asks or _RESISTS.search(one.folded) for mail in answers for one in mail.sentences
    ):
        return None
    answered = {mail.parent for mail in answers}
    if any(_SETTLED_ELSEWHERE.search(one.folded) for mail in reviews for one in mail.sentences):
        return None
    if any(mail.number not in answered and mail.number < answers[-1].number for mail in reviews):
        return None
    after = [mail for mail in mails[answers[-1].number + 1 :] if _has_remarks(mail)]
    return None if after or _goes_on_after(ending, answers[-1].number) else words[-1]


def _has_remarks(mail: LinkedMail) -> bool:
    """More than trailers, thanks, praise and a word of consent."""
    return any(
        not TRAILER.match(one.text)
        and not THANKS.finds(one)
        and not APPROVES.finds(one)
        and (one.asks or len(one.words) > _A_WORD)
        for one in mail.sentences
    )


def _is_content_with_the_last(ending: Evidence) -> bool:
    """The newest version says that it takes remarks over, and nobody asks or doubts after it."""
    newest = max(ending.put.mails, key=lambda number: (ending.thread.mails[number].version, number))
    if not any(_TAKES_OVER.search(_notes(mail)) for mail in _versions(ending)):
        return False
    return not ending.heard_against and not _goes_on_after(ending, newest)


def _goes_on_after(ending: Evidence, number: int) -> bool:
    """Somebody else asks or doubts after that mail."""
    return any(
        one.asks or DOUBTS.finds(one) or OPPOSES.finds(one)
        for mail in ending.thread.mails[number + 1 :]
        if mail.person not in ending.put.proposers
        for one in mail.sentences
    )


def _versions(ending: Evidence) -> list[LinkedMail]:
    """The later versions: of a series its cover letters, where it has any."""
    later = [ending.thread.mails[number] for number in sorted(ending.put.mails)]
    later = [mail for mail in later if mail.version > 1]
    return ([mail for mail in later if not mail.is_part] or later)[:_MOST_VERSIONS]


def _notes(mail: LinkedMail) -> str:
    """What a version says of itself, also below the line that ends its log message."""
    return mail.mail.text[:_MAX_NOTES].lower()


def _by_nobody() -> Ending:
    # That nobody was seen to take it is no outcome: they may have, in words or in a place not read here.
    return unknown(OutcomeKind.UNRESOLVED, "no acceptance")


def _is_acked(ending: Evidence) -> bool:
    """Several gave their trailer, and everybody else who spoke did."""
    acked = {one.person for one in ending.said if one.rule == "trailer"}
    others = {
        mail.mail.address.lower() for mail in ending.thread.mails if mail.person not in ending.put.proposers
    }
    return len(acked) >= _ENOUGH_TRAILERS and others <= acked and not ending.settlements.promised


def _is_doubted_after(ending: Evidence, word: EndingWord) -> bool:
    """Somebody else has doubts after the acceptance: it may not stand."""
    return any(
        DOUBTS.finds(one) or OPPOSES.finds(one)
        for mail in ending.thread.mails[word.sentence.mail + 1 :]
        if mail.person not in ending.put.proposers
        for one in mail.sentences
    )
