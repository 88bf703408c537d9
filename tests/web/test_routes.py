"""The routes, as ASP.NET's precedence finds them and as Azure does, which goes by the functions' names."""

import pytest

from localcloud.functions.problems import Problems
from localcloud.functions.routes import Route, Router, split_path, warn_of_overlaps
from localcloud.functions.template import parse_template
from tests.web.app_routes import http_routes


def routes() -> list[Route]:
    return [Route(route.function, parse_template(route.route), route.methods) for route in http_routes()]


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("/", "page_home"),
        ("/threads/0123456789abcdef", "page_thread"),
        ("/reports/rpt-1", "page_report"),
        ("/reports/rpt-1/print", "page_report_print"),
        ("/m/a@b", "page_mail"),
        ("/m/a/b@c", "page_mail"),
        ("/t/a/b@c", "page_thread_of_mail"),
        ("/threads/0123456789abcdef/mbox.gz", "page_thread_mbox"),
        ("/sources", "page_sources"),
        ("/sources/tally", "page_source"),
        ("/sources/tally/timeline", "page_timeline"),
        ("/api/feeds/sources/tally/calendar", "feeds_calendar"),
        ("/drafts/RFC8446", "page_draft"),
        ("/following", "page_following"),
        ("/people/0123456789abcdef", "page_person"),
        ("/search", "page_search"),
        ("/archives/0123456789abcdef", "page_archive"),
        ("/static/style.css", "static"),
        ("/api/reports/rpt-1/markdown", "reports_markdown"),
        ("/api/openapi.json", "openapi"),
        ("/api/feeds/drafts/RFC8446", "feeds_draft"),
        ("/api/health", "health"),
        ("/nowhere/at/all", "zz_missing"),
    ],
)
def test_a_path_leads_to_its_function_in_either_order(path: str, name: str) -> None:
    found = Router(routes()).find("GET", path)
    assert found is not None
    assert found.function == name
    by_name = sorted(routes(), key=lambda route: route.function.lower())
    first = next(r for r in by_name if r.takes("GET") and r.template.match(split_path(path)) is not None)
    assert first.function == name


def test_no_route_hides_another() -> None:
    problems = Problems()
    warn_of_overlaps(routes(), problems)
    assert problems.warnings == []
