"""Operator pages for corrections and for errors that readers report."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import azure.functions as func
from pydantic import TypeAdapter

from shared.azure.connections import Clients, clients
from shared.core.ids import CORRECTION_ID
from shared.models.edits import Correction
from shared.models.readings import StoredReading
from shared.models.threads import Message, Thread
from shared.models.values import CorrectionKind, Genre, OutcomeKind, PositionStance, SentenceCitation
from shared.operations.audit import Operator
from shared.operations.correcting import (
    CorrectionAsked,
    Reason,
    correct,
    corrections_of_thread,
    reported_errors,
    revoke,
)
from shared.views.parameters import page_of
from shared.views.threads import conversation_of, summary_of
from web.access import CORRECTORS, Visitor
from web.forms import form_of
from web.operator.forms import back_to, check_sender, operators_page, show_to
from web.parameters import asked_thread, checked_id
from web.problems import Problem
from web.rendering import page

STANCES = [*(stance.value for stance in PositionStance), "none"]
MOST_SENTENCES = 60


@dataclass(frozen=True)
class CorrectableSentence:
    message_id: str
    quote: str
    name: str
    uses: tuple[str, ...]
    stance: str
    etag: str  # of the existing correction of this person's position


@dataclass(frozen=True)
class CorrectionView:
    thread: Thread
    reading: StoredReading
    sentences: list[CorrectableSentence]
    corrections: list[Correction]
    etags: Mapping[str, str]  # of the corrections of the outcome and the genre
    genres: Sequence[str] = tuple(genre.value for genre in Genre)
    outcomes: Sequence[str] = tuple(kind.value for kind in OutcomeKind)
    stances: Sequence[str] = tuple(STANCES)


def correction_view(
    thread: Thread, reading: StoredReading, messages: Sequence[Message], corrections: Sequence[Correction]
) -> CorrectionView:
    active = [correction for correction in corrections if not correction.revoked]
    position_etags = {
        correction.message_id: correction.etag or ""
        for correction in active
        if correction.kind is CorrectionKind.POSITION
    }
    whole = {CorrectionKind.OUTCOME, CorrectionKind.GENRE}
    etags = {
        correction.kind.value: correction.etag or "" for correction in active if correction.kind in whole
    }
    return CorrectionView(
        thread, reading, list(_sentences(reading, messages, position_etags)), list(corrections), etags
    )


def _sentences(
    reading: StoredReading, messages: Sequence[Message], etags: Mapping[str, str]
) -> Iterable[CorrectableSentence]:
    senders = {message.message_id: message.from_ for message in messages}
    stances = {position.citation.message_id: position.stance.value for position in reading.positions}
    uses: dict[tuple[str, str], list[str]] = {}
    for use, cited in _uses(reading):
        uses.setdefault((cited.message_id, cited.quote), []).append(use)
    for message_id, quote in list(uses)[:MOST_SENTENCES]:
        sender = senders.get(message_id)
        if sender is not None:
            yield CorrectableSentence(
                message_id,
                quote,
                sender.name or sender.email,
                tuple(dict.fromkeys(uses[message_id, quote])),
                stances.get(message_id, "none"),
                etags.get(message_id, ""),
            )


def _uses(reading: StoredReading) -> Iterable[tuple[str, SentenceCitation]]:
    yield from ((f"position: {position.stance}", position.citation) for position in reading.positions)
    yield from (("decision", decision.citation) for decision in reading.decisions)
    yield from (("objection", objection.citation) for objection in reading.objections)
    yield from (("open issue", citation) for citation in reading.open_issues)
    yield from (("key point", citation) for citation in reading.key_points)


@operators_page("operator_errors", "operator/errors", CORRECTORS)
async def errors_page(req: func.HttpRequest, connected: Clients, who: Visitor) -> func.HttpResponse:
    found = [
        (page_of("operator/corrections", thread), report)
        for thread, report in await reported_errors(connected)
    ]
    return show_to(req, who, "operator/errors.html", reports=found)


LARGEST_FORM = 16 * 1024
FIELDS = ("kind", "message_id", "stance", "outcome", "sentence", "genre", "quote", "reason")


@operators_page("operator_corrections", "operator/corrections/{id}", CORRECTORS)
async def corrections_page(req: func.HttpRequest, connected: Clients, who: Visitor) -> func.HttpResponse:
    _, thread = await asked_thread(req)
    summary = await summary_of(connected, thread)
    if summary is None or summary.reading is None:
        raise Problem(404, "This thread has no summary yet, so there is nothing to correct.")
    messages = (await conversation_of(connected, thread, answers=False)).messages
    found = await corrections_of_thread(connected, thread.id)
    view = correction_view(thread, summary.reading, messages, found)
    return show_to(req, who, "operator/corrections.html", view=view)


@page("operator_correct", "operator/corrections/{id}", "POST")
async def correct_thread(req: func.HttpRequest) -> func.HttpResponse:
    connected, form = await clients(), form_of(req, LARGEST_FORM)
    who = check_sender(req, connected, form, CORRECTORS)
    _, thread = await asked_thread(req)
    actor, etag = Operator(who.name, "operator's page"), form.get("etag") or None
    given = {name: form[name] for name in FIELDS if form.get(name)}
    if "revoke" in form:
        id_ = checked_id(form["revoke"], CORRECTION_ID, "correction with this id")
        reason = TypeAdapter[str](Reason).validate_python(given.get("reason", ""))
        await revoke(connected, id_, reason, actor, etag=etag)
    else:
        await correct(connected, thread.id, CorrectionAsked.model_validate(given), actor, etag=etag)
    return back_to(page_of("threads", thread.id))
