"""A reading in words: the outcome's sentence, and three lines for what was asked, came out and is left."""

import re
from collections.abc import Sequence

from shared.domain.consensus.endings import Ending
from shared.domain.consensus.linked_thread import LinkedThread
from shared.domain.consensus.own_sentences import OwnSentence
from shared.domain.consensus.people import display_name
from shared.domain.consensus.proposition import Put
from shared.domain.consensus.reading import (
    Authority,
    ConsensusBasis,
    Fate,
    Headline,
    Objection,
    OpenCall,
    OutcomeKind,
    VoteCount,
)

MAX_WORDS = 25
_HEAD = re.compile(r"^\s*(?:(?:re|aw|fwd?):\s*|\[[^\]]{0,80}\]\s*)+", re.IGNORECASE)
_SUBJECT_WORDS = 10
_NOTHING = "No decision seen."
KINDS = {
    OutcomeKind.ACCEPTED: "Accepted",
    OutcomeKind.REVISED: "Accepted with changes, or being changed",
    OutcomeKind.REJECTED: "Turned down or withdrawn",
    OutcomeKind.CONTESTED: "People stand on both sides; no decision seen",
    OutcomeKind.UNRESOLVED: "No decision seen",
    OutcomeKind.ANSWERED: "Answered",
    OutcomeKind.UNANSWERED: "No answer seen",
    OutcomeKind.INFORMATIONAL: "For information; nothing to decide",
}


def authority_of(thread: LinkedThread, verdict: Ending) -> Authority | None:
    """Who decided, where one with a role did."""
    settled = verdict.settled_by
    decided = verdict.basis in {ConsensusBasis.RULED, ConsensusBasis.CALLED}
    if settled is None or not decided or settled.role in {None, "proposer"}:
        return None
    mail = thread.mail_of(settled.sentence).mail
    return Authority(mail.address.lower(), display_name(mail.name, mail.address), settled.role or "")


def outcome_sentence(put: Put, verdict: Ending, authority: Authority | None, votes: VoteCount | None) -> str:
    """One sentence for a headline; where nothing can be said, that no decision was seen."""
    if not verdict.sure:
        return _NOTHING
    parts = [_kind_and_subject(verdict.kind, put.mail.mail.subject)]
    if votes is not None and (votes.binding_for or votes.other_for):
        parts.append(_tally(votes))
    if authority is not None:
        parts.append(f"by {authority.name} ({authority.role})")
    return _ended(clipped(", ".join(parts), MAX_WORDS))


def plain_sentence(kind: OutcomeKind | None, subject: str) -> str:
    """Of an outcome that nobody is named for; None: nothing can be said."""
    return _NOTHING if kind is None else _ended(_kind_and_subject(kind, subject))


def _kind_and_subject(kind: OutcomeKind, subject: str) -> str:
    return f"{KINDS[kind]}: {subject_words(subject)}"


def _ended(sentence: str) -> str:
    return sentence if sentence.endswith(("?", "!", ".")) else f"{sentence}."


def _tally(votes: VoteCount) -> str:
    in_favour = votes.binding_for + votes.other_for
    against = votes.binding_against + votes.other_against
    bound = f" ({votes.binding_for} binding)" if votes.binding_for else ""
    return f"{in_favour} for{bound}, {against} against"


def three_lines(
    put: Put,
    sentence: str,
    objections: Sequence[Objection],
    open_issues: Sequence[OwnSentence],
    open_call: OpenCall | None,
) -> Headline:
    asked = clipped(put.words.text, MAX_WORDS) if put.words else _HEAD.sub("", put.mail.mail.subject)
    outstanding = [one for one in objections if one.fate is Fate.OUTSTANDING]
    left = ""
    if outstanding:
        left = clipped(outstanding[-1].citation.quote, MAX_WORDS)
    elif open_issues:
        left = clipped(open_issues[-1].text, MAX_WORDS)
    elif open_call is not None and open_call.ends is not None:
        left = f"The call is open until {open_call.ends.isoformat()}."
    return Headline(asked=asked, came_out=sentence, left=left)


def subject_words(subject: str) -> str:
    """A subject without its tags, short enough for a headline."""
    return clipped(_HEAD.sub("", subject) or "the proposal", _SUBJECT_WORDS)


def clipped(text: str, words: int) -> str:
    found = text.split()
    return " ".join(found) if len(found) <= words else " ".join(found[:words]) + " \u2026"
