"""API of corrections and placements."""

import azure.functions as func
from pydantic import BaseModel, ConfigDict, Field

from shared.azure import connections
from shared.core.ids import CORRECTION_ID
from shared.models.edits import CorrectedValue, Correction, CorrectionEntry, Placement, PlacementEntry
from shared.models.values import CorrectionKind
from shared.operations.audit import Operator
from shared.operations.correcting import CorrectionAsked, Reason, correct, corrections_of_thread, revoke
from shared.operations.placing import PlacementAsked, place_message, placements_of_thread, undo_placement
from shared.views.parameters import QueryParameters, api_of, page_of
from shared.views.threads import find_by_id
from web.access import CORRECTORS, ONLY_OPERATORS, visitor
from web.api.openapi import endpoint
from web.caching import answer_with
from web.connected import clients
from web.parameters import Body, asked_thread, body_of, checked_id, id_of, parse_query
from web.problems import Problem, answer

CORRECTIONS, CORRECTION = "api/threads/{id}/corrections", "api/corrections/{id}"
PLACEMENTS, PLACEMENT = "api/threads/{id}/placements", "api/placements/{id}"
LARGEST_BODY = 16 * 1024
NO_CORRECTOR = "Corrections require an operator or an account with the corrector role (docs/reading.md)."
NO_OPERATOR = "Moving messages between threads requires an operator (docs/record.md)."


class CorrectionItem(BaseModel):
    """A correction with its history. `etag` is needed to replace or revoke it."""

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


class PlacementItem(BaseModel):
    """A placement of a message with its history."""

    model_config = ConfigDict(extra="forbid")

    placement_id: str
    message_id: str
    parent: str
    revoked: bool
    entries: list[PlacementEntry]
    links: dict[str, str]

    @classmethod
    def of(cls, placement: Placement) -> "PlacementItem":
        message = api_of("messages", placement.message_key)
        return cls(
            **placement.model_dump(include={"message_id", "parent", "revoked", "entries"}),
            placement_id=placement.id,
            links={"self": api_of("placements", placement.id), "message": message},
        )


class PlacementList(BaseModel):
    items: list[PlacementItem]


class UndoAsked(QueryParameters):
    reason: Reason = Field(description="The reason, kept in the history")


@endpoint("corrections_list", "GET", CORRECTIONS, {200: CorrectionList})
async def list_corrections(req: func.HttpRequest) -> func.HttpResponse:
    """Corrections of a thread, including revoked ones."""
    connected, thread = await asked_thread(req)
    found = await corrections_of_thread(connected, thread.id)
    # Reports of readers are for correctors only.
    corrections = [correction for correction in found if correction.kind is not CorrectionKind.REPORTED]
    items = [CorrectionItem.of(correction, thread.id) for correction in corrections]
    return answer_with(req, CorrectionList(items=items))


@endpoint("corrections_create", "POST", CORRECTIONS, {201: CorrectionItem}, body=CorrectionAsked)
async def create_correction(req: func.HttpRequest) -> func.HttpResponse:
    """Correct a position, the outcome or the genre, or hide a claim. If-Match replaces a correction."""
    actor = await _require_operator(req, CORRECTORS, NO_CORRECTOR)
    asked = _parse_body(req, CorrectionAsked)
    _, thread = await asked_thread(req)
    etag = req.headers.get("if-match")
    made = await correct(await connections.clients(), thread.id, asked, actor, etag=etag)
    item = CorrectionItem.of(made, thread.id)
    return answer(201, item.model_dump(mode="json"), Location=item.links["self"], ETag=item.etag)


@endpoint(
    "corrections_revoke",
    "DELETE",
    CORRECTION,
    {200: CorrectionItem},
    query=UndoAsked,
    ids={"id": CORRECTION_ID},
)
async def revoke_correction(req: func.HttpRequest) -> func.HttpResponse:
    """Revoke a correction. If-Match is its ETag. Its history is kept."""
    actor = await _require_operator(req, CORRECTORS, NO_CORRECTOR)
    id_ = checked_id(req.route_params["id"], CORRECTION_ID, "correction with this id")
    reason = parse_query(req, UndoAsked).reason
    await find_by_id(await clients(), Correction, id_)  # checks that the caller may read it
    etag = req.headers.get("if-match")
    revoked = await revoke(await connections.clients(), id_, reason, actor, etag=etag)
    return answer(200, CorrectionItem.of(revoked, None).model_dump(mode="json"), ETag=revoked.etag or "")


@endpoint("placements_list", "GET", PLACEMENTS, {200: PlacementList})
async def list_placements(req: func.HttpRequest) -> func.HttpResponse:
    """Placements of a thread, including undone ones."""
    _, thread = await asked_thread(req)
    found = await placements_of_thread(await connections.clients(), thread.id)
    return answer_with(req, PlacementList(items=[PlacementItem.of(placement) for placement in found]))


@endpoint("placements_create", "POST", PLACEMENTS, {201: PlacementItem}, body=PlacementAsked)
async def create_placement(req: func.HttpRequest) -> func.HttpResponse:
    """Split a thread at a message, or move the message to another thread or under another message."""
    actor = await _require_operator(req, ONLY_OPERATORS, NO_OPERATOR)
    asked = _parse_body(req, PlacementAsked)
    connected, thread = await asked_thread(req)
    item = PlacementItem.of(await place_message(connected, thread.id, asked, actor))
    return answer(201, item.model_dump(mode="json"), Location=item.links["self"])


@endpoint("placements_undo", "DELETE", PLACEMENT, {200: PlacementItem}, query=UndoAsked)
async def undo(req: func.HttpRequest) -> func.HttpResponse:
    """Undo a placement. Its history is kept."""
    actor = await _require_operator(req, ONLY_OPERATORS, NO_OPERATOR)
    id_, reason = id_of(req, "placement"), parse_query(req, UndoAsked).reason
    undone = await undo_placement(await clients(), id_, reason, actor)
    return answer(200, PlacementItem.of(undone).model_dump(mode="json"))


async def _require_operator(req: func.HttpRequest, roles: frozenset[str], closed: str) -> Operator:
    who = visitor(req, (await clients()).settings, roles)
    if who is None:
        raise Problem(403, closed)
    return Operator(who.name, "api")


def _parse_body(req: func.HttpRequest, model: type[Body]) -> Body:
    # A page of another site can send a form without a preflight request, but not with this type.
    if req.headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
        raise Problem(400, "The body must be application/json.")
    return body_of(req, model, LARGEST_BODY)
