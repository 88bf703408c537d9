"""Mails by Message-ID, their original bytes, and threads as mbox."""

import asyncio
import gzip
import io
from collections.abc import Sequence
from dataclasses import dataclass

from shared.azure.blobs import ARCHIVES_CONTAINER
from shared.azure.connections import Clients
from shared.azure.cosmos.session import Session
from shared.core.concurrency import BoundedQueue
from shared.core.errors import DocumentNotFoundError, NotFoundError
from shared.ingestion.archive_members import open_members
from shared.ingestion.archive_reader import opened_archive
from shared.ingestion.archive_source import ArchivePath
from shared.mail.archive_addresses import archive_address, bare_message_id
from shared.mail.masking import mask_addresses, masked
from shared.mail.mbox_writer import WrittenMail, mbox_of
from shared.mail.models import MailboxError, ParsedMail
from shared.mail.parse import parse_archive
from shared.models.containers import read_document
from shared.models.queries.threads import MESSAGES_WITH_ID
from shared.models.sources import Archive, Source
from shared.models.threads import Address, Copy, Message
from shared.threading.prepared_message import latest_date, prepare_message

LONGEST_ID = 998  # the longest header line (RFC 5322)


async def mail_with_id(clients: Clients, given: str) -> list[Message]:
    """Return the copies of the mail in all lists. The Message-ID may have brackets."""
    bare = bare_message_id(given)
    if not bare or len(bare) > LONGEST_ID or not bare.isprintable():
        raise NotFoundError("This is not a Message-ID.")
    # A host may keep %2F encoded, because a slash would begin a new path segment.
    spellings = dict.fromkeys((bare, bare.replace("%2F", "/").replace("%2f", "/")))
    ids = [f"<{spelling}>" for spelling in spellings]
    found = await clients.store.query_documents(Message, MESSAGES_WITH_ID, Session(), message_ids=ids)
    if not found:
        raise NotFoundError("No archive here has a mail with this Message-ID.")
    return sorted(found, key=lambda message: (message.created_at, message.source, message.id))


async def address_in_archive(clients: Clients, message: Message, sources: Sequence[str]) -> str | None:
    """Return the address of the mail in the public archive of its list, if a source defines one."""
    found = await clients.store.find_many(Source, sources, Session())
    for source in found.values():
        if source.archive_template:
            return archive_address(
                source.archive_template, message_id=message.message_id, source=source.name, date=message.date
            )
    return None


def packed_mbox(messages: Sequence[Message], *, whole: bool) -> bytes:
    """Return a compressed mbox, which is always the same for the same messages."""
    mails = (_mail_to_write(message, whole=whole) for message in messages)
    return gzip.compress(mbox_of(mails), mtime=0)


def _mail_to_write(message: Message, *, whole: bool) -> WrittenMail:
    """Return the mail for the mbox. Unless `whole` is set, all addresses except Message-IDs are masked."""

    def visible(text: str) -> str:
        return text if whole else mask_addresses(text)

    def people(addresses: Sequence[Address]) -> tuple[tuple[str, str], ...]:
        return tuple(
            (visible(address.name), address.email if whole or not address.email else masked(address.email))
            for address in addresses
        )

    return WrittenMail(
        message_id=message.message_id,
        sender=people([message.from_])[0],
        recipients=people(message.to),
        copied=people(message.cc),
        date=message.date,
        subject=visible(message.subject),
        in_reply_to=message.in_reply_to or "",
        references=tuple(message.references),
        text=visible(message.body_raw),
    )


_PLAIN = frozenset({"mbox", "eml"})
UNPACKED_AT_ONCE, UNPACKINGS_WAITING = 2, 8
_PIECE = 1024 * 1024
_CONTENT_FIELDS = (
    "subject", "from", "to", "cc", "date", "body_raw", "body_normalized", "body_html", "segments",
    "hidden_text", "claimed_date", "attachments", "warnings",
)  # fmt: skip


@dataclass(frozen=True)
class OriginalMail:
    """A copy of a message as read from its archive. `message` has the contents of the copy."""

    message: Message
    copy: Copy
    file_hash: str
    is_unchanged: bool  # since the archive was parsed


async def original_bytes(clients: Clients, message: Message) -> bytes:
    """Return the bytes of the mail in its archive. Raise NotFoundError if its place is unknown."""
    return (await _original(clients, message, 0, unpacks=True))[0]


async def original_mail(
    clients: Clients, message: Message, number: int, *, unpacks: bool = False
) -> OriginalMail:
    """Return a copy by its number. Copy 0 is the message, and other copies may have other contents.

    A packed archive must be unpacked up to the mail, which only callers with `unpacks` may request.
    """
    content, archive = await _original(clients, message, number, unpacks=unpacks)
    parsed = await asyncio.to_thread(_parsed, content)
    if parsed is None:
        raise NotFoundError("the archive no longer has a mail at the place of this copy")
    copy = message.copies[number]
    document = prepare_message(parsed).not_after(latest_date(copy.arrived)).document
    contents = {name: document[name] for name in _CONTENT_FIELDS}
    read = read_document(Message, {**message.to_cosmos(), **contents})
    return OriginalMail(read, copy, archive.file_hash, document["identity"] == copy.identity)


def _parsed(content: bytes) -> ParsedMail | None:
    """Parse the content as a mailbox of one mail, which also removes the escaping of lines."""
    try:
        found = next(parse_archive(io.BytesIO(content)), None)
    except MailboxError:
        return None
    return found if isinstance(found, ParsedMail) else None


async def _original(
    clients: Clients, message: Message, number: int, *, unpacks: bool
) -> tuple[bytes, Archive]:
    if number >= len(message.copies):
        raise NotFoundError("the place of this message in its archive is unknown. Parse the archive again")
    copy = message.copies[number]
    archive = await clients.store.find(Archive, copy.archive_id, Session())
    if archive is None:
        raise NotFoundError(f"archive {copy.archive_id} no longer exists")
    try:
        if archive.format in _PLAIN:
            _, start, length = copy.place
            part = await clients.blobs.read_part(ARCHIVES_CONTAINER, archive.file_path, start, length)
            return part, archive
        if not unpacks:
            raise NotFoundError("The copy is in a packed archive, which only operators can open.")
        queue = await clients.resources.get("unpacking queue", _unpacking_queue)
        async with queue, opened_archive(clients.blobs, archive.file_path, archive.file_size_bytes) as path:
            return await asyncio.to_thread(_read_member, path, copy), archive
    except DocumentNotFoundError:
        raise NotFoundError(f"the file of archive {copy.archive_id} no longer exists") from None


async def _unpacking_queue() -> BoundedQueue:
    return BoundedQueue(UNPACKED_AT_ONCE, UNPACKINGS_WAITING)


def _read_member(path: ArchivePath, copy: Copy) -> bytes:
    wanted, start, length = copy.place
    for number, member in enumerate(open_members(path)):
        if number == wanted:
            while start > 0 and (skipped := member.stream.read(min(start, _PIECE))):
                start -= len(skipped)
            return member.stream.read(length)
    raise NotFoundError("the archive has fewer mailboxes than when it was parsed")
