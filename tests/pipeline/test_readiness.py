"""The rule that says when a thread is ready for its summary."""

import pytest

from shared.documents.base import ProcessingStatus
from shared.pipeline.readiness import MemberState, is_ready, version_of
from tests.support.documents import new_thread

PENDING, PROCESSED, GIVEN_UP = (
    ProcessingStatus.PENDING, ProcessingStatus.PROCESSED, ProcessingStatus.FAILED_MAX_RETRIES
)  # fmt: skip


def states(*statuses: ProcessingStatus) -> list[MemberState]:
    return [MemberState(status, f"m{number}") for number, status in enumerate(statuses)]


@pytest.mark.parametrize(
    ("messages", "chunks", "ready"),
    [
        ([PROCESSED, PROCESSED], [PROCESSED], True),
        ([PROCESSED, PROCESSED], [], True),  # messages of quotes only have no chunks
        ([PROCESSED, PROCESSED, PROCESSED], [PROCESSED], True),  # the count may be behind
        ([PROCESSED], [PROCESSED], False),  # a message is not stored yet
        ([PROCESSED, PENDING], [PROCESSED], False),
        ([PROCESSED, PROCESSED], [PROCESSED, PENDING], False),
        ([PROCESSED, GIVEN_UP], [GIVEN_UP], True),
    ],
)
def test_a_thread_is_ready_when_all_messages_are_there_and_nothing_is_pending(
    messages: list[ProcessingStatus], chunks: list[ProcessingStatus], ready: bool
) -> None:
    assert is_ready(new_thread(message_count=2), states(*messages), states(*chunks)) is ready


def test_a_status_that_others_write_for_work_in_progress_is_pending() -> None:
    assert MemberState.of({"id": "m", "status": "processing"}).status is PENDING


def test_a_version_is_made_of_what_was_processed_in_any_order() -> None:
    one, other, lost = (MemberState(PROCESSED, "a"), MemberState(PROCESSED, "b"), MemberState(GIVEN_UP, "c"))
    assert version_of([one, other, lost]) == version_of([other, one])
    assert version_of([one, other]) != version_of([one])
    assert version_of([one, other]) == "3554d2b8a1e34099"


def test_another_variant_of_a_message_makes_another_version() -> None:
    rows = [{"id": "m", "status": "processed", "variant": variant} for variant in ("x", "y", None, "")]
    versions = [version_of([MemberState.of(row)]) for row in rows]
    assert len(set(versions)) == 3
    assert versions[2] == versions[3]
