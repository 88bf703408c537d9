"""The operator's form that adds a source: paste an address, check it, and fetch it."""

from urllib.parse import urlencode

import pytest

from tests.support.host import Answer, Host
from tests.web.markup import check
from tests.web.operator.test_pages import entered, token_in

IETF = "https://mailarchive.ietf.org/arch/browse/quic/"


@pytest.fixture
def cookie(host: Host) -> str:
    return entered(host)


def send(host: Host, form: dict[str, str], **headers: str) -> Answer:
    named = {"content_type": "application/x-www-form-urlencoded", "origin": host.url, **headers}
    return host.ask("POST", "/operator/source", urlencode(form).encode(), 30, **named)


def token_of(host: Host, cookie: str) -> str:
    return token_in(host.get("/operator/source", cookie=cookie))


def test_only_an_operator_may_look_and_add(host: Host, cookie: str) -> None:
    assert host.get("/operator/source").status == 401
    assert send(host, {"address": IETF}).status == 403
    assert send(host, {"address": IETF, "token": "0" * 64}, cookie=cookie).status == 403
    foreign = {"cookie": cookie, "origin": "https://evil.example"}
    assert send(host, {"address": IETF, "token": token_of(host, cookie)}, **foreign).status == 403


def test_what_is_there_is_shown_and_added_with_its_schedule(host: Host, cookie: str) -> None:
    token = token_of(host, cookie)
    looked = send(host, {"address": IETF, "token": token}, cookie=cookie)
    shown = check(looked.text)
    assert (looked.status, "an IETF list" in shown.text.lower().replace("ietf", "IETF")) == (200, True)
    form = {
        field.attributes["name"]: field.attributes.get("value") or ""
        for field in shown.all("input")
        if field.attributes.get("name") not in {None, "address"}
    }
    assert (form["type"], form["url"], form["name"]) == (
        "rsync", "rsync://rsync.ietf.org/mailman-archive/quic/", "quic",
    )  # fmt: skip
    added = send(host, {**form, "schedule": "0 30 4 * * *", "preset": "ietf"}, cookie=cookie)
    assert (added.status, added.headers["location"]) == (303, "/sources/quic")
    source = host.get("/api/sources/quic").json()
    assert (source["source_type"], source["schedule"]) == ("rsync", "0 30 4 * * *")
    again = send(host, {**form, "schedule": "", "preset": "ietf"}, cookie=cookie)
    assert (again.status, "already" in check(again.text).text) == (422, True)


@pytest.mark.parametrize(
    ("form", "said"),
    [
        ({"address": "http://169.254.169.254/"}, "not a public address"),
        ({"address": "hello there"}, "http"),
        ({"name": "../x", "type": "http", "url": "https://example.org/a.mbox"}, "name"),
        ({"name": "x", "type": "http", "url": "http://127.0.0.1/a.mbox"}, "not a public address"),
        ({"name": "x", "type": "spool", "url": "https://example.org/"}, "source_type"),
        ({"name": "x", "type": "imap", "url": "imaps://example.org/a"}, "username_setting"),
        ({"name": "x", "type": "index", "url": "https://example.org/", "schedule": "never"}, "schedule"),
    ],
)
def test_what_cannot_be_is_said(host: Host, cookie: str, form: dict[str, str], said: str) -> None:
    answer = send(host, {**form, "token": token_of(host, cookie)}, cookie=cookie)
    assert (answer.status, said in check(answer.text).text) == (422, True), check(answer.text).text
