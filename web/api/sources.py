"""API of sources: definition, change, deletion and fetch."""

import json
import re
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import azure.functions as func

from shared.azure.access import forget_readers
from shared.azure.connections import Clients
from shared.azure.cosmos.session import Session
from shared.azure.cosmos.store import Conflict
from shared.azure.outbound import redacted_url
from shared.ingestion.fetch_runs import Requested, request_fetch
from shared.ingestion.source_definitions import (
    SourceDefinition,
    check_login_given,
    check_reachable,
    definition_of,
    source_of,
    updated_source,
)
from shared.models.sources import NAME_PATTERN, Source, SourceType
from shared.operations.audit import Operator, audited
from shared.views.listing import SOURCES
from shared.views.parameters import After, Limit, QueryParameters, api_of
from web.access import ONLY_OPERATORS, is_operator
from web.api.ingestion_schemas import (
    OperationAccepted,
    PublicSource,
    SourceDeleted,
    SourceItem,
    SourceList,
    SourceShown,
)
from web.api.openapi import documented, endpoint
from web.api.operations import accept_removal, accepted
from web.caching import BY_CALLER, answer_json
from web.connected import clients, current_caller
from web.parameters import next_address, parse_query
from web.problems import Problem, answer, bad_field
from web.routes import route

PLACE, ONE = "api/sources", "api/sources/{name}"
NAMED = {"name": NAME_PATTERN}
LARGEST_BODY = 64 * 1024
MAX_WRITE_ATTEMPTS = 5  # optimistic concurrency: a fetch writes to the same source
_USER = re.compile(r"//[^/@]*@")
CHANGED = "The source was changed. Read it again and retry."


class DeletionAsked(QueryParameters):
    derived: bool = False


class SourcesAsked(QueryParameters):
    limit: Limit = 50
    after: After = None


@endpoint(
    "sources_create",
    "POST",
    PLACE,
    {201: SourceItem},
    body=SourceDefinition,
    needs_key=True,
)
async def create_source(req: func.HttpRequest) -> func.HttpResponse:
    """Define a source to fetch archives from."""
    connected = await clients()
    definition = _checked(_body(req), connected)
    session = Session()
    source = source_of(definition, connected.runtime.now())
    async with _audited(connected, "create source", source):
        if not await connected.store.create(source, session):
            raise Problem(409, f"A source named {definition.name!r} already exists.")
    created = await connected.store.read(Source, source.id, session)
    return answer(201, _shown(created), Location=api_of("sources", source.id), ETag=created.etag or "")


@endpoint("sources_list", "GET", PLACE, {200: SourceList}, query=SourcesAsked)
async def list_sources(req: func.HttpRequest) -> func.HttpResponse:
    """The defined sources by name. Operators also see their settings and last fetches."""
    wanted, connected = parse_query(req, SourcesAsked), await clients()
    page = await SOURCES.page(connected.store, after=wanted.after, size=wanted.limit)
    show = _view_for(req, connected)
    items = [show(source) for source in page.items]
    body = {"items": items, "next": next_address(req, "/api/sources", page.cursor)}
    return answer_json(req, body, headers=BY_CALLER)


@endpoint("sources_get", "GET", ONE, {200: SourceShown}, ids=NAMED)
async def get_source(req: func.HttpRequest) -> func.HttpResponse:
    """One source. Operators also see its settings and last fetch."""
    connected = await clients()
    source = await _find_source(req, connected)
    return answer_json(req, _view_for(req, connected)(source), etag=source.etag, headers=BY_CALLER)


@route("sources_update", ONE, "PUT", "PATCH", roles=ONLY_OPERATORS, by_key=True)
@documented("PUT", ONE, {200: SourceItem}, body=SourceDefinition, ids=NAMED, needs_key=True)
@documented(
    "PATCH",
    ONE,
    {200: SourceItem},
    body="application/merge-patch+json",
    ids=NAMED,
    needs_key=True,
    name="patch_source",
)
async def update_source(req: func.HttpRequest) -> func.HttpResponse:
    """Change a source definition: PUT replaces it, PATCH is a JSON merge patch (RFC 7396)."""
    connected = await clients()
    for _ in range(MAX_WRITE_ATTEMPTS):
        source = await _find_source(req, connected)
        _check_match(req, source)
        # PUT replaces all fields, PATCH only the fields in its body.
        definition = _checked(_merged(req, source), connected, source, _body(req).get("settings"))
        updated = updated_source(source, definition, connected.runtime.now())
        async with _audited(connected, "update source", updated):
            stored = await connected.store.replace(updated, Session())
        if stored is not Conflict.CONFLICT:
            return answer(200, _shown(stored), ETag=stored.etag or "")
    raise Problem(409, CHANGED)


@endpoint(
    "sources_delete",
    "DELETE",
    ONE,
    {200: SourceDeleted, 202: OperationAccepted},
    query=DeletionAsked,
    ids=NAMED,
    needs_key=True,
)
async def delete_source(req: func.HttpRequest) -> func.HttpResponse:
    """Delete a source definition. With `derived`, also delete all data derived from it."""
    wanted, connected = parse_query(req, DeletionAsked), await clients()
    source = await _find_source(req, connected)
    _check_match(req, source)
    if wanted.derived:
        return await accept_removal(connected, "source", source.name)
    async with _audited(connected, "delete source", source):
        await connected.store.delete(Source, source.id, Session())
    detail = "Only the source definition was deleted. Its archives, messages and reports are kept."
    return answer(200, {"name": source.name, "deleted": True, "cascade": False, "detail": detail})


@endpoint(
    "sources_trigger",
    "POST",
    f"{ONE}/trigger",
    {202: OperationAccepted},
    ids=NAMED,
    needs_key=True,
)
async def trigger_source(req: func.HttpRequest) -> func.HttpResponse:
    """Start a fetch, or return the one in progress."""
    connected = await clients()
    for _ in range(MAX_WRITE_ATTEMPTS):
        source = await _find_source(req, connected)
        if source.source_type == SourceType.UPLOAD:
            raise Problem(409, "This source has nothing to fetch. Upload archives with POST /api/archives.")
        now = connected.runtime.now()
        requested = await request_fetch(source, connected, requested_by=current_caller().name, now=now)
        if isinstance(requested, Requested):
            return accepted(requested.operation_id, already_running=not requested.is_new)
    raise Problem(409, CHANGED)


@asynccontextmanager
async def _audited(connected: Clients, action: str, source: Source) -> AsyncIterator[None]:
    """Record the caller and the readers of the definition. A change of readers applies at once."""
    selection = {"source": source.name, "readers": source.readers, "keep_days": source.keep_days}
    async with audited(connected, action, Operator(current_caller().name, "api"), selection):
        yield
    forget_readers(connected)


def _body(req: func.HttpRequest) -> dict[str, Any]:
    content = req.get_body()
    if len(content) > LARGEST_BODY:
        raise Problem(413, f"A source definition can have at most {LARGEST_BODY} bytes.")
    try:
        body = json.loads(content)
    except (ValueError, RecursionError):
        raise Problem(400, "The body is not JSON.") from None
    if not isinstance(body, dict):
        raise Problem(400, "The body is not a JSON object.")
    return body


def _merged(req: func.HttpRequest, source: Source) -> dict[str, Any]:
    body = _body(req)
    if req.method == "PATCH":
        body = _merge_patch(definition_of(source), body)
    if body.get("url") == redacted_url(source.url):
        body["url"] = source.url  # the client sends back the redacted address
    if body.get("name", source.name) != source.name:
        raise bad_field("name", "a source cannot be renamed")
    return body


def _merge_patch(target: Any, patch: Any) -> Any:
    if not isinstance(patch, dict):
        return patch
    merged = dict(target) if isinstance(target, dict) else {}
    for name, value in patch.items():
        if value is None:
            merged.pop(name, None)
        else:
            merged[name] = _merge_patch(merged.get(name), value)
    return merged


def _checked(
    body: dict[str, Any], connected: Clients, changed: Source | None = None, login: Any = None
) -> SourceDefinition:
    definition, name = SourceDefinition.model_validate(body), "url"
    try:
        check_reachable(definition, connected.settings)
        name = "settings"
        if changed is not None:
            check_login_given(changed, definition, login)
    except ValueError as error:
        raise bad_field(name, str(error).removeprefix(f"{name}: ")) from None
    return definition


async def _find_source(req: func.HttpRequest, connected: Clients) -> Source:
    name, source = req.route_params["name"], None
    if re.fullmatch(NAME_PATTERN, name):
        source = await connected.store.find(Source, name, Session())
    if source is None:
        raise Problem(404, "There is no source with this name.")
    return source


def _check_match(req: func.HttpRequest, source: Source) -> None:
    wanted = req.headers.get("if-match")
    if wanted and wanted != "*" and source.etag not in [tag.strip() for tag in wanted.split(",")]:
        raise Problem(412, CHANGED)


def _view_for(req: func.HttpRequest, connected: Clients) -> Callable[[Source], dict[str, Any]]:
    return _shown if is_operator(req, connected.settings) else _public


def _shown(source: Source) -> dict[str, Any]:
    """Return all fields except the signature of the link, for operators and holders of a function key."""
    fields = source.model_dump(mode="json", by_alias=True, include=set(SourceItem.model_fields))
    return {**fields, "url": redacted_url(source.url), "links": _links(source)}


def _public(source: Source) -> dict[str, Any]:
    """Return the public fields. Settings, cursor, lease and errors may contain secrets."""
    fields = source.model_dump(mode="json", include=set(PublicSource.model_fields))
    is_path = source.source_type == SourceType.LOCAL  # on the machine of the app
    url = "" if is_path else _USER.sub("//", redacted_url(source.url.partition("#")[0]))
    return {**fields, "url": url, "links": _links(source)}


def _links(source: Source) -> dict[str, str]:
    own = api_of("sources", source.id)
    return {"self": own, "trigger": f"{own}/trigger"}
