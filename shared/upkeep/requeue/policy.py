"""When a document is due, and how often it is tried: the sweep's settings as decisions."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta

from shared.pipeline.retry.delays import exponential
from shared.pipeline.topology import SWEPT
from shared.settings.app import Settings


@dataclass(frozen=True)
class Policy:
    base_delay: timedelta
    max_delay: timedelta
    stuck_after: timedelta
    grace: timedelta  # before the first attempt: an event on its way needs no help before the next run
    interval: timedelta
    max_attempts: Mapping[str, int]
    limit: int = 5000  # documents of a collection in one run: the next run takes the rest
    probes: int = 5  # documents of a collection while what its stage needs is down

    @classmethod
    def from_settings(cls, settings: Settings) -> "Policy":
        return cls(
            base_delay=timedelta(seconds=settings.RETRY_JOB_BASE_DELAY_SECONDS),
            max_delay=timedelta(seconds=settings.RETRY_JOB_MAX_DELAY_SECONDS),
            stuck_after=timedelta(hours=settings.RETRY_JOB_STUCK_THRESHOLD_HOURS),
            grace=timedelta(seconds=settings.RETRY_JOB_INTERVAL_SECONDS),
            interval=timedelta(seconds=settings.RETRY_JOB_INTERVAL_SECONDS),
            max_attempts={
                stage.document.container: getattr(settings, stage.max_attempts)
                for stage in SWEPT
                if stage.max_attempts is not None
            },
        )

    def delay(self, attempts: int) -> timedelta:
        """How long after its last attempt a document that failed is tried again."""
        if attempts < 1:
            return timedelta(0)
        base, cap = self.base_delay.total_seconds(), self.max_delay.total_seconds()
        return timedelta(seconds=exponential(base, attempts, cap))

    def silence(self, attempts: int) -> timedelta:
        """How long after its last attempt a document without any outcome is tried again."""
        return max(self.stuck_after, self.delay(attempts))

    def batch_size(self, collection: str, attempt: int, largest: int) -> int:
        """Smaller with every attempt, and 1 in the last: a poison document then fails alone."""
        if attempt >= self.max_attempts[collection]:
            return 1
        return largest if attempt <= 1 else max(1, largest // 10 ** (attempt - 1))
