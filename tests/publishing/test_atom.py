import re
from datetime import UTC, datetime, timedelta
from xml.etree import ElementTree as ET

from hypothesis import given
from hypothesis import strategies as st

from shared.models.reports import Report, Summary
from shared.publishing.feeds import Feed, FeedEntry, atom_feed, entry_of
from tests.support.documents import CREATED

NOW = datetime(2024, 1, 8, 12, tzinfo=UTC)
A = "{http://www.w3.org/2005/Atom}"
FEED = Feed("source", "list", "Reports of list", "/api/feeds/sources/list", "/sources/list")
BASE = "https://lists.example.org"


def entry(title: str = "A title", scope: str = "t1", age: int = 0, html: str = "<p>x</p>") -> FeedEntry:
    return FeedEntry(scope, title, NOW - timedelta(days=age), f"/threads/{scope}", html, ("thread", "list"))


def parsed(*entries: FeedEntry, feed: Feed = FEED) -> ET.Element:
    return ET.fromstring(atom_feed(feed, entries, BASE, NOW))


def the(parent: ET.Element, name: str) -> ET.Element:
    (found,) = parent.findall(A + name)
    return found


def check_valid(root: ET.Element) -> None:
    """Check the requirements of RFC 4287 for a feed and its entries (sections 4.1.1 and 4.1.2)."""
    for element in (root, *root.findall(A + "entry")):
        for name in ("id", "title", "updated"):
            assert the(element, name).text
        assert re.fullmatch(r"urn:uuid:[0-9a-f-]{36}", the(element, "id").text or "")
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", the(element, "updated").text or "")
        alternates = [match for match in element.findall(A + "link") if match.get("rel") == "alternate"]
        assert len(alternates) == 1
        for link in element.findall(A + "link"):
            assert (link.get("href") or "").startswith(BASE + "/")
    assert the(the(root, "author"), "name").text
    ids = [the(match, "id").text for match in root.findall(A + "entry")]
    assert len(set(ids)) == len(ids)


def test_a_feed_is_valid_and_has_its_reports_the_newest_first() -> None:
    root = parsed(entry("Old", "t1", age=3), entry("New", "t2"))
    check_valid(root)
    assert [the(match, "title").text for match in root.findall(A + "entry")] == ["New", "Old"]
    assert the(root, "updated").text == "2024-01-08T12:00:00Z"


def test_a_feed_without_reports_is_valid() -> None:
    check_valid(parsed())


def test_a_later_report_of_a_thread_updates_its_entry() -> None:
    (old,) = parsed(entry("Old", age=2)).findall(A + "entry")
    (new,) = parsed(entry("New"), entry("Old", age=2)).findall(A + "entry")
    assert the(old, "id").text == the(new, "id").text
    assert the(new, "title").text == "New"


def test_feeds_of_different_things_have_different_ids() -> None:
    names = [("source", "a"), ("draft", "a"), ("thread", "a"), ("source", "b")]
    ids = {the(parsed(feed=Feed(kind, name, "t", "/f", "/p")), "id").text for kind, name in names}
    assert len(ids) == len(names)


@given(st.text(alphabet=st.characters(), max_size=200))
def test_hostile_text_is_text(text: str) -> None:
    root = parsed(entry(f"</title><script>alert(1)</script>{text}", html=f"<p>]]>{text}</p>"))
    check_valid(root)
    assert not list(root.iter("script"))
    title = the(the(root, "entry"), "title")
    assert list(title) == []
    assert (title.text or "").startswith("</title><script>alert(1)</script>")


def test_marks_that_turn_the_text_around_and_control_characters_are_left_out() -> None:
    title = the(the(parsed(entry("a\u202eb\x00\x1bc")), "entry"), "title")
    assert title.text == "abc"


def test_an_entry_is_made_of_a_report_and_its_summary() -> None:
    report = Report(
        created_at=CREATED,
        id="rpt-1",
        report_id="rpt-1",
        scope="t1",
        summary_id="s1",
        thread_id="t1",
        source="list",
        title="A title",
        published_at=NOW,
        draft_mentions=["RFC8446"],
    )
    summary = Summary(
        created_at=CREATED,
        id="s1",
        summary_id="s1",
        scope="t1",
        thread_id="t1",
        summary_type="thread",
        title="A title",
        content_markdown="x",
        content_html='<p><a href="#citation-1">[1]</a></p>',
        generated_by="extractive-v1",
        generated_at=NOW,
    )
    root = parsed(entry_of(report, summary, "/threads/t1"))
    content = the(the(root, "entry"), "content")
    assert (content.get("type"), content.text) == ("html", summary.content_html)
    assert content.get("{http://www.w3.org/XML/1998/namespace}base") == f"{BASE}/threads/t1"
    terms = [match.get("term") for match in the(root, "entry").findall(A + "category")]
    assert terms == ["thread", "list", "RFC8446"]
