from shared.azure.cosmos.session import Session
from shared.azure.cosmos.store import Store
from shared.pipeline.state.archives import mark_archive_processed, mark_deleting
from tests.support.cosmos_engine import changes_to
from tests.support.documents import new_archive


async def test_a_processed_archive_has_its_counts_and_no_error(store: Store) -> None:
    async def process() -> None:
        await mark_archive_processed(
            store, "a1", Session(), message_count=5, thread_count=2, skipped_count=1, skipped=[{"line": 3}]
        )

    assert await changes_to(store, new_archive(lastError="E"), process) == {
        "status": "processed",
        "message_count": 5,
        "thread_count": 2,
        "skipped_count": 1,
        "skipped": [{"line": 3}],
        "lastError": None,
    }


async def test_an_archive_that_is_being_removed_says_so(store: Store) -> None:
    answers: list[bool] = []

    async def remove(archive_id: str) -> None:
        answers.append(await mark_deleting(store, archive_id, Session()))

    assert await changes_to(store, new_archive(), lambda: remove("a1")) == {"removing": True}
    await remove("gone")
    assert answers == [True, False]
