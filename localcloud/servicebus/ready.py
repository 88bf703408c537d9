"""The messages of an entity that wait for a receiver."""

from collections import deque
from collections.abc import Callable
from heapq import heapify, heappop, heappush

from localcloud.servicebus.messages import Message

__all__ = ["ReadyMessages"]


class ReadyMessages:
    """In order of sequence number: a queue of fresh ones, and a heap of those that came back out of order.

    A message that leaves in another way than through here (it expires) leaves its entry behind.
    """

    SLACK = 1024

    def __init__(self, is_ready: Callable[[Message], bool]) -> None:
        self._fresh: deque[Message] = deque()
        self._returned: list[tuple[int, Message]] = []
        self._is_ready = is_ready  # does this entry still stand?
        self._cancelled = 0

    def add(self, message: Message) -> None:
        fresh = self._fresh
        if not fresh or fresh[-1].sequence < message.sequence:
            fresh.append(message)
        else:
            heappush(self._returned, (message.sequence, message))

    def take(self) -> Message | None:
        """The message with the lowest sequence number; entries that no longer stand are skipped."""
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
        """One entry no longer stands; nobody may ever come to take it, so they are swept out."""
        self._cancelled += 1
        if self._cancelled > self.SLACK and self._cancelled > len(self._fresh) // 2:
            self._fresh = deque(message for message in self._fresh if self._is_ready(message))
            self._returned = [entry for entry in self._returned if self._is_ready(entry[1])]
            heapify(self._returned)
            self._cancelled = 0

    def __len__(self) -> int:
        """Entries, whether they still stand or not."""
        return len(self._fresh) + len(self._returned)
