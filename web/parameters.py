"""Checks of request parameters."""

import re
from typing import TypeVar
from urllib.parse import urlencode, urlsplit

import azure.functions as func
from pydantic import BaseModel, ValidationError

from shared.azure.connections import Clients
from shared.core.ids import HASH_ID, PATTERNS
from shared.models.sources import NAME_PATTERN
from shared.models.threads import Thread
from shared.settings.app import Settings
from shared.views.parameters import QueryParameters, draft_name
from shared.views.threads import resolved_thread
from web.connected import clients
from web.problems import Problem, bad_parameter

_KEY = "code"  # the function key, which the host checks
_NOT_OF_NEXT_PAGE = frozenset({"after", _KEY})
Model = TypeVar("Model", bound=QueryParameters)
Body = TypeVar("Body", bound=BaseModel)


def parse_query(req: func.HttpRequest, model: type[Model], *, form: bool = False) -> Model:
    """Return the checked parameters. Empty fields of a form are ignored."""
    given = {
        name: value for name, value in req.params.items() if name != _KEY and (value.strip() or not form)
    }
    try:
        checked: Model = model.model_validate(given)
        return checked  # noqa: TRY300 - shorter
    except ValidationError as error:
        raise _invalid(error, model) from None


def refuse_unknown(req: func.HttpRequest, model: type[QueryParameters]) -> None:
    """Refuse unknown parameters, for endpoints that also read headers or forms."""
    for name in req.params:
        if name != _KEY and name not in model.model_fields:
            raise bad_parameter(name[:100], _unknown(model))


def _unknown(model: type[QueryParameters]) -> str:
    names = sorted(field.alias or name for name, field in model.model_fields.items())
    return f"is not a parameter. Known parameters: {', '.join(names) or 'none'}"


def _invalid(error: ValidationError, model: type[QueryParameters]) -> Problem:
    faults = []
    for found in error.errors(include_input=False, include_url=False)[:20]:
        name = str(found["loc"][0] if found["loc"] else "")
        unknown = found["type"] == "extra_forbidden"
        detail = _unknown(model) if unknown else found["msg"].removeprefix("Value error, ")
        faults.append({"parameter": name[:100], "detail": detail})
    summary = "; ".join(f"{fault['parameter']}: {fault['detail']}" for fault in faults[:3])
    return Problem(422, summary, errors=faults)


def next_address(req: func.HttpRequest, path: str, cursor: str | None) -> str | None:
    if cursor is None:
        return None
    given = {name: value for name, value in req.params.items() if name not in _NOT_OF_NEXT_PAGE}
    return f"{path}?{urlencode({**given, 'after': cursor})}"


def body_of(req: func.HttpRequest, model: type[Body], largest: int) -> Body:
    content = req.get_body()
    if len(content) > largest:
        raise Problem(413, f"The body can have at most {largest} bytes.")
    return model.model_validate_json(content)


def id_of(req: func.HttpRequest, what: str, pattern: str = "", name: str = "id") -> str:
    value = str(req.route_params.get(name, ""))
    return checked_id(value, pattern or PATTERNS.get(what, HASH_ID), f"{what} with this id")


def checked_id(value: str, pattern: str, what: str) -> str:
    """Return the id. A malformed id is answered with 404, like an unknown id."""
    if not re.fullmatch(pattern.removeprefix("^").removesuffix("$"), value):
        raise Problem(404, f"There is no {what}.")
    return value


def list_named(req: func.HttpRequest) -> str:
    return checked_id(str(req.route_params["name"]), NAME_PATTERN, "list with this name")


def draft_named(req: func.HttpRequest) -> str:
    try:
        return draft_name(req.route_params.get("name", ""))
    except ValueError as error:
        raise Problem(404, f"The name {error}.") from None


async def asked_thread(req: func.HttpRequest) -> tuple[Clients, Thread]:
    connected = await clients()
    return connected, await resolved_thread(connected, id_of(req, "thread"))


def origin_of(req: func.HttpRequest, settings: Settings) -> str:
    """Return PUBLIC_URL, or the address that the client used."""
    if settings.PUBLIC_URL:
        return settings.PUBLIC_URL.rstrip("/")
    parts = urlsplit(req.url)
    return f"{parts.scheme}://{parts.netloc}"
