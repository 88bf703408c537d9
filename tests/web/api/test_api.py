"""The JSON API over HTTP, on the sample lists: filters, order, paging, messages and search."""

import base64
import json
from collections.abc import Callable
from typing import Any
from urllib.parse import quote

import pytest

from tests.web.open_call import upload_open_call
from tests.web.site import Site

Item = dict[str, Any]


def everything(site: Site, path: str) -> list[Item]:
    """Return all items, page by page."""
    found: list[Item] = []
    following: str | None = path
    while following:
        page = site.json(following)
        found += page["items"]
        following = page["next"]
    return found


def ids(items: list[Item]) -> list[str]:
    return [item.get("report_id") or item.get("thread_id") or item["chunk_id"] for item in items]


@pytest.mark.parametrize(
    ("asked", "holds"),
    [
        ("source=tally", lambda row: row["source"] == "tally"),
        ("consensus=agreement", lambda row: row["consensus_type"] == "agreement"),
        ("consensus=none", lambda row: row["consensus_type"] is None),
        (
            "draft=draft-ietf-tally-receipts-04",  # a version is found under its draft
            lambda row: "draft-ietf-tally-receipts" in row["draft_mentions"],
        ),
        ("draft=rfc9162", lambda row: "RFC9162" in row["draft_mentions"]),
        ("from=2026-04-01", lambda row: row["last_message_date"] >= "2026-04-01"),
        ("to=2026-03-31", lambda row: row["last_message_date"] < "2026-04-01"),
        (
            "participant=YUKI@kaede.example",
            lambda row: "yuki@kaede.example" in [one["email"] for one in row["participants"]],
        ),
        (
            "participant=" + quote("yuki hashimoto"),
            lambda row: "Yuki Hashimoto" in [one["name"] for one in row["participants"]],
        ),
        ("type=thread", lambda row: row["summary_type"] == "thread"),
    ],
)
def test_a_filter_gives_exactly_the_reports_that_it_asks_for(
    site: Site, asked: str, holds: Callable[[Item], bool]
) -> None:
    everyone = everything(site, "/api/reports")
    wanted = [row for row in everyone if holds(row)]
    assert wanted
    assert sorted(ids(everything(site, f"/api/reports?{asked}"))) == sorted(ids(wanted))


@pytest.mark.parametrize(
    ("asked", "holds"),
    [
        ("source=slowmail", lambda row: "slowmail" in row["sources"]),
        ("consensus=mixed", lambda row: row["consensus_type"] == "mixed"),
        (
            "draft=draft-ietf-tally-receipts",
            lambda row: any(one.startswith("draft-ietf-tally-receipts") for one in row["draft_mentions"]),
        ),
        (
            "from=2026-04-01&to=2026-05-10",
            lambda row: "2026-04-01" <= row["last_message_date"] < "2026-05-11",
        ),
        ("status=processed", lambda row: row["status"] == "processed"),
    ],
)
def test_a_filter_gives_exactly_the_threads_that_it_asks_for(
    site: Site, asked: str, holds: Callable[[Item], bool]
) -> None:
    wanted = [row for row in everything(site, "/api/threads") if holds(row)]
    assert wanted
    assert sorted(ids(everything(site, f"/api/threads?{asked}"))) == sorted(ids(wanted))


def shown_kind(row: Item) -> str | None:
    """Return the kind as lists show it."""
    return (row["outcome"]["kind"] or "unresolved") if row["outcome"] else None


@pytest.mark.parametrize("path", ["/api/reports", "/api/threads"])
@pytest.mark.parametrize("kind", ["accepted", "unresolved"])
def test_a_filter_by_outcome_gives_what_is_labelled_so(site: Site, path: str, kind: str) -> None:
    wanted = [row for row in everything(site, path) if shown_kind(row) == kind]
    assert wanted
    assert sorted(ids(everything(site, f"{path}?outcome={kind}"))) == sorted(ids(wanted))


def test_no_answer_contradicts_itself(site: Site) -> None:
    reports = [row for row in everything(site, "/api/reports") if row["outcome"]]
    readings = [site.json(row["links"]["self"])["summary"]["reading"] for row in reports]
    shown = [*reports, *everything(site, "/api/threads"), *readings]
    for row in shown:
        nothing = row["outcome"]["sentence"] == "No decision found."
        assert (row["outcome"]["kind"] is None) is nothing, row
        assert (row["consensus_type"] == "agreement") is row["has_consensus"], row
    assert {row["has_consensus"] for row in shown} == {True, False}


def test_filters_narrow_together(site: Site) -> None:
    found = everything(site, "/api/reports?source=tally&consensus=agreement")
    assert found
    assert {(row["source"], row["consensus_type"]) for row in found} == {("tally", "agreement")}


@pytest.mark.parametrize("sort", ["-published_at", "published_at", "-last_message_date", "last_message_date"])
def test_pages_give_every_report_once_in_the_order_asked_for(site: Site, sort: str) -> None:
    paged = everything(site, f"/api/reports?sort={sort}&limit=2")
    whole = site.json(f"/api/reports?sort={sort}&limit=200")["items"]
    assert ids(paged) == ids(whole)
    values = [row[sort.lstrip("-")] for row in whole]
    assert values == sorted(values, reverse=sort.startswith("-"))


def test_a_cursor_belongs_to_its_list(site: Site) -> None:
    following = site.json("/api/reports?limit=2")["next"]
    cursor = following.partition("after=")[2]
    refused = site.host.get(f"/api/reports?limit=2&source=tally&after={cursor}")
    assert refused.status == 422
    assert "another request" in refused.json()["detail"]


@pytest.mark.parametrize(
    "forged", [["x", "2024", "id"], [1, 2], {"a": 1}, "text", [[], [], []], ["", None, None]]
)
def test_a_forged_cursor_is_refused(site: Site, forged: object) -> None:
    cursor = base64.urlsafe_b64encode(json.dumps(forged).encode()).decode()
    assert site.host.get(f"/api/reports?after={quote(cursor)}").status == 422


@pytest.mark.requirement("R-507")
def test_a_report_has_its_summary_and_citations_that_lead_to_their_sentences(site: Site) -> None:
    thread = site.thread("Call for adoption")
    report = site.json(thread["links"]["report"])
    summary = report["summary"]
    assert summary["claims"]
    for claim in summary["claims"]:
        assert all(0 <= number < len(summary["citations"]) for number in claim["citations"])
    for number, citation in enumerate(summary["citations"], 1):
        chunk = site.json(f"/api/chunks/{citation['chunk_id']}")
        start = citation["offset"]
        assert chunk["text"][start : start + len(citation["quote"])] == citation["quote"]
        assert citation["page"].startswith(f"/threads/{thread['thread_id']}?")
        assert citation["page"].endswith(f"#c{number}")
    assert sum(report["counts"].values()) == len({stance["email"] for stance in summary["stances"]})
    markdown = site.host.get(report["links"]["markdown"])
    assert markdown.headers["content-type"].startswith("text/markdown")
    stored, _, _ = summary["content_markdown"].partition("## Citations")
    assert markdown.text.startswith(stored)  # below, links replace bare ids


def test_messages_come_in_the_order_of_reading(site: Site) -> None:
    thread = site.thread("Call for adoption")
    items = everything(site, thread["links"]["messages"] + "?limit=3")
    assert len(items) == thread["message_count"]
    assert (items[0]["depth"], items[0]["parent_key"]) == (0, None)
    seen: dict[str, int] = {}
    for item in items:
        if item["parent_key"] is not None:
            assert item["depth"] == seen[item["parent_key"]] + 1
        seen[item["message_key"]] = item["depth"]


def test_a_raw_message_is_text_to_save_and_nothing_that_runs(site: Site) -> None:
    message = site.json(site.thread("Call for adoption")["links"]["messages"])["items"][0]
    raw = site.host.get(message["links"]["self"] + "/raw")
    assert raw.headers["content-type"] == "text/plain; charset=utf-8"
    assert raw.headers["content-disposition"] == f'attachment; filename="{message["message_key"]}.txt"'
    assert raw.headers["x-content-type-options"] == "nosniff"
    assert "sandbox" in raw.headers["content-security-policy"]
    assert "this starts a two-week call for adoption" in raw.text


def test_search_finds_by_words_and_shows_them(site: Site) -> None:
    found = site.json("/api/search?q=compression&mode=words&limit=3")
    assert found["mode"] == "words"
    assert found["items"]
    for thread in found["threads"]:
        item = thread["items"][0]
        assert item["sentence"] in item["text"]
        assert "compress" in (item["sentence"] + item["subject"]).lower()
        matches = [part["text"] for line in item["highlights"] for part in line if part["match"]]
        assert matches or "compress" in item["subject"].lower()
        assert all(match.lower().startswith("compress") for match in matches)


@pytest.mark.requirement("R-214")
def test_search_finds_by_meaning_what_has_other_words(site: Site) -> None:
    found = site.json("/api/search?mode=meaning&limit=5&q=" + quote("making data smaller before sending it"))
    assert any("compress" in item["text"].lower() for item in found["items"])


@pytest.mark.requirement("R-213")
def test_a_search_can_be_narrowed_to_one_message(site: Site) -> None:
    found = site.json("/api/search?q=compression&mode=words&limit=50")
    wanted = found["items"][0]["message_key"]
    assert {item["message_key"] for item in found["items"]} > {wanted}
    narrowed = site.json(f"/api/search?q=compression&mode=words&limit=50&message={wanted}")
    assert {item["message_key"] for item in narrowed["items"]} == {wanted}
    assert site.host.get("/api/search?q=compression&message=..%2F").status == 422


def test_facets_count_what_a_filter_then_gives(site: Site) -> None:
    found = site.json("/api/search?q=receipts&mode=words")
    assert {"source", "sender", "draft_mentions", "date"} <= set(found["facets"])
    for facet in found["facets"]["source"]:
        narrowed = site.json(f"/api/search?q=receipts&mode=words&source={facet['value']}")
        assert narrowed["total"] == facet["count"]
    sender = found["facets"]["sender"][0]
    narrowed = site.json(f"/api/search?q=receipts&mode=words&sender={quote(sender['value'])}")
    assert narrowed["total"] == sender["count"]


def test_a_search_for_a_draft_finds_all_its_versions(site: Site) -> None:
    found = everything(site, "/api/search?q=draft&mode=words&draft=draft-ietf-tally-receipts")
    named = {one for row in found for one in row["draft_mentions"] if "ietf-tally-receipts" in one}
    assert len(named) > 1
    one = everything(site, "/api/search?q=draft&mode=words&draft=draft-ietf-tally-receipts-04")
    assert one
    assert all("draft-ietf-tally-receipts-04" in row["draft_mentions"] for row in one)


def test_search_pages_do_not_overlap(site: Site) -> None:
    found = everything(site, "/api/search?q=receipts&mode=words&limit=2")
    assert len({row["thread_id"] for row in found}) == site.json("/api/search?q=receipts")["total"] > 2
    assert len({row["chunk_id"] for row in found}) == len(found)
    found = everything(site, "/api/search?q=list:tally&limit=9")
    assert len(found) == site.json("/api/search?q=list:tally")["total"] > 9
    assert len({row["chunk_id"] for row in found}) == len(found)


def test_a_draft_has_its_reports_and_threads(site: Site) -> None:
    names = [item["name"] for item in site.json("/api/drafts")["items"]]
    assert "draft-ietf-tally-receipts" in names
    draft = site.json("/api/drafts/draft-ietf-tally-receipts-04")
    assert draft["name"] == "draft-ietf-tally-receipts"
    assert {report["thread_id"] for report in draft["reports"] if report["thread_id"]} <= {
        thread["thread_id"] for thread in draft["threads"]
    }
    assert draft["reports"]


def test_threads_are_found_by_their_open_calls(site: Site) -> None:
    upload_open_call(site)
    everything = site.json("/api/threads?limit=200")["items"]
    called = site.json("/api/threads?limit=200&open_call=true")["items"]
    others = site.json("/api/threads?limit=200&open_call=false")["items"]
    assert called
    assert len(called) + len(others) == len(everything)
    assert {thread["thread_id"] for thread in called} == {
        thread["thread_id"] for thread in everything if thread["open_call"] is not None
    }
    assert site.host.get("/api/threads?open_call=perhaps").status == 422
