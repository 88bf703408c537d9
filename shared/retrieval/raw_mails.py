"""The original bytes of a message: a stretch of its archive's blob."""

import asyncio
import tempfile
from pathlib import Path

from shared.clients.blobs import ARCHIVES_CONTAINER
from shared.clients.connections import Clients
from shared.clients.cosmos.session import Session
from shared.core.errors import DocumentNotFoundError
from shared.documents.archives import Archive
from shared.documents.messages import Copy, Message
from shared.ingestion.unpacking.members import open_members
from shared.retrieval.errors import NotFoundError

_PLAIN = frozenset({"mbox", "eml"})
_PIECE = 1024 * 1024


async def original_bytes(clients: Clients, message: Message) -> bytes:
    """As they stand in the archive; NotFoundError where nothing says where, or the archive is gone."""
    if not message.copies:
        raise NotFoundError("where this message stands in its archive is not known: parse the archive again")
    copy = message.copies[0]
    archive = await clients.store.find(Archive, copy.archive_id, copy.archive_id, Session())
    if archive is None:
        raise NotFoundError(f"archive {copy.archive_id} is not there any more")
    try:
        if archive.format in _PLAIN:
            return await _slice_of_blob(clients, archive, copy)
        return await _slice_of_member(clients, archive, copy)
    except DocumentNotFoundError:
        raise NotFoundError(f"the file of archive {copy.archive_id} is not there any more") from None


async def _slice_of_blob(clients: Clients, archive: Archive, copy: Copy) -> bytes:
    _, start, length = copy.place
    at, found = 0, bytearray()
    async for block in clients.blobs.read(ARCHIVES_CONTAINER, archive.file_path):
        found += block[max(0, start - at) : max(0, start + length - at)]
        at += len(block)
        if at >= start + length:
            break
    return bytes(found)


async def _slice_of_member(clients: Clients, archive: Archive, copy: Copy) -> bytes:
    with tempfile.TemporaryDirectory(prefix="raw-") as folder:
        path = Path(folder) / "archive"
        with path.open("wb") as file:
            await clients.blobs.save(ARCHIVES_CONTAINER, archive.file_path, file)
        return await asyncio.to_thread(_read_member, path, copy)


def _read_member(path: Path, copy: Copy) -> bytes:
    wanted, start, length = copy.place
    for number, member in enumerate(open_members(path)):
        if number == wanted:
            while start > 0 and (skipped := member.stream.read(min(start, _PIECE))):
                start -= len(skipped)
            return member.stream.read(length)
    raise NotFoundError("the archive has fewer mailboxes than when it was parsed")
