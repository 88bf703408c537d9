"""A reader in a real browser: from the home page to the sentence that shows the agreement."""

from typing import Literal

import pytest
from playwright.sync_api import Browser, Page, expect

from shared.core.ids import person_id
from tests.browser.hostile import SUBJECT
from tests.support.services import ROOT
from tests.web.site import SAMPLES, Site

pytestmark = [pytest.mark.browser, pytest.mark.timeout(600)]
AXE = ROOT / "tests" / "js" / "node_modules" / "axe-core" / "axe.min.js"


def test_from_home_to_a_thread_to_the_cited_sentence(page: Page) -> None:
    page.goto("/")
    page.get_by_role("link", name="Call for adoption").first.click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("Call for adoption")
    quote = page.locator("aside .evidence a").first
    words = quote.inner_text()
    quote.click()
    assert "#c" in page.url
    target = page.locator(":target mark").first
    expect(target).to_be_in_viewport()
    assert " ".join(target.inner_text().split()) == words
    highlighted = target.evaluate("mark => getComputedStyle(mark).outlineStyle")
    other = page.locator("mark.cited").filter(has_not_text=words).first
    assert (highlighted, other.evaluate("mark => getComputedStyle(mark).outlineStyle")) == ("solid", "none")
    expect(page.locator("aside.summary")).to_be_in_viewport()  # the summary stays next to it


def test_a_person_in_the_summary_leads_to_where_they_said_it(page: Page, site: Site) -> None:
    page.goto(site.thread("Consensus call: remove the compression")["links"]["page"])
    line = page.locator("li", has=page.locator(".chip.support")).first
    name = line.locator("b").first.inner_text().removesuffix(":")
    line.locator("q a").first.click()
    sentence = page.locator(":target")
    expect(sentence).to_be_in_viewport()
    message = page.locator("article", has=page.locator(":target"))
    expect(message.locator("h3")).to_have_text(name)


def test_a_report_leads_to_the_sentence_on_the_threads_page(page: Page, site: Site) -> None:
    page.goto(f"/reports/{site.thread('Call for adoption')['report_id']}")
    page.locator("main .came q a").first.click()
    expect(page.locator(":target mark").first).to_be_in_viewport()


def test_a_quote_unfolds(page: Page, site: Site) -> None:
    page.goto(kinds(site)["hostile"])
    folded = page.locator("details.quote").first
    expect(folded.locator("blockquote")).not_to_be_visible()
    folded.locator("summary").click()
    expect(folded.locator("blockquote")).to_be_visible()


def test_search_narrows_and_leads_to_the_message(page: Page) -> None:
    page.goto("/")
    box = page.get_by_role("searchbox", name="Search all mail")
    box.fill("how long is a receipt valid")
    box.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text("Search results")
    assert page.locator("mark.found").count() > 0
    before = page.locator('[role="status"]').inner_text()
    page.locator("ul.facet").first.get_by_role("link", name="tally").click()
    expect(page.locator("ul.facet a[aria-current]")).to_contain_text("tally")
    assert page.locator('[role="status"]').inner_text() != before
    page.locator(".results .meta a").first.click()
    expect(page.locator("article:target")).to_be_in_viewport()


def test_the_whole_is_read_without_a_script(browser: Browser, site: Site) -> None:
    context = browser.new_context(base_url=site.url, reduced_motion="reduce", java_script_enabled=False)
    page = context.new_page()
    page.goto("/")
    page.get_by_role("link", name="Call for adoption").first.click()
    page.locator(".evidence a").first.click()
    expect(page.locator(":target mark").first).to_be_in_viewport()
    page.goto("/search?q=receipt")
    assert page.locator(".results li").count() > 0
    page.goto(f"/archives/{site.archives['tally']}")
    expect(page.locator("#state")).to_contain_text("All threads are reported")
    context.close()


def test_hostile_mail_does_nothing_but_be_read(page: Page, site: Site) -> None:
    thread = next(item for item in site.json("/api/threads?source=hostile")["items"])
    for path in (
        "/",
        thread["links"]["page"],
        f"/reports/{thread['report_id']}",
        "/search?q=script+alert",
        "/sources/hostile",
    ):
        page.goto(path)
        assert page.evaluate("document.title").endswith("· Rough Consensus")
        foreign = "iframe, img, base, style, script:not([src^='/static/'])"
        assert page.evaluate(f'document.querySelectorAll("{foreign}").length') == 0
        assert page.evaluate("getComputedStyle(document.body).display") != "none"
    page.goto(thread["links"]["page"])
    expect(page.get_by_role("heading", level=1)).to_have_text(SUBJECT)
    assert page.get_by_text("<script>alert('body')</script>").count() > 0
    # A line without an end wraps, so the page does not scroll sideways.
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def bottoms(page: Page, selector: str) -> list[float]:
    """Return the bottom edges of elements, from the top of the page."""
    found: list[float] = page.locator(selector).evaluate_all(
        "all => all.map(each => each.getBoundingClientRect().bottom + scrollY)"
    )
    return found


def test_the_outcome_and_its_evidence_stand_on_the_first_screen_of_a_telephone(
    browser: Browser, site: Site
) -> None:
    context = browser.new_context(
        base_url=site.url, reduced_motion="reduce", viewport={"width": 390, "height": 844}
    )
    page = context.new_page()
    with_evidence = 0
    for name in SAMPLES:
        for thread in site.json(f"/api/threads?limit=200&source={name}")["items"]:
            page.goto(thread["links"]["page"])
            (verdict,) = bottoms(page, ".verdict")
            evidence = bottoms(page, ".evidence")
            assert max([verdict, *evidence[:1]]) <= 844, (thread["subject"], verdict, evidence)
            with_evidence += bool(evidence)
    assert with_evidence >= 2
    context.close()


@pytest.mark.parametrize("width", [320, 390, 768])
def test_pages_fit_a_narrow_window(browser: Browser, site: Site, width: int) -> None:
    context = browser.new_context(
        base_url=site.url, reduced_motion="reduce", viewport={"width": width, "height": 700}
    )
    page = context.new_page()
    for path in kinds(site).values():
        page.goto(path)
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), path
    context.close()


def test_tables_are_whole_and_the_upload_form_fits_on_a_telephone(browser: Browser, site: Site) -> None:
    context = browser.new_context(base_url=site.url, viewport={"width": 390, "height": 844})
    page = context.new_page()
    for path in ("/archives", "/operator"):
        page.goto(path)
        assert page.locator("table.stacks td").count() > 0
        ends = page.locator("td, th").evaluate_all("all => all.map(e => e.getBoundingClientRect().right)")
        assert max(ends) <= 390, path
    page.goto("/operator/upload")
    expect(page.locator("#bar")).to_be_hidden()
    assert page.evaluate("document.querySelector('#file').getBoundingClientRect().right") <= 390
    context.close()


def kinds(site: Site) -> dict[str, str]:
    thread = site.thread("Mandatory-to-implement")
    first = site.json(f"/api/threads/{thread['thread_id']}/messages?limit=1")["items"][0]
    return {
        "home": "/",
        "thread": thread["links"]["page"],
        "hostile": site.json("/api/threads?source=hostile")["items"][0]["links"]["page"],
        "report": f"/reports/{thread['report_id']}",
        "print": f"/reports/{thread['report_id']}/print",
        "mail": f"/m/{first['message_id'].strip('<>')}",
        "search": "/search?q=receipt+lifetime",
        "nothing": "/search?q=zzzzzz&mode=words",
        "fault": "/search?q=form:leo",
        "operators": "/search?q=list:tally+-json",
        "ask": "/ask?q=Why+was+JSON+dropped",
        "no-answer": "/ask?q=Which+veterinarian+vaccinates+zebras",
        "sources": "/sources",
        "source": "/sources/tally",
        "narrowed": "/sources/tally?genre=call&sort=size",
        "months": "/sources/tally/timeline",
        "drafts": "/drafts",
        "draft": "/drafts/draft-ietf-tally-receipts",
        "person": f"/people/{person_id('tomasz@w-networks.example')}",
        "archives": "/archives",
        "following": "/following",
        "archive": f"/archives/{site.archives['tally']}",
        "corrections": f"/operator/corrections/{thread['thread_id']}",
        "missing": "/nowhere",
    }


@pytest.mark.parametrize("width", [390, 1280])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_serious_on_any_page(
    browser: Browser, site: Site, scheme: Literal["light", "dark"], width: int
) -> None:
    assert AXE.exists(), "axe-core is not installed: make browser does that"
    # axe runs over the test's own channel, because the pages' policy would block it.
    context = browser.new_context(
        base_url=site.url, reduced_motion="reduce", color_scheme=scheme, bypass_csp=True,
        viewport={"width": width, "height": 844},
    )  # fmt: skip
    found = []
    for name, path in kinds(site).items():
        page = context.new_page()
        page.goto(path)
        page.add_script_tag(content=AXE.read_text(encoding="utf-8"))
        result = page.evaluate(
            "axe.run(document, {runOnly: ['wcag2a', 'wcag2aa', 'wcag21aa', 'wcag22aa', 'best-practice']})"
        )
        found += [
            (
                name,
                violation["id"],
                violation["impact"],
                violation["nodes"][0]["html"][:200],
                violation["nodes"][0]["failureSummary"],
            )
            for violation in result["violations"]
        ]
        page.close()
    context.close()
    assert [violation for violation in found if violation[2] in {"serious", "critical"}] == []
    assert found == []


def test_everything_is_reached_by_keyboard(page: Page, site: Site) -> None:
    page.goto(site.thread("Call for adoption")["links"]["page"])
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    page.keyboard.press("Enter")
    for _ in range(40):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.matches('.evidence a')"):
            break
    assert page.evaluate("document.activeElement.matches('.evidence a')")
    assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"
    page.keyboard.press("Enter")
    expect(page.locator(":target mark").first).to_be_in_viewport()
