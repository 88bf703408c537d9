"""Erases a message, a person, a thread, an archive, or mail that is older than its source keeps.

    record the erased mail -> replace each archive that contains it by one without it
    -> delete the old archives with everything derived -> delete summaries that quote it

Summaries, reports and digests are then created again. Each step can be repeated, so the same command
resumes an interrupted run.
"""

import hashlib
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any

from shared.azure.connections import Clients
from shared.azure.cosmos.session import Session
from shared.azure.servicebus.bus import to_message
from shared.core.errors import NotFoundError
from shared.core.ids import message_key
from shared.core.times import stored_time
from shared.ingestion.redaction import quotable_lines, quoted_lines, suppression_hash
from shared.ingestion.suppressing import kept_since, suppress
from shared.models.base import ProcessingStatus
from shared.models.erasure import ALL_SOURCES, ErasureMode
from shared.models.queries.named_query import NamedQuery
from shared.models.queries.operations import ALL_SOURCES as ALL_SOURCES_QUERY
from shared.models.queries.operations import PENDING_ARCHIVE_IDS, SOURCES_WITH_AN_END
from shared.models.queries.reports import SUMMARIES_ABOUT
from shared.models.queries.threads import (
    ERASABLE_OF_ARCHIVE,
    ERASABLE_OF_PEOPLE,
    ERASABLE_OF_POSTS,
    ERASABLE_OF_THREAD,
    EXPIRED_OF_SOURCE,
)
from shared.models.reports import Summary
from shared.models.sources import Source
from shared.models.threads import Thread
from shared.operations.audit import Operator, audited
from shared.operations.erasure.replacing import replace_archive
from shared.operations.removal.thread_part import delete_summary
from shared.operations.requeue import request_summary
from shared.pipeline.event_builders import json_parsed
from shared.pipeline.events import Event
from shared.pipeline.state.archives import DONE, find_removal
from shared.pipeline.state.summaries import delete_orphan_report
from shared.pipeline.topology import CHUNKING
from shared.publishing.subscriptions import forget_address
from shared.summaries.digest_scopes import parse_scope
from shared.summarization.digest_touching import touch

REMOVAL_SECONDS = 1.0
ROUNDS, ROUND_SECONDS = 6, 3.0  # then the sweep requests the remaining messages


class ErasedKind(StrEnum):
    MESSAGE = "message"
    PERSON = "person"
    THREAD = "thread"
    ARCHIVE = "archive"
    EXPIRED = "expired"  # mails that are older than their source keeps


@dataclass(frozen=True)
class ErasureTarget:
    kind: ErasedKind
    value: str  # a Message-ID, an address, an id of a thread or an archive, or a source
    quotes: bool = False  # whether mail of other people that quotes the erased mail is erased as well

    @property
    def operation(self) -> str:
        """Return the same id for the same target, so that a repeat resumes the same erasure."""
        text = f"{self.kind} {self.value.strip().lower()} {self.quotes}"
        return f"erase-{hashlib.sha256(text.encode()).hexdigest()[:24]}"

    @property
    def mode(self) -> ErasureMode:
        """Return the mode: an erased message leaves a placeholder in its thread, an erased thread nothing."""
        stays = self.kind in {ErasedKind.MESSAGE, ErasedKind.PERSON}
        return ErasureMode.TOMBSTONE if stays else ErasureMode.DROPPED


@dataclass
class ErasurePlan:
    """The messages to erase, and the archives that must be replaced."""

    target: ErasureTarget
    posts: set[str] = field(default_factory=set)
    sources: set[str] = field(default_factory=set)
    threads: set[str] = field(default_factory=set)
    archives: set[str] = field(default_factory=set)
    marks: set[str] = field(
        default_factory=set
    )  # Message-IDs and addresses that show that a summary quotes erased mail
    lines: set[str] = field(default_factory=set)  # hashes of the lines of the erased mail
    roles: list[str] = field(default_factory=list)  # lists whose definition names the person
    before: str | None = None  # only older mail is erased

    def covers(self, summary: Summary, before: datetime | None) -> bool:
        """Return whether the summary is old, cites an erased message, or names the person."""
        cited = {citation.message_id for citation in summary.citations}
        addresses = {person.email.lower() for person in summary.metadata.participants}
        is_old = before is not None and summary.created_at < before
        return is_old or not self.marks.isdisjoint(cited | addresses)

    def leaves(self, row: Mapping[str, Any]) -> bool:
        """Return whether the stored message may stay: it is empty, of another list, or a younger copy."""
        is_young = self.before is not None and not (row["date"] and row["date"] < self.before)
        return is_young or not row["body_raw"].strip() or row["source"] not in self.sources

    def counts(self) -> dict[str, int]:
        found = ("posts", "sources", "threads", "archives")
        return {"messages" if name == "posts" else name: len(getattr(self, name)) for name in found}


async def plan_erasure(clients: Clients, target: ErasureTarget) -> ErasurePlan:
    """Return the plan. Raise NotFoundError if the thread or archive does not exist."""
    plan, address = ErasurePlan(target), target.value.strip().lower()
    match target.kind:
        case ErasedKind.MESSAGE:
            plan.posts.add(message_key(f"<{target.value.strip().strip('<>')}>"))
        case ErasedKind.PERSON:
            _take(plan, await _rows(clients, ERASABLE_OF_PEOPLE, addresses=[address]))
            plan.marks.add(address)
            plan.roles = [name for name, people in await _roles(clients) if address in people]
        case ErasedKind.THREAD:
            _take(plan, await _rows(clients, ERASABLE_OF_THREAD, thread=target.value))
        case ErasedKind.ARCHIVE:
            rows = await _rows(clients, ERASABLE_OF_ARCHIVE, archive=target.value)
            plan.archives.add(target.value)
            _take(plan, [row for row in rows if set(row["archive_ids"]) == {target.value}])
        case ErasedKind.EXPIRED:
            source = await clients.store.read(Source, target.value, Session())
            before = kept_since(source, clients.runtime.now())
            plan.before = stored_time(before) if before else ""
            named = {"source": source.name, "before": plan.before}
            _take(plan, await _rows(clients, EXPIRED_OF_SOURCE, **named))
            return plan
    # Include the copies of a message in other lists. Mail that is erased in one list stays in the others.
    if target.mode is ErasureMode.TOMBSTONE:
        _take(plan, await _rows(clients, ERASABLE_OF_POSTS, ids=sorted(plan.posts)))
    elif not plan.posts:
        raise NotFoundError(f"there is no {target.kind} {target.value!r}")
    if target.quotes:
        await _take_quoting(clients, plan)
    return plan


def _take(plan: ErasurePlan, rows: Collection[dict[str, Any]]) -> None:
    for row in rows:
        plan.posts.add(row["post_id"])
        plan.sources.add(row["source"])
        plan.threads.add(row["thread_id"])
        plan.archives |= set(row["archive_ids"])
        plan.marks.add(row["message_id"])
        plan.lines |= set(quotable_lines(row["body_raw"])) if plan.target.quotes else set()


async def _take_quoting(clients: Clients, plan: ErasurePlan) -> None:
    """Add mails of the same threads that quote a line of the erased mail."""
    lines = frozenset(plan.lines)
    for thread in sorted(plan.threads):
        rows = await _rows(clients, ERASABLE_OF_THREAD, thread=thread)
        quoting = [row for row in rows if not lines.isdisjoint(quoted_lines(row["body_raw"]))]
        _take(plan, await _rows(clients, ERASABLE_OF_POSTS, ids=sorted({row["post_id"] for row in quoting})))
    plan.lines = set(lines)  # a mail that quotes a quoting mail is not erased


async def erase(
    clients: Clients, plan: ErasurePlan, requested_by: str, progress: Callable[[str], None] = lambda _: None
) -> dict[str, int]:
    """Erase the planned mail. Return the number of messages, replaced archives and deleted archives."""
    target = plan.target
    if target.kind is not ErasedKind.EXPIRED:  # parsing checks the age of mail itself
        await _suppress(clients, plan)
        plan = await plan_erasure(
            clients, target
        )  # includes mail that was parsed before the list was written
        await _suppress(clients, plan)
    counts = plan.counts() | {"archives_rewritten": 0, "archives_deleted": 0, "mails_erased": 0}
    started, made, stays = clients.runtime.now(), set[str](), set[str]()
    # Mail that is parsed from now on is checked against the list. Archives that are being parsed may not be.
    pending = {str(id_) for id_ in await _rows(clients, PENDING_ARCHIVE_IDS)}
    for archive_id in sorted(plan.archives | pending):
        found, kept = await replace_archive(clients, archive_id, requested_by)
        if found.erased:
            made |= {kept} if kept else set()
            await _until_removed(clients, archive_id)
            counts["mails_erased"] += found.erased
            counts["archives_rewritten" if found.left else "archives_deleted"] += 1
            progress(f"archive {archive_id}: {found.erased} mails erased, {found.left} left")
        elif archive_id in plan.archives:
            stays.add(archive_id)
    await _until_gone(clients, plan, stays)
    await _announce_read_again(clients, sorted(made))
    # If any mail went now, all earlier summaries are outdated. Otherwise only summaries that quote the mail
    # are.
    before = started if counts["mails_erased"] else None
    counts["summaries"] = await _delete_derived(clients, plan, before)
    if target.kind is ErasedKind.PERSON:
        counts["subscriptions"] = await forget_address(clients, target.value.strip().lower())
    return counts


async def _suppress(clients: Clients, plan: ErasurePlan) -> None:
    """Store a list of the erased mail, so that it is not stored again."""
    target = plan.target
    people = [suppression_hash(target.value)] if target.kind is ErasedKind.PERSON else []
    for source in [ALL_SOURCES] if target.mode is ErasureMode.TOMBSTONE else sorted(plan.sources):
        operation = target.operation if source == ALL_SOURCES else f"{target.operation}-{source}"
        await suppress(clients, operation, source, target.mode, plan.posts, people=people, quotes=plan.lines)


async def _until_removed(clients: Clients, archive_id: str) -> None:
    """Wait until the app has deleted the archive. The wait may be interrupted."""
    removal = await find_removal(clients.store, "archive", archive_id)
    while removal is not None and removal.status not in DONE:
        await clients.runtime.sleep(REMOVAL_SECONDS)
        removal = await find_removal(clients.store, "archive", archive_id)


async def _until_gone(clients: Clients, plan: ErasurePlan, stays: set[str]) -> None:
    """Wait until the new archives are parsed, except for mail whose archive file is lost (`stays`)."""
    ids = sorted(plan.posts)
    while any(
        not plan.leaves(row) and stays.isdisjoint(row["archive_ids"])
        for row in await _rows(clients, ERASABLE_OF_POSTS, ids=ids)
    ):
        await clients.runtime.sleep(REMOVAL_SECONDS)


async def _announce_read_again(clients: Clients, archives: Collection[str]) -> None:
    """Publish messages of new archives, as attempt 2 and to the queue, which avoids duplicate detection."""
    for _ in range(ROUNDS):
        rows = [row for id_ in archives for row in await _rows(clients, ERASABLE_OF_ARCHIVE, archive=id_)]
        waiting = [row for row in rows if row["status"] == ProcessingStatus.PENDING]
        for row in waiting:
            parsed = json_parsed(row["archive_ids"][0], [(row["id"], row["thread_id"])])
            event = Event.of(parsed, attempt=2, now=clients.runtime.now())
            await clients.bus.send_to_queue(CHUNKING.name, [to_message(event)])
        if not waiting:
            return
        await clients.runtime.sleep(ROUND_SECONDS)


async def expire(clients: Clients) -> list[str]:
    """Erase mail that is older than its source keeps it. Return the names of the affected sources."""
    found: list[str] = []
    for source in await clients.store.query_documents(Source, SOURCES_WITH_AN_END, Session()):
        plan = await plan_erasure(clients, ErasureTarget(ErasedKind.EXPIRED, source.name))
        if plan.archives:
            selection = {"source": source.name, "keep_days": source.keep_days}
            async with audited(clients, "retention", Operator("housekeeping", "timer"), selection) as counts:
                counts.update(await erase(clients, plan, "retention"))
            found.append(source.name)
    return found


async def _delete_derived(clients: Clients, plan: ErasurePlan, before: datetime | None) -> int:
    """Delete summaries and reports that quote erased mail, and mark digests as outdated."""
    store, session, deleted = clients.store, Session(), 0
    for thread_id in sorted(plan.threads):
        rows = await _rows(clients, SUMMARIES_ABOUT, thread=thread_id)
        found = await store.find_many_in(Summary, [(row["id"], row["scope"]) for row in rows], session)
        old = [row for row in rows if (summary := found.get(row["id"])) and plan.covers(summary, before)]
        await touch(clients, [parse_scope(row["scope"]) for row in old if row["scope"] != thread_id])
        for row in old:
            await delete_summary(store, row, session)
            await delete_orphan_report(store, row["id"], row["scope"], session)
            deleted += 1
        if old and await store.find(Thread, thread_id, session) is not None:
            await request_summary(clients, thread_id, session)
    return deleted


async def _rows(clients: Clients, query: NamedQuery, **parameters: Any) -> list[Any]:
    return [row async for row in clients.store.query(query, Session(), **parameters)]


async def _roles(clients: Clients) -> list[tuple[str, set[str]]]:
    sources = await clients.store.query_documents(Source, ALL_SOURCES_QUERY, Session())
    return [
        (source.name, {role.person.lower() for role in source.roles} | set(source.settings.get("chairs", [])))
        for source in sources
    ]
