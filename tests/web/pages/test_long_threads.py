"""A long thread's page: the first response, the reply tree, and folding."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from shared.models.reports import SummaryStance
from shared.models.threads import Message
from shared.views.conversation import in_reading_order
from tests.support.properties import STEADY
from tests.web.markup import Page, check, parsed
from tests.web.pages.test_thread_page import ID, message, summary, thread
from web.pages.message_body import MOST_CHARS
from web.pages.thread_pages import DEEPEST, INLINE, folds, in_pages
from web.pages.thread_view import ThreadPageData, outline_values, thread_values
from web.rendering import ASSETS, render

FIRST_PAINT = 100_000  # bytes of the page, its style and its scripts, as sent


def long_thread(count: int, chars: int = 2500) -> list[Message]:
    text = f'> Somebody wrote <this> & "that".\n\n{"Words of a mail that is neither short nor long. " * 60}'
    return [
        message(number, f"Answer {number}. {text[:chars]}", (number - 1) // 3 if number else None)
        for number in range(count)
    ]


def markup(reading: ThreadPageData, template: str = "pages/thread.html", **options: Any) -> str:
    return render(template, path="/threads/x", query="", **thread_values(reading, **options))


def size_of(html: str) -> int:
    """Return the size of the page with the files that it loads."""
    names = [
        element.attributes.get("src") or element.attributes["href"]
        for element in parsed(html).elements
        if "/static/" in (element.attributes.get("src") or element.attributes.get("href") or "")
    ]
    files = [ASSETS.find(name.rpartition("/")[2]) for name in names]
    assert len(files) >= 4
    return len(html.encode()) + sum(len(found[0]) for found in files if found)


def test_the_first_paint_of_three_hundred_mails_is_small_and_the_rest_comes_on_demand() -> None:
    messages = long_thread(300)
    reading = ThreadPageData(thread(message_count=300), messages)
    first = markup(reading)
    assert size_of(first) < FIRST_PAINT
    page, seen = check(first), set[str]()
    for _ in range(300):
        seen |= {element.attributes["id"] for element in page.all("article")}
        links = page.all("a", rel="next")
        if not links:
            break
        number = links[0].attributes["href"].partition("page=")[2]
        page = parsed(f"<body>{markup(reading, 'pages/thread_part.html', page=number)}</body>")
        assert page.faults == []
    assert len(seen) == 300


def test_one_mail_without_end_does_not_make_the_page_endless() -> None:
    reading = ThreadPageData(thread(message_count=2), [message(0, "words " * 200_000), message(1)])
    html = markup(reading)
    assert size_of(html) < FIRST_PAINT
    assert "This message is cut here" in html
    assert MOST_CHARS < 200_000


def outline(page: Page) -> list[tuple[str, str]]:
    return [
        (row.attributes["class"], row.text.split("  ")[0].strip())
        for row in page.all("li")
        if row.attributes.get("class", "").startswith("d") and "Person" in row.text
    ]


def test_an_outline_says_who_answers_whom_and_where_they_stand() -> None:
    messages = [message(n, "I object." if n == 2 else "Words.", n - 1 if n else None) for n in range(7)]
    stance = SummaryStance(message_key=messages[2].id, stance="objection", counts_now=True)
    made = summary(messages, stances=[stance])
    page = check(markup(ThreadPageData(thread(message_count=7), messages, made)))
    rows = outline(page)
    assert [look for look, _ in rows] == [f"d{n}" for n in range(7)]
    assert "objects" in rows[2][1]
    assert sum("objects" in words for _, words in rows) == 1


def test_a_long_outline_is_a_page_of_its_own_whose_links_name_the_messages() -> None:
    messages = long_thread(INLINE + 40)
    reading = ThreadPageData(thread(message_count=len(messages)), messages)
    first = check(markup(reading))
    assert outline(first) == []
    assert [link.text for link in first.all("a", href="?view=outline")] == ["Reply tree of this thread"]
    own = check(render("pages/thread_view.html", path="/", query="", **outline_values(reading)))
    links = [link.attributes["href"] for link in own.all("a") if "?at=" in link.attributes["href"]]
    assert links == [
        f"/threads/{ID}?at={reply.message.id}#m-{reply.message.id}" for reply in in_reading_order(messages)
    ]


def test_answers_below_one_of_several_fold_away_and_nest_rightly() -> None:
    tree = [None, 0, 1, 2, 0, 4, 4]  # two replies to the first message, each with two below
    messages = [message(number, answers=parent) for number, parent in enumerate(tree)]
    page = check(markup(ThreadPageData(thread(message_count=7), messages)))
    summaries = [
        element.text for element in page.all("summary") if "repl" in element.text and "to" in element.text
    ]
    assert summaries == ["2 replies to Person 1", "2 replies to Person 4"]


@STEADY
@given(st.lists(st.integers(0, 30), max_size=40))
def test_folds_open_and_close_alike_and_never_nest_without_end(parents: list[int]) -> None:
    messages = [message(0)] + [
        message(number, answers=parent % number) for number, parent in enumerate(parents, 1)
    ]
    found = folds(in_reading_order(messages))
    depth = 0
    for fold in found:
        depth += bool(fold.opens)
        depth -= fold.closes
        assert 0 <= depth <= DEEPEST
    assert depth == 0


def test_pages_keep_the_report_whose_citations_are_marked() -> None:
    placed = in_reading_order(long_thread(200))
    pages = in_pages(placed, None, "1", "rpt-1")
    assert pages.following == "?report=rpt-1&page=2"
    assert (pages.address(placed[-1].message.id, "c1") or "").startswith("?report=rpt-1&at=")
