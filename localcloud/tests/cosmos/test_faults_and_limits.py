"""Injected faults, throttling, wrong keys, and a killed server."""

import threading
import time
import uuid
from collections.abc import Callable
from pathlib import Path

import pytest
from azure.core.exceptions import AzureError, ServiceResponseError
from azure.cosmos import ContainerProxy, CosmosClient, PartitionKey, exceptions
from azure.cosmos.exceptions import CosmosHttpResponseError

from localcloud.cosmos.auth import EMULATOR_KEY
from tests.cosmos.conftest import control, query
from tests.cosmos.raw import RawClient
from tests.support.services import RunningService, running_service, start_service

Plan = Callable[..., None]


def new_container(service: RunningService) -> ContainerProxy:
    client = CosmosClient(service.addresses["endpoint"], EMULATOR_KEY)
    database = client.create_database(uuid.uuid4().hex)
    container: ContainerProxy = database.create_container("c", PartitionKey("/pk"))
    return container


@pytest.mark.parametrize("status", [408, 410, 449, 503])
def test_a_planned_status_reaches_the_client(
    container: ContainerProxy, plan_faults: Plan, status: int
) -> None:
    plan_faults({"kind": "status", "operation": "docs.create", "times": None, "args": {"status": status}})
    with pytest.raises(AzureError) as error:
        container.create_item({"id": "a", "pk": "p"})
    assert getattr(error.value, "status_code", None) == status
    plan_faults()
    assert query(container, "SELECT * FROM c") == []


def test_the_sdk_waits_out_a_429(container: ContainerProxy, plan_faults: Plan) -> None:
    args = {"status": 429, "substatus": 3200, "retry_after_ms": 20}
    plan_faults({"kind": "status", "operation": "docs.*", "times": 3, "args": args})
    container.create_item({"id": "a", "pk": "p"})
    assert container.read_item("a", "p")["id"] == "a"


def test_a_fault_hits_only_its_operation_and_only_as_often_as_planned(
    container: ContainerProxy, plan_faults: Plan, cosmos: RunningService
) -> None:
    plan_faults({"kind": "status", "operation": "docs.patch", "skip": 1, "times": 1, "args": {"status": 449}})
    container.create_item({"id": "a", "pk": "p"})
    change = [{"op": "incr", "path": "/n", "value": 1}]
    container.patch_item("a", "p", change)
    with pytest.raises(CosmosHttpResponseError) as error:
        container.patch_item("a", "p", change)
    assert error.value.status_code == 449
    assert container.patch_item("a", "p", change)["n"] == 2
    assert control(cosmos, "faults")[0]["hits"] == 1


def test_a_reset_before_the_commit_loses_the_write_and_one_after_it_does_not(
    container: ContainerProxy, plan_faults: Plan
) -> None:
    plan_faults({"kind": "reset_before", "operation": "docs.create", "times": None})
    with pytest.raises(ServiceResponseError):
        container.create_item({"id": "before", "pk": "p"})
    plan_faults({"kind": "reset_after", "operation": "docs.create", "times": None})
    with pytest.raises(ServiceResponseError):
        container.create_item({"id": "after", "pk": "p"})
    plan_faults()
    assert query(container, "SELECT VALUE c.id FROM c") == ["after"]


def test_an_error_after_the_commit_leaves_the_write_in_place(
    container: ContainerProxy, plan_faults: Plan
) -> None:
    plan_faults({"kind": "status_after", "operation": "docs.batch", "args": {"status": 408}})
    with pytest.raises(AzureError):
        container.execute_item_batch([("create", ({"id": "a", "pk": "p"},))], "p")
    assert container.read_item("a", "p")["id"] == "a"


def test_latency_delays_the_answer(container: ContainerProxy, plan_faults: Plan) -> None:
    plan_faults({"kind": "latency", "operation": "docs.read", "args": {"seconds": 0.4}})
    container.create_item({"id": "a", "pk": "p"})
    started = time.monotonic()
    container.read_item("a", "p")
    assert time.monotonic() - started >= 0.4


def test_faults_are_off_unless_asked_for(tmp_path: Path) -> None:
    with running_service("cosmos", data=tmp_path / "data") as service:
        assert control(service, "health")["status"] == "ok"
        with pytest.raises(OSError, match="403"):
            control(service, "faults", "PUT", [])


def test_a_client_above_the_rate_is_throttled_with_a_retry_time(tmp_path: Path) -> None:
    with running_service("cosmos", "--rate", "50", data=tmp_path / "data") as service:
        container = new_container(service)
        answers = []
        with RawClient(service.addresses["endpoint"]) as raw:
            for number in range(40):
                path = f"/{container.container_link}/docs"
                key = {"x-ms-documentdb-partitionkey": '["p"]'}
                answers.append(raw.send("POST", path, {"id": str(number), "pk": "p"}, key))
        refused = [headers for status, headers, _ in answers if status == 429]
        assert {status for status, _, _ in answers} == {201, 429}
        assert refused[0]["x-ms-substatus"] == "3200"
        assert int(refused[0]["x-ms-retry-after-ms"]) > 0
        container.upsert_item({"id": "patient", "pk": "p"})


def test_every_answer_states_its_charge(container: ContainerProxy) -> None:
    def charge() -> float:
        return float(container.client_connection.last_response_headers["x-ms-request-charge"])

    container.create_item({"id": "a", "pk": "p", "text": "x" * 3000})
    assert charge() == 20
    container.read_item("a", "p")
    assert charge() == 4
    query(container, "SELECT * FROM c", key="p")
    assert charge() > 2


@pytest.mark.parametrize("key", ["d3Jvbmc=", EMULATOR_KEY.replace("C2y6", "C2y7")])
def test_a_wrong_key_is_refused(cosmos: RunningService, key: str) -> None:
    with pytest.raises(exceptions.CosmosHttpResponseError) as error:
        CosmosClient(cosmos.addresses["endpoint"], key)
    assert error.value.status_code == 401


def test_a_custom_key_replaces_the_well_known_key(tmp_path: Path) -> None:
    with running_service("cosmos", "--key", "bXkgb3duIGtleQ==", data=tmp_path / "data") as service:
        CosmosClient(service.addresses["endpoint"], "bXkgb3duIGtleQ==").create_database("d")
        with pytest.raises(exceptions.CosmosHttpResponseError):
            CosmosClient(service.addresses["endpoint"], EMULATOR_KEY)


@pytest.mark.parametrize("synchronous", ["NORMAL", "FULL"])
def test_nothing_acknowledged_is_lost_when_the_server_is_killed(tmp_path: Path, synchronous: str) -> None:
    service = start_service("cosmos", "--synchronous", synchronous, data=tmp_path / "data")
    container = new_container(service)
    acknowledged: list[str] = []
    enough = threading.Event()

    def write() -> None:
        name = threading.current_thread().name
        for number in range(100_000):
            document = {"id": f"{name}-{number}", "pk": str(number % 3)}
            try:
                container.create_item(document)
            except AzureError:
                return
            acknowledged.append(document["id"])
            if len(acknowledged) >= 150:
                enough.set()

    writers = [threading.Thread(target=write) for _ in range(3)]
    for writer in writers:
        writer.start()
    assert enough.wait(60)
    service.kill()
    for writer in writers:
        writer.join(60)
    for stream in (service.process.stdin, service.process.stdout):
        assert stream is not None
        stream.close()
    with running_service("cosmos", data=tmp_path / "data") as again:
        client = CosmosClient(again.addresses["endpoint"], EMULATOR_KEY)
        database = client.get_database_client(container.container_link.split("/")[1])
        found = query(database.get_container_client("c"), "SELECT VALUE c.id FROM c")
    assert set(acknowledged) <= set(found)


def test_a_second_server_on_the_same_data_does_not_start(cosmos: RunningService, tmp_path: Path) -> None:
    with (
        running_service("cosmos", data=tmp_path / "data"),
        pytest.raises(RuntimeError, match="another process uses the database"),
    ):
        start_service("cosmos", data=tmp_path / "data")
