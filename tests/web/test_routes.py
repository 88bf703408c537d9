"""The routes, with ASP.NET's precedence and as Azure resolves them, which depends on function names."""

import re

import pytest

from tests.web.app_routes import HttpRoute, http_routes

PARAMETER = re.compile(r"\{(\*?)(\w+)(:[^}]*)?\}")


def pattern(route: HttpRoute) -> re.Pattern[str]:
    """Return its template as a regular expression. A parameter is one segment, `*` any number of segments."""
    parts, end = [], 0
    for found in PARAMETER.finditer(route.route):
        # The home page has a template that is not empty.
        nothing = found[3] is not None and "maxlength(0)" in found[3]
        parts += [re.escape(route.route[end : found.start()])]
        parts += [".*" if found[1] else "" if nothing else "[^/]+"]
        end = found.end()
    return re.compile("/" + "".join([*parts, re.escape(route.route[end:])]), re.IGNORECASE)


def precedence(route: HttpRoute) -> list[int]:
    """Order literals before constrained parameters, these before other parameters, and `*` last."""
    return [
        4 if "{*" in segment else (2 if ":" in segment else 3) if "{" in segment else 1
        for segment in route.route.split("/")
    ]


def find(path: str, *, by_name: bool) -> str | None:
    fitting = [route for route in http_routes() if "GET" in route.methods and pattern(route).fullmatch(path)]
    if by_name:
        fitting.sort(key=lambda route: route.function.lower())
    else:
        fitting.sort(key=precedence)
    return fitting[0].function if fitting else None


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
    assert find(path, by_name=False) == find(path, by_name=True) == name


@pytest.mark.parametrize("route", http_routes(), ids=lambda route: str(route.function))
def test_no_route_hides_another(route: HttpRoute) -> None:
    """A path of each route leads to it in either order, so the functions' names do not matter."""
    path = "/" + PARAMETER.sub(lambda found: "" if "maxlength(0)" in found[0] else "0x", route.route)
    if "GET" in route.methods:
        assert find(path, by_name=False) == find(path, by_name=True) == route.function
