"""Dead letters whose work is done by now: by the sweep, by a requeue, or by another copy of the event.

What a letter asked for is read from its event; it is satisfied when all documents that it names are done. A
summary that its thread does not have any more needs no report: that of the later one is enough.
Where that cannot be said (another version's event, documents that are gone or moved), it is not.
"""

from collections.abc import Mapping, Sequence

from shared.clients.connections import Clients
from shared.clients.cosmos.session import Session
from shared.clients.servicebus.dead_letters import DeadLetter
from shared.core.errors import InvalidEventError, NewerVersionError
from shared.core.ids import report_id
from shared.documents.queries.several_containers import done_ids
from shared.documents.reports import Report
from shared.documents.sources import Archive
from shared.documents.threads import Chunk, Message, Thread
from shared.documents.values import SummaryType
from shared.pipeline.event_types import (
    ArchiveIngested,
    ChunksPrepared,
    EmbeddingsGenerated,
    EventData,
    JSONParsed,
    SummarizationRequested,
    SummaryComplete,
    SummaryRecheck,
)
from shared.pipeline.events.envelope import parse_event


async def satisfied_letters(clients: Clients, letters: Sequence[DeadLetter]) -> set[int]:
    """The sequence numbers of those letters of one queue whose documents are all done."""
    events = {letter.sequence_number: _event_data(letter) for letter in letters}
    wanted: dict[str, dict[int, list[str]]] = {}
    for number, data in events.items():
        asked = _subjects(data)
        if asked is not None:
            container, ids = asked
            wanted.setdefault(container, {})[number] = ids
    found: set[int] = set()
    for container, by_letter in wanted.items():
        every = {id_ for ids in by_letter.values() for id_ in ids}
        done = {str(id_) for id_ in await clients.store.query_by_ids(done_ids(container), every, Session())}
        found |= {number for number, ids in by_letter.items() if done.issuperset(ids)}
    completed = {
        number: data
        for number, data in events.items()
        if number not in found
        and isinstance(data, SummaryComplete)
        and data.summary_type == SummaryType.THREAD
    }
    return found | await _replaced(clients, completed)


async def _replaced(clients: Clients, completed: Mapping[int, SummaryComplete]) -> set[int]:
    """Those whose thread is part of another one, or has a later summary, which is reported."""
    keys = sorted({(data.thread_id, data.thread_id) for data in completed.values()})
    threads = await clients.store.find_many(Thread, keys, Session())
    return {
        number
        for number, data in completed.items()
        if data.summary_id is not None
        and (thread := threads.get(data.thread_id)) is not None
        and _has_another(thread, data.summary_id)
    }


def _has_another(thread: Thread, summary_id: str) -> bool:
    if thread.merged_into is not None:
        return True
    now = thread.summary_id
    return now not in (None, summary_id) and thread.report_id == report_id(str(now))


def _event_data(letter: DeadLetter) -> EventData | None:
    try:
        data: EventData = parse_event(letter.copy.data()).data
    except (InvalidEventError, NewerVersionError):
        return None
    return data


def _subjects(data: EventData | None) -> tuple[str, list[str]] | None:
    """Which documents the event is about: their container and ids; None where it does not say."""
    match data:
        case ArchiveIngested():
            return Archive.container, [data.archive_id]
        case JSONParsed():
            return Message.container, data.message_keys
        case ChunksPrepared() if data.chunk_ids:
            return Chunk.container, data.chunk_ids
        case EmbeddingsGenerated() | SummaryRecheck() | SummarizationRequested() if data.named_threads():
            return Thread.container, data.named_threads()
        case SummaryComplete() if data.summary_id:
            return Report.container, [report_id(data.summary_id)]
    return None
