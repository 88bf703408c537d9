"""When to try again, as plain decisions; and the loops that act on them."""

from shared.retry.decisions import Abandon, Backoff, Decision, Retry, RetryConfig, RetryPolicy
from shared.retry.loops import (
    AbandonedError,
    RetryHooks,
    handle_event_with_retry,
    with_backoff,
)

__all__ = [
    "Abandon",
    "AbandonedError",
    "Backoff",
    "Decision",
    "Retry",
    "RetryConfig",
    "RetryHooks",
    "RetryPolicy",
    "handle_event_with_retry",
    "with_backoff",
]
