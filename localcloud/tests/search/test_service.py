"""The service process: keys, TLS, faults, indexing delay, restarts, kill -9, and concurrency."""

import json
import ssl
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from azure.core.credentials import AccessToken, AzureKeyCredential
from azure.core.exceptions import HttpResponseError, ResourceNotFoundError, ServiceRequestError
from azure.search.documents import SearchClient, SearchIndexingBufferedSender

from localcloud.search.catalog import Catalog
from localcloud.search.documents import parse_batch
from localcloud.search.service import ADMIN_KEY, QUERY_KEY
from tests.search.conftest import KEY, VECTORS, Search, vector_field
from tests.support.clock import ManualClock
from tests.support.services import ROOT

Start = Callable[..., Search]
FIELDS: list[dict[str, Any]] = [
    KEY,
    {"name": "text", "type": "Edm.String", "analyzer": "en.lucene"},
    {"name": "n", "type": "Edm.Int32"},
    vector_field("v", 2),
]


def numbered(numbers: range) -> list[dict[str, Any]]:
    return [{"id": str(n), "n": n, "text": f"common word{n}", "v": [1.0, n]} for n in numbers]


def eventually(condition: Callable[[], bool], seconds: float = 20.0) -> bool:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if condition():
            return True
        time.sleep(0.01)
    return False


# keys and TLS


def test_health_answers_without_a_key(search: Search) -> None:
    answer = search.call("GET", "/_localcloud/health", key=None)
    assert (answer.status, answer.body["status"]) == (200, "ok")


def test_requests_need_a_key_of_the_service(search: Search) -> None:
    assert search.call("GET", "/indexes", key=None).status == 401
    assert search.call("GET", "/indexes", key="wrong").status == 403
    assert search.call("GET", "/indexes", key="").status in (401, 403)
    with pytest.raises(HttpResponseError) as refusal:
        search.documents("any", key="wrong").get_document_count()
    assert refusal.value.status_code == 403


def test_a_query_key_can_only_read(search: Search) -> None:
    index = search.create(FIELDS, numbered(range(3)), vectorSearch=VECTORS)
    client = search.documents(index, key=QUERY_KEY)
    assert client.get_document_count() == 3
    assert client.get_document("1")["n"] == 1
    assert len(list(client.search("common"))) == 3
    for method, path in (
        ("POST", "/indexes"),
        ("PUT", f"/indexes('{index}')"),
        ("GET", f"/indexes('{index}')"),
        ("DELETE", f"/indexes('{index}')"),
        ("POST", f"/indexes('{index}')/docs/search.index"),
        ("POST", "/aliases"),
    ):
        assert search.call(method, path, {}, key=QUERY_KEY).status == 403
    with pytest.raises(HttpResponseError) as refusal:
        client.upload_documents([{"id": "4"}])
    assert refusal.value.status_code == 403


class Token:
    def get_token(self, *scopes: str, **options: Any) -> AccessToken:
        return AccessToken("a.local.token", int(time.time()) + 3600)


def test_a_token_credential_is_accepted(search: Search) -> None:
    index = search.create(FIELDS, numbered(range(2)), vectorSearch=VECTORS)
    with SearchClient(search.endpoint, index, Token(), connection_verify=search.ca) as client:
        assert client.get_document_count() == 2


def test_keys_can_be_chosen(start: Start) -> None:
    search = start("--admin-key", "mine", "--query-key", "theirs")
    assert search.call("GET", "/indexes", key="mine").status == 200
    assert search.call("GET", "/indexes", key="theirs").status == 403
    assert search.call("GET", "/indexes", key=ADMIN_KEY).status == 403


def test_the_authority_is_kept_and_its_key_is_private(start: Start) -> None:
    search = start()
    authority = Path(search.ca)
    before = authority.read_bytes()
    assert stat.S_IMODE(authority.with_name("ca.key").stat().st_mode) == 0o600
    assert b"PRIVATE" not in before
    again = start()
    assert (again.ca, authority.read_bytes()) == (search.ca, before)
    assert again.call("GET", "/_localcloud/health").status == 200


def test_a_client_that_does_not_know_the_authority_refuses_the_service(search: Search) -> None:
    with (
        SearchClient(search.endpoint, "any", AzureKeyCredential(ADMIN_KEY), retry_total=0) as client,
        pytest.raises(ServiceRequestError, match="certificate verify failed"),
    ):
        client.get_document_count()
    assert ssl.create_default_context(cafile=search.ca).cert_store_stats()["x509_ca"] == 1


def test_every_answer_carries_the_headers_of_the_service(search: Search) -> None:
    answer = search.call("GET", "/indexes", headers={"x-ms-client-request-id": "my-own-id"})
    assert answer.headers["odata-version"] == "4.0"
    assert answer.headers["request-id"] == "my-own-id"
    assert answer.headers["elapsed-time"].isdigit()


@pytest.mark.parametrize(
    "version", ["", "api-version=", "api-version=soon", "other=1", "api-version=1999-01-01"]
)
def test_an_api_version_that_there_is_is_required(search: Search, version: str) -> None:
    answer = search.call("GET", "/indexes", api=version)
    assert answer.status == 400
    assert "api-version" in answer.message


def test_unknown_routes_and_methods_have_different_errors(search: Search) -> None:
    assert search.call("GET", "/nothing").status == 404
    assert search.call("PATCH", "/indexes").status == 405
    assert search.call("GET", "/indexes('x')/nothing").status == 404
    assert search.call("GET", "/indexes('not-there')").status == 404
    assert search.call("GET", "/indexes('not-there')/docs/$count").status == 404


# faults


def plan(search: Search, *faults: dict[str, Any]) -> None:
    answer = search.call("PUT", "/_localcloud/faults", list(faults), key=None)
    assert answer.status == 200, answer.raw


@pytest.fixture
def faulty(start: Start) -> tuple[Search, str]:
    search = start("--faults")
    return search, search.create(FIELDS, numbered(range(5)), vectorSearch=VECTORS)


def test_faults_are_off_unless_asked_for(search: Search) -> None:
    assert search.call("PUT", "/_localcloud/faults", [], key=None).status == 403


def test_a_status_fault_is_retried_by_the_sdk(faulty: tuple[Search, str]) -> None:
    search, index = faulty
    plan(
        search,
        {"kind": "status", "operation": "docs.search", "times": 2, "args": {"status": 503, "retry_after": 0}},
    )
    assert len(list(search.documents(index).search("common"))) == 5
    assert search.call("GET", "/_localcloud/faults", key=None).body[0]["hits"] == 2
    plan(search, {"kind": "status", "operation": "docs.*", "args": {"status": 429}})
    assert search.call("GET", f"/indexes('{index}')/docs/$count").status == 429
    assert search.call("GET", f"/indexes('{index}')/docs/$count").status == 200


def test_a_partial_fault_fails_some_documents_and_writes_the_others(faulty: tuple[Search, str]) -> None:
    search, index = faulty
    plan(search, {"kind": "partial", "operation": "docs.index", "args": {"keys": ["11"], "status": 503}})
    result = search.documents(index).upload_documents(numbered(range(10, 13)))
    assert [item.status_code for item in result] == [201, 503, 201]
    assert search.documents(index).get_document_count() == 7
    plan(search, {"kind": "partial", "args": {"count": 2, "status": 409}})
    answer = search.write(index, *numbered(range(20, 23)))
    assert (answer.status, [item["statusCode"] for item in answer.body["value"]]) == (207, [409, 409, 201])


def test_the_buffered_sender_retries_transient_failures_and_reports_others(
    faulty: tuple[Search, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    search, index = faulty
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", search.ca)
    credential = AzureKeyCredential(ADMIN_KEY)
    for first, status in ((30, 503), (40, 409), (50, 422), (60, 400)):
        failing = {"keys": [str(first + 1)], "status": status}
        plan(search, {"kind": "partial", "operation": "docs.index", "args": failing})
        failed: list[Any] = []
        with SearchIndexingBufferedSender(
            search.endpoint, index, credential, auto_flush=False, on_error=failed.append
        ) as sender:
            sender.upload_documents(numbered(range(first, first + 3)))
            sender.flush()
        assert [item["id"] for item in failed] == ([str(first + 1)] if status == 400 else [])
    assert search.documents(index).get_document_count() == 5 + 3 * 4 - 1
    with pytest.raises(ResourceNotFoundError):
        search.documents(index).get_document("61")


def test_resets_and_latency(faulty: tuple[Search, str]) -> None:
    search, index = faulty
    plan(search, {"kind": "reset", "operation": "docs.lookup"})
    with pytest.raises(ConnectionError):
        search.call("GET", f"/indexes('{index}')/docs('1')")
    assert search.call("GET", f"/indexes('{index}')/docs('1')").status == 200
    plan(search, {"kind": "reset", "operation": "docs.index", "args": {"after": True}})
    with pytest.raises(ConnectionError):
        search.write(index, {"id": "written"})
    assert search.call("GET", f"/indexes('{index}')/docs('written')").status == 200
    plan(search, {"kind": "latency", "operation": "docs.count", "args": {"seconds": 0.3}})
    started = time.monotonic()
    assert search.call("GET", f"/indexes('{index}')/docs/$count").status == 200
    assert time.monotonic() - started >= 0.3


def test_a_fault_on_creating_an_index_leaves_none_behind(faulty: tuple[Search, str]) -> None:
    search, _ = faulty
    plan(search, {"kind": "status", "operation": "indexes.create", "args": {"status": 500}})
    assert search.call("POST", "/indexes", {"name": "once", "fields": [KEY]}).status == 500
    assert search.call("POST", "/indexes", {"name": "once", "fields": [KEY]}).status == 201
    assert search.call("PUT", "/_localcloud/faults", [{"kind": "unheard"}], key=None).status == 400


# the indexing delay


def test_with_an_indexing_delay_a_write_is_acknowledged_before_it_is_seen(start: Start) -> None:
    search = start("--indexing-delay", "2")
    index = search.create(FIELDS, [], vectorSearch=VECTORS)
    client = search.documents(index)
    began = time.monotonic()
    assert client.upload_documents(numbered(range(3)))[0].status_code == 201
    assert client.merge_documents([{"id": "1", "text": "changed"}])[0].status_code == 200
    assert eventually(lambda: client.get_document_count() == 3)
    assert eventually(lambda: client.get_document("1")["text"] == "changed")
    assert time.monotonic() - began >= 2


def test_the_delay_hides_writes_updates_and_deletes_alike(tmp_path: Path) -> None:
    clock = ManualClock()
    catalog = Catalog(tmp_path, clock, delay=5.0)
    index = catalog.create_index({"name": "delayed", "fields": FIELDS, "vectorSearch": VECTORS})

    def write(*actions: dict[str, Any]) -> list[int]:
        return [
            outcome.status for outcome in index.apply(parse_batch(index.schema, {"value": list(actions)}))
        ]

    def seen() -> dict[str, Any]:
        found = {key: index.view().find(key) for key in ("a", "b")}
        shown = index.documents([rowid for rowid in found.values() if rowid is not None])
        return {document["id"]: document["n"] for document in shown if document}

    assert write({"id": "a", "n": 1}, {"id": "b", "n": 1}) == [201, 201]
    clock.advance(3)
    assert write({"@search.action": "merge", "id": "a", "n": 2}, {"@search.action": "delete", "id": "b"}) == [
        200,
        200,
    ]
    assert (seen(), index.view().count) == ({}, 0)
    clock.advance(2)
    assert (seen(), index.view().count) == ({"a": 1, "b": 1}, 2)
    clock.advance(3)
    assert (seen(), index.view().count) == ({"a": 2}, 1)
    catalog.close()


# restarts


def everything(search: Search, index: str) -> dict[str, Any]:
    client = search.documents(index)
    vector = {"kind": "vector", "vector": [1, 3], "k": 7, "fields": "v"}
    return {
        "all": {hit["id"]: hit["text"] for hit in client.search("*", select=["id", "text"], top=100_000)},
        "words": search.found(index, search="word7 word8"),
        "filter": search.found(index, filter="n gt 3 and n lt 40", orderby="n desc", top=100),
        "vector": search.found(index, vectorQueries=[vector]),
        "definition": search.call("GET", f"/indexes('{index}')").body,
    }


def test_a_restart_finds_everything_as_it_was(start: Start) -> None:
    search = start()
    index = search.create(FIELDS, numbered(range(60)), vectorSearch=VECTORS)
    search.write(index, *({"@search.action": "delete", "id": str(n)} for n in range(0, 60, 9)))
    search.write(index, {"@search.action": "merge", "id": "5", "text": "five"})
    assert search.call("POST", "/aliases", {"name": "also", "indexes": [index]}).status == 201
    before = everything(search, index)
    again = start()
    assert everything(again, index) == before
    assert again.found("also", search="five") == ["5"]
    assert again.write(index, {"@search.action": "merge", "id": "5", "n": 55}).status == 200


def test_a_large_index_restarts_from_its_segments_and_does_not_trust_a_broken_one(
    start: Start, tmp_path: Path
) -> None:
    search = start()
    index = search.create(FIELDS, [], vectorSearch=VECTORS)
    for first in range(0, 9000, 1000):
        assert search.write(index, *numbered(range(first, first + 1000))).status == 200
    search.write(index, {"@search.action": "delete", "id": "8"}, {"id": "9", "text": "rewritten"})
    before = everything(search, index)
    files = list((tmp_path / "data").glob("segments/*/*.segment"))
    assert files
    again = start()
    assert everything(again, index) == before
    again.service.kill()
    for file in files:
        file.write_bytes(file.read_bytes()[:100])
    (files[0].parent / "other.segment").write_bytes(b"not a segment")
    repaired = start()
    assert everything(repaired, index) == before
    assert not (files[0].parent / "other.segment").exists()


def test_nothing_acknowledged_is_lost_when_the_service_is_killed(start: Start) -> None:
    search = start()
    index = search.create(FIELDS, [], vectorSearch=VECTORS)
    acknowledged: set[str] = set()
    for attempt in range(4):
        victim = threading.Timer(0.15 + 0.1 * attempt, search.service.kill)
        victim.start()
        batch = attempt * 100_000
        try:
            while True:
                documents = numbered(range(batch, batch + 40))
                answer = search.write(index, *documents)
                assert answer.status == 200
                acknowledged.update(item["key"] for item in answer.body["value"])
                batch += 40
        except (OSError, ConnectionError):
            victim.join()
        search = start()
        client = search.documents(index)
        found = {hit["id"] for hit in client.search("common", select=["id"], top=100_000)}
        assert acknowledged <= found
        assert client.get_document_count() == len(found)
        assert len(found) % 40 == 0  # a batch is complete or absent
    assert acknowledged


# reading while writing


def test_readers_see_whole_batches_while_a_writer_writes(search: Search) -> None:
    index = search.create(FIELDS, [{"id": str(n), "n": 0} for n in range(200)], vectorSearch=VECTORS)
    writing = threading.Event()
    writing.set()
    failures: list[object] = []

    def write() -> None:
        for version in range(1, 25):
            answer = search.write(index, *({"id": str(n), "n": version, "text": "x"} for n in range(200)))
            if answer.status != 200:
                failures.append(answer)
        writing.clear()

    writer = threading.Thread(target=write)
    writer.start()
    reads = 0
    while writing.is_set():
        body = search.search(index, facets=["n"], count=True, top=200, select="n").body
        assert body["@odata.count"] == 200
        assert len(body["@search.facets"]["n"]) == 1
        assert len(body["value"]) == 200
        assert {item["n"] for item in body["value"]} == {body["@search.facets"]["n"][0]["value"]}
        reads += 1
    writer.join()
    assert not failures
    assert reads >= 3


def test_searches_are_answered_while_one_large_batch_is_written(search: Search) -> None:
    index = search.create(FIELDS, numbered(range(10)), vectorSearch=VECTORS)
    words = " ".join(f"word{n}" for n in range(300))
    batch = [{"id": f"large-{n}", "text": words} for n in range(4000)]
    answers: list[int] = []
    writer = threading.Thread(target=lambda: answers.append(search.write(index, *batch).status))
    writer.start()
    during = 0
    while writer.is_alive():
        body = search.search(index, search="common", count=True).body
        assert body["@odata.count"] == 10
        during += writer.is_alive()
    writer.join()
    assert answers == [200]
    assert during >= 3


def test_a_search_on_an_index_that_is_deleted_meanwhile_is_a_404(search: Search) -> None:
    index = search.create(FIELDS, numbered(range(50)), vectorSearch=VECTORS)
    statuses: set[int] = set()

    def read() -> None:
        while statuses != {200, 404}:
            statuses.add(search.search(index).status)
            if 404 in statuses or 500 in statuses:
                return

    reader = threading.Thread(target=read)
    reader.start()
    assert eventually(lambda: 200 in statuses)
    search.indexes().delete_index(index)
    reader.join(30)
    assert statuses == {200, 404}


# hostile requests


@pytest.mark.parametrize(
    "body",
    [b"", b"{", b"[]", b"null", b'"x"', b"\xff\xfe", b'{"value":', b"[" * 100_000, b'{"a":' * 5000],
)
def test_a_body_that_is_not_a_json_object_is_a_400(search: Search, body: bytes) -> None:
    index = search.create(FIELDS, [], vectorSearch=VECTORS)
    for path in ("docs/search.index", "docs/search.post.search"):
        answer = search.call("POST", f"/indexes('{index}')/{path}", body)
        assert answer.status == 400, answer.raw
        assert json.loads(answer.raw)["error"]["message"]
    assert search.call("POST", "/indexes", body).status == 400


def test_wrong_arguments_end_the_process_with_one_line(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "localcloud.search", "--data", str(tmp_path), "--indexing-delay", "-1"]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)
    assert ended.returncode == 2
    assert "indexing-delay" in ended.stderr.splitlines()[-1]


def test_a_port_in_use_is_reported_in_one_line(search: Search, tmp_path: Path) -> None:
    port = search.endpoint.rpartition(":")[2]
    command = [sys.executable, "-m", "localcloud.search", "--data", str(tmp_path), "--port", port]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)
    assert ended.returncode == 1
    assert "in use" in ended.stderr.splitlines()[-1]


def test_the_service_stops_at_once_though_a_client_keeps_its_connection(start: Start) -> None:
    search = start()
    client = search.documents(search.create(FIELDS, [], vectorSearch=VECTORS))
    assert client.get_document_count() == 0
    began = time.monotonic()
    assert search.service.stop() == 0
    assert time.monotonic() - began < 4
