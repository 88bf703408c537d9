"""What is read out of a thread: stances, statements, and what they amount to."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum


class ConsensusType(StrEnum):
    AGREEMENT = "agreement"
    DISSENT = "dissent"
    MIXED = "mixed"


class Stance(StrEnum):
    SUPPORT = "support"
    OBJECTION = "objection"
    NEUTRAL = "neutral"
    QUESTION = "question"
    UNCLEAR = "unclear"


class CallKind(StrEnum):
    """What a chair's message does about consensus."""

    OPENED = "opened"
    DECLARED = "declared"
    DECLARED_AGAINST = "declared against"
    NO_CONSENSUS = "no consensus"
    CLOSED = "closed"


@dataclass(frozen=True, slots=True)
class ConsensusMessage:
    """A message as consensus is read from it. `text` is its normalised text: offsets count in it."""

    key: str
    sender_email: str
    text: str
    sender_name: str = ""
    date: datetime | None = None
    message_id: str | None = None
    in_reply_to: str | None = None


@dataclass(frozen=True, slots=True)
class Evidence:
    """The sentence that shows something, verbatim, at `start` in its message's normalised text."""

    message_key: str
    start: int
    end: int
    quote: str


@dataclass(frozen=True, slots=True)
class MessageStance:
    message_key: str
    stance: Stance
    evidence: Evidence | None = None
    cue: str = ""
    """Which marker was found; empty where nothing shows a stance."""
    is_explicit: bool = False
    is_relative: bool = False
    """Towards the message that it answers, rather than towards the proposal itself."""
    is_conditional: bool = False
    agrees_with: str = ""
    """The name after "I agree with", folded."""


@dataclass(frozen=True, slots=True)
class Statement:
    """A proposal, a decision or an open issue."""

    evidence: Evidence
    sender_email: str
    cue: str


@dataclass(frozen=True, slots=True)
class ConsensusCall:
    kind: CallKind
    evidence: Evidence
    sender_email: str
    by_chair: bool
    """The sender is a known chair or, where none is known, says so in the message."""


@dataclass(frozen=True, slots=True)
class Participant:
    """One person, one voice: who, and where they ended up."""

    email: str
    name: str
    stance: Stance
    evidence: Evidence | None
    message_count: int
    message_key: str = ""
    """The message whose stance counts."""


@dataclass(frozen=True, slots=True)
class StanceCounts:
    """Participants by their latest stance."""

    support: int = 0
    objection: int = 0
    neutral: int = 0
    question: int = 0
    unclear: int = 0


@dataclass(frozen=True, slots=True)
class ThreadConsensus:
    has_consensus: bool
    consensus_type: ConsensusType | None
    counts: StanceCounts
    reason: str
    """One line on why, for a person who doubts it."""
    participants: Sequence[Participant] = ()
    stances: Sequence[MessageStance] = ()
    calls: Sequence[ConsensusCall] = ()
    proposals: Sequence[Statement] = ()
    decisions: Sequence[Statement] = ()
    open_issues: Sequence[Statement] = field(default=())
