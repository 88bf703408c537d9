"""Writing and reading documents: actions, results of each document, types and limits."""

import gc
import os
from typing import Any

import pytest
from azure.core.credentials import AzureKeyCredential
from azure.core.exceptions import HttpResponseError, ResourceNotFoundError
from azure.search.documents import IndexDocumentsBatch, SearchIndexingBufferedSender
from azure.search.documents.aio import SearchClient as AsyncSearchClient
from azure.search.documents.aio import SearchIndexingBufferedSender as AsyncBufferedSender
from azure.search.documents.indexes.aio import SearchIndexClient as AsyncIndexClient
from azure.search.documents.models import IndexAction, VectorizedQuery

from localcloud.search.service import ADMIN_KEY
from tests.search.conftest import KEY, VECTORS, Search, vector_field

FIELDS: list[dict[str, Any]] = [
    KEY,
    {"name": "text", "type": "Edm.String"},
    {"name": "number", "type": "Edm.Int32"},
    {"name": "big", "type": "Edm.Int64"},
    {"name": "real", "type": "Edm.Double"},
    {"name": "flag", "type": "Edm.Boolean"},
    {"name": "moment", "type": "Edm.DateTimeOffset"},
    {"name": "tags", "type": "Collection(Edm.String)"},
    {"name": "hidden", "type": "Edm.String", "retrievable": False},
    vector_field("vector", 3),
]
FULL = {
    "id": "full",
    "text": "It's “quoted” — ünïcode 日本語 🎉",
    "number": -(2**31),
    "big": 2**63 - 1,
    "real": 1.5,
    "flag": True,
    "moment": "2024-02-29T23:59:59.5Z",
    "tags": ["a", "b"],
    "vector": [0.25, 0.5, 1.0],
}


@pytest.fixture
def index(search: Search) -> str:
    return search.create(FIELDS, [], vectorSearch=VECTORS)


def test_a_document_is_returned_as_it_was_written(search: Search, index: str) -> None:
    client = search.documents(index)
    result = client.upload_documents([FULL | {"hidden": "secret"}])
    assert [(item.key, item.succeeded, item.status_code) for item in result] == [("full", True, 201)]
    assert client.get_document("full") == FULL
    assert client.get_document_count() == 1


def test_an_unset_field_is_null_or_an_empty_collection(search: Search, index: str) -> None:
    client = search.documents(index)
    client.upload_documents([{"id": "bare"}])
    shown = client.get_document("bare")
    assert shown["text"] is None
    assert shown["tags"] == []
    assert shown["vector"] is None


def test_a_look_up_selects_fields(search: Search, index: str) -> None:
    client = search.documents(index)
    client.upload_documents([FULL])
    selected = client.get_document("full", selected_fields=["id", "tags", "real"])
    assert selected == {"id": "full", "tags": ["a", "b"], "real": 1.5}
    with pytest.raises(HttpResponseError, match="property named 'nope'"):
        client.get_document("full", selected_fields=["nope"])
    with pytest.raises(HttpResponseError, match="not retrievable"):
        client.get_document("full", selected_fields=["hidden"])


def test_a_missing_document_is_a_404_with_an_empty_body(search: Search, index: str) -> None:
    with pytest.raises(ResourceNotFoundError):
        search.documents(index).get_document("missing")
    answer = search.call("GET", f"/indexes('{index}')/docs('it''s')")
    assert (answer.status, answer.raw) == (404, b"")


def test_the_count_is_plain_text_with_a_byte_order_mark(search: Search, index: str) -> None:
    answer = search.call("GET", f"/indexes('{index}')/docs/$count")
    assert answer.raw == b"\xef\xbb\xbf0"
    assert answer.headers["content-type"] == "text/plain"


def test_each_action_has_its_documented_effect(search: Search, index: str) -> None:
    client = search.documents(index)
    first = client.upload_documents([{"id": "1", "text": "one", "number": 1, "tags": ["a"]}])
    merged = client.merge_documents([{"id": "1", "number": 2, "tags": ["b"]}, {"id": "2", "number": 3}])
    either = client.merge_or_upload_documents([{"id": "1", "text": None}, {"id": "3", "text": "three"}])
    assert [item.status_code for item in first] == [201]
    assert [(item.status_code, item.succeeded) for item in merged] == [(200, True), (404, False)]
    assert [item.status_code for item in either] == [200, 201]
    shown = client.get_document("1", selected_fields=["text", "number", "tags"])
    assert shown == {"text": None, "number": 2, "tags": ["b"]}
    replaced = client.upload_documents([{"id": "1"}])
    assert [item.status_code for item in replaced] == [200]
    assert client.get_document("1", selected_fields=["number"]) == {"number": None}
    deleted = client.delete_documents([{"id": "1"}, {"id": "never there"[:5]}])
    assert [item.status_code for item in deleted] == [200, 200]
    assert client.get_document_count() == 1


def test_a_merge_keeps_other_fields(search: Search, index: str) -> None:
    client = search.documents(index)
    client.upload_documents([FULL])
    client.merge_documents([{"id": "full", "number": 8, "tags": ["c"]}])
    assert client.get_document("full") == FULL | {"number": 8, "tags": ["c"]}
    query = VectorizedQuery(vector=[0.25, 0.5, 1.0], k_nearest_neighbors=1, fields="vector")
    assert [item["id"] for item in client.search(None, vector_queries=[query])] == ["full"]


def test_actions_on_one_key_apply_in_order(search: Search, index: str) -> None:
    batch = IndexDocumentsBatch()
    batch.add_upload_actions([{"id": "1", "number": 1, "text": "first"}])
    batch.add_merge_actions([{"id": "1", "number": 2}])
    batch.add_delete_actions([{"id": "1"}])
    batch.add_merge_or_upload_actions([{"id": "1", "tags": ["last"]}])
    result = search.documents(index).index_documents(batch)
    assert [item.status_code for item in result] == [201, 200, 200, 201]
    shown = search.documents(index).get_document("1", selected_fields=["number", "text", "tags"])
    assert shown == {"number": None, "text": None, "tags": ["last"]}


def test_one_bad_document_does_not_fail_the_others(search: Search, index: str) -> None:
    answer = search.write(
        index,
        {"id": "good"},
        {"id": "short", "vector": [1, 2]},
        {"@search.action": "merge", "id": "absent"},
        {"id": "long-term", "text": "x" * 40_000},
    )
    assert answer.status == 207
    shown = [(item["key"], item["statusCode"], item["status"]) for item in answer.body["value"]]
    assert shown == [
        ("good", 201, True),
        ("short", 400, False),
        ("absent", 404, False),
        ("long-term", 400, False),
    ]
    messages = [item["errorMessage"] for item in answer.body["value"]]
    assert messages[0] is None
    assert "expects a length of '3'" in messages[1]
    assert "32766" in messages[3]
    assert search.documents(index).get_document_count() == 1


@pytest.mark.parametrize(
    ("key", "says"),
    [
        ("bad key", "Base64"),
        ("a/b", "Base64"),
        ("schlüssel", "Base64"),
        ("x" * 1025, "1024"),
        ("_leading", "leading underscore"),
        ("", "missing or empty"),
        (None, "missing or empty"),
        (7, "missing or empty"),
    ],
)
@pytest.mark.parametrize("action", ["upload", "delete"])
def test_a_bad_key_refuses_the_batch_as_azure_does(
    search: Search, index: str, key: Any, says: str, action: str
) -> None:
    answer = search.write(index, {"id": "good"}, {"@search.action": action, "id": key})
    assert answer.status == 400
    assert answer.message.startswith("The request is invalid. Details: actions : 1: ")
    assert says in answer.message
    assert [detail["code"] for detail in answer.body["error"]["details"]] == ["InvalidDocumentKey"]
    assert search.documents(index).get_document_count() == 0


def test_every_character_of_a_key_and_1024_of_them_are_taken(search: Search, index: str) -> None:
    keys = ["A-Z_a=z", "0_", "-", "=", "k" * 1024, "a", "A"]
    result = search.documents(index).upload_documents([{"id": key} for key in keys])
    assert [item.status_code for item in result] == [201] * len(keys)
    assert [search.documents(index).get_document(key)["id"] for key in keys] == keys


@pytest.mark.parametrize(("count", "says"), [(0, "No indexing actions"), (32_001, "32001")])
def test_a_batch_has_from_1_to_32000_actions(search: Search, index: str, count: int, says: str) -> None:
    answer = search.write(index, *({"id": str(number)} for number in range(count)))
    assert answer.status == 400
    assert says in answer.message
    assert "between 1 and 32000" in answer.message


@pytest.mark.parametrize(
    "wrong",
    [
        {"nope": 1},
        {"text": 1},
        {"number": 1.5},
        {"number": 2**31},
        {"number": "1"},
        {"number": True},
        {"real": "much"},
        {"flag": "true"},
        {"moment": "2024-01-01"},
        {"moment": "2024-01-01T00:00:00"},
        {"moment": "2024-13-01T00:00:00Z"},
        {"tags": "a"},
        {"tags": [1]},
        {"tags": [None]},
        {"vector": "x"},
        {"vector": ["1", "2", "3"]},
        {"vector": [True, False, True]},
        {"vector": [[1, 2, 3]]},
        {"vector": [1e300, 0, 0]},
        {"@search.action": "replace"},
    ],
)
def test_a_property_or_type_that_is_wrong_refuses_the_batch(search: Search, index: str, wrong: Any) -> None:
    answer = search.write(index, {"id": "good"}, {"id": "1"} | wrong)
    assert answer.status == 400
    assert answer.message.startswith("The request is invalid. Details: actions : 1: ")
    assert search.documents(index).get_document_count() == 0


def test_dates_are_brought_to_utc_and_special_doubles_are_kept(search: Search, index: str) -> None:
    client = search.documents(index)
    client.upload_documents(
        [
            {"id": "1", "moment": "2024-01-01T01:00:00+02:00", "real": "INF"},
            {"id": "2", "moment": "2024-01-01T00:00:00.123456Z", "real": "-INF"},
            {"id": "3", "moment": "0001-01-01T00:00:00Z", "real": "NaN"},
        ]
    )
    moments = [client.get_document(key)["moment"] for key in "123"]
    assert moments == ["2023-12-31T23:00:00Z", "2024-01-01T00:00:00.123Z", "0001-01-01T00:00:00Z"]
    assert [client.get_document(key)["real"] for key in "123"] == ["INF", "-INF", "NaN"]
    assert search.found(index, filter="real gt 1e300") == ["1"]
    assert search.found(index, filter="real eq -INF") == ["2"]
    assert search.found(index, filter="real eq NaN") == []


def test_a_batch_over_16_mb_is_halved_by_the_sdk(search: Search, index: str) -> None:
    fields = [KEY, {"name": "text", "type": "Edm.String", "searchable": False, "filterable": False}]
    plain = {"facetable": False, "sortable": False}
    name = search.create([fields[0], fields[1] | plain], [])
    documents = [{"id": str(number), "text": "x" * 1_000_000} for number in range(20)]
    result = search.documents(name).upload_documents(documents)
    assert [item.status_code for item in result] == [201] * 20
    assert search.documents(name).get_document_count() == 20


def test_a_write_is_seen_by_the_next_read(search: Search, index: str) -> None:
    client = search.documents(index)
    for number in range(25):
        client.merge_or_upload_documents([{"id": "same", "number": number, "text": f"version{number}"}])
        assert [item["number"] for item in client.search(f"version{number}")] == [number]
    assert client.get_document_count() == 1
    assert [item["id"] for item in client.search("version3")] == []


async def test_the_async_clients_do_the_same(search: Search) -> None:
    credential = AzureKeyCredential(ADMIN_KEY)
    index = search.create(FIELDS, [], vectorSearch=VECTORS)
    async with AsyncIndexClient(search.endpoint, credential, connection_verify=search.ca) as indexes:
        assert (await indexes.get_index(index)).name == index
        assert index in [name async for name in indexes.list_index_names()]
    async with AsyncSearchClient(search.endpoint, index, credential, connection_verify=search.ca) as client:
        result = await client.upload_documents(
            [{"id": str(n), "text": "word", "number": n} for n in range(120)]
        )
        assert len(result) == 120
        assert await client.get_document_count() == 120
        hits = await client.search("word", filter="number ge 10", include_total_count=True)
        assert await hits.get_count() == 110
        assert len([hit async for hit in hits]) == 110
        assert (await client.get_document("7"))["number"] == 7
        with pytest.raises(ResourceNotFoundError):
            await client.get_document("missing")


def test_the_buffered_sender_writes_and_reports(
    search: Search, index: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The inner client ignores connection_verify, so the certificates must come from the environment.
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", search.ca)
    assert os.environ["REQUESTS_CA_BUNDLE"] == search.ca
    done: list[IndexAction] = []
    failed: list[IndexAction] = []
    with SearchIndexingBufferedSender(
        search.endpoint,
        index,
        AzureKeyCredential(ADMIN_KEY),
        auto_flush_interval=600,
        initial_batch_action_count=50,
        on_progress=done.append,
        on_error=failed.append,
    ) as sender:
        sender.upload_documents([{"id": str(number), "number": number} for number in range(120)])
        sender.merge_documents([{"id": "missing", "number": 1}])
        sender.delete_documents([{"id": "5"}])
        sender.flush()
    assert len(done) == 121
    assert [action["id"] for action in failed] == ["missing"]
    assert search.documents(index).get_document_count() == 119


# The sender never closes the inner client that it uses to get the key field.
@pytest.mark.filterwarnings("ignore:Unclosed client session:ResourceWarning")
async def test_the_async_buffered_sender_writes(
    search: Search, index: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", search.ca)
    async with AsyncBufferedSender(
        search.endpoint, index, AzureKeyCredential(ADMIN_KEY), connection_verify=search.ca, auto_flush=False
    ) as sender:
        await sender.merge_or_upload_documents([{"id": str(number)} for number in range(30)])
        await sender.flush()
    del sender
    gc.collect()
    assert search.documents(index).get_document_count() == 30
