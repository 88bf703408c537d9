"""Operations over HTTP: what became of a fetch that was asked for."""

import re
from typing import Any

import azure.functions as func

from shared.clients.connections import clients
from shared.clients.cosmos.session import Session
from shared.documents.operations import Operation
from shared.documents.removals import Removal
from web.api.ingestion_schemas import OperationDetail, OperationShown, RemovalDetail
from web.api.openapi import documented
from web.caching import answer_json
from web.problems import Problem, json_errors

__all__ = ["blueprint"]

blueprint = func.Blueprint()
_ID = re.compile(r"[0-9a-f]{32}")


@blueprint.function_name("operations_get")
@blueprint.route(route="api/operations/{id}", methods=["GET"], auth_level=func.AuthLevel.ANONYMOUS)
@documented("GET", "api/operations/{id}", {200: OperationShown}, ids={"id": r"^[0-9a-f]{32}$"})
@json_errors
async def get_operation(req: func.HttpRequest) -> func.HttpResponse:
    """What became of a fetch or a deletion that was asked for."""
    id_, operation = req.route_params["id"], None
    if _ID.fullmatch(id_):
        operation = await (await clients()).store.find(Operation, id_, id_, Session())
    if operation is None and (removal := await _removal(id_)) is not None:
        return answer_json(req, removal)
    if operation is None:
        raise Problem(404, "There is no operation with this id; they are kept for a week.")
    links = {"self": f"/api/operations/{operation.id}", "source": f"/api/sources/{operation.source}"}
    shown = operation.model_dump(mode="json", include=set(OperationDetail.model_fields))
    return answer_json(req, {**shown, "links": links})


async def _removal(id_: str) -> dict[str, Any] | None:
    """A deletion, and when it is done its receipt."""
    removal = None
    if _ID.fullmatch(id_):
        removal = await (await clients()).store.find(Removal, id_, id_, Session())
    if removal is None:
        return None
    shown = removal.model_dump(mode="json", include=set(RemovalDetail.model_fields))
    return {**shown, "links": {"self": f"/api/operations/{removal.id}"}}
