"""The namespace: its entities by address, topics and subscriptions, and a shared timer."""

from collections.abc import Callable, Iterable, Iterator
from heapq import heappop, heappush
from typing import TypeVar

from localcloud.clock import Clock
from localcloud.servicebus.changes import SEQUENCE_BITS, Changes
from localcloud.servicebus.config import NamespaceConfig
from localcloud.servicebus.entities import Queue
from localcloud.servicebus.errors import EntityNotFound
from localcloud.servicebus.filters import Rule
from localcloud.servicebus.messages import Message, MessageView
from localcloud.servicebus.options import EntityOptions

Q = TypeVar("Q", bound=Queue)


class Subscription(Queue):
    """A queue that gets the messages of its topic that match one of its rules."""

    rules: tuple[Rule, ...] = ()

    def selects(self, view: MessageView) -> bool:
        return any(rule.filter.matches(view) for rule in self.rules)


class Topic(Queue):
    """A topic. It stores scheduled messages and copies others to each subscription that selects them."""

    subscriptions: tuple[Subscription, ...] = ()

    def check_room(self, size: int) -> None:
        super().check_room(size)
        for subscription in self.subscriptions:
            if subscription.forward_to is None:
                subscription.check_room(size)

    def _enqueue(self, message: Message, now: int) -> None:  # noqa: ARG002 - subscriptions read the clock
        if self.options.default_ttl:
            message.ttl = min(message.ttl or self.options.default_ttl, self.options.default_ttl)
        view = MessageView(message)
        for subscription in self.subscriptions:
            if subscription.selects(view):
                subscription.send(message.copy())


class Namespace:
    """All entities, and their changes since the last commit."""

    def __init__(self, config: NamespaceConfig, clock: Clock, number_of: Callable[[str], int]) -> None:
        """Create the entities. `number_of` returns an entity's permanent number in the journal."""
        self.config = config
        self.changes = Changes()
        self.topics: dict[str, Topic] = {}
        self.queues: dict[str, Queue] = {}
        self.entities: dict[str, Queue] = {}  # by lower-case address, including dead-letter queues
        self.by_number: dict[int, Queue] = {}
        self._clock = clock
        self.started_at = self.now()
        self._number_of = number_of
        self._wakes: list[tuple[int, int]] = []  # a heap of (when, entity number), with stale entries
        for given in config.topics:
            topic = self.topics[given.name] = self._create(Topic, given.name, given.options)
            for item in given.subscriptions:
                subscription = self._add(
                    Subscription, f"{topic.path}/Subscriptions/{item.name}", item.options
                )
                subscription.rules = item.rules
                topic.subscriptions += (subscription,)
        for queue in config.queues:
            self.queues[queue.name] = self._add(Queue, queue.name, queue.options)
        self._connect_forwarding()

    def now(self) -> int:
        return int(self._clock.now() * 1000)

    # construction

    def _add(self, kind: type[Q], path: str, options: EntityOptions) -> Q:
        queue = self._create(kind, path, options)
        queue.dead_letters = self._create(Queue, f"{path}/$DeadLetterQueue", options)
        queue.transfer_dead_letters = self._create(Queue, f"{path}/$Transfer/$DeadLetterQueue", options)
        for dead_letters in (queue.dead_letters, queue.transfer_dead_letters):
            dead_letters.is_dead_letter_queue = True
        return queue

    def _create(self, kind: type[Q], path: str, options: EntityOptions) -> Q:
        number = self._number_of(path.lower())
        queue = kind(number, path, options, changes=self.changes, now=self.now, wake=self._wake)
        self.entities[path.lower()] = queue
        self.by_number[number] = queue
        return queue

    def _connect_forwarding(self) -> None:
        for queue in self.entities.values():
            if queue.is_dead_letter_queue:
                continue
            if queue.options.forward_to:
                queue.forward_to = self.entity(queue.options.forward_to)
            if queue.options.forward_dead_letters_to:
                queue.forward_dead_letters_to = self.entity(queue.options.forward_dead_letters_to)

    # use

    def entity(self, address: str) -> Queue:
        found = self.entities.get(address.lower().strip("/"))
        if found is None:
            raise EntityNotFound(f"The messaging entity '{address}' could not be found.")
        return found

    def send(self, queue: Queue, messages: list[Message]) -> list[int]:
        """Send all messages or none, and return their sequence numbers."""
        queue.check_room(sum([message.size for message in messages]))
        return [queue.send(message) for message in messages]

    def restore(
        self,
        rows: Iterable[tuple[int, Message]],
        counters: Iterable[tuple[int, int]],
        duplicates: Iterable[tuple[int, str, int]],
    ) -> None:
        """Load the journal's content. Locks are not in the journal, so a restart releases them."""
        for row, message in rows:
            queue = self.by_number.get(row >> SEQUENCE_BITS)
            if queue is not None:
                queue.restore(message)
        for number, last in counters:
            if number in self.by_number:
                self.by_number[number].last_sequence = max(self.by_number[number].last_sequence, last)
        for number, message_id, until in duplicates:
            history = self.by_number[number].history if number in self.by_number else None
            if history is not None:
                history.remember(message_id, until)

    # time

    def _wake(self, queue: Queue, when: int) -> None:
        heappush(self._wakes, (when, queue.number))

    def run_due(self) -> None:
        """Run every entity whose timer is due."""
        now = self.now()
        for queue in self._woken(now):
            queue.run_due(now)
            queue.rearm()

    def _woken(self, now: int) -> Iterator[Queue]:
        while self._wakes and self._wakes[0][0] <= now:
            when, number = heappop(self._wakes)
            queue = self.by_number[number]
            # Otherwise the entry is stale, because the entity's timer was set again.
            if queue.wake_at == when:
                yield queue

    def next_deadline(self) -> int | None:
        return self._wakes[0][0] if self._wakes else None
