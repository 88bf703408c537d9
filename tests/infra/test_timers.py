"""The number of timer runs in a month without work."""

from datetime import UTC, datetime

from croniter import croniter

from benchmarks.capacity import MONTH, TIMER_RUNS
from tests.support.functions import app_functions

MIDNIGHT = datetime(2026, 3, 1, tzinfo=UTC).timestamp()


def schedules() -> dict[str, str]:
    """Return the schedule of every timer that the app registers with the host."""
    triggers = {function.get_function_name(): function.get_trigger() for function in app_functions()}
    found = {name: trigger.get_dict_repr() for name, trigger in triggers.items()}
    return {name: binding["schedule"] for name, binding in found.items() if binding["type"] == "timerTrigger"}


def runs_in(seconds: float, schedule: str) -> int:
    """Count the runs. NCRONTAB has the seconds first."""
    times = croniter(schedule, MIDNIGHT, second_at_beginning=True)
    count = 0
    while times.get_next(float) <= MIDNIGHT + seconds:
        count += 1
    return count


def test_an_idle_month_runs_two_timers_and_as_often_as_the_estimate_says() -> None:
    runs = {name: runs_in(MONTH, schedule) for name, schedule in schedules().items()}

    assert runs == {"housekeeping": 8_760, "sweep": 2_920}
    assert sum(runs.values()) == TIMER_RUNS
