"""The OpenAPI document, generated from the declarations of the endpoints."""

import functools
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any, TypeVar

import azure.functions as func
from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from shared.core.ids import HASH_ID, PATTERNS
from shared.views.parameters import QueryParameters
from web.access import ONLY_OPERATORS, OPEN, READERS
from web.caching import answer_of
from web.routes import Handler, route

JSON = "application/json"
PROBLEM = "application/problem+json"
REFERENCE = "#/components/schemas/{model}"
Function = TypeVar("Function", bound=Callable[..., Any])


class Fault(BaseModel):
    detail: str
    parameter: str | None = None
    pointer: str | None = None


class ProblemDetails(BaseModel):
    """RFC 9457. `errors` has the query parameter or JSON pointer of each fault."""

    type: str
    title: str
    status: int
    detail: str
    errors: list[Fault] | None = None
    problems: list[str] | None = None


Answers = Mapping[int, type[BaseModel] | str]


@dataclass(frozen=True)
class Described:
    """An operation of the API. An answer is a model, or a media type for content other than JSON."""

    method: str
    path: str
    name: str
    summary: str
    answers: Answers
    query: type[QueryParameters] | None = None
    body: type[BaseModel] | str | None = None
    ids: Mapping[str, str] = field(default_factory=dict)
    needs_key: bool = False


OPERATIONS: dict[tuple[str, str], Described] = {}


def documented(
    method: str, path: str, answers: Answers, *, name: str = "", **described: Any
) -> Callable[[Function], Function]:
    """Add a function to the document. The first line of its docstring is the summary."""
    named = re.findall(r"(\w+)/\{(\w+)\}", path)
    described.setdefault(
        "ids", {name: PATTERNS.get(collection.removesuffix("s"), HASH_ID) for collection, name in named}
    )

    def remember(function: Function) -> Function:
        summary = (function.__doc__ or function.__name__.replace("_", " ").capitalize()).strip()
        OPERATIONS[method, path] = Described(
            method, path, name or function.__name__, summary.partition("\n")[0], answers, **described
        )
        return function

    return remember


ROUTED = ("roles", "limited", "largest")  # parameters of the route (web/routes.py)


def endpoint(
    name: str, method: str, path: str, answers: Answers, **described: Any
) -> Callable[[Handler], Any]:
    """Register a function of the API with its route, its entry in the document, and its errors."""
    routed = {key: described.pop(key) for key in ROUTED if key in described}
    by_key = bool(described.get("needs_key"))
    routed = {"roles": ONLY_OPERATORS if by_key else READERS, "by_key": by_key, **routed}

    def register(handler: Handler) -> Any:
        function = documented(method, path, answers, **described)(handler)
        return route(name, path, *(() if method == "GET" else (method,)), **routed)(function)

    return register


@functools.lru_cache(maxsize=1)
def document() -> dict[str, Any]:
    contents = (
        content
        for operation in OPERATIONS.values()
        for content in (*operation.answers.values(), operation.body)
    )
    models = dict.fromkeys([ProblemDetails, *(item for item in contents if isinstance(item, type))])
    wanted = [(model, "serialization") for model in models]
    _, schemas = models_json_schema(wanted, ref_template=REFERENCE)  # type: ignore[arg-type]  # literals
    paths: dict[str, Any] = {}
    for operation in sorted(OPERATIONS.values(), key=lambda described: (described.path, described.method)):
        paths.setdefault(f"/{operation.path}", {})[operation.method.lower()] = _operation(operation)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Rough Consensus",
            "version": "1",
            "description": "Decisions of mailing lists, with the mails as evidence.",
        },
        "servers": [{"url": "/"}],
        "paths": paths,
        "components": {
            "schemas": schemas["$defs"],
            "securitySchemes": {"key": {"type": "apiKey", "in": "header", "name": "x-functions-key"}},
        },
    }


def _operation(operation: Described) -> dict[str, Any]:
    described: dict[str, Any] = {
        "operationId": operation.name,
        "summary": operation.summary,
        "parameters": [
            *({"name": name, "in": "path", "required": True, "schema": {"type": "string", "pattern": pattern}}
              for name, pattern in operation.ids.items()),
            *_in_query(operation),
        ],
        "responses": {
            **{str(status): _content(HTTPStatus(status).phrase, what)
               for status, what in operation.answers.items()},
            "default": _content("Problem details", ProblemDetails, PROBLEM),
        },
    }  # fmt: skip
    if operation.body is not None:
        described["requestBody"] = {"required": True, "content": _content("", operation.body)["content"]}
    if operation.needs_key:
        described["security"] = [{"key": []}]
        described["responses"]["401"] = {
            "description": "Without a valid key. The host answers without a body"
        }
    return described


def _content(description: str, content: type[BaseModel] | str, json_type: str = JSON) -> dict[str, Any]:
    if isinstance(content, str):
        schema = {"type": "object"} if content.endswith("+json") else {}
        return {"description": description, "content": {content: {"schema": schema}}}
    schema = {"$ref": REFERENCE.format(model=content.__name__)}
    return {"description": description, "content": {json_type: {"schema": schema}}}


def _in_query(operation: Described) -> list[dict[str, Any]]:
    if operation.query is None:
        return []
    schema = operation.query.model_json_schema(ref_template=REFERENCE)
    return [
        {"name": name, "in": "query", "schema": _flat(described, schema.get("$defs", {}))}
        # The Functions host does not pass on empty parameters.
        | ({"required": True} if name in schema.get("required", []) else {"allowEmptyValue": True})
        for name, described in schema["properties"].items()
    ]


def _flat(schema: dict[str, Any], definitions: Mapping[str, Any]) -> dict[str, Any]:
    """Return the schema with resolved references and without null, which a query string cannot express."""
    choices = [choice for choice in schema.get("anyOf", []) if choice != {"type": "null"}]
    if len(choices) == 1:
        schema = {**{name: value for name, value in schema.items() if name != "anyOf"}, **choices[0]}
    if "$ref" in schema:
        referred = definitions[schema["$ref"].rpartition("/")[2]]
        schema = {**{name: value for name, value in schema.items() if name != "$ref"}, **referred}
    return {name: value for name, value in schema.items() if not (name == "default" and value is None)}


@endpoint("openapi", "GET", "api/openapi.json", {200: JSON}, roles=OPEN)
async def openapi(req: func.HttpRequest) -> func.HttpResponse:
    """The OpenAPI document of this API."""
    return answer_of(req, json.dumps(document()).encode(), JSON)
