"""The operator's form that uploads an archive: access, and the page after it."""

import pytest

from tests.support.host import Answer, Host
from tests.support.services import ROOT
from tests.web.markup import check
from tests.web.operator.test_pages import entered, token_in

BOUNDARY = "a-line-that-no-mail-has"


def multipart(file: bytes | None, **fields: str) -> bytes:
    parts = [
        f'Content-Disposition: form-data; name="{name}"\r\n\r\n{value}'.encode()
        for name, value in fields.items()
    ]
    if file is not None:
        head = b'Content-Disposition: form-data; name="file"; filename="tally.mbox"\r\n\r\n'
        parts.append(head + file)
    return (
        b"".join(f"--{BOUNDARY}\r\n".encode() + part + b"\r\n" for part in parts)
        + f"--{BOUNDARY}--\r\n".encode()
    )


def send(host: Host, body: bytes, **headers: str) -> Answer:
    named = {"content_type": f"multipart/form-data; boundary={BOUNDARY}", "origin": host.url, **headers}
    return host.ask("POST", "/operator/upload", body, 30, **named)


@pytest.fixture
def cookie(host: Host) -> str:
    return entered(host)


def test_only_an_operator_gets_the_form_and_only_from_it_is_a_file_taken(host: Host, cookie: str) -> None:
    file = (ROOT / "samples" / "tally.mbox").read_bytes()
    assert host.get("/operator/upload").status == 401
    assert send(host, multipart(file, source="mine")).status == 403
    assert send(host, multipart(file, source="mine", token="0" * 64), cookie=cookie).status == 403
    token = token_in(host.get("/operator/upload", cookie=cookie))
    foreign = {"cookie": cookie, "origin": "https://evil.example"}
    assert send(host, multipart(file, source="mine", token=token), **foreign).status == 403


def test_a_file_that_was_sent_leads_to_its_progress(host: Host, cookie: str) -> None:
    page = host.get("/operator/upload", cookie=cookie)
    check(page.text)
    file = (ROOT / "samples" / "tally.mbox").read_bytes()
    for _ in range(2):  # the same file is the same archive
        sent = send(host, multipart(file, source="mine", token=token_in(page)), cookie=cookie)
        assert sent.status == 303, sent.text
        assert "tally.mbox" in check(host.get(sent.headers["location"]).text).text


def test_what_is_no_archive_is_said_on_the_page(host: Host, cookie: str) -> None:
    token = token_in(host.get("/operator/upload", cookie=cookie))
    for body, status in (
        (multipart(b"a shopping list", source="mine", token=token), 415),
        (multipart(b"", source="mine", token=token), 400),
        (multipart(None, source="mine", token=token), 400),
        (multipart(b"From x", source="../mine", token=token), 422),
    ):
        assert send(host, body, cookie=cookie).status == status


def ask(host: Host, path: str, body: bytes, *, method: str = "POST", **headers: str) -> Answer:
    named = "source=mine&filename=big.mbox&modified=1"
    return host.ask(method, f"/operator/upload/{path}?{named}&size={len(FILE)}", body, 30, **headers)


FILE = (ROOT / "samples" / "tally.mbox").read_bytes()


def test_a_file_in_parts_is_taken_from_the_form_alone(host: Host, cookie: str) -> None:
    token = token_in(host.get("/operator/upload", cookie=cookie))
    own = {"cookie": cookie, "origin": host.url, "x_form_token": token}
    for headers in ({}, {**own, "x_form_token": "0" * 64}, {**own, "origin": "https://evil.example"}):
        assert ask(host, "parts", b"", **headers).status == 403
    begun = ask(host, "parts", b"", **own)
    assert (begun.status, begun.json()["count"], begun.json()["here"]) == (200, 1, [])
    assert ask(host, "end", b"", **own).status == 409
    assert ask(host, "parts/7", FILE, method="PUT", **own).status == 422
    assert ask(host, "parts/0", FILE[:-1], method="PUT", **own).status == 422
    assert ask(host, "parts/0", FILE, method="PUT", **own).status == 200
    assert ask(host, "parts", b"", **own).json()["here"] == [0]
    ended = ask(host, "end", b"", **own)
    assert ended.status == 202
    assert host.get(f"/api/operations/{ended.json()['operation_id']}").json()["source"] == "mine"
