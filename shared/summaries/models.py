"""What a summarizer gets and gives."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Protocol

from shared.models.values import Citation, SourceProfile, ThreadReading
from shared.reading.mails import ThreadMail


class Section(StrEnum):
    """Where a claim stands in a summary, in the order of reading."""

    NARRATIVE = "narrative"
    """In a chat model's own words; each sentence says what it cites."""
    READ_NARRATIVE = "read narrative"
    """In a chat model's own words, where the cited words do not plainly say it."""
    AGREED = "agreed"
    """People who say that they support it."""
    DISSENT = "dissent"
    """People who say that they object."""
    READ_SUPPORT = "read support"
    """Support that follows from an argument, as a chat model reads it."""
    READ_DISSENT = "read dissent"
    """An objection that follows from an argument, as a chat model reads it."""
    DECISIONS = "decisions"
    """By one whom the source names as deciding."""
    POSSIBLE_DECISIONS = "possible decisions"
    PROPOSALS = "proposals"
    CONCERNS = "concerns"
    """Remarks against it; whether their writers object is not said."""
    OPEN_ISSUES = "open issues"
    KEY_POINTS = "key points"


@dataclass(frozen=True, slots=True)
class ContextMessage:
    """A message; `text` is its normalised text."""

    key: str
    message_id: str
    sender_email: str
    text: str
    sender_name: str = ""
    date: datetime | None = None
    subject: str = ""
    in_reply_to: str | None = None

    @property
    def speaker(self) -> str:
        return self.sender_name or self.sender_email or "unknown sender"


@dataclass(frozen=True, slots=True)
class ContextChunk:
    """A chunk of a message's normalised text; what is cited is cited from a chunk."""

    chunk_id: str
    message_key: str
    index: int
    text: str
    token_count: int


@dataclass(frozen=True, slots=True)
class ThreadContext:
    """A whole thread: all its messages in order, and all their chunks."""

    thread_id: str
    subject: str
    messages: Sequence[ContextMessage]
    chunks: Sequence[ContextChunk]
    reading: ThreadReading
    """As the rules read it."""
    mails: Sequence[ThreadMail]
    """The same messages as a reader takes them, the root first."""
    profile: SourceProfile = field(default_factory=SourceProfile)
    context_window_tokens: int = 16_000
    version: str = ""  # of what it is made of
    gaps: tuple[str, ...] = ()  # what the reader has to know of the thread, in sentences
    flags: Mapping[str, int] = field(default_factory=dict)  # how many messages each is about
    marks: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # what is odd, by Message-ID

    def message(self, key: str) -> ContextMessage | None:
        return next((message for message in self.messages if message.key == key), None)


@dataclass(frozen=True, slots=True)
class Claim:
    """One statement of a summary. It is supported if every citation was found where it says."""

    text: str
    section: Section
    citations: tuple[Citation, ...] = ()
    speaker: str = ""
    """Whose words the text is; empty where it is the summarizer's."""

    @property
    def is_supported(self) -> bool:
        return bool(self.citations)


@dataclass(frozen=True, slots=True)
class Tokens:
    """What a call of a chat model cost."""

    prompt: int = 0
    completion: int = 0

    @property
    def total(self) -> int:
        return self.prompt + self.completion


@dataclass(frozen=True, slots=True)
class ThreadSummary:
    title: str
    claims: tuple[Claim, ...]
    generated_by: str
    reading: ThreadReading
    rejected: tuple[Claim, ...] = ()
    """Claims that no chunk of the thread bears: kept to be counted, never shown."""
    notes: tuple[str, ...] = ()
    tokens: Tokens = Tokens()

    @property
    def citations(self) -> list[Citation]:
        """Each citation once, in the order of the claims; the numbers in the text count them from 1."""
        unique: dict[tuple[str, str], Citation] = {}
        for claim in self.claims:
            for citation in claim.citations:
                unique.setdefault((citation.chunk_id, citation.quote), citation)
        return list(unique.values())


class Summarizer(Protocol):
    """Makes a summary of a thread. Every claim it gives has verified citations."""

    @property
    def name(self) -> str: ...

    async def summarize(self, context: ThreadContext) -> ThreadSummary: ...
