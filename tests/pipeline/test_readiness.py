"""The rule that decides when a thread is ready for its summary."""

from typing import Any

import pytest

from shared.azure.connections import Clients
from shared.azure.cosmos.session import Patch, Session
from shared.azure.cosmos.store import Store
from shared.core.ids import chunk_id, message_key
from shared.models.base import ProcessingStatus
from shared.models.threads import Chunk, Message, Thread
from shared.pipeline.readiness import (
    MemberState,
    ReadyThread,
    has_all_messages,
    is_finished,
    is_ready,
    ready_thread,
    ready_threads,
    version_of,
)
from tests.support.documents import new_chunk, new_message, new_thread

PENDING, PROCESSED, GIVEN_UP = (
    ProcessingStatus.PENDING, ProcessingStatus.PROCESSED, ProcessingStatus.FAILED_MAX_RETRIES
)  # fmt: skip


SET = "2-abcd"


def states(*statuses: ProcessingStatus) -> list[MemberState]:
    return [MemberState(status, f"m{number}") for number, status in enumerate(statuses)]


@pytest.mark.parametrize(
    ("messages", "chunks", "ready"),
    [
        ([PROCESSED, PROCESSED], [PROCESSED], True),
        ([PROCESSED, PROCESSED], [], True),  # messages that only quote have no chunks
        ([PROCESSED, PROCESSED, PROCESSED], [PROCESSED], True),  # the count may be outdated
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


def test_another_text_of_a_message_makes_another_version() -> None:
    rows = [{"id": "m", "status": "processed", "text_version": number} for number in (1, 2, None, 0)]
    versions = [version_of([MemberState.of(row)]) for row in rows]
    assert len(set(versions)) == 3
    assert versions[2] == versions[3]


@pytest.mark.parametrize(("status", "finished"), [(PENDING, False), (PROCESSED, True), (GIVEN_UP, True)])
def test_what_is_done_or_given_up_is_finished(status: ProcessingStatus, finished: bool) -> None:
    assert is_finished(status) is finished


@pytest.mark.parametrize(("stored", "all_there"), [(1, False), (2, True), (3, True)])
def test_a_thread_may_count_more_messages_than_are_stored_yet(stored: int, all_there: bool) -> None:
    assert has_all_messages(2, stored) is all_there


@pytest.mark.parametrize(("requested", "new"), [(None, True), ("older", True), ("v", False)])
def test_a_version_is_new_until_its_summary_is_requested(requested: str | None, new: bool) -> None:
    assert ReadyThread(new_thread(content_hash=requested), "v").is_new is new


def _key(name: str) -> str:
    return message_key(f"<{name}>", "list")


def _thread(id_: str, messages: int = 2) -> Thread:
    members = [{"id": f"<{id_}-m{number}>"} for number in range(1, messages + 1)]
    return new_thread(
        id_, source="list", message_count=messages, threading={"members": members, "subjects": []}
    )


def _message(name: str, thread: str, status: str = "processed") -> Message:
    return new_message(_key(name), thread, message_id=f"<{name}>", status=status)


def _chunk(id_: str, set_: str = SET, number: int = 0, **fields: Any) -> Chunk:
    key = _key(f"{id_}-m1")
    return new_chunk(chunk_id(key, set_, number), "another", message_key=key, **fields)


async def _store_thread(store: Store, id_: str, *, chunk: str, messages: int = 2) -> None:
    """Store two messages, a chunk of the first, and a chunk of its earlier text. Labels do not count."""
    documents = [
        _thread(id_, messages),
        _message(f"{id_}-m1", id_).model_copy(update={"chunk_set": SET, "chunk_count": 1}),
        _message(f"{id_}-m2", "another"),
        _chunk(id_, status=chunk),
        _chunk(id_, "1-abcd", status="pending"),
    ]
    await store.upsert_all(documents, Session())


async def test_a_thread_and_its_version_are_read_from_the_store(engine_clients: Clients) -> None:
    store = engine_clients.store
    await _store_thread(store, "t1", chunk="processed")
    await _store_thread(store, "t2", chunk="pending")
    await _store_thread(store, "t3", chunk="processed", messages=3)
    await store.upsert(_message("stranger", "t1", status="pending"), Session())
    found = {id_: await ready_thread(engine_clients, id_, Session()) for id_ in ("t1", "t2", "t3", "gone")}
    parts = (_key("t1-m1"), _key("t1-m2"), _chunk("t1").id)
    members = [MemberState(PROCESSED, part) for part in parts]
    ready = found.pop("t1")
    assert ready is not None
    assert (ready.thread.id, ready.version) == ("t1", version_of(members))
    assert found == {"t2": None, "t3": None, "gone": None}


async def test_a_thread_waits_for_each_chunk_that_its_messages_name(engine_clients: Clients) -> None:
    store = engine_clients.store
    await _store_thread(store, "t1", chunk="processed")
    message = Patch(_key("t1-m1"), set={"chunk_count": 2})
    await store.patch(Message, message, Session())
    assert await ready_thread(engine_clients, "t1", Session()) is None
    await store.upsert(_chunk("t1", number=1, status="failed_max_retries"), Session())
    assert await ready_thread(engine_clients, "t1", Session()) is not None


async def test_many_threads_are_read_at_once_and_judged_alike(engine_clients: Clients) -> None:
    store = engine_clients.store
    ids = ["t1", "t2", "t3", "t4", "t5"]
    for id_ in ids:
        await _store_thread(store, id_, chunk="pending" if id_ == "t2" else "processed")
    threads = [_thread(id_, 3 if id_ == "t4" else 2) for id_ in ids]
    found = await ready_threads(engine_clients, threads, Session())
    assert [ready.thread.id for ready in found] == ["t1", "t3", "t5"]
    for ready in found:
        alone = await ready_thread(engine_clients, ready.thread.id, Session())
        assert alone is not None
        assert alone.version == ready.version
