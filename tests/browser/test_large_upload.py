"""A large file from the form: sent in parts, broken off, and gone on with."""

from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, Request, Route, expect

from tests.web.site import Site

pytestmark = [pytest.mark.browser, pytest.mark.timeout(600)]
PART = 8 * 1024 * 1024


@pytest.fixture
def large(tmp_path: Path) -> Path:
    """Three parts: mails with large attachments, of which nothing is embedded."""
    filler = b"".join(
        b"From x@y.example Thu Jan  1 00:00:00 2026\nMessage-ID: <%d@big.example>\nFrom: a@y.example\n"
        b"Subject: number %d\nDate: Thu, 01 Jan 2026 00:00:00 +0000\nMIME-Version: 1.0\n"
        b"Content-Type: application/octet-stream\nContent-Transfer-Encoding: base64\n\n%s\n"
        % (number, number, b"QSBsaW5lIG9mIGEgbGFyZ2UgYXR0YWNobWVudC4K\n" * 22_000)
        for number in range(20)
    )
    path = tmp_path / "large.mbox"
    path.write_bytes(filler)
    assert 2 * PART < path.stat().st_size < 3 * PART
    return path


def send(page: Page, file: Path) -> None:
    page.goto("/operator/upload")
    page.locator("#upload").evaluate("form => { form.dataset.largest = '1'; }")
    page.get_by_label("List").fill("large")
    page.get_by_label("File").set_input_files(file)
    page.get_by_role("button", name="Send").click()


def test_after_a_break_only_what_is_missing_is_sent(browser: Browser, site: Site, large: Path) -> None:
    context = browser.new_context(base_url=site.url)
    page = context.new_page()

    def refuse(route: Route) -> None:
        route.fulfill(status=403, json={"detail": "cut off here"})

    page.route("**/operator/upload/parts/1?*", refuse)
    send(page, large)
    expect(page.locator("#sent")).to_have_text("cut off here", timeout=60_000)
    page.unroute("**/operator/upload/parts/1?*")
    asked: list[Request] = []

    def heard(request: Request) -> None:
        asked.append(request)

    page.on("request", heard)
    send(page, large)
    page.wait_for_url("**/archives/*", timeout=120_000)
    sent = [request.url.partition("?")[0].rpartition("/")[2] for request in asked if request.method == "PUT"]
    assert sent == ["1", "2"]
    expect(page.locator("h1")).to_contain_text("large.mbox")
    context.close()
