"""Links a vote to the thread that brings its result, whichever is read first.

Each thread is marked with its vote's subject before the others are looked for, and looks again when it was
read: so of two that are read at the same time one sees the other. The vote is read with the result's mail as
its last answer, and read anew where it was read without it.
"""

from dataclasses import replace
from datetime import UTC, datetime
from typing import NamedTuple

from shared.clients.connections import Clients
from shared.clients.cosmos.session import Session
from shared.documents.queries.threads import MESSAGES_OF_THREAD, THREADS_OF_VOTE
from shared.documents.threads import Message, Thread
from shared.domain.consensus.thread_mail import ThreadMail
from shared.domain.consensus.vote_threads import VoteThread, results_of_votes, vote_subject
from shared.pipeline.lifecycle.threads import result_linked, vote_marked
from shared.summarization.thread_context import thread_mail


class VotePair(NamedTuple):
    """A vote's thread and the one that brings its result; whether the vote was read without it."""

    vote: str
    result: str
    is_unread: bool


async def find_vote_pair(clients: Clients, thread: Thread, session: Session) -> VotePair | None:
    """The pair that the thread is a part of."""
    subject = vote_subject(thread.subject)
    if subject is None or thread.source is None:
        return None
    await vote_marked(clients.store, thread.id, subject, session)
    rows = clients.store.query(THREADS_OF_VOTE, session, subject=subject, source=thread.source)
    found = {row["id"]: row async for row in rows}
    votes = [
        VoteThread(id_, row["subject"], datetime.fromisoformat(row["first_message_date"]).astimezone(UTC))
        for id_, row in found.items()
        if row["first_message_date"]
    ]
    for vote, result in results_of_votes(votes).items():
        if thread.id in (vote, result):
            await result_linked(clients.store, result, vote, session)
            stored = found[vote]
            unread = stored.get("summary_id") is not None and stored.get("result_thread") != result
            return VotePair(vote, result, unread)
    return None


async def result_mail(
    clients: Clients, vote: Thread, pair: VotePair | None, session: Session
) -> ThreadMail | None:
    """For a vote: the first mail of its result's thread, as an answer to it."""
    if pair is None or pair.vote != vote.id:
        return None
    stored = await clients.store.query_documents(
        Message, MESSAGES_OF_THREAD, session, partition_value=pair.result
    )
    return replace(thread_mail(stored[0]), reply_to=vote.root_message_id) if stored else None
