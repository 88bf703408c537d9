"""Value types that documents store: readings of threads, profiles, kinds. They import no rules.

Every claim of a reading has the sentence that shows it. `SAID` is a claim of a kind that was right in at
least nine of ten labeled cases, so pages may state it. Pages only quote a `REMARK`.
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
    """The reader that made a claim: rules or model."""

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
    """The form of a proposal to the group."""

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
    """The basis of an outcome."""

    RULED = "ruled"
    """A person with authority in the source said so."""
    CALLED = "called"
    """A formal call or vote was closed with a result."""
    COUNTED = "counted"
    """Positions were counted without a declaration."""
    UNKNOWN = "unknown"


class ConsensusType(StrEnum):
    """The agreement of the stated positions."""

    AGREEMENT = "agreement"
    DISSENT = "dissent"
    MIXED = "mixed"


class PositionStance(StrEnum):
    PROPOSER = "proposer"
    SUPPORT = "support"
    OPPOSE = "oppose"
    MIXED = "mixed"


class Fate(StrEnum):
    """The fate of an objection."""

    ANSWERED = "answered"
    TAKEN = "taken into a new version"
    WITHDRAWN = "withdrawn"
    OUTSTANDING = "outstanding"
    UNCLEAR = "unclear"


@dataclass(frozen=True, slots=True)
class SentenceCitation:
    """A sentence, verbatim from `start` to `end` of the mail's own text, with white space folded."""

    message_id: str
    start: int
    end: int
    quote: str

    @property
    def place(self) -> tuple[str, int]:
        return self.message_id, self.start


@dataclass(frozen=True, slots=True)
class LatestRemark:
    """The most important sentence in the last mail of a main participant."""

    person: str
    name: str
    at: datetime | None
    citation: SentenceCitation


@dataclass(frozen=True, slots=True)
class ReadGenre:
    kind: Genre
    """The best guess. State it only if the tier is SAID."""
    confidence: float
    tier: Tier
    read_by: ReadBy = ReadBy.RULES


@dataclass(frozen=True, slots=True)
class Version:
    """One mail with the proposal or a new version of it."""

    message_id: str
    number: int


@dataclass(frozen=True, slots=True)
class Proposition:
    message_id: str
    form: PropositionForm
    proposer: str
    """The main address of the person who makes it."""
    words: SentenceCitation | None = None
    versions: tuple[Version, ...] = ()
    marks: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class EarlierStance:
    """A person's stance before a change, in words as explicit as the later ones."""

    stance: PositionStance
    citation: SentenceCitation
    at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Position:
    person: str
    """The address of the sentence's mail."""
    name: str
    stance: PositionStance
    tier: Tier
    confidence: float
    citation: SentenceCitation
    answers: str | None = None
    """The mail that the sentence answers."""
    binding: bool | None = None
    """Set only in votes of a source that names its binding voters."""
    rule: str = ""
    marks: tuple[str, ...] = ()
    """Warnings about the sender: see `People.marks`."""
    read_by: ReadBy = ReadBy.RULES
    is_explicit: bool = True
    """False if it follows only from the argument. Then it is shown as the model's reading."""
    at: datetime | None = None
    """When the sentence was written."""
    earlier: EarlierStance | None = None
    """The person's last different stance before, if any."""


@dataclass(frozen=True, slots=True)
class Objection:
    person: str
    citation: SentenceCitation
    fate: Fate
    tier: Tier = Tier.REMARK
    withdrawal: SentenceCitation | None = None
    """The sentence that withdraws it explicitly."""
    marks: tuple[str, ...] = ()
    """Warnings about its mail and sender."""


@dataclass(frozen=True, slots=True)
class Decision:
    person: str
    citation: SentenceCitation
    tier: Tier
    """SAID only by a person with authority. Otherwise it is shown as a possible decision."""
    marks: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Authority:
    """The person who decided, and the role in the source."""

    person: str
    name: str
    role: str


@dataclass(frozen=True, slots=True)
class Tally:
    """The count of positions that a person with a role stated, in their words."""

    by: Authority
    citation: SentenceCitation


@dataclass(frozen=True, slots=True)
class VoteCount:
    """Votes by each voter's last vote. A proposer's own vote counts like any other."""

    binding_for: int = 0
    binding_against: int = 0
    other_for: int = 0
    other_against: int = 0
    abstained: int = 0


@dataclass(frozen=True, slots=True)
class ThreadOutcome:
    kind: OutcomeKind
    """The best guess. State it only if the tier is SAID."""
    tier: Tier
    confidence: float
    sentence: str
    """At most 25 words, for a headline."""
    basis: ConsensusBasis
    evidence: tuple[SentenceCitation, ...] = ()
    authority: Authority | None = None
    """Set if the sentence names a person."""
    votes: VoteCount | None = None
    rule: str = ""
    read_by: ReadBy = ReadBy.RULES
    by: str = ""
    """The person that the sentence names, with the role."""
    marks: tuple[str, ...] = ()
    """Warnings about the mails that show it. For a count: about all stated positions."""


@dataclass(frozen=True, slots=True)
class OpenCall:
    """A call or vote without a result yet."""

    question: SentenceCitation | None = None
    ends: date | None = None
    ends_text: str = ""
    """The words that name the end, or empty if the mail names none."""
    spoken: tuple[str, ...] = ()
    outstanding: tuple[SentenceCitation, ...] = ()


@dataclass(frozen=True, slots=True)
class Headline:
    """Three lines: the question, the outcome, and open points. A line may be empty."""

    asked: str
    came_out: str
    left: str


@dataclass(frozen=True, slots=True)
class ReadDifference:
    """A difference between rules and model. The rules' reading counts, and both are shown."""

    what: str
    """A person's address, `outcome` or `genre`."""
    by_rules: str
    by_model: str


@dataclass(frozen=True, slots=True)
class NarratedSentence:
    """A sentence in a model's words, and the sentences of the thread that show it."""

    text: str
    evidence: tuple[SentenceCitation, ...]
    is_borne: bool = True
    """False if the cited words do not say it explicitly. Then it is shown as the model's reading."""


@dataclass(frozen=True, slots=True)
class ModelReading:
    """The chat model that read the thread, the time, and the refused parts of its answer."""

    model: str
    read_at: datetime
    narrative: tuple[NarratedSentence, ...] = ()
    differences: tuple[ReadDifference, ...] = ()
    refused: tuple[str, ...] = ()
    """The reason for each dropped claim."""
    marked: tuple[str, ...] = ()
    """The reason for each claim that is shown only as the model's reading."""
    cut: tuple[str, ...] = ()
    """The Message-IDs of mails whose middle was omitted for length."""
    unread: int = 0
    """The number of mails that did not fit."""
    orders: tuple[str, ...] = ()
    """The Message-IDs of mails that address the model. Then no claim depends on the model alone."""


@dataclass(frozen=True, slots=True)
class ThreadReading:
    lang: str
    """The main language of the mail. Only `en` is judged."""
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
    """Agreement if there is consensus. None if there is no consensus and no opposition."""
    basis: ConsensusBasis
    open_call: OpenCall | None = None
    tallies: tuple[Tally, ...] = ()
    latest: tuple[LatestRemark, ...] = ()
    """The last sentences of the main participants, latest last. They are quoted if nothing can be stated."""
    result_of: str | None = None
    """For a result mail in its own thread: the vote's subject, without tags."""
    model: ModelReading | None = None
    """None if only the rules have read it."""


class CorrectionKind(StrEnum):
    POSITION = "position"
    OUTCOME = "outcome"
    GENRE = "genre"
    HIDDEN = "hidden"
    """A sentence that no claim may cite."""
    REPORTED = "reported"
    """A reader's report of an error. It changes nothing until a corrector acts."""


class Preset(StrEnum):
    """The customs by which acceptance, rulings and votes are read."""

    IETF = "ietf"
    GIT = "git"
    APACHE = "apache"
    THREEGPP = "3gpp"
    FREE = "free"

    @classmethod
    def _missing_(cls, value: object) -> "Preset | None":
        """Read the name that labeled corpora use for the custom of git's list."""
        return cls.GIT if value == "maintainer" else None


@dataclass(frozen=True, slots=True)
class RoleHolder:
    """A person who holds a role on the list, from `since` to `until`, both included."""

    person: str
    role: str
    since: date | None = None
    until: date | None = None

    def holds_on(self, day: date | None) -> bool:
        """Return whether the role is held on the day. A mail without a date is in no bounded period."""
        if day is None:
            return self.since is None and self.until is None
        return (self.since is None or self.since <= day) and (self.until is None or day <= self.until)


@dataclass(frozen=True, slots=True)
class SourceProfile:
    preset: Preset = Preset.FREE
    roles: tuple[RoleHolder, ...] = ()
    aliases: tuple[tuple[str, ...], ...] = ()
    """The addresses of one person each, as an operator decided. The first is the main address."""
    namesakes: tuple[tuple[str, ...], ...] = ()
    """Addresses of different people with one name, as an operator decided."""
    authserv_id: str = ""
    """The server whose Authentication-Results count, or empty for none."""
    requires_authentication: bool = False
    """Whether only mails with an authenticated sender are read."""
    gateways: tuple[str, ...] = ()
    """Addresses that write for many people, as an operator named them."""
    list_address: str = ""
    """The list's posting address, under which the list forwards mail of others."""
    list_id: str = ""
    """The list's List-Id. If empty, the posting address is used."""

    def is_gateway(self, address: str, list_id: str) -> bool:
        """Return whether the address writes for many people, which only the source decides, not the mail."""
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
    """Words of a mail that show a claim. It is stored inside summaries."""

    model_config = ConfigDict(extra="ignore", populate_by_name=True)

    chunk_id: str
    message_id: str
    quote: str
    relevance_score: float
    message_key: str | None = None
    offset: int | None = Field(default=None, ge=0)
    thread_id: str | None = None  # set in a digest


_MOST_CHARS = 240


# The space after a hyphen, but not in "pre- and post-", and not after a dash.
_BROKEN = re.compile(
    r"(?<=[^\W\d_][^\W_])-\s+(?=\w)"
    r"(?!(?:and|or|to|nor|und|oder|et|ou|y|o|but|so|which|that|this|these|it|we|you|he|she|they|there|if|not|"
    r"the|an?|as|is|of|for|with|i|[a-z])\b(?!-))",
    re.IGNORECASE,
)


def rejoined(quote: str) -> str:
    """Return the quote for display, with words joined that the mail breaks after a hyphen."""
    return _BROKEN.sub("-", quote)


def clipped(text: str, words: int) -> str:
    found = rejoined(text).split()
    short = " ".join(found[:words])[:_MOST_CHARS].rstrip()
    return short if len(short) == len(" ".join(found)) else f"{short} \u2026"
