"""Corrections as labels: threads that people corrected, in the format that `make evaluate LABELS=` reads.

A label has all fields of that format. `labelled` names those that a person set; the others hold what was
read, and are no measure of the reader.
"""

from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from typing import Any

from shared.clients.connections import Clients
from shared.clients.cosmos.session import Session
from shared.documents.edits import Correction
from shared.documents.queries.threads import ACTIVE_CORRECTIONS, MESSAGES_OF_THREAD, THREADS_OF_MESSAGES
from shared.documents.readings import StoredObjection, StoredPosition, StoredQuote, StoredReading
from shared.documents.reports import Summary
from shared.documents.threads import Message, Thread
from shared.documents.values import CorrectionKind, Fate, Tier

_WHOLE = frozenset({CorrectionKind.OUTCOME, CorrectionKind.GENRE})
_STATUS = {Fate.OUTSTANDING: "outstanding", Fate.UNCLEAR: "unclear"}


async def correction_labels(clients: Clients) -> AsyncIterator[dict[str, Any]]:
    """One object for each thread that has corrections and a summary, by its id."""
    store, by_key = clients.store, dict[str, list[Correction]]()
    for correction in await store.query_documents(Correction, ACTIVE_CORRECTIONS, Session()):
        by_key.setdefault(correction.message_key, []).append(correction)
    threads: dict[str, list[Correction]] = {}
    for row in await store.query_by_ids(THREADS_OF_MESSAGES, [*by_key], Session()):
        threads.setdefault(row["thread_id"], []).extend(by_key[row["id"]])
    for thread_id, corrections in sorted(threads.items()):
        thread = await store.find(Thread, thread_id, thread_id, Session())
        if thread is None or thread.summary_id is None:
            continue
        summary = await store.find(Summary, thread.summary_id, thread_id, Session())
        messages = await store.query_documents(
            Message, MESSAGES_OF_THREAD, Session(), partition_value=thread_id
        )
        if summary is not None and summary.reading is not None:
            yield label_of(thread_id, messages, summary.reading, corrections)


def label_of(
    thread_id: str, messages: Sequence[Message], reading: StoredReading, corrections: Sequence[Correction]
) -> dict[str, Any]:
    """Message-IDs without brackets, as the format has them."""
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
        "positions": [_position(one) for one in reading.positions if one.tier is Tier.SAID],
        "objections": [_objection(one) for one in reading.objections],
        "decisions": _quotes(one.citation for one in reading.decisions),
        "open_issues": _quotes(reading.open_issues),
        "key_points": _quotes(reading.key_points),
        "summary": reading.headline.came_out,
        "confidence": "high" if kinds >= _WHOLE else "low",
        "labelled": sorted({_field(correction, senders) for correction in corrections}),
        "labelled_by": sorted({correction.last.by for correction in corrections}),
    }


def _field(correction: Correction, senders: Mapping[str, str]) -> str:
    if correction.kind is CorrectionKind.POSITION:
        return f"positions/{senders[correction.message_key]}"
    return correction.kind.value


def _quoted(one: StoredQuote) -> dict[str, str]:
    return {"message_id": one.message_id.strip("<>"), "quote": one.quote}


def _quotes(found: Iterable[StoredQuote]) -> list[dict[str, str]]:
    return [_quoted(one) for one in found]


def _position(one: StoredPosition) -> dict[str, Any]:
    return {"person": one.person, "stance": one.stance, "explicit": True, **_quoted(one.citation)}


def _objection(one: StoredObjection) -> dict[str, Any]:
    status = _STATUS.get(one.fate, "resolved")
    return {"person": one.person, "status": status, **_quoted(one.citation)}
