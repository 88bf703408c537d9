"""The sweep's decisions, as tables."""

from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest

from shared.core.schedule import interval_schedule, parse_cron
from shared.operations.due_documents import Policy
from shared.operations.sweep import FailureEvidence, circuit_open_reason
from shared.settings.app import Settings
from stages.sweep import schedule

POLICY = Policy.from_settings(Settings(COSMOS_ENDPOINT="x", SEARCH_ENDPOINT="x"))
DOWN = ("ServiceUnavailableError", "transient")
RACE = ("DocumentNotFoundError", "race")
BUG = ("KeyError", "permanent")


def minutes(delay: timedelta) -> float:
    return delay.total_seconds() / 60


def test_the_settings_give_each_bound_its_own_value() -> None:
    settings = Settings(
        COSMOS_ENDPOINT="x", SEARCH_ENDPOINT="x", RETRY_JOB_BASE_DELAY_SECONDS=2, RETRY_JOB_MAX_DELAY_SECONDS=3,
        RETRY_JOB_STUCK_THRESHOLD_HOURS=4, RETRY_JOB_INTERVAL_SECONDS=6,
        RETRY_JOB_MAX_ATTEMPTS_ARCHIVES=7, RETRY_JOB_MAX_ATTEMPTS_MESSAGES=8,
        RETRY_JOB_MAX_ATTEMPTS_CHUNKS=9, RETRY_JOB_MAX_ATTEMPTS_THREADS=10,
    )  # fmt: skip
    assert Policy.from_settings(settings) == Policy(
        base_delay=timedelta(seconds=2),
        max_delay=timedelta(seconds=3),
        stuck_after=timedelta(hours=4),
        interval=timedelta(seconds=6),
        max_attempts={"archives": 7, "messages": 8, "chunks": 9, "threads": 10},
    )


@pytest.mark.requirement("R-724")
def test_the_backoff_is_that_of_the_formula() -> None:
    assert [minutes(POLICY.delay(attempts)) for attempts in range(8)] == [0, 5, 10, 20, 40, 60, 60, 60]
    assert minutes(POLICY.delay(10_000)) == 60


@pytest.mark.requirement("R-723")
def test_what_is_silent_waits_for_the_threshold_and_for_the_backoff() -> None:
    assert minutes(POLICY.silence(1)) == 24 * 60
    hasty = Policy.from_settings(
        Settings(COSMOS_ENDPOINT="x", SEARCH_ENDPOINT="x", RETRY_JOB_STUCK_THRESHOLD_HOURS=0.1)
    )
    assert [minutes(hasty.silence(attempts)) for attempts in (1, 2, 4)] == [6, 10, 40]


@pytest.mark.requirement("R-726")
def test_batches_shrink_from_attempt_to_attempt_and_the_last_is_alone() -> None:
    assert [POLICY.batch_size("chunks", attempt, 500) for attempt in range(1, 6)] == [500, 50, 5, 1, 1]
    assert [POLICY.batch_size("messages", attempt, 500) for attempt in range(1, 4)] == [500, 50, 1]


@pytest.mark.parametrize(
    ("seconds", "cron", "really"),
    [
        (900, "0 */15 * * * *", 900),
        (60, "0 */1 * * * *", 60),
        (10, "*/10 * * * * *", 10),
        (1, "*/1 * * * * *", 1),
        (700, "0 */10 * * * *", 600),
        (45, "*/30 * * * * *", 30),
        (3600, "0 0 */1 * * *", 3600),
        (5 * 3600, "0 0 */4 * * *", 4 * 3600),
        (86400, "0 0 0 * * *", 86400),
        (10**6, "0 0 0 * * *", 86400),
    ],
)
@pytest.mark.requirement("R-728")
def test_an_interval_becomes_the_longest_schedule_that_is_not_longer(
    seconds: int, cron: str, really: int
) -> None:
    assert interval_schedule(seconds) == cron
    start = datetime(2026, 3, 11, tzinfo=UTC)
    times = [start]
    for _ in range(30):
        times.append(parse_cron(cron).next_after(times[-1]))
    gaps = {(later - earlier).total_seconds() for earlier, later in pairwise(times)}
    assert gaps == {really}


@pytest.mark.requirement("R-728")
def test_the_timer_goes_by_the_setting_and_a_malformed_one_does_not_stop_the_app(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("RETRY_JOB_INTERVAL_SECONDS", raising=False)
    assert schedule() == "0 */15 * * * *"
    monkeypatch.setenv("RETRY_JOB_INTERVAL_SECONDS", "300")
    assert schedule() == "0 */5 * * * *"
    for malformed in ("soon", "-5", "0", ""):
        monkeypatch.setenv("RETRY_JOB_INTERVAL_SECONDS", malformed)
        assert schedule() == "0 */15 * * * *"


@pytest.mark.parametrize(
    ("evidence", "was_open", "verdict"),
    [
        (FailureEvidence((DOWN,) * 5), False, "ServiceUnavailableError"),
        (FailureEvidence((DOWN,) * 4), False, None),  # too few failures
        (FailureEvidence((DOWN,) * 8 + (RACE,) * 2), False, "ServiceUnavailableError"),
        (FailureEvidence((DOWN,) * 5 + (RACE,) * 5), False, None),  # several causes
        (FailureEvidence((BUG,) * 20), False, None),  # the documents' own bug, not a dependency
        (FailureEvidence((DOWN,) * 10, finished_since_oldest=10), False, None),  # it works half of the time
        (FailureEvidence((DOWN,) * 10, finished_since_oldest=9), False, "ServiceUnavailableError"),
        (
            FailureEvidence((DOWN,) * 10, finished_since_oldest=1, finished_since_newest=1),
            False,
            None,
        ),  # it works again
        (FailureEvidence((DOWN,)), True, "ServiceUnavailableError"),  # a probe failed
        (FailureEvidence(()), True, "no outcome of the probes yet"),
        (FailureEvidence((), finished_since_oldest=1, finished_since_newest=1), True, None),
        (FailureEvidence((BUG,)), True, None),
        (FailureEvidence(()), False, None),
    ],
)
@pytest.mark.requirement("R-730")
def test_when_a_dependency_counts_as_down(
    evidence: FailureEvidence, was_open: bool, verdict: str | None
) -> None:
    assert circuit_open_reason(evidence, was_open=was_open) == verdict
