"""The page of an archive in progress: live bars, and without a script a reload."""

import re

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.web.site import SAMPLES, Site

pytestmark = [pytest.mark.browser, pytest.mark.timeout(600)]


def renamed(content: bytes, tag: str) -> bytes:
    """Return the same list as other messages, because other tests find the call for adoption by its subject."""
    content = content.replace(b"Call for adoption", b"Shall we adopt")
    return re.sub(rb"@(\S+?\.example>)", rb"@" + tag.encode() + rb".\1", content)


def test_the_bars_move_to_the_end_while_one_looks(page: Page, site: Site) -> None:
    archive = site.upload("again", renamed(SAMPLES["tally"].read_bytes(), "again"))
    page.goto(f"/archives/{archive}")
    seen = set()
    state = page.locator("#state")
    while "All threads are reported" not in (text := state.inner_text()):
        seen.add(text)
        page.wait_for_timeout(200)
    expect(page.locator('[data-stage="reporting"] .figures')).to_have_text("7 of 7 threads")
    assert page.locator("#whole").get_attribute("value") == "100"
    assert any(state.startswith("In progress") for state in seen), seen
    # A finished page polls no more. The script that marks new threads is on every page.
    assert page.locator('script:not([src*="follow"])').count() == 0


def test_without_a_script_the_page_loads_itself_again(browser: Browser, site: Site) -> None:
    archive = site.upload("noscript", renamed(SAMPLES["tally"].read_bytes(), "noscript"))
    context = browser.new_context(base_url=site.url, java_script_enabled=False)
    page = context.new_page()
    page.goto(f"/archives/{archive}")
    expect(page.locator("#state")).to_contain_text("All threads are reported", timeout=120_000)
    context.close()
