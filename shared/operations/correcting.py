"""Corrections of positions, outcomes and genres, and hidden claims. Each function can be repeated."""

from collections.abc import AsyncIterator, Iterable, Sequence
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from shared.azure.connections import Clients
from shared.azure.cosmos.session import Session
from shared.azure.cosmos.store import Conflict
from shared.core.errors import EditConflictError, InvalidEditError, NotFoundError
from shared.core.ids import correction_id
from shared.models.edits import CorrectedValue, Correction, CorrectionAct, CorrectionEntry, SentencePlace
from shared.models.queries.several_containers import first_with_id
from shared.models.queries.threads import ACTIVE_CORRECTIONS, REPORTED_ERRORS, THREADS_OF_MESSAGES
from shared.models.readings import StoredReading
from shared.models.reports import Summary
from shared.models.threads import Message, Thread
from shared.models.values import (
    CorrectionKind,
    Fate,
    Genre,
    OutcomeKind,
    PositionStance,
    SentenceCitation,
    Tier,
)
from shared.operations.audit import Operator, audited
from shared.operations.requeue import request_summary
from shared.pipeline.readiness import load_messages
from shared.pipeline.state.threads import count_correction
from shared.reading.headlines import MAX_WORDS
from shared.summarization.summary_document import find_corrections, sentence_place
from shared.thread_store.moving import ThreadMovedError, resolve_thread

MAX_ENTRIES = 50
MAX_CORRECTIONS = 500
MAX_REPORTS = 20  # open reports of errors in one thread
MOST_LISTED = 200
MAX_MERGES = 8  # merges of a thread during one correction
NO_POSITION = "none"
OWN_FIELD: dict[str, str] = {
    CorrectionKind.POSITION: "stance",
    CorrectionKind.OUTCOME: "outcome",
    CorrectionKind.GENRE: "genre",
}


def _one_line(text: str) -> str:
    if not text.isprintable():
        raise ValueError("must be one line of printable text")
    return " ".join(text.split())


def _headline(text: str) -> str:
    line = _one_line(text)
    if len(line.split()) > MAX_WORDS:
        raise ValueError(f"has at most {MAX_WORDS} words")
    return line


Reason = Annotated[str, Field(min_length=1, max_length=500), AfterValidator(_one_line)]


class CorrectionAsked(BaseModel):
    """The corrected value and its reason. The quote must be the sender's own text in the named message."""

    model_config = ConfigDict(extra="forbid")

    kind: CorrectionKind
    message_id: str | None = Field(None, max_length=1000, description="the thread's first message if missing")
    stance: Literal["support", "oppose", "mixed", "proposer", "none"] | None = None
    outcome: OutcomeKind | None = None
    sentence: Annotated[str, Field(max_length=300), AfterValidator(_headline)] = ""
    genre: Genre | None = None
    quote: str = Field("", max_length=4000)
    reason: Reason

    @model_validator(mode="after")
    def _fits_its_kind(self) -> Self:
        if self.kind is CorrectionKind.REPORTED:
            raise ValueError("kind: a report of an error corrects nothing; send it from the thread's page")
        for kind, name in OWN_FIELD.items():
            if (getattr(self, name) is not None) != (kind is self.kind):
                raise ValueError(f"{name}: belongs to a correction of kind {kind}, and to no other")
        if self.sentence and self.kind is not CorrectionKind.OUTCOME:
            raise ValueError("sentence: belongs to a correction of kind outcome, and to no other")
        if self.kind in {CorrectionKind.POSITION, CorrectionKind.HIDDEN} and self.message_id is None:
            raise ValueError("message_id: missing; name the message that contains the sentence")
        shows = self.kind is CorrectionKind.POSITION and self.stance != NO_POSITION
        if (shows or self.kind is CorrectionKind.HIDDEN) and not self.quote.split():
            raise ValueError("quote: missing; give the sentence that shows it, or the one to hide")
        return self

    @property
    def value(self) -> CorrectedValue:
        stance = None if self.stance in {None, NO_POSITION} else PositionStance(str(self.stance))
        return CorrectedValue(stance=stance, outcome=self.outcome, sentence=self.sentence, genre=self.genre)


async def correct(
    clients: Clients, thread_id: str, asked: CorrectionAsked, actor: Operator, *, etag: str | None = None
) -> Correction:
    """Store the correction and request a new summary. `etag` is of the correction that it replaces."""
    session = Session()
    thread, messages = await _thread_and_messages(clients, thread_id, session)
    entry = _entry(CorrectionAct.MADE, asked.reason, actor, clients, asked.value)
    made = _correction(thread, messages, asked, entry)
    selection = {"correction": made.id, "thread": thread.id, "kind": made.kind.value, "reason": asked.reason}
    async with audited(clients, "correction.make", actor, selection) as counts:
        known = await find_corrections(clients, [message.message_id for message in messages], session)
        if len(known) >= MAX_CORRECTIONS and all(other.id != made.id for other in known):
            raise InvalidEditError(f"A thread has at most {MAX_CORRECTIONS} corrections.")
        stored = await _store(clients, made, etag, session)
        await _request_new_summary(clients, thread.id, session)
        counts["corrected"] = 1
    return stored


async def revoke(clients: Clients, id_: str, reason: str, actor: Operator, *, etag: str | None) -> Correction:
    """Revoke the correction and keep its record. `etag` is of the version that the caller has seen."""
    session = Session()
    correction = await find_correction(clients, id_, session)
    async with audited(clients, "correction.revoke", actor, {"correction": id_, "reason": reason}) as counts:
        if not correction.revoked:
            _check_etag(correction, etag)
            entry = _entry(CorrectionAct.REVOKED, reason, actor, clients, CorrectedValue())
            correction = await _replace(clients, correction, entry, {"revoked": True}, session)
        if correction.kind is CorrectionKind.REPORTED:
            return correction  # no summary depends on a report
        rows = clients.store.query(THREADS_OF_MESSAGES, session, ids=[correction.message_key])
        for thread_id in sorted({row["thread_id"] async for row in rows}):
            await _request_new_summary(clients, await resolve_thread(clients, thread_id, session), session)
        counts["revoked"] = 1
    return correction


async def report_error(clients: Clients, thread_id: str, reason: str, actor: Operator) -> None:
    """Store an error that a reader reports. The same report has the same id, so a repeat changes nothing."""
    session = Session()
    thread, messages = await _thread_and_messages(clients, thread_id, session)
    known = await find_corrections(clients, [message.message_id for message in messages], session)
    waiting = [report for report in known if report.kind is CorrectionKind.REPORTED and not report.revoked]
    if len(waiting) >= MAX_REPORTS:
        raise InvalidEditError("This thread has many reports already. They wait for a corrector.")
    message = _message(thread, messages, None)
    entry = _entry(CorrectionAct.MADE, reason, actor, clients, CorrectedValue())
    made = Correction(
        id=correction_id(CorrectionKind.REPORTED, message.message_id, "", reason),
        created_at=entry.at,
        message_key=message.id,
        message_id=message.message_id,
        kind=CorrectionKind.REPORTED,
        entries=[entry],
    )
    await clients.store.create(made, session)


async def reported_errors(clients: Clients) -> list[tuple[str, Correction]]:
    """Return the open error reports with their thread, oldest first."""
    found = await clients.store.query_documents(Correction, REPORTED_ERRORS, Session())
    oldest = sorted(found, key=lambda report: report.last.at)[:MOST_LISTED]
    keys = [report.message_key for report in oldest]
    rows = await clients.store.query_by_ids(THREADS_OF_MESSAGES, keys, Session())
    threads = {row["id"]: str(row["thread_id"]) for row in rows}
    return [(threads[report.message_key], report) for report in oldest if report.message_key in threads]


async def find_correction(clients: Clients, id_: str, session: Session) -> Correction:
    query = first_with_id(Correction.container)
    found = await clients.store.query_documents(Correction, query, session, id=id_)
    if not found:
        raise NotFoundError("There is no correction with this id.")
    return found[0]


async def corrections_of_thread(clients: Clients, thread_id: str) -> list[Correction]:
    messages = await load_messages(clients, thread_id, Session())
    return await find_corrections(clients, [message.message_id for message in messages], Session())


async def _thread_and_messages(
    clients: Clients, thread_id: str, session: Session
) -> tuple[Thread, list[Message]]:
    place = await resolve_thread(clients, thread_id, session)
    thread = await clients.store.find(Thread, place, session)
    messages = await load_messages(clients, place, session)
    if thread is None or not messages:
        raise InvalidEditError("There is no thread with this id.")
    return thread, messages


def _correction(
    thread: Thread, messages: Sequence[Message], asked: CorrectionAsked, entry: CorrectionEntry
) -> Correction:
    message = _message(thread, messages, asked.message_id)
    place = _place(asked.quote, message)
    # One position a person, one outcome and one genre a thread, and one correction for each hidden sentence.
    person = message.from_.email.lower() if asked.kind is CorrectionKind.POSITION else ""
    hidden = place.digest if place and asked.kind is CorrectionKind.HIDDEN else ""
    return Correction(
        id=correction_id(asked.kind, message.message_id, person, hidden),
        created_at=entry.at,
        message_key=message.id,
        message_id=message.message_id,
        kind=asked.kind,
        value=asked.value,
        place=place,
        entries=[entry],
    )


def _message(thread: Thread, messages: Sequence[Message], message_id: str | None) -> Message:
    wanted = message_id or thread.root_message_id
    for message in messages:
        if message.message_id == wanted:
            return message
    if message_id is None:
        return messages[0]  # the root was never received: use the first message
    raise InvalidEditError("message_id: no such message in this thread.")


def _place(quote: str, message: Message) -> SentencePlace | None:
    if not quote.split():
        return None
    place = sentence_place(quote, message.body_normalized)
    if place is None:
        raise InvalidEditError("quote: not found in the sender's own text of that message.")
    return place


def _entry(
    act: CorrectionAct, reason: str, actor: Operator, clients: Clients, value: CorrectedValue
) -> CorrectionEntry:
    at = clients.runtime.now()
    return CorrectionEntry(act=act, by=actor.name[:200], via=actor.via, at=at, reason=reason, value=value)


async def _store(clients: Clients, made: Correction, etag: str | None, session: Session) -> Correction:
    """Create the correction or replace the existing one. An equal correction is returned unchanged."""
    before = await clients.store.find(Correction, made.id, session, partition=made.message_key)
    if before is None:
        if await clients.store.create(made, session):
            return await clients.store.read(Correction, made.id, session, partition=made.message_key)
        raise EditConflictError(_CHANGED)
    if not before.revoked:
        if (before.value, before.place) == (made.value, made.place):
            return before
        _check_etag(before, etag)
    changes = {"value": made.value, "place": made.place, "revoked": False}
    return await _replace(clients, before, made.last, changes, session)


_CHANGED = "This was corrected in the meantime. Read it again, and send its ETag as If-Match to replace it."


def _check_etag(before: Correction, etag: str | None) -> None:
    if etag is None or etag.strip('"') != (before.etag or "").strip('"'):
        raise EditConflictError(_CHANGED)


async def _replace(
    clients: Clients, before: Correction, entry: CorrectionEntry, changes: dict[str, Any], session: Session
) -> Correction:
    entries = [*before.entries, entry][-MAX_ENTRIES:]
    changed = before.model_copy(update={**changes, "entries": entries})
    stored = await clients.store.replace(changed, session)
    if isinstance(stored, Conflict):
        raise EditConflictError(_CHANGED)
    return stored


async def _request_new_summary(clients: Clients, thread_id: str, session: Session) -> None:
    for _ in range(MAX_MERGES):
        if await count_correction(clients.store, thread_id, session):
            await request_summary(clients, thread_id, session)
            return
        thread_id = await resolve_thread(clients, thread_id, session)
    raise ThreadMovedError(f"thread {thread_id} was merged during each request of its summary")


_WHOLE = frozenset({CorrectionKind.OUTCOME, CorrectionKind.GENRE})
_STATUS = {Fate.OUTSTANDING: "outstanding", Fate.UNCLEAR: "unclear"}


async def correction_labels(clients: Clients) -> AsyncIterator[dict[str, Any]]:
    store, by_key = clients.store, dict[str, list[Correction]]()
    for correction in await store.query_documents(Correction, ACTIVE_CORRECTIONS, Session()):
        by_key.setdefault(correction.message_key, []).append(correction)
    threads: dict[str, list[Correction]] = {}
    for row in await store.query_by_ids(THREADS_OF_MESSAGES, [*by_key], Session()):
        threads.setdefault(row["thread_id"], []).extend(by_key[row["id"]])
    for thread_id, corrections in sorted(threads.items()):
        thread = await store.find(Thread, thread_id, Session())
        if thread is None or thread.summary_id is None:
            continue
        summary = await store.find(Summary, thread.summary_id, Session(), partition=thread_id)
        if summary is not None and summary.reading is not None:
            messages = await load_messages(clients, thread_id, Session())
            yield _label(thread_id, messages, summary.reading, corrections)


def _label(
    thread_id: str, messages: Sequence[Message], reading: StoredReading, corrections: Sequence[Correction]
) -> dict[str, Any]:
    """Return one labeled thread. Its Message-IDs have no brackets, as the format requires."""
    kinds = {correction.kind for correction in corrections}
    senders = {message.id: message.from_.email.lower() for message in messages}
    proposition = reading.proposition
    return {
        "thread": thread_id,
        "message_ids": [message.message_id.strip("<>") for message in messages],
        "genre": reading.genre.kind,
        "proposition": proposition.words.quote if proposition and proposition.words else None,
        "proposition_message_id": proposition.message_id.strip("<>") if proposition else None,
        "outcome": reading.outcome.kind,
        "outcome_text": reading.outcome.sentence,
        "outcome_evidence": _quotes(reading.outcome.evidence),
        "has_consensus": reading.has_consensus,
        "consensus_type": reading.consensus_type,
        "positions": [
            {
                "person": position.person,
                "stance": position.stance,
                "explicit": True,
                **_quoted(position.citation),
            }
            for position in reading.positions
            if position.tier is Tier.SAID
        ],
        "objections": [
            {
                "person": objection.person,
                "status": _STATUS.get(objection.fate, "resolved"),
                **_quoted(objection.citation),
            }
            for objection in reading.objections
        ],
        "decisions": _quotes(decision.citation for decision in reading.decisions),
        "open_issues": _quotes(reading.open_issues),
        "key_points": _quotes(reading.key_points),
        "summary": reading.headline.came_out,
        "confidence": "high" if kinds >= _WHOLE else "low",
        "labelled": sorted(
            {
                f"positions/{senders[correction.message_key]}"
                if correction.kind is CorrectionKind.POSITION
                else correction.kind.value
                for correction in corrections
            }
        ),
        "labelled_by": sorted({correction.last.by for correction in corrections}),
    }


def _quoted(citation: SentenceCitation) -> dict[str, str]:
    return {"message_id": citation.message_id.strip("<>"), "quote": citation.quote}


def _quotes(found: Iterable[SentenceCitation]) -> list[dict[str, str]]:
    return [_quoted(citation) for citation in found]
