"""A list's page: calls first, filtered and sorted threads, its months, its feeds."""

import re
from xml.etree import ElementTree as ET

import pytest

from shared.models.readings import ShownOpenCall
from shared.models.threads import Address
from tests.web.open_call import SOURCE, upload_open_call
from tests.web.pages.test_pages import page
from tests.web.site import Site
from web.formatting import spoken_in

ATOM = "{http://www.w3.org/2005/Atom}"


def titles(site: Site, query: str) -> list[str]:
    """Return the titles of the threads on a page of the list, in its order."""
    shown = page(site, f"/sources/tally{query}")
    section = shown.text.partition("Filter and sort")[2]
    return [element.text for element in shown.all("h3") if element.text in section]


def threads(site: Site, query: str = "", source: str = "tally") -> list[dict[str, object]]:
    return list(site.json(f"/api/threads?source={source}&limit=200{query}")["items"])


def test_every_filter_shows_what_it_says_and_nothing_else(site: Site) -> None:
    every = threads(site)
    accepted = threads(site, "&outcome=accepted")
    assert 0 < len(accepted) < len(every)
    assert all(thread["outcome"]["kind"] == "accepted" for thread in accepted)  # type: ignore[index]
    assert len(titles(site, "?outcome=accepted")) == len(accepted)
    undecided = [t for t in every if t["outcome"]["kind"] is None]  # type: ignore[index]
    assert 0 < len(titles(site, "?outcome=unresolved")) == len(undecided)
    calls = threads(site, "&genre=call")
    assert 0 < len(calls) < len(every)
    assert len(titles(site, "?genre=call&outcome=")) == len(calls)
    month = str(every[0]["last_message_date"])[:7]
    inside = [
        thread
        for thread in every
        if str(thread["first_message_date"])[:7] <= month <= str(thread["last_message_date"])[:7]
    ]
    assert 0 < len(titles(site, f"?month={month}")) == len(inside)
    someone = [thread for thread in every if "Yuki Hashimoto" in str(thread["participants"])]
    assert 0 < len(someone) < len(every)
    assert len(titles(site, "?person=Yuki+Hashimoto")) == len(someone)
    assert 0 < len(titles(site, "?draft=draft-ietf-tally-receipts")) <= len(every)
    assert "No threads match" in page(site, "/sources/tally?month=1999-01").text


def test_every_order_is_kept(site: Site) -> None:
    for sort, field in (("-message_count", "message_count"), ("-first_message_date", "first_message_date")):
        found = [thread[field] for thread in threads(site, f"&sort={sort}")]
        assert found == sorted(found, reverse=True)  # type: ignore[type-var]  # all of one kind
        assert len(set(found)) > 2
    sizes = site.json("/api/threads?source=tally&sort=-message_count&limit=2")
    following = site.json(sizes["next"])["items"]
    assert following[0]["message_count"] <= sizes["items"][-1]["message_count"]
    assert following[0]["thread_id"] not in {item["thread_id"] for item in sizes["items"]}


def test_what_cannot_be_chosen_is_refused(site: Site) -> None:
    for query in ("month=2024-13", "genre=nonsense", "sort=worst", "after=x", "draft=nothing", "color=red"):
        page(site, f"/sources/tally?{query}", 422)
    page(site, "/sources/nobody", 404)
    page(site, "/sources/nobody/timeline", 404)


def test_months_are_drawn_and_told_and_lead_to_their_threads(site: Site) -> None:
    shown = page(site, "/sources/tally/timeline")
    rects = shown.all("rect")
    assert len(rects) > 4
    assert all(float(rect.attributes["height"]) > 0 for rect in rects)
    links = [
        element.attributes["href"] for element in shown.all("a") if "?month=" in element.attributes["href"]
    ]
    counted = sum(
        int(element.text)
        for element in shown.all("td", class_="number")[:: len(shown.all("th", scope="col")) - 1]
    )
    assert counted == len(threads(site))
    for link in links:
        page(site, link)


def test_calls_without_a_result_come_first_with_feed_and_calendar(site: Site) -> None:
    upload_open_call(site)
    waiting = threads(site, "&open_call=true", SOURCE)
    assert waiting
    shown = page(site, f"/sources/{SOURCE}").text
    assert shown.index("No result found") < shown.index("Filter and sort")
    feed = ET.fromstring(site.host.get(f"/api/feeds/sources/{SOURCE}/calls").text)
    assert len(feed.findall(f"{ATOM}entry")) == len(waiting)
    calendar = site.host.get(f"/api/feeds/sources/{SOURCE}/calendar")
    assert calendar.headers["content-type"].startswith("text/calendar")
    ends = [document["open_call"]["ends"] for document in waiting if document["open_call"]["ends"]]  # type: ignore[index]
    found = re.findall(r"DTSTART;VALUE=DATE:(\d{8})", calendar.text)
    assert sorted(found) == sorted(end.replace("-", "") for end in ends)


def test_a_feed_of_an_outcome_holds_that_outcome_alone(site: Site) -> None:
    feed = ET.fromstring(site.host.get("/api/feeds/outcomes/accepted").text)
    entries = feed.findall(f"{ATOM}entry")
    assert entries
    for entry in entries:
        assert "accepted" in {category.attrib["term"] for category in entry.findall(f"{ATOM}category")}
    assert site.host.get("/api/feeds/outcomes/unheard").status == 404


@pytest.mark.parametrize("path", ["/", f"/sources/{SOURCE}"])
def test_a_call_without_a_result_says_who_has_spoken(site: Site, path: str) -> None:
    upload_open_call(site)
    shown = page(site, path)
    (line,) = [line.text for line in shown.all("p", class_="meta") if "Ended 18 May 2026" in line.text]
    assert "Heard from: Yuki Hashimoto, Piet van der Meulen, Leo Fitzgerald" in line


def test_of_many_who_have_spoken_the_first_are_named_and_nobodys_address_is() -> None:
    people = [Address(name=f"P {number}" if number else "", email=f"p{number}@x") for number in range(20)]
    names, more = spoken_in(ShownOpenCall(spoken=[person.email for person in people]), people)
    assert (names[:3], len(names), more) == (["p*@x", "P 1", "P 2"], 12, 8)
