"""Details of the engine, with a clock that the test controls."""

from typing import Any

import pytest

from localcloud.servicebus.config import EntityConfig, NamespaceConfig, TopicConfig
from localcloud.servicebus.engine import Namespace
from localcloud.servicebus.entities import MAX_ENTITY_BYTES, Queue
from localcloud.servicebus.errors import LockLost, MessageNotFound, QuotaExceeded
from localcloud.servicebus.filters import Rule, TrueFilter
from localcloud.servicebus.indexes import Deadlines, DuplicateHistory, ReadyMessages, SequenceIndex
from localcloud.servicebus.messages import Message, MessageView, parse_message
from localcloud.servicebus.options import EntityOptions
from tests.support.clock import ManualClock
from tests.support.raw_amqp import message as encoded

EVERYTHING = (Rule("all", TrueFilter()),)


class World:
    def __init__(self, *queues: EntityConfig, topics: tuple[TopicConfig, ...] = ()) -> None:
        self.clock = ManualClock()
        numbers: dict[str, int] = {}
        self.namespace = Namespace(
            NamespaceConfig(queues=queues, topics=topics),
            self.clock,
            lambda path: numbers.setdefault(path, len(numbers) + 1),
        )

    def queue(self, name: str = "q") -> Queue:
        return self.namespace.entity(name)

    def send(self, name: str, queue: str = "q", **facts: Any) -> int:
        message = parse_message(encoded(b"body", name))
        for fact, value in facts.items():
            setattr(message, fact, value)
        return self.namespace.send(self.queue(queue), [message])[0]

    def pass_time(self, seconds: float) -> None:
        self.clock.advance(seconds)
        self.namespace.run_due()


def world(**options: Any) -> World:
    defaults: dict[str, Any] = {"lock_duration": 10_000, "max_delivery_count": 3}
    return World(EntityConfig("q", EntityOptions(**(defaults | options))))


def locked(queue: Queue) -> tuple[Message, bytes]:
    message = queue.take()
    assert message is not None
    assert message.lock is not None
    return message, message.lock


def name(message: Message | None) -> str | None:
    return None if message is None else MessageView(message).message_id


def test_renewing_one_lock_does_not_hold_up_the_end_of_another() -> None:
    it = world()
    it.send("renewed")
    it.send("forgotten")
    renewed, first = locked(it.queue())
    _, second = locked(it.queue())
    it.pass_time(6)
    it.queue().renew(first)
    it.pass_time(6)
    assert list(it.queue().locked) == [first]
    assert renewed.lock == first
    with pytest.raises(LockLost):
        it.queue().complete(second)
    assert name(it.queue().take()) == "forgotten"


def test_a_message_that_expires_under_a_lock_can_still_be_completed() -> None:
    it = world(dead_letter_on_expiration=True)
    it.send("old", ttl=5000)
    _, lock = locked(it.queue())
    it.pass_time(6)
    it.queue().complete(lock)
    assert it.queue().counts().dead_lettered == 0


@pytest.mark.parametrize("give_back", ["abandon", "release"])
def test_a_message_that_expired_under_a_lock_expires_when_it_is_given_back(give_back: str) -> None:
    it = world(dead_letter_on_expiration=True)
    it.send("old", ttl=5000)
    _, lock = locked(it.queue())
    it.pass_time(6)
    getattr(it.queue(), give_back)(lock)
    assert it.queue().take() is None
    assert it.queue().counts().dead_lettered == 1


def test_a_deferred_message_does_not_expire() -> None:
    it = world(dead_letter_on_expiration=True)
    number = it.send("later", ttl=5000)
    it.queue().defer(locked(it.queue())[1])
    it.pass_time(60)
    (message,) = it.queue().receive_deferred([number], delete=False)
    assert name(message) == "later"


def test_dead_letters_do_not_expire_and_are_delivered_without_limit() -> None:
    it = world()
    it.send("bad", ttl=5000)
    it.queue().dead_letter(locked(it.queue())[1], "r", "d")
    dead = it.queue("q/$DeadLetterQueue")
    for _ in range(10):
        it.pass_time(3600)
        dead.abandon(locked(dead)[1])
    assert len(dead.messages) == 1


def test_the_time_to_live_of_a_scheduled_message_starts_when_it_is_due() -> None:
    it = world()
    it.send("timed", ttl=5000, due_at=it.namespace.now() + 60_000)
    it.pass_time(60)
    it.pass_time(4)
    assert name(it.queue().take()) == "timed"


def test_several_deferred_messages_are_received_together_or_not_at_all() -> None:
    it = world()
    numbers = [it.send("a"), it.send("b")]
    for _ in numbers:
        it.queue().defer(locked(it.queue())[1])
    with pytest.raises(MessageNotFound):
        it.queue().receive_deferred([*numbers, 99], delete=False)
    assert not it.queue().locked
    assert len(it.queue().receive_deferred(numbers, delete=False)) == 2


def test_a_full_entity_refuses_a_whole_batch() -> None:
    it = world()
    it.send("first")
    it.queue().bytes = MAX_ENTITY_BYTES - 100
    batch = [parse_message(encoded(b"x" * 60, "x")) for _ in range(2)]
    with pytest.raises(QuotaExceeded):
        it.namespace.send(it.queue(), batch)
    assert len(it.queue().messages) == 1


def test_forwarding_counts_hops_and_keeps_the_first_sequence_number() -> None:
    options = EntityOptions()
    it = World(
        EntityConfig("a", EntityOptions(forward_to="b")), EntityConfig("b", EntityOptions(forward_to="c")),
        EntityConfig("c", options),
    )  # fmt: skip
    it.send("one", "a")
    it.send("two", "c")
    message, _ = locked(it.queue("c"))
    assert (name(message), message.hops, message.sequence) == ("one", 2, 1)
    assert name(it.queue("c").take()) == "two"


def test_four_hops_are_allowed_and_a_fifth_is_not() -> None:
    chain = [EntityConfig(f"q{n}", EntityOptions(forward_to=f"q{n + 1}")) for n in range(5)]
    it = World(*chain, EntityConfig("q5", EntityOptions()))
    it.send("near", "q1")
    it.send("far", "q0")
    assert name(it.queue("q5").take()) == "near"
    assert it.queue("q5").take() is None
    buried = it.queue("q4/$DeadLetterQueue")
    message, _ = locked(buried)
    assert MessageView(message).application["DeadLetterReason"] == "MaxTransferHopCountExceeded"


def test_a_dead_letter_of_a_forwarding_loop_ends() -> None:
    it = World(
        EntityConfig(
            "q", EntityOptions(forward_dead_letters_to="q", dead_letter_on_expiration=True, default_ttl=1000)
        )
    )
    it.send("sisyphus")
    for _ in range(10):
        it.pass_time(2)
    assert len(it.queue().messages) == 0
    assert len(it.queue("q/$DeadLetterQueue").messages) == 1


def test_copies_of_a_topics_message_are_independent() -> None:
    subscriptions = tuple(EntityConfig(name, EntityOptions(), EVERYTHING) for name in ("one", "two"))
    it = World(topics=(TopicConfig("t", EntityOptions(default_ttl=9000), subscriptions),))
    it.send("m", "t")
    first, lock = locked(it.queue("t/Subscriptions/one"))
    it.queue("t/subscriptions/ONE").abandon(lock, {"k": b"\x41"})
    second, _ = locked(it.queue("t/Subscriptions/two"))
    assert (first.delivery_count, second.delivery_count) == (1, 0)
    assert MessageView(first).application == {"k": True}
    assert MessageView(second).application == {}
    assert second.ttl == 9000


def test_completing_in_any_order_leaves_nothing_behind() -> None:
    it = world(default_ttl=60_000)
    for number in range(3000):
        it.send(str(number))
    tokens = [locked(it.queue())[1] for _ in range(3000)]
    for token in tokens[::2] + tokens[1::2]:
        it.queue().complete(token)
    queue = it.queue()
    assert (len(queue.messages), queue.bytes, len(queue.locked)) == (0, 0, 0)
    assert list(queue.peek(0, 10)) == []
    assert len(queue._expiry_times) < 2 * Deadlines.SLACK


def test_expired_messages_without_a_receiver_are_not_kept_in_memory() -> None:
    it = world(default_ttl=1000)
    for number in range(5000):
        it.send(str(number))
        if number % 500 == 0:
            it.pass_time(2)
    it.pass_time(2)
    assert len(it.queue()._ready) <= ReadyMessages.SLACK


def test_the_sequence_index_finds_its_place_among_many() -> None:
    index = SequenceIndex()
    for number in range(1, 10_001):
        index.add(number)
    for number in range(1, 10_001):
        if number % 1000:
            index.discard(number)
    index.discard(424_242)
    index.discard(17)
    assert list(index.starting_at(1500)) == list(range(2000, 10_001, 1000))
    index.add(2500)
    for number in range(100_000, 98_000, -1):
        index.add(number)
    assert list(index.starting_at(2400))[:2] == [2500, 3000]
    assert list(index.starting_at(99_998)) == [99_998, 99_999, 100_000]


def test_duplicate_history_forgets_in_order() -> None:
    history = DuplicateHistory(100)
    history.remember("a", 100)
    history.remember("b", 150)
    assert history.is_known("a", 99)
    assert not history.is_known("a", 100)
    assert history.is_known("b", 100)
    assert len(history) == 1
