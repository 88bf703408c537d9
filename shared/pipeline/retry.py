"""How often work is tried again, and how long each retry waits.

An event waits in the broker: a copy of its message comes after the delay, and its properties count the
retries. An upload or a fetch, which no broker can hold, waits inside its call (`with_backoff`).
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
NEAR_END = 0.8  # the share of its time after which a waiting event is warned about
BACKOFF_IN_RACE_DELAYS = 20  # 5 s where a race waits 250 ms: a service takes longer to recover
_MAX_EXPONENT = 64  # every factor above 1 has reached any real cap by then, and a float would overflow
OUTAGE_RETRIES = 600  # at the longest delay some two days
OUTAGE_CAP_TIMES = 5  # the longest delay, 5 minutes where other failures wait for one
NUMBER, RACES, BACKOFFS, OUTAGES, SINCE, CHAIN = (
    RETRY_PREFIX,
    f"{RETRY_PREFIX}_races",
    f"{RETRY_PREFIX}_backoffs",
    f"{RETRY_PREFIX}_outages",
    f"{RETRY_PREFIX}_since",
    f"{RETRY_PREFIX}_chain",
)
CLAIM_KEPT_SECONDS = 24 * 3600.0  # a claim outlives its event, for copies that come late
LONG_AGO = datetime.min.replace(tzinfo=UTC)
MAX_CLAIMS = 5  # of a number, against other copies that claim at the same time


def exponential(base: float, attempt: int, cap: float, *, factor: float = 2.0) -> float:
    """Exponential backoff: base * factor^(attempt - 1), at most `cap`. Attempts count from 1."""
    exponent = min(max(attempt - 1, 0), _MAX_EXPONENT)
    return float(min(base * factor**exponent, cap))


class GaveUpError(PipelineError):
    """No more retries are made."""

    def __init__(self, reason: str, attempts: int, failure: ClassifiedError) -> None:
        super().__init__(f"{failure.error_type}: {failure.message}")
        self.reason = reason
        self.attempts = attempts
        self.failure = failure


class RetryContestedError(TransientError):
    """Other copies of the event claimed their numbers at each try: this one does not know its own yet."""


@dataclass(frozen=True)
class RetryDecision:
    """Try again after this delay, or give up for this reason."""

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
    jitter: bool = False  # U(0, delay), so that failures at the same time are not retried at the same time

    def decide(
        self, retries: int, age: float = 0.0, *, asked_for: float | None = None, source: Random | None = None
    ) -> RetryDecision:
        """After so many retries of an event of this age. `asked_for` is the wait that the service wants."""
        if retries >= self.max_retries:
            return RetryDecision(None, MAX_ATTEMPTS_EXCEEDED)
        if age >= self.max_age_seconds:
            return RetryDecision(None, TTL_EXCEEDED)
        delay = exponential(self.base_seconds, retries + 1, self.cap_seconds, factor=self.factor)
        if self.jitter and source is not None:
            delay = source.uniform(0, delay)
        return RetryDecision(max(delay, min(asked_for or 0.0, self.cap_seconds)))

    def near_limit(self, retries: int, age: float) -> str | None:
        """Return which limit is near, for a warning."""
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
    outage: Backoff | None = None  # as other transient failures where it is None
    newer: Backoff = Backoff(
        math.inf, 60, 60, max_age_seconds=24 * 3600
    )  # another version of the app takes it

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


# Of requests, which are no events: some three hours, and a quarter of an hour for a document that is missing.
REQUESTS = RetryPolicy(
    Backoff(40, cap_seconds=300), Backoff(8, cap_seconds=300), Backoff(OUTAGE_RETRIES, cap_seconds=300)
)


@dataclass(frozen=True)
class Retry:
    """How often the event was retried, after races and after other failures, and since when."""

    races: int = 0
    backoffs: int = 0
    since: datetime = LONG_AGO  # the event was first enqueued then, or last met an outage
    chain: str = ""  # the same for a message and all its copies; another when the event is sent again
    outages: int = 0  # so many of the backoffs were those of a dependency

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
        """How often the work was tried, this time included."""
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
        """So many were made after failures of this kind."""
        if failure.kind is ErrorKind.RACE:
            return self.races
        if policy.outage is None:
            return self.backoffs
        return self.outages if failure.is_outage else self.backoffs - self.outages

    def after(
        self, error: Exception, policy: RetryPolicy, runtime: Runtime
    ) -> tuple[Self, ClassifiedError, float]:
        """Return the next retry, the failure and the delay in between. Raise GaveUpError at the end."""
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
        # A race after an outage has its whole time: the event did not pass it in vain.
        return replace(failed, outages=self.outages + 1, since=now) if failure.is_outage else failed

    def properties(self) -> Mapping[str, str | int]:
        counts = {NUMBER: self.number, RACES: self.races, BACKOFFS: self.backoffs, OUTAGES: self.outages}
        return {**counts, SINCE: self.since.isoformat(), CHAIN: self.chain}

    async def schedule(self, clients: Clients, queue: str, delivery: Delivery, seconds: float) -> None:
        """Have the broker deliver the message again after so many seconds, as this retry."""
        known = without_earlier(delivery.properties)
        copy = delivery.copy(clients, {**known, **self.properties()})
        due = clients.runtime.now() + timedelta(seconds=seconds)
        await clients.bus.send_to_queue(queue, [copy], at=due)

    async def claim(self, clients: Clients, delivery: Delivery) -> bool:
        """Whether this copy may do the work: no other of this number, and no later one, came first.

        The first delivery has no copies, and claims nothing. A copy that is delivered again has its claim.
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
            f"retry {self.number} of {delivery.message_id} is claimed by others all the time"
        )


async def with_backoff(
    work: Callable[[], Awaitable[Result]],
    backoff: Backoff,
    *,
    what: str,
    sleep: Callable[[float], Awaitable[None]],
) -> Result:
    """Do the work, and again after transient failures, up to the bound. GaveUpError says why it ended."""
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
