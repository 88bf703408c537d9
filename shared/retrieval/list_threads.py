"""One list's threads as readers choose them: by genre, outcome, month, person and draft, in three orders."""

from datetime import UTC, datetime, timedelta
from typing import Annotated, Literal

from pydantic import Field

from shared.clients.connections import Clients
from shared.core.times import stored_time
from shared.documents.threads import Thread
from shared.documents.values import Genre, OutcomeKind
from shared.retrieval.listing import THREADS, Page
from shared.retrieval.parameters import AboutDraft, After, Participant, QueryParameters, by_person

OPEN_CALLS = 12
Month = Annotated[str, Field(pattern=r"^(19|20)[0-9]{2}-(0[1-9]|1[0-2])$", description="such as 2024-03")]
_SORTS = {"activity": "-last_message_date", "date": "-first_message_date", "size": "-message_count"}


class ListAsked(QueryParameters):
    genre: Genre | None = None
    outcome: OutcomeKind | None = None
    month: Month | None = None
    person: Participant = None
    draft: AboutDraft = None
    sort: Literal["activity", "date", "size"] = "activity"
    after: After = None

    @property
    def narrowed(self) -> bool:
        """Whether this is less than the list as it first shows itself."""
        return bool(self.model_dump(exclude_defaults=True))

    def filters(self) -> dict[str, object]:
        first, end = month_bounds(self.month) if self.month else (None, None)
        return {
            "genre": self.genre and self.genre.value,
            "outcome": self.outcome and self.outcome.value,
            "since": stored_time(first) if first else None,
            "begun_before": stored_time(end) if end else None,
            **by_person(self.person),
            "draft": self.draft,
        }


def month_bounds(month: str) -> tuple[datetime, datetime]:
    """Its first moment, and that of the month after."""
    first = datetime(int(month[:4]), int(month[5:]), 1, tzinfo=UTC)
    return first, (first + timedelta(days=32)).replace(day=1)


async def threads_of_list(clients: Clients, name: str, wanted: ListAsked, size: int) -> Page[Thread]:
    return await THREADS.page(
        clients.store,
        sort=_SORTS[wanted.sort],
        filters={"source": name, **wanted.filters()},
        after=wanted.after,
        size=size,
    )


async def calls_of_list(clients: Clients, name: str) -> list[Thread]:
    """Calls and votes without a result: those still open by their end, then the latest of the others."""
    found = await THREADS.page(clients.store, filters={"source": name, "open_call": True}, size=OPEN_CALLS)
    today = clients.runtime.now().date()

    def waits(thread: Thread) -> tuple[int, int]:
        ends = thread.open_call.ends if thread.open_call else None
        if ends is not None and ends >= today:
            return 0, (ends - today).days
        return 1, -int(thread.last_message_date.timestamp()) if thread.last_message_date else 0

    return sorted(found.items, key=waits)
