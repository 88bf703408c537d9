"""A thread of 300 messages and a list of 2,000 threads in a real browser: size, keys, and unread messages."""

from concurrent.futures import ThreadPoolExecutor
from typing import Literal

import pytest
from playwright.sync_api import Browser, Page, Response, expect

from tests.browser.long_mail import LONG, MAILS, store_long_mail
from tests.browser.test_reading import AXE
from tests.web.site import Site

pytestmark = [pytest.mark.browser, pytest.mark.timeout(600)]
FIRST_PAINT = 100_000  # bytes
ADDRESS = f"/threads/{LONG}"


@pytest.fixture(scope="module", autouse=True)
def _long_mail(site: Site) -> None:
    with ThreadPoolExecutor(1) as pool:  # Playwright has a loop in this thread
        pool.submit(store_long_mail, site.settings).result()


class Sent(list[tuple[str, int]]):
    """Everything that the page requested, and its size in bytes."""

    def __init__(self, page: Page) -> None:
        super().__init__()
        page.on("response", self._came)

    def _came(self, response: Response) -> None:
        self.append((response.url, len(response.body())))

    @property
    def total(self) -> int:
        return sum(size for _, size in self)


def shown_mails(page: Page) -> int:
    return page.locator("article.message").count()


def test_three_hundred_mails_begin_with_little_and_come_as_they_are_read(page: Page) -> None:
    sent = Sent(page)
    page.goto(ADDRESS, wait_until="networkidle")
    first = shown_mails(page)
    assert 5 <= first < MAILS / 2
    assert 0 < sent.total <= FIRST_PAINT, list(sent)
    assert len(sent) <= 6, list(sent)
    for _ in range(MAILS):
        if shown_mails(page) == MAILS:
            break
        before = shown_mails(page)
        page.locator(".following").scroll_into_view_if_needed()
        page.wait_for_function(
            "before => document.querySelectorAll('article.message').length > before", arg=before
        )
    assert shown_mails(page) == MAILS
    ids = page.evaluate("[...document.querySelectorAll('[id]')].map(each => each.id)")
    assert len(ids) == len(set(ids))
    expect(page.locator(".following")).to_have_count(0)


def test_a_list_of_two_thousand_threads_is_sent_in_parts(page: Page) -> None:
    sent = Sent(page)
    page.goto("/sources/many", wait_until="networkidle")
    assert page.locator("li.entry").count() == 40
    assert 0 < sent.total <= FIRST_PAINT, list(sent)
    assert len(sent) <= 5, list(sent)
    expect(page.locator("li.entry .chip").first).to_be_visible()
    page.get_by_role("link", name="More threads").click()
    expect(page.locator("li.entry")).to_have_count(40)


def focused(page: Page) -> str:
    return str(page.evaluate("document.activeElement.id"))


def test_keys_lead_through_the_messages(page: Page) -> None:
    page.goto(ADDRESS)
    order = page.evaluate("[...document.querySelectorAll('article.message')].map(each => each.id)")
    for expected in (order[0], order[1], order[2]):
        page.keyboard.press("j")
        page.wait_for_function("id => document.activeElement.id === id", arg=expected)
        expect(page.locator(f"#{expected} > header")).to_be_in_viewport()
    page.keyboard.press("k")
    assert focused(page) == order[1]
    page.keyboard.press("?")
    dialog = page.get_by_role("dialog", name="Keyboard shortcuts")
    expect(dialog).to_contain_text("Next message")
    dialog.get_by_role("checkbox").uncheck()
    page.keyboard.press("Escape")
    expect(dialog).not_to_be_visible()
    page.keyboard.press("j")
    assert focused(page) not in order[2:]  # the keys can be turned off
    page.get_by_role("button", name="Keyboard shortcuts").click()
    dialog.get_by_role("checkbox").check()
    dialog.get_by_role("button", name="Close").click()
    page.locator("#site-search").fill("j?")
    assert page.locator("#site-search").input_value() == "j?"


def test_the_last_message_here_leads_to_those_that_follow(page: Page) -> None:
    page.goto(ADDRESS)
    first = shown_mails(page)
    for _ in range(first + 1):
        page.keyboard.press("j")
    page.wait_for_function("first => document.querySelectorAll('article.message').length > first", arg=first)


def test_the_first_unread_message_is_found_on_the_next_visit(browser: Browser, site: Site) -> None:
    context = browser.new_context(base_url=site.url, reduced_motion="reduce")
    page = context.new_page()
    page.goto(ADDRESS)
    expect(page.get_by_role("button", name="First unread")).to_have_count(0)  # no message was read before
    order = page.locator("#mails").get_attribute("data-keys")
    assert order is not None
    keys = order.split()
    assert len(keys) == MAILS
    page.wait_for_function("name => localStorage.getItem(name) !== null", arg=f"read:{LONG}")
    # Mark all but the 200th as read, as if on another page of the thread.
    page.evaluate(
        "([name, keys]) => localStorage.setItem(name, JSON.stringify({at: 1, keys}))",
        [f"read:{LONG}", keys[:199] + keys[200:]],
    )
    page.reload()
    page.get_by_role("button", name="First unread").click()
    target = page.locator(f"#m-{keys[199]}")
    expect(target).to_be_in_viewport()
    expect(target.locator(".fresh")).to_have_text("unread")
    context.close()


def test_what_another_program_left_in_the_store_does_no_harm(page: Page) -> None:
    page.goto(ADDRESS)
    for left in ("{", '{"keys": 7}', "null"):
        page.evaluate("([name, left]) => localStorage.setItem(name, left)", [f"read:{LONG}", left])
        page.reload()
        expect(page.locator("article.message").first).to_be_visible()


def test_outline_and_versions_come_when_they_are_opened(page: Page) -> None:
    page.goto(ADDRESS)
    page.locator(".outline-box > summary").click()
    rows = page.locator("ol.outline li")
    expect(rows).to_have_count(MAILS)
    rows.last.locator("a").click()
    expect(page.locator("article:target")).to_be_in_viewport()
    page.goto(ADDRESS)
    page.locator(".versions-box > summary").click()
    expect(page.locator(".versions-box li")).to_have_count(2)
    expect(page.locator(".versions-box")).to_contain_text("v1")
    page.locator(".versions-box a").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("keep the last line")


def test_answers_fold_away_and_a_link_into_them_unfolds_them(page: Page) -> None:
    page.goto(ADDRESS)
    fold = page.locator("details.answers").first
    inner = fold.locator("article.message").first
    expect(inner).to_be_visible()
    fold.locator("summary").first.click()
    expect(inner).not_to_be_visible()
    page.evaluate("id => { location.hash = id }", inner.get_attribute("id"))
    expect(inner).to_be_visible()


def test_a_diff_is_in_colour_and_long_quotes_are_folded(page: Page) -> None:
    page.goto(ADDRESS)
    colours = page.evaluate(
        "['.diff .added', '.diff .removed'].map(each => getComputedStyle(document.querySelector(each)).color)"
    )
    assert len(set(colours)) == 2
    expect(page.locator("details.quote blockquote").first).not_to_be_visible()


def test_a_long_thread_is_read_without_a_script(browser: Browser, site: Site) -> None:
    context = browser.new_context(base_url=site.url, reduced_motion="reduce", java_script_enabled=False)
    page = context.new_page()
    page.goto(ADDRESS)
    seen = set[str]()
    for _ in range(MAILS):
        seen |= {str(element.get_attribute("id")) for element in page.locator("article.message").all()}
        link = page.get_by_role("link", name="More messages")
        if not link.count():
            break
        link.click()
    assert len(seen) == MAILS
    page.goto(ADDRESS)
    page.locator(".outline-box > summary").click()
    page.get_by_role("link", name="Reply tree of this thread").click()
    page.locator("ol.outline li").nth(250).locator("a").click()
    expect(page.locator("article:target")).to_be_in_viewport()
    page.goto(ADDRESS)
    page.locator(".versions-box > summary").click()
    page.get_by_role("link", name="Threads with this subject").click()
    expect(page.locator("main")).to_contain_text("v1")
    context.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280])
def test_axe_finds_nothing_on_long_threads_and_lists(
    browser: Browser, site: Site, scheme: Literal["light", "dark"], width: int
) -> None:
    context = browser.new_context(
        base_url=site.url, reduced_motion="reduce", color_scheme=scheme, bypass_csp=True,
        viewport={"width": width, "height": 844},
    )  # fmt: skip
    found = []
    for path in (ADDRESS, f"{ADDRESS}?view=outline", f"{ADDRESS}?view=versions", "/sources/many"):
        page = context.new_page()
        page.goto(path)
        if path == ADDRESS:
            page.keyboard.press("?")
        page.add_script_tag(content=AXE.read_text(encoding="utf-8"))
        result = page.evaluate(
            "axe.run(document, {runOnly: ['wcag2a', 'wcag2aa', 'wcag21aa', 'wcag22aa', 'best-practice']})"
        )
        found += [
            (
                path,
                violation["id"],
                violation["nodes"][0]["html"][:200],
                violation["nodes"][0]["failureSummary"],
            )
            for violation in result["violations"]
        ]
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), path
        page.close()
    context.close()
    assert found == []
