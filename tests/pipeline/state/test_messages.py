import pytest

from shared.azure.cosmos.session import Session
from shared.azure.cosmos.store import Store
from shared.pipeline.state.archives import mark_processed
from tests.support.cosmos_engine import changes_to
from tests.support.documents import new_message


@pytest.mark.parametrize(
    ("status", "changes"),
    [
        ("pending", {"status": "processed"}),
        ("failed_max_retries", {"status": "processed"}),
        ("processed", {}),
    ],
)
async def test_a_processed_message_names_its_chunks_and_has_no_error(
    store: Store, status: str, changes: dict[str, object]
) -> None:
    message = new_message(status=status, lastError="E")
    sets = {message.id: ("7-abcd", 2)}
    processed = changes_to(store, message, lambda: mark_processed(store, [message], sets, Session()))
    assert await processed == {**changes, "lastError": None, "chunk_set": "7-abcd", "chunk_count": 2}


@pytest.mark.parametrize("changed", [{"text_version": 8}, {"label_version": 9}])
async def test_a_message_with_another_text_or_other_labels_stays_as_it_is(
    store: Store, changed: dict[str, int]
) -> None:
    read = new_message(text_version=7, label_version=7)
    await store.upsert(read.model_copy(update=changed), Session())
    assert await mark_processed(store, [read], {read.id: ("7-abcd", 2)}, Session()) == {read.id}
