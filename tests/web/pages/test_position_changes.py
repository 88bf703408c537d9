"""A person who changed their mind has both stances with dates and sentences on every page with positions."""

import re
from typing import Any

import pytest

from shared.core.ids import person_id
from tests.web.markup import Element
from tests.web.pages.test_pages import page
from tests.web.site import Site

BEFORE, SINCE = "I object to this proposal, it loses mail.", "I support this proposal now."


def mail(number: int, sender: str, answers: str, body: str) -> bytes:
    head = f"In-Reply-To: {answers}\nReferences: {answers}\n" if answers else ""
    return (
        f"From x@y.example Sat May  {number} 09:00:00 2026\nMessage-ID: <change-{number}@y.example>\n"
        f"From: {sender}\nDate: {number:02d} May 2026 09:00:00 +0000\n{head}"
        f"Subject: {'Re: ' if answers else ''}Retries for relays\n\n{body}\n\n"
    ).encode()


ARCHIVE = b"".join(
    [
        mail(
            1,
            "Chair Example <chair@y.example>",
            "",
            "I propose that relays retry three times. What do you think?",
        ),
        mail(3, "Dana Example <dana@y.example>", "<change-1@y.example>", BEFORE),
        mail(5, "Eli Example <eli@y.example>", "<change-3@y.example>", "The next version keeps the mail."),
        mail(9, "Dana Example <dana@y.example>", "<change-1@y.example>", SINCE),
    ]
)


@pytest.fixture(scope="module")
def changed(site: Site) -> dict[str, Any]:
    site.wait_until_reported(site.upload("changes", ARCHIVE))
    (thread,) = site.json("/api/threads?source=changes")["items"]
    return dict(thread)


def in_words(element: Element) -> str:
    return " ".join(element.text.split())


def check_line(text: str) -> None:
    for words in (BEFORE, SINCE, "Before: objected", "3 May 2026", "since 9 May 2026", "supports it"):
        assert words in text, words


@pytest.mark.parametrize("kind", ["threads", "reports"])
def test_a_thread_and_a_report_show_both_stances_and_lead_to_both_sentences(
    site: Site, changed: dict[str, Any], kind: str
) -> None:
    shown = page(site, f"/{kind}/{changed['thread_id' if kind == 'threads' else 'report_id']}")
    (line,) = [item for item in shown.all("li") if "Before: objected" in in_words(item)]
    check_line(in_words(line))
    links = {link.text: link.attributes["href"] for link in shown.all("a")}
    for words in (BEFORE, SINCE):
        path, _, anchor = links[words].partition("#")
        there = page(site, path) if path else shown
        (mark,) = [mark for mark in there.all("mark") if words.rstrip(".") in mark.text]
        ids = [
            element.attributes.get("id") for element in there.elements if words.rstrip(".") in element.text
        ]
        assert anchor in ids, links[words]
        assert mark.text.strip() == words


def test_a_person_a_print_and_the_markdown_have_the_change_with_its_dates(
    site: Site, changed: dict[str, Any]
) -> None:
    check_line(in_words(page(site, f"/people/{person_id('dana@y.example')}").all("main")[0]))
    printed = in_words(page(site, f"/reports/{changed['report_id']}/print").all("main")[0])
    assert "objected 3 May 2026" in printed.partition("Changes of position Dana Example")[2]
    assert "supports it since 9 May 2026" in printed
    assert (printed.count(BEFORE), printed.count(SINCE)) == (1, 1)
    text = site.host.get(f"/api/reports/{changed['report_id']}/markdown").text
    line = next(line for line in text.splitlines() if line.startswith(r"- **Dana Example** objected"))
    assert "objected on 3 May 2026" in line
    assert "supports it since 9 May 2026" in line
    links = re.findall(r"\]\(http://[^/]+(/m/[^)]+)\)", line)
    assert [page(site, link.partition("#")[0]).by_id("quote").text for link in links] == [BEFORE, SINCE]


def test_the_api_has_the_stance_before(site: Site, changed: dict[str, Any]) -> None:
    reading = site.json(f"/api/reports/{changed['report_id']}")["summary"]["reading"]
    (dana,) = [one for one in reading["positions"] if one["person"] == "dana@y.example"]
    assert (dana["stance"], dana["earlier"]["stance"]) == ("support", "oppose")
    assert dana["earlier"]["at"].startswith("2026-05-03")
    assert dana["earlier"]["citation"]["quote"] == BEFORE
