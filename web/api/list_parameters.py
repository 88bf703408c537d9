"""The query parameters of the lists of reports and of threads."""

from typing import Literal

from pydantic import Field

from shared.documents.base import ProcessingStatus
from shared.documents.values import Genre, OutcomeKind, SummaryType
from shared.retrieval.parameters import (
    AboutDraft,
    After,
    ConsensusFilter,
    HashId,
    Limit,
    Participant,
    QueryParameters,
    Since,
    SourceName,
    Until,
    by_person,
    stored_period,
)

Order = Literal["-published_at", "published_at", "-last_message_date", "last_message_date"]


ThreadOrder = Literal["-last_message_date", "last_message_date", "-first_message_date", "-message_count"]


class ReportsAsked(QueryParameters):
    source: SourceName | None = None
    thread: HashId | None = None
    draft: AboutDraft = None
    since: Since = None
    until: Until = None
    participant: Participant = None
    person: HashId | None = Field(default=None, description="requires pages about people")
    consensus: ConsensusFilter | None = None
    type: SummaryType | None = None
    outcome: OutcomeKind | None = Field(
        default=None, description="as displayed; `unresolved` finds every thread without a decision found"
    )
    outdated: bool = Field(default=False, description="include earlier versions")
    sort: Order = "-published_at"
    limit: Limit = 50
    after: After = None

    def filters(self) -> dict[str, object]:
        return {
            **stored_period(self.since, self.until),
            "source": self.source,
            "thread": self.thread,
            "draft": self.draft,
            **by_person(self.participant),
            "person": self.person,
            "consensus": self.consensus,
            "type": self.type and self.type.value,
            "outcome": self.outcome and self.outcome.value,
            "current": None if self.outdated else True,
        }


class ThreadsAsked(QueryParameters):
    source: SourceName | None = None
    archive: HashId | None = None
    draft: AboutDraft = None
    since: Since = None
    until: Until = None
    participant: Participant = None
    consensus: ConsensusFilter | None = None
    status: ProcessingStatus | None = None
    open_call: bool | None = Field(
        default=None, description="whether the thread is a call or vote without a result"
    )
    genre: Genre | None = None
    outcome: OutcomeKind | None = Field(
        default=None, description="as displayed; `unresolved` finds every thread without a decision found"
    )
    sort: ThreadOrder = "-last_message_date"
    limit: Limit = 50
    after: After = None

    def filters(self) -> dict[str, object]:
        return {
            **stored_period(self.since, self.until),
            "source": self.source,
            "archive": self.archive,
            "draft": self.draft,
            **by_person(self.participant),
            "consensus": self.consensus,
            "status": self.status and self.status.value,
            "open_call": self.open_call,
            "genre": self.genre and self.genre.value,
            "outcome": self.outcome and self.outcome.value,
        }
