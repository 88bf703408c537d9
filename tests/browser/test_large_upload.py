"""A large file from the form: sent in parts, interrupted, and continued."""

from pathlib import Path

import pytest
from playwright.sync_api import Browser, Request, Route, expect

from tests.browser.large_file import large_mbox, send
from tests.web.site import Site

pytestmark = [pytest.mark.browser, pytest.mark.timeout(600)]


@pytest.fixture
def large(tmp_path: Path) -> Path:
    return large_mbox(tmp_path)


def test_after_a_break_only_what_is_missing_is_sent(browser: Browser, site: Site, large: Path) -> None:
    context = browser.new_context(base_url=site.url)
    page = context.new_page()

    def refuse(route: Route) -> None:
        route.fulfill(status=403, json={"detail": "cut off here"})

    page.route("**/operator/upload/parts/1?*", refuse)
    send(page, large, "large")
    expect(page.locator("#sent")).to_have_text("cut off here", timeout=60_000)
    page.unroute("**/operator/upload/parts/1?*")
    asked: list[Request] = []

    def heard(request: Request) -> None:
        asked.append(request)

    page.on("request", heard)
    send(page, large, "large")
    page.wait_for_url("**/archives/*", timeout=120_000)
    sent = [request.url.partition("?")[0].rpartition("/")[2] for request in asked if request.method == "PUT"]
    assert sent == ["1", "2"]
    expect(page.locator("h1")).to_contain_text("large.mbox")
    context.close()
