"""The request for a thread's summary, by those who changed something about the thread."""

from shared.clients.connections import Clients
from shared.clients.cosmos.session import Session
from shared.pipeline.events.builders import summary_request
from shared.pipeline.events.envelope import Event
from shared.pipeline.lifecycle.threads import summary_requested, thread_claimed
from shared.pipeline.readiness import ready_thread


async def request_summary(clients: Clients, thread_id: str, session: Session) -> bool:
    """Request the version that the thread has now; False where it is not ready.

    If it is not ready, or orchestration has claimed it, orchestration requests the summary; if this event is
    lost, the sweep does. The claim makes the version the one that the thread waits for, and a repeated call
    finds its own claim.
    """
    ready = await ready_thread(clients, thread_id, session)
    if ready is None:
        return False
    version, now = ready.version, clients.runtime.now()
    claimer = f"request-{version}"
    if await thread_claimed(clients.store, ready.thread, version, claimer=claimer, now=now, session=session):
        request = summary_request(thread_id, version, clients.settings)
        await clients.bus.publish([Event.of(request, session=session.tokens(), now=now)])
        await summary_requested(clients.store, thread_id, version, session, ends_claim=True)
    return True
