"""The reading of a thread as its summary stores it: the fields of ThreadReading."""

from datetime import date
from typing import Self

from pydantic import ConfigDict, TypeAdapter, model_validator

from shared.models.base import Subdocument, UtcTime
from shared.models.edits import PlacementAct
from shared.models.values import (
    Authority,
    ConsensusBasis,
    ConsensusType,
    CorrectionKind,
    Decision,
    Genre,
    Headline,
    LatestRemark,
    ModelReading,
    Objection,
    OpenCall,
    OutcomeKind,
    Position,
    Proposition,
    ReadBy,
    ReadGenre,
    SentenceCitation,
    Tally,
    ThreadReading,
    Tier,
    VoteCount,
    clipped,
    rejoined,
)

_READING = TypeAdapter(ThreadReading)
_SHOWN_PEOPLE, _SHOWN_OBJECTIONS, _SHOWN_WORDS = 50, 10, 25


class _Stored(Subdocument):
    """A model whose values come from the attributes of a domain object."""

    model_config = ConfigDict(extra="ignore", populate_by_name=True, from_attributes=True)


class CorrectedBy(Subdocument):
    """The person and time of the last correction."""

    by: str
    at: UtcTime


class ShownCorrection(CorrectedBy):
    """A correction that was applied to the reading."""

    correction_id: str
    kind: CorrectionKind
    message_id: str
    person: str = ""
    reason: str


class ShownPlacement(CorrectedBy):
    """An operator's move of a message into or out of the thread."""

    message_id: str
    act: PlacementAct
    is_here: bool
    reason: str


class ShownRemark(Subdocument):
    """The author, time and main sentence of the last mail in a thread without a stated outcome."""

    name: str
    at: UtcTime | None = None
    quote: str


class ShownOutcome(_Stored):
    """The outcome in lists and feeds. A guessed kind is not stored, because it contradicts the text."""

    kind: OutcomeKind | None  # None: no decision found
    tier: Tier
    sentence: str
    basis: ConsensusBasis
    read_by: ReadBy = ReadBy.RULES
    corrected: CorrectedBy | None = None
    genre: Genre | None = None  # of the thread. It is here because a patch has at most ten operations.
    quote: str = ""  # the words that show it, cut for lists
    by: str = ""  # the person that the sentence names, with the role
    last: ShownRemark | None = None  # the last remark of a thread without a stated outcome

    @model_validator(mode="after")
    def _forget_guess(self) -> Self:
        if self.tier is not Tier.SAID:
            self.kind = None
        return self

    @property
    def is_closing_statement(self) -> bool:
        """Whether a person with authority closed the thread in words that are quoted without a kind."""
        return self.tier is Tier.REMARK and self.basis is ConsensusBasis.RULED

    @property
    def headline(self) -> str:
        """The sentence with the words that show it."""
        if self.last is not None:
            day = f", {self.last.at.day} {self.last.at:%B %Y}" if self.last.at else ""
            return f"{self.sentence} Last remark: {self.last.name}{day}: \u201c{self.last.quote}\u201d"
        return f"{self.sentence.removesuffix('.')}: \u201c{self.quote}\u201d" if self.quote else self.sentence


class StoredOutcome(ShownOutcome):
    confidence: float
    evidence: list[SentenceCitation] = []
    authority: Authority | None = None
    votes: VoteCount | None = None
    rule: str = ""
    marks: list[str] = []

    @property
    def shown(self) -> ShownOutcome:
        quote = clipped(self.evidence[0].quote, _SHOWN_WORDS) if self.evidence else ""
        shown = (self.tier is Tier.SAID or self.is_closing_statement) and quote
        # Pydantic would keep an instance with all its fields.
        return ShownOutcome.model_validate({**self.model_dump(), "quote": quote if shown else ""})


class ShownOpenCall(Subdocument):
    """A call or vote without a result, in lists and feeds."""

    question: str = ""
    ends: date | None = None
    spoken: list[str] = []  # addresses, the first fifty
    outstanding: list[str] = []  # sentences of objections, the first ten


class StoredReading(_Stored):
    lang: str
    genre: ReadGenre
    proposition: Proposition | None = None
    outcome: StoredOutcome
    positions: list[Position] = []
    objections: list[Objection] = []
    decisions: list[Decision] = []
    open_issues: list[SentenceCitation] = []
    key_points: list[SentenceCitation] = []
    headline: Headline
    has_consensus: bool
    consensus_type: ConsensusType | None = None
    basis: ConsensusBasis
    open_call: OpenCall | None = None
    tallies: list[Tally] = []
    latest: list[LatestRemark] = []
    result_of: str | None = None
    model: ModelReading | None = None
    corrections: list[ShownCorrection] = []
    placements: list[ShownPlacement] = []

    @classmethod
    def of(cls, reading: ThreadReading) -> Self:
        return cls.model_validate(reading)

    @property
    def shown_genre(self) -> Genre | None:
        """The genre that lists filter by, or None if it is only a guess."""
        return self.genre.kind if self.genre.tier is Tier.SAID else None

    @property
    def shown_outcome(self) -> ShownOutcome:
        return self.outcome.shown.model_copy(update={"genre": self.shown_genre, "last": self._last})

    @property
    def _last(self) -> ShownRemark | None:
        """Return one line for a thread without an outcome and open call."""
        outcome = self.outcome
        if not self.latest or outcome.tier is Tier.SAID or outcome.is_closing_statement:
            return None
        last = self.latest[-1]
        return ShownRemark(
            name=last.name, at=last.at, quote=clipped(rejoined(last.citation.quote), _SHOWN_WORDS)
        )

    @property
    def shown_call(self) -> ShownOpenCall | None:
        call = self.open_call
        if call is None:
            return None
        return ShownOpenCall(
            question=rejoined(call.question.quote) if call.question else "",
            ends=call.ends,
            spoken=call.spoken[:_SHOWN_PEOPLE],
            outstanding=[rejoined(objection.quote) for objection in call.outstanding[:_SHOWN_OBJECTIONS]],
        )

    def reading(self) -> ThreadReading:
        stored = self.model_dump()
        stored["outcome"]["kind"] = self.outcome.kind or OutcomeKind.UNRESOLVED
        return _READING.validate_python(stored)
