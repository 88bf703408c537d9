"""The clients, each against its service: their guarantees beyond the SDK, and the errors that they raise."""

import asyncio
import logging
import re
from collections.abc import AsyncIterator, Iterator
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest
import pytest_asyncio
from azure.cosmos import PartitionKey

from localcloud.testing import Faults
from shared.azure.classify import classify
from shared.azure.connections import Clients, LayoutError, clients
from shared.azure.cosmos.session import Patch, Session
from shared.azure.cosmos.store import Conflict
from shared.azure.search.fields import FacetValue, Filters
from shared.core.errors import DocumentNotFoundError, ErrorKind, RejectedItemsError
from shared.models.queries.named_query import NamedQuery
from shared.models.threads import Message, Thread
from shared.pipeline.stage import DocumentRef
from shared.pipeline.state.attempts import count_attempt
from shared.settings.app import load_settings
from tests.support.cloud import AppCloud
from tests.support.documents import CREATED
from tests.support.index_rows import indexed
from tests.support.proxy import faulty_proxy
from tests.support.services import RunningService
from tests.support.toy_stages import DIMENSIONS, RAW, Bench, bench, collect_dropped_sockets, message

if TYPE_CHECKING:
    from shared.azure.blobs import Blobs

pytestmark = pytest.mark.asyncio(loop_scope="module")
NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def shared_place(cloud: AppCloud, bus_service: RunningService) -> AsyncIterator[Bench]:
    async with bench(cloud.settings(bus_service)) as ready:
        yield ready


@pytest.fixture
def place(shared_place: Bench) -> Bench:
    return shared_place.fresh()


@pytest.fixture(autouse=True)
def no_faults_left(cloud: AppCloud, bus_service: RunningService) -> Iterator[None]:
    yield
    for service in (cloud.cosmos, cloud.search, bus_service):
        Faults(service).plan()
    Faults(cloud.cosmos).lag(0)


def thread_called(name: str) -> Thread:
    return Thread(
        created_at=CREATED, id=name, thread_id=name, root_message_id="<r@x>", archive_id="a", subject="new"
    )


def messages(place: Bench, count: int, thread: str = "t1", body: str = "x") -> list[Message]:
    return [
        message(place.name(f"m{i}")).model_copy(update={"thread_id": thread, "body_raw": body})
        for i in range(count)
    ]


class TestStore:
    @pytest.mark.requirement("R-402")
    async def test_only_what_is_missing_is_created_and_what_is_there_stays(
        self, place: Bench, caplog: pytest.LogCaptureFixture
    ) -> None:
        caplog.set_level(logging.DEBUG, "shared.azure.cosmos.store")
        store, session = place.clients.store, Session()
        batch = messages(place, 250)
        assert len(await store.create_missing(batch[::3], session)) == len(batch[::3])
        changed = [message.model_copy(update={"subject": "second writer"}) for message in batch]
        created = await store.create_missing(changed, session)
        assert created == {document.id for i, document in enumerate(batch) if i % 3}
        stored = await store.find_many(Message, [message.id for message in batch], session)
        assert [stored[message.id].subject for message in batch] == [
            "second writer" if i % 3 else "" for i in range(250)
        ]
        assert {record.levelname for record in caplog.records} == {"DEBUG"}
        skipped = [int(found) for found in re.findall(r"(\d+) documents in messages already", caplog.text)]
        assert sum(skipped) == len(batch[::3])
        assert all(message.id in caplog.text for message in batch[::3])
        assert await store.create_missing(batch, session) == set()

    async def test_creating_what_is_there_makes_progress_even_when_reads_are_behind(
        self, place: Bench, cloud: AppCloud
    ) -> None:
        batch = messages(place, 5)
        other = await Clients.connect(place.clients.settings)
        try:
            await other.store.find(Message, "warm-up", Session())
            Faults(cloud.cosmos).lag(30)
            await place.clients.store.create_missing(batch[:3], Session())
            created = await asyncio.wait_for(other.store.create_missing(batch, Session()), 20)
        finally:
            await other.close()
        assert created == {message.id for message in batch[3:]}

    async def test_a_session_sees_what_another_had_created_before(
        self, place: Bench, cloud: AppCloud
    ) -> None:
        batch, session = messages(place, 1), Session()
        other = await Clients.connect(place.clients.settings)
        try:
            await other.store.find(Message, "warm-up", Session())
            Faults(cloud.cosmos).lag(30)
            await place.clients.store.create_missing(batch, Session())
            assert await other.store.create_missing(batch, session) == set()
            assert await other.store.find(Message, batch[0].id, session) is not None
        finally:
            await other.close()

    async def test_batches_stay_under_the_size_of_a_request(self, place: Bench) -> None:
        large = messages(place, 12, body="x" * 400_000)
        assert len(await place.clients.store.create_missing(large, Session())) == 12

    async def test_writes_over_many_partitions_give_one_session_that_sees_them_all(
        self, place: Bench
    ) -> None:
        session = Session()
        spread = [
            message(place.name(f"m{i}")).model_copy(update={"thread_id": place.name(f"t{i}")})
            for i in range(40)
        ]
        await place.clients.store.create_missing(spread, session)
        found = await place.clients.store.find_many(
            Message, [message.id for message in spread], Session(session.tokens())
        )
        assert set(found) == {message.id for message in spread}

    @pytest.mark.requirement("R-403")
    async def test_a_missing_document_is_a_race_where_it_was_announced(self, place: Bench) -> None:
        store = place.clients.store
        assert await store.find(Message, "nobody", Session()) is None
        with pytest.raises(DocumentNotFoundError, match="messages/nobody does not exist"):
            await store.read(Message, "nobody", Session())
        with pytest.raises(DocumentNotFoundError):
            await store.patch(Message, Patch("nobody", set={"subject": "x"}), Session())
        assert await store.find_many(Message, [], Session()) == {}

    @pytest.mark.requirement("R-402")
    async def test_create_says_whether_it_is_new(self, place: Bench) -> None:
        (one,) = messages(place, 1)
        assert await place.clients.store.create(one, Session()) is True
        assert await place.clients.store.create(one, Session()) is False

    async def test_replace_loses_to_whoever_was_first(self, place: Bench) -> None:
        store, session = place.clients.store, Session()
        (one,) = messages(place, 1)
        await store.create(one, session)
        read = await store.read(Message, one.id, session)
        first = await store.replace(read.model_copy(update={"subject": "first"}), session)
        assert isinstance(first, Message)
        assert (
            await store.replace(read.model_copy(update={"subject": "second"}), session) is Conflict.CONFLICT
        )
        assert (await store.read(Message, one.id, session)).subject == "first"
        with pytest.raises(ValueError, match="was read"):
            await store.replace(one, session)

    async def test_a_patch_holds_to_its_condition(self, place: Bench) -> None:
        store, session = place.clients.store, Session()
        (one,) = messages(place, 1)
        await store.create(one, session)
        patch = Patch(one.id, set={"subject": "set"}, increment={"attemptCount": 2}, remove=["body_html"])
        changed = await store.patch(Message, patch, session, condition="c.attemptCount = 0")
        assert isinstance(changed, Message)
        assert (changed.subject, changed.attemptCount, changed.body_html) == ("set", 2, None)
        assert await store.patch(Message, patch, session, condition="c.attemptCount = 0") is Conflict.CONFLICT
        with pytest.raises(ValueError, match="1 to 10 operations"):
            Patch(one.id).operations()

    async def test_many_patches_go_in_batches_over_partitions(self, place: Bench) -> None:
        store, session = place.clients.store, Session()
        batch = messages(place, 130) + [
            message(place.name(f"o{i}")).model_copy(update={"thread_id": place.name("other")})
            for i in range(3)
        ]
        await store.create_missing(batch, session)
        await store.patch_all(
            Message,
            [Patch(message.id, set={"subject": "done"}) for message in batch],
            session,
        )
        found = await store.find_many(Message, [message.id for message in batch], session)
        assert {document.subject for document in found.values()} == {"done"}

    @pytest.mark.requirement("R-215")
    async def test_a_query_comes_page_by_page_with_its_parameters(self, place: Bench) -> None:
        thread = place.name("pages")
        await place.clients.store.create_missing(messages(place, 230, thread), Session())
        query = NamedQuery("of_thread", "messages", "SELECT c.id FROM c WHERE c.thread_id = @thread")
        everywhere = [
            document async for document in place.clients.store.query(query, Session(), thread=thread)
        ]
        assert len(everywhere) == 230
        with pytest.raises(ValueError, match="of_thread is a query of all partition"):
            await anext(place.clients.store.query(query, Session(), partition=thread, thread=thread))

    async def test_many_are_written_if_they_are_as_they_were_read(self, place: Bench) -> None:
        store, session = place.clients.store, Session()
        threads = [thread_called(place.name(f"w{number}")) for number in range(20)]
        assert await store.write_all(threads, session) is None
        keys = [thread.id for thread in threads]
        found = await store.find_many(Thread, keys, session)
        changed = [document.model_copy(update={"subject": "changed"}) for document in found.values()]
        new = thread_called(place.name("new"))
        assert await store.write_all([*changed, new], session) is None
        assert await store.write_all(changed, session) is Conflict.CONFLICT
        assert await store.write_all([new], session) is Conflict.CONFLICT
        stored = await store.find_many(Thread, [*keys, new.id], session)
        assert {document.subject for document in stored.values()} == {"changed", new.subject}

    async def test_a_database_of_another_layout_is_refused_with_what_to_do(self, place: Bench) -> None:
        settings = place.clients.settings.model_copy(update={"COSMOS_DATABASE": place.name("old")})
        clients = await Clients.connect(settings)
        try:
            database = await clients._cosmos.create_database(settings.COSMOS_DATABASE)
            await database.create_container("messages", PartitionKey("/thread_id"))
            with pytest.raises(
                LayoutError, match=r"messages is partitioned by /thread_id.*make run ARGS=--fresh"
            ):
                await clients.ensure_containers()
        finally:
            await clients.close()

    async def test_delete_says_whether_it_was_there(self, place: Bench) -> None:
        (one,) = messages(place, 1)
        session = Session()
        await place.clients.store.create(one, session)
        assert await place.clients.store.delete(Message, one.id, session) is True
        assert await place.clients.store.find(Message, one.id, session) is None
        assert await place.clients.store.delete(Message, one.id, session) is False

    @pytest.mark.requirement("R-722")
    async def test_an_attempt_is_counted_up_and_never_down(self, place: Bench) -> None:
        store, session = place.clients.store, Session()
        thread = thread_called(place.name("t"))
        await store.create(thread, session)
        subject = DocumentRef(Thread, thread.id)
        for attempt, expected in ((1, 1), (3, 3), (2, 3), (3, 3)):
            await count_attempt(store, [subject], attempt=attempt, now=NOW, session=session)
            found = await store.read(Thread, thread.id, session)
            assert (found.attemptCount, found.lastAttemptTime) == (expected, NOW)


class TestIndex:
    @pytest.mark.requirement("R-213")
    async def test_hybrid_search_finds_by_words_and_by_meaning_within_filters(self, place: Bench) -> None:
        index = place.clients.index
        mark = place.tag
        rows: list[dict[str, Any]] = [
            row(mark, 1, "the working group agreed on TLS 1.3", [1, 0, 0, 0], "alice@example.org", 1),
            row(mark, 2, "nothing to see here", [0.9, 0.1, 0, 0], "bob@example.org", 2),
            row(mark, 3, "the group objected", [0, 1, 0, 0], "o'brien@example.org", 3),
        ]
        await index.upsert(rows)
        words = await index.search("agreed", filters=Filters(source=mark))
        assert [hit.chunk_id for hit in words] == [f"{mark}-1"]
        meaning = await index.search(None, [1, 0, 0, 0], filters=Filters(source=mark))
        assert [hit.chunk_id for hit in meaning][:2] == [f"{mark}-1", f"{mark}-2"]
        both = await index.search("group", [0, 1, 0, 0], filters=Filters(source=mark), highlight=True)
        assert both[0].chunk_id == f"{mark}-3"
        assert "<em>group</em>" in both[0].highlights[0]
        narrowed = Filters(source=mark, sender="o'brien@example.org", drafts=("RFC8446",))
        assert [hit.chunk_id for hit in await index.search("*", filters=narrowed)] == [f"{mark}-3"]
        since = Filters(
            source=mark, since=datetime(2026, 1, 2, tzinfo=UTC), until=datetime(2026, 1, 3, tzinfo=UTC)
        )
        assert [hit.chunk_id for hit in await index.search("*", filters=since)] == [f"{mark}-2"]

    async def test_facets_count_all_that_was_found_and_not_only_the_page(self, place: Bench) -> None:
        index, mark = place.clients.index, place.tag
        await index.upsert(
            [
                row(mark, 1, "the group agreed", [1, 0, 0, 0], "a@x", 1),
                row(mark, 2, "the group agreed again", [0, 1, 0, 0], "a@x", 2),
                row(mark, 3, "the group objected", [0, 0, 1, 0], "b@x", 3),
                {**row(mark, 4, "the group met", [0, 0, 0, 1], "b@x", 3), "date": "2025-11-03T12:00:00Z"},
            ]
        )
        found = await index.search(
            "group",
            filters=Filters(thread_id=f"thread-{mark}"),
            top=1,
            facets=["source", "writer,count:1", "draft_mentions", "date,interval:year"],
            total=True,
        )
        assert (len(found), found.total) == (1, 4)
        assert found.facets["source"] == [FacetValue(mark, 4)]
        assert [facet.count for facet in found.facets["writer"]] == [2]
        assert found.facets["draft_mentions"] == [FacetValue("RFC8446", 1)]
        by_year = {facet.value[:4]: facet.count for facet in found.facets["date"]}
        assert by_year == {"2025": 1, "2026": 3}

    async def test_pages_follow_one_another_without_gap_or_repeat(self, place: Bench) -> None:
        index, mark = place.clients.index, place.tag
        await index.upsert([row(mark, day, f"agreed {day}", [1, day, 0, 0], "a@x", day) for day in (1, 2, 3)])
        narrowed = Filters(source=mark)
        pages = [
            await index.search("agreed", [1, 1, 0, 0], filters=narrowed, top=1, skip=skip)
            for skip in range(4)
        ]
        assert sorted(hit.chunk_id for page in pages for hit in page) == [
            f"{mark}-{day}" for day in (1, 2, 3)
        ]

    @pytest.mark.requirement("R-211", "R-212", "R-214")
    async def test_a_thread_leads_to_its_chunks_and_their_vectors(self, place: Bench) -> None:
        index, mark = place.clients.index, place.tag
        await index.upsert([row(mark, day, "text", [1, 0, 0, 0], "a@x", day) for day in (1, 2)])
        found = await index.search("*", filters=Filters(thread_id=f"thread-{mark}"))
        assert {hit.chunk_id for hit in found} == {f"{mark}-1", f"{mark}-2"}
        stored = await indexed(index, found[0].chunk_id)
        assert stored is not None
        assert len(stored["embedding"]) == DIMENSIONS

    async def test_an_item_that_is_refused_is_named(self, place: Bench) -> None:
        bad = {**row(place.tag, 1, "t", [1, 0, 0, 0], "a@x", 1), "embedding": [1.0]}
        good = row(place.tag, 2, "t", [1, 0, 0, 0], "a@x", 1)
        with pytest.raises(RejectedItemsError) as raised:
            await place.clients.index.upsert([bad, good])
        assert list(raised.value.failed) == [f"{place.tag}-1"]
        assert await indexed(place.clients.index, f"{place.tag}-2") is not None

    @pytest.mark.requirement("R-211", "R-212", "R-405")
    async def test_upserting_twice_keeps_one_and_deleting_removes_it(self, place: Bench) -> None:
        index, item = place.clients.index, row(place.tag, 1, "one", [1, 0, 0, 0], "a@x", 1)
        await index.upsert([item])
        await index.upsert([{**item, "text": "two"}])
        assert (await indexed(index, item["chunk_id"]) or {})["text"] == "two"
        await index.delete([item["chunk_id"], "never-there"])
        assert await indexed(index, item["chunk_id"]) is None

    async def test_ensuring_the_index_again_changes_nothing(self, place: Bench) -> None:
        await place.clients.index.versions.ensure(DIMENSIONS)


def row(mark: str, number: int, text: str, vector: list[float], sender: str, day: int) -> dict[str, Any]:
    return {
        "chunk_id": f"{mark}-{number}",
        "thread_id": f"thread-{mark}",
        "source": mark,
        "chunk_index": 0,
        "text": text,
        "sender": sender,
        "writer": f"Somebody <{sender}>",
        "date": f"2026-01-0{day}T12:00:00Z",
        "draft_mentions": ["RFC8446"] if number == 3 else [],
        "embedding": [float(x) for x in vector],
    }


class TestBlobs:
    async def test_a_stream_goes_in_and_comes_out_in_pieces(self, place: Bench) -> None:
        async def pieces() -> AsyncIterator[bytes]:
            for number in range(50):
                yield bytes([number]) * 200_000

        blobs: Blobs = place.clients.blobs
        await blobs.upload(RAW, place.name("big"), pieces())
        count = 0
        async for piece in blobs.read(RAW, place.name("big")):
            count += len(piece)
        assert count == 10_000_000

    async def test_uploading_again_replaces_and_deleting_says_whether_it_was_there(
        self, place: Bench
    ) -> None:
        blobs, name = place.clients.blobs, place.name("b")
        await blobs.upload(RAW, name, b"one")
        await blobs.upload(RAW, name, b"two")
        assert b"".join([piece async for piece in blobs.read(RAW, name)]) == b"two"
        assert await blobs.delete(RAW, name) is True
        assert await blobs.delete(RAW, name) is False
        with pytest.raises(DocumentNotFoundError, match="there is no blob raw/b"):
            await anext(blobs.read(RAW, name))
        await blobs.ensure_container(RAW)

    @pytest.mark.parametrize("kind", ["reset", "unavailable"])
    @pytest.mark.requirement("R-608")
    async def test_a_blip_is_ridden_out_and_a_longer_fault_is_transient(
        self, place: Bench, cloud: AppCloud, kind: str
    ) -> None:
        async with faulty_proxy(cloud.blob_endpoint) as proxy:
            through = cloud.through(proxy.address)
            settings = place.clients.settings.model_copy(
                update={"STORAGE_CONNECTION": load_secret(through.storage_connection)}
            )
            other = await Clients.connect(settings)
            try:
                proxy.fail_next(kind, 1)
                await other.blobs.upload(RAW, place.name("x"), b"there")
                proxy.fail_next(kind, 20)
                with pytest.raises(Exception) as raised:  # noqa: PT011 - any error of the SDK is classified
                    await other.blobs.upload(RAW, place.name("x"), b"again")
                assert classify(raised.value).kind is ErrorKind.TRANSIENT, repr(raised.value)
                assert proxy.hits > 2
                proxy.fail_next(kind, 0)
            finally:
                await other.close()


def load_secret(value: str) -> Any:
    complete = {"COSMOS_ENDPOINT": "x", "SEARCH_ENDPOINT": "x", "SERVICEBUS_CONNECTION": "x"}
    return load_settings({**complete, "STORAGE_CONNECTION": value}).STORAGE_CONNECTION


def status(code: int, **args: Any) -> dict[str, Any]:
    return {"kind": "status", "times": None, "args": {"status": code, **args}}


COSMOS = [
    (status(400), ErrorKind.PERMANENT),
    (status(403), ErrorKind.TRANSIENT),
    (status(404, substatus=1002), ErrorKind.RACE),
    (status(408), ErrorKind.TRANSIENT),
    (status(412), ErrorKind.TRANSIENT),
    (status(413), ErrorKind.PERMANENT),
    (status(429, retry_after_ms=1), ErrorKind.TRANSIENT),
    (status(449), ErrorKind.TRANSIENT),
    (status(500), ErrorKind.TRANSIENT),
    (status(503), ErrorKind.TRANSIENT),
    ({"kind": "reset_before", "times": None}, ErrorKind.TRANSIENT),
]
SEARCH = [
    (status(400), ErrorKind.PERMANENT),
    (status(403), ErrorKind.TRANSIENT),
    (status(404), ErrorKind.TRANSIENT),  # the index is missing. It can be created, and no chunk caused this
    (status(413), ErrorKind.PERMANENT),
    (status(429), ErrorKind.TRANSIENT),
    (status(500), ErrorKind.TRANSIENT),
    (status(503), ErrorKind.TRANSIENT),
    ({"kind": "reset", "times": None}, ErrorKind.TRANSIENT),
]
BUS = [
    ({"kind": kind, "times": None, "operation": "send"}, ErrorKind.TRANSIENT)
    for kind in ("server-busy", "drop")
]


class TestWhatTheSdksRaise:
    """Check the error tree with errors that really arrive, not with the documentation."""

    @pytest.mark.parametrize(("fault", "kind"), COSMOS, ids=str)
    @pytest.mark.requirement("R-608")
    async def test_from_cosmos(
        self, place: Bench, cloud: AppCloud, fault: dict[str, Any], kind: ErrorKind
    ) -> None:
        Faults(cloud.cosmos).plan({**fault, "operation": "docs.*"})
        with pytest.raises(Exception) as raised:  # noqa: PT011 - any error of the SDK is classified
            await place.clients.store.find(Message, "m", Session())
        assert classify(raised.value).kind is kind, repr(raised.value)

    async def test_from_cosmos_where_the_sdk_fails_to_forget_its_token(
        self, place: Bench, cloud: AppCloud
    ) -> None:
        store = place.clients.store
        await store.create(thread_called(place.name("t")), Session())
        session = place.clients._cosmos.client_connection.session
        assert session is not None
        known = session.session_container
        assert known.rid_to_session_token
        known.rid_to_session_token.clear()  # as if two names shared one id, and one of them is gone
        Faults(cloud.cosmos).plan({**status(404, substatus=1002), "operation": "docs.*"})
        with pytest.raises(KeyError) as raised:
            await store.find(Thread, place.name("t"), Session())
        assert classify(raised.value).kind is ErrorKind.RACE
        Faults(cloud.cosmos).plan()
        assert await store.find(Thread, place.name("t"), Session())
        assert classify(KeyError("a bug of our own")).kind is ErrorKind.PERMANENT

    @pytest.mark.parametrize(("fault", "kind"), SEARCH, ids=str)
    @pytest.mark.requirement("R-608")
    async def test_from_search(
        self, place: Bench, cloud: AppCloud, fault: dict[str, Any], kind: ErrorKind
    ) -> None:
        Faults(cloud.search).plan({**fault, "operation": "docs.*"})
        with pytest.raises(Exception) as raised:  # noqa: PT011
            await place.clients.index.upsert([row(place.tag, 1, "t", [1, 0, 0, 0], "a@x", 1)])
        assert classify(raised.value).kind is kind, repr(raised.value)

    # The SDK does not close the sockets of dropped connections.
    @pytest.mark.filterwarnings("ignore::ResourceWarning")
    @pytest.mark.parametrize(("fault", "kind"), BUS, ids=str)
    @pytest.mark.requirement("R-608")
    async def test_from_the_bus(
        self, place: Bench, bus_service: RunningService, fault: dict[str, Any], kind: ErrorKind
    ) -> None:
        Faults(bus_service).plan(fault)
        with pytest.raises(Exception) as raised:  # noqa: PT011
            await place.publish(place.parsed("m1"))
        assert classify(raised.value).kind is kind, repr(raised.value)
        collect_dropped_sockets()

    async def test_the_time_that_cosmos_asks_for_is_known(self, place: Bench, cloud: AppCloud) -> None:
        Faults(cloud.cosmos).plan({**status(429, retry_after_ms=40), "operation": "docs.*"})
        with pytest.raises(Exception) as raised:  # noqa: PT011
            await place.clients.store.find(Message, "m", Session())
        assert classify(raised.value).retry_after == pytest.approx(0.04)

    async def test_a_service_that_is_not_there_is_transient(self, place: Bench) -> None:
        settings = place.clients.settings.model_copy(
            update={
                "SEARCH_ENDPOINT": "https://localhost:9",
                "COSMOS_ENDPOINT": place.clients.settings.COSMOS_ENDPOINT,
            }
        )
        other = await Clients.connect(settings)
        try:
            with pytest.raises(Exception) as raised:  # noqa: PT011
                await other.index.search("x")
            assert classify(raised.value).kind is ErrorKind.TRANSIENT
        finally:
            await other.close()


async def test_one_set_of_clients_serves_the_process(place: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in place.clients.settings.model_dump().items():
        if value is not None:
            secret = getattr(value, "get_secret_value", None)
            monkeypatch.setenv(name, secret() if secret else str(value))
    first, second = await asyncio.gather(clients(), clients())
    assert first is second
    await first.close()


class Engine:
    closed = False

    async def close(self) -> None:
        self.closed = True


async def test_what_was_started_on_a_set_of_clients_is_closed_with_it(place: Bench) -> None:
    engine, connected = Engine(), await Clients.connect(place.clients.settings)

    async def start() -> Engine:
        return engine

    assert await connected.resources.get("engine", start) is engine
    await connected.close()
    assert engine.closed
