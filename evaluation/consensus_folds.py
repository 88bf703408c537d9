"""Which labelled threads may be read while rules are written, and which are only ever scored.

Five folds by a hash of the thread's id. Folds 3 and 4 are the unread part: rules, weights and thresholds come
from the others, so a figure on these two tells how the reader does on threads it never saw.
"""

import hashlib

FOLDS = 5
UNREAD_FOLDS = frozenset({3, 4})


def fold_of(thread: str) -> int:
    return int(hashlib.sha256(thread.encode()).hexdigest(), 16) % FOLDS


def is_unread(thread: str) -> bool:
    return fold_of(thread) in UNREAD_FOLDS
