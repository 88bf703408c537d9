"""Value types that documents store: what is read out of a thread, profiles, kinds. They import no rules.

Every claim of a reading carries the sentence that shows it. `SAID` is a claim that held in at least nine of
ten labelled cases of its kind: pages may state it. `REMARK` is everything else: pages only quote it.
"""

import re
from dataclasses import dataclass
from datetime import date, datetime
from enum import StrEnum

from pydantic import BaseModel, ConfigDict, Field


class Tier(StrEnum):
    SAID = "said"
    REMARK = "remark"


class ReadBy(StrEnum):
    """Whose reading a claim is."""

    RULES = "rules"
    MODEL = "model"


class Genre(StrEnum):
    CALL = "call"
    PROPOSAL = "proposal"
    PATCH = "patch"
    QUESTION = "question"
    REPORT = "report"
    ANNOUNCEMENT = "announcement"
    DISCUSSION = "discussion"
    OTHER = "other"


class PropositionForm(StrEnum):
    """How something is put to the group."""

    PATCH = "patch"
    VOTE = "vote"
    CALL = "call"
    TEXT = "text"


class OutcomeKind(StrEnum):
    ACCEPTED = "accepted"
    REVISED = "revised"
    REJECTED = "rejected"
    CONTESTED = "contested"
    UNRESOLVED = "unresolved"
    ANSWERED = "answered"
    UNANSWERED = "unanswered"
    INFORMATIONAL = "informational"


class ConsensusBasis(StrEnum):
    """What an outcome stands on."""

    RULED = "ruled"
    """One whom the source names as deciding said so."""
    CALLED = "called"
    """A formal call or vote was closed with a result."""
    COUNTED = "counted"
    """Positions were counted; nobody declared anything."""
    UNKNOWN = "unknown"


class ConsensusType(StrEnum):
    """Of the positions that are said."""

    AGREEMENT = "agreement"
    DISSENT = "dissent"
    MIXED = "mixed"


class PositionStance(StrEnum):
    PROPOSER = "proposer"
    SUPPORT = "support"
    OPPOSE = "oppose"
    MIXED = "mixed"


class Fate(StrEnum):
    """What became of an objection."""

    ANSWERED = "answered"
    TAKEN = "taken into a new version"
    WITHDRAWN = "withdrawn"
    OUTSTANDING = "outstanding"
    UNCLEAR = "unclear"


@dataclass(frozen=True, slots=True)
class SentenceCitation:
    """A sentence, verbatim from `start` up to `end` of the mail's own text, white space folded."""

    message_id: str
    start: int
    end: int
    quote: str

    @property
    def place(self) -> tuple[str, int]:
        return self.message_id, self.start


@dataclass(frozen=True, slots=True)
class LatestRemark:
    """The last word of one of the main participants: the sentence of their last mail that matters most."""

    person: str
    name: str
    at: datetime | None
    citation: SentenceCitation


@dataclass(frozen=True, slots=True)
class ReadGenre:
    kind: Genre
    """The best guess. Say it only where the tier is SAID."""
    confidence: float
    tier: Tier
    read_by: ReadBy = ReadBy.RULES


@dataclass(frozen=True, slots=True)
class Version:
    """One mail that puts the proposition, or puts it anew."""

    message_id: str
    number: int


@dataclass(frozen=True, slots=True)
class Proposition:
    message_id: str
    form: PropositionForm
    proposer: str
    """The address that stands for the person who puts it."""
    words: SentenceCitation | None = None
    versions: tuple[Version, ...] = ()
    marks: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class EarlierStance:
    """Where somebody stood before they changed their mind, in as plain words as the later ones."""

    stance: PositionStance
    citation: SentenceCitation
    at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Position:
    person: str
    """The address under which the sentence was written."""
    name: str
    stance: PositionStance
    tier: Tier
    confidence: float
    citation: SentenceCitation
    answers: str | None = None
    """The mail that the sentence answers."""
    binding: bool | None = None
    """Only in votes of a source that names its binding voters."""
    rule: str = ""
    marks: tuple[str, ...] = ()
    """What a reader has to know of the sender: see `People.marks`."""
    read_by: ReadBy = ReadBy.RULES
    is_explicit: bool = True
    """False where it follows from the argument, not from words: then it is shown as the model's reading."""
    at: datetime | None = None
    """When the sentence was written."""
    earlier: EarlierStance | None = None
    """The last other stance that the person took before, where they took one."""


@dataclass(frozen=True, slots=True)
class Objection:
    person: str
    citation: SentenceCitation
    fate: Fate
    tier: Tier = Tier.REMARK
    withdrawal: SentenceCitation | None = None
    """The sentence in which its owner withdraws it explicitly."""
    marks: tuple[str, ...] = ()
    """What a reader has to know of its mail and sender, as of a position."""


@dataclass(frozen=True, slots=True)
class Decision:
    person: str
    citation: SentenceCitation
    tier: Tier
    """SAID only by one with authority; else it is shown as a possible decision."""
    marks: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Authority:
    """Who decided, and in which role the source names them."""

    person: str
    name: str
    role: str


@dataclass(frozen=True, slots=True)
class Tally:
    """How many stand where, by the count of one with a role, in their words."""

    by: Authority
    citation: SentenceCitation


@dataclass(frozen=True, slots=True)
class VoteCount:
    """Votes by their last word; a proposer's own vote counts as any other."""

    binding_for: int = 0
    binding_against: int = 0
    other_for: int = 0
    other_against: int = 0
    abstained: int = 0


@dataclass(frozen=True, slots=True)
class ThreadOutcome:
    kind: OutcomeKind
    """The best guess. Say it only where the tier is SAID."""
    tier: Tier
    confidence: float
    sentence: str
    """At most 25 words, for a headline."""
    basis: ConsensusBasis
    evidence: tuple[SentenceCitation, ...] = ()
    authority: Authority | None = None
    """Set where the sentence names a person."""
    votes: VoteCount | None = None
    rule: str = ""
    read_by: ReadBy = ReadBy.RULES
    by: str = ""
    """Whom the sentence names for it, with the role."""
    marks: tuple[str, ...] = ()
    """Of the mails that it rests on; of one that is counted, of all positions that are said."""


@dataclass(frozen=True, slots=True)
class OpenCall:
    """A call or vote without a result yet."""

    question: SentenceCitation | None = None
    ends: date | None = None
    ends_text: str = ""
    """The words that name the end; empty where the mail names none."""
    spoken: tuple[str, ...] = ()
    outstanding: tuple[SentenceCitation, ...] = ()


@dataclass(frozen=True, slots=True)
class Headline:
    """Three lines: what was asked, what came out, what is left. A line may be empty."""

    asked: str
    came_out: str
    left: str


@dataclass(frozen=True, slots=True)
class ReadDifference:
    """Where rules and model read differently: the rules' reading stands, and both are told."""

    what: str
    """A person's address, `outcome` or `genre`."""
    by_rules: str
    by_model: str


@dataclass(frozen=True, slots=True)
class NarratedSentence:
    """A sentence in a model's words, and the sentences of the thread that it rests on."""

    text: str
    evidence: tuple[SentenceCitation, ...]
    is_borne: bool = True
    """False where the cited words do not plainly say it: then it is shown as the model's reading."""


@dataclass(frozen=True, slots=True)
class ModelReading:
    """Which chat model read the thread, when, and what of its answer was refused."""

    model: str
    read_at: datetime
    narrative: tuple[NarratedSentence, ...] = ()
    differences: tuple[ReadDifference, ...] = ()
    refused: tuple[str, ...] = ()
    """The reasons for which claims were dropped, one each."""
    marked: tuple[str, ...] = ()
    """The reasons for which claims stand as the model's reading only, one each."""
    cut: tuple[str, ...] = ()
    """Mails of which the middle was left out for length, by Message-ID."""
    unread: int = 0
    """Mails for which there was no room."""
    orders: tuple[str, ...] = ()
    """Mails that speak to the reader, by Message-ID: nothing rests on the model's word alone."""


@dataclass(frozen=True, slots=True)
class ThreadReading:
    lang: str
    """The language that most of the mail is in; other than `en`, nothing is judged."""
    genre: ReadGenre
    proposition: Proposition | None
    outcome: ThreadOutcome
    positions: tuple[Position, ...]
    objections: tuple[Objection, ...]
    decisions: tuple[Decision, ...]
    open_issues: tuple[SentenceCitation, ...]
    key_points: tuple[SentenceCitation, ...]
    headline: Headline
    has_consensus: bool
    consensus_type: ConsensusType | None
    """Agreement where there is consensus; None where there is none and nobody is against it."""
    basis: ConsensusBasis
    open_call: OpenCall | None = None
    tallies: tuple[Tally, ...] = ()
    latest: tuple[LatestRemark, ...] = ()
    """The last words of the main participants, the latest last: what is quoted where nothing can be said."""
    result_of: str | None = None
    """For a result mail in a thread of its own: the vote's subject, without tags."""
    model: ModelReading | None = None
    """None where only the rules have read it."""


class CorrectionKind(StrEnum):
    POSITION = "position"
    OUTCOME = "outcome"
    GENRE = "genre"
    HIDDEN = "hidden"
    """A sentence that no claim may rest on."""
    REPORTED = "reported"
    """A reader's report of an error: it waits for a corrector, and changes nothing by itself."""


class Preset(StrEnum):
    """In whose words acceptance, rulings and votes are read."""

    IETF = "ietf"
    GIT = "git"
    APACHE = "apache"
    THREEGPP = "3gpp"
    FREE = "free"

    @classmethod
    def _missing_(cls, value: object) -> "Preset | None":
        """Labelled corpora call the custom of git's list by the role that decides there."""
        return cls.GIT if value == "maintainer" else None


@dataclass(frozen=True, slots=True)
class RoleHolder:
    """A person who holds a role on the list, from `since` to `until`, both included."""

    person: str
    role: str
    since: date | None = None
    until: date | None = None

    def holds_on(self, day: date | None) -> bool:
        """A mail without a date is in no period: a bounded role is not assumed for it."""
        if day is None:
            return self.since is None and self.until is None
        return (self.since is None or self.since <= day) and (self.until is None or day <= self.until)


@dataclass(frozen=True, slots=True)
class SourceProfile:
    preset: Preset = Preset.FREE
    roles: tuple[RoleHolder, ...] = ()
    aliases: tuple[tuple[str, ...], ...] = ()
    """Addresses of one person each, as an operator decided; the first stands for them."""
    namesakes: tuple[tuple[str, ...], ...] = ()
    """Addresses of different people with one name, as an operator decided."""
    authserv_id: str = ""
    """Whose Authentication-Results count; nobody's where it is empty."""
    requires_authentication: bool = False
    """Only a mail whose sender passed has a part in the reading."""
    gateways: tuple[str, ...] = ()
    """Addresses that write for many people, as an operator named them."""
    list_address: str = ""
    """The list's own posting address: under it the list passes mail on for others."""
    list_id: str = ""
    """The list's List-Id; by the posting address where it is empty."""

    def is_gateway(self, address: str, list_id: str) -> bool:
        """Whether the address writes for others: only the source says so, never the mail alone."""
        sender, own = address.lower(), self.list_address.lower()
        if sender in self.gateways:
            return True
        return bool(own) and sender == own and list_id.lower() == (self.list_id or own.replace("@", "."))


class SummaryType(StrEnum):
    THREAD = "thread"
    WEEKLY = "weekly"
    CONSENSUS = "consensus"
    DRAFT_FOCUSED = "draft-focused"


class Citation(BaseModel):
    """Words of a mail that show a claim. Stored as it is, inside summaries."""

    model_config = ConfigDict(extra="ignore", populate_by_name=True)

    chunk_id: str
    message_id: str
    quote: str
    relevance_score: float
    message_key: str | None = None
    offset: int | None = Field(default=None, ge=0)
    thread_id: str | None = None  # in a summary of several threads


_MOST_CHARS = 240


# The space after the hyphen, but not in "pre- and post-", and not where the hyphen is a dash.
_BROKEN = re.compile(
    r"(?<=[^\W\d_][^\W_])-\s+(?=\w)"
    r"(?!(?:and|or|to|nor|und|oder|et|ou|y|o|but|so|which|that|this|these|it|we|you|he|she|they|there|if|not|"
    r"the|an?|as|is|of|for|with|i|[a-z])\b(?!-))",
    re.IGNORECASE,
)


def rejoined(quote: str) -> str:
    """A quote as it is shown: a word that its mail breaks after a hyphen is in one piece."""
    return _BROKEN.sub("-", quote)


def clipped(text: str, words: int) -> str:
    found = rejoined(text).split()
    short = " ".join(found[:words])[:_MOST_CHARS].rstrip()
    return short if len(short) == len(" ".join(found)) else f"{short} \u2026"
