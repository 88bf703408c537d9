"""Flags of a thread, such as conflicting copies and failed sender checks. They do not change any count."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from shared.models.readings import StoredReading
from shared.models.threads import Message, Thread
from shared.models.values import (
    ConsensusBasis,
    Decision,
    Objection,
    Position,
    SentenceCitation,
    ThreadReading,
    Tier,
)
from shared.reading.linked_thread import CLAIMS_ROLE, CONFUSABLE, SAME_NAME, UNAUTHENTICATED, People
from shared.reading.mails import ThreadMail
from shared.threading.assignment import BY_LIMIT, BY_OPERATOR, BY_SUBJECT, ThreadState
from shared.threading.opening import opening_of

_HIDDEN = "hidden-text"
CONFLICTING = "conflicting content under the same Message-ID"
HAS_HIDDEN_TEXT = "contains hidden text (not read)"
JOINED = "threaded by subject only"
JOINED_TO = "other messages are threaded to it by subject only"
TITLE_DISPUTED = "several answers have another subject"
MOVED = "moved here by an operator"
_SENTENCES = {
    "conflicting_copies": "Messages with conflicting copies: {}. The first copy in list order counts.",
    "joined_by_subject": "Messages threaded by subject only: {}.",
    "disputed_titles": "The first message and several answers, or several answers, have different subjects.",
    "moved_by_operator": "Messages moved by an operator: {}.",
    "beyond_limit": "Messages that begin a thread because the one that they name is full: {}.",
    "hidden_text": "Messages with hidden text (not read): {}.",
    "unauthenticated_senders": "Messages with an unauthenticated sender: {}.",
    "same_names": "A sender name is used by several addresses. Messages: {}.",
    "confusable_names": "Messages from a name that looks like another participant's: {}.",
    "claimed_roles": "Messages that claim a role unknown to the list: {}.",
}
_MARKS = {
    UNAUTHENTICATED: "unauthenticated_senders",
    SAME_NAME: "same_names",
    CONFUSABLE: "confusable_names",
    CLAIMS_ROLE: "claimed_roles",
}


_ON_EVERY_MAIL = frozenset({UNAUTHENTICATED, CONFUSABLE})


def record_flags(
    thread: Thread, messages: Sequence[Message], marks: Mapping[str, Sequence[str]]
) -> dict[str, int]:
    """Return the number of messages for each flag that applies. `marks` are the marks of senders."""
    via = [member.get("via") for member in thread.threading.get("members", [])]
    flags = {
        "conflicting_copies": sum(message.conflicts > 0 for message in messages),
        "joined_by_subject": via.count(BY_SUBJECT),
        "disputed_titles": len(title_marks(thread)),
        "moved_by_operator": via.count(BY_OPERATOR),
        "beyond_limit": via.count(BY_LIMIT),
        "hidden_text": sum(_HIDDEN in message.warnings for message in messages),
    }
    flags |= {
        name: sum(mark in sender_marks for sender_marks in marks.values()) for mark, name in _MARKS.items()
    }
    return {name: count for name, count in flags.items() if count}


def sender_marks(
    reading: ThreadReading, mails: Sequence[ThreadMail], people: People
) -> dict[str, tuple[str, ...]]:
    """Return the marks of senders by Message-ID. Some apply only to mails that support a claim."""
    cited = {citation.message_id for citation in _citations(reading)}
    found = {}
    for number, mail in enumerate(mails):
        marks = people.marks(number)
        if mail.message_id not in cited:
            marks = tuple(mark for mark in marks if mark in _ON_EVERY_MAIL)
        found[mail.message_id] = marks
    return {message_id: marks for message_id, marks in found.items() if marks}


def _citations(reading: ThreadReading) -> Iterator[SentenceCitation]:
    claims: tuple[Position | Objection | Decision, ...]
    claims = (*reading.positions, *reading.objections, *reading.decisions)
    yield from (claim.citation for claim in claims)
    yield from reading.outcome.evidence


def title_marks(thread: Thread) -> tuple[str, ...]:
    state = ThreadState.from_document(thread.threading) if thread.threading else ThreadState()
    return (TITLE_DISPUTED,) if opening_of(state).is_disputed else ()


def message_marks(thread: Thread, messages: Sequence[Message]) -> dict[str, tuple[str, ...]]:
    """Return the marks by Message-ID, without messages that have none."""
    members = thread.threading.get("members", [])
    via = {member["id"]: member.get("via") for member in members}
    joined_to = {member.get("parent") for member in members if member.get("via") == BY_SUBJECT}
    found = {}
    for message in messages:
        marks = (
            (CONFLICTING, message.conflicts > 0),
            (HAS_HIDDEN_TEXT, _HIDDEN in message.warnings),
            (JOINED, via.get(message.message_id) == BY_SUBJECT),
            (JOINED_TO, message.message_id in joined_to),
            (MOVED, via.get(message.message_id) == BY_OPERATOR),
        )
        found[message.message_id] = tuple(mark for mark, holds in marks if holds)
    return {message_id: odd for message_id, odd in found.items() if odd}


def marked_claims(reading: StoredReading, marks: Mapping[str, Sequence[str]]) -> StoredReading:
    """Return the reading with the marks at each claim that they affect."""

    def of(*message_ids: str) -> tuple[str, ...]:
        return tuple(dict.fromkeys(mark for id_ in message_ids for mark in marks.get(id_, ())))

    positions = [
        replace(position, marks=tuple(dict.fromkeys((*position.marks, *of(position.citation.message_id)))))
        for position in reading.positions
    ]
    rests_on = [citation.message_id for citation in reading.outcome.evidence]
    if reading.outcome.basis is ConsensusBasis.COUNTED:
        rests_on += [position.citation.message_id for position in positions if position.tier is Tier.SAID]
    proposal = reading.proposition
    return reading.model_copy(
        update={
            "positions": positions,
            "objections": [replace(item, marks=of(item.citation.message_id)) for item in reading.objections],
            "decisions": [replace(item, marks=of(item.citation.message_id)) for item in reading.decisions],
            "outcome": reading.outcome.model_copy(update={"marks": [*of(*rests_on)]}),
            "proposition": replace(proposal, marks=of(proposal.message_id)) if proposal else None,
        }
    )


def flag_sentences(flags: Mapping[str, int]) -> tuple[str, ...]:
    return tuple(_SENTENCES[name].format(count) for name, count in flags.items())
