"""The engine against a simple model: after the same steps, all visible state must match.

The model keeps each message as a small record in a list, and scans the list. After every step, the engine's
queues, dead letters, locks, counts and journal content are compared with it.
"""

from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, invariant, precondition, rule

from localcloud.servicebus.changes import SEQUENCE_BITS
from localcloud.servicebus.config import EntityConfig, NamespaceConfig
from localcloud.servicebus.engine import Namespace
from localcloud.servicebus.entities import Queue
from localcloud.servicebus.errors import LockLost, MessageNotFound
from localcloud.servicebus.messages import Message, MessageState, MessageView, parse_message
from localcloud.servicebus.options import EntityOptions
from tests.support.clock import ManualClock
from tests.support.raw_amqp import message as encoded

LOCK, TTL, WINDOW, MAX_DELIVERIES = 10_000, 60_000, 5_000, 3


@dataclass
class Record:
    name: str
    sequence: int
    state: str  # ready, locked, deferred, locked-deferred, scheduled, dead
    expires: int | None = None
    due: int = 0
    locked_until: int = 0
    deliveries: int = 0


@dataclass
class Model:
    now: int
    records: list[Record] = field(default_factory=list)
    seen: dict[str, int] = field(default_factory=dict)
    last: int = 0

    def send(self, name: str, ttl: int, delay: int) -> int | None:
        self.last += 1
        if self.seen.get(name, -1) > self.now:
            return None
        self.seen[name] = self.now + WINDOW
        record = Record(name, self.last, "ready")
        if delay:
            record.state, record.due, record.expires = "scheduled", self.now + delay, -ttl
        else:
            record.expires = self.now + min(ttl or TTL, TTL)
        self.records.append(record)
        return self.last

    def ready(self) -> Record | None:
        return min((r for r in self.records if r.state == "ready"), key=lambda r: r.sequence, default=None)

    def find(self, sequence: int) -> Record | None:
        return next((r for r in self.records if r.sequence == sequence and r.state != "dead"), None)

    def fail(self, record: Record) -> None:
        record.deliveries += 1
        if record.deliveries >= MAX_DELIVERIES:
            self.kill(record)
        else:
            self.unlock(record)

    def unlock(self, record: Record) -> None:
        record.state = "deferred" if record.state == "locked-deferred" else "ready"
        if record.state == "ready" and record.expires is not None and record.expires <= self.now:
            self.kill(record)

    def kill(self, record: Record) -> None:
        record.state, record.expires = "dead", None

    def advance(self, milliseconds: int) -> None:
        """Advance the clock from event to event instead of by milliseconds."""
        self.now += milliseconds
        for record in sorted(self.records, key=lambda r: r.locked_until):
            if record.state.startswith("locked") and record.locked_until <= self.now:
                self.fail(record)
        for record in self.records:
            if record.state == "ready" and record.expires is not None and record.expires <= self.now:
                self.kill(record)
        due = [r for r in self.records if r.state == "scheduled" and r.due <= self.now]
        for record in sorted(due, key=lambda r: (r.due, r.sequence)):
            self.last += 1
            ttl = -(record.expires or 0)
            record.state, record.sequence = "ready", self.last
            record.expires = self.now + min(ttl or TTL, TTL)


class QueueAgainstModel(RuleBasedStateMachine):
    tokens: Bundle[tuple[bytes, int]] = Bundle("tokens")

    def __init__(self) -> None:
        super().__init__()
        self.clock = ManualClock()
        options = EntityOptions(
            lock_duration=LOCK,
            max_delivery_count=MAX_DELIVERIES,
            default_ttl=TTL,
            dead_letter_on_expiration=True,
            duplicate_window=WINDOW,
        )
        numbers: dict[str, int] = {}
        self.namespace = Namespace(
            NamespaceConfig(queues=(EntityConfig("q", options),)),
            self.clock,
            lambda path: numbers.setdefault(path, len(numbers) + 1),
        )
        self.queue = self.namespace.entity("q")
        self.journal: dict[int, Message] = {}
        self.model = Model(self.namespace.now())

    @rule(
        names=st.lists(st.integers(0, 30).map("m{}".format), min_size=1, max_size=4),
        ttl=st.sampled_from([0, 0, 4000, 8000, 500_000]),
        delay=st.sampled_from([0, 0, 0, 3000]),
    )
    def send(self, names: list[str], ttl: int, delay: int) -> None:
        for name in names:
            message = parse_message(encoded(name.encode(), name))
            message.ttl, message.due_at = ttl, self.namespace.now() + delay if delay else 0
            (sequence,) = self.namespace.send(self.queue, [message])
            self.model.send(name, ttl, delay)
            assert sequence == self.model.last

    @rule(target=tokens)
    @precondition(lambda self: self.model.ready() is not None)
    def take(self) -> tuple[bytes, int]:
        message, expected = self.queue.take(), self.model.ready()
        assert (message.sequence if message else None) == (expected.sequence if expected else None)
        assert message is not None
        assert expected is not None
        expected.state, expected.locked_until = "locked", self.model.now + LOCK
        assert message.locked_until == expected.locked_until
        assert message.lock is not None
        return message.lock, message.sequence

    @rule()
    @precondition(lambda self: len(self.model.records) > 8)
    def take_and_delete(self) -> None:
        message, expected = self.queue.take_and_delete(), self.model.ready()
        assert (message.sequence if message else None) == (expected.sequence if expected else None)
        if expected is not None:
            self.model.records.remove(expected)

    def settle(self, token: tuple[bytes, int], settle: Any) -> Record | None:
        """Settle in both. They must agree on whether the lock is valid."""
        lock, sequence = token
        record = self.model.find(sequence)
        stands = lock in self.queue.locked
        if not stands:
            with pytest.raises(LockLost):
                settle(lock)
            return None
        assert record is not None
        assert record.state.startswith("locked")
        settle(lock)
        return record

    @rule(token=consumes(tokens))
    def complete(self, token: tuple[bytes, int]) -> None:
        if record := self.settle(token, self.queue.complete):
            self.model.records.remove(record)

    @rule(token=consumes(tokens), times=st.integers(1, 3))
    def abandon(self, token: tuple[bytes, int], times: int) -> None:
        """Abandon once, or repeatedly as a failing consumer would."""
        record = self.settle(token, self.queue.abandon)
        if record is None:
            return
        self.model.fail(record)
        while times > 1 and record.state == "ready" and self.model.ready() is record:
            taken = self.queue.take()
            assert taken is not None
            assert (taken.sequence, taken.delivery_count) == (record.sequence, record.deliveries)
            assert taken.lock is not None
            self.queue.abandon(taken.lock)
            self.model.fail(record)
            times -= 1

    @rule(token=consumes(tokens))
    def release(self, token: tuple[bytes, int]) -> None:
        if record := self.settle(token, self.queue.release):
            self.model.unlock(record)

    @rule(token=consumes(tokens))
    def defer(self, token: tuple[bytes, int]) -> None:
        if record := self.settle(token, self.queue.defer):
            record.state = "deferred"

    @rule(token=consumes(tokens))
    def dead_letter(self, token: tuple[bytes, int]) -> None:
        if record := self.settle(token, lambda lock: self.queue.dead_letter(lock, "reason", "text")):
            self.model.kill(record)

    @rule(token=tokens)
    def renew(self, token: tuple[bytes, int]) -> None:
        if record := self.settle(token, self.queue.renew):
            record.locked_until = self.model.now + LOCK

    @rule(target=tokens, data=st.data())
    @precondition(lambda self: any("deferred" in r.state for r in self.model.records))
    def receive_deferred(self, data: st.DataObject) -> tuple[bytes, int]:
        record = data.draw(st.sampled_from([r for r in self.model.records if "deferred" in r.state]))
        if record.state == "locked-deferred":
            with pytest.raises(MessageNotFound):
                self.queue.receive_deferred([record.sequence], delete=False)
            return b"", 0
        (message,) = self.queue.receive_deferred([record.sequence], delete=False)
        record.state, record.locked_until = "locked-deferred", self.model.now + LOCK
        assert message.lock is not None
        return message.lock, message.sequence

    @rule(data=st.data())
    @precondition(lambda self: bool(self.model.records))
    def cancel(self, data: st.DataObject) -> None:
        record = data.draw(st.sampled_from(self.model.records))
        if record.state == "scheduled":
            self.queue.cancel_scheduled([record.sequence])
            self.model.records.remove(record)
        else:
            with pytest.raises(MessageNotFound):
                self.queue.cancel_scheduled([record.sequence])

    @rule(milliseconds=st.sampled_from([1, 500, 3000, 3000, 6000, 9999, 10_000]))
    def advance(self, milliseconds: int) -> None:
        self.clock.advance(milliseconds / 1000)
        self.model.now = self.namespace.now() - milliseconds
        self.model.advance(milliseconds)
        self.namespace.run_due()

    @rule()
    def restart(self) -> None:
        """Restart the process: locks end, and nothing else changes."""
        self.note_journal()
        for record in self.model.records:
            if record.state.startswith("locked"):
                record.state = "deferred" if record.state == "locked-deferred" else "ready"
        counters = [(number, queue.last_sequence) for number, queue in self.namespace.by_number.items()]
        known = [
            (self.queue.number, name, until)
            for name, until in sorted(self.model.seen.items(), key=lambda i: i[1])
        ]
        numbers = {path: queue.number for path, queue in self.namespace.entities.items()}
        self.namespace = Namespace(self.namespace.config, self.clock, numbers.__getitem__)
        self.queue = self.namespace.entity("q")
        rows = sorted(self.journal.items())
        for _, message in rows:
            message.lock, message.locked_until = None, 0
        self.namespace.restore(rows, counters, known)
        self.model.advance(0)
        self.namespace.run_due()

    def note_journal(self) -> None:
        for row, message in self.namespace.changes.rows.items():
            if message is None:
                self.journal.pop(row, None)
            else:
                self.journal[row] = message
        self.namespace.changes.clear_committed()

    @invariant()
    def both_agree(self) -> None:
        live = sorted((r for r in self.model.records if r.state != "dead"), key=lambda r: r.sequence)
        peeked = list(self.queue.peek(0, 1_000_000))
        assert [shown(self.queue, message) for message in peeked] == [
            (r.name, r.sequence, r.state, r.deliveries) for r in live
        ]
        dead_letters = self.queue.dead_letters
        assert dead_letters is not None
        dead = sorted((r.sequence, r.name) for r in self.model.records if r.state == "dead")
        assert [(m.sequence, MessageView(m).message_id) for m in dead_letters.peek(0, 1_000_000)] == dead
        counts = self.queue.counts()
        assert counts.dead_lettered == len(dead)
        assert counts.scheduled == sum(r.state == "scheduled" for r in live)
        assert counts.active == sum(r.state in {"ready", "locked"} for r in live)
        assert len(self.queue.locked) == sum(r.state.startswith("locked") for r in live)
        assert counts.bytes == sum(message.size for message in peeked)

    @invariant()
    def the_journal_holds_what_the_queues_hold(self) -> None:
        self.note_journal()
        stored = {
            queue.number << SEQUENCE_BITS | sequence
            for queue in self.namespace.by_number.values()
            for sequence in queue.messages
        }
        assert set(self.journal) == stored


def shown(queue: Queue, message: Message) -> tuple[str, int, str, int]:
    state = {MessageState.DEFERRED: "deferred", MessageState.SCHEDULED: "scheduled"}.get(
        MessageState(message.state), "ready"
    )
    if message.lock is not None:
        assert queue.locked[message.lock] is message
        state = "locked" if state == "ready" else "locked-deferred"
    return MessageView(message).message_id, message.sequence, state, message.delivery_count


TestQueueAgainstModel = QueueAgainstModel.TestCase
TestQueueAgainstModel.settings = settings(
    max_examples=60,
    stateful_step_count=60,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)


class QueueAgainstModelAtLength(QueueAgainstModel):
    """The same test for the longer suite."""


QueueAgainstModelAtLength.TestCase.settings = settings(
    max_examples=1000,
    stateful_step_count=100,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
TestQueueAgainstModelAtLength = pytest.mark.slow(pytest.mark.timeout(900)(QueueAgainstModelAtLength.TestCase))
