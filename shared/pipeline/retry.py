"""How often work is retried, and how long each retry waits.

An event waits in the broker: a copy of its message is delivered after the delay, and its properties count the
retries. An upload or a fetch is not a message, so it waits inside its call (`with_backoff`).
"""

import hashlib
import logging
import math
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Self, TypeVar

from shared.azure.classify import classify
from shared.azure.connections import Clients
from shared.azure.cosmos.session import Session
from shared.azure.cosmos.store import Conflict
from shared.azure.servicebus.dead_letters import RETRY_PREFIX, was_dead_letter, without_earlier
from shared.core.errors import (
    ClassifiedError,
    ErrorKind,
    NewerVersionError,
    PipelineError,
    TransientError,
)
from shared.core.runtime import Runtime
from shared.models.queries.operations import RETRY_LOCKS
from shared.models.records import Lock
from shared.pipeline.delivery import Delivery
from shared.settings.app import Settings

log = logging.getLogger(__name__)
Result = TypeVar("Result")
MAX_ATTEMPTS_EXCEEDED = "max_attempts_exceeded"
TTL_EXCEEDED = "ttl_exceeded"
NON_RETRYABLE = "non_retryable_error"
NEAR_END = 0.8  # the share of the maximum age after which a retry logs a warning
BACKOFF_IN_RACE_DELAYS = 20  # 5 s if a race waits 250 ms: a service takes longer to recover
_MAX_EXPONENT = 64  # any real cap is reached before that, and a float would overflow later
OUTAGE_RETRIES = 600  # about two days at the longest delay
OUTAGE_CAP_TIMES = 5  # the longest delay is 5 minutes, and 1 minute for other failures
NUMBER, RACES, BACKOFFS, OUTAGES, SINCE, CHAIN = (
    RETRY_PREFIX,
    f"{RETRY_PREFIX}_races",
    f"{RETRY_PREFIX}_backoffs",
    f"{RETRY_PREFIX}_outages",
    f"{RETRY_PREFIX}_since",
    f"{RETRY_PREFIX}_chain",
)
CLAIM_KEPT_SECONDS = 24 * 3600.0  # longer than its event, for copies that are delivered late
LONG_AGO = datetime.min.replace(tzinfo=UTC)
MAX_CLAIMS = 5  # attempts to claim a number while other copies claim


def exponential(base: float, attempt: int, cap: float, *, factor: float = 2.0) -> float:
    """Return base * factor^(attempt - 1), at most `cap`. Attempts count from 1."""
    exponent = min(max(attempt - 1, 0), _MAX_EXPONENT)
    return float(min(base * factor**exponent, cap))


class GaveUpError(PipelineError):
    """The work failed, and its policy allows no further retry."""

    def __init__(self, reason: str, attempts: int, failure: ClassifiedError) -> None:
        super().__init__(f"{failure.error_type}: {failure.message}")
        self.reason = reason
        self.attempts = attempts
        self.failure = failure


class RetryContestedError(TransientError):
    """Other copies of the event changed the claim at each attempt of this copy."""


@dataclass(frozen=True)
class RetryDecision:
    """Retry after this delay, or give up for this reason if the delay is None."""

    delay: float | None
    reason: str = ""


@dataclass(frozen=True)
class Backoff:
    """How often failures of one kind are retried, and how long each retry waits."""

    max_retries: float = 3
    base_seconds: float = 5.0
    cap_seconds: float = 60.0
    factor: float = 2.0
    max_age_seconds: float = math.inf  # of the event
    jitter: bool = False  # U(0, delay), so that simultaneous failures are not retried simultaneously

    def decide(
        self, retries: int, age: float = 0.0, *, asked_for: float | None = None, source: Random | None = None
    ) -> RetryDecision:
        """Decide after this number of retries at this age. `asked_for` is the service's Retry-After."""
        if retries >= self.max_retries:
            return RetryDecision(None, MAX_ATTEMPTS_EXCEEDED)
        if age >= self.max_age_seconds:
            return RetryDecision(None, TTL_EXCEEDED)
        delay = exponential(self.base_seconds, retries + 1, self.cap_seconds, factor=self.factor)
        if self.jitter and source is not None:
            delay = source.uniform(0, delay)
        return RetryDecision(max(delay, min(asked_for or 0.0, self.cap_seconds)))

    def near_limit(self, retries: int, age: float) -> str | None:
        """Return the limit that is near, for a warning."""
        if retries >= self.max_retries:
            return f"its last retry of {self.max_retries:g}"
        if age > NEAR_END * self.max_age_seconds:
            return f"{age:.0f} s of its {self.max_age_seconds / 60:g} minutes"
        return None


@dataclass(frozen=True)
class RetryPolicy:
    """The backoff of each kind of failure. A permanent one has none."""

    transient: Backoff
    race: Backoff | None = None
    outage: Backoff | None = None  # None: like other transient failures
    newer: Backoff = Backoff(math.inf, 60, 60, max_age_seconds=24 * 3600)  # until a newer instance takes it

    @classmethod
    def of_events(cls, settings: Settings) -> Self:
        base, cap = settings.RETRY_BASE_DELAY_MS / 1000, settings.RETRY_MAX_DELAY_SECONDS
        race = Backoff(
            settings.RETRY_MAX_ATTEMPTS,
            base,
            cap,
            settings.RETRY_BACKOFF_FACTOR,
            max_age_seconds=settings.RETRY_TTL_MINUTES * 60,
            jitter=True,
        )
        transient = Backoff(base_seconds=BACKOFF_IN_RACE_DELAYS * base, cap_seconds=cap)
        outage = replace(transient, max_retries=OUTAGE_RETRIES, cap_seconds=OUTAGE_CAP_TIMES * cap)
        return cls(transient, race, outage)

    def backoff(self, failure: ClassifiedError) -> Backoff | None:
        if failure.is_outage and self.outage is not None:
            return self.outage
        if failure.error_type == NewerVersionError.__name__:
            return self.newer
        return {ErrorKind.RACE: self.race, ErrorKind.TRANSIENT: self.transient}.get(failure.kind)


# Requests are retried for about three hours, and for a quarter of an hour if a document is missing.
REQUESTS = RetryPolicy(
    Backoff(40, cap_seconds=300), Backoff(8, cap_seconds=300), Backoff(OUTAGE_RETRIES, cap_seconds=300)
)


@dataclass(frozen=True)
class Retry:
    """The number of retries of an event so far, after races and after other failures, and their start."""

    races: int = 0
    backoffs: int = 0
    since: datetime = LONG_AGO  # when the event was first enqueued, or last met an outage
    chain: str = ""  # the same for a message and its copies. A resent event has another.
    outages: int = 0  # the number of backoffs that were outages of a dependency

    @classmethod
    def of(cls, delivery: Delivery, now: datetime) -> Self:
        known = delivery.properties
        if CHAIN in known and not was_dead_letter(known):
            since = datetime.fromisoformat(str(known[SINCE]))
            races, backoffs, outages = (int(known.get(name, 0)) for name in (RACES, BACKOFFS, OUTAGES))
            return cls(races, backoffs, since, str(known[CHAIN]), outages)
        first = delivery.enqueued_at or now
        identity = f"{delivery.message_id} {first.isoformat()}"
        return cls(0, 0, first, hashlib.sha256(identity.encode()).hexdigest()[:24])

    @property
    def number(self) -> int:
        return self.races + self.backoffs

    @property
    def attempts(self) -> int:
        """The number of attempts, including the current one."""
        return self.number + 1

    def age(self, runtime: Runtime) -> float:
        return (runtime.now() - self.since).total_seconds()

    def decide(self, failure: ClassifiedError, policy: RetryPolicy, runtime: Runtime) -> RetryDecision:
        backoff = policy.backoff(failure)
        if backoff is None:
            return RetryDecision(None, NON_RETRYABLE)
        return backoff.decide(
            self._retries_of(failure, policy),
            self.age(runtime),
            asked_for=failure.retry_after,
            source=runtime.random,
        )

    def _retries_of(self, failure: ClassifiedError, policy: RetryPolicy) -> int:
        """Return the number of retries after failures of this kind."""
        if failure.kind is ErrorKind.RACE:
            return self.races
        if policy.outage is None:
            return self.backoffs
        return self.outages if failure.is_outage else self.backoffs - self.outages

    def after(
        self, error: Exception, policy: RetryPolicy, runtime: Runtime
    ) -> tuple[Self, ClassifiedError, float]:
        """Return the next retry, the failure and the delay. Raise GaveUpError if no retry is left."""
        if isinstance(error, GaveUpError):
            raise error
        failure = classify(error)
        decision = self.decide(failure, policy, runtime)
        if decision.delay is None:
            raise GaveUpError(decision.reason, self.attempts, failure) from error
        return self.next(failure, runtime.now()), failure, decision.delay

    def next(self, failure: ClassifiedError, now: datetime) -> Self:
        if failure.kind is ErrorKind.RACE:
            return replace(self, races=self.races + 1)
        failed = replace(self, backoffs=self.backoffs + 1)
        # An outage restarts the age, so that a race after it has the full time.
        return replace(failed, outages=self.outages + 1, since=now) if failure.is_outage else failed

    def properties(self) -> Mapping[str, str | int]:
        counts = {NUMBER: self.number, RACES: self.races, BACKOFFS: self.backoffs, OUTAGES: self.outages}
        return {**counts, SINCE: self.since.isoformat(), CHAIN: self.chain}

    async def schedule(self, clients: Clients, queue: str, delivery: Delivery, seconds: float) -> None:
        """Schedule a copy of the message as this retry, to be delivered after so many seconds."""
        known = without_earlier(delivery.properties)
        copy = delivery.copy(clients, {**known, **self.properties()})
        due = clients.runtime.now() + timedelta(seconds=seconds)
        await clients.bus.send_to_queue(queue, [copy], at=due)

    async def claim(self, clients: Clients, delivery: Delivery) -> bool:
        """Return whether this copy may do the work: no other copy has claimed this or a later number.

        The first delivery needs no claim. A redelivered copy finds its own claim.
        """
        if not self.number:
            return True
        store, id_, session = clients.store, f"{RETRY_LOCKS}{self.chain}", Session()
        mine = f"{self.number}:{delivery.message_id}"
        for _ in range(MAX_CLAIMS):
            await store.refresh(Lock, session)
            known = await store.find(Lock, id_, session)
            if known is None:
                now = clients.runtime.now()
                until = now.timestamp() + CLAIM_KEPT_SECONDS
                if await store.create(Lock(id=id_, owner=mine, expires=until, created_at=now), session):
                    return True
                continue
            number = int(known.owner.partition(":")[0])
            if known.owner == mine or number >= self.number:
                return known.owner == mine
            if (
                await store.replace(known.model_copy(update={"owner": mine}), session)
                is not Conflict.CONFLICT
            ):
                return True
        raise RetryContestedError(
            f"retry {self.number} of {delivery.message_id} lost {MAX_CLAIMS} attempts to claim its number"
        )


async def with_backoff(
    work: Callable[[], Awaitable[Result]],
    backoff: Backoff,
    *,
    what: str,
    sleep: Callable[[float], Awaitable[None]],
) -> Result:
    """Do the work and retry it after transient failures. Raise GaveUpError with the reason at the limit."""
    retry, policy, runtime = Retry(), RetryPolicy(backoff), Runtime()
    while True:
        try:
            return await work()
        except Exception as error:
            retry, failure, delay = retry.after(error, policy, runtime)
            log.exception(
                "%s failed (attempt %d/%d): %s; retrying in %.1f seconds",
                what, retry.number, backoff.max_retries + 1, failure.for_logs, delay,
            )  # fmt: skip
            await sleep(delay)
