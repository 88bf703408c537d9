"""Sessions: the transfer windows and the links of a channel."""

from collections import deque
from typing import TYPE_CHECKING, Any

from localcloud.servicebus.amqp import codec, decoding, links
from localcloud.servicebus.amqp import performatives as frames
from localcloud.servicebus.amqp.codec import NULL
from localcloud.servicebus.errors import BrokerError, NotAllowed, QuotaExceeded

if TYPE_CHECKING:
    from localcloud.servicebus.amqp.connection import Connection

HANDLE_MAX = 255
INCOMING_WINDOW = 5000  # in transfers, renewed when half of it is used
OUTGOING_WINDOW = 5000  # only announced: no transfers are kept for resending


class Session:
    def __init__(self, connection: "Connection", channel: int, begin: frames.Begin) -> None:
        self.connection = connection
        self.channel = channel
        self.links: dict[int, links.Link] = {}
        self._unsettled: dict[int, tuple[links.OutgoingLink, bytes]] = {}  # link and tag by delivery-id
        self._next_incoming_id = begin.next_outgoing_id % links.SERIAL_NUMBERS
        self._next_outgoing_id = 0  # counts frames, as windows do
        self._next_delivery_id = 0
        self._peer_window = begin.incoming_window  # the number of frames that the peer accepts
        self._blocked: deque[bytes] = deque()  # frames of one delivery that wait for the peer's window
        self._accepted: tuple[int, int] | None = None  # deliveries to acknowledge together
        self._received = 0  # transfers since the last renewal of the window
        self.send(
            frames.BEGIN,
            codec.ushort(channel),
            codec.uint(0),
            codec.uint(INCOMING_WINDOW),
            codec.uint(OUTGOING_WINDOW),
            codec.uint(HANDLE_MAX),
        )

    def send(self, descriptor: int, *fields: bytes) -> None:
        self.connection.send(
            frames.encode_frame(self.channel, frames.encode_performative(descriptor, *fields))
        )

    # links

    def on_attach(self, attach: frames.Attach) -> None:
        if not 0 <= attach.handle <= HANDLE_MAX:
            raise QuotaExceeded(f"a session has handles from 0 to {HANDLE_MAX}")
        if attach.handle in self.links:
            raise NotAllowed(f"handle {attach.handle} is in use")
        link: links.Link = (
            links.OutgoingLink(self, attach) if attach.role else links.IncomingLink(self, attach)
        )
        try:
            self.connection.open_link(link)
        except BrokerError as error:
            # An attach without source and target, then a detach with the error (AMQP 1.0, 2.6.3).
            self._send_attach(attach, NULL, NULL)
            self._send_detach(attach.handle, error)
            return
        self.links[attach.handle] = link
        self._send_attach(attach, _echo_terminus(attach.source), _echo_terminus(attach.target))
        if isinstance(link, links.IncomingLink):
            self._send_flow(link)

    def _send_attach(self, attach: frames.Attach, source: bytes, target: bytes) -> None:
        we_send = attach.role
        self.send(
            frames.ATTACH,
            codec.string(attach.name),
            codec.uint(attach.handle),
            codec.boolean(not we_send),
            codec.ubyte(attach.snd_settle_mode) if attach.snd_settle_mode in {0, 1, 2} else NULL,
            codec.ubyte(attach.rcv_settle_mode) if attach.rcv_settle_mode in {0, 1} else NULL,
            source,
            target,
            NULL,
            NULL,
            codec.uint(0) if we_send else NULL,
            # The limit of the side that announces it. A .NET client would otherwise hold us to it.
            NULL if we_send else codec.ulong(links.MAX_TRANSFER_BYTES),
        )

    def _send_detach(self, handle: int, error: BrokerError | None) -> None:
        reason = frames.encode_error(error.condition, error.description) if error is not None else NULL
        self.send(frames.DETACH, codec.uint(handle), codec.TRUE, reason)

    def on_detach(self, detach: frames.Detach) -> None:
        link = self.links.pop(detach.handle, None)
        if link is None:
            return  # the answer to our own detach, or a repeated detach
        self._detach_endpoint(link)
        self._send_detach(detach.handle, None)

    def detach(self, link: links.Link, error: BrokerError) -> None:
        if self.links.pop(link.handle, None) is not None:
            self._detach_endpoint(link)
            self._send_detach(link.handle, error)

    def _detach_endpoint(self, link: links.Link) -> None:
        """Detach the endpoint.

        Locks of delivered messages stay, because they outlive the link in Service Bus.
        """
        if link.endpoint is not None:
            link.endpoint.detached(link)
        kept = {number: entry for number, entry in self._unsettled.items() if entry[0] is not link}
        self._unsettled = kept

    def end(self) -> None:
        for link in list(self.links.values()):
            if link.endpoint is not None:
                link.endpoint.detached(link)
        self.links.clear()
        self._unsettled.clear()

    # flow

    def on_flow(self, flow: frames.Flow) -> None:
        was_shut = not self._has_room
        self._peer_window = links.remaining_grant(
            flow.incoming_window, since=flow.next_incoming_id or 0, sent=self._next_outgoing_id
        )
        while self._blocked and self._peer_window > 0:
            self._count_frame()
            self.connection.send(self._blocked.popleft())
        link = self.links.get(flow.handle) if flow.handle is not None else None
        if isinstance(link, links.OutgoingLink):
            link.apply_flow(flow)
        if flow.echo:
            self._send_flow(link)
        # The window belongs to the session: if it was closed, every link may continue.
        for waiting in (link,) if link is not None and not was_shut else tuple(self.links.values()):
            if isinstance(waiting, links.OutgoingLink) and waiting.endpoint is not None:
                waiting.endpoint.credited(waiting)

    def _send_flow(self, link: links.Link | None, *, drained: bool = False) -> None:
        windows = (
            codec.uint(self._next_incoming_id),
            codec.uint(INCOMING_WINDOW),
            codec.uint(self._next_outgoing_id),
            codec.uint(OUTGOING_WINDOW),
        )
        if link is None:
            self.send(frames.FLOW, *windows)
            return
        if isinstance(link, links.IncomingLink):
            link.replenish()
        counts = (codec.uint(link.handle), codec.uint(link.delivery_count), codec.uint(link.credit))
        self.send(frames.FLOW, *windows, *counts, NULL, codec.boolean(drained))

    def finish_drain(self, link: links.OutgoingLink) -> None:
        """End a drain: advance the delivery count by the unused credit (AMQP 1.0, 2.6.7)."""
        link.delivery_count = (link.delivery_count + link.credit) % links.SERIAL_NUMBERS
        link.credit, link.drain = 0, False
        self._send_flow(link, drained=True)

    # deliveries from the peer

    def on_transfer(self, transfer: frames.Transfer, payload: bytes) -> None:
        self._next_incoming_id = (self._next_incoming_id + 1) % links.SERIAL_NUMBERS
        self._received += 1
        link = self.links.get(transfer.handle)
        if isinstance(link, links.IncomingLink):  # otherwise it was detached while transfers were in flight
            if transfer.more or transfer.aborted or link.current is not None:
                self._gather(link, transfer, payload)
            else:
                self._on_delivery(link, transfer, payload)
        if self._received >= INCOMING_WINDOW // 2:
            self._received = 0
            self._send_flow(None)

    def _gather(self, link: links.IncomingLink, transfer: frames.Transfer, payload: bytes) -> None:
        """Handle a frame of a delivery that has several."""
        if transfer.aborted:
            link.discard_partial()
            return
        first = link.current = link.current or transfer
        link.gather(payload)
        self.connection.check_partial()
        if not transfer.more:
            # Any frame of the delivery can have these two fields.
            settled, state = first.settled or transfer.settled, first.state or transfer.state
            whole = link.take_gathered()
            self._on_delivery(link, first._replace(settled=settled, state=state), whole)

    def _on_delivery(self, link: links.IncomingLink, transfer: frames.Transfer, payload: bytes) -> None:
        """Pass a complete delivery to the endpoint, and answer with its outcome."""
        number = transfer.delivery_id
        if number is None:
            raise NotAllowed("The first transfer of a delivery has a delivery-id.")
        if link.endpoint is not None:
            outcome = link.endpoint.received(link, transfer, payload)
            if outcome is not None and not transfer.settled:
                self._answer(number % links.SERIAL_NUMBERS, outcome)
        link.credit -= 1
        if link.credit <= links.INCOMING_CREDIT // 2 and link.handle in self.links:
            self._send_flow(link)

    def _answer(self, number: int, outcome: links.Outcome) -> None:
        # Consecutive accepted deliveries share a disposition, sent after the changes of this loop iteration
        # are committed.
        if outcome is frames.ACCEPTED:
            if self._accepted is not None and self._accepted[1] + 1 == number:
                self._accepted = (self._accepted[0], number)
                return
            self.acknowledge()
            self._accepted = (number, number)
            self.connection.acknowledging.add(self)
        else:
            self.connection.send(frames.encode_disposition(self.channel, number, number, outcome, role=True))

    def acknowledge(self) -> None:
        if self._accepted is not None:
            first, last = self._accepted
            self.connection.send(
                frames.encode_disposition(self.channel, first, last, frames.ACCEPTED, role=True)
            )
            self._accepted = None

    # deliveries to the peer

    @property
    def is_mid_delivery(self) -> bool:
        """Whether frames of a delivery still wait for the peer's window."""
        return bool(self._blocked)

    @property
    def _has_room(self) -> bool:
        return self._peer_window > 0 and not self._blocked

    @property
    def can_deliver(self) -> bool:
        return self._has_room and self.connection.can_write

    def deliver(self, link: links.OutgoingLink, tag: bytes, payload: bytes) -> None:
        """Send a message. Frames beyond the peer's window wait, and all later deliveries wait for them."""
        number = self._next_delivery_id
        self._next_delivery_id = (number + 1) % links.SERIAL_NUMBERS
        settled = link.is_presettled
        if not settled:
            self._unsettled[number] = (link, tag)
        link.credit -= 1
        link.delivery_count = (link.delivery_count + 1) % links.SERIAL_NUMBERS
        room = self.connection.peer_max_frame - frames.TRANSFER_OVERHEAD
        more = len(payload) > room
        first = payload[:room] if more else payload
        self._transmit(
            frames.encode_transfer(
                self.channel, link.handle, number, tag, settled=settled, more=more, payload=first
            )
        )
        for start in range(room, len(payload), room):
            part = payload[start : start + room]
            rest = start + room < len(payload)
            self._transmit(frames.encode_continuation(self.channel, link.handle, more=rest, payload=part))

    def _transmit(self, frame: bytes) -> None:
        if self._peer_window > 0 and not self._blocked:
            self._count_frame()
            self.connection.send(frame)
        else:
            self._blocked.append(frame)

    def _count_frame(self) -> None:
        self._peer_window -= 1
        self._next_outgoing_id = (self._next_outgoing_id + 1) % links.SERIAL_NUMBERS

    def on_disposition(self, disposition: frames.Disposition) -> None:
        """Settle deliveries, and confirm the outcomes unless the peer has settled already."""
        if not disposition.role:
            return  # about deliveries that the peer sent
        first, last = disposition.first, disposition.first if disposition.last is None else disposition.last
        confirmed: list[tuple[int, links.Outcome]] = []
        for number in self._unsettled_between(first, last):
            link, tag = self._unsettled.pop(number)
            if link.endpoint is not None:
                outcome = link.endpoint.settled(link, tag, disposition.state)
                if outcome is not None:
                    confirmed.append((number, outcome))
        if not disposition.settled:
            self._confirm(confirmed)

    def _unsettled_between(self, first: int, last: int) -> list[int]:
        """Return the unsettled deliveries of a range, without iterating over a wide range from the peer."""
        if first == last:
            return [first] if first in self._unsettled else []
        if last - first > len(self._unsettled):
            return [number for number in self._unsettled if first <= number <= last]
        return [number for number in range(first, last + 1) if number in self._unsettled]

    def _confirm(self, confirmed: list[tuple[int, links.Outcome]]) -> None:
        """Send a disposition for each run of consecutive deliveries with the same outcome."""
        at = 0
        while at < len(confirmed):
            first, outcome = confirmed[at]
            last = first
            at += 1
            while at < len(confirmed) and confirmed[at] == (last + 1, outcome):
                last, at = last + 1, at + 1
            self.connection.send(frames.encode_disposition(self.channel, first, last, outcome, role=False))


def _echo_terminus(terminus: Any) -> bytes:
    """Return a source or target with the peer's address unchanged, because clients compare it."""
    if not isinstance(terminus, decoding.Described) or not isinstance(terminus.value, list):
        return NULL
    address = terminus.value[0] if terminus.value else None
    return codec.described(
        terminus.descriptor, codec.list_([codec.string(address) if isinstance(address, str) else NULL])
    )
