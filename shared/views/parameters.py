"""Addresses of the API and of the pages, and the types of query parameters."""

import re
from datetime import UTC, date, datetime, time, timedelta
from typing import Annotated, Any, Literal
from urllib.parse import quote, urlencode

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field

from shared.core.ids import HASH_ID, MESSAGE_KEY
from shared.core.times import stored_time
from shared.mail.archive_addresses import bare_message_id
from shared.mail.mentions import draft_base
from shared.models.base import ProcessingStatus
from shared.models.sources import NAME_PATTERN
from shared.models.values import Genre, OutcomeKind, SummaryType

LARGEST_SIZE = 200
_DRAFT = re.compile(r"draft-[a-z0-9]+(?:-[a-z0-9]+)+|(?:RFC|BCP|STD)[1-9][0-9]{0,5}")
_LONGEST_DRAFT = 156
HashId = Annotated[str, Field(pattern=HASH_ID)]
MessageKey = Annotated[str, Field(pattern=MESSAGE_KEY)]
SourceName = Annotated[str, Field(pattern=NAME_PATTERN)]
Limit = Annotated[int, Field(ge=1, le=LARGEST_SIZE)]
After = Annotated[str | None, Field(description="`next` of the previous page")]
ConsensusFilter = Literal["agreement", "dissent", "mixed", "none"]


def mention_name(text: str) -> str:
    folded = text.lower()
    name = folded if folded.startswith("draft-") else folded.upper()
    if len(name) > _LONGEST_DRAFT or not _DRAFT.fullmatch(name):
        raise ValueError("must name a draft (draft-ietf-tls-esni) or an RFC, BCP or STD (RFC8446)")
    return name


def draft_name(text: str) -> str:
    """Return the stored spelling of an RFC, BCP, STD or draft, without the version of a draft."""
    return draft_base(mention_name(text))


def _day(value: Any) -> Any:
    """Refuse values that are not days. Pydantic would also accept numbers."""
    if isinstance(value, str) and not re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", value):
        raise ValueError("must be a day such as 2024-03-31")
    return value


DraftName = Annotated[str, AfterValidator(draft_name)]
Mention = Annotated[str, AfterValidator(mention_name)]
Day = Annotated[date, BeforeValidator(_day)]


AboutDraft = Annotated[DraftName | None, Field(description="a draft (any version of it), RFC, BCP or STD")]
Since = Annotated[Day | None, Field(alias="from", description="last message on this day or later")]
Until = Annotated[Day | None, Field(alias="to", description="last message on this day or earlier")]
Participant = Annotated[str | None, Field(min_length=1, max_length=320, description="an address, or a name")]


def by_person(person: str | None) -> dict[str, object]:
    if person is not None and "@" in person and " " not in person:
        return {"address": person.lower()}
    return {"participant": person}


class QueryParameters(BaseModel):
    """The parameters of an endpoint. An unknown one is an error, so that no misspelled filter is ignored."""

    model_config = ConfigDict(extra="forbid", frozen=True)


def start_of(day: date | None) -> datetime | None:
    return datetime.combine(day, time(), UTC) if day else None


def day_after(day: date | None) -> datetime | None:
    """Return the start of the next day, because a period includes its last day."""
    return datetime.combine(day, time(), UTC) + timedelta(days=1) if day and day < date.max else None


def stored_period(since: date | None, until: date | None) -> dict[str, str | None]:
    start, end = start_of(since), day_after(until)
    return {"since": stored_time(start) if start else None, "until": stored_time(end) if end else None}


_AS_SHOWN = "as displayed; `unresolved` finds every thread without a decision found"
ReportOrder = Literal["-published_at", "published_at", "-last_message_date", "last_message_date"]
ThreadOrder = Literal["-last_message_date", "last_message_date", "-first_message_date", "-message_count"]


class ReportsAsked(QueryParameters):
    source: SourceName | None = None
    thread: MessageKey | None = None
    draft: AboutDraft = None
    since: Since = None
    until: Until = None
    participant: Participant = None
    person: HashId | None = Field(None, description="requires pages about people")
    consensus: ConsensusFilter | None = None
    type: SummaryType | None = None
    outcome: OutcomeKind | None = Field(None, description=_AS_SHOWN)
    sort: ReportOrder = "-published_at"
    limit: Limit = 50
    after: After = None

    def filters(self) -> dict[str, object]:
        return _filters(self)


class ThreadsAsked(QueryParameters):
    source: SourceName | None = None
    archive: HashId | None = None
    draft: AboutDraft = None
    since: Since = None
    until: Until = None
    participant: Participant = None
    consensus: ConsensusFilter | None = None
    status: ProcessingStatus | None = None
    open_call: bool | None = Field(None, description="whether the thread is a call or vote without a result")
    genre: Genre | None = None
    outcome: OutcomeKind | None = Field(None, description=_AS_SHOWN)
    sort: ThreadOrder = "-last_message_date"
    limit: Limit = 50
    after: After = None

    def filters(self) -> dict[str, object]:
        return _filters(self)


def _filters(asked: ReportsAsked | ThreadsAsked) -> dict[str, object]:
    other = {"since", "until", "participant", "sort", "limit", "after"}
    stored = asked.model_dump(mode="json", exclude=other)
    return {**stored, **stored_period(asked.since, asked.until), **by_person(asked.participant)}


PATTERN = r"^(draft-[a-z0-9]+(-[a-z0-9]+)+|(RFC|BCP|STD)[1-9][0-9]*)$"


def api_of(kind: str, id_: str) -> str:
    return f"/api{page_of(kind, id_)}"


def page_of(kind: str, id_: str) -> str:
    return f"/{kind}/{quote(id_, safe='')}"


def page_of_mail(message_id: str, quoted: str = "") -> str:
    """Return the permanent address of a mail by its Message-ID. Quoted words are marked on the page."""
    address = f"/m/{quote(bare_message_id(message_id), safe='@')}"
    return f"{address}?{urlencode({'quote': quoted})}#quote" if quoted else address


def page_of_message(thread_id: str, message_key: str, anchor: str = "", report: str = "") -> str:
    """Return the address of the message on the page of its thread. A report marks its citations there."""
    asked = urlencode({"report": report, "at": message_key} if report else {"at": message_key})
    return f"{page_of('threads', thread_id)}?{asked}#{anchor or 'm-' + message_key}"
