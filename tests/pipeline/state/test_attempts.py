"""Attempts at a document: counted and stored values, and refused concurrent writes."""

from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta
from typing import Any

import pytest

from shared.azure.cosmos.session import Session
from shared.azure.cosmos.store import Store
from shared.core.errors import ClassifiedError, DocumentNotFoundError, ErrorKind
from shared.models.sources import Archive
from shared.models.threads import Message
from shared.pipeline.stage import DocumentRef
from shared.pipeline.state.attempts import (
    SeenAttempt,
    count_attempt,
    count_requeue,
    error_text,
    given_up,
    record_failed_attempt,
    record_requeue,
    reopen_document,
    reset,
)
from tests.support.cosmos_engine import changes_to, stored_fields
from tests.support.documents import CREATED, new_archive, new_chunk, new_message

NOW = "2026-01-02T03:04:05.000000Z"
BEFORE = CREATED - timedelta(hours=1)
EARLIER = "2026-01-02T02:04:05.000000Z"
ARCHIVE = DocumentRef(Archive, "a1")
GONE = DocumentRef(Archive, "gone")
PERMANENT = ClassifiedError(ErrorKind.PERMANENT, "Trouble", "it does not work")
TRANSIENT = ClassifiedError(ErrorKind.TRANSIENT, "Trouble", "it does not work")


def tried(attempts: int = 2, last: datetime | None = BEFORE, **fields: Any) -> Archive:
    return new_archive(
        attemptCount=attempts, lastAttemptTime=last, lastError="E", requeued_at=BEFORE, **fields
    )


def test_an_error_is_kept_with_its_type_and_cut() -> None:
    assert error_text(PERMANENT) == "Trouble: it does not work"
    assert error_text(ClassifiedError(ErrorKind.PERMANENT, "T", "x" * 1000)) == f"T: {'x' * 497}"


async def _count(store: Store, attempt: int) -> None:
    await count_attempt(store, [ARCHIVE], attempt=attempt, now=CREATED, session=Session())


@pytest.mark.parametrize(
    ("attempt", "counted"),
    [(1, {}), (2, {"lastAttemptTime": NOW}), (3, {"lastAttemptTime": NOW, "attemptCount": 3})],
)
async def test_the_highest_attempt_is_remembered_and_its_time(
    store: Store, attempt: int, counted: dict[str, int]
) -> None:
    assert await changes_to(store, tried(2), lambda: _count(store, attempt)) == counted


async def test_an_attempt_is_counted_on_the_documents_that_are_there_and_not_ahead_of_it(
    store: Store,
) -> None:
    """All documents of a partition are one batch, without the documents that refuse the write."""
    first, *others = [f"abcd{number}" for number in range(400)]
    ids = [first, *(id_ for id_ in others if Message.partition_of(id_) == Message.partition_of(first))][:4]
    ahead, behind = new_message(ids[1], attemptCount=2), new_message(ids[3])
    await store.create_missing([ahead, behind], Session())
    await count_attempt(
        store, [DocumentRef(Message, id_) for id_ in ids], attempt=1, now=CREATED, session=Session()
    )
    found = await store.find_many(Message, ids, Session())
    assert {id_: message.attemptCount for id_, message in found.items()} == {ids[1]: 2, ids[3]: 1}


class Bare(Archive):
    """A document as other implementations store it."""

    def to_cosmos(self) -> dict[str, Any]:
        without = ("attemptCount", "lastAttemptTime")
        return {name: value for name, value in super().to_cosmos().items() if name not in without}


def bare() -> Bare:
    return Bare.model_validate(new_archive().model_dump())


async def test_a_document_that_never_counted_starts_with_this_attempt(store: Store) -> None:
    changes = await changes_to(store, bare(), lambda: _count(store, 1))
    assert changes == {"attemptCount": 1, "lastAttemptTime": NOW}


async def _fail(store: Store, failure: ClassifiedError, final: str | None = None) -> None:
    await record_failed_attempt(
        store, [ARCHIVE], attempt=3, failure=failure, now=CREATED, session=Session(), failed_status=final
    )


FAILED = {"lastAttemptTime": NOW, "lastError": "Trouble: it does not work", "requeued_at": None}


@pytest.mark.parametrize(
    ("failure", "final", "status"),
    [
        (PERMANENT, "failed", {"status": "failed"}),
        (PERMANENT, None, {}),
        (TRANSIENT, "failed", {}),
        (TRANSIENT, None, {}),
    ],
)
async def test_a_failed_attempt_is_kept_and_only_a_permanent_one_can_be_final(
    store: Store, failure: ClassifiedError, final: str | None, status: dict[str, str]
) -> None:
    changes = await changes_to(store, tried(2), lambda: _fail(store, failure, final))
    assert changes == {"attemptCount": 3, **FAILED, **status}


async def test_a_late_failure_of_an_older_attempt_does_not_lower_the_count(store: Store) -> None:
    changes = await changes_to(store, tried(5), lambda: _fail(store, TRANSIENT))
    assert changes == FAILED


async def test_each_document_of_an_event_remembers_the_failure_and_those_that_are_gone_do_not_matter(
    store: Store,
) -> None:
    documents, session = [new_message("m1"), new_message("m2"), new_chunk("c1")], Session()
    for document in documents:
        await store.upsert(document, session)
    subjects = [DocumentRef(type(document), document.id) for document in documents]
    gone = DocumentRef(Message, "gone")
    await record_failed_attempt(
        store, [*subjects, gone], attempt=3, failure=TRANSIENT, now=CREATED, session=session
    )
    stored = [await stored_fields(store, document, session) for document in documents]
    assert [fields["attemptCount"] for fields in stored] == [3, 3, 3]
    assert await store.find(Message, "gone", session) is None


Act = Callable[[Store, DocumentRef, SeenAttempt], Awaitable[bool]]


async def _requeue(store: Store, subject: DocumentRef, seen: SeenAttempt) -> bool:
    also = {"content_hash": "v2"}
    return await count_requeue(store, subject, seen, error="silent", moment=NOW, also=also, session=Session())


async def _give_up(store: Store, subject: DocumentRef, seen: SeenAttempt) -> bool:
    return await given_up(store, subject, seen, error="too often", session=Session())


SEEN = SeenAttempt(2, EARLIER)
COUNTED = {
    "attemptCount": 3,
    "lastAttemptTime": NOW,
    "lastError": "silent",
    "requeued_at": None,
    "content_hash": "v2",
}
GIVEN_UP = {"status": "failed_max_retries", "lastError": "too often", "requeued_at": None}


@pytest.mark.parametrize(("act", "expected"), [(_requeue, COUNTED), (_give_up, GIVEN_UP)])
async def test_what_a_sweep_writes_on_what_it_has_seen(
    store: Store, act: Act, expected: dict[str, Any]
) -> None:
    answers: list[bool] = []

    async def write() -> None:
        answers.append(await act(store, ARCHIVE, SEEN))

    assert await changes_to(store, tried(), write) == expected
    assert answers == [True]


@pytest.mark.parametrize("act", [_requeue, _give_up])
@pytest.mark.parametrize(
    ("document", "seen", "allowed"),
    [
        (tried(), SEEN, True),
        (tried(status="processed"), SEEN, False),
        (tried(status="failed_max_retries"), SEEN, False),
        (tried(3), SEEN, False),  # another sweep was faster
        (tried(last=CREATED), SEEN, False),  # its stage has tried it since
        (tried(last=None), SEEN, False),
        (tried(0, None), SeenAttempt(0, None), True),
        (bare(), SeenAttempt(0, None), True),
        (tried(1, None), SeenAttempt(0, None), False),
        (tried(0, BEFORE), SeenAttempt(0, None), False),
        (bare(), SeenAttempt(1, None), False),
    ],
)
async def test_a_sweep_writes_only_where_the_attempts_are_as_they_were_seen(
    store: Store, act: Act, document: Archive, seen: SeenAttempt, allowed: bool
) -> None:
    await store.upsert(document, Session())
    before = await stored_fields(store, document)
    assert await act(store, ARCHIVE, seen) is allowed
    assert (await stored_fields(store, document) != before) is allowed


@pytest.mark.parametrize("act", [_requeue, _give_up])
async def test_a_document_that_went_meanwhile_is_not_requeued_or_given_up(store: Store, act: Act) -> None:
    assert await act(store, GONE, SEEN) is False


async def _record(store: Store, subject: DocumentRef) -> bool:
    return await record_requeue(store, subject, attempt=2, moment=EARLIER, since=NOW, session=Session())


async def test_a_requeue_is_recorded(store: Store) -> None:
    changes = await changes_to(store, tried(), lambda: _record(store, ARCHIVE))
    assert changes == {"requeued_at": NOW}


@pytest.mark.parametrize(
    ("document", "recorded"),
    [
        (tried(), True),
        (tried(status="processed"), False),
        (tried(3), False),
        (tried(1), False),
        (tried(last=CREATED), False),
    ],
)
async def test_a_requeue_is_recorded_only_while_its_attempt_is_the_last(
    store: Store, document: Archive, recorded: bool
) -> None:
    await store.upsert(document, Session())
    assert await _record(store, ARCHIVE) is recorded
    assert await _record(store, GONE) is False


@pytest.mark.parametrize(
    ("status", "allowed"),
    [("pending", True), ("failed", True), ("failed_max_retries", True), ("processed", False)],
)
async def test_all_but_what_is_processed_can_be_reset(store: Store, status: str, allowed: bool) -> None:
    await store.upsert(tried(status=status), Session())
    assert await reset(store, ARCHIVE, Session()) is allowed
    stored = await store.read(Archive, "a1", Session())
    assert (stored.status == "pending") is allowed


@pytest.mark.parametrize("error", [None, "asked for"])
async def test_a_reset_document_is_as_if_it_were_new(store: Store, error: str | None) -> None:
    document = tried(status="failed")
    changes = await changes_to(store, document, lambda: reset(store, ARCHIVE, Session(), error=error))
    assert changes == {
        "status": "pending", "attemptCount": 0, "lastAttemptTime": None, "lastError": error,
        "requeued_at": None,
    }  # fmt: skip


async def test_what_is_gone_cannot_be_reset(store: Store) -> None:
    with pytest.raises(DocumentNotFoundError):
        await reset(store, GONE, Session())


async def test_a_reopened_document_looks_as_if_its_last_attempt_had_failed(store: Store) -> None:
    answers: list[bool] = []

    async def reopen(subject: DocumentRef) -> None:
        answers.append(
            await reopen_document(
                store, subject, Session(), attempts=7, error="damaged", also={"removing": True}
            )
        )

    assert await changes_to(store, tried(status="processed"), lambda: reopen(ARCHIVE)) == {
        "status": "pending", "attemptCount": 7, "lastAttemptTime": None, "lastError": "damaged",
        "requeued_at": None, "removing": True,
    }  # fmt: skip
    await reopen(GONE)
    assert answers == [True, False]
