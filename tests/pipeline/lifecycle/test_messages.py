import pytest

from shared.clients.cosmos.session import Session
from shared.clients.cosmos.store import Store
from shared.pipeline.lifecycle.archives import messages_processed
from tests.support.cosmos_engine import changes_to
from tests.support.documents import new_message


@pytest.mark.parametrize(
    ("status", "changes"),
    [
        ("pending", {"status": "processed", "lastError": None}),
        ("failed_max_retries", {"status": "processed", "lastError": None}),
        ("processed", {"lastError": None}),
    ],
)
async def test_a_processed_message_has_no_error(
    store: Store, status: str, changes: dict[str, object]
) -> None:
    message = new_message(status=status, lastError="E")
    processed = changes_to(store, message, lambda: messages_processed(store, [message], Session()))
    assert await processed == changes
