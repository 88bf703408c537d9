"""Threads in a few lines: each message answers the first one unless it names another."""

from datetime import UTC, datetime, timedelta

from evaluation.consensus_corpus import read_profile
from shared.models.values import Position, SourceProfile, ThreadReading, Tier
from shared.reading.mails import QuotedBlock, ThreadMail
from shared.reading.reader import read_thread

__all__ = ["GIT", "IETF", "MAVEN", "mail", "read", "remarks", "said"]

_START = datetime(2024, 1, 8, 9, tzinfo=UTC)

GIT = read_profile({"preset": "maintainer", "roles": [{"person": "juno@git.example", "role": "maintainer"}]})
IETF = read_profile({"preset": "ietf", "roles": [{"person": "chair@ietf.example", "role": "chair"}]})
MAVEN = read_profile(
    {
        "preset": "apache",
        "roles": [
            {"person": f"{name}@apache.example", "role": role}
            for name, role in (
                ("rita", "release manager"),
                ("ann", "binding"),
                ("bob", "binding"),
                ("cyn", "binding"),
            )
        ],
    }
)


def mail(
    number: int,
    who: str,
    text: str,
    *,
    answers: int | None = 0,
    under: str = "",
    subject: str = "",
    name: str = "",
    day: int | None = None,
) -> ThreadMail:
    """Build message `number`, with `under` quoted above its text. Number 0 answers no message."""
    parent = f"<m{answers}>" if number and answers is not None else None
    return ThreadMail(
        message_id=f"<m{number}>",
        address=who if "@" in who else f"{who}@list.example",
        name=name or who.partition("@")[0].title(),
        text=text,
        subject=subject or ("Re: A matter" if number else "A matter"),
        date=_START + timedelta(days=number if day is None else day),
        reply_to=parent,
        quotes=(QuotedBlock(0, under),) if under else (),
    )


def read(*mails: ThreadMail, profile: SourceProfile | None = None) -> ThreadReading:
    return read_thread(mails, profile)


def said(reading: ThreadReading) -> dict[str, str]:
    """Return the stated stance of each person, by the first part of the address."""
    return {_who(one): one.stance.value for one in reading.positions if one.tier is Tier.SAID}


def remarks(reading: ThreadReading) -> dict[str, str]:
    return {_who(one): one.stance.value for one in reading.positions if one.tier is Tier.REMARK}


def _who(position: Position) -> str:
    return position.person.partition("@")[0]
