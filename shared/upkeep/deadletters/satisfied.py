"""Dead letters whose work is done by now: by the sweep, by a requeue, or by another copy of the event.

What a letter asked for is read from its event; it is satisfied when all documents that it names are done.
Where that cannot be said (another version's event, documents that are gone or moved), it is not.
"""

from collections.abc import Sequence

from shared.clients.connections import Clients
from shared.clients.cosmos.session import Session
from shared.clients.servicebus.dead_letters import DeadLetter
from shared.core.errors import InvalidEventError, NewerVersionError
from shared.core.ids import report_id
from shared.documents.archives import Archive
from shared.documents.chunks import Chunk
from shared.documents.messages import Message
from shared.documents.queries.several_containers import done_ids
from shared.documents.reports import Report
from shared.documents.threads import Thread
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
    wanted: dict[str, dict[int, list[str]]] = {}
    for letter in letters:
        asked = _asked(letter)
        if asked is not None:
            container, ids = asked
            wanted.setdefault(container, {})[letter.sequence_number] = ids
    found: set[int] = set()
    for container, by_letter in wanted.items():
        every = {id_ for ids in by_letter.values() for id_ in ids}
        done = {str(id_) for id_ in await clients.store.query_by_ids(done_ids(container), every, Session())}
        found |= {number for number, ids in by_letter.items() if done.issuperset(ids)}
    return found


def _asked(letter: DeadLetter) -> tuple[str, list[str]] | None:
    """Which documents the letter's event is about: their container and ids; None where it does not say."""
    try:
        return _subjects(parse_event(letter.copy.data()).data)
    except (InvalidEventError, NewerVersionError):
        return None


def _subjects(data: EventData) -> tuple[str, list[str]] | None:
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
