"""Digests over HTTP: have one made at once."""

import azure.functions as func
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from shared.clients.connections import clients
from shared.core.ids import report_id
from shared.domain.summaries.digest_scopes import InvalidScopeError, parse_scope
from shared.summarization.digests import refresh_digest
from web.api.openapi import endpoint
from web.problems import Problem, answer, invalid

PATH = "api/digests"
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


@endpoint("digests_refresh", "POST", PATH, {200: DigestMade}, body=DigestAsked, needs_key=True)
async def refresh_one_digest(req: func.HttpRequest) -> func.HttpResponse:
    """Make a digest of a week, a month or a draft now, or return the current one."""
    body = req.get_body()
    if len(body) > LONGEST_BODY:
        raise Problem(413, f"The body can have at most {LONGEST_BODY} bytes.")
    try:
        scope = parse_scope(DigestAsked.model_validate_json(body).scope)
    except ValidationError as error:
        raise invalid(error) from None
    except InvalidScopeError as error:
        raise Problem(422, str(error)) from None
    connected = await clients()
    summary = await refresh_digest(connected, scope, connected.runtime.now())
    if summary is None:
        raise Problem(404, f"{scope.name}: no threads with a summary")
    report = report_id(summary.id)
    links = {"report": f"/api/reports/{report}"}
    return answer(200, {"scope": scope.name, "summary_id": summary.id, "report_id": report, "links": links})
