"""Links: a one-way flow of messages between a peer and an endpoint."""

from typing import TYPE_CHECKING, Any

from localcloud.servicebus.amqp.performatives import Attach, Flow, Transfer

if TYPE_CHECKING:
    from localcloud.servicebus.amqp.session import Session

INCOMING_CREDIT = 1000  # granted to a sender, and renewed when half of it is used
MAX_TRANSFER_BYTES = 256 * 1024  # the Standard tier's limit for a message, a batch or a request
SERIAL_NUMBERS = 2**32  # the modulus of ids and counts (AMQP 1.0, 2.8.10)


Outcome = bytes  # an encoded delivery state


def remaining_grant(granted: int, *, since: int, sent: int) -> int:
    """Return the rest of a window or link credit that the peer granted at serial number `since`.

    Deliveries sent since then count against the grant, because the peer did not know of them. The difference
    of serial numbers is signed, because `sent` may have wrapped around.
    """
    outstanding = (sent - since + SERIAL_NUMBERS // 2) % SERIAL_NUMBERS - SERIAL_NUMBERS // 2
    return max(0, granted - outstanding)


class Endpoint:
    """The target of a link. Subclasses override the methods that their direction of messages needs."""

    def received(self, link: "IncomingLink", transfer: Transfer, payload: bytes) -> Outcome | None:  # noqa: ARG002
        """Handle a complete delivery. Return the outcome to send, or None to send nothing."""
        return None

    def credited(self, link: "OutgoingLink") -> None:
        """Handle new credit from the peer, or room for deliveries after a pause."""

    def settled(self, link: "OutgoingLink", tag: bytes, state: Any) -> Outcome | None:  # noqa: ARG002
        """Settle a delivery as the peer requests, and return the outcome to confirm."""
        return None

    def has_more(self) -> bool:
        """Return whether a message is ready for a receiver."""
        return False

    def detached(self, link: "Link") -> None:
        """Handle the end of the link."""


class Link:
    def __init__(self, session: "Session", attach: Attach) -> None:
        self.session = session
        self.handle = attach.handle
        self.attach = attach
        self.endpoint: Endpoint | None = None
        self.delivery_count = 0
        self.credit = 0


class IncomingLink(Link):
    """A link on which the peer sends. It collects deliveries of several frames, up to the size limit."""

    def __init__(self, session: "Session", attach: Attach) -> None:
        super().__init__(session, attach)
        self.delivery_count = attach.initial_delivery_count or 0
        self.credit = INCOMING_CREDIT
        self.current: Transfer | None = None  # the first frame of the delivery in progress
        self._parts: list[bytes] = []
        self.partial_bytes = 0

    def gather(self, payload: bytes) -> None:
        """Store a frame's payload. Of an oversized delivery, store only enough to reject it."""
        if payload and self.partial_bytes <= MAX_TRANSFER_BYTES:
            self._parts.append(payload)
            self.partial_bytes += len(payload)

    def take_gathered(self) -> bytes:
        whole = b"".join(self._parts)
        self.discard_partial()
        return whole

    def discard_partial(self) -> None:
        self.current = None
        self._parts = []
        self.partial_bytes = 0

    def replenish(self) -> None:
        """Grant the full credit again, and advance the delivery count by the used credit."""
        self.delivery_count = (self.delivery_count + INCOMING_CREDIT - self.credit) % SERIAL_NUMBERS
        self.credit = INCOMING_CREDIT


class OutgoingLink(Link):
    """A link on which the peer receives, up to the credit that it granted."""

    def __init__(self, session: "Session", attach: Attach) -> None:
        super().__init__(session, attach)
        self.drain = False
        self.is_presettled = attach.snd_settle_mode == 1

    def apply_flow(self, flow: Flow) -> None:
        self.credit = remaining_grant(
            flow.link_credit or 0, since=flow.delivery_count or 0, sent=self.delivery_count
        )
        self.drain = bool(flow.drain)

    @property
    def can_deliver(self) -> bool:
        return self.credit > 0 and self.session.can_deliver

    @property
    def is_blocked(self) -> bool:
        """Whether a message with credit, or part of one, waits for room in the session or connection."""
        session = self.session
        if session.is_mid_delivery:
            return True
        has_more = self.endpoint is not None and self.endpoint.has_more()
        return self.credit > 0 and has_more and not session.can_deliver
