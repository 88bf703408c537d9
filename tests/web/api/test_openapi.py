"""The OpenAPI document is valid, names every route of the API, and matches real answers."""

from typing import Any

import pytest
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]  # it has no types
from openapi_spec_validator import validate

from tests.web.app_routes import http_routes
from tests.web.site import Site
from web.api.openapi import OPERATIONS, document


def api_routes() -> set[tuple[str, str]]:
    """Return the API's routes. HEAD goes with GET, and OpenAPI describes it only if it differs."""
    return {
        (method, route.route)
        for route in http_routes()
        for method in route.methods - {"HEAD"}
        if route.route.startswith("api/")
    }


def test_the_document_is_a_valid_openapi_document() -> None:
    validate(document())


def test_every_route_of_the_api_is_in_the_document() -> None:
    assert api_routes() == set(OPERATIONS)


def test_every_parameter_in_a_path_is_described() -> None:
    for operation in OPERATIONS.values():
        named = {part.strip("{}") for part in operation.path.split("/") if part.startswith("{")}
        assert named == set(operation.ids), operation.path


def addresses(site: Site) -> dict[str, str]:
    """Return one address for each operation that reads."""
    thread = site.thread("Call for adoption")
    message = site.json(thread["links"]["messages"])["items"][0]
    chunk = site.json(f"/api/chunks?thread={thread['thread_id']}")["items"][0]
    return {
        "api/archives": "/api/archives?limit=2&source=tally",
        "api/archives/{id}": f"/api/archives/{site.archives['tally']}",
        "api/chunks": f"/api/chunks?message={message['message_key']}&limit=1",
        "api/chunks/{id}": chunk["links"]["self"],
        "api/drafts": "/api/drafts",
        "api/drafts/{name}": "/api/drafts/draft-ietf-tally-receipts",
        "api/health": "/api/health",
        "api/messages/{key}": message["links"]["self"],
        "api/openapi.json": "/api/openapi.json",
        "api/reports": "/api/reports?limit=3",
        "api/reports/{id}": thread["links"]["report"],
        "api/search": "/api/search?q=receipts&limit=5",
        "api/sources": "/api/sources",
        "api/threads": "/api/threads?limit=3",
        "api/threads/{id}": thread["links"]["self"],
        "api/threads/{id}/messages": thread["links"]["messages"],
    }


def schema_of(path: str, status: int) -> dict[str, Any]:
    content = document()["paths"][f"/{path}"]["get"]["responses"][str(status)]["content"]
    return {**content["application/json"]["schema"], "components": document()["components"]}


def test_what_the_api_answers_keeps_to_the_document(site: Site) -> None:
    for path, address in addresses(site).items():
        body = site.json(address)
        faults = list(Draft202012Validator(schema_of(path, 200)).iter_errors(body))
        assert not faults, (path, faults[0].json_path, faults[0].message)


def test_what_was_kept_is_not_sent_again(site: Site) -> None:
    for address in addresses(site).values():
        if address == "/api/health":
            continue
        first = site.host.get(address)
        again = site.host.get(address, if_none_match=first.headers["etag"])
        assert (again.status, again.body) == (304, b""), address
        assert again.headers["etag"] == first.headers["etag"]


@pytest.mark.parametrize(
    "path",
    [
        "/api/reports/rpt-00000000-0000-0000-0000-000000000000",
        "/api/reports/x",
        "/api/reports/..%2f..%2fetc",
        "/api/threads/0000000000000000",
        "/api/threads/ABCDEF0123456789",
        "/api/threads/0000000000000000/messages",
        "/api/messages/0000000000000000",
        "/api/messages/0000000000000000/raw",
        "/api/messages/'%20OR%20true--",
        "/api/chunks/0000000000000000",
        "/api/drafts/draft-nobody-wrote-this",
        "/api/drafts/%3Cscript%3E",
        "/api/archives/0000000000000000",
        "/api/reports?limit=0",
        "/api/reports?limit=201",
        "/api/reports?sort=title",
        "/api/reports?from=20240101",
        "/api/reports?from=2024-02-31",
        "/api/reports?consensus=maybe",
        "/api/reports?thread=x",
        "/api/reports?nothing=1",
        "/api/reports?after=x",
        "/api/threads?source=a%20b",
        "/api/chunks",
        "/api/search",
        "/api/search?q=a&limit=51",
        "/api/search?q=a&skip=1001",
        "/api/search?q=a&mode=magic",
        "/api/search?q=" + "x" * 401,
        "/api/search?q=a&draft=none",
    ],
)
def test_what_is_wrong_is_told_as_rfc_9457_has_it(site: Site, path: str) -> None:
    answer = site.host.get(path)
    body = answer.json()
    assert answer.status == (422 if "?" in path or path in {"/api/chunks", "/api/search"} else 404)
    assert answer.headers["content-type"] == "application/problem+json"
    assert body["status"] == answer.status
    problem = {"$ref": "#/components/schemas/ProblemDetails", "components": document()["components"]}
    assert not list(Draft202012Validator(problem).iter_errors(body))
    if answer.status == 422:
        assert all(fault["parameter"] and fault["detail"] for fault in body["errors"])
