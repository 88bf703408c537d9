"""Which messages are about one archive, and about nothing that stays when it is deleted.

A message names documents: it belongs to the archive when all of them that exist are the archive's alone, and
the message names the archive or one of these documents. An announced summary belongs to it also where the
thread stays: a thread that loses messages loses the summary. Where a message does not say, it stays.
"""

import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from shared.clients.connections import Clients
from shared.clients.cosmos.session import Session
from shared.core.errors import InvalidEventError, NewerVersionError
from shared.core.ids import removal_id
from shared.documents.queries.several_containers import archives_by_id
from shared.documents.queries.threads import MESSAGE_ARCHIVES_OF_THREAD
from shared.documents.reports import Summary
from shared.documents.sources import Archive
from shared.documents.threads import Chunk, Message, Thread
from shared.pipeline import event_types as data
from shared.pipeline.events.envelope import parse_event
from shared.pipeline.topology import REMOVAL

LONGEST_CHAIN = 20  # of threads that were merged into one another


@dataclass(frozen=True)
class _Subject:
    """What a message is about."""

    archive: str | None = None  # as the message itself says
    container: str = Thread.container
    ids: Collection[str] = ()
    summary: data.SummaryComplete | None = None


@dataclass
class Belonging:
    clients: Clients
    archive: str
    session: Session
    gone: Collection[str] = ()  # threads that only this archive had, where they are deleted already
    _archives: dict[tuple[str, str], set[str]] = field(default_factory=dict)

    async def of(self, messages: Sequence[tuple[str, bytes]]) -> list[bool]:
        """Whether each belongs to the archive, by its queue and its body."""
        subjects = [_subject(queue, body, self.archive) for queue, body in messages]
        for container in (Message.container, Chunk.container, Thread.container):
            ids = {
                id_ for subject in subjects if subject and subject.container == container
                for id_ in subject.ids
            }  # fmt: skip
            await self._find(container, ids)
        return [subject is not None and await self._is_only_of_it(subject) for subject in subjects]

    async def _find(self, container: str, ids: Collection[str]) -> None:
        """Which archives have these documents; a thread that was merged has those of what it is now."""
        rows = await self.clients.store.query_by_ids(archives_by_id(container), ids, self.session)
        for row in rows:
            found = self._archives.setdefault((container, row["id"]), set())
            found.update(row.get("archive_ids") or [row["archive_id"]])
        merged = {row["id"]: row["merged_into"] for row in rows if row.get("merged_into")}
        for _ in range(LONGEST_CHAIN):
            if not merged:
                return
            targets = await self.clients.store.query_by_ids(
                archives_by_id(container), set(merged.values()), self.session
            )
            by_id = {row["id"]: row for row in targets}
            for name, target in [*merged.items()]:
                del merged[name]
                if target in by_id:
                    self._archives[container, name].update(by_id[target].get("archive_ids") or ())
                    if by_id[target].get("merged_into"):
                        merged[name] = by_id[target]["merged_into"]

    async def _is_only_of_it(self, subject: _Subject) -> bool:
        if subject.archive not in {None, self.archive}:
            return False
        if subject.container == Archive.container:
            return subject.archive == self.archive
        known = [(subject.container, id_) for id_ in subject.ids]
        found = [self._archives[key] for key in known if key in self._archives]
        named = subject.archive == self.archive or bool(found) or self._all_gone(subject)
        if named and all(archives <= {self.archive} for archives in found):
            return True
        return subject.summary is not None and await self._loses(subject.summary)

    def _all_gone(self, subject: _Subject) -> bool:
        return subject.container == Thread.container and set(self.gone).issuperset(subject.ids)

    async def _loses(self, announced: data.SummaryComplete) -> bool:
        """Whether a thread that the summary tells of has a message that only this archive has."""
        threads = {announced.thread_id}
        if announced.summary_id:
            scope = announced.thread_id
            stored = await self.clients.store.find(Summary, announced.summary_id, scope, self.session)
            threads |= set(stored.thread_ids) if stored is not None else set()
        for thread_id in sorted(threads):
            rows = self.clients.store.query(
                MESSAGE_ARCHIVES_OF_THREAD, self.session, partition_value=thread_id
            )
            async for row in rows:
                if set(row["archive_ids"]) == {self.archive}:
                    return True
        return False


def _subject(queue: str, body: bytes, archive: str) -> _Subject | None:
    if queue == REMOVAL.name:
        asked = named_in(body, "removal_id")
        return _Subject(archive, Archive.container) if asked == removal_id("archive", archive) else None
    try:
        return _of_event(parse_event(body).data)
    except (InvalidEventError, NewerVersionError):
        return None


def _of_event(event: data.EventData) -> _Subject | None:
    """What the stage that takes it works on: a thread has more than the messages that an event tells of."""
    archive = getattr(event, "archive_id", None)
    ids = event.trace_ids()
    match event:
        case data.ArchiveIngested() | data.ParsingFailed():
            return _Subject(archive, Archive.container)
        case data.SummaryComplete():
            return _Subject(ids=ids["thread_id"], summary=event)
        case data.ChunksPrepared() | data.EmbeddingGenerationFailed() if ids["chunk_id"]:
            return _Subject(archive, Chunk.container, ids["chunk_id"])
        case data.JSONParsed() | data.ChunksPrepared() | data.ChunkingFailed():
            return _Subject(archive, Message.container, ids["message_key"])
    return _Subject(ids=ids["thread_id"]) if ids["thread_id"] else None


def named_in(body: bytes, field_name: str) -> str | None:
    """A field of a request that is no event."""
    try:
        request = json.loads(body)
    except (ValueError, RecursionError):
        return None
    value = request.get(field_name) if isinstance(request, dict) else None
    return value if isinstance(value, str) else None
