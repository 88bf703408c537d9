"""Finish moves of messages that a worker committed but did not announce."""

from shared.azure.connections import Clients
from shared.azure.cosmos.session import Session
from shared.thread_store.commit import CommitResult, ThreadCommit
from shared.thread_store.moving import announce_keys


async def finish_moves(clients: Clients, source: str, session: Session) -> None:
    """Finish the moves of all commits to the source. If another worker does the same, nothing changes."""
    commit = ThreadCommit(clients, source, session)
    await announce_moves(clients, commit, await commit.finish_open(), session)


async def announce_moves(
    clients: Clients, commit: ThreadCommit, result: CommitResult, session: Session
) -> None:
    """Announce the messages, so that stages pass their labels on, then delete the todos."""
    await announce_keys(clients, {*result.threads, *result.moved, *result.touched}, session)
    await commit.forget_todos(result)
