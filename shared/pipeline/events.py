"""Events: the envelope of their data, the catalogue of their types, and the splitting of large events.

event_type, event_id, timestamp, version, data   R-102 of docs/requirements.md
session   {container: session token}: lets a reader see the writes that the event announces
attempt   the number of the attempt at the documents, which the sweep raises
life      the last deletion of the archive, so that events of an archive that is stored again differ
"""

import hashlib
import json
import re
import uuid
from datetime import datetime
from functools import cache
from typing import Annotated, Any, Generic, TypeVar, cast

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from shared.core.errors import InvalidEventError, NewerVersionError, PermanentError
from shared.pipeline.event_types import (
    ChunksPrepared,
    EmbeddingsGenerated,
    EventData,
    Id,
    JSONParsed,
    SummarizationRequested,
)
from shared.pipeline.topology import PRODUCERS, STAGES

CATALOGUE: dict[str, type[EventData]] = {
    event.__name__: event for producer in PRODUCERS for event in (*producer.announces, producer.fails_as)
}

STAGE_OF: dict[str, str] = {stage.consumes.__name__: stage.name for stage in STAGES}
_INTERNAL = {event.__name__: event for stage in STAGES for event in stage.internal}
_KNOWN = {**CATALOGUE, **_INTERNAL}


def event_class(event_type: str) -> type[EventData]:
    try:
        return _KNOWN[event_type]
    except KeyError:
        raise InvalidEventError(f"event_type: {event_type!r} is not in the catalogue") from None


Data = TypeVar("Data", bound=EventData)
MAJOR_VERSION = "1"
MAX_VERSION_LENGTH = 6
NAMED_IDS = 3
MAX_LIFE_LENGTH = 64
MAX_ATTEMPTS = 1000  # far above every setting, so a higher number is forged
SessionToken = Annotated[str, Field(max_length=16_384, pattern=r"^[\x20-\x7e]*$")]
_SAFE_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")


class Event(BaseModel, Generic[Data]):
    model_config = ConfigDict(strict=True, frozen=True, extra="ignore")

    event_type: str = Field(min_length=1, max_length=128)
    event_id: Id
    timestamp: datetime
    version: str = Field(max_length=32)
    data: Data
    session: dict[Id, SessionToken] = {}
    attempt: int = Field(default=1, ge=1, le=MAX_ATTEMPTS)
    life: str = Field(default="", max_length=MAX_LIFE_LENGTH, exclude_if=lambda life: not life)

    @classmethod
    def of(
        cls,
        data: Data,
        *,
        session: dict[str, str] | None = None,
        attempt: int = 1,
        life: str = "",
        now: datetime,
    ) -> "Event[Data]":
        """Create an event. The same data, attempt and life give the same event_id."""
        event_type = type(data).__name__
        digest = _identity_digest(event_type, data, attempt, life)
        return envelope_of(type(data))(
            event_type=event_type,
            event_id=str(uuid.UUID(bytes=digest[:16], version=4)),
            timestamp=now,
            version=data.version,
            data=data,
            session=session or {},
            attempt=attempt,
            life=life,
        )

    @property
    def message_id(self) -> str:
        """The id that the broker's duplicate detection compares."""
        return _identity_digest(self.event_type, self.data, self.attempt, self.life).hex()

    def idempotency_key(self, stage: str | None = None) -> str:
        """Return `<stage>-<id>-<id>-<id>`. A hash of all ids follows if there are more than three."""
        ids = self.data.subject_ids()
        named = [_safe(id_) for id_ in ids[:NAMED_IDS]]
        rest = [_short_hash(ids)] if len(ids) > NAMED_IDS else []
        return "-".join([stage or STAGE_OF.get(self.event_type) or self.event_type, *named, *rest])

    def to_json(self) -> bytes:
        return self.model_dump_json().encode()


def parse_event(body: bytes | str) -> Event[Any]:
    """Parse an event. Raise InvalidEventError with the invalid field."""
    try:
        envelope = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise InvalidEventError(f"the message is not JSON: {error}") from None
    if not isinstance(envelope, dict):
        raise InvalidEventError("the message is not a JSON object")
    event_type = envelope.get("event_type")
    if not isinstance(event_type, str):
        raise InvalidEventError("event_type: missing or not a string")
    known = event_class(event_type)
    _check_version(event_type, envelope.get("version"))
    try:
        return envelope_of(known).model_validate_json(body)
    except ValidationError as error:
        raise InvalidEventError(f"{event_type}: {_describe_errors(error)}") from None


@cache
def envelope_of(data: type[EventData]) -> type[Event[Any]]:
    """Return the envelope class of this data. The cache keeps pydantic from rebuilding the class."""
    return cast("type[Event[Any]]", Event.__class_getitem__(data))


def _check_version(event_type: str, version: Any) -> None:
    major = version.partition(".")[0] if isinstance(version, str) else ""
    if major.isdecimal() and len(major) < MAX_VERSION_LENGTH and int(major) > int(MAJOR_VERSION):
        raise NewerVersionError(f"{event_type}: version {version} is newer than this app's {MAJOR_VERSION}.x")
    if major != MAJOR_VERSION:
        raise InvalidEventError(f"{event_type}: version: {version!r} is not a version {MAJOR_VERSION}.x")


def _describe_errors(error: ValidationError) -> str:
    shown = [
        f"{'.'.join(map(str, problem['loc']))}: {problem['msg']}"
        for problem in error.errors(include_input=False, include_url=False)[:5]
    ]
    more = error.error_count() - len(shown)
    return "; ".join(shown) + (f"; and {more} more" if more else "")


def _identity_digest(event_type: str, data: EventData, attempt: int, life: str) -> bytes:
    identity = [event_type, data.identity_values(), attempt, *([life] if life else [])]
    values = json.dumps(identity, default=str, separators=(",", ":"))
    return hashlib.sha256(values.encode()).digest()


def _short_hash(ids: list[str]) -> str:
    return hashlib.sha256(json.dumps(ids).encode()).hexdigest()[:12]


def _safe(text: str) -> str:
    """Return the text, or its hash if it does not fit a Cosmos DB id."""
    return text if _SAFE_ID.fullmatch(text) else _short_hash([text])


MAX_EVENT_BYTES = 64 * 1024


class EventTooLargeError(PermanentError):
    """An event is too large and cannot be split."""


# The list to split, the lists that are parallel to it, and the field that counts it.
_CUTS: dict[type[EventData], tuple[str, tuple[str, ...], str | None]] = {
    JSONParsed: ("message_keys", ("message_threads",), "message_count"),
    ChunksPrepared: ("chunk_ids", ("chunk_threads", "chunk_messages", "chunk_labels"), "chunk_count"),
    EmbeddingsGenerated: ("chunk_ids", ("chunk_threads",), "embedding_count"),
    SummarizationRequested: ("thread_ids", ("content_hashes",), None),
}


def split_to_fit(data: Data, *, limit: int = MAX_EVENT_BYTES, overhead: int = 4096) -> list[Data]:
    """Split the data into as many events as needed. `overhead` is reserved for the envelope."""
    size = len(data.model_dump_json().encode()) + overhead
    if size <= limit:
        return [data]
    cut = _CUTS.get(type(data))
    if cut is None or len(getattr(data, cut[0])) <= 1:
        raise EventTooLargeError(f"{type(data).__name__} has {size} bytes, at most {limit} are sent")
    middle = _middle(data, cut[0])
    return [
        part
        for piece in (slice(None, middle), slice(middle, None))
        for part in split_to_fit(_cut(data, piece), limit=limit, overhead=overhead)
    ]


def _middle(data: EventData, name: str) -> int:
    """Return the border between two threads that is nearest to the middle, or the middle."""
    half = len(getattr(data, name)) // 2
    threads = getattr(data, "message_threads", None) or getattr(data, "chunk_threads", [])
    borders = [i for i in range(1, len(threads)) if threads[i] != threads[i - 1]]
    return min(borders, key=lambda border: abs(border - half), default=half)


def _cut(data: Data, piece: slice) -> Data:
    name, parallel, counter = _CUTS[type(data)]
    items = getattr(data, name)[piece]
    changes: dict[str, Any] = {name: items}
    changes |= {field: getattr(data, field)[piece] for field in parallel}
    if counter is not None:
        changes[counter] = len(items)
    if isinstance(data, JSONParsed) and data.message_threads:
        changes["thread_ids"] = list(dict.fromkeys(changes["message_threads"]))
        changes["thread_count"] = len(changes["thread_ids"])
    if isinstance(data, ChunksPrepared) and data.chunk_messages:
        changes["message_keys"] = list(dict.fromkeys(changes["chunk_messages"]))
    if isinstance(data, ChunksPrepared | EmbeddingsGenerated) and data.thread_ids:
        changes["thread_ids"] = _threads(data, piece)
    return data.model_copy(update=changes)


def _threads(data: ChunksPrepared | EmbeddingsGenerated, piece: slice) -> list[str]:
    """Return the threads of the piece's chunks. The first piece adds the threads without a chunk."""
    with_chunks = list(dict.fromkeys(data.chunk_threads[piece]))
    if piece.start is not None:
        return with_chunks
    named = set(data.chunk_threads)
    return [*with_chunks, *(thread_id for thread_id in data.thread_ids if thread_id not in named)]
