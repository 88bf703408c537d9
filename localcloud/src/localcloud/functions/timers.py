"""Timer triggers: the rules of when to fire, the stored status, and the loop that fires."""

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from azure.functions.meta import Datum, get_binding_registry

from localcloud.clock import Clock
from localcloud.functions.schedule import Schedule

log = logging.getLogger(__name__)

NEVER = datetime(1, 1, 1, tzinfo=UTC)
LONGEST_SLEEP_SECONDS = 60.0


@dataclass(frozen=True)
class ScheduleStatus:
    last: datetime
    next: datetime
    last_updated: datetime

    def as_json(self) -> dict[str, str]:
        return {"Last": _iso(self.last), "Next": _iso(self.next), "LastUpdated": _iso(self.last_updated)}


@dataclass(frozen=True)
class Firing:
    """A future invocation."""

    due: datetime
    past_due: bool = False
    on_startup: bool = False


class TimerRules:
    """The real host's rules for a timer, without I/O. The monitor stores `status`."""

    def __init__(self, schedule: Schedule, *, run_on_startup: bool, monitored: bool) -> None:
        self.schedule = schedule
        self.monitored = monitored
        self.status: ScheduleStatus | None = None
        self._run_on_startup = run_on_startup

    def start(self, now: datetime, recorded: ScheduleStatus | None) -> Firing:
        """Return the first firing: immediately after a missed occurrence or with run_on_startup."""
        if not self.monitored or recorded is None:
            self.status = ScheduleStatus(NEVER, self.schedule.next_after(now), now)
            missed = False
        else:
            self.status = self._checked(now, recorded)
            missed = now > self.status.next
        if missed:
            return Firing(now, past_due=True)
        if self._run_on_startup:
            return Firing(now, on_startup=True)
        return Firing(self.status.next)

    def _checked(self, now: datetime, recorded: ScheduleStatus) -> ScheduleStatus:
        """Return the recorded status, or a new status if the schedule has changed."""
        expected = self.schedule.next_after(
            recorded.last if recorded.last != NEVER else recorded.last_updated
        )
        if recorded.next == expected:
            return recorded
        return ScheduleStatus(NEVER, expected if expected > now else self.schedule.next_after(now), now)

    def finish(self, firing: Firing, invoked_at: datetime) -> Firing:
        """Return the next firing, which can be overdue after a long invocation."""
        # A clock that is slightly early must not fire the same occurrence twice.
        early = not firing.past_due and not firing.on_startup and firing.due > invoked_at
        moment = firing.due if early else invoked_at
        self.status = ScheduleStatus(moment, self.schedule.next_after(moment), moment)
        return Firing(self.status.next)


class ScheduleMonitor:
    """Stores each timer's status in a file."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def read(self, function: str) -> ScheduleStatus | None:
        path = self._path(function)
        if not path.exists():
            return None
        try:
            value = json.loads(path.read_text(encoding="utf-8"))
            return ScheduleStatus(*(_moment(value[name]) for name in ("Last", "Next", "LastUpdated")))
        except (ValueError, KeyError, TypeError) as error:
            log.warning("%s is invalid (%r): the timer starts without its previous status", path, error)
            return None

    def write(self, function: str, status: ScheduleStatus) -> None:
        self._folder.mkdir(parents=True, exist_ok=True)
        fresh = self._path(function).with_suffix(".new")
        fresh.write_text(json.dumps(status.as_json()), encoding="utf-8")
        fresh.replace(self._path(function))

    def _path(self, function: str) -> Path:
        return self._folder / f"{function}.json"


async def wait_until(clock: Clock, moment: float) -> None:
    """Sleep in steps, to notice clock changes and suspends."""
    while (left := moment - clock.now()) > 0:  # noqa: ASYNC110 - time has no event to wait for
        await asyncio.sleep(min(left, LONGEST_SLEEP_SECONDS))


@dataclass
class TimerListener:
    """Fires a timer, one invocation at a time. An invocation's exception does not stop it."""

    function: str
    rules: TimerRules
    invoke: Callable[[Any], Awaitable[None]]
    monitor: ScheduleMonitor
    clock: Clock
    wait: Callable[[Clock, float], Awaitable[None]] = wait_until
    _stopping: bool = False
    _idle: bool = False
    _task: asyncio.Task[None] | None = None

    def start(self) -> None:
        self._task = asyncio.create_task(self._run())

    def stop(self) -> None:
        """Stop firing. A running invocation continues."""
        self._stopping = True
        if self._task is not None and self._idle:
            self._task.cancel()

    async def close(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def _run(self) -> None:
        recorded = self.monitor.read(self.function) if self.rules.monitored else None
        firing = self.rules.start(self._now(), recorded)
        self._record()
        log.info("timer %s: %s, next at %s", self.function, self.rules.schedule, _iso(firing.due))
        while not self._stopping:
            self._idle = True
            await self.wait(self.clock, firing.due.timestamp())
            self._idle = False
            invoked_at = self._now()
            if firing.past_due:
                log.warning("timer %s is past due: an occurrence was missed", self.function)
            reported = self.rules.status if self.rules.monitored else None
            await self.invoke(timer_argument(reported, past_due=firing.past_due))
            firing = self.rules.finish(firing, invoked_at)
            self._record()

    def _now(self) -> datetime:
        return datetime.fromtimestamp(self.clock.now(), UTC)

    def _record(self) -> None:
        if not self.rules.monitored or self.rules.status is None:
            return
        try:
            self.monitor.write(self.function, self.rules.status)
        except OSError:
            log.exception("timer %s: its status could not be written", self.function)


def timer_argument(status: ScheduleStatus | None, *, past_due: bool) -> Any:
    """Return the TimerRequest."""
    value = {
        "Schedule": {"AdjustForDST": True},
        "ScheduleStatus": status.as_json() if status else None,
        "IsPastDue": past_due,
    }
    converter = get_binding_registry().get("timerTrigger")
    return converter.decode(Datum(json.dumps(value), "json"), trigger_metadata={})


def _iso(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat()


def _moment(text: str) -> datetime:
    moment = datetime.fromisoformat(text)
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
