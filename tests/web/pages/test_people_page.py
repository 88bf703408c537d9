"""People's pages: only if a site enables them, with confident claims alone, and drafts on a timeline."""

import asyncio
from collections import Counter
from datetime import UTC, datetime

import azure.functions as func
import pytest

from shared.azure import connections
from shared.core.ids import person_id
from shared.mail.masking import masked
from shared.models.readings import ShownOutcome
from shared.models.reports import Report
from shared.models.values import ConsensusBasis, Genre, OutcomeKind, Tier
from shared.settings.app import settings
from tests.web.markup import check
from tests.web.pages.test_pages import page
from tests.web.site import Site
from tests.web.test_calls import calls, function_of
from web.pages.drafts import draft_line
from web.pages.people import person_page

READER = {"x-forwarded-for": "192.0.2.1"}
__all__ = ["calls"]


def someone(site: Site) -> tuple[str, str]:
    """Return a person with a stated position, and their address."""
    thread = site.thread("Mandatory-to-implement")
    for position in site.json(thread["links"]["report"])["summary"]["reading"]["positions"]:
        if position["tier"] == "said":
            return position["name"], position["person"]
    raise AssertionError("nobody is said to stand for anything")


def test_a_reader_finds_no_page_and_no_feed_of_a_person_unless_the_site_chose_them(site: Site) -> None:
    _, address = someone(site)
    for path in (f"/people/{person_id(address)}", f"/api/feeds/people/{person_id(address)}"):
        assert site.host.get(path, **READER).status == 404
        assert site.host.get(path).status == 200


def test_a_person_has_positions_that_lead_to_their_words_threads_and_roles(site: Site) -> None:
    name, address = someone(site)
    shown = page(site, f"/people/{person_id(address)}")
    assert shown.all("h1")[0].text == name
    links = [
        element.attributes["href"]
        for element in shown.all("a")
        if element.attributes["href"].startswith("/m/")
    ]
    assert links
    for link in links:
        assert page(site, link.partition("#")[0]).by_id("quote").text
    assert "Mandatory-to-implement" in shown.text
    chair = page(site, f"/people/{person_id('tomasz@w-networks.example')}").text
    assert "chair of" in " ".join(chair.split())


def test_nobody_is_nobody(site: Site) -> None:
    page(site, "/people/0123456789abcdef", 404)
    page(site, "/people/someone@example.org", 404)


def test_a_reader_sees_masked_addresses_in_few_calls(
    site: Site,
    calls: Counter[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    _, address = someone(site)
    monkeypatch.setenv("PEOPLE_PAGES", "true")
    settings.cache_clear()

    async def ask() -> func.HttpResponse:
        request = func.HttpRequest(
            "GET", "http://x/", headers=READER, route_params={"id": person_id(address)}, body=b""
        )
        answer = await function_of(person_page)(request)
        await connections._connected.close()
        return answer

    try:
        answer = asyncio.run(ask())
    finally:
        settings.cache_clear()
    text = check(answer.get_body().decode()).text
    assert answer.status_code == 200
    assert address not in text
    assert masked(address) in text
    assert calls.total() - calls["query.source_readers"] <= 4, calls


def report(title: str, month: int, kind: OutcomeKind, **changed: object) -> Report:
    outcome = ShownOutcome(kind=kind, tier=Tier.SAID, sentence="So it is", basis=ConsensusBasis.RULED)
    first = datetime(2026, month, 1, tzinfo=UTC)
    values = {
        "id": f"{month}", "report_id": f"rpt-{month}", "scope": f"{month}", "summary_id": f"{month}", "thread_id": f"{month}",
        "title": title, "published_at": first, "created_at": first, "outcome": outcome,
        "first_message_date": first, "last_message_date": first.replace(day=15), "genre": Genre.CALL,
    }  # fmt: skip
    return Report.model_validate({**values, **changed})


def test_a_draft_goes_from_adoption_to_last_call_on_one_line() -> None:
    line = draft_line(
        [
            report("WGLC on draft-x", 9, OutcomeKind.CONTESTED),
            report("Call for adoption: draft-x", 1, OutcomeKind.ACCEPTED),
            report("A question on draft-x", 4, OutcomeKind.ANSWERED, genre=Genre.QUESTION),
            report("Section 3", 5, OutcomeKind.REJECTED, genre=None),
        ]
    )
    assert [step.name for step in line] == ["Call for adoption", "Decision", "Last call"]
    assert [step.x for step in line] == sorted(step.x for step in line)
    assert line[0].x == 3.0
    assert line[-1].end == 97.0
    assert draft_line([]) == []


def test_the_page_of_a_draft_shows_its_line(site: Site) -> None:
    shown = page(site, "/drafts/draft-ietf-tally-receipts")
    assert "Calls and outcomes" in shown.text
