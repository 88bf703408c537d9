"""A requeue with a ramp: 1, then 5, then 50, then all, each only when nothing of the ones before came back.

What was sent is in its queue until it is settled, as itself or as a copy that waits for a retry; then it is
gone, or a dead letter again. Both still name the operation that sent them.
"""

from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence

from shared.clients.connections import Clients
from shared.clients.servicebus.bus import Bus
from shared.clients.servicebus.dead_letter_mover import OperationObserver
from shared.clients.servicebus.dead_letters import PAGE, DeadLetter, peek_all, sequence_number
from shared.clients.servicebus.message_copy import REQUEUED_BY

Look = Callable[[Bus, str], AsyncIterator[DeadLetter]]
STEPS = (1, 5, 50)  # then the rest
PATIENCE_SECONDS = 35 * 60.0  # for the outcome of a step: a race is given up after 30 minutes
FIRST_LOOK_SECONDS, LAST_LOOK_SECONDS = 0.5, 10.0


def ramp_steps(plan: Mapping[str, Sequence[int]]) -> list[dict[str, list[int]]]:
    """The plan in steps. A queue's letters stay together where a step has room for them."""
    letters = [(queue, number) for queue, numbers in plan.items() for number in numbers]
    steps, start = [], 0
    for size in (*STEPS, len(letters)):
        chosen = letters[start : start + size]
        start += size
        if chosen:
            steps.append(_by_queue(chosen))
    return steps


def _by_queue(letters: Iterable[tuple[str, int]]) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    for queue, number in letters:
        found.setdefault(queue, []).append(number)
    return found


async def ramp_trouble(
    clients: Clients, queues: Iterable[str], operation: str, watch: OperationObserver
) -> str | None:
    """Wait until what was sent so far is settled; why the ramp goes no further, None where it does."""
    named, runtime = sorted(set(queues)), clients.runtime
    until, pause = runtime.monotonic() + PATIENCE_SECONDS, FIRST_LOOK_SECONDS
    while under_way := await _count(clients, named, operation, waiting):
        if watch.stopped() or runtime.monotonic() > until:
            return f"{under_way} of those before are not through yet"
        watch.settling(under_way)
        await runtime.sleep(pause)
        pause = min(2 * pause, LAST_LOOK_SECONDS)
    back = await _count(clients, named, operation, peek_all)
    return f"{back} of those before came back as dead letters" if back else None


async def _count(clients: Clients, queues: Iterable[str], operation: str, look: Look) -> int:
    count = 0
    for queue in queues:
        async for letter in look(clients.bus, queue):
            count += letter.properties.get(REQUEUED_BY) == operation
    return count


async def waiting(bus: Bus, queue: str) -> AsyncIterator[DeadLetter]:
    """Everything that is in the queue: active, locked or scheduled."""
    start = 1
    while page := await bus.peek(queue, start=start, count=PAGE):
        for message in page:
            yield DeadLetter.of(queue, message)
        start = sequence_number(page[-1]) + 1
