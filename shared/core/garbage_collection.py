"""The garbage collector, set for what the app does: thousands of documents at a time, none in cycles."""

import gc

GARBAGE_AFTER = 200_000
"""Objects, as many as a slice of messages has: with Python's own 700, each is looked at again and again."""


def tune_garbage_collector() -> None:
    """What is there now stays: it is never looked through again. Call it when all is imported."""
    gc.freeze()
    gc.set_threshold(GARBAGE_AFTER, *gc.get_threshold()[1:])
