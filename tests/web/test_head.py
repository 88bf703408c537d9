"""HEAD on every route with GET: the status and headers of GET, without its body."""

import re

import pytest

from tests.web.app_routes import HttpRoute, http_routes
from tests.web.site import Site

GET_ROUTES = sorted(
    (route for route in http_routes() if "GET" in route.methods), key=lambda route: route.function
)
# These change with each request: ages and form tokens of the operator's pages, the seconds of each check.
CHANGING = re.compile("health|operator.*")


def path_of(route: HttpRoute, site: Site) -> str:
    """Return a path of the route to an existing document, if the samples have one."""
    if route.function == "page_home":
        return "/"
    ids = {"archives": site.archives["tally"], "sources": "tally", "outcomes": "accepted"}
    thread = site.thread("CBOR or JSON")
    ids |= {"threads": thread["thread_id"], "reports": f"{thread['links']['report']}".rpartition("/")[2]}
    before = route.route.partition("{")[0].rstrip("/").rpartition("/")[2]
    return "/" + re.sub(r"\{[^}]*\}", ids.get(before, "0123456789abcdef"), route.route)


@pytest.mark.parametrize("route", GET_ROUTES, ids=lambda route: route.function)
def test_head_answers_as_get_does_without_a_body(route: HttpRoute, site: Site) -> None:
    path = path_of(route, site)
    asked, read = site.host.ask("HEAD", path), site.host.get(path)
    assert (asked.status, asked.body) == (read.status, b"")
    names = (
        ("Content-Type",)
        if CHANGING.fullmatch(route.function)
        else ("Content-Type", "Content-Length", "ETag")
    )
    assert [asked.headers[name] for name in names] == [read.headers[name] for name in names]


def test_an_unknown_path_stays_unknown(site: Site) -> None:
    assert site.host.ask("HEAD", "/nowhere/at/all").status == 404
