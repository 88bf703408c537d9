"""A returning reader sees new mail since the last visit and followed threads, which the browser stores."""

import json

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.web.site import Site

pytestmark = [pytest.mark.browser, pytest.mark.timeout(600)]


def test_a_list_is_followed_and_its_reports_stand_on_one_page(page: Page) -> None:
    page.goto("/following")
    expect(page.locator("#nothing-followed")).to_be_visible()
    page.goto("/sources/tally")
    button = page.get_by_role("button", name="Follow", exact=True)
    expect(button).to_have_attribute("aria-pressed", "false")
    button.focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("button", name="Following")).to_have_attribute("aria-pressed", "true")
    page.goto("/following")
    expect(page.get_by_role("heading", level=2)).to_contain_text("tally")
    assert page.locator("#followed li.entry").count() == 5
    expect(page.locator(".fresh")).to_have_count(0)
    page.get_by_role("button", name="Unfollow tally").click()
    page.reload()
    expect(page.locator("#nothing-followed")).to_be_visible()


def test_reports_since_the_last_look_are_new_until_the_tab_is_closed(browser: Browser, site: Site) -> None:
    context = browser.new_context(base_url=site.url)
    page = context.new_page()
    page.goto("/")
    kept = [{"kind": "sources", "name": "tally", "label": "tally", "seen": "2000-01-01T00:00:00Z"}]
    page.evaluate("kept => localStorage.setItem('followed', kept)", json.dumps(kept))
    for _ in range(2):
        page.goto("/following")
        expect(page.locator("#followed h3 .fresh")).to_have_count(5)
    later = context.new_page()
    later.goto("/following")
    expect(later.locator("#followed li.entry")).to_have_count(5)
    expect(later.locator(".fresh")).to_have_count(0)
    context.close()


def test_a_followed_list_shows_what_was_decided_and_what_is_new_of_it_first(
    browser: Browser, site: Site
) -> None:
    context = browser.new_context(base_url=site.url)
    page = context.new_page()
    page.goto("/")
    kept = [{"kind": "sources", "name": "tally", "label": "tally", "seen": "2000-01-01T00:00:00Z"}]
    page.evaluate("kept => localStorage.setItem('followed', kept)", json.dumps(kept))
    page.goto("/following")
    first = page.locator("#followed li.entry").first
    expect(first.locator(".chip:not(.fresh)").first).not_to_have_text("No decision found")
    expect(first.locator(".chip.dissent")).to_have_text("Rejected or withdrawn")
    expect(first.locator(".meta")).to_have_text("18 May 2026")
    expect(first.locator(".fresh").first).to_be_visible()
    context.close()


def test_entries_that_were_not_there_or_said_something_else_are_marked(browser: Browser, site: Site) -> None:
    context = browser.new_context(base_url=site.url)
    page = context.new_page()
    page.goto("/sources/tally")
    expect(page.locator(".fresh")).to_have_count(0)  # a first visit has no earlier visit to compare with
    page.evaluate(
        """() => {
            const key = "seen:/sources/tally";
            const seen = JSON.parse(localStorage.getItem(key));
            const [first, second] = Object.keys(seen);
            delete seen[first];
            seen[second] = "as it was";
            localStorage.setItem(key, JSON.stringify(seen));
        }"""
    )
    page.goto("/sources/tally")
    assert {element.inner_text() for element in page.locator(".fresh").all()} == {"new", "changed"}
    expect(page.locator(".since")).to_contain_text("since your last visit")
    later = context.new_page()
    later.goto("/sources/tally")
    expect(later.locator("li.entry").first).to_be_visible()
    expect(later.locator(".fresh")).to_have_count(0)
    context.close()


def test_what_another_program_left_in_the_store_does_no_harm(page: Page) -> None:
    for left in ("{", '"x"', '[{"kind": "evil", "name": "../../x"}, null, 7]'):
        page.goto("/")
        page.evaluate("left => localStorage.setItem('followed', left)", left)
        page.goto("/following")
        expect(page.locator("#nothing-followed")).to_be_visible()
