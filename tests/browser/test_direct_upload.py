"""A large file from the form, sent in parts directly to Blob storage or, if that fails, through the app."""

import asyncio
import urllib.error
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, Request, Route, expect

from shared.operations.provisioning import provision
from tests.browser.large_file import PART, large_mbox, send
from tests.support.cloud import AppCloud
from tests.web.site import Site, empty_site

pytestmark = [pytest.mark.browser, pytest.mark.timeout(600)]


@pytest.fixture(scope="module")
def direct_site(cloud: AppCloud) -> Iterator[Site]:
    with empty_site(cloud, DIRECT_UPLOADS="true") as running, ThreadPoolExecutor(1) as apart:
        # The address is known only now, and this thread already has a loop.
        apart.submit(asyncio.run, allow_uploads(running)).result()
        yield running


async def allow_uploads(site: Site) -> None:
    """Allow uploads as provisioning does if PUBLIC_URL is set."""
    await provision(site.settings.model_copy(update={"PUBLIC_URL": site.url}))


@pytest.fixture
def large(tmp_path: Path) -> Path:
    return large_mbox(tmp_path)


@pytest.fixture
def page(browser: Browser, direct_site: Site) -> Iterator[Page]:
    context = browser.new_context(base_url=direct_site.url)
    yield context.new_page()
    context.close()


def listen(page: Page) -> list[Request]:
    sent: list[Request] = []

    def heard(request: Request) -> None:
        if request.method == "PUT":
            sent.append(request)

    page.on("request", heard)
    return sent


def test_parts_go_straight_to_the_storage_and_after_a_break_only_what_is_missing(
    page: Page, direct_site: Site, cloud: AppCloud, large: Path
) -> None:
    def refuse(route: Route) -> None:
        route.fulfill(status=409, json={"detail": "cut off here"})

    page.route("**/operator/upload/end?*", refuse)
    # Block 00000002 fails until the browser stops trying.
    page.route("**&blockid=MDAwMDAwMDI*", lambda route: route.abort())
    first = listen(page)
    send(page, large, "direct")
    expect(page.locator("#sent")).to_have_text("cut off here", timeout=60_000)
    blocks = [request for request in first if request.url.startswith(cloud.blob_endpoint)]
    assert [len(request.post_data_buffer or b"") for request in blocks[:2]] == [PART, PART]
    through_the_app = [request.url for request in first if "/operator/upload/parts/" in request.url]
    assert [url.partition("?")[0].rpartition("/")[2] for url in through_the_app] == ["2"]
    page.unroute("**/operator/upload/end?*")
    again = listen(page)
    send(page, large, "direct")
    page.wait_for_url("**/archives/*", timeout=120_000)
    assert again == []
    expect(page.locator("h1")).to_contain_text("large.mbox")
    archive = direct_site.json(f"/api/archives/{page.url.rpartition('/')[2]}")
    assert archive["file_size_bytes"] == large.stat().st_size


def test_the_policy_of_this_page_alone_names_the_storage(page: Page, cloud: AppCloud) -> None:
    for path, is_named in (("/operator/upload", True), ("/operator/source", False), ("/", False)):
        answer = page.goto(path)
        assert answer is not None
        policy = answer.headers["content-security-policy"]
        assert (f"connect-src 'self' {cloud.blob_endpoint};" in policy) == is_named, path


def test_pages_of_other_sites_may_not_write_to_the_storage(direct_site: Site, cloud: AppCloud) -> None:
    def ask(origin: str) -> str:
        asks = {"Origin": origin, "Access-Control-Request-Method": "PUT"}
        path = f"{cloud.blob_endpoint}/devstoreaccount1/archives/incoming/x"
        request = urllib.request.Request(path, method="OPTIONS", headers=asks)
        with urllib.request.urlopen(request, timeout=10) as answer:
            return str(answer.headers["Access-Control-Allow-Origin"])

    assert ask(direct_site.url) == direct_site.url
    with pytest.raises(urllib.error.HTTPError, match="403"):
        ask("https://elsewhere.example")
