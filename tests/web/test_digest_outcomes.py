"""Digests carry the outcomes of their threads, in the API, on pages and in feeds."""

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
    assert sentence in site.host.get(f"/reports/{week['report_id']}").text
    markdown = site.json(f"/api/reports/{week['report_id']}")["summary"]["content_markdown"]
    assert sentence in markdown.replace("\\", "")
    feed = site.host.get("/api/feeds/sources/tally").text
    entry = next(part for part in feed.split("<entry>") if f"<title>{week['title']}" in part)
    assert f"{thread['title']}: {sentence}" in entry.partition("<summary>")[2].partition("</summary>")[0]
