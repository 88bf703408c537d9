"""No answer to a reader has a whole address: a crawler finds none, and an operator sees them."""

import re

import pytest

from tests.web.app_routes import http_routes
from tests.web.crawler import Crawl, known_of, seeds_of
from tests.web.markup import check
from tests.web.site import Site

pytestmark = pytest.mark.timeout(300)
READER = {"x-forwarded-for": "192.0.2.1"}  # a remote caller is not a developer


def whole_addresses(site: Site, crawl: Crawl) -> dict[str, set[str]]:
    people = {
        address.lower()
        for name in site.archives
        for one in site.json(f"/api/threads?limit=200&source={name}")["items"]
        for person in one["participants"]
        if (address := person["email"])
    }
    assert len(people) > 5
    found: dict[str, set[str]] = {}
    for path, text in crawl.texts():
        # A Message-ID can end like an address.
        seen = {one for one in people if re.search(rf"(?<![\w.+-]){re.escape(one)}", text.lower())}
        if seen:
            found[path] = seen
    return found


def test_a_reader_narrows_a_search_to_a_sender_by_name(site: Site) -> None:
    page = check(site.host.get("/search?q=receipt&mode=words", **READER).text)
    links = [
        link.attributes["href"] for link in page.all("a") if "from%3A" in link.attributes.get("href", "")
    ]
    assert len(links) > 1, (page.text[:600], [link.attributes for link in page.all("a")][-30:])
    assert all("%40" not in link and "sender=" not in link for link in links)
    found = site.host.get(links[0], **READER)
    assert found.status == 200
    assert check(found.text).all("mark")


def test_a_reader_finds_no_whole_address_anywhere(site: Site) -> None:
    source = "tally"
    seeds = seeds_of(source, known_of(site.host, source, "receipt", {}))
    reader = Crawl(site.host, READER, a_route=2).follow(seeds)
    read = {route.function for route in http_routes() if "GET" in route.methods}
    assert read - set(reader.routes) == set()
    assert len(reader.answers) > 80
    assert whole_addresses(site, reader) == {}
    operator = Crawl(site.host, {}, a_route=1).follow(seeds)
    assert len(whole_addresses(site, operator)) > 10
