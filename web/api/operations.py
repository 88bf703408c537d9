"""API of operations, which a queue's function runs after they were accepted."""

from typing import Any

import azure.functions as func
from pydantic import BaseModel

from shared.azure.connections import Clients
from shared.azure.cosmos.session import Session
from shared.core.ids import OPERATION_ID
from shared.models.sources import Operation, Removal
from shared.operations.removal.requests import request_removal
from shared.views.parameters import api_of
from web.api.ingestion_schemas import OperationDetail, OperationShown, RemovalDetail
from web.api.openapi import endpoint
from web.caching import answer_json
from web.connected import clients, current_caller
from web.parameters import checked_id
from web.problems import Problem, answer


def accepted(operation_id: str, *, already_running: bool) -> func.HttpResponse:
    location = api_of("operations", operation_id)
    links = {"operation": location}
    body = {"operation_id": operation_id, "already_running": already_running, "links": links}
    return answer(202, body, Location=location)


async def accept_removal(connected: Clients, kind: str, target: str) -> func.HttpResponse:
    now = connected.runtime.now()
    by = current_caller().name
    removal = await request_removal(connected, kind, target, requested_by=by, now=now, via="api")
    if removal is None:
        raise Problem(404, f"There is no {kind} {target!r}.")
    return accepted(removal.id, already_running=removal.created_at != now)


@endpoint("operations_get", "GET", "api/operations/{id}", {200: OperationShown}, ids={"id": OPERATION_ID})
async def get_operation(req: func.HttpRequest) -> func.HttpResponse:
    """The state of a requested fetch or deletion."""
    what = "operation with this id (operations are kept for a week)"
    id_, store = checked_id(req.route_params["id"], OPERATION_ID, what), (await clients()).store
    operation = await store.find(Operation, id_, Session())
    if operation is not None:
        links = {"source": api_of("sources", operation.source)}
        return answer_json(req, _shown(operation, OperationDetail, links))
    removal = await store.find(Removal, id_, Session())
    if removal is None:
        raise Problem(404, f"There is no {what}.")
    return answer_json(req, _shown(removal, RemovalDetail, {}))


def _shown(document: Operation | Removal, shape: type[BaseModel], links: dict[str, str]) -> dict[str, Any]:
    fields = document.model_dump(mode="json", include=set(shape.model_fields))
    return {**fields, "links": {"self": api_of("operations", document.id), **links}}
