"""What a request asks for: query parameters and ids, checked before anything is looked up."""

import re
from datetime import UTC, date, datetime, time, timedelta
from typing import Annotated, Any, TypeVar

import azure.functions as func
from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from shared.domain.mail.mentions import draft_base
from shared.ingestion.source_definitions import NAME_PATTERN
from web.problems import Problem

__all__ = [
    "HASH_ID",
    "REPORT_ID",
    "Asked",
    "Day",
    "DraftName",
    "HashId",
    "Limit",
    "Mention",
    "SourceName",
    "asked",
    "checked_id",
    "day_after",
    "draft_named",
    "id_of",
    "start_of",
]

HASH_ID = r"^[0-9a-f]{16}$"  # of archives, threads, messages and chunks
REPORT_ID = r"^rpt-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$"
DEFAULT_SIZE = 50
LARGEST_SIZE = 200
_DRAFT = re.compile(r"draft-[a-z0-9]+(?:-[a-z0-9]+)+|(?:RFC|BCP|STD)[1-9][0-9]{0,5}")
_LONGEST_DRAFT = 156
_KEY = "code"  # the function's key, which is the host's to check

HashId = Annotated[str, Field(pattern=HASH_ID)]
SourceName = Annotated[str, Field(pattern=NAME_PATTERN)]
Limit = Annotated[int, Field(ge=1, le=LARGEST_SIZE)]


def _mention(text: str) -> str:
    folded = text.lower()
    name = folded if folded.startswith("draft-") else folded.upper()
    if len(name) > _LONGEST_DRAFT or not _DRAFT.fullmatch(name):
        raise ValueError("must name a draft (draft-ietf-tls-esni) or an RFC, BCP or STD (RFC8446)")
    return name


def _draft(text: str) -> str:
    return draft_base(_mention(text))


def _day(value: Any) -> Any:
    """Pydantic would take numbers for days, too."""
    if isinstance(value, str) and not re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", value):
        raise ValueError("must be a day such as 2024-03-31")
    return value


DraftName = Annotated[str, AfterValidator(_draft)]
Mention = Annotated[str, AfterValidator(_mention)]
Day = Annotated[date, BeforeValidator(_day)]


class Asked(BaseModel):
    """The parameters of an endpoint. One that it does not know is an error: a filter must not go unheard."""

    model_config = ConfigDict(extra="forbid", frozen=True)


Model = TypeVar("Model", bound=Asked)


def asked(req: func.HttpRequest, model: type[Model]) -> Model:
    given = {name: value for name, value in req.params.items() if name != _KEY}
    try:
        checked: Model = model.model_validate(given)
        return checked  # noqa: TRY300 - the short way
    except ValidationError as error:
        raise _invalid(error, model) from None


def _invalid(error: ValidationError, model: type[Asked]) -> Problem:
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


def start_of(day: date | None) -> datetime | None:
    return datetime.combine(day, time(), UTC) if day else None


def day_after(day: date | None) -> datetime | None:
    """A period includes its last day."""
    return datetime.combine(day, time(), UTC) + timedelta(days=1) if day and day < date.max else None
