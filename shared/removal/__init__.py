"""Deleting an archive or a source with everything that was derived from it."""

from shared.removal.requests import REMOVAL_QUEUE, ask_again, request_removal, resume_removals
from shared.removal.run import RemovalRun, StillThereError, run_removal
from shared.removal.tombstones import DONE, find_removal, removal_id

__all__ = [
    "DONE",
    "REMOVAL_QUEUE",
    "RemovalRun",
    "StillThereError",
    "ask_again",
    "find_removal",
    "removal_id",
    "request_removal",
    "resume_removals",
    "run_removal",
]
