"""What a thread's reading says, as pages show it: outcome, positions, objections with their fate, open calls.

Computed from the documents without I/O. A sentence's address is asked for, because each page has its own.
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
    LatestRemark,
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
class ShownQuote:
    """A sentence with its writer, and where it stands; None where its message is gone."""

    quote: str
    name: str
    address: str | None
    again: bool = False
    """It stands above: its writer leads there, and the words are not repeated."""
    marks: tuple[str, ...] = ()
    """What a reader has to know of its mail and sender."""


@dataclass(frozen=True)
class EarlierLine:
    """Where the same person stood before they changed their mind."""

    sentence: ShownQuote
    at: datetime | None
    says: str
    look: str


@dataclass(frozen=True)
class PositionLine:
    sentence: ShownQuote
    at: datetime | None
    earlier: EarlierLine | None
    says: str
    look: str
    answers: str
    answers_address: str | None
    binding: bool | None
    corrected: CorrectedBy | None
    marks: tuple[str, ...]  # what a reader has to know of the sender, and of the mail
    reader: str
    """Whose reading it is, where it is not that of the rules."""


@dataclass(frozen=True)
class ObjectionLine:
    """A sentence in which somebody objects, or did until they withdrew it."""

    sentence: ShownQuote
    fate: str
    is_outstanding: bool
    withdrawal: ShownQuote | None = None


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
    asked: ShownQuote | None
    agreed: bool
    tallies: list[tuple[str, ShownQuote]]  # name and role, and in which words
    positions: list[PositionLine]
    objections: list[ObjectionLine]
    remarks: list[ShownQuote]
    latest: list[tuple[ShownQuote, datetime | None]]
    """Where nobody is said to stand anywhere: the last words of who wrote most."""
    call: CallView | None
    corrections: list[tuple[str, ShownCorrection]]  # in words, and who and when
    placements: list[tuple[str, ShownPlacement, str | None]]  # likewise, and where the message is
    model: ModelReading | None  # where a chat model has read it as well
    cut: list[tuple[str, str | None]]  # mails of which the model did not read the middle: by whom, and where
    quoted: frozenset[tuple[str, str]]
    """The message and the words of every sentence that stands here: nothing else repeats them."""

    @property
    def positions_heading(self) -> str:
        """Support is agreement only where something was agreed."""
        return "What was agreed, and by whom" if self.agreed else "Positions"

    @property
    def said_objections(self) -> list[ObjectionLine]:
        """A sentence that stands above is listed again only with what became of it."""
        return [line for line in self.objections if line.fate or not line.sentence.again]

    @property
    def left(self) -> list[tuple[str, str]]:
        """Objections that are apparently unresolved, in words, and where they are on the page."""
        count = sum(line.is_outstanding for line in self.said_objections)
        return [(f"{counted(count, 'objection')} apparently unresolved", "objections")] if count else []

    @property
    def tally(self) -> str:
        """How many there are of each, in words, and what became of the objections."""
        looks = [line.look for line in self.positions]
        counts = [(looks.count(look), words) for look, words in STANCES.items()]
        found = ", ".join(f"{count} {words}" for count, words in counts if count)
        fates = Counter(line.fate for line in self.objections if line.fate)
        became = ", ".join(f"{count} {fate}" for fate, count in fates.items())
        # Those whose words are plain: others may stand on either side.
        sentences = (f"At least {found}." if found else "", f"Objections: {became}." if became else "")
        return " ".join(sentence for sentence in sentences if sentence)


@dataclass(frozen=True)
class QuotePlaces:
    """What a page knows of the messages: names by address and by message, where sentences and mails are."""

    people: Mapping[str, str]
    senders: Mapping[str, str]
    sentence: Callable[[SentenceCitation], str | None]
    message: Callable[[str], str | None]

    def person(self, address: str) -> str:
        return self.people.get(address.lower()) or writer(Address(email=address))


@dataclass
class _Quoting:
    """Quotes in the order of the page: each stands once, with its link."""

    places: QuotePlaces
    marks: Mapping[str, tuple[str, ...]]
    quoted: set[tuple[str, str]] = field(default_factory=set)

    def shown(self, quote: SentenceCitation, person: str = "") -> ShownQuote:
        name = self.places.senders.get(quote.message_id) or self.places.person(person)
        again = self.has(quote)
        self.quoted.add((quote.message_id, quote.quote))
        marks = self.marks.get(quote.message_id, ())
        return ShownQuote(quote.quote, name, self.places.sentence(quote), again, marks)

    def has(self, quote: SentenceCitation) -> bool:
        return (quote.message_id, quote.quote) in self.quoted

    def fresh(self, quotes: Iterable[tuple[SentenceCitation, str]]) -> list[ShownQuote]:
        """Those that do not stand above."""
        return [self.shown(quote, person) for quote, person in quotes if not self.has(quote)]


def names_of(participants: Iterable[Address]) -> dict[str, str]:
    return {participant.email.lower(): writer(participant) for participant in participants}


def _said(reading: StoredReading) -> list[Position]:
    return [one for one in reading.positions if one.tier is Tier.SAID and one.stance in SAYS]


def latest_remarks(reading: StoredReading) -> list[LatestRemark]:
    """Return the latest remarks, which are shown if no position and no objection is."""
    is_silent = not _said(reading) and not any(one.withdrawal for one in reading.objections)
    return reading.latest if is_silent else []


def reading_view(reading: StoredReading, places: QuotePlaces, now: datetime) -> ReadingView:
    said = _said(reading)
    remarks = [one for one in reading.positions if one.tier is Tier.REMARK]
    decider = reading.outcome.authority.person if reading.outcome.authority else ""
    quoting = _Quoting(places, _marks_of(reading))
    is_said = reading.outcome.tier is Tier.SAID or reading.outcome.is_closing_statement
    # In the order of the page: what stands above is not repeated below.
    evidence = quoting.fresh((one, decider) for one in reading.outcome.evidence if is_said)
    asked = _asked(reading, quoting)
    call = _call(reading.open_call, quoting, now.date()) if reading.open_call else None
    tallies = [
        (f"{one.by.name} ({one.by.role})", quoting.shown(one.citation, one.by.person))
        for one in reading.tallies
    ]
    positions = [_position(one, reading, quoting) for one in said]
    objections = _objections(reading, quoting, said)
    latest = [(quoting.shown(one.citation, one.person), one.at) for one in latest_remarks(reading)]
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
        remarks=quoting.fresh((one.citation, one.person) for one in remarks),
        latest=latest,
        call=call,
        corrections=[(_corrected(one, places), one) for one in reading.corrections],
        placements=[(_placed(one), one, places.message(one.message_id)) for one in reading.placements],
        model=reading.model,
        cut=[
            (places.senders.get(one, "unknown sender"), places.message(one))
            for one in (reading.model.cut if reading.model else ())
        ],
        quoted=frozenset(quoting.quoted),
    )


def _marks_of(reading: StoredReading) -> dict[str, tuple[str, ...]]:
    """By message: they stand beside each of its sentences that the page shows."""
    claims: list[Position | Objection | Decision]
    claims = [*reading.positions, *reading.objections, *reading.decisions]
    found = {claim.citation.message_id: claim.marks for claim in claims if claim.marks}
    if len(reading.outcome.evidence) == 1 and reading.outcome.marks:
        found.setdefault(reading.outcome.evidence[0].message_id, tuple(reading.outcome.marks))
    if reading.proposition and reading.proposition.marks:
        found.setdefault(reading.proposition.message_id, reading.proposition.marks)
    return found


def _asked(reading: StoredReading, quoting: _Quoting) -> ShownQuote | None:
    """The words in which it was put to the group, where there are some and nobody had them hidden."""
    put = reading.proposition
    words = put.words if put else None
    if put is None or words is None or not reading.headline.asked or quoting.has(words):
        return None
    if not asks_or_proposes(put.form, reading.genre.kind, words.quote):
        return None
    if reading.open_call and reading.open_call.question == words:
        return None  # the call has it
    return quoting.shown(words, put.proposer)


def _objections(reading: StoredReading, quoting: _Quoting, said: Sequence[Position]) -> list[ObjectionLine]:
    stances = [(one.stance, one.citation) for one in said]
    stances += [(one.earlier.stance, one.earlier.citation) for one in said if one.earlier]
    against = {_place(citation) for stance, citation in stances if stance is PositionStance.OPPOSE}
    # Most sentences that sound like objections are none: only what people call so, or withdraw, is shown.
    lines = [one for one in reading.objections if _place(one.citation) in against or one.withdrawal]
    return [
        ObjectionLine(
            quoting.shown(one.citation, one.person),
            FATES[one.fate],
            one.fate is Fate.OUTSTANDING,
            quoting.shown(one.withdrawal, one.person) if one.withdrawal else None,
        )
        for one in lines
    ]


def _place(quote: SentenceCitation) -> tuple[str, int]:
    return quote.message_id, quote.start


def _position(one: Position, reading: StoredReading, quoting: _Quoting) -> PositionLine:
    says, look = SAYS[one.stance]
    places = quoting.places
    proposition = reading.proposition
    proposing = proposition is not None and one.answers == proposition.message_id
    answers = "the proposal" if proposing else places.senders.get(one.answers or "", "")
    by_person = {
        correction.person: correction
        for correction in reading.corrections
        if correction.kind is CorrectionKind.POSITION
    }
    return PositionLine(
        sentence=quoting.shown(one.citation, one.person),
        at=one.at,
        earlier=_earlier(one, quoting),
        says=says,
        look=look,
        answers=answers,
        answers_address=places.message(one.answers) if one.answers and answers else None,
        binding=one.binding,
        corrected=by_person.get(one.person),
        marks=() if quoting.marks.get(one.citation.message_id) else one.marks,
        reader=_reader(one),
    )


def _earlier(one: Position, quoting: _Quoting) -> EarlierLine | None:
    if one.earlier is None or one.earlier.stance not in SAID_BEFORE:
        return None
    says, look = SAID_BEFORE[one.earlier.stance]
    return EarlierLine(quoting.shown(one.earlier.citation, one.person), one.earlier.at, says, look)


def _reader(one: Position) -> str:
    """A stance that no words say is the model's reading of an argument, and is called so."""
    if one.read_by is ReadBy.RULES:
        return ""
    return "found by the model" if one.is_explicit else "inferred by the model"


def _call(call: OpenCall, quoting: _Quoting, today: date) -> CallView:
    return CallView(
        question=quoting.shown(call.question) if call.question else None,
        state=call_state(call.ends, today),
        spoken=[quoting.places.person(person) for person in call.spoken[:MOST_PEOPLE]],
        more=max(0, len(call.spoken) - MOST_PEOPLE),
        outstanding=quoting.fresh((one, "") for one in call.outstanding),
    )


def call_state(ends: date | None, today: date) -> str:
    """A call whose time is over may have a result that is not in this mail: it is not called open."""
    if ends is None:
        return "No result found, no deadline given."
    if ends >= today:
        return f"Open until {ends.day} {ends:%B %Y}."
    return f"Ended {ends.day} {ends:%B %Y}, no result found."


def _corrected(one: ShownCorrection, places: QuotePlaces) -> str:
    if one.kind is CorrectionKind.POSITION:
        return f"The position of {places.person(one.person)}"
    return {
        CorrectionKind.OUTCOME: "The outcome",
        CorrectionKind.GENRE: "The genre",
        CorrectionKind.HIDDEN: "A hidden sentence",
    }[one.kind]


def _placed(one: ShownPlacement) -> str:
    if one.act is PlacementAct.UNDONE:
        return "was moved back"
    if not one.is_here:
        return "was moved to another thread"
    return {
        PlacementAct.SPLIT: "was split off as a new thread",
        PlacementAct.MOVED: "was moved to this thread",
    }.get(one.act, "was attached to the message it replies to")
