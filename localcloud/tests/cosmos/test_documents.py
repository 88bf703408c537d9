"""Single documents: the effect of each operation, and its errors."""

import uuid
from typing import Any

import pytest
from azure.core import MatchConditions
from azure.cosmos import ContainerProxy, CosmosClient, DatabaseProxy, PartitionKey, exceptions
from azure.cosmos.exceptions import CosmosAccessConditionFailedError, CosmosHttpResponseError
from azure.cosmos.partition_key import NonePartitionKeyValue, NullPartitionKeyValue

from localcloud.cosmos.keys import KeyDefinition
from tests.cosmos.conftest import MakeContainer, query


def refusal(error: pytest.ExceptionInfo[CosmosHttpResponseError]) -> tuple[int | None, int | None]:
    return error.value.status_code, error.value.sub_status


def test_a_created_document_is_read_with_the_properties_of_the_service(container: ContainerProxy) -> None:
    document = {"id": "a", "pk": "p", "text": "naïve ☃ 🎉", "n": 1.5, "deep": {"list": [1, None, True]}}
    created = container.create_item(document)
    read = container.read_item("a", "p")
    assert read == created
    assert {name: read[name] for name in document} == document
    assert {"_rid", "_self", "_etag", "_attachments", "_ts"} <= read.keys()


def test_creating_the_same_id_twice_in_a_partition_is_a_conflict(container: ContainerProxy) -> None:
    container.create_item({"id": "a", "pk": "p"})
    with pytest.raises(exceptions.CosmosResourceExistsError) as error:
        container.create_item({"id": "a", "pk": "p"})
    assert error.value.status_code == 409
    assert error.value.headers["x-ms-session-token"]
    container.create_item({"id": "a", "pk": "another partition"})


def test_a_document_is_found_only_under_its_own_partition_key(container: ContainerProxy) -> None:
    container.create_item({"id": "a", "pk": "p"})
    with pytest.raises(exceptions.CosmosResourceNotFoundError) as error:
        container.read_item("a", "q")
    assert refusal(error) == (404, 0)


def test_a_missing_container_and_a_missing_document_have_different_errors(database: DatabaseProxy) -> None:
    with pytest.raises(exceptions.CosmosResourceNotFoundError) as error:
        database.client_connection.ReadItem(
            f"{database.database_link}/colls/nowhere/docs/a", {"partitionKey": "p"}
        )
    assert refusal(error) == (404, 1003)


def test_a_key_in_the_header_that_the_document_does_not_have_is_refused(container: ContainerProxy) -> None:
    with pytest.raises(CosmosHttpResponseError) as error:
        container.client_connection.CreateItem(
            container.container_link, {"id": "a", "pk": "p"}, {"partitionKey": "other"}
        )
    assert refusal(error) == (400, 1001)


@pytest.mark.parametrize("value", ["text", "", 0, 1.5, -3, True, False, None, "ünï/cødé"])
def test_partition_keys_of_every_type_work(container: ContainerProxy, value: Any) -> None:
    container.create_item({"id": "a", "pk": value})
    key = value if value is not None else NullPartitionKeyValue
    assert container.read_item("a", key)["pk"] == value


def test_a_document_without_the_partition_key_property_lives_in_the_undefined_partition(
    container: ContainerProxy,
) -> None:
    container.create_item({"id": "a"})
    assert container.read_item("a", NonePartitionKeyValue)["id"] == "a"


@pytest.mark.parametrize("bad", ["a/b", "a\\b", "a?b", "a#b", "x" * 1024])
def test_ids_that_a_path_cannot_contain_are_rejected(container: ContainerProxy, bad: str) -> None:
    with pytest.raises(Exception, match=r"(?i)id|400"):
        container.create_item({"id": bad, "pk": "p"})


@pytest.mark.parametrize("good", ["with space", "pläin", "a.b-c_d:e@f", "100%25", "'quoted\"", "日本"])
def test_ids_with_unusual_characters_survive_the_path(container: ContainerProxy, good: str) -> None:
    container.create_item({"id": good, "pk": "p"})
    assert container.read_item(good, "p")["id"] == good
    container.delete_item(good, "p")


def test_upsert_creates_then_replaces(container: ContainerProxy) -> None:
    first = container.upsert_item({"id": "a", "pk": "p", "v": 1})
    second = container.upsert_item({"id": "a", "pk": "p", "v": 2})
    assert first["_rid"] == second["_rid"]
    assert first["_etag"] != second["_etag"]
    assert container.read_item("a", "p")["v"] == 2


def test_replace_needs_the_document_and_changes_its_etag(container: ContainerProxy) -> None:
    with pytest.raises(exceptions.CosmosResourceNotFoundError):
        container.replace_item("a", {"id": "a", "pk": "p"})
    created = container.create_item({"id": "a", "pk": "p", "old": 1})
    replaced = container.replace_item("a", {"id": "a", "pk": "p", "new": 1})
    assert "old" not in replaced
    assert replaced["_etag"] != created["_etag"]


def test_a_replace_may_give_the_document_another_id(container: ContainerProxy) -> None:
    container.create_item({"id": "old", "pk": "p"})
    container.create_item({"id": "taken", "pk": "p"})
    with pytest.raises(exceptions.CosmosResourceExistsError):
        container.replace_item("old", {"id": "taken", "pk": "p", "v": 1})
    assert "v" not in container.read_item("taken", "p")
    assert container.replace_item("old", {"id": "new", "pk": "p"})["id"] == "new"
    assert container.read_item("new", "p")["id"] == "new"
    with pytest.raises(exceptions.CosmosResourceNotFoundError):
        container.read_item("old", "p")


def test_items_read_before_can_be_passed_instead_of_their_id(container: ContainerProxy) -> None:
    item = container.create_item({"id": "a", "pk": "p"})
    assert container.read_item(item, "p")["id"] == "a"
    container.replace_item(item, {"id": "a", "pk": "p", "v": 2})
    container.delete_item(item, "p")
    assert query(container, "SELECT * FROM c") == []


def test_delete_takes_the_document_and_a_second_delete_is_not_found(container: ContainerProxy) -> None:
    container.create_item({"id": "a", "pk": "p"})
    container.delete_item("a", "p")
    with pytest.raises(exceptions.CosmosResourceNotFoundError):
        container.delete_item("a", "p")


def test_a_stale_etag_stops_replace_upsert_patch_and_delete(container: ContainerProxy) -> None:
    stale = container.create_item({"id": "a", "pk": "p"})["_etag"]
    container.replace_item("a", {"id": "a", "pk": "p", "v": 2})
    condition: dict[str, Any] = {"etag": stale, "match_condition": MatchConditions.IfNotModified}
    body = {"id": "a", "pk": "p", "v": 3}
    for attempt in (
        lambda: container.replace_item("a", body, **condition),
        lambda: container.upsert_item(body, **condition),
        lambda: container.patch_item("a", "p", [{"op": "set", "path": "/v", "value": 3}], **condition),
        lambda: container.delete_item("a", "p", **condition),
    ):
        with pytest.raises(CosmosAccessConditionFailedError):
            attempt()
    assert container.read_item("a", "p")["v"] == 2


def test_the_current_etag_lets_a_replace_through(container: ContainerProxy) -> None:
    current = container.create_item({"id": "a", "pk": "p"})["_etag"]
    container.replace_item(
        "a", {"id": "a", "pk": "p", "v": 2}, etag=current, match_condition=MatchConditions.IfNotModified
    )
    assert container.read_item("a", "p")["v"] == 2


def test_a_document_above_two_megabytes_is_too_large(container: ContainerProxy) -> None:
    container.create_item({"id": "small enough", "pk": "p", "text": "x" * 1_900_000})
    with pytest.raises(CosmosHttpResponseError) as error:
        container.create_item({"id": "a", "pk": "p", "text": "x" * 2_200_000})
    assert error.value.status_code == 413


def test_a_response_without_a_body_is_given_when_asked_for(container: ContainerProxy) -> None:
    created = container.create_item({"id": "a", "pk": "p"}, no_response=True)
    assert dict(created) == {}
    assert container.read_item("a", "p")["id"] == "a"


def test_unique_keys_hold_within_a_partition(make_container: MakeContainer) -> None:
    container = make_container(
        unique_key_policy={"uniqueKeys": [{"paths": ["/mail"]}, {"paths": ["/a", "/b/c"]}]}
    )
    container.create_item({"id": "1", "pk": "p", "mail": "x", "a": 1, "b": {"c": 1}})
    with pytest.raises(exceptions.CosmosResourceExistsError):
        container.create_item({"id": "2", "pk": "p", "mail": "x", "a": 2})
    with pytest.raises(exceptions.CosmosResourceExistsError):
        container.create_item({"id": "2", "pk": "p", "mail": "y", "a": 1, "b": {"c": 1}})
    container.create_item({"id": "2", "pk": "q", "mail": "x"})
    container.create_item({"id": "3", "pk": "p", "mail": "z", "a": 1, "b": {"c": 2}})
    with pytest.raises(exceptions.CosmosResourceExistsError):
        container.upsert_item({"id": "3", "pk": "p", "mail": "x"})


def test_read_items_reads_many_documents_and_omits_missing_ones(container: ContainerProxy) -> None:
    for number in range(50):
        container.create_item({"id": f"i{number}", "pk": f"p{number % 7}"})
    wanted = [(f"i{number}", f"p{number % 7}") for number in range(0, 50, 3)]
    found = container.read_items([*wanted, ("nobody", "p1")])
    assert sorted(item["id"] for item in found) == sorted(name for name, _ in wanted)


def test_all_items_of_a_partition_key_can_be_deleted_at_once(container: ContainerProxy) -> None:
    for number in range(10):
        container.create_item({"id": f"i{number}", "pk": f"p{number % 2}"})
    container.delete_all_items_by_partition_key("p0")
    assert query(container, "SELECT VALUE c.pk FROM c") == ["p1"] * 5


def test_hierarchical_keys_address_documents_and_prefixes_query_them(make_container: MakeContainer) -> None:
    container = make_container(["/tenant", "/user", "/day"])
    for tenant in ("a", "b"):
        for user in ("u", "v"):
            for day in (1, 2):
                container.create_item(
                    {"id": f"{tenant}{user}{day}", "tenant": tenant, "user": user, "day": day}
                )
    assert container.read_item("av1", ["a", "v", 1])["id"] == "av1"
    with pytest.raises(exceptions.CosmosResourceNotFoundError):
        container.read_item("av1", ["a", "u", 1])
    assert sorted(query(container, "SELECT VALUE c.id FROM c", key=["a", "u"])) == ["au1", "au2"]
    assert len(list(container.query_items("SELECT VALUE c.id FROM c", partition_key=["b"]))) == 4
    assert query(container, "SELECT VALUE COUNT(1) FROM c") == [8]


def test_containers_echo_their_definition(database: DatabaseProxy, make_container: MakeContainer) -> None:
    policy = {
        "indexingMode": "consistent",
        "includedPaths": [{"path": "/*"}],
        "excludedPaths": [{"path": "/big/?"}],
        "compositeIndexes": [[{"path": "/a", "order": "ascending"}, {"path": "/b", "order": "descending"}]],
    }
    container = make_container(indexing_policy=policy, default_ttl=100)
    properties = container.read()
    assert properties["defaultTtl"] == 100
    assert properties["indexingPolicy"]["compositeIndexes"] == policy["compositeIndexes"]
    assert properties["partitionKey"]["paths"] == ["/pk"]
    database.replace_container(container, PartitionKey("/pk"), default_ttl=5)
    assert container.read()["defaultTtl"] == 5


def test_a_partition_key_definition_cannot_change(database: DatabaseProxy, container: ContainerProxy) -> None:
    with pytest.raises(CosmosHttpResponseError) as error:
        database.replace_container(container, PartitionKey("/other"))
    assert error.value.status_code == 400


def test_a_replaced_container_keeps_its_unique_keys(
    database: DatabaseProxy, make_container: MakeContainer
) -> None:
    """The SDK does not send unique keys when it replaces a container."""
    container = make_container(unique_key_policy={"uniqueKeys": [{"paths": ["/email"]}]})
    database.replace_container(container, PartitionKey("/pk"), default_ttl=50)
    assert container.read()["defaultTtl"] == 50
    container.create_item({"id": "1", "pk": "p", "email": "a"})
    with pytest.raises(exceptions.CosmosResourceExistsError):
        container.create_item({"id": "2", "pk": "p", "email": "a"})


def test_a_query_within_a_partition_answers_with_the_token_of_its_range(container: ContainerProxy) -> None:
    container.create_item({"id": "1", "pk": "p"})
    headers: list[dict[str, str]] = []
    found = container.query_items(
        "SELECT * FROM c", partition_key="p", response_hook=lambda answered, _: headers.append(dict(answered))
    )
    assert [item["id"] for item in found] == ["1"]
    assert headers[0]["x-ms-session-token"] == f"{headers[0]['x-ms-documentdb-partitionkeyrangeid']}:-1#1"


def test_throughput_can_be_read_and_replaced(make_container: MakeContainer) -> None:
    container = make_container(offer_throughput=1000)
    assert container.get_throughput().offer_throughput == 1000
    container.replace_throughput(2000)
    assert container.get_throughput().offer_throughput == 2000


def test_more_throughput_means_more_ranges(make_container: MakeContainer) -> None:
    assert len(list(make_container(offer_throughput=60_000).read_feed_ranges())) == 6


def test_databases_and_containers_are_listed_queried_and_deleted(client: CosmosClient) -> None:
    name = f"listed-{uuid.uuid4().hex[:8]}"
    database = client.create_database(name)
    with pytest.raises(exceptions.CosmosResourceExistsError):
        client.create_database(name)
    for container in ("one", "two"):
        database.create_container_if_not_exists(container, PartitionKey("/id"))
    database.create_container_if_not_exists("one", PartitionKey("/id"))
    assert name in [item["id"] for item in client.list_databases()]
    found = client.query_databases("SELECT * FROM d WHERE d.id = @id", [{"name": "@id", "value": name}])
    assert [item["id"] for item in found] == [name]
    assert sorted(item["id"] for item in database.list_containers()) == ["one", "two"]
    assert [c["id"] for c in database.query_containers("SELECT * FROM c WHERE c.id = 'two'")] == ["two"]
    database.delete_container("one")
    client.delete_database(name)
    with pytest.raises(exceptions.CosmosResourceNotFoundError):
        database.read()


def test_an_unsupported_feature_gets_an_error(database: DatabaseProxy, container: ContainerProxy) -> None:
    with pytest.raises(CosmosHttpResponseError, match="not part of the local Cosmos DB") as error:
        database.create_user({"id": "u"})
    assert error.value.status_code == 501
    with pytest.raises(CosmosHttpResponseError) as error:
        container.scripts.create_stored_procedure({"id": "s", "serverScript": "function () {}"})
    assert error.value.status_code == 501


@pytest.mark.parametrize(
    "options",
    [
        {"computed_properties": [{"name": "low", "query": "SELECT VALUE LOWER(c.name) FROM c"}]},
        {"vector_embedding_policy": {"vectorEmbeddings": [{"path": "/v", "dimensions": 3}]}},
        {"full_text_policy": {"defaultLanguage": "en-US", "fullTextPaths": [{"path": "/t"}]}},
        {"indexing_policy": {"vectorIndexes": [{"path": "/v", "type": "flat"}]}},
        {"indexing_policy": {"fullTextIndexes": [{"path": "/t"}]}},
    ],
    ids=str,
)
def test_a_container_that_asks_for_more_than_there_is_is_refused(
    database: DatabaseProxy, options: dict[str, Any]
) -> None:
    with pytest.raises(CosmosHttpResponseError, match="not part of the local Cosmos DB") as error:
        database.create_container("too-much", PartitionKey("/pk"), **options)
    assert error.value.status_code == 501


@pytest.mark.parametrize("options", [{"pre_trigger_include": "stamp"}, {"post_trigger_include": "stamp"}])
def test_a_write_that_names_a_trigger_is_refused_and_not_done(
    container: ContainerProxy, options: dict[str, Any]
) -> None:
    with pytest.raises(CosmosHttpResponseError, match="not part of the local Cosmos DB") as error:
        container.create_item({"id": "1", "pk": "p"}, **options)
    assert error.value.status_code == 501
    assert list(container.read_all_items()) == []


@pytest.mark.parametrize(
    "value", ["a", "", "é" * 80, "x" * 100, "x" * 101, 0, 1, -1.5, 123456, 2.0**60, True, False]
)
@pytest.mark.parametrize("version", [1, 2])
def test_a_key_lies_where_the_client_expects_it(version: int, value: Any) -> None:
    definition = PartitionKey("/pk", version=version)
    client = definition._get_epk_range_for_partition_key(value)
    ours = KeyDefinition.parse(dict(definition)).of_values([value])
    assert ours.epk == client.min


def test_a_container_with_a_key_of_version_1_works(database: DatabaseProxy) -> None:
    container = database.create_container("old", PartitionKey("/pk", version=1))
    for number in range(4):
        container.create_item({"id": str(number), "pk": f"p{number}"})
    assert container.read()["partitionKey"]["version"] == 1
    assert container.read_item("2", "p2")["id"] == "2"
    assert query(container, "SELECT VALUE c.id FROM c ORDER BY c.id DESC") == ["3", "2", "1", "0"]
    part = container.feed_range_from_partition_key("p1")
    assert [item["id"] for item in container.query_items("SELECT * FROM c", feed_range=part)] == ["1"]
    database.delete_container("old")
