"""Batches by tokens: texts of like length together, as many as the budget holds.

A batch is padded to its longest text, so its cost is that length times its texts. Filled by count instead,
short texts would leave the cores idle and long ones would overflow the caches.
"""

import logging
from collections.abc import Sequence
from dataclasses import dataclass

log = logging.getLogger(__name__)

MAX_TEXTS = 64
_NAMED = 20


@dataclass(frozen=True)
class Plan:
    """Positions of the texts, batch by batch; each position stands in exactly one batch."""

    batches: tuple[tuple[int, ...], ...]
    truncated: tuple[int, ...]


def plan_batches(
    token_counts: Sequence[int], *, budget: int, window: int, max_texts: int = MAX_TEXTS
) -> Plan:
    """Put texts of these lengths into batches of at most `budget` tokens, the longest texts first.

    A text over the window counts with the window, and is named as truncated. A text over the budget is a
    batch of its own.
    """
    if budget < 1 or window < 1 or max_texts < 1:
        raise ValueError("the budget, the window and the number of texts must be positive")
    lengths = [min(count, window) for count in token_counts]
    # The longest first: what does not fit into memory shows at once, and not after an hour.
    order = sorted(range(len(lengths)), key=lambda position: -lengths[position])
    batches: list[list[int]] = []
    longest = 0
    for position in order:
        fits = batches and len(batches[-1]) < min(max_texts, budget // max(longest, 1))
        if not fits:
            batches.append([])
            longest = lengths[position]
        batches[-1].append(position)
    truncated = tuple(position for position, count in enumerate(token_counts) if count > window)
    return Plan(tuple(tuple(batch) for batch in batches), truncated)


def report_truncated(truncated: Sequence[int], texts: int, window: int) -> None:
    if truncated:
        log.warning(
            "%d of %d texts exceed the window of %d tokens and were cut: %s",
            len(truncated), texts, window, list(truncated[:_NAMED]),
        )  # fmt: skip
