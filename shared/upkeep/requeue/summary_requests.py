"""The request for a thread's summary, by those who changed something about the thread."""

from shared.clients.connections import Clients
from shared.clients.cosmos.session import Session
from shared.pipeline.events.builders import summary_request
from shared.pipeline.events.envelope import Event
from shared.pipeline.lifecycle.threads import summary_requested
from shared.pipeline.readiness import ready_thread


async def request_summary(clients: Clients, thread_id: str, session: Session) -> bool:
    """Whether it was requested now.

    If the thread is not ready, orchestration requests the summary later; if this event is lost, the sweep
    does.
    """
    ready = await ready_thread(clients, thread_id, session)
    if ready is None:
        return False
    request = summary_request(thread_id, ready.version, clients.settings)
    await clients.bus.publish([Event.of(request, session=session.tokens(), now=clients.runtime.now())])
    await summary_requested(clients.store, thread_id, ready.version, session, ends_claim=False)
    return True
