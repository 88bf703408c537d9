"""The operator's page in a real browser: one action for each cause, and no access for other sites."""

import asyncio
import re
from collections.abc import Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any, Literal

import pytest
from azure.servicebus import ServiceBusClient, ServiceBusMessage
from playwright.sync_api import Browser, Page, expect

from shared.azure.connections import Clients
from shared.azure.cosmos.session import Session
from shared.models.sources import Archive, ArchiveStatus
from tests.browser.conftest import Complaints
from tests.browser.test_reading import AXE
from tests.stages.mail_in import archive_of
from tests.support.cloud import AppCloud, wait_for
from tests.web.site import Site, empty_site

pytestmark = [pytest.mark.browser, pytest.mark.timeout(600)]
KEY = "correct horse battery staple"
HOSTILE = "<img src=x onerror=alert(1)>"
POISON = {
    "parsing": [f'{{"event_type": "{HOSTILE}", "number": {number}}}' for number in range(3)],
    "chunking": ["not JSON at all"],
    "embedding": ["no JSON either"],
}
EVIL = "http://evil.example/"


def aside(work: Coroutine[Any, Any, None]) -> None:
    """Run in a separate thread, because Playwright has a loop in this one."""
    with ThreadPoolExecutor(1) as pool:
        pool.submit(asyncio.run, work).result()


def archive(name: str, **changes: Any) -> Archive:
    return archive_of(name.encode(), name).model_copy(update=changes)


async def store(site: Site, *archives: Archive) -> None:
    connected = await Clients.connect(site.settings)
    try:
        for stored in archives:
            await connected.store.upsert(stored, Session())
    finally:
        await connected.close()


def send(site: Site, queue: str, *bodies: str) -> None:
    with (
        ServiceBusClient.from_connection_string(site.environ["SERVICEBUS_CONNECTION"]) as client,
        client.get_queue_sender(queue) as sender,
    ):
        sender.send_messages([ServiceBusMessage(body) for body in bodies])


@pytest.fixture(scope="module")
def troubled(cloud: AppCloud, browser: Browser) -> Iterator[Site]:
    """Create invalid messages, which the app moves to the dead letters, a stuck archive, and a failed one."""
    old = datetime.now(UTC) - timedelta(days=3)
    daily = str(24 * 3600)  # a sweep in between would request the stuck documents
    manager = empty_site(cloud, OPERATOR_KEY=KEY, RETRY_JOB_INTERVAL_SECONDS=daily)
    with ThreadPoolExecutor(1) as pool:
        site = pool.submit(manager.__enter__).result()
        try:
            aside(
                store(
                    site,
                    archive("stuck", created_at=old, attemptCount=1, lastAttemptTime=old, requeued_at=old),
                    archive(
                        "failed", status=ArchiveStatus.FAILED_MAX_RETRIES, attemptCount=3,
                        lastAttemptTime=old, lastError=f"UnreadableArchiveError: {HOSTILE}",
                    ),
                )
            )  # fmt: skip
            for queue, bodies in POISON.items():
                send(site, queue, *bodies)
            wait_for(lambda: len(groups(site)) >= len(POISON), seconds=90, what="the groups on the page")
            yield site
        finally:
            pool.submit(manager.__exit__, None, None, None).result()


def groups(site: Site) -> list[str]:
    page = site.host.get("/operator", **{"x-operator-key": KEY})
    assert page.status == 200, page.text
    return re.findall(r'name="group" value="([0-9a-f]{8})"', page.text)


@contextmanager
def visiting(browser: Browser, site: Site, **options: Any) -> Iterator[Page]:
    context = browser.new_context(base_url=site.url, reduced_motion="reduce", **options)
    try:
        yield context.new_page()
    finally:
        context.close()


def enter(page: Page) -> None:
    page.goto("/operator")
    page.get_by_label("Operator key").fill(KEY)
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Action needed")


def group_of(page: Page, queue: str) -> Any:
    return page.locator('[aria-labelledby="groups"] tbody tr', has_text=queue).first


def operations(page: Page) -> int:
    return page.locator('[aria-labelledby="operations"] tbody tr').count()


def test_only_the_key_opens_the_page(browser: Browser, troubled: Site) -> None:
    with visiting(browser, troubled) as page:
        page.goto("/operator")
        assert page.get_by_text("Dead letters").count() == 0
        page.get_by_label("Operator key").fill("let me in, please!")
        page.get_by_role("button", name="Sign in").click()
        expect(page.get_by_role("alert")).to_have_text("Wrong key.")
        enter(page)
        page.get_by_role("button", name="Sign out").click()
        expect(page.get_by_label("Operator key")).to_be_visible()
        page.goto("/operator")
        expect(page.get_by_label("Operator key")).to_be_visible()


def test_every_cause_has_one_action_and_troubled_documents_are_shown(
    browser: Browser, troubled: Site, complaints: Complaints
) -> None:
    with visiting(browser, troubled) as page:
        enter(page)
        complaints.listen(page)
        page.goto("/operator")
        rows = page.locator('[aria-labelledby="groups"] tbody tr')
        assert rows.count() >= len(POISON)
        for row in rows.all():
            assert row.locator("button, .chip").count() == 1
        expect(group_of(page, "parsing").get_by_role("cell", name="3", exact=True)).to_be_visible()
        stuck = page.get_by_role("region", name="Stuck documents")
        expect(stuck).to_contain_text(f"archives/{archive('stuck').id}")
        failed = page.get_by_role("region", name="Failed documents")
        expect(failed).to_contain_text(f"archives/{archive('failed').id}")
        expect(failed).to_contain_text(HOSTILE)
        assert page.locator("img").count() == 0
    assert complaints == []


def test_a_group_is_requeued_by_its_button_and_its_operation_ends_before_ones_eyes(
    browser: Browser, troubled: Site, complaints: Complaints
) -> None:
    with visiting(browser, troubled) as page:
        enter(page)
        complaints.listen(page)
        group_of(page, "chunking").get_by_role("button", name=re.compile("^Requeue 1 dead letter")).click()
        expect(page.get_by_role("status")).to_contain_text("was started")
        operation = page.url.rpartition("asked=")[2]
        row = page.locator("tr", has_text=operation)
        # The script updates the page without a reload.
        expect(row).to_contain_text("succeeded", timeout=60_000)
        expect(row).to_contain_text("1 requeued")
        expect(row).to_contain_text("dlq.requeue")
    assert complaints == []


def test_letters_are_looked_at_purged_and_restored(
    browser: Browser, troubled: Site, complaints: Complaints
) -> None:
    with visiting(browser, troubled) as page:
        enter(page)
        complaints.listen(page)
        group_of(page, "parsing").get_by_role("link", name="Show messages").click()
        expect(page.get_by_role("heading", level=1)).to_have_text("Dead letters of parsing")
        assert page.locator("section.of-thread pre").count() == 3
        assert HOSTILE in page.locator("section.of-thread pre").first.inner_text()
        assert page.locator("img").count() == 0
        page.get_by_role("button", name=re.compile("^Purge [0-9]+$")).first.click()
        operation = page.url.rpartition("asked=")[2]
        row = page.locator("tr", has_text=operation)
        expect(row).to_contain_text("1 purged", timeout=60_000)
        row.get_by_role("button", name=f"Restore {operation}").click()
        expect(page.locator("tr", has_text=page.url.rpartition("asked=")[2])).to_contain_text(
            "1 restored", timeout=60_000
        )
        expect(group_of(page, "parsing").get_by_role("cell", name="3", exact=True)).to_be_visible(
            timeout=60_000
        )
    assert complaints == []


def test_without_a_script_the_page_does_the_same(browser: Browser, troubled: Site) -> None:
    with visiting(browser, troubled, java_script_enabled=False) as page:
        enter(page)
        assert page.locator('meta[http-equiv="refresh"]').get_attribute("content") == "30"
        group_of(page, "embedding").get_by_role("button").click()
        expect(page.get_by_role("status")).to_contain_text("was started")
        row = page.locator("tr", has_text=page.url.rpartition("asked=")[2])

        def ended() -> bool:
            page.reload()
            return "succeeded" in row.inner_text()

        wait_for(ended, seconds=60, what="the end of the operation")
        assert "1 requeued" in row.inner_text()


def test_a_form_of_another_site_does_nothing(browser: Browser, troubled: Site) -> None:
    """The form fails even with a valid token: the browser sends no session with it, and sends its origin."""
    with visiting(browser, troubled) as page:
        enter(page)
        before = operations(page)
        form = group_of(page, "parsing").locator("form")
        fields = {name: form.locator(f"input[name={name}]").input_value() for name in ("token", "group")}
        inputs = "".join(f'<input name="{name}" value="{value}">' for name, value in fields.items())
        body = f'<form method="post" action="{troubled.url}/operator/letters/requeue">{inputs}<button>x</button></form>'
        page.context.route(EVIL, lambda route: route.fulfill(body=body, content_type="text/html"))
        other = page.context.new_page()
        other.goto(EVIL)
        with other.expect_navigation() as navigated:
            other.get_by_role("button").click()
        assert navigated.value is not None
        assert navigated.value.status == 403
        # The dev host itself refuses strangers, but another app on this machine can reach ours.
        sent = page.context.request.post(
            f"{troubled.url}/operator/letters/requeue", form=fields, headers={"origin": "http://localhost:1"}
        )
        assert (sent.status, "reload the page" in sent.text().lower()) == (403, True)
        page.goto("/operator")
        assert operations(page) == before


def test_a_form_with_a_wrong_token_is_refused_and_says_what_to_do(browser: Browser, troubled: Site) -> None:
    with visiting(browser, troubled) as page:
        enter(page)
        form = group_of(page, "parsing").locator("form")
        form.locator("input[name=token]").evaluate("input => { input.value = '0'.repeat(64) }")
        with page.expect_navigation() as navigated:
            form.get_by_role("button").click()
        assert navigated.value is not None
        assert navigated.value.status == 403
        expect(page.get_by_role("main")).to_contain_text("Reload the page")


def test_a_page_whose_session_is_over_asks_for_the_key(browser: Browser, troubled: Site) -> None:
    """The page no longer shows the data from before the session ended."""
    with visiting(browser, troubled) as page:
        enter(page)
        page.context.clear_cookies()
        expect(page.get_by_label("Operator key")).to_be_visible(timeout=30_000)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_on_the_operators_pages(
    browser: Browser, troubled: Site, scheme: Literal["light", "dark"]
) -> None:
    with visiting(browser, troubled, color_scheme=scheme, bypass_csp=True) as page:
        page.goto("/operator")
        found = violations(page)
        enter(page)
        found += violations(page)
        group_of(page, "parsing").get_by_role("link", name="Show messages").click()
        found += violations(page)
    assert found == []


def violations(page: Page) -> list[Any]:
    page.add_script_tag(content=AXE.read_text(encoding="utf-8"))
    result = page.evaluate(
        "axe.run(document, {runOnly: ['wcag2a', 'wcag2aa', 'wcag21aa', 'wcag22aa', 'best-practice']})"
    )
    return [
        (page.url, violation["id"], violation["impact"], violation["nodes"][0]["html"][:200])
        for violation in result["violations"]
    ]


@pytest.mark.parametrize("width", [320, 768])
def test_the_page_fits_a_narrow_window(browser: Browser, troubled: Site, width: int) -> None:
    with visiting(browser, troubled, viewport={"width": width, "height": 700}) as page:
        enter(page)
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
