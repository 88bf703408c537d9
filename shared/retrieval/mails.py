"""Mails by their Message-ID, a thread as an mbox, and whose addresses are shown."""

import gzip
from collections.abc import Sequence

from shared.clients.connections import Clients
from shared.clients.cosmos.session import Session
from shared.core.errors import NotFoundError
from shared.documents.queries.threads import MESSAGES_WITH_ID
from shared.documents.sources import Source
from shared.documents.threads import Address, Message
from shared.domain.mail.archive_addresses import archive_address, bare_message_id
from shared.domain.mail.mbox_writer import WrittenMail, mbox_of

LONGEST_ID = 998  # a header's line is not longer (RFC 5322)


async def mail_with_id(clients: Clients, given: str) -> list[Message]:
    """The mail with this Message-ID, with or without its brackets: a copy for each list that has it."""
    bare = bare_message_id(given)
    if not bare or len(bare) > LONGEST_ID or not bare.isprintable():
        raise NotFoundError("This is not a Message-ID.")
    # A host may leave %2F as it is, since it would become another segment of the path.
    spellings = dict.fromkeys((bare, bare.replace("%2F", "/").replace("%2f", "/")))
    found = await clients.store.query_documents(
        Message, MESSAGES_WITH_ID, Session(), message_ids=[f"<{spelling}>" for spelling in spellings]
    )
    if not found:
        raise NotFoundError("There is no mail with this Message-ID in any of the archives here.")
    return sorted(found, key=lambda message: (message.created_at, message.source, message.id))


async def address_in_archive(clients: Clients, message: Message, sources: Sequence[str]) -> str | None:
    """Where the list's own archive has it, if a source of it says how that is addressed."""
    found = await clients.store.find_many(Source, [(name, name) for name in sources], Session())
    for source in found.values():
        if source.archive_template:
            return archive_address(
                source.archive_template,
                message_id=message.message_id,
                source=source.name,
                date=message.date,
            )
    return None


def masked(email: str) -> str:
    """`a***@example.org`: enough to tell people apart, too little to write to them. Still an address."""
    name, at, domain = email.rpartition("@")
    return f"{name[:1]}***{at}{domain}" if at else "***"


def shown_address(person: Address, *, whole: bool) -> Address:
    return person if whole or not person.email else Address(name=person.name, email=masked(person.email))


def packed_mbox(messages: Sequence[Message], *, whole: bool) -> bytes:
    """The same bytes for the same messages."""
    mails = (_written(message, whole=whole) for message in messages)
    return gzip.compress(mbox_of(mails), mtime=0)


def _written(message: Message, *, whole: bool) -> WrittenMail:
    def people(addresses: Sequence[Address]) -> tuple[tuple[str, str], ...]:
        shown = [shown_address(person, whole=whole) for person in addresses]
        return tuple((person.name, person.email) for person in shown)

    return WrittenMail(
        message_id=message.message_id,
        sender=people([message.from_])[0],
        recipients=people(message.to),
        copied=people(message.cc),
        date=message.date,
        subject=message.subject,
        in_reply_to=message.in_reply_to or "",
        references=tuple(message.references),
        text=message.body_raw,
    )
