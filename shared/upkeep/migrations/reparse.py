"""Brings a database of version 0.1 to the record of today: `python -m shared.upkeep.migrations.reparse`.

Messages and threads have other keys now, for each source its own, and places in the archives that only the
archives can tell. So every archive that has messages of before is parsed again; when its new messages are
there, the old ones go with their chunks and vectors, and the old threads become redirects to the new ones.
Run it until it says that nothing is left; it can be stopped and started at any time.
"""

import asyncio
import logging
import sys
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from shared.clients.connections import Clients
from shared.clients.cosmos.lease import THREADING, Lease
from shared.clients.cosmos.session import Session
from shared.clients.servicebus.bus import to_message
from shared.core.ids import message_key
from shared.documents.archives import Archive, ArchiveStatus
from shared.documents.chunks import Chunk
from shared.documents.messages import Message
from shared.documents.queries.chunks import CHUNK_ARCHIVES_OF_THREAD
from shared.documents.queries.messages import MESSAGES_WITHOUT_SOURCE
from shared.documents.threads import Thread
from shared.pipeline.events.builders import archive_ingested
from shared.pipeline.events.envelope import Event
from shared.pipeline.lifecycle.attempts import reopened
from shared.pipeline.lifecycle.summaries import all_outdated
from shared.pipeline.lifecycle.threads import thread_merged
from shared.pipeline.stage import Subject
from shared.pipeline.topology import PARSING
from shared.settings.app import SettingsError, load_settings
from shared.threads.merging import threads_of_messages

log = logging.getLogger(__name__)
Row = Mapping[str, Any]


@dataclass
class Reparsed:
    requested: set[str] = field(default_factory=set)
    """Archives that are to be parsed again."""
    messages: int = 0
    threads: int = 0
    waiting: int = 0
    """Messages of before whose archive is not parsed yet."""


async def reparse(clients: Clients) -> Reparsed:
    """One round: take away what is there anew, ask for the rest."""
    done, session = Reparsed(), Session()
    by_thread: dict[str, list[Row]] = defaultdict(list)
    async for row in clients.store.query(MESSAGES_WITHOUT_SOURCE, session):
        by_thread[row["thread_id"]].append(row)
    archives = await _archives(clients, by_thread, session)
    for thread_id, rows in sorted(by_thread.items()):
        keys = {row["id"]: _new_keys(row, archives) for row in rows}
        homes = await threads_of_messages(clients, {key for new in keys.values() for key in new}, session)
        ready = [row for row in rows if keys[row["id"]] and all(key in homes for key in keys[row["id"]])]
        if len(ready) == len(rows):
            await _retire(clients, thread_id, rows, homes[keys[ready[0]["id"]][0]], session)
            done.messages += len(rows)
            done.threads += 1
            continue
        done.waiting += len(rows)
        late = [row for row in rows if row not in ready]
        done.requested |= {id_ for row in late for id_ in row["archive_ids"] if id_ in archives}
    for id_ in sorted(done.requested):
        await _ask(clients, archives[id_], session)
    return done


async def _archives(
    clients: Clients, by_thread: Mapping[str, Sequence[Row]], session: Session
) -> dict[str, Archive]:
    ids = sorted({id_ for rows in by_thread.values() for row in rows for id_ in row["archive_ids"]})
    return await clients.store.find_many(Archive, [(id_, id_) for id_ in ids], session)


def _new_keys(row: Row, archives: Mapping[str, Archive]) -> list[str]:
    """One for each source that has the message."""
    sources = {archives[id_].source for id_ in row["archive_ids"] if id_ in archives}
    return [message_key(row["message_id"], source) for source in sorted(sources)]


async def _ask(clients: Clients, archive: Archive, session: Session) -> None:
    """As for one that failed: if this message is lost, the sweep asks again."""
    if archive.removing or archive.status is ArchiveStatus.PENDING:
        return
    why = "parsed again for a record by source"
    await reopened(
        clients.store, Subject(Archive, archive.id, archive.id), session, attempts=1, error=why, also={}
    )
    now = clients.runtime.now()
    ingested = archive_ingested(
        archive.id, archive.to_cosmos(), started_at=archive.ingestion_date, completed_at=now
    )
    event = Event.of(ingested, session=session.tokens(), attempt=2, now=now)
    await clients.bus.send_to_queue(PARSING.name, [to_message(event)])


async def _retire(clients: Clients, thread_id: str, rows: Sequence[Row], new: str, session: Session) -> None:
    """Each document before the one that it is found by: the messages go last."""
    store = clients.store
    async with Lease(store, THREADING, clients.runtime).held(session):
        found = store.query(CHUNK_ARCHIVES_OF_THREAD, session, partition_value=thread_id)
        keys = {row["id"] for row in rows}
        chunks = [chunk["id"] async for chunk in found if chunk["message_key"] in keys]
        await clients.index.delete(chunks)
        await store.delete_all(Chunk, chunks, thread_id, session)
        thread = await store.find(Thread, thread_id, thread_id, session)
        if thread is not None and thread.merged_into is None:
            await store.upsert(thread_merged(thread, into=new), session)
        await all_outdated(store, thread_id, session)
        await store.delete_all(Message, sorted(keys), thread_id, session)


async def _run() -> Reparsed:
    clients = await Clients.connect(load_settings())
    try:
        return await reparse(clients)
    finally:
        await clients.close()


def main() -> int:
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    try:
        done = asyncio.run(_run())
    except SettingsError as error:
        sys.stderr.write(f"{error}\n")
        return 2
    sys.stdout.write(
        f"{done.messages} messages and {done.threads} threads of before are replaced; {done.waiting} messages"
        f" wait for {len(done.requested)} archives, which are parsed again: run this until nothing is left\n"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
