"""Indexes over the messages of a queue, which avoid full scans."""

from bisect import bisect_left
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from heapq import heapify, heappop, heappush

from localcloud.servicebus.messages import Message


class SequenceIndex:
    """Sorted sequence numbers, for peeking: a list of sorted runs, which split as they grow."""

    RUN = 512  # short enough for cheap insertions and removals in the middle

    def __init__(self) -> None:
        self._runs: list[list[int]] = []
        self._lasts: list[int] = []  # the highest number of each run

    def add(self, sequence: int) -> None:
        lasts = self._lasts
        if not lasts or sequence > lasts[-1]:
            run = self._runs[-1] if lasts else None
            if run is not None and len(run) < self.RUN:
                run.append(sequence)
                lasts[-1] = sequence
            else:
                self._runs.append([sequence])
                lasts.append(sequence)
        else:
            self._insert(sequence)

    def _insert(self, sequence: int) -> None:
        at = bisect_left(self._lasts, sequence)
        run = self._runs[at]
        run.insert(bisect_left(run, sequence), sequence)
        if len(run) > 2 * self.RUN:
            self._runs[at : at + 1] = [run[: self.RUN], run[self.RUN :]]
            self._lasts[at : at + 1] = [run[self.RUN - 1], run[-1]]

    def discard(self, sequence: int) -> None:
        at = bisect_left(self._lasts, sequence)
        if at == len(self._lasts):
            return
        run = self._runs[at]
        within = bisect_left(run, sequence)
        if run[within] != sequence:
            return
        del run[within]
        if not run:
            del self._runs[at], self._lasts[at]
        else:
            self._lasts[at] = run[-1]

    def starting_at(self, sequence: int) -> Iterator[int]:
        first = bisect_left(self._lasts, sequence)
        for at in range(first, len(self._runs)):
            run = self._runs[at]
            yield from run[bisect_left(run, sequence) :] if at == first else run


class Deadlines:
    """A heap of due times. Canceled entries stay in it until they outnumber the others."""

    SLACK = 1024  # tolerated canceled entries

    def __init__(self, is_current: Callable[[int, int], bool]) -> None:
        self._heap: list[tuple[int, int]] = []
        self._is_current = is_current  # (when, sequence): False for a canceled entry
        self._cancelled = 0

    def add(self, when: int, sequence: int) -> None:
        heappush(self._heap, (when, sequence))

    def cancel(self) -> None:
        """Count a canceled entry, and remove the canceled entries if there are too many."""
        self._cancelled += 1
        if self._cancelled > self.SLACK and self._cancelled > len(self._heap) // 2:
            self._heap = [entry for entry in self._heap if self._is_current(*entry)]
            heapify(self._heap)
            self._cancelled = 0

    def due(self, now: int) -> Iterator[int]:
        """Remove and return the sequence numbers that are due, in order of time."""
        while self._heap and self._heap[0][0] <= now:
            when, sequence = heappop(self._heap)
            if self._is_current(when, sequence):
                yield sequence
            elif self._cancelled:
                self._cancelled -= 1

    @property
    def next_at(self) -> int | None:
        return self._heap[0][0] if self._heap else None

    def __len__(self) -> int:
        return len(self._heap)


class DuplicateHistory:
    """The message ids of the last `window` milliseconds."""

    def __init__(self, window: int) -> None:
        self.window = window
        self._ids: set[str] = set()
        self._order: deque[tuple[int, str]] = deque()

    def remember(self, message_id: str, until: int) -> None:
        self._ids.add(message_id)
        self._order.append((until, message_id))

    def is_known(self, message_id: str, now: int) -> bool:
        self.forget(now)
        return message_id in self._ids

    def forget(self, now: int) -> None:
        while self._order and self._order[0][0] <= now:
            self._ids.discard(self._order.popleft()[1])

    @property
    def entries(self) -> Iterable[tuple[int, str]]:
        """Pairs of the time when an id is forgotten, and the id."""
        return self._order

    def __len__(self) -> int:
        return len(self._ids)


class ReadyMessages:
    """Ready messages by sequence number: a queue for new messages, and a heap for unlocked messages.

    The entry of an expired message is not removed, because that would need a search. It is skipped later.
    """

    SLACK = 1024  # tolerated stale entries

    def __init__(self, is_ready: Callable[[Message], bool]) -> None:
        self._fresh: deque[Message] = deque()
        self._returned: list[tuple[int, Message]] = []
        self._is_ready = is_ready  # False for a stale entry
        self._stale = 0

    def add(self, message: Message) -> None:
        fresh = self._fresh
        if not fresh or fresh[-1].sequence < message.sequence:
            fresh.append(message)
        else:
            heappush(self._returned, (message.sequence, message))

    def take(self) -> Message | None:
        """Return the ready message with the lowest sequence number."""
        fresh, returned = self._fresh, self._returned
        while fresh or returned:
            if returned and (not fresh or returned[0][0] < fresh[0].sequence):
                message = heappop(returned)[1]
            else:
                message = fresh.popleft()
            if self._is_ready(message):
                return message
        return None

    def cancel(self) -> None:
        """Count a stale entry. Without a receiver that skips them, stale entries would pile up."""
        self._stale += 1
        if self._stale > self.SLACK and self._stale > len(self._fresh) // 2:
            self._fresh = deque(message for message in self._fresh if self._is_ready(message))
            self._returned = [entry for entry in self._returned if self._is_ready(entry[1])]
            heapify(self._returned)
            self._stale = 0

    def __len__(self) -> int:
        """Return the number of entries, including stale ones."""
        return len(self._fresh) + len(self._returned)
