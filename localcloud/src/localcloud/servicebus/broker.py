"""The broker connects engine, journal and connections, with a group commit in each loop iteration.

Incoming frames change the engine and write answers to the connections' buffers. At the end of the iteration
the broker delivers ready messages, commits all changes to the journal, and only then writes the buffers to
the sockets. A client therefore never sees a change that a crash could undo.
"""

import asyncio
import logging
import math

import apsw

from localcloud.clock import Clock
from localcloud.faults import Fault, FaultPlan
from localcloud.servicebus import endpoints, errors
from localcloud.servicebus.amqp.connection import Connection
from localcloud.servicebus.amqp.decoding import Described
from localcloud.servicebus.amqp.links import Link, OutgoingLink
from localcloud.servicebus.auth import AccessKey, covers, entity_path
from localcloud.servicebus.cbs import TokenNode
from localcloud.servicebus.engine import Namespace, Subscription, Topic
from localcloud.servicebus.entities import Queue
from localcloud.servicebus.journal import Journal
from localcloud.servicebus.management import ManagementNode

log = logging.getLogger(__name__)

FAULT_KINDS = ("drop", "delay", "server-busy", "lose-ack", "deliver-twice")
KEEP_ALIVE_SECONDS = 1.0
MANAGEMENT_SUFFIX = "/$management"
SESSION_FILTER = "com.microsoft:session-filter"
_SOURCE, _TARGET, _COORDINATOR = 0x28, 0x29, 0x30  # descriptors of sources, targets and coordinators


class DroppedError(errors.BrokerError):
    """An injected fault dropped the connection."""


class Broker:
    def __init__(
        self,
        namespace: Namespace,
        journal: Journal,
        *,
        clock: Clock,
        access_key: AccessKey,
        faults: FaultPlan,
        max_connections: int = 1000,
    ) -> None:
        self.namespace = namespace
        self.access_key = access_key
        self.clock = clock
        self.faults = faults
        self._journal = journal
        self._connections: set[Connection] = set()
        self._max_connections = max_connections
        self._most_connections = self._refused_connections = 0
        self._to_flush: set[Connection] = set()
        self._receivers: dict[Queue, endpoints.ReceiveEndpoint] = {}
        self._draining: set[OutgoingLink] = set()
        self._turn_is_due = False
        self._timer: asyncio.TimerHandle | None = None
        self._timer_at = math.inf
        self._loop = asyncio.get_running_loop()
        self._heartbeats = self._loop.create_task(self._keep_alive())

    # methods for the connections

    def connection_opened(self, connection: Connection) -> None:
        if len(self._connections) >= self._max_connections:
            self._refused_connections += 1
            log.warning("a connection was refused: the limit of %d is reached", len(self._connections))
            connection.abort()
            return
        self._connections.add(connection)
        self._most_connections = max(self._most_connections, len(self._connections))

    def connection_counts(self) -> dict[str, int]:
        """Return the numbers of open connections, of the most at one time, and of refused ones."""
        counts = (len(self._connections), self._most_connections, self._refused_connections)
        return dict(zip(("open", "most", "refused"), counts, strict=True))

    def connection_closed(self, connection: Connection) -> None:
        self._connections.discard(connection)
        self._to_flush.discard(connection)

    def wake(self, connection: Connection) -> None:
        self._to_flush.add(connection)
        self.end_turn_soon()

    def open_link(self, link: Link) -> None:
        path = entity_path(_address(link))
        if path == "$cbs":
            node = TokenNode(link.session.connection, self.access_key, self.clock)
            self._open_node(link, path, node)
            return
        self._authorize(link, path)
        if path.endswith(MANAGEMENT_SUFFIX):
            queue = self.namespace.entity(path.removesuffix(MANAGEMENT_SUFFIX))
            self._open_node(link, path, ManagementNode(self.namespace, queue))
        elif isinstance(link, OutgoingLink):
            self._open_receiver(link, self.namespace.entity(path))
        else:
            self._open_sender(link, self.namespace.entity(path))

    def _authorize(self, link: Link, path: str) -> None:
        connection = link.session.connection
        now = self.clock.now()
        if not connection.is_trusted and not any(
            covers(audience, path) and end > now for audience, end in connection.tokens.items()
        ):
            raise errors.Unauthorized(f"Unauthorized access to '{path}': $cbs got no valid token for it.")

    def _open_node(self, link: Link, path: str, node: endpoints.Node) -> None:
        """Open a link of $cbs or $management, which receive requests on one link and answer on another."""
        if isinstance(link, OutgoingLink):
            link.endpoint = endpoints.ReplyEndpoint(self, path)
            link.is_presettled = True  # replies are not settled
        else:
            link.endpoint = endpoints.RequestEndpoint(self, path, node)

    def _open_sender(self, link: Link, queue: Queue) -> None:
        if queue.is_dead_letter_queue or isinstance(queue, Subscription):
            raise errors.NotAllowed(f"Messages cannot be sent to '{queue.path}': send to its queue or topic.")
        self.inject_fault(link, "attach")
        link.endpoint = endpoints.SendEndpoint(self, queue)

    def _open_receiver(self, link: OutgoingLink, queue: Queue) -> None:
        if isinstance(queue, Topic):
            raise errors.NotAllowed(f"'{queue.path}' is a topic: receive from one of its subscriptions.")
        if queue.forward_to is not None:
            raise errors.NotAllowed(
                f"Cannot receive from '{queue.path}': it forwards to '{queue.forward_to.path}'."
            )
        _check_filters(link)
        self.inject_fault(link, "attach")
        receivers = self._receivers.get(queue)
        if receivers is None:
            receivers = self._receivers[queue] = endpoints.ReceiveEndpoint(self, queue)
        link.endpoint = receivers

    # faults

    def inject_fault(self, link: Link, operation: str) -> Fault | None:
        """Apply the fault that is planned for this operation, if any."""
        if not self.faults.faults:  # a fast check, because this runs for every message
            return None
        fault = self.faults.take(operation)
        if fault is None:
            return None
        connection = link.session.connection
        if fault.kind == "drop":
            connection.abort()
            raise DroppedError
        if fault.kind == "server-busy":
            raise errors.ServerBusy
        if fault.kind == "lose-ack":
            connection.discard_output = True
        elif fault.kind == "delay":
            seconds = float(fault.args.get("ms", 1000)) / 1000
            connection.pending_delays += 1
            self._loop.call_later(seconds, self._end_delay, connection)
        self.wake(connection)
        return fault

    def _end_delay(self, connection: Connection) -> None:
        # A counter instead of a time, because a timer can fire slightly early and the output would stay
        # blocked.
        connection.pending_delays -= 1
        self.wake(connection)

    # loop iterations

    def end_turn_soon(self) -> None:
        if not self._turn_is_due:
            self._turn_is_due = True
            self._loop.call_soon(self._end_turn)

    def drain_later(self, link: OutgoingLink) -> None:
        self._draining.add(link)

    def _end_turn(self) -> None:
        self._turn_is_due = False
        self._deliver_ready()
        self._finish_drains()
        if self._commit():
            writing, self._to_flush = self._to_flush, set()
            for connection in writing:
                connection.flush()
        self._set_timer()

    def _deliver_ready(self) -> None:
        changes = self.namespace.changes
        while changes.ready:
            receivers = self._receivers.get(changes.ready.pop())
            if receivers is not None:
                self._to_flush.update(receivers.deliver_ready())

    def _finish_drains(self) -> None:
        draining, self._draining = self._draining, set()
        for link in draining:
            is_attached = link.session.links.get(link.handle) is link
            # A blocked link gets `credited` when there is room again, and is then drained here.
            if link.drain and is_attached and not link.is_blocked:
                link.session.finish_drain(link)
                self._to_flush.add(link.session.connection)

    def _commit(self) -> bool:
        changes = self.namespace.changes
        if not changes:
            return True
        try:
            self._journal.commit(changes, self.namespace.now())
        except apsw.Error:
            # Clients must not learn of uncommitted changes, so their connections are dropped. The changes
            # stay pending for a later commit.
            log.exception("the journal failed; all connections are dropped")
            for connection in list(self._connections):
                connection.abort()
            return False
        changes.clear_committed()
        return True

    # time

    def _set_timer(self) -> None:
        deadline = self.namespace.next_deadline()
        if deadline is None or deadline == self._timer_at:
            return  # already set, which is frequent
        if self._timer is not None:
            self._timer.cancel()
        self._timer_at = deadline
        delay = max(0.0, deadline / 1000 - self.clock.now())
        self._timer = self._loop.call_later(delay, self._run_due)

    def _run_due(self) -> None:
        self._timer, self._timer_at = None, math.inf
        self.namespace.run_due()
        self.end_turn_soon()

    async def _keep_alive(self) -> None:
        while True:
            await asyncio.sleep(KEEP_ALIVE_SECONDS)
            for connection in list(self._connections):
                connection.keep_alive()

    def stop(self) -> None:
        self._heartbeats.cancel()
        if self._timer is not None:
            self._timer.cancel()
        if self._commit():
            for connection in list(self._connections):
                connection.shut_down()


def _address(link: Link) -> str:
    attach = link.attach
    terminus = attach.source if isinstance(link, OutgoingLink) else attach.target
    if isinstance(terminus, Described) and terminus.descriptor == _COORDINATOR:
        raise errors.NotSupported("The local Service Bus has no transactions.")
    wanted = _SOURCE if isinstance(link, OutgoingLink) else _TARGET
    if not isinstance(terminus, Described) or (terminus.descriptor, type(terminus.value)) != (wanted, list):
        raise errors.NotAllowed("A link needs a source or a target with an address.")
    address = terminus.value[0] if terminus.value else None
    if not isinstance(address, str) or not address:
        raise errors.NotAllowed("A link needs an address: the local Service Bus has no dynamic nodes.")
    return address


_FILTER_FIELD = 7  # index in a source


def _check_filters(link: OutgoingLink) -> None:
    fields = link.attach.source.value
    filters = fields[_FILTER_FIELD] if len(fields) > _FILTER_FIELD else None
    if not filters:
        return
    if isinstance(filters, dict) and SESSION_FILTER in filters:
        raise errors.NotAllowed(
            "A sessionful message receiver cannot be created on an entity that does not require sessions; "
            "the local Service Bus has no sessions."
        )
    raise errors.NotSupported("The local Service Bus has no source filters: use the rules of a subscription.")
