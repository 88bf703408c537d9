"""Parsing: read an archive's blob and store its messages in threads.

The blob is read in slices, so memory does not grow with the archive. Each slice is committed to the threads
of its source, which extend across archives. JSONParsed announces batches of whole threads at the end.
"""

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import azure.functions as func

from shared.core.errors import DocumentNotFoundError, PermanentError, add_details
from shared.core.times import stored_time
from shared.ingestion.archive_reader import Reader, opened_archive, reader_pool
from shared.ingestion.archive_source import BlobPath
from shared.ingestion.suppressing import suppression_list
from shared.mail.models import Skipped
from shared.models.sources import Archive, ArchiveStatus
from shared.operations.erasure.replacing import replace_archive
from shared.pipeline import topology
from shared.pipeline.event_builders import json_parsed
from shared.pipeline.event_types import ArchiveIngested, JSONParsed
from shared.pipeline.events import Event
from shared.pipeline.stage import Stage, StageContext, StageResult
from shared.pipeline.state.archives import find_removal, mark_archive_processed
from shared.thread_store.commit import ArchiveGoneError, CommitResult, ThreadCommit
from shared.thread_store.message_documents import ArchiveOfSource
from stages.registration import register_stage

SLICE = 2000
KEPT_SKIPPED = 100
NAMED_REASONS = 3
MESSAGES_PER_EVENT = 500

REMOVED, REPLACED = StageResult(counts={"removed": 1}), StageResult(counts={"replaced": 1})

blueprint = func.Blueprint()


class NoMessagesError(PermanentError):
    """The archive has no message that could be parsed."""


class SuppressedMailError(Exception):
    """The archive has mail that the suppression list keeps out."""


@dataclass
class Parsed:
    """The messages parsed so far, each with its current thread."""

    threads: dict[str, str] = field(default_factory=dict)
    touched: dict[str, str] = field(default_factory=dict)
    """Messages of threads that changed without a new message. They are announced, too."""
    skipped: list[Skipped] = field(default_factory=list)
    skipped_count: int = 0
    todos: CommitResult = field(default_factory=CommitResult)
    is_empty: bool = True

    def add(self, result: CommitResult) -> None:
        self.is_empty = False
        for known in (self.threads, self.touched):
            known.update({key: new for key, new in result.moved.items() if key in known})
        self.threads |= result.threads
        self.touched |= result.touched | result.moved
        self.todos.todos += result.todos

    def describe_skipped(self) -> str:
        reasons = Counter(skipped.reason for skipped in self.skipped)
        named = "; ".join(f"{count} {reason}" for reason, count in reasons.most_common(NAMED_REASONS))
        return f"none of {self.skipped_count} messages could be parsed ({named})"

    def skip(self, skipped: list[Skipped]) -> None:
        self.skipped_count += len(skipped)
        self.skipped = [*self.skipped, *skipped][:KEPT_SKIPPED]


async def parse_archive(event: Event[ArchiveIngested], context: StageContext) -> StageResult:
    """Store and announce the messages of the archive, unless the archive was deleted."""
    started = context.runtime.monotonic()
    store, id_ = context.clients.store, event.data.archive_id
    archive = await store.find(Archive, id_, context.session)
    if archive is None and await find_removal(store, "archive", id_) is None:
        raise DocumentNotFoundError(f"archives/{id_} does not exist")  # a race: the archive was not deleted
    if archive is None or archive.removing:
        return REMOVED
    parsed = Parsed()
    part = ArchiveOfSource(archive.id, archive.source, stored_time(archive.ingestion_date))
    commit = ThreadCommit(context.clients, archive.source, context.session, part)
    try:
        (await reader_pool(context.clients)).prepare(archive.file_size_bytes)
        async with opened_archive(context.clients.blobs, archive.file_path, archive.file_size_bytes) as path:
            await _parse_all(path, archive, commit, part, context, parsed)
    except ArchiveGoneError:
        return REMOVED
    except SuppressedMailError:
        # The archive was stored before the list was written, or without the check of an upload.
        await replace_archive(context.clients, id_, "parsing")
        return REPLACED
    except Exception as error:
        if isinstance(error, DocumentNotFoundError) and await _delete_if_removed(archive, context):
            return REMOVED
        add_details(error, messages_parsed=len(parsed.threads))
        raise
    if parsed.is_empty:
        raise NoMessagesError(f"{archive.file_path}: {parsed.describe_skipped()}")
    duration = context.runtime.monotonic() - started
    return StageResult(
        _announcements(id_, parsed, commit.state.version, duration),
        after_announcing=lambda: _finish(archive, commit, parsed, context),
        counts={"messages": len(parsed.threads), "skipped": parsed.skipped_count},
    )


async def _delete_if_removed(archive: Archive, context: StageContext) -> bool:
    """Delete the archive's document if it was stored late, after the removal that deleted the blob."""
    store = context.clients.store
    removal = await find_removal(store, "archive", archive.id)
    if removal is None or removal.finished_at is None or archive.ingestion_date > removal.finished_at:
        return False
    return await store.delete(Archive, archive.id, context.session, etag=archive.etag)


async def _parse_all(
    path: Path | BlobPath,
    archive: Archive,
    commit: ThreadCommit,
    part: ArchiveOfSource,
    context: StageContext,
    parsed: Parsed,
) -> None:
    hidden = await suppression_list(context.clients, archive.source, archive.source_type)
    async with Reader(await reader_pool(context.clients), path, archive.file_path) as reader:
        async for batch in reader.slices(SLICE):
            if hidden and any(hidden.hides(arrival.document) for arrival in batch.arrivals):
                raise SuppressedMailError
            parsed.skip(batch.skipped)
            if batch.arrivals:
                parsed.add(await commit.add(batch.arrivals, part))


def _announcements(archive_id: str, parsed: Parsed, version: int, duration: float) -> list[JSONParsed]:
    """Announce batches of whole threads."""
    members: dict[str, list[str]] = {}
    for key, thread in (parsed.touched | parsed.threads).items():
        members.setdefault(thread, []).append(key)
    batches: list[list[str]] = [[]]
    for thread, keys in members.items():
        if batches[-1] and sum(len(members[other]) for other in batches[-1]) + len(keys) > MESSAGES_PER_EVENT:
            batches.append([])
        batches[-1].append(thread)
    return [
        json_parsed(
            archive_id,
            [(key, thread) for thread in batch for key in members[thread]],
            source_version=version,
            seconds=duration,
        )
        for batch in batches
    ]


async def _finish(archive: Archive, commit: ThreadCommit, parsed: Parsed, context: StageContext) -> None:
    await commit.forget_todos(parsed.todos)
    await mark_archive_processed(
        context.clients.store,
        archive.id,
        context.session,
        message_count=len(parsed.threads),
        thread_count=len(set(parsed.threads.values())),
        skipped_count=parsed.skipped_count,
        skipped=[
            {"index": s.index, "offset": s.offset, "size": s.size, "reason": s.reason} for s in parsed.skipped
        ],
    )


def _document_ids(data: ArchiveIngested) -> list[str]:
    return [data.archive_id]


PARSING = Stage(topology.PARSING, parse_archive, _document_ids, failed_status=ArchiveStatus.FAILED.value)

register_stage(blueprint, PARSING)
