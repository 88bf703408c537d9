"""Whether a thread is ready for its summary, and the request for it.

A thread is ready when all its messages are chunked and all its chunks are settled: embedded, or given up.
Its version is a hash of what it is made of.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from shared.clients.connections import Clients
from shared.clients.cosmos.session import Session
from shared.documents.base import ProcessingStatus
from shared.documents.queries.chunks import CHUNK_STATES
from shared.documents.queries.messages import MESSAGE_STATES
from shared.documents.queries.several_containers import states_of_threads
from shared.documents.threads import Thread
from shared.pipeline.events.data import SummarizationRequested
from shared.settings.app import Settings

__all__ = ["ReadyThread", "ready_thread", "ready_threads", "summary_request"]

ASKED_AT_ONCE = 100


@dataclass(frozen=True)
class ReadyThread:
    thread: Thread
    version: str

    @property
    def is_new(self) -> bool:
        """Whether a summary of this version was never asked for."""
        return self.version != self.thread.content_hash


async def ready_thread(clients: Clients, thread_id: str, session: Session) -> ReadyThread | None:
    """The thread and its version; None where it is not ready, or not there."""
    store = clients.store
    messages = [each async for each in store.query(MESSAGE_STATES, session, partition_value=thread_id)]
    chunks = [each async for each in store.query(CHUNK_STATES, session, partition_value=thread_id)]
    waiting = any(each["status"] == ProcessingStatus.PENDING for each in [*messages, *chunks])
    thread = await store.find(Thread, thread_id, thread_id, session)
    if thread is None or waiting or len(messages) < thread.message_count:
        return None
    done = [
        _version_part(each) for each in [*messages, *chunks] if each["status"] == ProcessingStatus.PROCESSED
    ]
    return ReadyThread(thread, _version(done))


async def ready_threads(clients: Clients, threads: Sequence[Thread], session: Session) -> list[ReadyThread]:
    """Those that are ready, of many at once."""
    messages = await _states(clients, "messages", threads, session)
    chunks = await _states(clients, "chunks", threads, session)
    ready = []
    for thread in threads:
        states = [*messages[thread.id], *chunks[thread.id]]
        waiting = any(status == ProcessingStatus.PENDING for _, status in states)
        if not waiting and len(messages[thread.id]) >= thread.message_count:
            done = [what for what, status in states if status == ProcessingStatus.PROCESSED]
            ready.append(ReadyThread(thread, _version(done)))
    return ready


async def _states(
    clients: Clients, container: str, threads: Sequence[Thread], session: Session
) -> dict[str, list[tuple[str, str]]]:
    """What each document adds to its thread's version, and its status; by thread."""
    states: dict[str, list[tuple[str, str]]] = {thread.id: [] for thread in threads}
    for start in range(0, len(threads), ASKED_AT_ONCE):
        part = threads[start : start + ASKED_AT_ONCE]
        names = {f"thread{number}": thread.id for number, thread in enumerate(part)}
        query = states_of_threads(container, len(part))
        async for each in clients.store.query(query, session, **names):
            states[each["thread_id"]].append((_version_part(each), each["status"]))
    return states


def _version_part(state: Mapping[str, Any]) -> str:
    """A message whose content is replaced by another variant keeps its id, and its chunks keep theirs."""
    return f"{state['id']}{state.get('variant') or ''}"


def _version(parts: Iterable[str]) -> str:
    return hashlib.sha256(json.dumps(sorted(parts)).encode()).hexdigest()[:16]


def summary_request(thread_id: str, version: str, settings: Settings) -> SummarizationRequested:
    """The same thread and version give the same request, whoever makes it."""
    return SummarizationRequested(
        thread_ids=[thread_id],
        top_k=settings.SUMMARY_TOP_K,
        llm_backend=settings.SUMMARY_BACKEND,
        llm_model=settings.SUMMARY_MODEL,
        context_window_tokens=settings.SUMMARY_CONTEXT_TOKENS,
        prompt_template=settings.SUMMARY_TEMPLATE,
        content_hashes=[version],
    )
