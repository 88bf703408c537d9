"""API of digests, which are created at once, and of new summaries, which are created in the background."""

import azure.functions as func
from pydantic import BaseModel, ConfigDict, Field

from shared.core.ids import AUDIT_ID, report_id
from shared.models.base import UtcTime
from shared.models.records import Audit, AuditStatus
from shared.operations.audit import Operator, UnknownOperationError, find_audit
from shared.operations.background import RESUMMARIZE, ThreadSelection, request_resummarizing
from shared.summaries.digest_scopes import InvalidScopeError, parse_scope
from shared.summarization.digests import refresh_digest
from shared.views.parameters import api_of
from web.api.openapi import endpoint
from web.connected import clients, current_caller
from web.parameters import body_of, checked_id
from web.problems import Problem, answer

LONGEST_BODY = 4096


class DigestAsked(BaseModel):
    model_config = ConfigDict(extra="forbid")

    scope: str = Field(
        min_length=1,
        max_length=1024,
        description="weekly:<source>:2024-W03, consensus:<source>:2024-01 or draft:<name>",
    )


class DigestMade(BaseModel):
    scope: str
    summary_id: str
    report_id: str
    links: dict[str, str]


@endpoint(
    "digests_refresh",
    "POST",
    "api/digests",
    {200: DigestMade},
    body=DigestAsked,
    needs_key=True,
)
async def refresh_one_digest(req: func.HttpRequest) -> func.HttpResponse:
    """Make a digest of a week, a month or a draft now, or return the current one."""
    try:
        scope = parse_scope(body_of(req, DigestAsked, LONGEST_BODY).scope)
    except InvalidScopeError as error:
        raise Problem(422, str(error)) from None
    connected = await clients()
    summary = await refresh_digest(connected, scope, connected.runtime.now())
    if summary is None:
        raise Problem(404, f"{scope.name}: no threads with a summary")
    report = report_id(summary.id)
    links = {"report": f"/api/reports/{report}"}
    return answer(200, {"scope": scope.name, "summary_id": summary.id, "report_id": report, "links": links})


PATH = "api/resummaries"


class ResummaryShown(BaseModel):
    """The progress: threads requested, waiting for messages, gone, left."""

    operation_id: str
    status: AuditStatus
    selection: dict[str, str | bool | float]
    counts: dict[str, int]
    outcome: str | None
    requested_by: str
    started_at: UtcTime
    finished_at: UtcTime | None
    links: dict[str, str]


@endpoint(
    "resummaries_create",
    "POST",
    PATH,
    {202: ResummaryShown},
    body=ThreadSelection,
    needs_key=True,
)
async def create_resummary(req: func.HttpRequest) -> func.HttpResponse:
    """Make new summaries of a thread, a source or all threads. Corrections are kept."""
    selection = body_of(req, ThreadSelection, LONGEST_BODY)
    connected = await clients()
    actor = Operator(current_caller().name or "a function key", "api")
    audit = await request_resummarizing(connected, selection, actor, in_background=True)
    return answer(202, _shown(audit), Location=api_of("resummaries", audit.id))


@endpoint(
    "resummaries_get",
    "GET",
    f"{PATH}/{{id}}",
    {200: ResummaryShown},
    ids={"id": AUDIT_ID},
    needs_key=True,
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
    item = ResummaryShown(
        **audit.model_dump(include={"status", "selection", "counts", "outcome", "started_at", "finished_at"}),
        operation_id=audit.id,
        requested_by=audit.actor,
        links={"self": api_of("resummaries", audit.id)},
    )
    return item.model_dump(mode="json")
