"""Load a thread from the store for the summarizers."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, NamedTuple

from shared.azure.connections import Clients
from shared.azure.cosmos.session import Session
from shared.core.errors import DocumentNotFoundError
from shared.core.ids import set_of_chunk
from shared.mail.authentication import SenderCheck, check_sender
from shared.mail.models import read_segments
from shared.mail.segments import NormalizedBody
from shared.mail.subjects import split_subject
from shared.models.base import ProcessingStatus
from shared.models.containers import read_document
from shared.models.queries.threads import CHUNKS_OF_MESSAGES, THREADS_OF_VOTE
from shared.models.sources import Source
from shared.models.threads import Chunk, Message, Thread
from shared.models.values import SourceProfile
from shared.pipeline.readiness import (
    MemberState,
    corrected_version,
    has_all_messages,
    load_members,
    load_messages,
    version_of,
)
from shared.pipeline.state.threads import link_result, mark_vote
from shared.reading.linked_thread import LinkedThread, People
from shared.reading.mails import ThreadMail, attributions_in, list_id_in, quoted_blocks
from shared.reading.reader import read_thread
from shared.reading.rulings import DECIDING_ROLES
from shared.reading.supplied import without_supplied
from shared.reading.votes import VoteThread, results_of_votes, vote_subject
from shared.summaries.models import ContextChunk, ContextMessage, ThreadContext
from shared.summarization.record_flags import flag_sentences, message_marks, record_flags, sender_marks

_NO_DATE = datetime.min.replace(tzinfo=UTC)
VERSIONED = {"id", "status", "text_version", "conflicts"}
PROCESSED, GIVEN_UP = ProcessingStatus.PROCESSED, ProcessingStatus.FAILED_MAX_RETRIES


async def load_context(
    clients: Clients, thread: Thread, session: Session, *, window: int, result: ThreadMail | None = None
) -> ThreadContext:
    """Load the ordered messages of the thread and their chunks. `result` is the result of a vote."""
    for model in (Message, Chunk):
        # A request for a version has the session tokens of its writes. Other callers have none, and a replica
        # may be stale.
        if session.token(model.container) is None:
            await clients.store.refresh(model, session)
    messages = await load_members(clients, thread, session)
    if not messages or not has_all_messages(thread.message_count, len(messages)):
        raise DocumentNotFoundError(f"{len(messages)} of {thread.message_count} messages are stored")
    rows = await clients.store.query_by_ids(CHUNKS_OF_MESSAGES, [message.id for message in messages], session)
    sets = {message.id: message.chunk_set for message in messages}
    chunks = [
        read_document(Chunk, row) for row in rows if set_of_chunk(row["id"]) == sets[row["message_key"]]
    ]
    profile = await _profile(clients, thread, session)
    mails = mails_of(thread, messages, profile, result)
    # In a thread, because a long discussion takes long to parse.
    reading = await asyncio.to_thread(read_thread, mails, profile)
    senders = sender_marks(reading, mails, People(mails, profile))
    flags, odd = record_flags(thread, messages, senders), message_marks(thread, messages)
    order = {message.id: position for position, message in enumerate(messages)}
    chunks.sort(key=lambda chunk: (order.get(chunk.message_key, len(order)), chunk.chunk_index))
    return ThreadContext(
        thread_id=thread.id,
        subject=thread.subject,
        messages=[_message(message) for message in messages],
        chunks=[
            ContextChunk(chunk.id, chunk.message_key, chunk.chunk_index, chunk.text, chunk.token_count)
            for chunk in chunks
        ],
        reading=reading,
        mails=mails,
        profile=profile,
        context_window_tokens=window,
        version=_version(thread, messages, chunks),
        gaps=(*_gaps(messages, chunks), *flag_sentences(flags)),
        flags=flags,
        marks={id_: (*senders.get(id_, ()), *odd.get(id_, ())) for id_ in (senders | odd)},
    )


async def linked_thread(clients: Clients, thread: Thread) -> LinkedThread:
    """Return the current mails of the thread, to answer a question about it."""
    messages = await load_messages(clients, thread.id, Session())
    profile = await _profile(clients, thread, Session())
    return await asyncio.to_thread(LinkedThread, mails_of(thread, messages, profile), profile)


def _version(thread: Thread, messages: Sequence[Message], chunks: Sequence[Chunk]) -> str:
    """Return the version of the content. A document that is being processed again counts as processed."""
    documents: list[Message | Chunk] = [*messages, *chunks]
    states = [MemberState.of(document.model_dump(include=VERSIONED)) for document in documents]
    read = [MemberState(PROCESSED, state.version_part) for state in states if state.status is not GIVEN_UP]
    return corrected_version(version_of(read, thread.edition), thread.corrections)


def _gaps(messages: Sequence[Message], chunks: Sequence[Chunk]) -> tuple[str, ...]:
    """Return sentences that say how much is missing after permanent failures."""
    unread = sum(message.status is GIVEN_UP for message in messages)
    unindexed = sum(chunk.status is GIVEN_UP for chunk in chunks)
    sentences = (
        (unread, f"{unread} of {len(messages)} messages could not be processed."),
        (
            unindexed,
            f"{unindexed} of {len(chunks)} passages could not be indexed and are missing from search.",
        ),
    )
    return tuple(sentence for count, sentence in sentences if count)


def mails_of(
    thread: Thread, messages: Sequence[Message], profile: SourceProfile, result: ThreadMail | None = None
) -> list[ThreadMail]:
    """Return the mails with sender checks: the root, then by date, and an answer always after its parent."""
    in_order = in_reading_order(messages, thread.root_message_id)
    mails = without_supplied([checked_mail(message, profile) for message in in_order], by_subject=True)
    return [*mails, result] if result else mails


def in_reading_order(messages: Sequence[Message], root: str) -> list[Message]:
    """Return the root first, then all others by date. An answer is never before its parent."""
    by_id = {message.message_id: message for message in messages}
    times: dict[str, tuple[datetime, int]] = {}
    """The time of each message, and its depth below the first message with that time."""

    def time_of(message: Message) -> tuple[datetime, int]:
        path: list[Message] = []
        above: Message | None = message
        while above is not None and above.message_id not in times:
            times[above.message_id] = above.date or _NO_DATE, 0
            path.append(above)
            named = (above.in_reply_to, *reversed(above.references))
            above = next((by_id[id_] for id_ in named if id_ in by_id and id_ != above.message_id), None)
        for below in reversed(path):
            time, depth = times[above.message_id] if above else times.get(root, (_NO_DATE, 0))
            times[below.message_id] = max(times[below.message_id], (time, depth + 1))
            above = below
        return times[message.message_id]

    if root in by_id:
        times[root] = by_id[root].date or _NO_DATE, 0
    first = by_id.get(root) or _substitute_root(messages, {id_: time_of(by_id[id_]) for id_ in by_id})
    return sorted(
        messages,
        key=lambda message: (message is not first, time_of(message), message.place, message.id),
    )


def _substitute_root(messages: Sequence[Message], times: Mapping[str, Any]) -> Message | None:
    """Return a root if the first mail is missing: the most answered mail under the most common subject."""
    answers: dict[str, set[str]] = {}
    subjects: dict[str, set[str]] = {}
    for message in messages:
        answers.setdefault(message.in_reply_to or "", set()).add(message.from_.email)
        subjects.setdefault(split_subject(message.subject).text, set()).add(message.from_.email)

    def rank(message: Message) -> tuple[Any, ...]:
        others = answers.get(message.message_id, set()) - {message.from_.email}
        shared = len(subjects[split_subject(message.subject).text])
        return -len(others), -shared, times[message.message_id], message.place, message.id

    return min(messages, key=rank, default=None)


def checked_mail(message: Message, profile: SourceProfile) -> ThreadMail:
    """Convert a stored message to a mail with its sender check."""
    check = check_sender(message.trace, profile.authserv_id, message.from_.email)
    failed, passed = check is SenderCheck.FAILED, check is SenderCheck.PASSED
    return replace(thread_mail(message), failed=failed, passed=passed)


def thread_mail(message: Message) -> ThreadMail:
    """Convert a stored message to the mail that it was parsed from."""
    segments = read_segments(message.segments)
    return ThreadMail(
        message_id=message.message_id,
        address=message.from_.email.lower(),
        name=message.from_.name,
        subject=message.subject,
        date=message.date,
        text=message.body_normalized,
        reply_to=message.in_reply_to,
        references=tuple(message.references),
        quotes=quoted_blocks(message.body_raw, segments, NormalizedBody(message.body_raw, segments)),
        list_id=list_id_in(message.headers.get("list-id", "")),
        attributions=attributions_in(message.body_raw, segments),
    )


async def _profile(clients: Clients, thread: Thread, session: Session) -> SourceProfile:
    name = thread.source or next(iter(thread.sources), None)
    source = await clients.store.find(Source, name, session) if name else None
    return source.profile if source else SourceProfile()


def _message(message: Message) -> ContextMessage:
    return ContextMessage(
        key=message.id,
        message_id=message.message_id,
        sender_email=message.from_.email,
        sender_name=message.from_.name,
        text=message.body_normalized,
        date=message.date,
        subject=message.subject,
        in_reply_to=message.in_reply_to,
    )


class VotePair(NamedTuple):
    """The threads of a vote and of its result, and whether the vote must be read again with the result."""

    vote: str
    result: str
    is_unread: bool


async def find_vote_pair(clients: Clients, thread: Thread, session: Session) -> VotePair | None:
    """Return the vote pair that the thread belongs to."""
    subject = vote_subject(thread.subject)
    if subject is None or thread.source is None:
        return None
    await mark_vote(clients.store, thread.id, subject, session)
    rows = clients.store.query(THREADS_OF_VOTE, session, subject=subject, source=thread.source)
    found = {row["id"]: row async for row in rows if row["first_message_date"]}
    profile = await _profile(clients, thread, session)
    # The key of a thread is the key of its first message.
    opening = await clients.store.find_many(Message, found, session) if len(found) > 1 else {}
    votes = [_vote_thread(found[id_], message, profile) for id_, message in opening.items()]
    for vote, result in results_of_votes(votes).items():
        if thread.id in (vote, result):
            await link_result(clients.store, result, vote, session)
            stored = found[vote]
            unread = stored.get("summary_id") is not None and stored.get("result_thread") != result
            return VotePair(vote, result, unread)
    return None


def _vote_thread(row: Mapping[str, Any], opening: Message, profile: SourceProfile) -> VoteThread:
    begins = datetime.fromisoformat(row["first_message_date"]).astimezone(UTC)
    mail = checked_mail(opening, profile)
    people = People([mail], profile)
    holder = people.role(0)
    has_role = holder is not None and holder.role in DECIDING_ROLES
    return VoteThread(row["id"], row["subject"], begins, people.of_mail[0], has_role=has_role)


async def result_mail(
    clients: Clients, vote: Thread, pair: VotePair | None, session: Session
) -> ThreadMail | None:
    """Return the first mail of a vote's result thread, as an answer to the vote."""
    if pair is None or pair.vote != vote.id:
        return None
    opening = await clients.store.find(Message, pair.result, session)
    if opening is None:
        return None
    profile = await _profile(clients, vote, session)
    return replace(checked_mail(opening, profile), reply_to=vote.root_message_id)
