"""Sources over HTTP: define them, change them, and ask for one to be fetched."""

import json
import re
from datetime import UTC, datetime
from typing import Any

import azure.functions as func

from shared.clients.connections import Clients, clients
from shared.clients.cosmos.session import Session
from shared.clients.cosmos.store import Conflict
from shared.clients.outbound import redacted_url
from shared.documents.containers import read_document
from shared.documents.queries.sources import SOURCES
from shared.documents.sources import NAME_PATTERN, Source, SourceType
from shared.ingestion.fetch_requests import Requested, request_fetch
from shared.ingestion.source_definitions import (
    SourceDefinition,
    check_reachable,
    definition_of,
    source_of,
    updated_source,
)
from shared.retrieval.parameters import Limit, QueryParameters
from web.api.ingestion_schemas import OperationAccepted, SourceDeleted, SourceItem, SourceList
from web.api.openapi import documented
from web.api.removals import accept_removal
from web.caching import answer_json
from web.pagination import page, page_size
from web.problems import Problem, answer, json_errors

__all__ = ["blueprint"]

blueprint = func.Blueprint()
PATH = "/api/sources"
PLACE, ONE = "api/sources", "api/sources/{name}"
NAMED = {"name": NAME_PATTERN}
LARGEST_BODY = 64 * 1024
TRIES = 5
CHANGED = "The source changed meanwhile: read it again, and repeat."


class DeletionAsked(QueryParameters):
    derived: bool = False


class SourcesAsked(QueryParameters):
    limit: Limit = 50
    after: str | None = None


@blueprint.function_name("sources_create")
@blueprint.route(route="api/sources", methods=["POST"], auth_level=func.AuthLevel.FUNCTION)
@documented("POST", PLACE, {201: SourceItem}, body=SourceDefinition, needs_key=True)
@json_errors
async def create_source(req: func.HttpRequest) -> func.HttpResponse:
    """Define a source that archives are fetched from."""
    connected = await clients()
    definition = _checked(_body(req), connected)
    session = Session()
    source = source_of(definition, datetime.now(UTC))
    if not await connected.store.create(source, session):
        raise Problem(409, f"There is a source named {definition.name!r} already.")
    created = await connected.store.read(Source, source.id, source.id, session)
    return answer(201, _shown(created), Location=f"{PATH}/{source.id}", ETag=created.etag or "")


@blueprint.function_name("sources_list")
@blueprint.route(route="api/sources", methods=["GET"], auth_level=func.AuthLevel.ANONYMOUS)
@documented("GET", PLACE, {200: SourceList}, query=SourcesAsked)
@json_errors
async def list_sources(req: func.HttpRequest) -> func.HttpResponse:
    """The defined sources, by name."""
    connected, size = await clients(), page_size(req)
    after = req.params.get("after", "")
    rows = [each async for each in connected.store.query(SOURCES, Session(), after=after, limit=size + 1)]
    found = [read_document(Source, each) for each in rows]
    return answer_json(req, page(req, PATH, found, size, _shown, lambda each: each.id))


@blueprint.function_name("sources_get")
@blueprint.route(route="api/sources/{name}", methods=["GET"], auth_level=func.AuthLevel.ANONYMOUS)
@documented("GET", ONE, {200: SourceItem}, ids=NAMED)
@json_errors
async def get_source(req: func.HttpRequest) -> func.HttpResponse:
    """One source's definition, and how its last fetch went."""
    source = await _found(req, await clients())
    return answer_json(req, _shown(source), etag=source.etag)


@blueprint.function_name("sources_update")
@blueprint.route(route="api/sources/{name}", methods=["PUT", "PATCH"], auth_level=func.AuthLevel.FUNCTION)
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
@json_errors
async def update_source(req: func.HttpRequest) -> func.HttpResponse:
    """PUT gives the whole definition anew; PATCH is a JSON merge patch of it (RFC 7396)."""
    connected = await clients()
    for _ in range(TRIES):
        source = await _found(req, connected)
        _check_match(req, source)
        now = datetime.now(UTC)
        updated = updated_source(source, _checked(_merged(req, source), connected), now)
        kept = await connected.store.replace(updated, Session())
        if kept is not Conflict.CONFLICT:
            return answer(200, _shown(kept), ETag=kept.etag or "")
    raise Problem(409, CHANGED)


@blueprint.function_name("sources_delete")
@blueprint.route(route="api/sources/{name}", methods=["DELETE"], auth_level=func.AuthLevel.FUNCTION)
@documented(
    "DELETE",
    ONE,
    {200: SourceDeleted, 202: OperationAccepted},
    query=DeletionAsked,
    ids=NAMED,
    needs_key=True,
)
@json_errors
async def delete_source(req: func.HttpRequest) -> func.HttpResponse:
    """Delete a source's definition; with `derived` also all that came from it, which else is kept."""
    connected = await clients()
    source = await _found(req, connected)
    _check_match(req, source)
    if req.params.get("derived", "").lower() == "true":
        return await accept_removal(connected, "source", source.name)
    await connected.store.delete(Source, source.id, source.id, Session())
    kept = "Only the source itself was deleted; archives, messages and reports that came from it are kept."
    return answer(200, {"name": source.name, "deleted": True, "cascade": False, "detail": kept})


@blueprint.function_name("sources_trigger")
@blueprint.route(route="api/sources/{name}/trigger", methods=["POST"], auth_level=func.AuthLevel.FUNCTION)
@documented("POST", f"{ONE}/trigger", {202: OperationAccepted}, ids=NAMED, needs_key=True)
@json_errors
async def trigger_source(req: func.HttpRequest) -> func.HttpResponse:
    """Ask for a fetch now; where one is under way, that one is the answer."""
    connected = await clients()
    for _ in range(TRIES):
        source = await _found(req, connected)
        if source.source_type == SourceType.UPLOAD:
            raise Problem(409, "This source takes uploads and has nothing to fetch: use POST /api/archives.")
        requested = await request_fetch(source, connected, requested_by="trigger", now=datetime.now(UTC))
        if isinstance(requested, Requested):
            return _accepted(requested)
    raise Problem(409, CHANGED)


def _accepted(requested: Requested) -> func.HttpResponse:
    location = f"/api/operations/{requested.operation_id}"
    body = {
        "operation_id": requested.operation_id,
        "already_running": not requested.is_new,
        "links": {"operation": location},
    }
    return answer(202, body, Location=location)


def _body(req: func.HttpRequest) -> dict[str, Any]:
    content = req.get_body()
    if len(content) > LARGEST_BODY:
        raise Problem(413, f"A source's definition has at most {LARGEST_BODY} bytes.")
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
        body["url"] = source.url  # given back as it was shown
    if body.setdefault("name", source.name) != source.name:
        fault = {"pointer": "/name", "detail": "a source cannot be renamed"}
        raise Problem(422, f"/name: {fault['detail']}", errors=[fault])
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


def _checked(body: dict[str, Any], connected: Clients) -> SourceDefinition:
    definition = SourceDefinition.model_validate(body)
    try:
        check_reachable(definition, connected.settings)
    except ValueError as error:
        fault = {"pointer": "/url", "detail": str(error).removeprefix("url: ")}
        raise Problem(422, f"/url: {fault['detail']}", errors=[fault]) from None
    return definition


async def _found(req: func.HttpRequest, connected: Clients) -> Source:
    name, source = req.route_params["name"], None
    if re.fullmatch(NAME_PATTERN, name):
        source = await connected.store.find(Source, name, name, Session())
    if source is None:
        raise Problem(404, "There is no source with this name.")
    return source


def _check_match(req: func.HttpRequest, source: Source) -> None:
    wanted = req.headers.get("if-match")
    if wanted and wanted != "*" and source.etag not in [each.strip() for each in wanted.split(",")]:
        raise Problem(412, CHANGED)


def _shown(source: Source) -> dict[str, Any]:
    shown = source.model_dump(mode="json", include=set(SourceItem.model_fields))
    links = {"self": f"{PATH}/{source.id}", "trigger": f"{PATH}/{source.id}/trigger"}
    return {**shown, "url": redacted_url(source.url), "links": links}
