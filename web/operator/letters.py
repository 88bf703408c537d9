"""Dead letters on the operator's page: looked at one by one, requeued, purged and restored."""

import re

import azure.functions as func

from shared.clients.connections import Clients, clients
from shared.core.ids import AUDIT_ID, CAUSE_ID
from shared.documents.records import Audit
from shared.pipeline.topology import QUEUES
from shared.upkeep.audit import Actor, UnknownOperationError
from shared.upkeep.deadletters.diagnosis import diagnosed_letters
from shared.upkeep.deadletters.journal import PURGE, REQUEUE, RESTORE, NothingToRestoreError, restorable
from shared.upkeep.deadletters.operations import request_in_background
from web.access import MAY, cookie_header, permissions, visitor
from web.forms import form_of
from web.operator.forms import NEVER_KEPT, PATH, back_to, checked_sender, login_page
from web.operator.letter_view import LETTERS_LOOKED_AT, ShownLetter, shown_letters
from web.operator.view import running_on, view_of
from web.problems import Problem
from web.rendering import html_errors, show

blueprint = func.Blueprint()
HOW_MANY = {"all": None, "1": 1, "5": 5, "50": 50}
NONE_LEFT = "This group has no dead letters left."


@blueprint.function_name("operator_letters")
@blueprint.route(route="operator/letters", methods=["GET", "HEAD"], auth_level=func.AuthLevel.ANONYMOUS)
@html_errors
async def letters_page(req: func.HttpRequest) -> func.HttpResponse:
    connected = await clients()
    who = visitor(req, connected.settings, MAY["inspect"])
    if who is None:
        return login_page(req, connected)
    group = _matching(req.params.get("group", ""), CAUSE_ID, "group")
    letters = await _letters(connected, group)
    if not letters:
        raise Problem(404, NONE_LEFT)
    headers = {**NEVER_KEPT, **(cookie_header(req, who.cookie) if who.cookie else {})}
    may = permissions(req, connected.settings)
    return show(req, "operator/letters.html", headers=headers, who=who, may=may, group=group, letters=letters)


async def _letters(connected: Clients, group: str) -> list[ShownLetter]:
    queue = await _queue_of(connected, group)
    found = await diagnosed_letters(connected, [queue], most=LETTERS_LOOKED_AT, judged=True)
    return shown_letters(letter for letter in found if letter.group == group)


async def _queue_of(connected: Clients, group: str) -> str:
    view = await view_of(connected, fresh=True)
    found = next((known.queue for known in view.groups if known.id == group), None)
    if found is None:
        raise Problem(404, NONE_LEFT)
    return found


@blueprint.function_name("operator_letters_act")
@blueprint.route(route="operator/letters/{action}", methods=["POST"], auth_level=func.AuthLevel.ANONYMOUS)
@html_errors
async def letters_action(req: func.HttpRequest) -> func.HttpResponse:
    """Have it done in the background; the sender sees the operator's page next, with the operation's id."""
    action = req.route_params.get("action", "")
    if action not in _ACTIONS:
        raise Problem(404, "Unknown action.")
    connected, form = await clients(), form_of(req)
    who = checked_sender(req, connected, form, MAY[action])
    audit = await _ACTIONS[action](connected, form, Actor(who.name, "operator's page"))
    return back_to(f"{PATH}?asked={audit.id}")


async def _requeue(connected: Clients, form: dict[str, str], actor: Actor) -> Audit:
    how = form.get("how", "all")
    if how not in HOW_MANY:
        raise Problem(422, f"how: must be one of {', '.join(HOW_MANY)}")
    selection, running = await _selected(connected, form)
    if running is not None:
        return running
    if (most := HOW_MANY[how]) is not None:
        selection["limit"] = most
    return await request_in_background(connected, REQUEUE, selection, actor)


async def _purge(connected: Clients, form: dict[str, str], actor: Actor) -> Audit:
    selection, running = await _selected(connected, form)
    return running or await request_in_background(connected, PURGE, selection, actor)


async def _selected(connected: Clients, form: dict[str, str]) -> tuple[dict[str, object], Audit | None]:
    """A group or one letter, and the operation that is under way for that group."""
    if "number" in form:
        queue, number = _letter_named(form)
        return {"queues": [queue], "sequence_numbers": [number]}, None
    group = _matching(form.get("group", ""), CAUSE_ID, "group")
    queue = await _queue_of(connected, group)
    return {"queues": [queue], "groups": [group]}, running_on((await view_of(connected)).status, group)


async def _restore(connected: Clients, form: dict[str, str], actor: Actor) -> Audit:
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


def _letter_named(form: dict[str, str]) -> tuple[str, int]:
    queue, number = form.get("queue", ""), form.get("number", "")
    if queue not in QUEUES:
        raise Problem(422, "queue: must be one of the app's queues")
    if not re.fullmatch(r"[0-9]{1,18}", number):
        raise Problem(422, "number: must be a sequence number")
    return queue, int(number)


def _matching(text: str, pattern: str, name: str) -> str:
    if not re.fullmatch(pattern, text):
        raise Problem(422, f"{name}: must be a valid id")
    return text


_ACTIONS = {"requeue": _requeue, "purge": _purge, "restore": _restore}
