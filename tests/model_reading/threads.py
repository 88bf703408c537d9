"""Threads and answers for the tests of the model's reading."""

import json
from datetime import UTC, datetime, timedelta
from typing import Any

from shared.model_reading.answer import parse_answer
from shared.model_reading.combined import ModelRun, combine
from shared.models.values import SourceProfile, ThreadReading
from shared.reading.linked_thread import LinkedThread
from shared.reading.mails import ThreadMail
from shared.reading.reader import read_thread

START = datetime(2024, 3, 4, 9, tzinfo=UTC)
SUBJECT = "Call for adoption: draft-example-renumbering"
RUN = ModelRun("toy", datetime(2024, 5, 6, tzinfo=UTC))


def mails(*said: tuple[str, str], subject: str = SUBJECT) -> list[ThreadMail]:
    """Return messages by (name, own text), an hour apart, each an answer to the first."""
    return [
        ThreadMail(
            message_id=f"<{number}@example.org>",
            address=f"{name.lower().replace(' ', '.')}@example.org",
            text=text,
            name=name,
            subject=subject if not number else f"Re: {subject}",
            date=START + timedelta(hours=number),
            reply_to="<0@example.org>" if number else None,
        )
        for number, (name, text) in enumerate(said)
    ]


def position(
    mail: int, stance: str, quote: str, *, person: str | None = None, explicit: bool = True
) -> dict[str, Any]:
    """Return a position. Each person writes one message, so the message's number names its writer."""
    return {
        "person": person or f"p{mail}",
        "stance": stance,
        "explicit": explicit,
        "mail": mail,
        "quote": quote,
    }


def said(mail: int, quote: str) -> dict[str, Any]:
    return {"mail": mail, "quote": quote}


def read(thread: list[ThreadMail], profile: SourceProfile | None = None, /, **answer: Any) -> ThreadReading:
    """Return the stored reading for this answer of a model."""
    source = profile or SourceProfile()
    linked = LinkedThread(thread, source)
    return combine(
        linked, thread[0].subject, read_thread(thread, source), parse_answer(json.dumps(answer)), RUN
    )


def stances(reading: ThreadReading) -> dict[str, str]:
    """Return the shown stance of each person."""
    return {one.name: one.stance.value for one in reading.positions if one.tier.value == "said"}
