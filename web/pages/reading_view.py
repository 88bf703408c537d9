"""What a thread's reading says, as pages show it: outcome, positions, objections with their fate, open calls.

Computed from the documents without I/O. A sentence's address is asked for, because each page has its own.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import date, datetime

from shared.documents.messages import Address
from shared.documents.placements import PlacementAct
from shared.documents.readings import (
    CorrectedBy,
    ShownCorrection,
    ShownPlacement,
    StoredModelReading,
    StoredOpenCall,
    StoredOutcome,
    StoredPosition,
    StoredQuote,
    StoredReading,
)
from shared.domain.consensus.agreement import may_say_agreed
from shared.domain.consensus.corrections import CorrectionKind
from shared.domain.consensus.reading import Fate, PositionStance, ReadBy, Tier
from shared.domain.summaries.markdown import FATES
from web.formatting import STANCES

SAYS = {
    PositionStance.SUPPORT: ("supports it", "support"),
    PositionStance.OPPOSE: ("objects", "objection"),
    PositionStance.MIXED: ("says both", ""),
}
MOST_PEOPLE = 30


@dataclass(frozen=True)
class ShownQuote:
    """A sentence with its writer, and where it stands; None where its message is gone."""

    quote: str
    name: str
    address: str | None


@dataclass(frozen=True)
class PositionLine:
    sentence: ShownQuote
    says: str
    look: str
    answers: str
    answers_address: str | None
    binding: bool | None
    corrected: CorrectedBy | None
    reader: str
    """Whose reading it is, where it is not that of the rules."""


@dataclass(frozen=True)
class ObjectionLine:
    """A sentence against it. Its writer is said to object only where their position is."""

    sentence: ShownQuote
    fate: str
    is_outstanding: bool
    is_said: bool


@dataclass(frozen=True)
class CallView:
    question: ShownQuote | None
    state: str
    spoken: list[str]
    more: int
    outstanding: list[ShownQuote]


@dataclass(frozen=True)
class ReadingView:
    outcome: StoredOutcome
    evidence: list[ShownQuote]
    asked: str
    left: str
    agreed: bool
    positions: list[PositionLine]
    objections: list[ObjectionLine]  # those that are said first
    remarks: list[ShownQuote]
    call: CallView | None
    corrections: list[tuple[str, ShownCorrection]]  # in words, and who and when
    placements: list[tuple[str, ShownPlacement, str | None]]  # likewise, and where the message is
    model: StoredModelReading | None  # where a chat model has read it as well

    @property
    def positions_heading(self) -> str:
        """Support is agreement only where something was agreed."""
        return "What was agreed, and by whom" if self.agreed else "Where people say they stand"

    @property
    def objection_groups(self) -> list[tuple[str, list[ObjectionLine]]]:
        """Most sentences that sound like objections are none: those of people who say so are called that."""
        groups = (
            ("Objections, and what became of them", [line for line in self.objections if line.is_said]),
            ("Remarks that may be objections", [line for line in self.objections if not line.is_said]),
        )
        return [(heading, lines) for heading, lines in groups if lines]

    @property
    def tally(self) -> str:
        """How many there are of each, in words."""
        looks = [line.look for line in self.positions]
        counts = [(looks.count(look), words) for look, words in STANCES.items()]
        return ", ".join(f"{count} {words}" for count, words in counts if count)


@dataclass(frozen=True)
class QuotePlaces:
    """What a page knows of the messages: names by address and by message, where sentences and mails are."""

    people: Mapping[str, str]
    senders: Mapping[str, str]
    sentence: Callable[[StoredQuote], str | None]
    message: Callable[[str], str | None]

    def shown(self, quote: StoredQuote, person: str = "") -> ShownQuote:
        name = self.senders.get(quote.message_id) or self.person(person)
        return ShownQuote(quote.quote, name, self.sentence(quote))

    def person(self, address: str) -> str:
        return self.people.get(address.lower()) or address


def names_of(participants: Iterable[Address]) -> dict[str, str]:
    return {participant.email.lower(): participant.name or participant.email for participant in participants}


def reading_view(reading: StoredReading, places: QuotePlaces, now: datetime) -> ReadingView:
    said = [one for one in reading.positions if one.tier is Tier.SAID and one.stance in SAYS]
    remarks = [one for one in reading.positions if one.tier is Tier.REMARK]
    decider = reading.outcome.authority.person if reading.outcome.authority else ""
    objecting = {_place(one.citation) for one in reading.objections}
    return ReadingView(
        outcome=reading.outcome,
        evidence=[places.shown(one, decider) for one in reading.outcome.evidence]
        if reading.outcome.tier is Tier.SAID
        else [],
        asked=reading.headline.asked,
        left=reading.headline.left,
        agreed=may_say_agreed(
            has_consensus=reading.has_consensus,
            kind=reading.outcome.kind,
            tier=reading.outcome.tier,
            supporters=sum(one.stance is PositionStance.SUPPORT for one in said),
        ),
        positions=[_position(one, reading, places) for one in said],
        objections=_objections(reading, places, said),
        remarks=[
            places.shown(one.citation, one.person) for one in remarks if _place(one.citation) not in objecting
        ],
        call=_call(reading.open_call, places, now.date()) if reading.open_call else None,
        corrections=[(_corrected(one, places), one) for one in reading.corrections],
        placements=[(_placed(one), one, places.message(one.message_id)) for one in reading.placements],
        model=reading.model,
    )


def _objections(
    reading: StoredReading, places: QuotePlaces, said: Iterable[StoredPosition]
) -> list[ObjectionLine]:
    against = {_place(one.citation) for one in said if one.stance is PositionStance.OPPOSE}
    lines = [
        ObjectionLine(
            places.shown(one.citation, one.person),
            FATES[one.fate],
            one.fate is Fate.OUTSTANDING,
            _place(one.citation) in against,
        )
        for one in reading.objections
    ]
    return sorted(lines, key=lambda line: not line.is_said)


def _place(quote: StoredQuote) -> tuple[str, int]:
    return quote.message_id, quote.start


def _position(one: StoredPosition, reading: StoredReading, places: QuotePlaces) -> PositionLine:
    says, look = SAYS[one.stance]
    proposition = reading.proposition
    proposing = proposition is not None and one.answers == proposition.message_id
    answers = "the proposal" if proposing else places.senders.get(one.answers or "", "")
    by_person = {
        correction.person: correction
        for correction in reading.corrections
        if correction.kind is CorrectionKind.POSITION
    }
    return PositionLine(
        sentence=places.shown(one.citation, one.person),
        says=says,
        look=look,
        answers=answers,
        answers_address=places.message(one.answers) if one.answers and answers else None,
        binding=one.binding,
        corrected=by_person.get(one.person),
        reader=_reader(one),
    )


def _reader(one: StoredPosition) -> str:
    """A stance that no words say is the model's reading of an argument, and is called so."""
    if one.read_by is ReadBy.RULES:
        return ""
    return "found by the model" if one.is_explicit else "the model's reading of what they argue"


def _call(call: StoredOpenCall, places: QuotePlaces, today: date) -> CallView:
    return CallView(
        question=places.shown(call.question) if call.question else None,
        state=call_state(call.ends, today),
        spoken=[places.person(person) for person in call.spoken[:MOST_PEOPLE]],
        more=max(0, len(call.spoken) - MOST_PEOPLE),
        outstanding=[places.shown(one) for one in call.outstanding],
    )


def call_state(ends: date | None, today: date) -> str:
    """A call whose time is over may have a result that is not in this mail: it is not called open."""
    if ends is None:
        return "No result seen yet, and no end is named."
    if ends >= today:
        return f"Open until {ends.day} {ends:%B %Y}."
    return f"It ended on {ends.day} {ends:%B %Y}; no result seen."


def _corrected(one: ShownCorrection, places: QuotePlaces) -> str:
    if one.kind is CorrectionKind.POSITION:
        return f"The position of {places.person(one.person)}"
    return {
        CorrectionKind.OUTCOME: "The outcome",
        CorrectionKind.GENRE: "The genre",
        CorrectionKind.HIDDEN: "A sentence that is not shown",
    }[one.kind]


def _placed(one: ShownPlacement) -> str:
    if one.act is PlacementAct.UNDONE:
        return "where it was put was undone"
    if not one.is_here:
        return "was put into another thread"
    return {
        PlacementAct.SPLIT: "was split off as a thread of its own",
        PlacementAct.MOVED: "was put into this thread",
    }.get(one.act, "was attached to the message that it answers")
