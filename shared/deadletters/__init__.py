"""Dead letters: see them, group them by cause, and requeue, purge or restore them safely."""

from shared.deadletters.causes import Cause, Diagnosed, diagnose
from shared.deadletters.groups import Group, diagnosed_letters, group_letters
from shared.deadletters.letters import DeadLetter, peek_all
from shared.deadletters.mover import Watch
from shared.deadletters.operations import PURGE, REQUEUE, RESTORE, ask, run
from shared.deadletters.queues import QUEUES, UnknownQueueError, queue_named
from shared.deadletters.restoring import restorable
from shared.deadletters.selection import Selection, choose

__all__ = [
    "PURGE",
    "QUEUES",
    "REQUEUE",
    "RESTORE",
    "Cause",
    "DeadLetter",
    "Diagnosed",
    "Group",
    "Selection",
    "UnknownQueueError",
    "Watch",
    "ask",
    "choose",
    "diagnose",
    "diagnosed_letters",
    "group_letters",
    "peek_all",
    "queue_named",
    "restorable",
    "run",
]
