"""Links: one direction of messages between a peer and an endpoint of ours."""

from typing import TYPE_CHECKING, Any, Protocol

from localcloud.servicebus.amqp.performatives import Attach, Flow, Transfer
from localcloud.servicebus.errors import MessageTooLarge

if TYPE_CHECKING:
    from localcloud.servicebus.amqp.session import Session

__all__ = ["MAX_TRANSFER_BYTES", "Delivery", "Endpoint", "IncomingLink", "Link", "Outcome", "OutgoingLink"]

INCOMING_CREDIT = 1000
MAX_TRANSFER_BYTES = 256 * 1024
_WRAP = 2**32


class Delivery:
    """A whole message that a peer sent on a link."""

    __slots__ = ("delivery_id", "message_format", "payload", "settled", "state")

    def __init__(
        self, delivery_id: int, message_format: int, payload: bytes, *, settled: bool, state: Any
    ) -> None:
        self.delivery_id = delivery_id
        self.message_format = message_format
        self.payload = payload
        self.settled = settled
        self.state = state


Outcome = bytes  # an encoded delivery state


class Endpoint(Protocol):
    """What stands behind a link."""

    def received(self, link: "IncomingLink", delivery: Delivery) -> Outcome | None:
        """A message arrived; its outcome, or None for no answer at all."""

    def credited(self, link: "OutgoingLink") -> None:
        """The peer is ready for more."""

    def settled(self, link: "OutgoingLink", tag: bytes, state: Any) -> Outcome | None:
        """The peer says what became of a delivery; the outcome to confirm."""

    def detached(self, link: "Link") -> None: ...


class Link:
    def __init__(self, session: "Session", attach: Attach) -> None:
        self.session = session
        self.name = attach.name
        self.handle = attach.handle
        self.attach = attach
        self.endpoint: Endpoint | None = None
        self.delivery_count = 0


class IncomingLink(Link):
    """The peer sends. Deliveries of several frames are gathered here, up to the size limit."""

    def __init__(self, session: "Session", attach: Attach) -> None:
        super().__init__(session, attach)
        self.delivery_count = attach.initial_delivery_count or 0
        self.credit = INCOMING_CREDIT
        self.current: Transfer | None = None  # the first frame of the delivery under way
        self._parts: list[bytes] = []
        self.partial_bytes = 0

    def gather(self, payload: bytes, *, more: bool) -> bytes | None:
        """The whole payload when this was its last part."""
        if not more and not self._parts:
            if len(payload) > MAX_TRANSFER_BYTES:
                raise MessageTooLarge
            return payload
        self._parts.append(payload)
        self.partial_bytes += len(payload)
        # Empty parts cost memory too.
        if self.partial_bytes > MAX_TRANSFER_BYTES or len(self._parts) > MAX_TRANSFER_BYTES // 64:
            self.discard_partial()
            raise MessageTooLarge
        if more:
            return None
        whole = b"".join(self._parts)
        self.discard_partial()
        return whole

    def discard_partial(self) -> None:
        self._parts = []
        self.partial_bytes = 0

    def count_delivery(self) -> bool:
        """Whether the peer should be given new credit."""
        self.delivery_count = (self.delivery_count + 1) % _WRAP
        self.credit -= 1
        return self.credit <= INCOMING_CREDIT // 2

    def replenish(self) -> None:
        self.credit = INCOMING_CREDIT


class OutgoingLink(Link):
    """The peer receives, as much as it gave credit for."""

    def __init__(self, session: "Session", attach: Attach) -> None:
        super().__init__(session, attach)
        self.credit = 0
        self.drain = False
        self.is_presettled = attach.snd_settle_mode == 1

    def take_flow(self, flow: Flow) -> None:
        seen = flow.delivery_count or 0
        credit = (flow.link_credit or 0) + seen - self.delivery_count
        self.credit = credit % _WRAP if credit % _WRAP < _WRAP // 2 else 0
        self.drain = bool(flow.drain)

    def use_credit(self) -> None:
        self.credit -= 1
        self.delivery_count = (self.delivery_count + 1) % _WRAP

    def use_up_credit(self) -> None:
        """There is nothing more for a peer that drains."""
        self.delivery_count = (self.delivery_count + self.credit) % _WRAP
        self.credit = 0
        self.drain = False

    @property
    def can_deliver(self) -> bool:
        return self.credit > 0 and self.session.can_deliver
