"""Corrections over HTTP: who has the role says what holds instead of what was read."""

import azure.functions as func
from pydantic import BaseModel, ConfigDict, Field

from shared.clients.connections import Clients, clients
from shared.core.ids import CORRECTION_ID, HASH_ID
from shared.documents.edits import CorrectedValue, Correction, CorrectionEntry
from shared.documents.values import CorrectionKind
from shared.retrieval.parameters import QueryParameters, api_of, page_of
from shared.retrieval.threads import resolved_thread
from shared.upkeep.audit import Actor
from shared.upkeep.correcting import CorrectionAsked, Reason, correct, corrections_of_thread, revoke
from web.access import CORRECTORS, visitor
from web.api.openapi import endpoint
from web.caching import answer_with
from web.parameters import checked_id, id_of, parse_query
from web.problems import Problem, answer

OF_THREAD, ONE = "api/threads/{id}/corrections", "api/corrections/{id}"
LARGEST_BODY = 16 * 1024
CLOSED = "Corrections require an operator or an account with the corrector role (docs/reading.md)."


class CorrectionItem(BaseModel):
    """A correction with everything that was done about it; `etag` replaces or revokes it."""

    model_config = ConfigDict(extra="forbid")

    correction_id: str
    kind: CorrectionKind
    message_id: str
    value: CorrectedValue
    revoked: bool
    entries: list[CorrectionEntry]
    etag: str
    links: dict[str, str]

    @classmethod
    def of(cls, correction: Correction, thread_id: str | None) -> "CorrectionItem":
        links = {"self": api_of("corrections", correction.id)}
        return cls(
            **correction.model_dump(include={"kind", "message_id", "value", "revoked", "entries"}),
            correction_id=correction.id,
            etag=correction.etag or "",
            links=links | ({"page": page_of("threads", thread_id)} if thread_id else {}),
        )


class CorrectionList(BaseModel):
    items: list[CorrectionItem]


class RevocationAsked(QueryParameters):
    reason: Reason = Field(description="The reason, kept in the history")


@endpoint("corrections_list", "GET", OF_THREAD, {200: CorrectionList}, ids={"id": HASH_ID})
async def list_corrections(req: func.HttpRequest) -> func.HttpResponse:
    """Corrections of a thread, including revoked ones."""
    connected = await clients()
    thread = await resolved_thread(connected, id_of(req, "id", HASH_ID, "thread"))
    found = await corrections_of_thread(connected, thread.id)
    return answer_with(
        req, CorrectionList(items=[CorrectionItem.of(correction, thread.id) for correction in found])
    )


@endpoint(
    "corrections_create", "POST", OF_THREAD, {201: CorrectionItem}, body=CorrectionAsked, ids={"id": HASH_ID}
)
async def create_correction(req: func.HttpRequest) -> func.HttpResponse:
    """Correct a position, the outcome or the genre, or hide a claim. If-Match replaces a correction."""
    connected = await clients()
    actor = _corrector(req, connected)
    # A page of another site can send a form without asking first, but not this type.
    if req.headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
        raise Problem(400, "The body must be application/json.")
    body = req.get_body()
    if len(body) > LARGEST_BODY:
        raise Problem(413, f"The body can have at most {LARGEST_BODY} bytes.")
    asked = CorrectionAsked.model_validate_json(body)
    thread = await resolved_thread(connected, id_of(req, "id", HASH_ID, "thread"))
    made = await correct(connected, thread.id, asked, actor, etag=req.headers.get("if-match"))
    item = CorrectionItem.of(made, thread.id)
    return answer(201, item.model_dump(mode="json"), Location=item.links["self"], ETag=item.etag)


@endpoint(
    "corrections_revoke",
    "DELETE",
    ONE,
    {200: CorrectionItem},
    query=RevocationAsked,
    ids={"id": CORRECTION_ID},
)
async def revoke_correction(req: func.HttpRequest) -> func.HttpResponse:
    """Revoke a correction. If-Match is its ETag. Its history is kept."""
    connected = await clients()
    actor = _corrector(req, connected)
    id_ = checked_id(req.route_params["id"], CORRECTION_ID, "correction with this id")
    reason = parse_query(req, RevocationAsked).reason
    revoked = await revoke(connected, id_, reason, actor, etag=req.headers.get("if-match"))
    return answer(200, CorrectionItem.of(revoked, None).model_dump(mode="json"), ETag=revoked.etag or "")


def _corrector(req: func.HttpRequest, connected: Clients) -> Actor:
    who = visitor(req, connected.settings, CORRECTORS)
    if who is None:
        raise Problem(403, CLOSED)
    return Actor(who.name, "api")
