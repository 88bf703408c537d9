"""Debian's Chromium, driven by Playwright, on the sample lists and on hostile mail."""

import os
import shutil
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, ConsoleMessage, Dialog, Page, sync_playwright

from shared.embedding.openvino.model_folder import DEFAULT_FOLDER
from tests.browser.hostile import HOSTILE
from tests.support.cloud import AppCloud
from tests.web.site import Site, sample_site

ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
]


def chromium() -> str | None:
    named = [shutil.which(name) for name in ("chromium", "google-chrome", "chromium-browser")]
    return os.environ.get("CHROMIUM") or next((name for name in named if name), None)


@pytest.fixture(scope="session")
def browser(site: Site) -> Iterator[Browser]:
    """Start the browser after the site, because Playwright's loop would block the site's loop."""
    path = chromium()
    if path is None:
        pytest.skip("there is no chromium here: install it, or name it in CHROMIUM")
    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=path, args=ARGUMENTS)
        yield running
        running.close()


@pytest.fixture(scope="session")
def site(cloud: AppCloud) -> Iterator[Site]:
    if not DEFAULT_FOLDER.exists():
        pytest.skip("the model is not built: make model")
    with sample_site(cloud) as running:
        running.wait_until_reported(running.upload("hostile", HOSTILE))
        yield running


class Complaints(list[str]):
    """The complaints of the browser: errors, blocked content, open dialogs."""

    def listen(self, page: Page) -> None:
        page.on("pageerror", lambda error: self.append(f"error: {error}"))
        page.on("console", self._heard)
        page.on("dialog", self._opened)

    def _heard(self, said: ConsoleMessage) -> None:
        if said.type in {"error", "warning"}:
            self.append(said.text)

    def _opened(self, dialog: Dialog) -> None:
        self.append(f"dialog: {dialog.message}")
        dialog.dismiss()


@pytest.fixture
def complaints() -> Complaints:
    return Complaints()


@pytest.fixture
def page(browser: Browser, site: Site, complaints: Complaints) -> Iterator[Page]:
    """Open a page as a new visitor. At the end the browser must have no complaints."""
    context = browser.new_context(
        base_url=site.url, viewport={"width": 1280, "height": 900}, reduced_motion="reduce"
    )
    opened = context.new_page()
    complaints.listen(opened)
    yield opened
    context.close()
    assert complaints == []
