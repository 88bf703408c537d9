"""Unsupported features of Cosmos DB are rejected with a message that says what to do instead."""

import json
from collections.abc import Iterator

import pytest
from azure.cosmos import ContainerProxy, exceptions

from tests.cosmos.raw import RawClient
from tests.support.services import RunningService

HYBRID_ROW = b"\x81\xff\xff\xff\x7f\x00\x01\x02"  # version 1, then the number of a system schema
BINARY_JSON = b"\x80\xe2\x40\x41"
BATCH = {"x-ms-cosmos-is-batch-request": "True", "x-ms-documentdb-partitionkey": '["p"]'}


@pytest.fixture
def raw(cosmos: RunningService) -> Iterator[RawClient]:
    with RawClient(cosmos.addresses["endpoint"]) as client:
        yield client


def refusal(answer: tuple[int, dict[str, str], bytes]) -> tuple[int, str]:
    status, _, body = answer
    return status, json.loads(body)["message"]


@pytest.mark.parametrize("atomic", ["True", "False"])
def test_the_binary_batches_of_dotnet(container: ContainerProxy, raw: RawClient, atomic: str) -> None:
    headers = {**BATCH, "x-ms-cosmos-batch-atomic": atomic}
    path = f"/{container.container_link}/docs"
    status, message = refusal(raw.send("POST", path, HYBRID_ROW, headers))
    assert status == 400
    assert "HybridRow" in message
    assert "AllowBulkExecution" in message


def test_binary_encoded_documents(container: ContainerProxy, raw: RawClient) -> None:
    headers = {"x-ms-documentdb-partitionkey": '["p"]'}
    status, message = refusal(raw.send("POST", f"/{container.container_link}/docs", BINARY_JSON, headers))
    assert status == 400
    assert "AZURE_COSMOS_BINARY_ENCODING_ENABLED" in message


@pytest.mark.parametrize("path", ["/addresses/", "//addresses/"])
def test_direct_mode(container: ContainerProxy, raw: RawClient, path: str) -> None:
    """The SDK requests the replicas' addresses, with a signature for the target container."""
    target = f"{path}?$resolveFor={container.container_link}/docs&$filter=protocol%20eq%20rntbd"
    status, message = refusal(raw.send("GET", target))
    assert status == 501
    assert "ConnectionMode.Gateway" in message


def test_avg_of_a_client_that_cannot_put_averages_together(container: ContainerProxy, raw: RawClient) -> None:
    headers = {
        "x-ms-cosmos-is-query-plan-request": "true",
        "x-ms-cosmos-supported-query-features": "Aggregate,OrderBy",
    }
    body = {"query": "SELECT VALUE AVG(c.x) FROM c"}
    status, message = refusal(raw.send("POST", f"/{container.container_link}/docs", body, headers))
    assert status == 400
    assert "CompositeAggregate" in message
    assert "SUM and COUNT" in message


def test_the_change_feed_of_all_versions(container: ContainerProxy) -> None:
    with pytest.raises(exceptions.CosmosHttpResponseError, match="LatestVersion") as error:
        list(container.query_items_change_feed(mode="AllVersionsAndDeletes"))
    assert error.value.status_code == 501


def test_a_change_feed_continuation_of_another_kind(container: ContainerProxy, raw: RawClient) -> None:
    headers = {"a-im": "Incremental Feed", "if-none-match": "no-etag"}
    status, message = refusal(raw.send("GET", f"/{container.container_link}/docs", headers=headers))
    assert status == 400
    assert "etag of an earlier page" in message


def test_the_change_feed_in_a_wire_format_of_its_own(container: ContainerProxy, raw: RawClient) -> None:
    headers = {"a-im": "Incremental Feed", "x-ms-cosmos-changefeed-wire-format-version": "2021-09-15"}
    status, message = refusal(raw.send("GET", f"/{container.container_link}/docs", headers=headers))
    assert status == 501
    assert "wire format" in message
