"""Placements over HTTP: an operator says where a message belongs, whatever its headers say."""

import azure.functions as func
from pydantic import BaseModel, ConfigDict, Field

from shared.clients.connections import Clients, clients
from shared.core.ids import HASH_ID
from shared.documents.edits import Placement, PlacementEntry
from shared.retrieval.parameters import QueryParameters, api_of
from shared.retrieval.threads import resolved_thread
from shared.upkeep.audit import Actor
from shared.upkeep.correcting import Reason
from shared.upkeep.placing import PlacementAsked, place_message, placements_of_thread, undo_placement
from web.access import visitor
from web.api.openapi import endpoint
from web.caching import answer_with
from web.parameters import id_of, parse_query
from web.problems import Problem, answer

OF_THREAD, ONE = "api/threads/{id}/placements", "api/placements/{id}"
LARGEST_BODY = 16 * 1024


class PlacementItem(BaseModel):
    """Where a message was put, with everything that was done about it."""

    model_config = ConfigDict(extra="forbid")

    placement_id: str
    message_id: str
    parent: str
    revoked: bool
    entries: list[PlacementEntry]
    links: dict[str, str]

    @classmethod
    def of(cls, placement: Placement) -> "PlacementItem":
        return cls(
            **placement.model_dump(include={"message_id", "parent", "revoked", "entries"}),
            placement_id=placement.id,
            links={
                "self": api_of("placements", placement.id),
                "message": api_of("messages", placement.message_key),
            },
        )


class PlacementList(BaseModel):
    items: list[PlacementItem]


class UndoAsked(QueryParameters):
    reason: Reason = Field(description="The reason, kept in the history")


@endpoint("placements_list", "GET", OF_THREAD, {200: PlacementList}, ids={"id": HASH_ID})
async def list_placements(req: func.HttpRequest) -> func.HttpResponse:
    """Placements of a thread, including undone ones."""
    connected = await clients()
    thread = await resolved_thread(connected, id_of(req, "id", HASH_ID, "thread"))
    found = await placements_of_thread(connected, thread.id)
    return answer_with(req, PlacementList(items=[PlacementItem.of(placement) for placement in found]))


@endpoint(
    "placements_create", "POST", OF_THREAD, {201: PlacementItem}, body=PlacementAsked, ids={"id": HASH_ID}
)
async def create_placement(req: func.HttpRequest) -> func.HttpResponse:
    """Split a thread at a message, or move the message to another thread or under another message."""
    connected = await clients()
    actor = _operator(req, connected)
    # A page of another site can send a form without asking first, but not this type.
    if req.headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
        raise Problem(400, "The body must be application/json.")
    body = req.get_body()
    if len(body) > LARGEST_BODY:
        raise Problem(413, f"The body can have at most {LARGEST_BODY} bytes.")
    asked = PlacementAsked.model_validate_json(body)
    thread = await resolved_thread(connected, id_of(req, "id", HASH_ID, "thread"))
    item = PlacementItem.of(await place_message(connected, thread.id, asked, actor))
    return answer(201, item.model_dump(mode="json"), Location=item.links["self"])


@endpoint("placements_undo", "DELETE", ONE, {200: PlacementItem}, query=UndoAsked, ids={"id": HASH_ID})
async def undo(req: func.HttpRequest) -> func.HttpResponse:
    """Undo a placement. Its history is kept."""
    connected = await clients()
    actor = _operator(req, connected)
    id_ = id_of(req, "id", HASH_ID, "placement")
    undone = await undo_placement(connected, id_, parse_query(req, UndoAsked).reason, actor)
    return answer(200, PlacementItem.of(undone).model_dump(mode="json"))


def _operator(req: func.HttpRequest, connected: Clients) -> Actor:
    who = visitor(req, connected.settings)
    if who is None:
        raise Problem(403, "Moving messages between threads requires an operator (docs/record.md).")
    return Actor(who.name, "api")
