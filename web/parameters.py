"""What a request asks for: query parameters and ids, checked before anything is looked up."""

import re
from typing import TypeVar

import azure.functions as func
from pydantic import ValidationError

from shared.retrieval.parameters import QueryParameters, _draft
from web.problems import Problem

__all__ = ["checked_id", "draft_named", "id_of", "parse_query"]

_KEY = "code"  # the function's key, which is the host's to check


Model = TypeVar("Model", bound=QueryParameters)


def parse_query(req: func.HttpRequest, model: type[Model]) -> Model:
    given = {name: value for name, value in req.params.items() if name != _KEY}
    try:
        checked: Model = model.model_validate(given)
        return checked  # noqa: TRY300 - the short way
    except ValidationError as error:
        raise _invalid(error, model) from None


def _invalid(error: ValidationError, model: type[QueryParameters]) -> Problem:
    names = {field.alias or name for name, field in model.model_fields.items()}
    faults = []
    for each in error.errors(include_input=False, include_url=False)[:20]:
        name, detail = str(each["loc"][0] if each["loc"] else ""), each["msg"].removeprefix("Value error, ")
        if each["type"] == "extra_forbidden":
            detail = f"is not a parameter here; there are {', '.join(sorted(names)) or 'none'}"
        faults.append({"parameter": name[:100], "detail": detail})
    told = "; ".join(f"{fault['parameter']}: {fault['detail']}" for fault in faults[:3])
    return Problem(422, told, errors=faults)


def id_of(req: func.HttpRequest, name: str, pattern: str, what: str) -> str:
    """An id in the path. One that cannot be is as unknown as one that is not there."""
    return checked_id(str(req.route_params.get(name, "")), pattern, what)


def checked_id(value: str, pattern: str, what: str) -> str:
    if not re.fullmatch(pattern.removeprefix("^").removesuffix("$"), value):
        raise Problem(404, f"There is no {what} with this id.")
    return value


def draft_named(req: func.HttpRequest) -> str:
    try:
        return _draft(req.route_params.get("name", ""))
    except ValueError as error:
        raise Problem(404, f"The name {error}.") from None
