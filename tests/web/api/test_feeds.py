"""Atom feeds over HTTP, on the sample lists."""

from xml.etree import ElementTree as ET

import pytest

from tests.web.markup import check
from tests.web.site import Site

ATOM = {"a": "http://www.w3.org/2005/Atom"}


def feed(site: Site, path: str) -> ET.Element:
    answer = site.host.get(path)
    assert answer.status == 200, answer.text
    assert answer.headers["content-type"] == "application/atom+xml"
    return ET.fromstring(answer.body)


def titles(root: ET.Element) -> list[str]:
    return [match.findtext("a:title", "", ATOM) for match in root.findall("a:entry", ATOM)]


def test_a_lists_feed_has_its_reports_the_newest_first(site: Site) -> None:
    root = feed(site, "/api/feeds/sources/tally")
    reports = site.json("/api/reports?source=tally&limit=50")["items"]
    assert sorted(titles(root)) == sorted(report["title"] for report in reports)
    dates = [match.findtext("a:updated", "", ATOM) for match in root.findall("a:entry", ATOM)]
    assert dates == sorted(dates, reverse=True)


def test_a_drafts_feed_has_what_is_about_it(site: Site) -> None:
    root = feed(site, "/api/feeds/drafts/draft-ietf-tally-receipts-04")
    assert "Discussion of draft-ietf-tally-receipts" in titles(root)
    assert "Renaming &quot;slowmail&quot;" not in titles(root)


def test_a_threads_feed_has_its_one_report_whose_links_lead_to_anchors(site: Site) -> None:
    thread = site.thread("Call for adoption")
    root = feed(site, f"/api/feeds/threads/{thread['thread_id']}")
    (entry,) = root.findall("a:entry", ATOM)
    link = entry.find("a:link", ATOM)
    content = entry.find("a:content", ATOM)
    assert link is not None
    assert content is not None
    assert link.attrib["href"] == f"{site.url}/reports/{thread['report_id']}"
    page = check(site.host.get(link.attrib["href"].removeprefix(site.url)).text)
    assert 'href="#citation-1"' in (content.text or "")
    assert page.by_id("citation-1").tag == "li"


@pytest.mark.parametrize("path", ["/api/feeds/sources/nobody-yet", "/api/feeds/drafts/draft-nobody-yet"])
def test_a_feed_can_be_followed_before_there_is_anything_in_it(site: Site, path: str) -> None:
    first = site.host.get(path)
    assert titles(feed(site, path)) == []
    assert site.host.get(path, if_none_match=first.headers["etag"]).status == 304


@pytest.mark.parametrize(
    "path",
    [
        "/api/feeds/threads/0000000000000000",
        "/api/feeds/sources/a%20b",
        "/api/feeds/drafts/x",
        "/api/feeds/other/x",
    ],
)
def test_a_feed_of_nothing_is_not_found(site: Site, path: str) -> None:
    answer = site.host.get(path)
    assert (answer.status, answer.headers["content-type"]) == (404, "application/problem+json")
