"""Decide whether a thread is ready for its summary, and compute its version.

A thread is ready when all its members are stored and chunked, and all their chunks are embedded or failed.
The member list decides, never a label. The version is a hash of the members and their texts.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, NamedTuple

from shared.azure.connections import Clients
from shared.azure.cosmos.session import Session
from shared.core.ids import message_key, set_of_chunk
from shared.models.base import ProcessingStatus
from shared.models.containers import read_document
from shared.models.queries.threads import (
    CHUNK_STATES,
    MESSAGE_STATES,
    MESSAGES_BY_KEY,
    MESSAGES_OF_THREAD,
)
from shared.models.threads import Chunk, Message, Thread

_NO_DATE = datetime.min.replace(tzinfo=UTC)


class MemberState(NamedTuple):
    """The state of a message or chunk that readiness depends on."""

    status: ProcessingStatus
    version_part: str
    """Its contribution to the thread's version."""

    @classmethod
    def of(cls, row: Mapping[str, Any]) -> "MemberState":
        # Conflicting copies change only a flag, but the report has to show it.
        parts = (row["id"], row.get("text_version") or "", row.get("conflicts") or "")
        return cls(ProcessingStatus(row["status"]), "".join(map(str, parts)))


def is_ready(
    thread: Thread, message_states: Sequence[MemberState], chunk_states: Sequence[MemberState]
) -> bool:
    """Return whether all members are stored and finished. A failed member is a gap that the summary names."""
    return has_all_messages(thread.message_count, len(message_states)) and all(
        is_finished(state.status) for state in (*message_states, *chunk_states)
    )


def has_all_messages(message_count: int, stored: int) -> bool:
    """Return whether all messages are stored. A thread is written before its messages."""
    return stored >= message_count


def is_finished(status: ProcessingStatus) -> bool:
    """Return whether the stages have processed or given up a message or chunk."""
    return status is not ProcessingStatus.PENDING


def version_of(states: Iterable[MemberState], edition: str | None = None) -> str:
    """Return a hash of the processed members in any order. A requested rereading changes the edition."""
    parts = sorted(state.version_part for state in states if state.status is ProcessingStatus.PROCESSED)
    content: object = parts if edition is None else {"members": parts, "edition": edition}
    return hashlib.sha256(json.dumps(content).encode()).hexdigest()[:16]


def corrected_version(content: str, corrections: int) -> str:
    """Append the number of corrections, if any, to the version of the content."""
    return f"{content}-{corrections}" if corrections else content


def uncorrected_version(version: str) -> str:
    return version.partition("-")[0]


@dataclass(frozen=True)
class ReadyThread:
    """A thread that is ready, and its current version."""

    thread: Thread
    version: str

    @property
    def is_new(self) -> bool:
        """Whether this version differs from the version that was requested last."""
        return self.version != self.thread.content_hash


def member_keys(thread: Thread) -> list[str]:
    """Return the message keys in the thread's member list. A redirect has none."""
    return [message_key(member["id"], thread.source or "") for member in thread.threading.get("members", ())]


async def ready_thread(clients: Clients, thread_id: str, session: Session) -> ReadyThread | None:
    """Return the thread and its version, or None if it is not ready or does not exist."""
    await clients.store.refresh(Thread, session)
    thread = await clients.store.find(Thread, thread_id, session)
    return None if thread is None else _if_ready(thread, *await _states_of(clients, [thread], session))


async def version_of_members(clients: Clients, thread: Thread, session: Session) -> str | None:
    """Return the current version of the thread's members, or None if the thread is not ready.

    A write that depends on it must have the condition that the thread is as it was read.
    """
    ready = _if_ready(thread, *await _states_of(clients, [thread], session))
    return None if ready is None else ready.version


async def ready_threads(clients: Clients, threads: Sequence[Thread], session: Session) -> list[ReadyThread]:
    """Return the threads that are ready, with one set of reads for all of them."""
    await clients.store.refresh(Thread, session)
    messages, chunks = await _states_of(clients, threads, session)
    found = (_if_ready(thread, messages, chunks) for thread in threads)
    return [ready for ready in found if ready is not None]


States = dict[str, list[MemberState]]
"""The states of messages or of their chunks, by message key."""


def _if_ready(thread: Thread, messages: States, chunks: States) -> ReadyThread | None:
    keys = member_keys(thread)
    own = [state for key in keys for state in messages.get(key, ())]
    parts = [state for key in keys for state in chunks.get(key, ())]
    if not keys or not is_ready(thread, own, parts):
        return None
    content = version_of((*own, *parts), thread.edition)
    return ReadyThread(thread, corrected_version(content, thread.corrections))


async def _states_of(clients: Clients, threads: Sequence[Thread], session: Session) -> tuple[States, States]:
    """Read the states of all messages and of the chunks in the sets that the messages name.

    A missing chunk counts as pending. Chunks are read after messages, so a processed message has its chunks.
    """
    keys = sorted({key for thread in threads for key in member_keys(thread)})
    await clients.store.refresh(Message, session)
    messages: States = {}
    sets: dict[str, tuple[str | None, int]] = {}
    for row in await clients.store.query_by_ids(MESSAGE_STATES, keys, session):
        messages.setdefault(row["id"], []).append(MemberState.of(row))
        sets[row["id"]] = row.get("chunk_set"), row.get("chunk_count") or 0
    await clients.store.refresh(Chunk, session)
    chunks: States = {}
    for row in await clients.store.query_by_ids(CHUNK_STATES, keys, session):
        if set_of_chunk(row["id"]) == sets.get(row["message_key"], (None, 0))[0]:
            chunks.setdefault(row["message_key"], []).append(MemberState.of(row))
    for key, (_, count) in sets.items():
        missing = count - len(chunks.get(key, ()))
        chunks.setdefault(key, []).extend([MemberState(ProcessingStatus.PENDING, "")] * missing)
    return messages, chunks


async def load_members(clients: Clients, thread: Thread, session: Session) -> list[Message]:
    """Return the messages of the thread's member list, in the order of `load_messages`."""
    rows = await clients.store.query_by_ids(MESSAGES_BY_KEY, member_keys(thread), session)
    return sorted((read_document(Message, row) for row in rows), key=_by_date)


async def load_messages(clients: Clients, thread_id: str, session: Session) -> list[Message]:
    """Return the messages with this thread's label by date. Messages without a date come first."""
    found = await clients.store.query_documents(Message, MESSAGES_OF_THREAD, session, thread=thread_id)
    return sorted(found, key=_by_date)


def _by_date(message: Message) -> tuple[datetime, tuple[int, int, int], str]:
    return message.date or _NO_DATE, message.place, message.id
