"""Split the labeled threads into folds for writing rules and folds for scoring alone.

A hash of the thread's id gives one of five folds. Folds 3 and 4 are held out. Rules, weights and thresholds
come from the other folds, so figures on folds 3 and 4 show how the reader does on unseen threads.
"""

import hashlib

FOLDS = 5
UNREAD_FOLDS = frozenset({3, 4})


def fold_of(thread: str) -> int:
    return int(hashlib.sha256(thread.encode()).hexdigest(), 16) % FOLDS


def is_unread(thread: str) -> bool:
    return fold_of(thread) in UNREAD_FOLDS
