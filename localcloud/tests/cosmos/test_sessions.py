"""Session consistency: readers with the writer's token see the write, and others may see old data."""

import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from azure.core import MatchConditions
from azure.cosmos import ContainerProxy, CosmosClient, PartitionKey, exceptions
from azure.cosmos.aio import CosmosClient as AsyncCosmosClient

from localcloud.cosmos.account import Account, Throughput
from localcloud.cosmos.auth import EMULATOR_KEY
from localcloud.cosmos.documents import Conditions
from localcloud.cosmos.errors import CosmosError
from localcloud.cosmos.sessions import parse_token
from tests.cosmos.conftest import control, query
from tests.support.clock import ManualClock
from tests.support.services import RunningService, running_service

LAG = 30.0


@pytest.fixture(scope="module")
def lagging(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningService]:
    data = tmp_path_factory.mktemp("lagging") / "data"
    with running_service("cosmos", "--ranges", "2", "--replica-lag", str(LAG), data=data) as service:
        yield service


def connect(service: RunningService) -> CosmosClient:
    return CosmosClient(service.addresses["endpoint"], EMULATOR_KEY)


@pytest.fixture
def pair(lagging: RunningService) -> Iterator[tuple[ContainerProxy, ContainerProxy]]:
    """A container as seen by a writer, and by a reader with a separate session."""
    with connect(lagging) as writer, connect(lagging) as reader:
        database = writer.create_database(uuid.uuid4().hex)
        container = database.create_container("c", PartitionKey("/pk"))
        yield container, reader.get_database_client(database.id).get_container_client("c")


def token_of(container: ContainerProxy) -> str:
    return str(container.client_connection.last_response_headers["x-ms-session-token"])


def test_a_reader_without_the_token_sees_the_past(pair: tuple[ContainerProxy, ContainerProxy]) -> None:
    writer, reader = pair
    writer.create_item({"id": "a", "pk": "p"})
    with pytest.raises(exceptions.CosmosResourceNotFoundError) as error:
        reader.read_item("a", "p")
    assert error.value.sub_status == 0
    assert query(reader, "SELECT * FROM c") == []
    assert list(reader.query_items_change_feed(start_time="Beginning")) == []


def test_a_reader_with_the_writers_token_always_sees_the_write(
    pair: tuple[ContainerProxy, ContainerProxy],
) -> None:
    writer, reader = pair
    for version in range(20):
        writer.upsert_item({"id": "a", "pk": "p", "version": version})
        token = token_of(writer)
        assert reader.read_item("a", "p", session_token=token)["version"] == version
        found: Any = reader.query_items(
            "SELECT VALUE c.version FROM c", partition_key="p", session_token=token
        )
        assert list(found) == [version]


def test_a_writer_reads_its_own_writes_by_itself(pair: tuple[ContainerProxy, ContainerProxy]) -> None:
    writer, _ = pair
    writer.create_item({"id": "a", "pk": "p"})
    assert writer.read_item("a", "p")["id"] == "a"
    writer.delete_item("a", "p")
    with pytest.raises(exceptions.CosmosResourceNotFoundError):
        writer.read_item("a", "p")


def test_the_token_of_a_conflict_shows_the_document_in_the_way(
    pair: tuple[ContainerProxy, ContainerProxy],
) -> None:
    writer, reader = pair
    writer.create_item({"id": "a", "pk": "p"})
    with pytest.raises(exceptions.CosmosResourceExistsError) as error:
        reader.create_item({"id": "a", "pk": "p"})
    token = error.value.headers["x-ms-session-token"]
    assert reader.read_item("a", "p", session_token=token)["id"] == "a"


def test_conditional_writes_are_checked_against_the_newest_version(
    pair: tuple[ContainerProxy, ContainerProxy],
) -> None:
    writer, reader = pair
    old = writer.create_item({"id": "a", "pk": "p"})["_etag"]
    writer.upsert_item({"id": "a", "pk": "p", "v": 2})
    with pytest.raises(exceptions.CosmosAccessConditionFailedError):
        reader.replace_item(
            "a", {"id": "a", "pk": "p"}, etag=old, match_condition=MatchConditions.IfNotModified
        )


async def test_the_async_client_sees_the_write_with_the_token_too(
    pair: tuple[ContainerProxy, ContainerProxy], lagging: RunningService
) -> None:
    writer, _ = pair
    writer.create_item({"id": "a", "pk": "p"})
    database = writer.container_link.split("/")[1]
    async with AsyncCosmosClient(lagging.addresses["endpoint"], EMULATOR_KEY) as client:
        container = client.get_database_client(database).get_container_client("c")
        with pytest.raises(exceptions.CosmosResourceNotFoundError):
            await container.read_item("a", "p")
        found = await container.read_item("a", "p", session_token=token_of(writer))
    assert found["id"] == "a"


def test_the_lag_can_be_changed_while_the_server_runs(
    cosmos: RunningService, container: ContainerProxy
) -> None:
    with connect(cosmos) as other:
        database = container.container_link.split("/")[1]
        reader = other.get_database_client(database).get_container_client(container.id)
        container.create_item({"id": "before", "pk": "p"})
        assert control(cosmos, "lag", "PUT", {"seconds": 60}) == {"seconds": 60}
        try:
            container.create_item({"id": "hidden", "pk": "p"})
            assert query(reader, "SELECT VALUE c.id FROM c") == ["before"]
        finally:
            control(cosmos, "lag", "PUT", {"seconds": 0})
        assert sorted(query(reader, "SELECT VALUE c.id FROM c")) == ["before", "hidden"]


def future_of(token: str, ahead: int = 1000) -> str:
    head, _, lsn = token.partition("#")
    return f"{head}#{int(lsn) + ahead}"


def assert_not_available(call: Callable[[], object]) -> None:
    with pytest.raises(exceptions.CosmosHttpResponseError) as error:
        call()
    assert (error.value.status_code, error.value.sub_status) == (404, 1002)


@pytest.mark.parametrize("lag", [0, LAG])
def test_a_token_of_the_future_is_never_served_not_even_on_the_retry(
    lag: float, cosmos: RunningService, lagging: RunningService
) -> None:
    with connect(lagging if lag else cosmos) as client:
        container = client.create_database(uuid.uuid4().hex).create_container("c", PartitionKey("/pk"))
        container.create_item({"id": "a", "pk": "p"})
        token = token_of(container)
        future = future_of(token)
        assert_not_available(lambda: container.read_item("a", "p", session_token=future))
        assert_not_available(
            lambda: list(container.query_items("SELECT * FROM c", partition_key="p", session_token=future))
        )
        assert container.read_item("a", "p", session_token=token)["id"] == "a"
        other_range = f"{1 - int(token.partition(':')[0])}{future[1:]}"
        assert container.read_item("a", "p", session_token=f"{token},{other_range}")["id"] == "a"


def test_a_token_of_the_future_is_served_once_its_write_has_happened(
    container: ContainerProxy,
) -> None:
    container.create_item({"id": "a", "pk": "p"})
    next_write = future_of(token_of(container), ahead=1)
    assert_not_available(lambda: container.read_item("a", "p", session_token=next_write))
    container.upsert_item({"id": "a", "pk": "p", "version": 2})
    assert container.read_item("a", "p", session_token=next_write)["version"] == 2


@pytest.fixture
def engine() -> Iterator[tuple[Account, ManualClock]]:
    clock = ManualClock()
    account = Account(None, clock, ranges=2)
    account.create_database({"id": "d"}, Throughput())
    account.create_container("d", {"id": "c", "partitionKey": {"paths": ["/pk"]}}, Throughput())
    account.set_lag(5)
    yield account, clock
    account.close()


def test_the_replica_shows_each_version_when_its_time_has_come(engine: tuple[Account, ManualClock]) -> None:
    account, clock = engine
    container = account.container("d", "c")
    key = container.key.of_values(["p"])

    def seen() -> Any:
        view = account.replica.view(container)
        row = account.store.find(view.table, "a", key.text, int(clock.now()))
        return row and row.lsn

    first = account.documents.upsert(container, key, {"id": "a", "pk": "p"}, Conditions()).lsn
    clock.advance(2)
    second = account.documents.upsert(container, key, {"id": "a", "pk": "p"}, Conditions()).lsn
    clock.advance(2)
    account.documents.delete(container, key, "a", Conditions())
    assert seen() is None
    clock.advance(1)
    assert seen() == first
    clock.advance(2)
    assert seen() == second
    clock.advance(2)
    assert seen() is None


def test_a_token_ahead_of_the_replica_is_refused_until_it_has_caught_up(
    engine: tuple[Account, ManualClock],
) -> None:
    account, clock = engine
    container = account.container("d", "c")
    written = account.documents.create(container, container.key.of_values(["p"]), {"id": "a", "pk": "p"})
    seen = {written.range: written.lsn}
    with pytest.raises(CosmosError) as error:
        account.replica.view(container).check(seen, (written.range,))
    assert (error.value.status, error.value.substatus) == (404, 1002)
    account.replica.view(container).check(seen, (1 - written.range,))
    clock.advance(5)
    account.replica.view(container).check(seen, (written.range,))


def test_a_failed_batch_never_reaches_the_replica(engine: tuple[Account, ManualClock]) -> None:
    account, clock = engine
    container = account.container("d", "c")
    body = (
        b'[{"operationType":"Create","resourceBody":{"id":"a","pk":"p"}},{"operationType":"Read","id":"no"}]'
    )
    status, _ = account.batches.run_atomic(container, container.key.of_values(["p"]), body)
    clock.advance(10)
    view = account.replica.view(container)
    assert status == 207
    assert view.lsns == [0, 0] == container.lsns
    assert account.store.rows(f"SELECT * FROM {view.table}", ()) == []


def test_session_tokens_are_read_in_all_their_forms() -> None:
    assert parse_token("0:-1#12,1:-1#7") == {0: 12, 1: 7}
    assert parse_token("0:1#100#3=5") == {0: 100}
    assert parse_token("0:42") == {0: 42}
    for bad in ("", "0", "x:1", "0:-1#y", "0:-1#1,"):
        with pytest.raises(CosmosError):
            parse_token(bad)


def test_sequence_numbers_survive_a_restart_even_if_the_last_write_was_a_delete(tmp_path: Path) -> None:
    clock = ManualClock()
    account = Account(tmp_path, clock, ranges=2)
    account.create_database({"id": "d"}, Throughput())
    account.create_container("d", {"id": "c", "partitionKey": {"paths": ["/pk"]}}, Throughput())
    container = account.container("d", "c")
    key = container.key.of_values(["p"])
    rid = account.documents.create(container, key, {"id": "a", "pk": "p"}).row
    last = account.documents.delete(container, key, "a", Conditions()).lsn
    account.close()
    account = Account(tmp_path, clock, ranges=5)
    again = account.container("d", "c")
    assert again.lsn == last
    assert len(again.ranges) == 2
    written = account.documents.create(again, key, {"id": "b", "pk": "p"})
    assert written.lsn == last + 1
    assert rid is not None
    assert written.row is not None
    assert written.row.k > rid.k
    account.close()
