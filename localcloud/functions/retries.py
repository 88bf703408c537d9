"""Retry policies, which the real host honours for timers: the same invocation again, after a delay."""

import asyncio
import logging
from typing import Any

from localcloud.functions.context import Retry
from localcloud.functions.definitions import Function
from localcloud.functions.invocation import Call, Invoker, Outcome

log = logging.getLogger(__name__)


async def invoke_with_retries(invoker: Invoker, function: Function, argument: Any, reason: str) -> Outcome:
    policy = function.retry
    call = Call(argument, reason)
    outcome = await invoker.invoke(function, call)
    attempt = 0
    while policy and not outcome.succeeded and (policy.max_retries < 0 or attempt < policy.max_retries):
        attempt += 1
        delay = policy.delay(attempt)
        log.info("'Functions.%s' is retried in %.0f s (retry %d)", function.name, delay, attempt)
        await asyncio.sleep(delay)
        retry = Retry(attempt, policy.max_retries, outcome.error)
        outcome = await invoker.invoke(function, Call(argument, reason, call.trace, retry))
    return outcome
