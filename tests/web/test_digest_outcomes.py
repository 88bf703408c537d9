"""Digests show the outcomes of their threads, in the API, on pages and in feeds."""

import re
from html import unescape
from typing import Any

from tests.web.site import Site


def digests(site: Site) -> list[dict[str, Any]]:
    items = site.json("/api/reports?source=tally&limit=200")["items"]
    return [item for item in items if item["summary_type"] == "weekly"]


def test_a_week_has_the_outcomes_of_its_threads_newest_first(site: Site) -> None:
    weeks = digests(site)
    assert weeks
    for week in weeks:
        dates = [thread["last_message_date"] for thread in week["threads"]]
        assert dates == sorted(dates, reverse=True)
        assert [thread["thread_id"] for thread in week["threads"]] == week["thread_ids"]
        for thread in week["threads"]:
            now = site.json(f"/api/threads/{thread['thread_id']}")
            assert thread["outcome"] == now["outcome"]
            assert thread["outcome"]["genre"] == now["genre"]
    assert any(thread["outcome"]["kind"] for week in weeks for thread in week["threads"])


def test_page_and_feed_tell_what_a_week_decided(site: Site) -> None:
    (thread, week) = next(
        (thread, week) for week in digests(site) for thread in week["threads"] if thread["outcome"]["kind"]
    )
    sentence = thread["outcome"]["sentence"].removesuffix(".")
    told = sentence.removeprefix("Accepted ")  # the kind is a separate chip
    assert told in site.host.get(f"/reports/{week['report_id']}").text
    markdown = site.json(f"/api/reports/{week['report_id']}")["summary"]["content_markdown"]
    assert sentence in markdown.replace("\\", "")
    feed = site.host.get("/api/feeds/sources/tally").text
    entry = next(part for part in feed.split("<entry>") if f"<title>{week['title']}" in part)
    assert f"{thread['title']}: {sentence}" in entry.partition("<summary>")[2].partition("</summary>")[0]


def test_the_page_of_a_week_quotes_in_the_order_of_its_citations(site: Site) -> None:
    pages = [site.host.get(f"/reports/{week['report_id']}").text for week in digests(site)]
    numbers = [[int(number) for number in re.findall(r">(\d+)</a>", page)] for page in pages]
    assert max(map(len, numbers)) > 2
    assert numbers == [sorted(found) for found in numbers]


def test_a_digest_groups_its_threads_under_the_headings_of_the_home_page(site: Site) -> None:
    home, seen = site.host.get("/").text, set[str]()
    for week in digests(site):
        markdown = site.json(f"/api/reports/{week['report_id']}")["summary"]["content_markdown"]
        for thread in week["threads"]:
            own = markdown.replace("\\", "").partition(f"### {thread['title']}\n")[0]
            heading = own.rpartition("\n## ")[2].partition("\n")[0]
            before = home.partition(f"/threads/{thread['thread_id']}")[0]
            assert before.rpartition("<h2>")[2].partition(" <")[0] == heading
            seen.add(heading)
    assert {"Agreed", "Not accepted", "Discussed"} <= seen


def test_no_page_report_or_feed_has_a_word_that_its_mail_breaks_at_a_hyphen(site: Site) -> None:
    """The call for adoption and its result both break a draft's name at a hyphen."""
    reports = site.json("/api/reports?source=tally&limit=200")["items"]
    (call,) = [report for report in reports if report["title"].startswith("Call for adoption")]
    pages = [f"/reports/{report['report_id']}{more}" for report in reports for more in ("", "/print")]
    pages += [f"/api/reports/{report['report_id']}/markdown" for report in reports]
    pages += [f"{page}/{call['thread_id']}" for page in ("/threads", "/operator/corrections")]
    pages += ["/", "/sources/tally", "/m/adopt-1.tom@w-networks.example", "/api/feeds/sources/tally"]
    pages += ["/drafts/draft-ietf-tally-receipts", "/api/feeds/drafts/draft-ietf-tally-receipts"]
    texts = {page: re.sub(r"<[^>]*>", "", site.host.get(page).text) for page in pages}
    assert "tally-receipts" in texts["/"]
    assert [page for page, text in texts.items() if re.search(r"tally-\s+receipts", unescape(text))] == []
