"""The reading of a thread for pages: outcome, positions, objections and open calls.

It is computed from the documents without I/O. Each page supplies the addresses of sentences.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime

from shared.models.edits import PlacementAct
from shared.models.readings import (
    CorrectedBy,
    ShownCorrection,
    ShownPlacement,
    StoredOutcome,
    StoredReading,
)
from shared.models.threads import Address
from shared.models.values import (
    CorrectionKind,
    Decision,
    Fate,
    ModelReading,
    Objection,
    OpenCall,
    Position,
    PositionStance,
    ReadBy,
    SentenceCitation,
    Tier,
)
from shared.reading.positions import may_say_agreed
from shared.reading.proposal import asks_or_proposes
from shared.summaries.markdown import FATES
from web.formatting import STANCES, counted, writer
from web.position_changes import SAID_BEFORE, SAYS

MOST_PEOPLE = 30


@dataclass(frozen=True)
class QuoteView:
    """A sentence with its writer and its address. The address is None if the message was deleted."""

    quote: str
    name: str
    address: str | None
    again: bool = False
    """The sentence is shown further up, so only its writer and link are shown."""
    marks: tuple[str, ...] = ()
    """Remarks about the mail and its sender."""


@dataclass(frozen=True)
class EarlierLine:
    """The position of the same person before a change."""

    sentence: QuoteView
    at: datetime | None
    says: str
    look: str


@dataclass(frozen=True)
class PositionLine:
    sentence: QuoteView
    at: datetime | None
    earlier: EarlierLine | None
    says: str
    look: str
    answers: str
    answers_address: str | None
    binding: bool | None
    corrected: CorrectedBy | None
    marks: tuple[str, ...]  # remarks about the sender and the mail
    reader: str
    """The reader of the position, unless it was found by rules."""


@dataclass(frozen=True)
class ObjectionLine:
    """A sentence with an objection, and its withdrawal."""

    sentence: QuoteView
    fate: str
    is_outstanding: bool
    withdrawal: QuoteView | None = None


@dataclass(frozen=True)
class CallView:
    question: QuoteView | None
    state: str
    spoken: list[str]
    more: int
    outstanding: list[QuoteView]


@dataclass(frozen=True)
class ReadingView:
    outcome: StoredOutcome
    evidence: list[QuoteView]
    asked: QuoteView | None
    agreed: bool
    tallies: list[tuple[str, QuoteView]]  # name and role, and the quote
    positions: list[PositionLine]
    objections: list[ObjectionLine]
    remarks: list[QuoteView]
    latest: list[tuple[QuoteView, datetime | None]]
    """If there are no positions, the latest sentences of the most active people."""
    call: CallView | None
    corrections: list[tuple[str, ShownCorrection]]  # in words, with author and time
    placements: list[tuple[str, ShownPlacement, str | None]]  # the same, with the address of the message
    model: ModelReading | None  # if a chat model has read the thread as well
    cut: list[tuple[str, str | None]]  # mails that were too long for the model
    quoted: frozenset[tuple[str, str]]
    """The Message-ID and text of each sentence in this view. Other parts of the page do not repeat them."""

    @property
    def positions_heading(self) -> str:
        """Return the heading. Support is called agreement only if something was agreed."""
        return "What was agreed, and by whom" if self.agreed else "Positions"

    @property
    def said_objections(self) -> list[ObjectionLine]:
        """Return the objections to list. A repeated sentence is listed only with its fate."""
        return [line for line in self.objections if line.fate or not line.sentence.again]

    @property
    def left(self) -> list[tuple[str, str]]:
        """Return the number of apparently unresolved objections, and their place on the page."""
        count = sum(line.is_outstanding for line in self.said_objections)
        return [(f"{counted(count, 'objection')} apparently unresolved", "objections")] if count else []

    @property
    def tally(self) -> str:
        looks = [line.look for line in self.positions]
        counts = [(looks.count(look), words) for look, words in STANCES.items()]
        found = ", ".join(f"{count} {words}" for count, words in counts if count)
        fates = Counter(line.fate for line in self.objections if line.fate)
        objections = ", ".join(f"{count} {fate}" for fate, count in fates.items())
        # "At least", because only clear positions are counted.
        sentences = (
            f"At least {found}." if found else "",
            f"Objections: {objections}." if objections else "",
        )
        return " ".join(sentence for sentence in sentences if sentence)


@dataclass(frozen=True)
class QuotePlaces:
    """The data of a page about messages: names of people, and addresses of sentences and messages."""

    people: Mapping[str, str]
    senders: Mapping[str, str]
    sentence: Callable[[SentenceCitation], str | None]
    message: Callable[[str], str | None]

    def person(self, address: str) -> str:
        return self.people.get(address.lower()) or writer(Address(email=address))


@dataclass
class _Quoting:
    """Quotes in the order of the page. Each quote is shown once, with its link."""

    places: QuotePlaces
    marks: Mapping[str, tuple[str, ...]]
    quoted: set[tuple[str, str]] = field(default_factory=set)

    def show(self, quote: SentenceCitation, person: str = "") -> QuoteView:
        name = self.places.senders.get(quote.message_id) or self.places.person(person)
        again = self.has(quote)
        self.quoted.add((quote.message_id, quote.quote))
        marks = self.marks.get(quote.message_id, ())
        return QuoteView(quote.quote, name, self.places.sentence(quote), again, marks)

    def has(self, quote: SentenceCitation) -> bool:
        return (quote.message_id, quote.quote) in self.quoted

    def fresh(self, quotes: Iterable[tuple[SentenceCitation, str]]) -> list[QuoteView]:
        """Return the quotes that are not shown yet."""
        return [self.show(quote, person) for quote, person in quotes if not self.has(quote)]


def names_of(participants: Iterable[Address]) -> dict[str, str]:
    return {participant.email.lower(): writer(participant) for participant in participants}


def reading_view(reading: StoredReading, places: QuotePlaces, now: datetime) -> ReadingView:
    stated = [
        position for position in reading.positions if position.tier is Tier.SAID and position.stance in SAYS
    ]
    remarks = [position for position in reading.positions if position.tier is Tier.REMARK]
    decider = reading.outcome.authority.person if reading.outcome.authority else ""
    quoting = _Quoting(places, _marks_of(reading))
    is_certain = reading.outcome.tier is Tier.SAID or reading.outcome.is_closing_statement
    # In the order of the page. A sentence is not repeated further down.
    evidence = quoting.fresh((citation, decider) for citation in reading.outcome.evidence if is_certain)
    asked = _asked(reading, quoting)
    call = _call(reading.open_call, quoting, now.date()) if reading.open_call else None
    tallies = [
        (f"{tally.by.name} ({tally.by.role})", quoting.show(tally.citation, tally.by.person))
        for tally in reading.tallies
    ]
    positions = [_position(position, reading, quoting) for position in stated]
    objections = _objections(reading, quoting, stated)
    no_positions = not stated and not objections
    latest = (
        [(quoting.show(entry.citation, entry.person), entry.at) for entry in reading.latest]
        if no_positions
        else []
    )
    return ReadingView(
        outcome=reading.outcome,
        evidence=evidence,
        asked=asked,
        agreed=may_say_agreed(
            has_consensus=reading.has_consensus, kind=reading.outcome.kind, tier=reading.outcome.tier
        ),
        tallies=tallies,
        positions=positions,
        objections=objections,
        remarks=quoting.fresh((remark.citation, remark.person) for remark in remarks),
        latest=latest,
        call=call,
        corrections=[(_corrected(correction, places), correction) for correction in reading.corrections],
        placements=[
            (_placed(placement), placement, places.message(placement.message_id))
            for placement in reading.placements
        ],
        model=reading.model,
        cut=[
            (places.senders.get(message_id, "unknown sender"), places.message(message_id))
            for message_id in (reading.model.cut if reading.model else ())
        ],
        quoted=frozenset(quoting.quoted),
    )


def _marks_of(reading: StoredReading) -> dict[str, tuple[str, ...]]:
    """Return the remarks by Message-ID, which are shown with each sentence of the message."""
    claims: list[Position | Objection | Decision]
    claims = [*reading.positions, *reading.objections, *reading.decisions]
    found = {claim.citation.message_id: claim.marks for claim in claims if claim.marks}
    if len(reading.outcome.evidence) == 1 and reading.outcome.marks:
        found.setdefault(reading.outcome.evidence[0].message_id, tuple(reading.outcome.marks))
    if reading.proposition and reading.proposition.marks:
        found.setdefault(reading.proposition.message_id, reading.proposition.marks)
    return found


def _asked(reading: StoredReading, quoting: _Quoting) -> QuoteView | None:
    """Return the words of the proposal or question, unless they are hidden or already shown."""
    proposal = reading.proposition
    words = proposal.words if proposal else None
    if proposal is None or words is None or not reading.headline.asked or quoting.has(words):
        return None
    if not asks_or_proposes(proposal.form, reading.genre.kind, words.quote):
        return None
    if reading.open_call and reading.open_call.question == words:
        return None  # shown with the call
    return quoting.show(words, proposal.proposer)


def _objections(reading: StoredReading, quoting: _Quoting, stated: Sequence[Position]) -> list[ObjectionLine]:
    stances = [(position.stance, position.citation) for position in stated]
    stances += [
        (position.earlier.stance, position.earlier.citation) for position in stated if position.earlier
    ]
    against = {_place(citation) for stance, citation in stances if stance is PositionStance.OPPOSE}
    # Most sentences that sound like objections are none. Only explicit or withdrawn objections are shown.
    lines = [
        objection
        for objection in reading.objections
        if _place(objection.citation) in against or objection.withdrawal
    ]
    return [
        ObjectionLine(
            quoting.show(objection.citation, objection.person),
            FATES[objection.fate],
            objection.fate is Fate.OUTSTANDING,
            quoting.show(objection.withdrawal, objection.person) if objection.withdrawal else None,
        )
        for objection in lines
    ]


def _place(quote: SentenceCitation) -> tuple[str, int]:
    return quote.message_id, quote.start


def _position(position: Position, reading: StoredReading, quoting: _Quoting) -> PositionLine:
    says, look = SAYS[position.stance]
    places = quoting.places
    proposal = reading.proposition
    proposing = proposal is not None and position.answers == proposal.message_id
    answers = "the proposal" if proposing else places.senders.get(position.answers or "", "")
    by_person = {
        correction.person: correction
        for correction in reading.corrections
        if correction.kind is CorrectionKind.POSITION
    }
    return PositionLine(
        sentence=quoting.show(position.citation, position.person),
        at=position.at,
        earlier=_earlier(position, quoting),
        says=says,
        look=look,
        answers=answers,
        answers_address=places.message(position.answers) if position.answers and answers else None,
        binding=position.binding,
        corrected=by_person.get(position.person),
        marks=() if quoting.marks.get(position.citation.message_id) else position.marks,
        reader=_reader(position),
    )


def _earlier(position: Position, quoting: _Quoting) -> EarlierLine | None:
    if position.earlier is None or position.earlier.stance not in SAID_BEFORE:
        return None
    says, look = SAID_BEFORE[position.earlier.stance]
    return EarlierLine(
        quoting.show(position.earlier.citation, position.person), position.earlier.at, says, look
    )


def _reader(position: Position) -> str:
    """Return the reader of the position. A position without explicit words is labeled as inferred."""
    if position.read_by is ReadBy.RULES:
        return ""
    return "found by the model" if position.is_explicit else "inferred by the model"


def _call(call: OpenCall, quoting: _Quoting, today: date) -> CallView:
    return CallView(
        question=quoting.show(call.question) if call.question else None,
        state=call_state(call.ends, today),
        spoken=[quoting.places.person(person) for person in call.spoken[:MOST_PEOPLE]],
        more=max(0, len(call.spoken) - MOST_PEOPLE),
        outstanding=quoting.fresh((citation, "") for citation in call.outstanding),
    )


def call_state(ends: date | None, today: date) -> str:
    """Return the state of a call. After its deadline it is not open, because mail may lack the result."""
    if ends is None:
        return "No result found, no deadline given."
    if ends >= today:
        return f"Open until {ends.day} {ends:%B %Y}."
    return f"Ended {ends.day} {ends:%B %Y}, no result found."


def _corrected(correction: ShownCorrection, places: QuotePlaces) -> str:
    if correction.kind is CorrectionKind.POSITION:
        return f"The position of {places.person(correction.person)}"
    return {
        CorrectionKind.OUTCOME: "The outcome",
        CorrectionKind.GENRE: "The genre",
        CorrectionKind.HIDDEN: "A hidden sentence",
    }[correction.kind]


def _placed(placement: ShownPlacement) -> str:
    if placement.act is PlacementAct.UNDONE:
        return "was moved back"
    if not placement.is_here:
        return "was moved to another thread"
    return {
        PlacementAct.SPLIT: "was split off as a new thread",
        PlacementAct.MOVED: "was moved to this thread",
    }.get(placement.act, "was attached to the message it replies to")
