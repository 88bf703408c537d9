"""Edit and retry: a dead letter is sent to its stage with another body, and the original is archived.

What an operator writes is checked as what comes over the wire is: a stage gets an event that it takes.
"""

import json
from dataclasses import replace
from typing import Any

from shared.clients.connections import Clients
from shared.clients.servicebus.bus import to_message
from shared.clients.servicebus.dead_letters import DeadLetter, peek_all
from shared.clients.servicebus.message_copy import DATA, MessageCopy
from shared.core.errors import NewerVersionError, PermanentError
from shared.documents.audits import Audit, AuditStatus
from shared.pipeline.events.envelope import parse_event
from shared.pipeline.topology import STAGES
from shared.upkeep.audit import Actor, new_audit, save_audit
from shared.upkeep.deadletters.actions import EDIT
from shared.upkeep.deadletters.journal import Journal

LARGEST_BODY = 64 * 1024  # as an event has at most
_STAGES = {stage.name: stage for stage in STAGES}


class UneditableError(PermanentError):
    """The letter cannot be edited to this."""


async def find_letter(clients: Clients, queue: str, number: int) -> DeadLetter:
    async for letter in peek_all(clients.bus, queue, start=number, most=1):
        if letter.sequence_number == number:
            return letter
    raise UneditableError(f"{queue} has no dead letter {number} (any more)")


def edited_copy(letter: DeadLetter, body: bytes) -> MessageCopy:
    """The message with the new body, and with the properties that go with it."""
    if len(body) > LARGEST_BODY:
        raise UneditableError(f"the body has {len(body):,} bytes: more than {LARGEST_BODY:,} cannot be sent")
    properties, more = dict(letter.copy.properties), dict[str, Any]()
    if letter.queue in _STAGES:
        message = _event_message(letter.queue, body)
        properties |= {"subject": message.subject, "correlation_id": message.correlation_id}
        more = {str(name): value for name, value in (message.application_properties or {}).items()}
    else:
        _check_request(body)
    given = {**letter.properties, **more}
    return replace(
        letter.copy, body_kind=DATA, body=[body], properties=properties, application_properties=given
    )


def _event_message(queue: str, body: bytes) -> Any:
    try:
        event = parse_event(body)
    except (PermanentError, NewerVersionError) as error:
        raise UneditableError(f"not an event: {error}") from None
    stage = _STAGES[queue]
    taken = {kind.__name__ for kind in (stage.consumes, *stage.internal)}
    if event.event_type not in taken:
        wanted = " or ".join(sorted(taken))
        raise UneditableError(f"{queue} takes {wanted}, not {event.event_type}")
    return to_message(event)


def _check_request(body: bytes) -> None:
    try:
        request = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise UneditableError(f"not JSON: {error}") from None
    if not isinstance(request, dict):
        raise UneditableError("not a JSON object")


async def request_edit(clients: Clients, queue: str, number: int, body: bytes, actor: Actor) -> Audit:
    """Store what is to be sent, then the request; `run_operation` does it."""
    letter = await find_letter(clients, queue, number)
    copy = edited_copy(letter, body)
    if body == letter.copy.data():
        raise UneditableError("the body is as it was: requeue the letter instead")
    selection = {"queues": [queue], "sequence_numbers": [number]}
    audit = new_audit(EDIT, actor, selection, clients.runtime)
    record = {"queue": queue, "sequence_number": number, "message": copy.record()}
    await Journal(clients.blobs, audit.id).keep_edit(record)
    return await save_audit(clients.store, audit, clients.runtime.now(), status=AuditStatus.ASKED)


async def read_edit(journal: Journal) -> MessageCopy:
    try:
        return MessageCopy.from_record((await journal.edit()).get("message"))
    except ValueError as error:
        raise UneditableError(str(error)) from None
