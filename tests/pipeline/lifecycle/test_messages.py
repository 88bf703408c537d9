import pytest

from shared.clients.cosmos.session import Session
from shared.clients.cosmos.store import Store
from shared.pipeline.lifecycle.archives import messages_processed
from tests.support.cosmos_engine import changes_to
from tests.support.documents import CREATED, new_message

NOW = "2026-01-02T03:04:05.000000Z"


@pytest.mark.parametrize(
    ("status", "attempts", "changes"),
    [
        (
            "pending",
            0,
            {"status": "processed", "attemptCount": 2, "lastAttemptTime": NOW, "lastError": None},
        ),
        ("pending", 3, {"status": "processed", "lastAttemptTime": NOW, "lastError": None}),
        ("failed_max_retries", 3, {"status": "processed", "lastAttemptTime": NOW, "lastError": None}),
        ("processed", 0, {}),  # as it was, error and all
    ],
)
async def test_a_processed_message_has_its_attempt_and_no_error(
    store: Store, status: str, attempts: int, changes: dict[str, object]
) -> None:
    message = new_message(status=status, attemptCount=attempts, lastError="E")

    async def process() -> None:
        await messages_processed(store, [message], attempt=2, now=CREATED, session=Session())

    assert await changes_to(store, message, process) == changes
