"""Access: every way to sign in, as a table, without a host."""

import base64
import json
from typing import Any

import azure.functions as func
import pytest
from pydantic import SecretStr

from shared.settings.app import Settings
from web.access import CORRECTORS, MAY, allowed_form, cookie_header, enter, permissions, visitor

KEY = "correct horse battery staple"
AZURE = {"WEBSITE_INSTANCE_ID": "i", "WEBSITE_SITE_NAME": "s"}
EASY_AUTH = {**AZURE, "WEBSITE_AUTH_ENABLED": "True"}
DEVELOPMENT = {"AZURE_FUNCTIONS_ENVIRONMENT": "Development"}


def settings(key: str | None = KEY) -> Settings:
    return Settings(COSMOS_ENDPOINT="c", SEARCH_ENDPOINT="s", OPERATOR_KEY=SecretStr(key) if key else None)


def request(url: str = "https://app.example/operator", **headers: str) -> func.HttpRequest:
    given = {"host": "app.example", **{name.replace("_", "-"): value for name, value in headers.items()}}
    return func.HttpRequest("GET", url, headers=given, body=b"")


def principal(*roles: str, kind: str = "roles") -> str:
    claims: list[dict[str, Any]] = [{"typ": kind, "val": role} for role in roles]
    content = {"auth_typ": "aad", "role_typ": "roles", "claims": [*claims, {"typ": "name", "val": "Ada"}]}
    return base64.b64encode(json.dumps(content).encode()).decode()


@pytest.fixture(autouse=True)
def nowhere(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (*EASY_AUTH, *DEVELOPMENT, "WEBSITE_AUTH_ENCRYPTION_KEY"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize(
    ("where", "headers", "key", "name"),
    [
        ({}, {}, KEY, None),
        ({}, {"x_operator_key": KEY}, KEY, "the operator's key"),
        ({}, {"x_operator_key": KEY[:-1]}, KEY, None),
        ({}, {"x_operator_key": ""}, None, None),
        (EASY_AUTH, {"x_ms_client_principal": principal("operator")}, None, "Ada"),
        (EASY_AUTH, {"x_ms_client_principal": principal("reader")}, None, None),
        # This role gives no other access.
        (EASY_AUTH, {"x_ms_client_principal": principal("corrector")}, None, None),
        (EASY_AUTH, {"x_ms_client_principal": principal("operator", kind="groups")}, None, None),
        (EASY_AUTH, {"x_ms_client_principal": "not base64"}, None, None),
        (EASY_AUTH, {"x_ms_client_principal": base64.b64encode(b"[1]").decode()}, None, None),
        (AZURE, {"x_ms_client_principal": principal("operator")}, None, None),
        ({"WEBSITE_AUTH_ENABLED": "True"}, {"x_ms_client_principal": principal("operator")}, None, None),
        (DEVELOPMENT, {"host": "localhost:7071"}, None, "developer"),
        (DEVELOPMENT, {"host": "127.0.0.1:7071"}, KEY, None),
        (DEVELOPMENT, {"host": "rebound.example"}, None, None),
        (DEVELOPMENT, {"host": "localhost:7071", "x_forwarded_for": "203.0.113.7"}, None, None),
        (DEVELOPMENT, {"host": "localhost:7071", "forwarded": "for=203.0.113.7"}, None, None),
        (DEVELOPMENT, {"host": "localhost:7071", "via": "1.1 tunnel"}, None, None),
        (DEVELOPMENT, {"host": "[::1"}, None, None),
        ({**DEVELOPMENT, **AZURE}, {"host": "localhost"}, None, None),
    ],
)
def test_who_gets_in(
    monkeypatch: pytest.MonkeyPatch,
    where: dict[str, str],
    headers: dict[str, str],
    key: str | None,
    name: str | None,
) -> None:
    for variable, value in where.items():
        monkeypatch.setenv(variable, value)
    who = visitor(request(**headers), settings(key))
    assert (who.name if who else None) == name


def test_a_session_is_worth_nothing_under_another_key() -> None:
    cookie = enter(KEY, settings())
    assert cookie is not None
    assert visitor(request(cookie=f"operator={cookie}"), settings()) is not None
    assert visitor(request(cookie=f"operator={cookie}"), settings("another key altogether")) is None


def test_a_session_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    cookie = enter(KEY, settings())
    monkeypatch.setattr("web.access.time.time", lambda: 4e9)
    assert visitor(request(cookie=f"operator={cookie}"), settings()) is None


def test_a_cookie_for_forms_does_not_let_anybody_in(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AZURE_FUNCTIONS_ENVIRONMENT", "Development")
    monkeypatch.setenv("WEBSITE_AUTH_ENCRYPTION_KEY", KEY)
    who = visitor(request(host="localhost"), settings(None))
    assert who is not None
    assert who.cookie is not None
    assert visitor(request(cookie=f"operator={who.cookie}"), settings(KEY)) is None


@pytest.mark.parametrize(
    ("headers", "taken"),
    [
        ({"origin": "https://app.example"}, True),
        ({"sec_fetch_site": "same-origin"}, True),
        ({"origin": "https://app.example", "sec_fetch_site": "same-origin"}, True),
        ({"origin": "https://evil.example"}, False),
        ({"origin": "https://app.example", "sec_fetch_site": "same-site"}, False),
        ({"origin": "null"}, False),
        ({"origin": "http://[app.example"}, False),
        ({}, False),
    ],
)
def test_a_form_is_taken_from_this_site_only(headers: dict[str, str], taken: bool) -> None:
    cookie = enter(KEY, settings())
    given = request(cookie=f"operator={cookie}", **headers)
    who = visitor(given, settings())
    assert who is not None
    assert allowed_form(given, who, who.token or "") is taken
    assert not allowed_form(given, who, "0" * 64)
    assert not allowed_form(given, who, "é")


def test_the_cookie_is_for_https_alone_in_azure(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "Secure" not in cookie_header(request(url="http://localhost/operator"), "x")["Set-Cookie"]
    monkeypatch.setenv("WEBSITE_INSTANCE_ID", "i")
    assert "Secure" in cookie_header(request(url="http://localhost/operator"), "x")["Set-Cookie"]


def test_a_corrector_may_correct_and_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable, value in EASY_AUTH.items():
        monkeypatch.setenv(variable, value)
    asked = request(x_ms_client_principal=principal("corrector"))
    who = visitor(asked, settings(None), CORRECTORS)
    assert who is not None
    assert who.name == "Ada"
    assert visitor(asked, settings(None)) is None
    assert visitor(request(x_ms_client_principal=principal("reader")), settings(None), CORRECTORS) is None


@pytest.mark.parametrize(
    ("role", "may"),
    [
        ("operator", {"inspect", "requeue", "restore", "purge"}),
        ("requeuer", {"inspect", "requeue", "restore"}),
        ("inspector", {"inspect"}),
        ("corrector", set()),
        ("reader", set()),
    ],
)
def test_each_action_on_dead_letters_has_its_roles(
    monkeypatch: pytest.MonkeyPatch, role: str, may: set[str]
) -> None:
    for name, value in EASY_AUTH.items():
        monkeypatch.setenv(name, value)
    asked = request(x_ms_client_principal=principal(role))
    allowed = permissions(asked, settings(None))
    assert set(allowed) == set(MAY)
    assert {action for action, is_allowed in allowed.items() if is_allowed} == may
    assert (visitor(asked, settings(None)) is not None) == (role == "operator")
