"""The operator's page in the whole app, over HTTP: access, content, and buttons."""

import base64
import json
import re
from pathlib import Path
from urllib.parse import urlencode

import pytest
from azure.servicebus import ServiceBusClient, ServiceBusMessage

from tests.support.cloud import servicebus_connection, wait_for
from tests.support.host import Answer, Host, running_host
from tests.support.services import ROOT, RunningService
from tests.web.operator.conftest import KEY


def form(host: Host, path: str, fields: dict[str, str], **headers: str) -> Answer:
    origin = {"origin": host.url, **headers}
    origin["content_type"] = "application/x-www-form-urlencoded"
    return host.ask("POST", path, urlencode(fields), 30, **origin)


def entered(host: Host) -> str:
    """Return the cookie of a session."""
    answer = form(host, "/operator/enter", {"key": KEY})
    assert (answer.status, answer.headers["location"]) == (303, "/operator")
    kept = answer.headers["set-cookie"]
    assert {"HttpOnly", "SameSite=Strict", "Path=/operator"} <= set(kept.split("; "))
    return kept.partition(";")[0]


def token_in(page: Answer) -> str:
    found = re.search(r'name="token" value="([0-9a-f]{64})"', page.text)
    assert found, page.text
    return found[1]


def send(bus: RunningService, queue: str, *bodies: bytes) -> None:
    with (
        ServiceBusClient.from_connection_string(servicebus_connection(bus)) as client,
        client.get_queue_sender(queue) as sender,
    ):
        sender.send_messages([ServiceBusMessage(body) for body in bodies])


def test_without_the_key_there_is_only_a_door(host: Host) -> None:
    answer = host.get("/operator")
    assert answer.status == 401
    assert 'type="password"' in answer.text
    assert "Dead letters" not in answer.text
    assert answer.headers["cache-control"] == "no-store"
    assert "default-src 'none'" in answer.headers["content-security-policy"]
    wrong = form(host, "/operator/enter", {"key": "let me in, please!"})
    assert (wrong.status, "set-cookie" in wrong.headers) == (401, False)
    assert "Wrong key" in wrong.text
    assert form(host, "/operator/letters/requeue", {"group": "00000000"}).status == 403


def test_with_the_key_the_page_shows_stages_and_operations(host: Host) -> None:
    page = host.get("/operator", cookie=entered(host))
    assert page.status == 200
    for part in (
        "Dead letters by cause",
        "parsing",
        "Stuck documents",
        "Failed documents",
        "Last operations",
    ):
        assert part in page.text
    assert page.headers["cache-control"] == "no-store"
    by_header = host.get("/operator", **{"x-operator-key": KEY})
    assert by_header.status == 200


@pytest.mark.parametrize(
    "cookie",
    ["operator=key.9999999999.00.aa", "operator=", "operator=form.1.2.3; operator=x"],
)
def test_a_cookie_that_we_did_not_make_is_worth_nothing(host: Host, cookie: str) -> None:
    assert host.get("/operator", cookie=cookie).status == 401


def test_a_principal_that_the_platform_did_not_write_is_worth_nothing(host: Host) -> None:
    claims = {"role_typ": "roles", "claims": [{"typ": "roles", "val": "operator"}]}
    forged = base64.b64encode(json.dumps(claims).encode()).decode()
    assert host.get("/operator", **{"x-ms-client-principal": forged}).status == 401


def test_a_group_is_requeued_in_the_background_by_its_button_alone(
    host: Host, bus_service: RunningService
) -> None:
    """The app dead-letters two invalid messages. After the requeue they fail again."""
    send(bus_service, "parsing", b'{"event_type": "<b>x</b>"}', b'{"event_type": "<b>x</b>", "version": 1}')
    cookie = entered(host)

    def group() -> tuple[Answer, str] | None:
        page = host.get("/operator", cookie=cookie)
        rows = re.findall(r'<tr><th scope="row">(.*?)</tr>', page.text, re.DOTALL)
        ours = [row for row in rows if "&lt;b&gt;x&lt;/b&gt;" in row and 'data-label="Count">2</td>' in row]
        found = re.search(r'name="group" value="([0-9a-f]{8})"', ours[0]) if ours else None
        return (page, found[1]) if found else None

    page, id_ = wait_for(group, seconds=60, what="the group on the page")
    assert "<b>x</b>" not in page.text
    fields = {"group": id_, "token": token_in(page)}
    assert host.get("/operator/letters/requeue", cookie=cookie).status in {404, 405}
    for refused in (
        form(host, "/operator/letters/requeue", {**fields, "token": "0" * 64}, cookie=cookie),
        form(host, "/operator/letters/requeue", fields, cookie=cookie, origin="http://localhost:1"),
        form(host, "/operator/letters/requeue", fields, cookie=cookie, **{"sec-fetch-site": "cross-site"}),
        form(host, "/operator/letters/requeue", fields, cookie=entered(host)),
    ):
        assert refused.status == 403
        assert "reload the page" in refused.text.lower()
    assert form(host, "/operator/letters/requeue", {**fields, "group": "x"}, cookie=cookie).status == 422
    asked = form(host, "/operator/letters/requeue", fields, cookie=cookie)
    assert asked.status == 303
    operation = asked.headers["location"].removeprefix("/operator?asked=")
    assert re.fullmatch(r"\d{8}-[0-9a-f]{8}", operation)

    def ended() -> bool:
        return bool(
            re.search(rf"{operation}.*?>succeeded</td>", host.get("/operator", cookie=cookie).text, re.DOTALL)
        )

    wait_for(ended, seconds=60, what="the end of the operation")
    page = host.get("/operator", cookie=cookie)
    assert "2 requeued" in page.text
    assert "the operator's key" in page.text.replace("&#39;", "'")


def test_who_leaves_has_to_give_the_key_again(host: Host) -> None:
    cookie = entered(host)
    token = token_in(host.get("/operator", cookie=cookie))
    answer = form(host, "/operator/leave", {"token": token}, cookie=cookie)
    assert (answer.status, "Max-Age=0" in answer.headers["set-cookie"]) == (303, True)


@pytest.mark.slow
def test_without_a_key_the_page_is_open_in_a_development_host_and_under_its_own_name_only(
    environ: dict[str, str], tmp_path: Path
) -> None:
    with running_host(ROOT, tmp_path / "open", **{**environ, "OPERATOR_KEY": ""}) as running:
        page = running.get("/operator")
        assert page.status == 200
        assert "developer" in page.text
        assert "operator=form." in page.headers["set-cookie"]
        assert running.get("/operator", host="evil.example").status == 403
        forged = form(running, "/operator/letters/requeue", {"group": "00000000", "token": "0" * 64})
        assert forged.status == 403
