"""Finishes moves of messages that a worker committed and then broke off."""

from shared.azure.connections import Clients
from shared.azure.cosmos.session import Session
from shared.thread_store.commit import CommitResult, ThreadCommit
from shared.thread_store.moving import announce_keys


async def finish_moves(clients: Clients, source: str, session: Session) -> None:
    """Those of all commits to the threads of the source. That another worker does the same does no harm."""
    commit = ThreadCommit(clients, source, session)
    await announce_moves(clients, commit, await commit.finish_open(), session)


async def announce_moves(
    clients: Clients, commit: ThreadCommit, result: CommitResult, session: Session
) -> None:
    """Have the stages pass the labels on; then the moves are done."""
    await announce_keys(clients, {*result.threads, *result.moved, *result.touched}, session)
    await commit.forget_todos(result)
