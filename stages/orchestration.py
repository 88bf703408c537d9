"""Orchestration: a thread whose messages are all chunked, and whose chunks are all settled, gets its summary.

A thread's version is a hash of what it is made of. Each version is asked for once: the request's message id
is made of the thread and the version, so racing workers publish the same message, and the version is noted on
the thread after that.
"""

from datetime import datetime

import azure.functions as func

from shared.documents import Chunk, Thread
from shared.errors import Failure
from shared.events import EmbeddingsGenerated, Event, OrchestrationFailed
from shared.stage import Outcome, Stage, Subject, Work
from shared.stage.functions import register_stage
from shared.store import Patch
from shared.threads.moving import resolve_thread
from shared.threads.readiness import ready_thread, summary_request

__all__ = ["ORCHESTRATION", "blueprint"]

blueprint = func.Blueprint()


async def orchestrate(event: Event[EmbeddingsGenerated], work: Work) -> Outcome:
    threads = {
        await resolve_thread(work.clients, each, work.session)
        for each in sorted(set(event.data.chunk_threads))
    }
    versions = {each: version for each in sorted(threads) if (version := await _new_version(each, work))}

    async def note() -> None:
        for thread, version in versions.items():
            patch = Patch(thread, thread, set={"content_hash": version})
            await work.clients.store.patch(Thread, patch, work.session)

    return Outcome(
        [summary_request(thread, version, work.clients.settings) for thread, version in versions.items()],
        after_announcing=note,
        counts={"threads": len(threads), "ready": len(versions)},
    )


async def _new_version(thread_id: str, work: Work) -> str | None:
    """The thread's version, if it is ready and was not asked for yet."""
    ready = await ready_thread(work.clients, thread_id, work.session)
    return ready.version if ready is not None and ready.is_new else None


def _failed(
    event: Event[EmbeddingsGenerated],
    failure: Failure,
    attempts: int,
    now: datetime,  # noqa: ARG001 - this event has no time of its own
) -> OrchestrationFailed:
    return OrchestrationFailed(
        thread_ids=sorted(set(event.data.chunk_threads)) or event.data.chunk_ids[:1],
        error_message=failure.message,
        error_type=failure.error_type,
        retry_count=attempts,
    )


def _subjects(data: EmbeddingsGenerated) -> list[Subject]:
    places = zip(data.chunk_ids, data.chunk_threads, strict=False)
    return [Subject(Chunk, id_, thread) for id_, thread in places]


ORCHESTRATION = Stage("orchestration", EmbeddingsGenerated, orchestrate, _failed, _subjects)

register_stage(blueprint, ORCHESTRATION)
