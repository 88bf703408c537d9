"""Summaries made anew over HTTP: asked for here, done in the background, followed at their address."""

import azure.functions as func
from pydantic import BaseModel, ValidationError

from shared.clients.connections import clients
from shared.core.ids import AUDIT_ID
from shared.documents.base import UtcTime
from shared.documents.records import Audit, AuditStatus
from shared.retrieval.parameters import api_of
from shared.upkeep.audit import Actor, UnknownOperationError, find_audit
from shared.upkeep.background import RESUMMARIZE, ThreadSelection, request_resummarizing
from web.access import visitor
from web.api.openapi import endpoint
from web.parameters import checked_id
from web.problems import Problem, answer, invalid

PATH = "api/resummaries"
LONGEST_BODY = 4096


class ResummaryShown(BaseModel):
    """How far it has come: requested, waiting for their messages, gone, left."""

    operation_id: str
    status: AuditStatus
    selection: dict[str, str | bool | float]
    counts: dict[str, int]
    outcome: str | None
    requested_by: str
    started_at: UtcTime
    finished_at: UtcTime | None
    links: dict[str, str]


@endpoint("resummaries_create", "POST", PATH, {202: ResummaryShown}, body=ThreadSelection, needs_key=True)
async def create_resummary(req: func.HttpRequest) -> func.HttpResponse:
    """Make new summaries of a thread, a source or all threads. Corrections are kept."""
    body = req.get_body()
    if len(body) > LONGEST_BODY:
        raise Problem(413, f"The body can have at most {LONGEST_BODY} bytes.")
    try:
        selection = ThreadSelection.model_validate_json(body)
    except ValidationError as error:
        raise invalid(error) from None
    connected = await clients()
    who = visitor(req, connected.settings)
    actor = Actor(who.name if who else "a function key", "api")
    audit = await request_resummarizing(connected, selection, actor, in_background=True)
    return answer(202, _shown(audit), Location=api_of("resummaries", audit.id))


@endpoint(
    "resummaries_get", "GET", f"{PATH}/{{id}}", {200: ResummaryShown}, ids={"id": AUDIT_ID}, needs_key=True
)
async def get_resummary(req: func.HttpRequest) -> func.HttpResponse:
    """The progress of a resummary."""
    id_ = checked_id(req.route_params["id"], AUDIT_ID, "operation with this id")
    try:
        audit = await find_audit((await clients()).store, id_)
    except UnknownOperationError:
        raise Problem(404, "There is no operation with this id.") from None
    if audit.action != RESUMMARIZE:
        raise Problem(404, "There is no operation with this id.")
    return answer(200, _shown(audit))


def _shown(audit: Audit) -> dict[str, object]:
    shown = ResummaryShown(
        **audit.model_dump(include={"status", "selection", "counts", "outcome", "started_at", "finished_at"}),
        operation_id=audit.id,
        requested_by=audit.actor,
        links={"self": api_of("resummaries", audit.id)},
    )
    return shown.model_dump(mode="json")
