"""What a reader may ask for: the types of query parameters, checked once for API, pages and command line."""

import re
from datetime import UTC, date, datetime, time, timedelta
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field

from shared.core.ids import HASH_ID
from shared.documents.sources import NAME_PATTERN
from shared.domain.mail.mentions import draft_base

__all__ = [
    "DEFAULT_SIZE",
    "LARGEST_SIZE",
    "PATTERN",
    "After",
    "ConsensusFilter",
    "Day",
    "DraftName",
    "HashId",
    "Limit",
    "Mention",
    "QueryParameters",
    "SourceName",
    "day_after",
    "draft_name",
    "start_of",
]

DEFAULT_SIZE = 50
LARGEST_SIZE = 200
_DRAFT = re.compile(r"draft-[a-z0-9]+(?:-[a-z0-9]+)+|(?:RFC|BCP|STD)[1-9][0-9]{0,5}")
_LONGEST_DRAFT = 156
HashId = Annotated[str, Field(pattern=HASH_ID)]
SourceName = Annotated[str, Field(pattern=NAME_PATTERN)]
Limit = Annotated[int, Field(ge=1, le=LARGEST_SIZE)]
After = Annotated[str | None, Field(description="from `next` of the page before")]
ConsensusFilter = Literal["agreement", "dissent", "mixed", "none"]


def _mention(text: str) -> str:
    folded = text.lower()
    name = folded if folded.startswith("draft-") else folded.upper()
    if len(name) > _LONGEST_DRAFT or not _DRAFT.fullmatch(name):
        raise ValueError("must name a draft (draft-ietf-tls-esni) or an RFC, BCP or STD (RFC8446)")
    return name


def draft_name(text: str) -> str:
    """A draft without its version, or an RFC, BCP or STD, in the spelling that is stored."""
    return draft_base(_mention(text))


def _day(value: Any) -> Any:
    """Pydantic would take numbers for days, too."""
    if isinstance(value, str) and not re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", value):
        raise ValueError("must be a day such as 2024-03-31")
    return value


DraftName = Annotated[str, AfterValidator(draft_name)]
Mention = Annotated[str, AfterValidator(_mention)]
Day = Annotated[date, BeforeValidator(_day)]


class QueryParameters(BaseModel):
    """The parameters of an endpoint. One that it does not know is an error: a filter must not go unheard."""

    model_config = ConfigDict(extra="forbid", frozen=True)


def start_of(day: date | None) -> datetime | None:
    return datetime.combine(day, time(), UTC) if day else None


def day_after(day: date | None) -> datetime | None:
    """A period includes its last day."""
    return datetime.combine(day, time(), UTC) + timedelta(days=1) if day and day < date.max else None


PATTERN = r"^(draft-[a-z0-9]+(-[a-z0-9]+)+|(RFC|BCP|STD)[1-9][0-9]*)$"
