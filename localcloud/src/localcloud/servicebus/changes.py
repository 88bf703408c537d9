"""Changes of the engine since the last commit of the journal."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from localcloud.servicebus.entities import Queue
    from localcloud.servicebus.messages import Message

# The id of a stored message is one integer: its entity's number and its sequence number.
SEQUENCE_BITS = 40


class Changes:
    """Pending changes.

    Only the last state of each row is kept, so several changes to a message cost one write.
    """

    def __init__(self) -> None:
        self.rows: dict[int, Message | None] = {}  # None: the message was removed
        self.counters: dict[int, int] = {}  # the last sequence number assigned, by entity
        self.duplicates: list[tuple[int, str, int]] = []  # entity, message id, end of the detection window
        self.ready: set[Queue] = set()  # entities that may have a message for a receiver

    def __bool__(self) -> bool:
        return bool(self.rows or self.counters or self.duplicates)

    def clear_committed(self) -> None:
        self.rows.clear()
        self.counters.clear()
        self.duplicates.clear()
