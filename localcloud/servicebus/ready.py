"""The messages of an entity that are ready for a receiver."""

from collections import deque
from collections.abc import Callable
from heapq import heapify, heappop, heappush

from localcloud.servicebus.messages import Message


class ReadyMessages:
    """In order of sequence number: a queue for new messages, and a heap for those that were unlocked again.

    The entry of a message that expires is not removed, as that would be a search. It is stale and skipped.
    """

    SLACK = 1024  # stale entries that are tolerated before they are removed

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
        """The ready message with the lowest sequence number."""
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
        """Count an entry that became stale. Without a receiver to skip them, stale entries would pile up."""
        self._stale += 1
        if self._stale > self.SLACK and self._stale > len(self._fresh) // 2:
            self._fresh = deque(message for message in self._fresh if self._is_ready(message))
            self._returned = [entry for entry in self._returned if self._is_ready(entry[1])]
            heapify(self._returned)
            self._stale = 0

    def __len__(self) -> int:
        """Entries, including stale ones."""
        return len(self._fresh) + len(self._returned)
