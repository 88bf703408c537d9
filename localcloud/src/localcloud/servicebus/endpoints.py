"""Endpoints of links: senders and receivers of an entity, and the request and reply links of a node."""

from collections import deque
from typing import TYPE_CHECKING, Any, Protocol

from localcloud.servicebus import errors
from localcloud.servicebus.amqp import codec, decoding
from localcloud.servicebus.amqp.codec import NULL
from localcloud.servicebus.amqp.decoding import Described
from localcloud.servicebus.amqp.links import Endpoint, IncomingLink, Link, Outcome, OutgoingLink
from localcloud.servicebus.amqp.performatives import ACCEPTED, Transfer, encode_error, encode_performative
from localcloud.servicebus.deliveries import encode_delivery
from localcloud.servicebus.entities import DEAD_LETTER_DESCRIPTION, DEAD_LETTER_REASON, Queue
from localcloud.servicebus.locks import new_lock_token
from localcloud.servicebus.messages import BATCH_FORMAT, parse_batch, parse_message
from localcloud.servicebus.requests import Reply, Request

if TYPE_CHECKING:
    from localcloud.servicebus.amqp.connection import Connection
    from localcloud.servicebus.broker import Broker

# Descriptors of delivery states.
_ACCEPTED, _REJECTED, _RELEASED, _MODIFIED, _TRANSACTIONAL = 0x24, 0x25, 0x26, 0x27, 0x34
# Confirms a dead-lettering. An error in it would make clients report a failure.
REJECTED = codec.described(_REJECTED, b"\x45")
RELEASED = codec.described(_RELEASED, b"\x45")
MAX_WAITING_REPLIES = 1000


def rejected(error: errors.BrokerError) -> Outcome:
    return encode_performative(_REJECTED, encode_error(error.condition, error.description))


class SendEndpoint(Endpoint):
    def __init__(self, broker: "Broker", queue: Queue) -> None:
        self._broker = broker
        self._queue = queue

    def received(self, link: IncomingLink, transfer: Transfer, payload: bytes) -> Outcome | None:
        broker = self._broker
        try:
            broker.inject_fault(link, "send")
            if transfer.state is not None:
                raise errors.NotSupported("The local Service Bus has no transactions.")
            if transfer.message_format == BATCH_FORMAT:
                messages = parse_batch(payload)
            else:
                messages = [parse_message(payload)]
            broker.namespace.send(self._queue, messages)
        except errors.BrokerError as error:
            return rejected(error)
        broker.end_turn_soon()
        return ACCEPTED


class ReceiveEndpoint(Endpoint):
    """The endpoint of all receivers of an entity, which take turns to get ready messages."""

    def __init__(self, broker: "Broker", queue: Queue) -> None:
        self._broker = broker
        self._queue = queue
        self._waiting: deque[OutgoingLink] = deque()

    def credited(self, link: OutgoingLink) -> None:
        if link.credit > 0 and link not in self._waiting:
            self._waiting.append(link)
        if link.drain:
            self._broker.drain_later(link)
        self._broker.namespace.changes.ready.add(self._queue)
        self._broker.end_turn_soon()

    def detached(self, link: Link) -> None:
        if link in self._waiting:
            self._waiting.remove(link)  # type: ignore[arg-type]  # only an OutgoingLink waits

    def has_more(self) -> bool:
        return self._queue.has_ready_entries

    def deliver_ready(self) -> "set[Connection]":
        """Deliver ready messages to the waiting receivers in turn.

        Return the connections that got messages.
        """
        served: set[Connection] = set()
        waiting, blocked = self._waiting, 0
        while waiting and blocked < len(waiting) and self._queue.has_ready_entries:
            link = waiting[0]
            if link.credit <= 0:
                waiting.popleft()
            elif not link.can_deliver:
                blocked += 1  # if all receivers are blocked, the loop ends
                waiting.rotate(-1)
            elif self._deliver_next(link):
                served.add(link.session.connection)
                waiting.rotate(-1)
                blocked = 0
        return served

    def _deliver_next(self, link: OutgoingLink) -> bool:
        try:
            fault = self._broker.inject_fault(link, "receive")
        except errors.BrokerError as error:
            link.session.detach(link, error)
            return True
        queue = self._queue
        message = queue.take_and_delete() if link.is_presettled else queue.take()
        if message is None:
            return False
        # The tag is the lock token, or any token for a deleted message.
        tag = message.lock or new_lock_token()
        link.session.deliver(link, tag, encode_delivery(message))
        if fault is not None and fault.kind == "deliver-twice" and message.lock is not None:
            queue.expire_lock(message.lock)
        return True

    def settled(self, link: OutgoingLink, tag: bytes, state: Any) -> Outcome | None:
        if not isinstance(state, Described) or not isinstance(state.value, list):
            state = _NO_OUTCOME  # settled without an outcome means released
        try:
            outcome = self._settle(link, tag, state)
        except errors.BrokerError as error:
            return rejected(error)
        self._broker.end_turn_soon()
        return outcome

    def _settle(self, link: OutgoingLink, tag: bytes, state: Described) -> Outcome:
        descriptor = state.descriptor
        if descriptor == _ACCEPTED:
            self._broker.inject_fault(link, "complete")
            self._queue.complete(tag)
            return ACCEPTED
        if descriptor == _MODIFIED:
            return self._modify(link, tag, state)
        if descriptor == _REJECTED:
            self._broker.inject_fault(link, "dead-letter")
            self._dead_letter(tag, state)
            return REJECTED
        if descriptor == _TRANSACTIONAL:
            raise errors.NotSupported("The local Service Bus has no transactions.")
        self._broker.inject_fault(link, "release")
        self._queue.release(tag)
        return RELEASED

    def _dead_letter(self, tag: bytes, state: Described) -> None:
        """Dead-letter a message. The error's info has the reason, the description and further properties."""
        error = state.value[0] if state.value else None
        info = _map_field(error, 2) if isinstance(error, Described) else {}
        reason, description = (
            as_text(decoding.decode(info.pop(name, NULL))[0])
            for name in (DEAD_LETTER_REASON, DEAD_LETTER_DESCRIPTION)
        )
        self._queue.dead_letter(tag, reason, description, info)

    def _modify(self, link: OutgoingLink, tag: bytes, state: Described) -> Outcome:
        """Abandon the message, or defer it if this link must not receive it again."""
        failed, undeliverable = (*state.value, None, None)[:2]
        changes = _map_field(state, 2)
        if undeliverable:
            self._broker.inject_fault(link, "defer")
            self._queue.defer(tag, changes)
        else:
            self._broker.inject_fault(link, "abandon")
            self._queue.abandon(tag, changes)
        return encode_performative(_MODIFIED, codec.boolean(bool(failed)), codec.boolean(bool(undeliverable)))


_NO_OUTCOME = Described(None, [])


def _map_field(composite: Described, index: int) -> dict[str, bytes]:
    """Return the properties in a field of a composite value, if that field exists and is a map."""
    fields = composite.value if isinstance(composite.value, list) else []
    if len(fields) <= index or not isinstance(fields[index], dict):
        return {}
    return properties_to_modify(decoding.encoded_items(composite.encoded)[index])


def properties_to_modify(encoded: bytes) -> dict[str, bytes]:
    """Return application properties of an encoded map. They stay encoded to keep their AMQP types."""
    properties = {str(name): value for name, value in decoding.encoded_map(encoded).items()}
    for name, value in properties.items():
        if not decoding.is_simple(value):
            raise errors.ArgumentInvalid(f"Properties to modify: '{name}' is not a simple value.")
    return properties


def as_text(value: Any) -> str | None:
    return None if value is None else str(value)


class Node(Protocol):
    """A node that answers requests: $management of an entity, or $cbs."""

    def answer(self, request: Request) -> Reply: ...

    def operation_name(self, request: Request) -> str:
        """Return the name of this request in fault plans."""


class RequestEndpoint(Endpoint):
    def __init__(self, broker: "Broker", path: str, node: Node) -> None:
        self._broker = broker
        self._path = path
        self._node = node

    def received(self, link: IncomingLink, transfer: Transfer, payload: bytes) -> Outcome | None:  # noqa: ARG002
        try:
            request = Request.parse(payload)
        except errors.BrokerError as error:
            return rejected(error)
        reply = self._answer(link, request)
        target = _reply_link(link, self._path, request.reply_to)
        if target is not None and isinstance(target.endpoint, ReplyEndpoint):
            target.endpoint.send(target, reply.encode(request, self._path))
        self._broker.wake(link.session.connection)
        return ACCEPTED

    def _answer(self, link: IncomingLink, request: Request) -> Reply:
        try:
            self._broker.inject_fault(link, self._node.operation_name(request))
            return self._node.answer(request)
        except errors.BrokerError as error:
            return Reply.refused(error)


def _reply_link(link: IncomingLink, path: str, reply_to: str | None) -> OutgoingLink | None:
    """Return the receiver on the node that the request's reply-to names, or else any receiver there."""
    found = [
        other
        for other in link.session.links.values()
        if isinstance(other, OutgoingLink)
        and isinstance(other.endpoint, ReplyEndpoint)
        and other.endpoint.path == path
    ]
    named = [other for other in found if _target_address(other) == reply_to]
    return next(iter(named or found), None)


def _target_address(link: OutgoingLink) -> Any:
    target = link.attach.target
    return target.value[0] if isinstance(target, Described) and target.value else None


class ReplyEndpoint(Endpoint):
    """The endpoint for replies, which wait until the peer grants credit."""

    def __init__(self, broker: "Broker", path: str) -> None:
        self._broker = broker
        self.path = path
        self._waiting: deque[bytes] = deque()

    def send(self, link: OutgoingLink, payload: bytes) -> None:
        if len(self._waiting) >= MAX_WAITING_REPLIES:
            link.session.detach(link, errors.QuotaExceeded("Too many replies wait for credit."))
            return
        self._waiting.append(payload)
        self.credited(link)

    def has_more(self) -> bool:
        return bool(self._waiting)

    def credited(self, link: OutgoingLink) -> None:
        while self._waiting and link.can_deliver:
            link.session.deliver(link, new_lock_token(), self._waiting.popleft())
        if link.drain:
            self._broker.drain_later(link)
        self._broker.wake(link.session.connection)
