"""All pages over HTTP, on the sample lists: complete, well formed, and under the strict policy."""

import re
from urllib.parse import quote

import pytest

from localcloud.testing import Faults
from shared.models.values import rejoined
from tests.support.cloud import AppCloud
from tests.support.host import Answer
from tests.web.markup import Page, check
from tests.web.site import Site, empty_site

MAILS = 6  # every message is linked, and one of them stands for the others


def ask(site: Site, path: str, status: int = 200) -> Answer:
    answer = site.host.get(path)
    assert answer.status == status, (path, answer.text[:500])
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    policy = answer.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    return answer


def page(site: Site, path: str, status: int = 200) -> Page:
    return check(ask(site, path, status).text)


def addresses(site: Site) -> dict[str, str]:
    thread = site.thread("Call for adoption")
    return {
        "home": "/",
        "thread": thread["links"]["page"],
        "report": f"/reports/{thread['report_id']}",
        "sources": "/sources",
        "source": "/sources/tally",
        "drafts": "/drafts",
        "draft": "/drafts/draft-ietf-tally-receipts",
        "search": "/search",
        "found": "/search?q=receipt",
        "archives": "/archives",
        "archive": f"/archives/{site.archives['tally']}",
    }


def test_every_page_is_well_formed_and_every_address_on_it_leads_somewhere(site: Site) -> None:
    seen: dict[str, int] = {}
    mails = 0
    for name, path in addresses(site).items():
        found = page(site, path)
        for element in found.elements:
            address = element.attributes.get("href" if element.tag in {"a", "link"} else "src", "")
            target = re.sub(r"#.*", "", address)
            kind = target.split("/")[1] if target.startswith("/") else ""
            if target.startswith("/") and target not in seen and (kind != "m" or mails < MAILS):
                mails += kind == "m"
                seen[target] = site.host.get(target).status
                assert seen[target] == 200, (name, target)
    assert len(seen) > 50


def test_home_tells_what_was_agreed_and_what_is_contested(site: Site) -> None:
    text = page(site, "/").text
    text = text[text.index("Agreed") :]  # calls without a result are above
    assert text.index("Call for adoption") < text.index("Not accepted")
    for refused in ("Renaming", "Mandatory-to-implement", "Working group last call"):
        assert text.index("Not accepted") < text.index(refused) < text.index("Discussed")
    assert text.index("Agreed") < text.index("Lifetime of a receipt") < text.index("Not accepted")
    assert text.index("Discussed") < text.index("Results from the hackathon")
    assert "by Tomasz Wieczorek (chair)" in text
    assert "no consensus" not in text[text.index("Discussed") :].lower()
    for name in ("slowmail", "tally"):
        assert name in text


def test_every_citation_of_every_thread_is_marked_where_it_stands(site: Site) -> None:
    checked = 0
    for thread in site.json("/api/threads?limit=200")["items"]:
        found = page(site, thread["links"]["page"])
        summary = site.json(thread["links"]["report"])["summary"]
        for number, citation in enumerate(summary["citations"], 1):
            marked = " ".join(rejoined(found.by_id(f"c{number}").text).split())
            assert " ".join(rejoined(citation["quote"]).split()) in marked
            checked += 1
    assert checked > 50


@pytest.mark.requirement("R-214")
def test_a_citation_in_a_report_leads_to_the_mark_on_the_threads_page(site: Site) -> None:
    report = page(site, addresses(site)["report"])
    links = [link.attributes["href"] for link in report.all("a", class_="cite")]
    assert links
    address, _, anchor = links[0].partition("#")
    assert page(site, address).by_id(anchor).text


def test_people_stand_under_their_stances(site: Site) -> None:
    thread = site.thread("Mandatory-to-implement signature")
    found, counts = page(site, thread["links"]["page"]), site.json(thread["links"]["report"])["counts"]
    assert f"{counts['support']} in support" in found.text
    assert f"{counts['objection']} objecting" in found.text


def test_a_page_leads_with_what_came_of_it_and_with_no_more_than_is_said(site: Site) -> None:
    ruled, quiet = site.thread("Call for adoption"), site.thread("Results from the hackathon")
    for kind in ("page", "report"):
        address = ruled["links"][kind].replace("/api/", "/")
        text = page(site, address).text
        assert ruled["outcome"]["sentence"].removeprefix("Accepted ") in text
        assert "Decided by the chair." in text
        text = page(site, quiet["links"][kind].replace("/api/", "/")).text
        assert "No decision found" in text
        assert "agreed" not in text.split("Other statements")[0].lower()


def test_search_shows_passages_facets_and_pages(site: Site) -> None:
    found = page(site, "/search?q=receipt&mode=words&limit=2")
    marks = found.all("mark", class_="found")
    assert sum("receipt" in mark.text.lower() for mark in marks) > len(marks) / 4
    (narrowed,) = [link for link in found.all("a") if "source=tally" in link.attributes["href"]]
    page(site, narrowed.attributes["href"])
    (more,) = found.all("a", rel="next")
    second = page(site, more.attributes["href"])
    assert second.all("a", rel="prev")
    first_hits = [link.attributes["href"] for link in found.all("a") if "at=" in link.attributes["href"]]
    hits = [link.attributes["href"] for link in second.all("a") if "at=" in link.attributes["href"]]
    assert hits
    assert not set(hits) & set(first_hits)


def test_senders_have_names_also_where_their_passages_are_on_another_page(site: Site) -> None:
    found = page(site, "/search?q=receipt&limit=1")
    for query in ("receipt", "list:tally"):
        found = page(site, f"/search?q={query}&limit=1")
        senders = [link for link in found.all("a") if "sender=" in link.attributes["href"]]
        assert len(senders) > 3
        assert all(" " in link.text for link in senders)
        assert "***" not in found.text


def test_an_error_in_a_query_is_said_beside_the_box_with_its_place(site: Site) -> None:
    found = page(site, "/search?q=receipt+form:leo", 422)
    assert "form: at character 9 is not an operator. Did you mean from:?" in found.text
    assert found.all("input", value="receipt form:leo")
    assert site.host.get("/api/search?q=receipt+form:leo").json()["errors"][0]["parameter"] == "q"


def test_each_operator_of_the_line_of_examples_is_a_link_that_works(site: Site) -> None:
    links = {link.text: link.attributes["href"] for link in page(site, "/search").all("a")}
    examples = [link for link in links.values() if link.startswith("/search?q=")]
    assert len(examples) > 9
    assert links["from:leo"] == "/search?q=from%3Aleo"
    for example in examples:
        page(site, example)


@pytest.mark.parametrize(
    ("query", "leads_to"),
    [
        ("draft-ietf-tally-receipts", "/drafts/draft-ietf-tally-receipts"),
        ("Beatriz Alonso", "/people/"),
        ('from:"Beatriz Alonso"', "/people/"),
        ("{mid}", "/m/{mid}"),
        ("mid:{mid}", "/m/{mid}"),
    ],
)
def test_an_exact_name_comes_first_and_leads_to_its_page(site: Site, query: str, leads_to: str) -> None:
    mid = site.json("/api/search?q=receipt")["items"][0]["message_id"].strip("<>")
    found = site.json("/api/search?q=" + quote(query.format(mid=mid)))
    assert found["exact"][0]["page"].startswith(leads_to.format(mid=mid))
    shown = page(site, "/search?q=" + quote(query.format(mid=mid)))
    (listed,) = shown.all("ul", class_="exact")
    assert listed.text.strip()
    page(site, found["exact"][0]["page"])


def test_nothing_is_found_where_nothing_is_about_it(site: Site) -> None:
    assert "Nothing in the mail is about this" in page(site, "/search?q=zebra+migration+veterinarian").text
    assert site.json("/api/search?q=zebra+migration+veterinarian")["threads"] == []


def test_search_lists_a_thread_once_and_masks_addresses(site: Site) -> None:
    found = page(site, "/search?q=receipt&mode=words")
    threads = [link.attributes["href"] for link in found.all("a") if link.attributes["href"].count("/") == 2]
    threads = [address for address in threads if re.fullmatch(r"/threads/[0-9a-f]{20}", address)]
    assert threads
    assert len(threads) == len(set(threads))
    assert not re.search(r"[a-z0-9]@[a-z]", found.text)


@pytest.mark.parametrize(
    "query", ["%3Cscript%3Ealert(1)%3C/script%3E", "'%22%3E%3Cimg%20src=x%3E", "%7B%7B7*7%7D%7D"]
)
def test_what_is_searched_for_injects_nothing(site: Site, query: str) -> None:
    for mode in ("words", "meaning"):
        found = page(site, f"/search?q={query}&mode={mode}", 422 if "%22" in query else 200)
        assert found.own_scripts == []


@pytest.mark.parametrize(
    ("path", "status", "said"),
    [
        ("/nowhere", 404, "page does not exist"),
        ("/a/b/c", 404, "page does not exist"),
        ("/threads/0000000000000000", 404, "no thread with this id"),
        ("/threads/%3Cscript%3E", 404, "no thread with this id"),
        ("/reports/x", 404, "no report with this id"),
        ("/sources/nobody", 404, "no list with this name"),
        ("/drafts/nothing", 404, "must name a draft"),
        ("/drafts/draft-nobody-wrote", 404, "No thread mentions"),
        ("/archives/0000000000000000", 404, "no archive with this id"),
        ("/search?q=x&from=yesterday", 422, "must be a day"),
        ("/search?q=" + "x" * 401, 422, "at most 400"),
        ("/static/nothing.css", 404, "file does not exist"),
    ],
)
def test_what_goes_wrong_is_a_page_that_says_so(site: Site, path: str, status: int, said: str) -> None:
    assert said in page(site, path, status).text


def test_the_api_tells_of_a_wrong_address_as_an_api_does(site: Site) -> None:
    answer = site.host.get("/api/nothing/here")
    assert (answer.status, answer.headers["content-type"]) == (404, "application/problem+json")


def test_a_page_that_the_reader_has_is_not_sent_again(site: Site) -> None:
    for path in addresses(site).values():
        first = ask(site, path)
        again = site.host.get(path, if_none_match=first.headers["etag"])
        assert (again.status, again.body) == (304, b""), path


@pytest.mark.slow
def test_an_empty_site_says_what_to_do(cloud: AppCloud) -> None:
    with empty_site(cloud) as site:
        assert "Upload a mail archive" in page(site, "/").text
        assert "No archives yet" in page(site, "/archives").text
        assert "No lists yet" in page(site, "/sources").text
        assert "No drafts mentioned yet" in page(site, "/drafts").text
        assert "No results" in page(site, "/search?q=anything&mode=words").text
        Faults(cloud.cosmos).plan(
            {"kind": "status", "operation": "docs.*", "times": None, "args": {"status": 503}}
        )
        try:
            found = page(site, "/", 503)
        finally:
            Faults(cloud.cosmos).plan()
        assert "No data is lost" in found.text
