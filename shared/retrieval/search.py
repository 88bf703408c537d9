"""Search by words (full text) and by meaning (vectors), for the API, the page and the command line."""

import logging
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from pydantic import Field

from shared.clients.connections import Clients
from shared.clients.search.fields import Filters
from shared.clients.search.index import Hit, Hits
from shared.core.concurrency import BoundedQueue, QueueFullError
from shared.core.errors import PipelineError
from shared.documents.threads import Address
from shared.domain.mail.mentions import draft_base
from shared.embedding.factory import embedder
from shared.retrieval.parameters import (
    Day,
    HashId,
    Mention,
    MessageKey,
    QueryParameters,
    SourceName,
    api_of,
    day_after,
    page_of_message,
    start_of,
)
from shared.retrieval.read_models import FoundItem, Highlight

log = logging.getLogger(__name__)
DEEPEST = 1000  # paging ends here: the service ranks no deeper
MARKS = ("\ue000", "\ue001")  # around matches: private-use characters, which a mail's text hardly has
ENCODED_AT_ONCE, ENCODINGS_WAITING = 2, 8
FACETS = (
    "source,count:20",
    "sender,count:12",
    "draft_mentions,count:12",
    "date,interval:year",
)
WITHOUT_MEANING = "Semantic search is not available right now. Results are keyword matches only."
Mode = Literal["hybrid", "words", "meaning"]


class SearchAsked(QueryParameters):
    q: str = Field(min_length=1, max_length=400)
    mode: Mode = "hybrid"
    source: SourceName | None = None
    thread: MessageKey | None = None
    message: MessageKey | None = Field(None, description="a message's key: only passages of that mail")
    archive: HashId | None = None
    sender: str | None = Field(None, min_length=1, max_length=320, description="an address")
    draft: Mention | None = Field(None, description="a draft (one version or all), RFC, BCP or STD")
    since: Day | None = Field(None, alias="from", description="sent on this day or later")
    until: Day | None = Field(None, alias="to", description="sent on this day or earlier")
    limit: int = Field(20, ge=1, le=50)
    skip: int = Field(0, ge=0, le=DEEPEST)

    def parameters(self) -> dict[str, Any]:
        """Those that were given, as they are written in an address."""
        return self.model_dump(mode="json", by_alias=True, exclude_defaults=True, exclude_none=True)

    def filters(self) -> Filters:
        return Filters(
            thread_id=self.thread,
            message_key=self.message,
            archive_id=self.archive,
            source=self.source,
            sender=self.sender.lower() if self.sender else None,
            drafts=self._drafts(),
            since=start_of(self.since),
            until=day_after(self.until),
        )

    def _drafts(self) -> tuple[str, ...]:
        """A draft without a version means all its versions."""
        if self.draft is None or not self.draft.startswith("draft-") or draft_base(self.draft) != self.draft:
            return () if self.draft is None else (self.draft,)
        return (self.draft, *(f"{self.draft}-{number:02d}" for number in range(100)))


@dataclass(frozen=True)
class SearchResult:
    wanted: SearchAsked
    hits: Hits
    mode: Mode
    note: str | None

    @property
    def total(self) -> int:
        return self.hits.total or 0

    @property
    def items(self) -> list[FoundItem]:
        return [_item(hit) for hit in self.hits]

    @property
    def following(self) -> int | None:
        """How many results the next page skips, where there is one."""
        skip = self.wanted.skip + self.wanted.limit
        return skip if skip < min(self.total, DEEPEST) else None


async def vector_for_reader(clients: Clients, text: str) -> list[float]:
    """QueueFullError where too many searches wait: the encoder works for the pipeline, too."""
    model = await embedder(clients)  # the first start has a time limit of its own
    queue = await clients.resources.get("readers' encoder queue", _encoder_queue)
    async with queue, clients.calls("encoder").measured("encode", writes=True):
        encoded = await model.encode([text])
    return [float(number) for number in encoded[0]]


async def _encoder_queue() -> BoundedQueue:
    return BoundedQueue(ENCODED_AT_ONCE, ENCODINGS_WAITING)


async def find(clients: Clients, wanted: SearchAsked) -> SearchResult:
    """Search. If the embedding model fails, search by words only, and say so in the note."""
    mode, note, vector = wanted.mode, None, None
    if mode != "words":
        try:
            vector = await vector_for_reader(clients, wanted.q)
        except (PipelineError, OSError, QueueFullError):
            log.warning("no vector for a search, which goes on by words", exc_info=True)
            mode, note = "words", WITHOUT_MEANING
    hits = await clients.index.search(
        None if mode == "meaning" else wanted.q,
        vector,
        filters=wanted.filters(),
        top=wanted.limit,
        skip=wanted.skip,
        highlight=mode != "meaning",
        marks=MARKS,
        facets=FACETS,
        total=True,
    )
    return SearchResult(wanted, hits, mode, note)


def _item(hit: Hit) -> FoundItem:
    payload, date = hit.payload, hit.payload.get("date")
    return FoundItem(
        score=hit.score,
        chunk_id=hit.chunk_id,
        message_key=payload["message_key"],
        message_id=payload.get("message_id") or "",
        thread_id=payload["thread_id"],
        source=payload.get("source"),
        subject=payload.get("subject") or "",
        sender=Address(name=payload.get("sender_name") or "", email=payload.get("sender") or ""),
        date=datetime.fromisoformat(date) if isinstance(date, str) else date,
        text=payload.get("text") or "",
        highlights=[_stretches(passage) for passage in hit.highlights],
        draft_mentions=payload.get("draft_mentions") or [],
        links={
            "chunk": api_of("chunks", hit.chunk_id),
            "message": api_of("messages", payload["message_key"]),
            "thread": api_of("threads", payload["thread_id"]),
            "page": page_of_message(payload["thread_id"], payload["message_key"]),
        },
    )


def _stretches(marked: str) -> list[Highlight]:
    """A highlighted passage split at its marks. Plain text: the caller adds markup."""
    found: list[Highlight] = []
    for position, part in enumerate(marked.split(MARKS[0])):
        inside, mark, outside = part.partition(MARKS[1])
        if not mark:
            inside, outside = ("", part) if position == 0 else (part, "")
        found += [Highlight(text=inside, match=True)] if inside else []
        found += [Highlight(text=outside, match=False)] if outside else []
    return found
