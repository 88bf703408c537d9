"""Operator pages for dead letters: show, requeue, purge and restore."""

import json
import re
from dataclasses import dataclass

import azure.functions as func

from shared.azure.connections import Clients, clients
from shared.core.ids import AUDIT_ID, CAUSE_ID
from shared.models.records import Audit
from shared.operations.audit import Operator, UnknownOperationError
from shared.operations.deadletters.diagnosis import Diagnosed, diagnosed_dead_letters
from shared.operations.deadletters.journal import PURGE, REQUEUE, RESTORE, NothingToRestoreError, restorable
from shared.operations.deadletters.operations import request_in_background
from shared.pipeline.topology import QUEUES
from web.access import MAY, Visitor, permissions
from web.forms import form_of
from web.operator.forms import PATH, back_to, check_sender, operators_page, show_to
from web.operator.view import running_on, view_of
from web.problems import Problem
from web.rendering import page

MOST_EXAMINED = 5000
MOST_SHOWN = 20
BROKER_PREFIX = "deadletter"


@dataclass(frozen=True)
class DeadLetterView:
    diagnosed: Diagnosed
    body: str
    properties: list[tuple[str, str]]


def _view(diagnosed: Diagnosed) -> DeadLetterView:
    dead_letter = diagnosed.dead_letter
    data = dead_letter.copy.data()
    properties = [
        (name, str(value))
        for name, value in sorted(dead_letter.properties.items())
        if not name.lower().startswith(BROKER_PREFIX)
    ]
    return DeadLetterView(diagnosed, _readable(data), properties)


def _readable(data: bytes) -> str:
    try:
        return json.dumps(json.loads(data), indent=2, ensure_ascii=False)
    except (ValueError, RecursionError):
        return data.decode("utf-8", "replace")


ACTIONS = {"requeue": REQUEUE, "purge": PURGE, "restore": RESTORE}
HOW_MANY = {"all": None, "1": 1, "5": 5, "50": 50}
NONE_LEFT = "This group has no dead letters left."


@operators_page("operator_letters", "operator/letters", MAY["inspect"])
async def dead_letters_page(req: func.HttpRequest, connected: Clients, who: Visitor) -> func.HttpResponse:
    group = _matching(req.params.get("group", ""), CAUSE_ID, "group")
    dead_letters = await _dead_letters(connected, group)
    if not dead_letters:
        raise Problem(404, NONE_LEFT)
    may = permissions(req, connected.settings)
    return show_to(req, who, "operator/letters.html", may=may, group=group, dead_letters=dead_letters)


async def _dead_letters(connected: Clients, group: str) -> list[DeadLetterView]:
    queue = await _queue_of(connected, group)
    found = await diagnosed_dead_letters(connected, [queue], most=MOST_EXAMINED, judged=True)
    return [_view(diagnosed) for diagnosed in found if diagnosed.group == group][:MOST_SHOWN]  # the oldest


async def _queue_of(connected: Clients, group: str) -> str:
    view = await view_of(connected, fresh=True)
    found = next((known.queue for known in view.groups if known.id == group), None)
    if found is None:
        raise Problem(404, NONE_LEFT)
    return found


@page("operator_letters_act", "operator/letters/{action}", "POST")
async def dead_letters_action(req: func.HttpRequest) -> func.HttpResponse:
    """Request the action in the background, and redirect to the operator page with the operation's id."""
    action = req.route_params.get("action", "")
    if action not in ACTIONS:
        raise Problem(404, "Unknown action.")
    connected, form = await clients(), form_of(req)
    who = check_sender(req, connected, form, MAY[action])
    actor = Operator(who.name, "operator's page")
    audit = await (
        _restore(connected, form, actor) if action == "restore" else _act(connected, action, form, actor)
    )
    return back_to(f"{PATH}?asked={audit.id}")


async def _act(connected: Clients, action: str, form: dict[str, str], actor: Operator) -> Audit:
    how = form.get("how", "all") if action == "requeue" else "all"
    if how not in HOW_MANY:
        raise Problem(422, f"how: must be one of {', '.join(HOW_MANY)}")
    selection, running = await _selected(connected, form)
    if (most := HOW_MANY[how]) is not None:
        selection["limit"] = most
    return running or await request_in_background(connected, ACTIONS[action], selection, actor)


async def _selected(connected: Clients, form: dict[str, str]) -> tuple[dict[str, object], Audit | None]:
    """Return the selection of a group or a dead letter, and the running operation of the group."""
    if "number" in form:
        queue, number = form.get("queue", ""), form["number"]
        if queue not in QUEUES:
            raise Problem(422, "queue: must be one of the app's queues")
        if not re.fullmatch(r"[0-9]{1,18}", number):
            raise Problem(422, "number: must be a sequence number")
        return {"queues": [queue], "sequence_numbers": [int(number)]}, None
    group = _matching(form.get("group", ""), CAUSE_ID, "group")
    queue = await _queue_of(connected, group)
    return {"queues": [queue], "groups": [group]}, running_on((await view_of(connected)).status, group)


async def _restore(connected: Clients, form: dict[str, str], actor: Operator) -> Audit:
    operation = _matching(form.get("operation", ""), AUDIT_ID, "operation")
    try:
        found = await restorable(connected, operation, limit=1)
    except UnknownOperationError as error:
        raise Problem(404, str(error)) from None
    except NothingToRestoreError as error:
        raise Problem(409, str(error)) from None
    if not found:
        raise Problem(409, f"All messages of {operation} are already restored.")
    return await request_in_background(connected, RESTORE, {"purge": operation}, actor)


def _matching(text: str, pattern: str, name: str) -> str:
    if not re.fullmatch(pattern, text):
        raise Problem(422, f"{name}: must be a valid id")
    return text
