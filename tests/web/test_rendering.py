"""The frame of all pages: escaping, headers, and files whose names contain their hash."""

import azure.functions as func
import pytest
from jinja2 import UndefinedError
from pydantic import SecretStr

from shared.settings.app import Settings, SettingsError
from tests.web.markup import check
from web.caching import answer_of, etag_of, matches
from web.formatting import plain, printable_lines
from web.problems import Problem
from web.rendering import ASSETS, environment, problem_page, render, show, static

KEY = "correct horse battery staple"


def request(path: str = "/", method: str = "GET", **headers: str) -> func.HttpRequest:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    name = path.rpartition("/")[2]
    return func.HttpRequest(
        method, f"http://localhost:7071{path}", headers=named, route_params={"name": name}, body=b""
    )


def test_everything_that_a_template_shows_is_escaped() -> None:
    made = environment().from_string("<p title='{{ text }}'>{{ text }}</p>").render(text="<b>'\"&{{ 1 }}")
    assert made == "<p title='&lt;b&gt;&#39;&#34;&amp;{{ 1 }}'>&lt;b&gt;&#39;&#34;&amp;{{ 1 }}</p>"


def test_a_name_that_a_template_does_not_get_is_an_error() -> None:
    with pytest.raises(UndefinedError):
        environment().from_string("{{ nothing }}").render()


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a\u202eb\u2066c\u200f", "abc"),
        ("two\r\nlines\tand\x00more", "two lines andmore"),
        # A joiner that the script of this language needs.
        ("\u0645\u06cc\u200c\u062e", "\u0645\u06cc\u200c\u062e"),
    ],
)
def test_text_of_strangers_is_one_line_without_controls(text: str, shown: str) -> None:
    assert plain(text) == shown


def test_a_body_keeps_its_lines() -> None:
    assert printable_lines("a\n\tb\x1b[31m\u202e") == "a\n\tb[31m"


def test_a_word_without_an_end_may_be_broken_and_others_stay_whole() -> None:
    assert printable_lines("w" * 700) == "\u200b".join(["w" * 300, "w" * 300, "w" * 100])
    assert plain("https://example.org/" + "a" * 250) == "https://example.org/" + "a" * 250


def test_pages_carry_a_policy_that_allows_nothing_inline_and_no_framing() -> None:
    response = problem_page(request("/threads/x"), Problem(404, "There is no thread with this id."))
    policy = response.headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "frame-ancestors 'none'" in policy
    assert "unsafe" not in policy
    assert response.headers["X-Content-Type-Options"] == "nosniff"
    assert response.headers["Referrer-Policy"] == "same-origin"
    body = response.get_body().decode()
    assert "There is no thread with this id." in body
    assert "style=" not in body
    assert "<script>" not in body


def test_a_page_that_the_reader_has_is_not_sent_again() -> None:
    first = show(request(), "problem.html", title="T", problem=Problem(200, "text"))
    again = show(
        request(if_none_match=first.headers["ETag"]), "problem.html", title="T", problem=Problem(200, "text")
    )
    assert (first.status_code, again.status_code) == (200, 304)
    assert again.get_body() == b""
    assert again.headers["ETag"] == first.headers["ETag"]
    changed = show(
        request(if_none_match=first.headers["ETag"]), "problem.html", title="T", problem=Problem(200, "other")
    )
    assert changed.status_code == 200


def test_problems_are_never_answered_with_304() -> None:
    body = render("problem.html", path="/", query="", title="T", problem=Problem(404, "text"))
    response = answer_of(
        request(if_none_match=etag_of(body.encode())), body.encode(), "text/html", status=404
    )
    assert response.status_code == 404


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        ('"a"', True),
        ('W/"a"', True),
        ('"b", "a"', True),
        ("*", True),
        ('"b"', False),
        ("", False),
        ("a", False),
    ],
)
def test_if_none_match_is_compared_weakly(wanted: str, found: bool) -> None:
    assert matches(wanted, '"a"') is found


def test_files_are_kept_for_ever_under_names_that_change_with_them() -> None:
    address = ASSETS.address("style.css")
    response = static(request(address))
    assert response.status_code == 200
    assert response.mimetype == "text/css"
    assert "immutable" in response.headers["Cache-Control"]
    assert static(request("/static/style.css")).status_code == 404
    assert static(request("/static/..%2frendering.py")).status_code == 404


@pytest.mark.parametrize(
    ("key", "given", "seen"),
    [(KEY, KEY, {"Upload", "Operator"}), (KEY, "", {"Operator sign-in"}), (None, "", {"Operator sign-in"})],
)
def test_operators_pages_are_linked_for_those_who_may_open_them(
    monkeypatch: pytest.MonkeyPatch, key: str | None, given: str, seen: set[str]
) -> None:
    monkeypatch.delenv("AZURE_FUNCTIONS_ENVIRONMENT", raising=False)
    known = Settings(COSMOS_ENDPOINT="c", SEARCH_ENDPOINT="s", OPERATOR_KEY=SecretStr(key) if key else None)
    monkeypatch.setattr("web.rendering.settings", lambda: known)
    page = check(show(request(x_operator_key=given), "pages/following.html").get_body().decode())
    linked = {link.text: link.attributes["href"] for link in page.all("a")}
    assert {name for name, address in linked.items() if address.startswith("/operator")} == seen
    assert linked.get("Upload", "/operator/upload") == "/operator/upload"


def test_a_page_about_faulty_settings_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    def faulty() -> Settings:
        raise SettingsError("COSMOS_ENDPOINT: missing")

    monkeypatch.setattr("web.rendering.settings", faulty)
    assert problem_page(request(), Problem(503, "The settings are wrong.")).status_code == 503
