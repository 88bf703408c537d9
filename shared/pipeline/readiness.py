"""Whether a thread is ready for its summary.

A thread is ready when all its messages are stored and chunked, all its chunks are settled (embedded, or given
up), and none of its messages is about to leave it. Its version is a hash of what it is made of.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, NamedTuple

from shared.clients.connections import Clients
from shared.clients.cosmos.session import Session
from shared.core.concurrency import batches_of
from shared.documents.base import ProcessingStatus
from shared.documents.queries.several_containers import states_of_threads
from shared.documents.queries.threads import CHUNK_STATES, MESSAGE_STATES, MESSAGES_OF_THREAD
from shared.documents.threads import Chunk, Message, Thread

THREADS_PER_QUERY = 100
_NO_DATE = datetime.min.replace(tzinfo=UTC)


class MemberState(NamedTuple):
    """A message or a chunk of a thread, as far as readiness goes."""

    status: ProcessingStatus
    version_part: str
    """What it adds to the thread's version."""

    @classmethod
    def of(cls, row: Mapping[str, Any]) -> "MemberState":
        # A message whose content is replaced by another variant keeps its id, and its chunks keep theirs.
        # Conflicting copies change nothing but a flag, which the report has to show.
        parts = (row["id"], row.get("variant") or "", row.get("conflicts") or "")
        return cls(ProcessingStatus(row["status"]), "".join(map(str, parts)))


def is_ready(
    thread: Thread, message_states: Sequence[MemberState], chunk_states: Sequence[MemberState]
) -> bool:
    """The rule. A member that was given up does not hold the thread up: its summary names the gap."""
    return (
        not thread.losing
        and has_all_messages(thread.message_count, len(message_states))
        and all(is_finished(state.status) for state in (*message_states, *chunk_states))
    )


def has_all_messages(message_count: int, stored: int) -> bool:
    """A thread is written before its messages, so it may count more than are stored yet."""
    return stored >= message_count


def is_finished(status: ProcessingStatus) -> bool:
    """Whether the stages are done with a message or a chunk."""
    return status is not ProcessingStatus.PENDING


def version_of(states: Iterable[MemberState], edition: str | None = None) -> str:
    """Of what was processed, in any order, and of the operation that had it read anew."""
    parts = sorted(state.version_part for state in states if state.status is ProcessingStatus.PROCESSED)
    content: object = parts if edition is None else {"members": parts, "edition": edition}
    return hashlib.sha256(json.dumps(content).encode()).hexdigest()[:16]


def corrected_version(content: str, corrections: int) -> str:
    """The version of what was read, with the number of its corrections where there are any."""
    return f"{content}-{corrections}" if corrections else content


def uncorrected_version(version: str) -> str:
    return version.partition("-")[0]


@dataclass(frozen=True)
class ReadyThread:
    thread: Thread
    version: str

    @property
    def is_new(self) -> bool:
        """Whether a summary of this version was never requested."""
        return self.version != self.thread.content_hash


async def ready_thread(clients: Clients, thread_id: str, session: Session) -> ReadyThread | None:
    """The thread and its version; None where it is not ready, or not there."""
    store = clients.store
    await _refresh(clients, session)
    messages, chunks = await _members_of(clients, thread_id, session)
    # Read after its members: its count is then at least as new as what was counted.
    thread = await store.find(Thread, thread_id, session)
    return None if thread is None else _if_ready(thread, messages, chunks)


async def version_of_members(clients: Clients, thread: Thread, session: Session) -> str | None:
    """The version that the members of this thread make now; None where it is not ready.

    Whoever goes by it writes on the condition that the thread is as it was read.
    """
    for model in (Message, Chunk):
        await clients.store.refresh(model, session)
    ready = _if_ready(thread, *await _members_of(clients, thread.id, session))
    return None if ready is None else ready.version


async def _members_of(
    clients: Clients, thread_id: str, session: Session
) -> tuple[list[MemberState], list[MemberState]]:
    store = clients.store
    return _members(
        [row async for row in store.query(MESSAGE_STATES, session, thread=thread_id)],
        [row async for row in store.query(CHUNK_STATES, session, thread=thread_id)],
    )


async def _refresh(clients: Clients, session: Session) -> None:
    """A replica that is behind would show a thread without its latest chunks as ready, in another version."""
    for model in (Message, Chunk, Thread):
        await clients.store.refresh(model, session)


async def ready_threads(clients: Clients, threads: Sequence[Thread], session: Session) -> list[ReadyThread]:
    """Those that are ready, of many at once."""
    await _refresh(clients, session)
    messages = await _rows(clients, "messages", threads, session)
    chunks = await _rows(clients, "chunks", threads, session)
    found = (_if_ready(thread, *_members(messages[thread.id], chunks[thread.id])) for thread in threads)
    return [ready for ready in found if ready is not None]


def _if_ready(
    thread: Thread, messages: Sequence[MemberState], chunks: Sequence[MemberState]
) -> ReadyThread | None:
    if not is_ready(thread, messages, chunks):
        return None
    content = version_of((*messages, *chunks), thread.edition)
    return ReadyThread(thread, corrected_version(content, thread.corrections))


Rows = list[Mapping[str, Any]]


def _members(messages: Rows, chunks: Rows) -> tuple[list[MemberState], list[MemberState]]:
    """A chunk counts with its message: its own label may be an earlier one."""
    keys = {row["id"] for row in messages}
    own = [row for row in chunks if row["message_key"] in keys]
    return [MemberState.of(row) for row in messages], [MemberState.of(row) for row in own]


async def _rows(
    clients: Clients, container: str, threads: Sequence[Thread], session: Session
) -> dict[str, Rows]:
    """The rows of their messages or chunks, by thread."""
    rows: dict[str, Rows] = {thread.id: [] for thread in threads}
    for batch in batches_of(threads, THREADS_PER_QUERY):
        names = {f"thread{number}": thread.id for number, thread in enumerate(batch)}
        query = states_of_threads(container, len(batch))
        async for row in clients.store.query(query, session, **names):
            rows[row["thread_id"]].append(row)
    return rows


async def load_messages(clients: Clients, thread_id: str, session: Session) -> list[Message]:
    """The messages with the label of this thread, by date; those without one come first."""
    found = await clients.store.query_documents(Message, MESSAGES_OF_THREAD, session, thread=thread_id)
    return sorted(found, key=lambda message: (message.date or _NO_DATE, message.place, message.id))
