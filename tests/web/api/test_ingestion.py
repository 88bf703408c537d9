"""The whole app in the dev host, as a process, over HTTP: uploads, sources, triggers and operations."""

import asyncio
import http.server
import json
import threading
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from shared.azure.connections import Clients
from shared.azure.cosmos.session import Session
from shared.models.sources import Source
from shared.operations.provisioning import provision
from shared.pipeline.state.archives import mark_deleting
from shared.pipeline.topology import STAGES
from shared.settings.app import Settings
from tests.ingestion.unpacking.files import mbox, zip_bytes
from tests.support.cloud import AppCloud, servicebus_connection, wait_for
from tests.support.documents import CREATED
from tests.support.host import Answer, Host, running_host
from tests.support.services import ROOT, RunningService

LIMIT = 200_000
KEY = "the key of the operator"
HTTP = {"source_type": "http", "url": "https://lists.example.org/a.mbox"}


@pytest.fixture(scope="module")
def settings(cloud: AppCloud, bus_service: RunningService) -> Settings:
    return cloud.settings(bus_service, OPERATOR_KEY=KEY)


@pytest.fixture(scope="module")
def host(
    cloud: AppCloud,
    bus_service: RunningService,
    settings: Settings,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Host]:
    asyncio.run(provision(settings))
    secret = {
        name: value.get_secret_value() for name, value in settings if hasattr(value, "get_secret_value")
    }
    environ = {name: str(value) for name, value in settings if value is not None} | secret
    environ |= {
        "SERVICEBUS_CONNECTION": servicebus_connection(bus_service),
        "ARCHIVE_MAX_BYTES": str(LIMIT),
        "SOURCE_ALLOWED_HOSTS": "127.0.0.1",
        "AzureWebJobsStorage": cloud.storage_connection,
    }
    with running_host(ROOT, tmp_path_factory.mktemp("host") / "data", **environ) as running:
        yield running


@pytest.fixture
def tag() -> str:
    return uuid.uuid4().hex[:10]


def problem(answer: Answer, status: int) -> dict[str, Any]:
    assert (answer.status, answer.headers["content-type"]) == (status, "application/problem+json")
    body: dict[str, Any] = answer.json()
    assert body["status"] == status
    assert {"type", "title", "detail"} <= set(body)
    return body


def post(host: Host, path: str, body: dict[str, Any]) -> Answer:
    return host.ask("POST", path, json.dumps(body), content_type="application/json")


def test_a_file_is_uploaded_found_listed_and_known_again(host: Host, tag: str) -> None:
    content = mbox(f"one {tag}", f"two {tag}")
    first = host.ask("POST", f"/api/archives?source=quic-{tag}&filename=2026-01.mbox", content)
    assert first.status == 202
    body = first.json()
    assert (body["duplicate"], body["source"], body["format"]) == (False, f"quic-{tag}", "mbox")
    assert first.headers["location"] == f"/api/archives/{body['archive_id']}"
    again = host.ask("POST", f"/api/archives?source=quic-{tag}&filename=x.mbox", content)
    assert (again.status, again.json()["duplicate"]) == (200, True)
    assert again.json()["archive_id"] == body["archive_id"]
    other = host.ask("POST", f"/api/archives?source=other-{tag}&filename=x.mbox", content)
    assert (other.status, other.json()["source"]) == (202, f"other-{tag}")  # each source has its own archive
    shown = host.get(first.headers["location"]).json()
    assert (shown["archive_id"], shown["file_size_bytes"]) == (body["archive_id"], len(content))
    assert shown["status"] in {"pending", "processed"}
    assert [stage["name"] for stage in shown["progress"]["stages"]] == [row.name for row in STAGES]
    listed = host.get(f"/api/archives?source=quic-{tag}").json()
    assert [item["archive_id"] for item in listed["items"]] == [body["archive_id"]]
    assert listed["next"] is None


def test_lists_come_in_pages(host: Host, tag: str) -> None:
    ids = [
        host.ask("POST", f"/api/archives?source=p-{tag}", mbox(f"{number} {tag}")).json()["archive_id"]
        for number in range(5)
    ]
    found, path, pages = [], f"/api/archives?source=p-{tag}&limit=2", 0
    while path:
        page = host.get(path).json()
        found += [item["archive_id"] for item in page["items"]]
        path, pages = page["next"], pages + 1
    assert found == ids[::-1]
    assert pages == 3


def test_names_may_come_in_headers_and_files_in_forms(host: Host, tag: str) -> None:
    by_header = host.ask("POST", "/api/archives", mbox(f"h {tag}"), x_source=f"h-{tag}", x_filename="a.mbox")
    assert by_header.json()["source"] == f"h-{tag}"
    assert by_header.json()["file_path"].endswith("/a.mbox")
    content = zip_bytes({"a.mbox": mbox(f"form {tag}")})
    form = (
        b'--XX\r\nContent-Disposition: form-data; name="source"\r\n\r\nf-' + tag.encode() + b"\r\n"
        b'--XX\r\nContent-Disposition: form-data; name="file"; filename="list archive.zip"\r\n'
        b"Content-Type: application/zip\r\n\r\n" + content + b"\r\n--XX--\r\n"
    )
    by_form = host.ask("POST", "/api/archives", form, content_type="multipart/form-data; boundary=XX")
    assert by_form.status == 202
    body = by_form.json()
    assert (body["source"], body["format"], body["file_size_bytes"]) == (f"f-{tag}", "zip", len(content))
    assert body["file_path"].endswith("/list_archive.zip")


@pytest.mark.parametrize(
    ("path", "body", "headers", "status", "detail"),
    [
        ("/api/archives", b"", {}, 400, "empty"),
        ("/api/archives", b"%PDF-1.7", {}, 415, "not a mail archive"),
        ("/api/archives", b"<html>", {}, 415, "web page"),
        ("/api/archives", b"\x1f\x8b\x08broken", {}, 422, "damaged"),
        ("/api/archives", b"x" * (LIMIT + 1), {}, 413, f"more than {LIMIT} bytes"),
        ("/api/archives?source=../x", mbox("x"), {}, 422, "source: must be"),
        ("/api/archives?filename=" + quote("a\nb"), mbox("x"), {}, 422, "filename: must be printable"),
        ("/api/archives", b"--XX\r\n", {"content_type": "multipart/form-data; boundary=XX"}, 400, "body is incomplete"),
        ("/api/archives", b"x", {"content_type": "multipart/form-data"}, 400, "boundary"),
        ("/api/archives", b"--XX--\r\n", {"content_type": "multipart/form-data; boundary=XX"}, 400, "0 files"),
    ],
)  # fmt: skip
def test_a_bad_upload_is_a_problem_that_says_what_is_wrong(
    host: Host, path: str, body: bytes, headers: dict[str, str], status: int, detail: str
) -> None:
    assert detail in problem(host.ask("POST", path, body, 20, **headers), status)["detail"]


@pytest.mark.parametrize(
    "path", ["/api/archives/0011223344556677", "/api/archives/x", "/api/sources/none", "/api/operations/none",
             "/api/operations/" + "0" * 32, "/api/sources/a%2Fb"]
)  # fmt: skip
def test_what_is_not_there_is_a_404(host: Host, path: str) -> None:
    problem(host.get(path), 404)


@pytest.mark.parametrize(
    "query", ["limit=0", "limit=x", "limit=1000", "status=odd", "after=nothing", "stauts=failed"]
)
def test_a_bad_query_is_a_problem(host: Host, query: str) -> None:
    told = problem(host.get(f"/api/archives?{query}"), 422)
    assert [fault["parameter"] for fault in told["errors"]] == [query.partition("=")[0]]


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/api/sources?name=x"),
        ("GET", "/api/sources?after=nothing"),
        ("DELETE", "/api/sources/x?derive=true"),
        ("DELETE", "/api/sources/x?derived=perhaps"),
        ("POST", "/api/archives?sauce=x"),
    ],
)
def test_a_parameter_that_an_address_does_not_have_is_refused(host: Host, method: str, path: str) -> None:
    told = problem(host.ask(method, path, b"x" if method == "POST" else None), 422)
    assert told["errors"][0]["parameter"] == path.partition("?")[2].partition("=")[0]


def test_sources_come_in_pages(host: Host, tag: str) -> None:
    names = [f"paged-{tag}-{number}" for number in range(3)]
    for name in reversed(names):
        assert post(host, "/api/sources", {"name": name, **HTTP}).status == 201
    found, path = [], "/api/sources?limit=2"
    while path:
        page = host.get(path).json()
        assert len(page["items"]) <= 2
        found += [source["name"] for source in page["items"]]
        path = page["next"]
    assert found == sorted(found)
    assert [name for name in found if tag in name] == names


def store(source: Source, settings: Settings) -> None:
    """Store a source as a fetch leaves it, because no request can."""

    async def create() -> None:
        connected = await Clients.connect(settings)
        try:
            assert await connected.store.create(source, Session())
        finally:
            await connected.close()

    asyncio.run(create())


READABLE = {
    *("name", "source_type", "url", "enabled", "schedule", "last_success_at", "links"),
    "archive_template",  # each message's page fills this in
}


@pytest.fixture
def fetched_source(settings: Settings, tag: str) -> str:
    """Store a source with a lease, an error and a cursor that each contain a secret."""
    source = Source(
        created_at=CREATED,
        id=f"fetched-{tag}",
        name=f"fetched-{tag}",
        source_type="http",
        url="https://lists.example.org/a.mbox?token=geheim-link#geheim-part",
        settings={"password_setting": "SOURCE_SECRET_GEHEIM"},
        cursor={"location": "https://cdn.example.org/?sig=geheim-cursor"},
        last_fetch_error="https://lists.example.org said geheim-error",
        lease_owner="geheim-owner",
    )
    store(source, settings)
    return source.name


def test_a_reader_sees_of_a_source_what_is_public(host: Host, fetched_source: str) -> None:
    shown = host.get(f"/api/sources/{fetched_source}").json()
    assert set(shown) == READABLE
    assert shown["url"] == "https://lists.example.org/a.mbox?..."
    listed = host.get("/api/sources?limit=200")
    assert shown in listed.json()["items"]
    pages = host.get("/sources").text + host.get(f"/sources/{fetched_source}").text
    assert "geheim" not in (listed.text + pages + json.dumps(shown)).lower()
    assert "failed" not in pages


def test_an_operator_sees_all_of_a_source_but_what_its_link_is_signed_with(
    host: Host, fetched_source: str
) -> None:
    answer = host.get(f"/api/sources/{fetched_source}", x_operator_key=KEY)
    shown = answer.json()
    assert shown["lease_owner"] == "geheim-owner"
    assert shown["settings"] == {"password_setting": "SOURCE_SECRET_GEHEIM"}
    assert "geheim-link" not in answer.text
    assert shown in host.get("/api/sources?limit=200", x_operator_key=KEY).json()["items"]
    assert "private" in answer.headers["cache-control"]
    assert "geheim-error" in host.get(f"/sources/{fetched_source}", x_operator_key=KEY).text
    assert "geheim" not in host.get(f"/api/sources/{fetched_source}", x_operator_key=KEY[:-1]).text


def test_a_reader_does_not_see_where_a_local_source_lies(host: Host, settings: Settings, tag: str) -> None:
    source = Source(
        created_at=CREATED,
        id=f"local-{tag}",
        name=f"local-{tag}",
        source_type="local",
        url="/srv/private/mail",
    )
    store(source, settings)
    assert host.get(f"/api/sources/local-{tag}").json()["url"] == ""


LOGIN = {"username_setting": "SOURCE_SECRET_USER", "password_setting": "SOURCE_SECRET_PASSWORD"}


@pytest.fixture
def mailbox(host: Host, tag: str) -> str:
    """Return the address of a source that logs in."""
    definition = {"name": f"imap-{tag}", "source_type": "imap", "url": "imap://mail.example.org/lists"}
    assert post(host, "/api/sources", {**definition, "settings": LOGIN}).status == 201
    return f"/api/sources/imap-{tag}"


@pytest.mark.parametrize(
    "changes",
    [
        {"url": "imap://mail.example.net/lists"},
        {"url": "imap://mail.example.org:1143/lists"},
        {"url": "imaps://mail.example.org/lists"},
        {"url": "imap://mail.example.net/lists", "settings": {"username_setting": "SOURCE_SECRET_USER"}},
        {"source_type": "http", "url": "https://mail.example.net/lists"},
        {"settings": {"username_setting": "SOURCE_SECRET_OTHER"}},
    ],
)
def test_a_stored_login_is_not_sent_to_a_server_that_it_was_not_given_for(
    host: Host, mailbox: str, changes: dict[str, Any]
) -> None:
    told = problem(host.ask("PATCH", mailbox, json.dumps(changes)), 422)
    assert told["errors"][0]["pointer"] == "/settings"
    assert "password_setting" in told["detail"]
    shown = host.get(mailbox, x_operator_key=KEY).json()
    assert (shown["url"], shown["settings"]) == ("imap://mail.example.org/lists", LOGIN)


@pytest.mark.parametrize(
    "changes",
    [
        {"url": "imap://mail.example.org/other"},
        {"url": "imap://MAIL.example.org:143/lists"},
        {"enabled": False},
        {"url": "imaps://mail.example.net/lists", "settings": LOGIN},
    ],
)
def test_a_login_stays_with_its_server_or_is_given_again(
    host: Host, mailbox: str, changes: dict[str, Any]
) -> None:
    assert host.ask("PATCH", mailbox, json.dumps(changes)).status == 200


ROLE = {"person": "ann@example.org", "name": "Ann", "role": "chair", "from": "2024-01-01", "until": None}


def test_a_source_names_whose_word_decides_and_in_which_custom(host: Host, tag: str) -> None:
    definition = {"name": f"roles-{tag}", **HTTP, "preset": "ietf", "roles": [ROLE]}
    created = post(host, "/api/sources", definition)
    assert (created.status, created.json()["preset"], created.json()["roles"]) == (201, "ietf", [ROLE])
    path = f"/api/sources/roles-{tag}"
    kept = host.ask("PATCH", path, json.dumps({"enabled": False})).json()
    assert (kept["preset"], kept["roles"]) == ("ietf", [ROLE])
    assert "roles" not in host.get(path).json()


@pytest.mark.parametrize(
    ("field", "value", "fault"),
    [
        ("preset", "rfc", "preset"),
        ("roles", [{"person": "ann", "role": "chair"}], "/roles/0/person"),
        ("roles", [{"person": "ann@example.org"}], "/roles/0/role"),
        ("roles", [{**ROLE, "from": "soon"}], "/roles/0/from"),
        ("roles", [{**ROLE, "to": "2024-12-31"}], "the last day of a role is named `until`, not `to`"),
        ("roles", [{**ROLE, "until": "2023-12-31"}], "2023-12-31 is before from: 2024-01-01"),
    ],
)
def test_a_role_that_cannot_be_is_refused_by_its_place(
    host: Host, tag: str, field: str, value: Any, fault: str
) -> None:
    answer = post(host, "/api/sources", {"name": f"bad-{tag}", **HTTP, field: value})
    assert answer.status == 422
    assert fault in answer.text


def test_what_a_sources_link_is_signed_with_is_shown_to_nobody_and_survives_a_change(
    host: Host, tag: str
) -> None:
    name, shown = f"signed-{tag}", "https://lists.example.org/a.mbox?..."
    definition = {"name": name, "source_type": "http", "url": "https://lists.example.org/a.mbox?token=geheim"}
    created = post(host, "/api/sources", definition)
    assert (created.status, created.json()["url"]) == (201, shown)
    assert "geheim" not in host.get(f"/api/sources/{name}").text + host.get("/api/sources?limit=200").text
    changed = host.ask(
        "PUT", f"/api/sources/{name}", json.dumps({**definition, "url": shown, "enabled": False})
    )
    assert (changed.status, changed.json()["url"]) == (200, shown)
    other = {**definition, "url": "https://lists.example.org/b.mbox"}
    assert host.ask("PUT", f"/api/sources/{name}", json.dumps(other)).json()["url"] == other["url"]
    assert host.ask("DELETE", f"/api/sources/{name}").status == 200


def test_a_source_is_created_read_changed_and_deleted(host: Host, tag: str) -> None:
    name = f"crud-{tag}"
    definition = {
        "name": name,
        "source_type": "http",
        "url": "https://lists.example.org/a.mbox",
        "schedule": "0 30 4 * * *",
    }
    created = post(host, "/api/sources", definition)
    assert (created.status, created.headers["location"]) == (201, f"/api/sources/{name}")
    assert created.json()["next_fetch_at"].endswith("T04:30:00.000000Z")
    problem(post(host, "/api/sources", definition), 409)
    shown = host.get(f"/api/sources/{name}")
    assert shown.json()["url"] == definition["url"]
    stale = shown.headers["etag"]
    patched = host.ask("PATCH", f"/api/sources/{name}", json.dumps({"enabled": False, "schedule": None}))
    assert patched.status == 200
    assert (patched.json()["enabled"], patched.json()["schedule"], patched.json()["next_fetch_at"]) == (
        False,
        None,
        None,
    )
    problem(host.ask("PATCH", f"/api/sources/{name}", json.dumps({"enabled": True}), if_match=stale), 412)
    put = host.ask(
        "PUT", f"/api/sources/{name}", json.dumps({**definition, "url": "https://lists.example.org/b.mbox"})
    )
    assert (put.json()["enabled"], put.json()["url"]) == (True, "https://lists.example.org/b.mbox")
    assert name in [item["name"] for item in host.get("/api/sources?limit=200").json()["items"]]
    deleted = host.ask("DELETE", f"/api/sources/{name}")
    assert (deleted.status, deleted.json()["cascade"]) == (200, False)
    assert "archives, messages and reports are kept" in deleted.json()["detail"]
    problem(host.get(f"/api/sources/{name}"), 404)
    problem(host.ask("DELETE", f"/api/sources/{name}"), 404)
    problem(host.ask("PUT", f"/api/sources/{name}", json.dumps(definition)), 404)


@pytest.mark.parametrize(
    ("changes", "pointer"),
    [
        ({"name": "a/b"}, "/name"),
        ({"name": ""}, "/name"),
        ({"name": "x" * 64}, "/name"),
        ({"name": "-x"}, "/name"),
        ({"source_type": "ftp"}, "/source_type"),
        ({"url": "http://169.254.169.254/"}, "/url"),
        ({"url": "http://2130706434/"}, "/url"),
        ({"url": ""}, "/url"),
        ({"url": "https://user:pw@example.org/"}, "/url"),
        ({"schedule": "every day"}, "/schedule"),
        ({"schedule": "0 0 0 31 2 *"}, "/schedule"),
        ({"schedule": "0 0 25 * * *"}, "/schedule"),
        ({"enabled": "perhaps"}, "/enabled"),
        ({"settings": {"password": "hunter2"}}, "/settings/password"),
        ({"settings": {"password_setting": "COSMOS_KEY"}}, "/settings/password_setting"),
        ({"cursor": {}}, "/cursor"),
        ({"source_type": "local", "url": "/etc"}, "/url"),
        ({"source_type": "imap", "url": "imaps://mail.example.org/x"}, "/settings"),
        ({"source_type": "rsync", "url": "-e sh::m"}, "/url"),
    ],
)
def test_a_bad_source_is_a_problem_with_the_path_of_the_fault(
    host: Host, tag: str, changes: dict[str, Any], pointer: str
) -> None:
    told = problem(post(host, "/api/sources", {"name": f"bad-{tag}", **HTTP, **changes}), 422)
    assert pointer in [error["pointer"] for error in told["errors"]]
    assert "hunter2" not in json.dumps(told)
    problem(host.get(f"/api/sources/bad-{tag}"), 404)


@pytest.mark.parametrize("body", ["", "{", "[]", "null", "[" * 100_000])
def test_a_body_that_is_no_json_object_is_a_problem(host: Host, body: str) -> None:
    assert host.ask("POST", "/api/sources", body).status in {400, 413}


def test_a_source_cannot_be_renamed(host: Host, tag: str) -> None:
    post(host, "/api/sources", {"name": f"old-{tag}", **HTTP})
    told = problem(host.ask("PATCH", f"/api/sources/old-{tag}", json.dumps({"name": "new"})), 422)
    assert told["errors"][0]["pointer"] == "/name"


class _Files(http.server.BaseHTTPRequestHandler):
    content = b""

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Length", str(len(self.content)))
        self.end_headers()
        self.wfile.write(self.content)

    def log_message(self, *_: object) -> None:
        """Discard the server's log."""


@pytest.fixture
def files(tag: str) -> Iterator[str]:
    handler = type("Files", (_Files,), {"content": mbox(f"fetched {tag}")})
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/list.mbox"
        server.shutdown()
        thread.join()


def test_a_trigger_gives_an_operation_that_can_be_followed_to_its_end(
    host: Host, tag: str, files: str
) -> None:
    name = f"trigger-{tag}"
    assert post(host, "/api/sources", {"name": name, "source_type": "http", "url": files}).status == 201
    triggered = host.ask("POST", f"/api/sources/{name}/trigger")
    assert triggered.status == 202
    location = triggered.headers["location"]
    assert location == f"/api/operations/{triggered.json()['operation_id']}"

    def finished() -> dict[str, Any] | None:
        operation: dict[str, Any] = host.get(location).json()
        return operation if operation["status"] not in {"pending", "running"} else None

    operation = wait_for(finished, what="the operation's end")
    assert (operation["status"], operation["error"], operation["source"]) == ("succeeded", None, name)
    (fetched,) = operation["archives"]
    archive = host.get(f"/api/archives/{fetched['archive_id']}").json()
    assert (archive["source"], archive["source_type"], archive["source_url"]) == (name, "http", files)
    source = host.get(f"/api/sources/{name}", x_operator_key=KEY).json()
    assert (source["lease_owner"], source["last_fetch_error"]) == (None, None)


def test_a_source_for_uploads_cannot_be_triggered(host: Host, tag: str) -> None:
    post(host, "/api/sources", {"name": f"up-{tag}", "source_type": "upload"})
    problem(host.ask("POST", f"/api/sources/up-{tag}/trigger"), 409)
    problem(host.ask("POST", "/api/sources/nothing/trigger"), 404)


def test_writing_needs_a_key_where_keys_are_on(
    cloud: AppCloud, bus_service: RunningService, tmp_path: Path
) -> None:
    settings = cloud.settings(bus_service)
    environ = {"COSMOS_ENDPOINT": settings.COSMOS_ENDPOINT, "SEARCH_ENDPOINT": settings.SEARCH_ENDPOINT}
    environ["SERVICEBUS_CONNECTION"] = servicebus_connection(bus_service)
    with running_host(ROOT, tmp_path / "data", "--enable-auth", **environ) as locked:
        for method, path in (
            ("POST", "/api/archives"),
            ("POST", "/api/sources"),
            ("PUT", "/api/sources/x"),
            ("PATCH", "/api/sources/x"),
            ("DELETE", "/api/sources/x"),
            ("POST", "/api/sources/x/trigger"),
        ):
            assert locked.ask(method, path, b"{}").status == 401
        assert locked.get("/api/health").status in {200, 503}


def removed(host: Host, answer: Answer) -> dict[str, Any]:
    """Return the receipt of an accepted deletion."""
    assert answer.status == 202, answer.json()

    def receipt() -> Any:
        body = host.get(answer.headers["location"]).json()
        return body if body["status"] in ("succeeded", "failed") else None

    receipt_: dict[str, Any] = wait_for(receipt, seconds=60, what="the deletion")
    assert receipt_["status"] == "succeeded", receipt_
    return receipt_


@pytest.mark.requirement("R-1005")
def test_an_archive_is_deleted_with_everything_derived(host: Host, tag: str) -> None:
    stored = host.ask("POST", f"/api/archives?source=gone-{tag}", mbox(f"one {tag}", f"two {tag}"))
    path = stored.headers["location"]
    wait_for(lambda: host.get(path).json()["status"] == "processed", seconds=60, what="parsing")
    accepted = host.ask("DELETE", path)
    receipt = removed(host, accepted)
    assert (receipt["counts"]["messages"], receipt["counts"]["archives"]) == (2, 1)
    assert set(receipt["left"].values()) == {0}
    problem(host.get(path), 404)
    problem(host.ask("DELETE", path), 404)
    problem(host.ask("DELETE", "/api/archives/nonsense"), 404)


def test_an_upload_of_an_archive_that_is_being_deleted_is_refused_and_taken_when_that_is_done(
    host: Host, settings: Settings, tag: str
) -> None:
    content, path = mbox(f"one {tag}"), f"/api/archives?source=busy-{tag}"
    location = host.ask("POST", path, content).headers["location"]
    wait_for(lambda: host.get(location).json()["status"] == "processed", seconds=60, what="parsing")
    asyncio.run(_mark_as_being_deleted(settings, location.rpartition("/")[2]))
    refused = problem(host.ask("POST", path, content), 409)
    assert "is being deleted: upload it again afterwards" in refused["detail"]
    removed(host, host.ask("DELETE", location))
    again = host.ask("POST", path, content)
    assert (again.status, again.json()["duplicate"]) == (202, False)
    wait_for(lambda: host.get(location).json()["status"] == "processed", seconds=60, what="parsing")


async def _mark_as_being_deleted(settings: Settings, archive_id: str) -> None:
    """Mark the archive like the first step of a deletion, without the rest, so that timing does not matter."""
    connected = await Clients.connect(settings)
    try:
        assert await mark_deleting(connected.store, archive_id, Session())
    finally:
        await connected.close()


@pytest.mark.requirement("R-1005")
def test_a_source_is_deleted_with_its_archives_only_when_that_is_asked_for(host: Host, tag: str) -> None:
    definition = {"name": f"src-{tag}", "source_type": "upload", "url": "upload"}
    assert post(host, "/api/sources", definition).status == 201
    stored = host.ask("POST", f"/api/archives?source=src-{tag}", mbox(f"kept {tag}"))
    assert host.ask("DELETE", f"/api/sources/src-{tag}").status == 200
    assert host.get(stored.headers["location"]).status == 200
    assert post(host, "/api/sources", definition).status == 201
    receipt = removed(host, host.ask("DELETE", f"/api/sources/src-{tag}?derived=true"))
    assert (receipt["counts"]["archives"], receipt["counts"]["sources"]) == (1, 1)
    problem(host.get(stored.headers["location"]), 404)


def test_an_archive_of_no_source_says_so_and_what_to_do(host: Host, tag: str) -> None:
    source, content = f"unnamed-{tag}", mbox(f"one {tag}")
    sent = host.ask("POST", f"/api/archives?source={source}&filename=a.mbox", content)
    command = f"python -m ops source add {source} --type upload"
    assert f"No source is named {source}" in sent.json()["note"]
    assert command in sent.json()["note"]
    assert command in host.get(f"/archives/{sent.json()['archive_id']}").text
    assert post(host, "/api/sources", {"name": source, "source_type": "upload"}).status == 201
    again = host.ask("POST", f"/api/archives?source={source}&filename=a.mbox", content)
    assert again.json()["note"] is None
    assert command not in host.get(f"/archives/{sent.json()['archive_id']}").text
