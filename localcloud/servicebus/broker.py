"""Runs a namespace: connections in, a journal under it, and one order for everything in an event-loop turn.

Frames that arrive change the engine and put answers into the connections' buffers. At the end of the turn
ready messages are handed to receivers, the journal commits everything at once, and only then do the
buffers go to the sockets: whatever a peer hears about has survived.
"""

import asyncio
import logging
import math

import apsw

from localcloud.clock import Clock
from localcloud.faults import Fault, FaultPlan
from localcloud.servicebus.amqp.codec import Described
from localcloud.servicebus.amqp.connection import Connection
from localcloud.servicebus.amqp.links import Link, OutgoingLink
from localcloud.servicebus.auth import AccessKey, covers, entity_path
from localcloud.servicebus.cbs import TokenNode
from localcloud.servicebus.endpoints import Receivers, ReplyEndpoint, RequestEndpoint, SendEndpoint
from localcloud.servicebus.engine import Namespace, Topic
from localcloud.servicebus.entities import Queue
from localcloud.servicebus.errors import (
    BrokerError,
    NotAllowed,
    NotSupported,
    ServerBusy,
    Unauthorized,
)
from localcloud.servicebus.journal import Journal
from localcloud.servicebus.management import ManagementNode

__all__ = ["FAULT_KINDS", "Broker", "DroppedError"]

log = logging.getLogger(__name__)

FAULT_KINDS = ("drop", "delay", "server-busy", "lose-ack", "deliver-twice")
MAX_CONNECTIONS = 1000
KEEP_ALIVE_SECONDS = 1.0
MANAGEMENT_SUFFIX = "/$management"
SESSION_FILTER = "com.microsoft:session-filter"
_SOURCE, _TARGET, _COORDINATOR = 0x28, 0x29, 0x30


class DroppedError(BrokerError):
    """An injected fault broke the connection."""


class Broker:
    def __init__(
        self,
        namespace: Namespace,
        journal: Journal,
        *,
        clock: Clock,
        access_key: AccessKey,
        faults: FaultPlan,
    ) -> None:
        self.namespace = namespace
        self.access_key = access_key
        self.clock = clock
        self.faults = faults
        self._journal = journal
        self._connections: set[Connection] = set()
        self._to_flush: set[Connection] = set()
        self._receivers: dict[Queue, Receivers] = {}
        self._draining: set[OutgoingLink] = set()
        self._turn_is_due = False
        self._timer: asyncio.TimerHandle | None = None
        self._timer_at = math.inf
        self._loop = asyncio.get_running_loop()
        self._keeper = self._loop.create_task(self._keep_alive())

    # Host, for connections

    def joined(self, connection: Connection) -> None:
        if len(self._connections) >= MAX_CONNECTIONS:
            connection.abort()
        self._connections.add(connection)

    def left(self, connection: Connection) -> None:
        self._connections.discard(connection)
        self._to_flush.discard(connection)

    def wake(self, connection: Connection) -> None:
        self._to_flush.add(connection)
        self.end_turn_soon()

    def check_plain(self, user: str, password: str) -> bool:
        return self.access_key.check_plain(user, password)

    def open_link(self, link: Link) -> None:
        address = _address(link)
        path = entity_path(address)
        if path == "$cbs":
            self._open_node(link, "$cbs")
            return
        self._authorize(link, path)
        if path.endswith(MANAGEMENT_SUFFIX):
            self.namespace.entity(path.removesuffix(MANAGEMENT_SUFFIX))
            self._open_node(link, path)
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
            raise Unauthorized(f"Unauthorized access to '{path}': no valid token for it was put on $cbs.")

    def _open_node(self, link: Link, path: str) -> None:
        """$cbs and $management answer requests that come on one link with replies on another."""
        if isinstance(link, OutgoingLink):
            link.endpoint = ReplyEndpoint(self, path)
            link.is_presettled = True
        elif path == "$cbs":
            link.endpoint = RequestEndpoint(
                self, path, TokenNode(link.session.connection, self.access_key, self.clock)
            )
        else:
            queue = self.namespace.entity(path.removesuffix(MANAGEMENT_SUFFIX))
            link.endpoint = RequestEndpoint(self, path, ManagementNode(self.namespace, queue))

    def _open_sender(self, link: Link, queue: Queue) -> None:
        if queue.is_dead_letter_queue or "/subscriptions/" in queue.path.lower():
            raise NotAllowed(f"Messages cannot be sent to '{queue.path}': send to its queue or topic.")
        self.strike(link, "attach")
        link.endpoint = SendEndpoint(self, queue)

    def _open_receiver(self, link: OutgoingLink, queue: Queue) -> None:
        if isinstance(queue, Topic):
            raise NotAllowed(f"'{queue.path}' is a topic: receive from one of its subscriptions.")
        if queue.forward_to is not None:
            raise NotAllowed(f"Cannot receive from '{queue.path}': it forwards to '{queue.forward_to.path}'.")
        _check_filters(link)
        self.strike(link, "attach")
        receivers = self._receivers.get(queue)
        if receivers is None:
            receivers = self._receivers[queue] = Receivers(self, queue)
        link.endpoint = receivers

    # faults

    def strike(self, link: Link, operation: str) -> Fault | None:
        """Act out the fault planned for this operation, if there is one."""
        fault = self.faults.take(operation)
        if fault is None:
            return None
        connection = link.session.connection
        if fault.kind == "drop":
            connection.abort()
            raise DroppedError
        if fault.kind == "server-busy":
            raise ServerBusy
        if fault.kind == "lose-ack":
            connection.lose_output = True
        elif fault.kind == "delay":
            seconds = float(fault.args.get("ms", 1000)) / 1000
            connection.delays += 1
            self._loop.call_later(seconds, self._end_delay, connection)
        self.wake(connection)
        return fault

    def _end_delay(self, connection: Connection) -> None:
        # Counted, not timed: a timer may fire a little before the clock says so, and would wake in vain.
        connection.delays -= 1
        self.wake(connection)

    # the turn

    def end_turn_soon(self) -> None:
        if not self._turn_is_due:
            self._turn_is_due = True
            self._loop.call_soon(self._end_turn)

    def drain_later(self, link: OutgoingLink) -> None:
        self._draining.add(link)

    def _end_turn(self) -> None:
        self._turn_is_due = False
        self._hand_out()
        self._finish_drains()
        if self._commit():
            writing, self._to_flush = self._to_flush, set()
            for connection in writing:
                connection.flush()
        self._set_timer()

    def _hand_out(self) -> None:
        changes = self.namespace.changes
        while changes.ready:
            receivers = self._receivers.get(changes.ready.pop())
            if receivers is not None:
                self._to_flush.update(receivers.hand_out())

    def _finish_drains(self) -> None:
        draining, self._draining = self._draining, set()
        for link in draining:
            is_attached = link.session.links.get(link.handle) is link
            # One that is held up is credited again, and comes here again, when there is room.
            if link.drain and is_attached and not link.is_held_up:
                link.session.finish_drain(link)
                self._to_flush.add(link.session.connection)

    def _commit(self) -> bool:
        changes = self.namespace.changes
        if not changes:
            return True
        try:
            self._journal.commit(changes, self.namespace.now())
        except apsw.Error:
            # Nobody may hear of what is not on disk: their connections break, and what they were
            # not told is committed by a later turn.
            log.exception("the journal failed; all connections are dropped")
            for connection in list(self._connections):
                connection.abort()
            return False
        changes.journalled()
        return True

    # time

    def _set_timer(self) -> None:
        deadline = self.namespace.next_deadline()
        if deadline is None or deadline == self._timer_at:
            return
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
        self._keeper.cancel()
        if self._timer is not None:
            self._timer.cancel()
        if self._commit():
            for connection in list(self._connections):
                connection.shut_down()


def _address(link: Link) -> str:
    attach = link.attach
    terminus = attach.source if isinstance(link, OutgoingLink) else attach.target
    if isinstance(terminus, Described) and terminus.descriptor == _COORDINATOR:
        raise NotSupported("The local Service Bus has no transactions.")
    wanted = _SOURCE if isinstance(link, OutgoingLink) else _TARGET
    if (
        not isinstance(terminus, Described)
        or terminus.descriptor != wanted
        or not isinstance(terminus.value, list)
    ):
        raise NotAllowed("A link names what it is attached to: a source or a target with an address.")
    address = terminus.value[0] if terminus.value else None
    if not isinstance(address, str) or not address:
        raise NotAllowed("A link names what it is attached to by an address; there are no dynamic nodes.")
    return address


_FILTER_FIELD = 7


def _check_filters(link: OutgoingLink) -> None:
    fields = link.attach.source.value
    filters = fields[_FILTER_FIELD] if len(fields) > _FILTER_FIELD else None
    if not filters:
        return
    if isinstance(filters, dict) and SESSION_FILTER in filters:
        raise NotAllowed(
            "A sessionful message receiver cannot be created on an entity that does not require sessions; "
            "the local Service Bus has no sessions."
        )
    raise NotSupported("The local Service Bus has no source filters: use the rules of a subscription.")
