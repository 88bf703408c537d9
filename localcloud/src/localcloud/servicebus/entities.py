"""Queues, subscriptions, topics and their dead-letter queues: state machines without I/O.

A message is in exactly one of these states, and each transition is a method:

    scheduled --due--> ready            scheduled --cancel--> gone
    ready --take--> locked              ready --take_and_delete, expiry--> gone (or dead-lettered)
    locked --complete--> gone           locked --abandon, release, lock expiry--> ready
    locked --defer--> deferred          locked --dead_letter, too many deliveries--> dead-lettered
    deferred --receive_deferred--> locked, and back to deferred when that lock expires

Every change is recorded in `Changes`. The broker commits it to the journal before it answers a client.
"""

import itertools
from collections.abc import Callable, Iterable, Mapping

from localcloud.servicebus.amqp import codec
from localcloud.servicebus.changes import SEQUENCE_BITS, Changes
from localcloud.servicebus.errors import MessageNotFound, NotAllowed, QuotaExceeded
from localcloud.servicebus.indexes import Deadlines, DuplicateHistory, ReadyMessages, SequenceIndex
from localcloud.servicebus.locks import Locks
from localcloud.servicebus.messages import Message, MessageState, MessageView, set_application_properties
from localcloud.servicebus.options import Counts, EntityOptions

MAX_HOPS = 4  # auto-forwarding, as in Azure
MAX_ENTITY_BYTES = 1024**3  # the smallest quota in Azure

ACTIVE, DEFERRED, SCHEDULED = MessageState.ACTIVE, MessageState.DEFERRED, MessageState.SCHEDULED

DEAD_LETTER_REASON = "DeadLetterReason"
DEAD_LETTER_DESCRIPTION = "DeadLetterErrorDescription"

TimeSource = Callable[[], int]


class Queue:
    """A queue, a subscription, or a dead-letter queue of either."""

    def __init__(
        self,
        number: int,
        path: str,
        options: EntityOptions,
        *,
        changes: Changes,
        now: TimeSource,
        wake: Callable[["Queue", int], None],
    ) -> None:
        self.number = number
        self.path = path
        self.options = options
        self.is_dead_letter_queue = False
        self.dead_letters: Queue | None = None
        self.transfer_dead_letters: Queue | None = None
        self.forward_to: Queue | None = None
        self.forward_dead_letters_to: Queue | None = None
        self.last_sequence = 0
        self.bytes = 0
        self.wake_at = 0  # the time that the timer is set to, or 0
        self.messages: dict[int, Message] = {}
        self.locked = Locks()  # locked messages stay in `messages` too
        self.scheduled_count = 0
        self.deferred_count = 0
        self.history = DuplicateHistory(options.duplicate_window) if options.duplicate_window else None
        self._changes = changes
        self._now = now
        self._wake = wake
        self._first_row = number << SEQUENCE_BITS
        self._order = SequenceIndex()
        self._ready = ReadyMessages(self._is_ready)
        self._expiry_times = Deadlines(self._is_expiry)
        self._due_times = Deadlines(self._is_due)

    # incoming messages

    def check_room(self, size: int) -> None:
        if self.bytes + size > MAX_ENTITY_BYTES:
            raise QuotaExceeded(f"{self.path} has reached its maximum size of {MAX_ENTITY_BYTES} bytes.")

    def send(self, message: Message) -> int:
        """Enqueue or schedule a message, or drop it as a duplicate. Return its sequence number."""
        now = self._now()
        sequence = self._next_sequence()
        if self.history is not None and self._is_duplicate(self.history, message, now):
            return sequence
        message.sequence = sequence
        if not message.original_sequence:
            message.original_sequence = sequence
        if message.due_at > now:
            self._schedule(message)
        else:
            self._enqueue(message, now)
        return sequence

    def _next_sequence(self) -> int:
        self.last_sequence += 1
        self._changes.counters[self.number] = self.last_sequence
        return self.last_sequence

    def _is_duplicate(self, history: DuplicateHistory, message: Message, now: int) -> bool:
        message_id = MessageView(message).message_id
        if history.is_known(message_id, now):
            return True
        until = now + history.window
        history.remember(message_id, until)
        self._changes.duplicates.append((self.number, message_id, until))
        return False

    def _schedule(self, message: Message) -> None:
        message.state = SCHEDULED
        message.enqueued_at = self._now()
        self._store(message)
        self._record(message)

    def _enqueue(self, message: Message, now: int) -> None:
        """Make the message ready for receivers, or forward it."""
        if self.options.default_ttl:
            message.ttl = min(message.ttl or self.options.default_ttl, self.options.default_ttl)
        if self.forward_to is not None:
            self._forward(message, self.forward_to)
            return
        message.state = ACTIVE
        message.enqueued_at = now
        message.expires_at = now + message.ttl if message.ttl else 0
        self._store(message)
        self._record(message)

    def _forward(self, message: Message, target: "Queue") -> None:
        if message.hops >= MAX_HOPS:
            self._dead_letter_unforwardable(
                message,
                "MaxTransferHopCountExceeded",
                f"The message was forwarded {MAX_HOPS} times, the most that Service Bus allows.",
            )
            return
        forwarded = message.copy()
        forwarded.hops += 1
        try:
            target.check_room(forwarded.size)
        except QuotaExceeded as error:
            self._dead_letter_unforwardable(message, "QuotaExceeded", error.description)
        else:
            target.send(forwarded)

    def _dead_letter_unforwardable(self, message: Message, reason: str, description: str) -> None:
        """Move a message that cannot be forwarded to the dead letters of this entity.

        ForwardDeadLetteredMessagesTo does not apply, because forwarding could fail again in an endless loop.
        """
        set_application_properties(message, _dead_letter_properties(reason, description))
        if self.dead_letters is not None:
            self.dead_letters.add_dead_letter(message)

    def add_dead_letter(self, message: Message) -> None:
        """Add a message to this dead-letter queue. It keeps its sequence number and no longer expires."""
        message.state, message.lock, message.locked_until = ACTIVE, None, 0
        message.ttl = message.expires_at = message.due_at = 0
        if not message.enqueued_at:
            message.enqueued_at = self._now()
        self._store(message)
        self._record(message)

    def restore(self, message: Message) -> None:
        """Add a message from the journal."""
        self.last_sequence = max(self.last_sequence, message.sequence)
        self._store(message)

    def _record(self, message: Message) -> None:
        self._changes.rows[self._first_row | message.sequence] = message

    def _store(self, message: Message) -> None:
        sequence = message.sequence
        self.messages[sequence] = message
        self._order.add(sequence)
        self.bytes += len(message.bare) + len(message.annotations)  # message.size, inlined for speed
        if message.state == SCHEDULED:
            self.scheduled_count += 1
            self._due_times.add(message.due_at, sequence)
            self._arm(message.due_at)
            return
        if message.expires_at:
            self._expiry_times.add(message.expires_at, sequence)
            if not self.wake_at or message.expires_at < self.wake_at:
                self._arm(message.expires_at)
        if message.state == DEFERRED:
            self.deferred_count += 1
        else:
            self._make_ready(message)

    def _make_ready(self, message: Message) -> None:
        self._ready.add(message)
        self._changes.ready.add(self)

    # outgoing messages

    def _remove(self, message: Message) -> None:
        sequence = message.sequence
        del self.messages[sequence]
        self._order.discard(sequence)
        self.bytes -= message.size
        if message.expires_at:
            self._expiry_times.cancel()
        if message.state == SCHEDULED:
            self.scheduled_count -= 1
        elif message.state == DEFERRED:
            self.deferred_count -= 1
        self._changes.rows[self._first_row | sequence] = None

    def _is_ready(self, message: Message) -> bool:
        return (
            message.lock is None
            and message.state == ACTIVE
            and self.messages.get(message.sequence) is message
        )

    @property
    def has_ready_entries(self) -> bool:
        """Whether the ready queue has entries, possibly all stale.

        A fast check, because it runs very often.
        """
        return bool(self._ready)

    def take(self) -> Message | None:
        """Return the next ready message, locked for its receiver."""
        message = self._ready.take()
        if message is not None:
            self._lock(message)
        return message

    def take_and_delete(self) -> Message | None:
        message = self._ready.take()
        if message is not None:
            self._remove(message)
        return message

    def empty(self) -> None:
        """Remove all messages, including locked ones."""
        for message in list(self.messages.values()):
            if message.lock is None:
                self._remove(message)
            else:
                self.complete(message.lock)

    # locks

    def _lock(self, message: Message) -> None:
        until = self._now() + self.options.lock_duration
        self.locked.lock(message, until)
        self._arm(until)

    def renew(self, token: bytes) -> int:
        return self.locked.renew(token, self._now() + self.options.lock_duration)

    def complete(self, token: bytes) -> None:
        self._remove(self.locked.unlock(token))

    def release(self, token: bytes) -> None:
        """Unlock the message without counting the delivery."""
        self._requeue(self.locked.unlock(token))

    def abandon(self, token: bytes, properties: Mapping[str, bytes] | None = None) -> None:
        message = self.locked.unlock(token)
        self._modify(message, properties)
        self._count_failed_delivery(message)

    def defer(self, token: bytes, properties: Mapping[str, bytes] | None = None) -> None:
        message = self.locked.unlock(token)
        self._modify(message, properties)
        if message.state != DEFERRED:
            message.state = DEFERRED
            self.deferred_count += 1
        self._record(message)

    def dead_letter(
        self,
        token: bytes,
        reason: str | None = None,
        description: str | None = None,
        properties: Mapping[str, bytes] | None = None,
    ) -> None:
        if self.is_dead_letter_queue:
            raise NotAllowed("A message in a dead-letter queue cannot be dead-lettered again.")
        message = self.locked.unlock(token)
        self._modify(message, properties)
        self._move_to_dead_letters(message, reason, description)

    def _modify(self, message: Message, properties: Mapping[str, bytes] | None) -> None:
        if properties:
            self.bytes -= message.size
            set_application_properties(message, properties)
            self.bytes += message.size

    def _count_failed_delivery(self, message: Message) -> None:
        message.delivery_count += 1
        limit = self.options.max_delivery_count
        if message.delivery_count >= limit and not self.is_dead_letter_queue:
            self._move_to_dead_letters(
                message,
                "MaxDeliveryCountExceeded",
                f"Message could not be consumed after {limit} delivery attempts.",
            )
            return
        self._record(message)
        self._requeue(message)

    def _requeue(self, message: Message) -> None:
        """Make an unlocked message ready again.

        A deferred message stays deferred, and an expired message expires.
        """
        if message.state == DEFERRED:
            return
        if message.expires_at and message.expires_at <= self._now():
            self._expire(message)
        else:
            self._make_ready(message)

    def _move_to_dead_letters(self, message: Message, reason: str | None, description: str | None) -> None:
        self._remove(message)
        set_application_properties(message, _dead_letter_properties(reason, description))
        if self.forward_dead_letters_to is not None:
            message.source, message.ttl, message.due_at = self.path, 0, 0
            self._forward(message, self.forward_dead_letters_to)
        elif self.dead_letters is not None:
            self.dead_letters.add_dead_letter(message)

    # access by sequence number

    def peek(self, from_sequence: int, count: int) -> Iterable[Message]:
        numbers = itertools.islice(self._order.starting_at(from_sequence), count)
        return (self.messages[number] for number in numbers)

    def cancel_scheduled(self, sequences: list[int]) -> None:
        """Cancel all messages or none."""
        found = [self.messages.get(sequence) for sequence in sequences]
        if len(set(sequences)) != len(sequences) or any(
            message is None or message.state != SCHEDULED for message in found
        ):
            raise MessageNotFound
        for message in found:
            if message is not None:
                self._remove(message)
                self._due_times.cancel()

    def receive_deferred(self, sequences: list[int], *, delete: bool) -> list[Message]:
        """Lock or delete all messages or none."""
        found = [self.messages.get(sequence) for sequence in sequences]
        deferred = [message for message in found if message is not None and message.state == DEFERRED]
        if len(deferred) != len(set(sequences)) or any(message.lock is not None for message in deferred):
            raise MessageNotFound
        for message in deferred:
            if delete:
                self._remove(message)
            else:
                self._lock(message)
        return deferred

    # time

    def run_due(self, now: int) -> None:
        """Handle expired locks, expired messages, due scheduled messages and the duplicate history."""
        for token in self.locked.expired(now):
            self.expire_lock(token)
        for sequence in self._expiry_times.due(now):
            if self.messages[sequence].lock is None:  # a locked message expires when its lock does
                self._expire(self.messages[sequence])
        for sequence in self._due_times.due(now):
            self._activate(self.messages[sequence], now)
        if self.history is not None:
            self.history.forget(now)

    def expire_lock(self, token: bytes) -> None:
        """Expire a lock. This counts as a failed delivery."""
        self._count_failed_delivery(self.locked.unlock(token))

    def _activate(self, message: Message, now: int) -> None:
        """Enqueue a due scheduled message like a new one, with a new sequence number."""
        self._remove(message)
        message.sequence = self._next_sequence()
        message.original_sequence = message.sequence
        self._enqueue(message, now)

    def _expire(self, message: Message) -> None:
        if self.options.dead_letter_on_expiration:
            self._move_to_dead_letters(
                message,
                "TTLExpiredException",
                "The message expired and was dead lettered.",
            )
        else:
            self._remove(message)
        self._ready.cancel()

    def _is_expiry(self, when: int, sequence: int) -> bool:
        message = self.messages.get(sequence)
        return message is not None and message.expires_at == when and message.state == ACTIVE

    def _is_due(self, when: int, sequence: int) -> bool:
        message = self.messages.get(sequence)
        return message is not None and message.state == SCHEDULED and message.due_at == when

    def rearm(self) -> None:
        """Set this entity's timer to the next time at which `run_due` has work."""
        times = (self.locked.next_expiry, self._expiry_times.next_at, self._due_times.next_at)
        self.wake_at = 0
        if next_at := min((time for time in times if time is not None), default=0):
            self._arm(next_at)

    def _arm(self, when: int) -> None:
        if not self.wake_at or when < self.wake_at:
            self.wake_at = when
            self._wake(self, when)

    def counts(self) -> Counts:
        dead, transfer = self.dead_letters, self.transfer_dead_letters
        return Counts(
            active=len(self.messages) - self.scheduled_count - self.deferred_count,
            scheduled=self.scheduled_count,
            dead_lettered=len(dead.messages) if dead is not None else 0,
            transfer_dead_lettered=len(transfer.messages) if transfer is not None else 0,
            bytes=self.bytes,
        )


def _dead_letter_properties(reason: str | None, description: str | None) -> dict[str, bytes]:
    given = {DEAD_LETTER_REASON: reason, DEAD_LETTER_DESCRIPTION: description}
    return {name: codec.string(value) for name, value in given.items() if value is not None}
