"""Digests by email on the pages: the form, the links in the mail, and the limits of a form."""

import asyncio
import re
from collections import Counter
from collections.abc import Awaitable, Callable
from urllib.parse import parse_qs, urlencode, urlsplit

import azure.functions as func
import pytest

from shared.azure import connections
from shared.publishing.mails import LinkPurpose, token_of
from shared.settings.app import settings
from tests.publishing.email.mail_server import MailServer, mail_server
from tests.publishing.email.test_digests import words
from tests.web.markup import Page, check
from tests.web.pages.test_pages import page
from tests.web.site import Site
from tests.web.test_calls import calls, function_of
from web.pages.sources import source_page
from web.pages.subscriptions import (
    confirm_page,
    confirm_send,
    subscribe_page,
    subscribe_send,
    unsubscribe_page,
    unsubscribe_send,
)
from web.pages.thread import thread_page

__all__ = ["calls"]
OWN = {"host": "lists.example.org", "origin": "https://lists.example.org", "sec-fetch-site": "same-origin"}
LIST = {"kind": "sources", "name": "tally"}
SETTINGS = {
    "EMAIL_FROM": "digests@lists.example.org",
    "EMAIL_SECRET": "s" * 16, "PUBLIC_URL": "https://lists.example.org",
}  # fmt: skip
Handler = Callable[[func.HttpRequest], Awaitable[func.HttpResponse]]


async def ask(
    handler: object,
    method: str = "GET",
    *,
    params: dict[str, str] | None = None,
    form: dict[str, str] | None = None,
    headers: dict[str, str] | None = None,
    route: dict[str, str] | None = None,
) -> tuple[int, Page]:
    request = func.HttpRequest(
        method,
        f"https://lists.example.org/?{urlencode(params or {})}",
        headers=OWN if headers is None else headers,
        params=params or {},
        route_params=route or {},
        body=urlencode(form or {}).encode(),
    )
    answer = await function_of(handler)(request)
    return answer.status_code, check(answer.get_body().decode())


def with_mail(
    monkeypatch: pytest.MonkeyPatch, walk: Callable[[MailServer], Awaitable[None]], **more: str
) -> None:
    async def run() -> None:
        async with mail_server() as server:
            for name, value in {**SETTINGS, "SMTP_URL": f"smtp://127.0.0.1:{server.port}", **more}.items():
                monkeypatch.setenv(name, value)
            settings.cache_clear()
            try:
                await walk(server)
            finally:
                await connections._connected.close()

    try:
        asyncio.run(run())
    finally:
        settings.cache_clear()


def link_in(text: str, purpose: str) -> dict[str, str]:
    found = re.search(rf"https://lists\.example\.org/subscriptions/{purpose}\?[^\s>]+", text)
    assert found is not None, text
    return {name: values[0] for name, values in parse_qs(urlsplit(found[0]).query).items()}


def test_a_site_without_a_mail_server_offers_no_digest(site: Site) -> None:
    assert "Email digest" not in page(site, "/sources/tally").text
    assert site.host.get("/subscriptions?kind=sources&name=tally").status == 404


def test_a_reader_asks_confirms_and_ends(
    site: Site, calls: Counter[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    async def walk(server: MailServer) -> None:
        assert "Email digest" in (await ask(source_page, route={"name": "tally"}))[1].text
        thread = site.thread("Mandatory-to-implement")["thread_id"]
        assert "Email digest" in (await ask(thread_page, route={"id": thread}))[1].text
        topic = {"kind": "threads", "name": thread}
        assert "Mandatory-to-implement" in (await ask(subscribe_page, params=topic))[1].text
        status, form = await ask(subscribe_page, params=LIST)
        assert (status, "tally" in form.text) == (200, True)
        given = {**LIST, "address": "reader@example.org", "cadence": "daily"}
        status, answer = await ask(subscribe_send, "POST", form=given)
        assert (status, "a confirmation mail is on its way" in answer.text) == (200, True)
        link = link_in(words(server.got[0])[0], "confirm")
        assert (await ask(confirm_page, params=link))[0] == 200
        forged = {**link, "token": "0" * 64}
        for handler, method in ((confirm_page, "GET"), (confirm_send, "POST"), (unsubscribe_send, "POST")):
            assert (await ask(handler, method, params=forged))[0] == 404
        assert (await ask(unsubscribe_send, "POST", params=link))[0] == 404  # a token for another purpose
        status, answer = await ask(confirm_send, "POST", params=link)
        assert (status, "You will get a" in answer.text) == (200, True)
        assert len(server.got) == 1

    assert site.archives
    with_mail(monkeypatch, walk)


def test_the_same_answer_whether_or_not_an_address_is_known_and_one_click_ends_it(
    site: Site, calls: Counter[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    async def walk(server: MailServer) -> None:
        given = {**LIST, "address": "known@example.org", "cadence": "weekly"}
        answers = [await ask(subscribe_send, "POST", form=given) for _ in range(2)]
        assert answers[0][0] == answers[1][0] == 200
        assert answers[0][1].text == answers[1][1].text
        assert len(server.got) == 1
        confirming = link_in(words(server.got[0])[0], "confirm")
        await ask(confirm_send, "POST", params=confirming)
        ending = unsubscribing(confirming)
        assert (await ask(unsubscribe_page, params=ending))[0] == 200
        # A mail program posts it without an origin (RFC 8058).
        one_click = {"List-Unsubscribe": "One-Click"}
        for _ in range(2):
            assert (await ask(unsubscribe_send, "POST", params=ending, form=one_click, headers={}))[0] == 200
        assert (await ask(unsubscribe_page, params=ending))[0] == 404

    assert site.archives
    with_mail(monkeypatch, walk)


def unsubscribing(confirming: dict[str, str]) -> dict[str, str]:
    token = token_of(settings(), confirming["of"], confirming["id"], LinkPurpose.UNSUBSCRIBE)
    return {**confirming, "token": token}


@pytest.mark.parametrize(
    ("changed", "headers", "status"),
    [
        ({"address": "no address"}, None, 400),
        ({"address": "a@example.org\r\nBcc: b@example.org"}, None, 400),
        ({"cadence": "hourly"}, None, 400),
        ({"name": "no-such-list"}, None, 404),
        ({"kind": "people", "name": "0123456789abcdef"}, None, 404),
        ({"kind": "threads", "name": "../etc"}, None, 404),
        ({"kind": "drafts", "name": "draft-nobody-knows"}, None, 404),
        ({"kind": "secrets"}, None, 404),
        ({}, {**OWN, "origin": "https://evil.example", "sec-fetch-site": "cross-site"}, 403),
        ({"name": "x" * 3000}, None, 413),
    ],
)
def test_what_a_form_cannot_do(
    site: Site,
    calls: Counter[str],
    monkeypatch: pytest.MonkeyPatch,
    changed: dict[str, str],
    headers: dict[str, str] | None,
    status: int,
) -> None:
    async def walk(server: MailServer) -> None:
        given = {**LIST, "address": "victim@example.org", "cadence": "daily", **changed}
        assert (await ask(subscribe_send, "POST", form=given, headers=headers))[0] == status
        assert server.got == []

    assert site.archives
    with_mail(monkeypatch, walk)
