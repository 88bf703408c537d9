"""The input and output of a summarizer."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Protocol

from shared.models.values import Citation, SourceProfile, ThreadReading
from shared.reading.mails import ThreadMail


class Section(StrEnum):
    """The section of a claim in a summary, in reading order."""

    NARRATIVE = "narrative"
    """A chat model's own words. Each sentence has citations."""
    READ_NARRATIVE = "read narrative"
    """A chat model's own words that the cited text does not clearly state."""
    AGREED = "agreed"
    """Stated support."""
    DISSENT = "dissent"
    """Stated objections."""
    READ_SUPPORT = "read support"
    """Support that a chat model infers from an argument."""
    READ_DISSENT = "read dissent"
    """Objections that a chat model infers from an argument."""
    DECISIONS = "decisions"
    """By a person whom the source defines as deciding."""
    POSSIBLE_DECISIONS = "possible decisions"
    PROPOSALS = "proposals"
    CONCERNS = "concerns"
    """Critical remarks whose authors do not state that they object."""
    OPEN_ISSUES = "open issues"
    KEY_POINTS = "key points"


@dataclass(frozen=True, slots=True)
class ContextMessage:
    """A message. `text` is its normalized text."""

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
    """A chunk of a message's normalized text. Citations refer to chunks."""

    chunk_id: str
    message_key: str
    index: int
    text: str
    token_count: int


@dataclass(frozen=True, slots=True)
class ThreadContext:
    """A whole thread: its messages in order, and their chunks."""

    thread_id: str
    subject: str
    messages: Sequence[ContextMessage]
    chunks: Sequence[ContextChunk]
    reading: ThreadReading
    """The reading by rules."""
    mails: Sequence[ThreadMail]
    """The same messages in the reader's form, the root first."""
    profile: SourceProfile = field(default_factory=SourceProfile)
    context_window_tokens: int = 16_000
    version: str = ""  # Of the content.
    gaps: tuple[str, ...] = ()  # Sentences on missing or odd content, for the reader.
    flags: Mapping[str, int] = field(default_factory=dict)  # The number of messages for each flag.
    marks: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # Oddities by Message-ID.

    def message(self, key: str) -> ContextMessage | None:
        return next((message for message in self.messages if message.key == key), None)


@dataclass(frozen=True, slots=True)
class Claim:
    """One statement of a summary. It is supported if all of its citations were verified."""

    text: str
    section: Section
    citations: tuple[Citation, ...] = ()
    speaker: str = ""
    """The author of the text. Empty if the summarizer wrote it."""

    @property
    def is_supported(self) -> bool:
        return bool(self.citations)


@dataclass(frozen=True, slots=True)
class Tokens:
    """The tokens of a chat model's calls."""

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
    """Claims without a verified citation, which are counted and never shown."""
    notes: tuple[str, ...] = ()
    tokens: Tokens = Tokens()

    @property
    def citations(self) -> list[Citation]:
        """Return each citation once, in the order of the claims. The text numbers them from 1."""
        unique: dict[tuple[str, str], Citation] = {}
        for claim in self.claims:
            for citation in claim.citations:
                unique.setdefault((citation.chunk_id, citation.quote), citation)
        return list(unique.values())


class Summarizer(Protocol):
    """Summarize threads with verified citations."""

    @property
    def name(self) -> str: ...

    async def summarize(self, context: ThreadContext) -> ThreadSummary: ...
