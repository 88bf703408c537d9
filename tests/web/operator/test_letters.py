"""Dead letters on the operator's page, over HTTP: viewed, purged, restored, and denied."""

import re

import pytest

from tests.support.cloud import wait_for
from tests.support.host import Answer, Host
from tests.support.services import RunningService
from tests.web.markup import check
from tests.web.operator.test_pages import entered, form, send, token_in

POISON = b'{"event_type": "<b>look</b>", "number": %d}'


@pytest.fixture
def cookie(host: Host) -> str:
    return entered(host)


def group_saying(host: Host, cookie: str, words: str) -> str | None:
    page = host.get("/operator", cookie=cookie).text
    rows = re.findall(r"<tr><th scope=\"row\">(.*?)</tr>", page, re.DOTALL)
    found = [re.search(r"/operator/letters\?group=([0-9a-f]{8})", row) for row in rows if words in row]
    return found[0][1] if found and found[0] else None


def letters(host: Host, cookie: str, group: str) -> Answer:
    return host.get(f"/operator/letters?group={group}", cookie=cookie)


def numbers(page: Answer) -> set[str]:
    return set(re.findall(r'name="number" value="(\d+)"', page.text))


def done(host: Host, cookie: str, asked: Answer) -> str:
    assert asked.status == 303, asked.text
    operation = asked.headers["location"].removeprefix("/operator?asked=")

    def ended() -> bool:
        page = host.get("/operator", cookie=cookie).text
        return bool(re.search(rf"{operation}</code>.*?>succeeded</td>", page, re.DOTALL))

    wait_for(ended, seconds=60, what=f"the end of {operation}")
    return operation


def test_letters_are_looked_at_one_is_purged_and_restored(
    host: Host, cookie: str, bus_service: RunningService
) -> None:
    send(bus_service, "chunking", *(POISON % number for number in range(2)))

    def both() -> tuple[str, Answer] | None:
        group = group_saying(host, cookie, "&lt;b&gt;look&lt;/b&gt;")
        page = letters(host, cookie, group) if group else None
        return (group, page) if group and page and len(numbers(page)) == 2 else None

    group, page = wait_for(both, seconds=60, what="both letters")
    check(page.text)
    assert "<b>look</b>" not in page.text
    assert "&#34;number&#34;: 1" in page.text
    assert host.get(f"/operator/letters?group={group}").status == 401
    assert letters(host, cookie, "00000000").status == 404
    assert letters(host, cookie, "x").status == 422
    first, second = sorted(numbers(page), key=int)
    fields = {"token": token_in(page), "queue": "chunking", "number": first}
    for action in ("requeue", "purge", "restore"):
        refused = form(host, f"/operator/letters/{action}", {**fields, "token": "0" * 64}, cookie=cookie)
        assert refused.status == 403
        foreign = {"origin": "https://evil.example", "cookie": cookie}
        assert form(host, f"/operator/letters/{action}", fields, **foreign).status == 403
        assert form(host, f"/operator/letters/{action}", fields).status == 403
    assert form(host, "/operator/letters/burn", fields, cookie=cookie).status == 404
    for bad in ({"queue": "../x"}, {"number": "-1"}, {"number": "9" * 40}):
        assert form(host, "/operator/letters/purge", {**fields, **bad}, cookie=cookie).status == 422
    assert form(host, "/operator/letters/requeue", {**fields, "how": "9"}, cookie=cookie).status == 422

    purged = done(host, cookie, form(host, "/operator/letters/purge", fields, cookie=cookie))
    assert f"Restore {purged}" in host.get("/operator", cookie=cookie).text
    assert numbers(letters(host, cookie, group)) == {second}
    restore = {"token": fields["token"], "operation": purged}
    done(host, cookie, form(host, "/operator/letters/restore", restore, cookie=cookie))
    wait_for(lambda: len(numbers(letters(host, cookie, group))) == 2, seconds=60, what="it to fail again")
    again = form(host, "/operator/letters/restore", restore, cookie=cookie)
    assert (again.status, "already restored" in again.text) == (409, True)
