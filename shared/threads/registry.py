"""Threads messages into what is stored, one worker at a time.

The order of writing makes every step repeatable: the thread that takes over says so first (`absorbing`), then
the index points to it, the messages are stored, and last the absorbed threads' documents follow. A worker
that dies on the way leaves the rest to whoever threads the same messages again.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field

from shared.clients import Clients
from shared.documents import Message, Status, Thread
from shared.errors import TransientError
from shared.mail.models import Message as ParsedMessage
from shared.mail.subject_links import entries_of
from shared.mail.threading import ThreadingResult, ThreadState, assign
from shared.session import Session
from shared.store import Conflict, Patch
from shared.threads.aggregate import thread_documents
from shared.threads.entries import ThreadIndex
from shared.threads.moving import follow_merge

__all__ = ["Registry", "Threaded"]


class ChangedMeanwhileError(TransientError):
    """A thread changed while messages were added to it."""


@dataclass
class Threaded:
    """Where the messages went, and which threads are another one now."""

    assignments: dict[str, str]
    renamed: dict[str, str] = field(default_factory=dict)


class _Known:
    """What was loaded beforehand, as the threading asks for it."""

    def __init__(self, states: Sequence[ThreadState]) -> None:
        self._states = states

    def by_message_ids(self, ids: Sequence[str]) -> Sequence[ThreadState]:  # noqa: ARG002 - all of them serve
        return self._states

    def by_subject_keys(self, keys: Sequence[str]) -> Sequence[ThreadState]:  # noqa: ARG002
        return ()


class Registry:
    def __init__(self, clients: Clients) -> None:
        self._clients = clients
        self._store = clients.store
        self._index = ThreadIndex(clients.store)

    async def add(
        self, messages: Sequence[ParsedMessage], archive_id: str, source: str, session: Session
    ) -> Threaded:
        """Thread and store these messages. The caller holds the lease."""
        known = await self._load(messages, session)
        states = [ThreadState.from_document(thread.threading) for thread in known.values()]
        result = assign(messages, _Known(states))
        renamed = {merge.thread_id: merge.into for merge in result.merges}
        threads = thread_documents(result, known, messages, archive_id, source)
        await self._store_threads(threads, session)
        await self._leave_signposts(known, renamed, session)
        await self._index.store(result.threads, renamed, session)
        await self._store_messages(messages, result, archive_id, session)
        for thread in threads:
            await self._absorb(thread, session)
        return Threaded(result.assignments, renamed)

    async def _load(self, messages: Sequence[ParsedMessage], session: Session) -> dict[str, Thread]:
        """The threads that can matter. A signpost stands for the thread that it points to."""
        ids = {one for each in messages for one in (each.node, *each.references, *each.in_reply_to)}
        subjects = [entry for each in messages for entry in entries_of(each)]
        wanted = await self._index.find(ids, subjects, session)
        threads: dict[str, Thread] = {}
        while wanted:
            found = await self._store.find_many(Thread, [(name, name) for name in wanted], session)
            threads |= found
            wanted = {each.merged_into for each in found.values() if each.merged_into} - set(threads)
        return {name: thread for name, thread in threads.items() if thread.merged_into is None}

    async def _store_threads(self, threads: Sequence[Thread], session: Session) -> None:
        """Other stages write to threads, too: whoever was faster wins, and this is done again."""
        results = await asyncio.gather(*(self._store_thread(thread, session) for thread in threads))
        if not all(results):
            raise ChangedMeanwhileError

    async def _store_thread(self, thread: Thread, session: Session) -> bool:
        if thread.etag is None:
            return await self._store.create(thread, session)
        return await self._store.replace(thread, session) is not Conflict.CONFLICT

    async def _leave_signposts(
        self, known: dict[str, Thread], renamed: dict[str, str], session: Session
    ) -> None:
        await self._store.upsert_all(
            [
                known[old].model_copy(
                    update={
                        "merged_into": new,
                        "threading": {},
                        "absorbing": [],
                        "status": Status.PROCESSED,  # there is nothing to be done with a signpost
                    }
                )
                for old, new in renamed.items()
            ],
            session,
        )

    async def _store_messages(
        self, messages: Sequence[ParsedMessage], result: ThreadingResult, archive_id: str, session: Session
    ) -> None:
        documents = {
            each.message_key: message_document(each, result.assignments[each.node], archive_id)
            for each in messages
        }
        created = await self._store.create_missing(list(documents.values()), session)
        seen_before = [document for key, document in documents.items() if key not in created]
        await self._add_archive(seen_before, archive_id, session)

    async def _add_archive(self, documents: Sequence[Message], archive_id: str, session: Session) -> None:
        """Note on messages that were there already that this archive has them, too."""
        keys = [(document.id, document.thread_id) for document in documents]
        stored = await self._store.find_many(Message, keys, session)
        patches = []
        for each in stored.values():
            archives = sorted({*each.archive_ids, archive_id})
            if archives != each.archive_ids:
                seen = {"archive_ids": archives, "archive_id": archives[0]}
                patches.append(Patch(each.id, each.thread_id, set=seen))
        await self._store.patch_all(Message, patches, session)

    async def _absorb(self, thread: Thread, session: Session) -> None:
        if thread.absorbing:
            for old in thread.absorbing:
                await follow_merge(self._clients, old, thread.id, session)
            patch = Patch(thread.id, thread.id, set={"absorbing": []})
            await self._store.patch(Thread, patch, session)


def message_document(message: ParsedMessage, thread_id: str, archive_id: str) -> Message:
    return Message.model_validate(
        {
            "message_key": message.message_key,
            "message_id": message.node,
            "archive_id": archive_id,
            "archive_ids": [archive_id],
            "thread_id": thread_id,
            "in_reply_to": message.in_reply_to[0] if message.in_reply_to else None,
            "references": message.references,
            "subject": message.subject,
            "from": message.sender._asdict(),
            "to": [each._asdict() for each in message.to],
            "cc": [each._asdict() for each in message.cc],
            "date": message.date,
            "body_raw": message.body_raw,
            "body_normalized": message.body_normalized,
            "body_html": message.body_html,
            "segments": [{"kind": s.kind.value, "start": s.start, "end": s.end} for s in message.segments],
            "headers": message.headers,
            "attachments": [
                {"filename": a.filename, "content_type": a.content_type, "size_bytes": a.size}
                for a in message.attachments
            ],
            "draft_mentions": message.draft_mentions,
            "warnings": message.warnings,
        }
    )
