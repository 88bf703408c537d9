"""Addresses that last: a mail and a thread by Message-ID, a quote in its mail, mbox, Markdown, print."""

import gzip
import html
import json
import mailbox
import re
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

from tests.web.markup import check
from tests.web.pages.test_pages import page
from tests.web.site import Site
from web.access import HEADER


def messages(site: Site, subject: str) -> list[dict[str, Any]]:
    thread = site.thread(subject)
    return list(site.json(f"/api/threads/{thread['thread_id']}/messages?limit=200")["items"])


def bare(message_id: str) -> str:
    return message_id.strip("<>")


def test_a_mail_is_found_by_its_id_with_its_main_headers(site: Site) -> None:
    first = messages(site, "Call for adoption")[0]
    for spelling in (bare(first["message_id"]), quote(first["message_id"]), bare(first["message_id"]) + "/"):
        shown = page(site, f"/m/{spelling}")
        assert first["message_id"] in shown.text
        assert "this starts a two-week call for adoption" in shown.text
        for name in ("From", "To", "Date", "Subject", "Message-ID", "Permalink"):
            assert name in [term.text for term in shown.all("dt")]
        assert f"{site.url}/m/{bare(first['message_id'])}" in shown.text


def test_a_mail_is_shown_from_its_original_bytes(site: Site) -> None:
    first = messages(site, "Call for adoption")[0]
    path, as_reader = f"/m/{bare(first['message_id'])}?copy=0", {"x-forwarded-for": "192.0.2.1"}
    shown = page(site, path)
    for name in ("From", "To", "Date", "Subject", "Message-ID"):
        assert name in [term.text for term in shown.all("dt")]
    assert "this starts a two-week call for adoption" in shown.text
    assert "Original copy: " in shown.text
    assert "changed here since it was parsed" not in shown.text
    assert "copy=0&list=tally" in str([link.attributes.get("href") for link in shown.all("a")])
    masked = html.unescape(check(site.host.get(path, **as_reader).text).by_id("main").text)
    assert first["from"]["email"] not in masked.partition("Date")[0]
    for wrong in ("1", "-1", "x", "99999", "\u0663"):
        page(site, f"/m/{bare(first['message_id'])}?{urlencode({'copy': wrong})}", 422)


def test_what_is_no_id_or_no_mail_is_not_found(site: Site) -> None:
    for given in ("nobody@example.org", "x" * 2000, "%00", "%3Cscript%3E", ""):
        page(site, f"/m/{given}", 404)
        page(site, f"/t/{given}", 404)


def test_a_thread_is_found_by_the_id_of_any_of_its_mails(site: Site) -> None:
    thread = site.thread("Call for adoption")
    last = messages(site, "Call for adoption")[-1]
    answer = site.host.get(f"/t/{bare(last['message_id'])}")
    shown = answer if answer.status == 200 else site.host.get(answer.headers["location"].partition("#")[0])
    assert shown.status == 200
    assert thread["thread_id"] in shown.text


def test_every_quote_has_an_address_that_marks_it_in_its_mail(site: Site) -> None:
    thread = site.thread("Mandatory-to-implement")
    citations = site.json(thread["links"]["report"])["summary"]["citations"]
    for citation in citations:
        asked = urlencode({"quote": citation["quote"]})
        shown = page(site, f"/m/{quote(bare(citation['message_id']))}?{asked}")
        assert " ".join(citation["quote"].split()) == " ".join(shown.by_id("quote").text.split())
    assert len(citations) > 3


def test_words_that_are_not_there_are_said_not_to_be(site: Site) -> None:
    first = messages(site, "Call for adoption")[0]
    shown = page(site, f"/m/{bare(first['message_id'])}?{urlencode({'quote': '<b>never said</b>'})}")
    assert "not found in the sender's text" in shown.text
    assert "<b>never said</b>" in shown.text
    page(site, f"/m/{bare(first['message_id'])}?quote={'x' * 2001}", 422)


def test_a_list_that_names_its_archive_has_its_mails_linked_there(site: Site) -> None:
    first = messages(site, "Call for adoption")[0]
    template = {"archive_template": "https://lists.example/{list}/{message_id}/"}
    try:
        assert site.host.ask("PATCH", "/api/sources/tally", json.dumps(template)).status == 200
        text = site.host.get(f"/m/{bare(first['message_id'])}").text
    finally:
        site.host.ask("PATCH", "/api/sources/tally", json.dumps({"archive_template": ""}))
    (link,) = [link for link in check(text).all("a") if "external" in link.attributes.get("rel", "")]
    assert link.attributes["href"] == f"https://lists.example/tally/{bare(first['message_id'])}/"
    bad = site.host.ask("PATCH", "/api/sources/tally", json.dumps({"archive_template": "javascript:{list}"}))
    assert (bad.status, bad.json()["errors"][0]["pointer"]) == (422, "/archive_template")


def test_a_thread_as_mbox_holds_its_mails_with_masked_addresses(site: Site, tmp_path: Path) -> None:
    thread, expected = site.thread("Call for adoption"), messages(site, "Call for adoption")
    path = f"/threads/{thread['thread_id']}/mbox.gz"
    as_reader = {"x-forwarded-for": "192.0.2.1"}  # a request from elsewhere is no developer's
    answer = site.host.get(path, **as_reader)
    assert answer.headers["content-type"].startswith("application/gzip")
    file = tmp_path / "thread.mbox"
    file.write_bytes(gzip.decompress(answer.body))
    with closing(mailbox.mbox(file)) as box:
        found = list(box)
    assert [address["Message-ID"] for address in found] == [address["message_id"] for address in expected]
    assert all(re.search(r"\*@", address["From"]) for address in found)
    again = site.host.get(path, **{**as_reader, "if-none-match": answer.headers["etag"]})
    assert again.status == 304


def test_a_reader_sees_masked_addresses_and_not_all_headers(site: Site) -> None:
    first = messages(site, "Call for adoption")[0]
    path, as_reader = f"/m/{bare(first['message_id'])}", {"x-forwarded-for": "192.0.2.1"}
    sender = first["from"]["email"]
    shown = site.host.get(path, **as_reader).text
    assert sender not in html.unescape(check(shown).by_id("main").text.partition("Date")[0])
    assert sender in html.unescape(site.host.get(path).text)
    raw = f"/api/messages/{first['message_key']}/raw"
    assert site.host.get(raw, **as_reader).status == 403
    assert site.host.get(raw, **{**as_reader, HEADER: "wrong"}).status == 403


def test_markdown_links_every_quote_and_names_no_bare_id(site: Site) -> None:
    thread = site.thread("Mandatory-to-implement")
    text = site.host.get(f"/api/reports/{thread['report_id']}/markdown").text
    lines = [line for line in text.splitlines() if "citation-" in line and line[0].isdigit()]
    assert len(lines) > 3
    for line in lines:
        targets = re.findall(r"\]\((http[^()\s]+)\)", line)
        assert len(targets) == 2, line
        for target in targets:
            assert site.host.get(target.removeprefix(site.url).partition("#")[0]).status == 200
    assert "@tally" not in re.sub(r"\(http[^)]*\)", "", text)


def test_a_report_to_print_shows_the_addresses_of_its_quotes(site: Site) -> None:
    report = site.thread("Mandatory-to-implement")["report_id"]
    shown = page(site, f"/reports/{report}/print")
    quotes = [link for link in shown.all("a") if "?quote=" in link.attributes["href"]]
    assert len(quotes) > 3
    assert all(quote.text.startswith(f"{site.url}/m/") for quote in quotes)
    assert f"{site.url}/reports/{report}" in shown.text
