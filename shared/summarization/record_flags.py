"""What a reader has to know of a thread's record: copies that conflict, senders that fail, and so on.

A flag changes nothing that is counted, unless its sentence says so.
"""

from collections.abc import Mapping, Sequence

from shared.documents.messages import Message
from shared.documents.readings import StoredReading
from shared.documents.threads import Thread
from shared.domain.consensus.people import CLAIMS_ROLE, CONFUSABLE, SAME_NAME, UNAUTHENTICATED, People
from shared.domain.threading.assignment import BY_OPERATOR, BY_SUBJECT

_HIDDEN = "hidden-text"
CONFLICTING = "another content goes by its Message-ID"
HAS_HIDDEN_TEXT = "has hidden text, which is not read"
JOINED = "is here by its subject alone"
MOVED = "was put here by an operator"
_SENTENCES = {
    "conflicting_copies": "{} of its messages have copies with other content: the first of the list counts.",
    "joined_by_subject": "{} of its messages name nothing that they answer: they are here by subject.",
    "moved_by_operator": "{} of its messages are where an operator put them.",
    "hidden_text": "{} of its messages have hidden text, which is not read.",
    "unauthenticated_senders": "The senders of {} of its messages failed the check that the list names.",
    "same_names": "{} of its messages are by an address that shares its name with another.",
    "confusable_names": "{} of its messages are by a name that looks like another participant's.",
    "claimed_roles": "{} of its messages claim a role that the list does not name: they rule nothing.",
}
_MARKS = {
    UNAUTHENTICATED: "unauthenticated_senders",
    SAME_NAME: "same_names",
    CONFUSABLE: "confusable_names",
    CLAIMS_ROLE: "claimed_roles",
}


def record_flags(thread: Thread, messages: Sequence[Message], people: People, mails: int) -> dict[str, int]:
    """How many messages each flag is about; those that are about none are left out."""
    via = [member.get("via") for member in thread.threading.get("members", [])]
    flags = {
        "conflicting_copies": sum(message.conflicts > 0 for message in messages),
        "joined_by_subject": via.count(BY_SUBJECT),
        "moved_by_operator": via.count(BY_OPERATOR),
        "hidden_text": sum(_HIDDEN in message.warnings for message in messages),
    }
    marks = [mark for number in range(mails) for mark in people.marks(number)]
    flags |= {name: marks.count(mark) for mark, name in _MARKS.items()}
    return {name: count for name, count in flags.items() if count}


def message_marks(thread: Thread, messages: Sequence[Message]) -> dict[str, tuple[str, ...]]:
    """What is odd about a message itself, by Message-ID; those of which nothing is are left out."""
    via = {member["id"]: member.get("via") for member in thread.threading.get("members", [])}
    marks = {
        message.message_id: tuple(
            mark
            for mark, holds in (
                (CONFLICTING, message.conflicts > 0),
                (HAS_HIDDEN_TEXT, _HIDDEN in message.warnings),
                (JOINED, via.get(message.message_id) == BY_SUBJECT),
                (MOVED, via.get(message.message_id) == BY_OPERATOR),
            )
            if holds
        )
        for message in messages
    }
    return {message_id: odd for message_id, odd in marks.items() if odd}


def marked_positions(reading: StoredReading, marks: Mapping[str, Sequence[str]]) -> StoredReading:
    """A position is shown with what is odd about the message that it stands in."""
    positions = [
        one.model_copy(update={"marks": [*one.marks, *marks.get(one.citation.message_id, ())]})
        for one in reading.positions
    ]
    return reading.model_copy(update={"positions": positions})


def flag_sentences(flags: Mapping[str, int]) -> tuple[str, ...]:
    return tuple(_SENTENCES[name].format(count) for name, count in flags.items())
