"""Retries inside one call, where no broker can wait: uploads, fetches and encoders."""

import logging
from collections.abc import Awaitable, Callable
from typing import TypeVar

from shared.clients.classify import classify
from shared.core.errors import ClassifiedError, PipelineError
from shared.pipeline.retry.policies import Abandon, Backoff

log = logging.getLogger(__name__)
Result = TypeVar("Result")
Work = Callable[[], Awaitable[Result]]


class AbandonedError(PipelineError):
    """The retries of this delivery are used up."""

    def __init__(self, reason: str, attempt_count: int, failure: ClassifiedError) -> None:
        super().__init__(f"{failure.error_type}: {failure.message}")
        self.reason = reason
        self.attempt_count = attempt_count
        self.failure = failure


async def with_backoff(
    work: Work[Result],
    backoff: Backoff,
    *,
    what: str,
    sleep: Callable[[float], Awaitable[None]],
) -> Result:
    """Do the work, and do it again after transient failures, up to the bound.

    Raises AbandonedError when the bound is reached or the failure is not transient.
    """
    retries = 0
    while True:
        try:
            return await work()
        except AbandonedError:
            raise
        except Exception as error:
            failure = classify(error)
            decision = backoff.decide(failure, retries)
            attempts = retries + 1
            if isinstance(decision, Abandon):
                raise AbandonedError(decision.reason, attempts, failure) from error
            log.exception(
                "%s failed (attempt %d/%d): %s; retrying in %.1f seconds",
                what, attempts, backoff.max_retries + 1, failure.for_logs, decision.delay,
            )  # fmt: skip
            retries += 1
            await sleep(decision.delay)
