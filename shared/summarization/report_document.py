"""Create the document of a report from the current summary of its scope, or from a given earlier one."""

from collections.abc import Iterable
from datetime import datetime

from shared.azure.connections import Clients
from shared.azure.cosmos.session import Session
from shared.core.ids import person_id, report_id, scope_id
from shared.mail.mentions import draft_base
from shared.models.reports import Report, ReportedArchive, Summary
from shared.models.sources import Archive
from shared.models.threads import Thread


def report_of(summary: Summary, published_at: datetime, number: int = 0) -> Report:
    known, reading = summary.metadata, summary.reading
    return Report(
        id=scope_id(summary.scope),
        report_id=report_id(summary.id),
        scope=summary.scope,
        summary_id=summary.id,
        summary_number=number,
        summary_type=summary.summary_type,
        thread_id=summary.thread_id,
        thread_ids=summary.thread_ids,
        threads=known.outcomes,
        source=known.source,
        title=summary.title,
        published_at=published_at,
        created_at=published_at,
        participants=known.participants,
        person_ids=sorted({person_id(person.email) for person in known.participants if person.email}),
        draft_mentions=sorted({draft_base(draft) for draft in known.draft_mentions}),
        has_consensus=known.has_consensus,
        consensus_type=known.consensus_type,
        counts=summary.counts,
        outcome=reading.shown_outcome if reading else None,
        open_call=reading.shown_call if reading else None,
        genre=reading.shown_genre if reading else None,
        first_message_date=known.first_message_date,
        last_message_date=known.last_message_date,
        evidence=summary.evidence,
        flags=known.flags,
    )


async def evidence_of(clients: Clients, threads: Iterable[Thread], session: Session) -> list[ReportedArchive]:
    ids = sorted({id_ for thread in threads for id_ in thread.archive_ids})
    found = await clients.store.find_many(Archive, ids, session)
    return [
        ReportedArchive(archive_id=id_, file_hash=found[id_].file_hash, arrived_at=found[id_].ingestion_date)
        for id_ in ids
        if id_ in found
    ]
