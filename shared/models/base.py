"""The base classes of documents: common fields, partitions and processing states."""

from datetime import UTC, datetime
from enum import StrEnum
from typing import Annotated, Any, ClassVar, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    PlainSerializer,
    computed_field,
    model_validator,
)

from shared.core.times import stored_time


def _in_utc(value: datetime) -> datetime:
    return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)


UtcTime = Annotated[datetime, AfterValidator(_in_utc), PlainSerializer(stored_time, return_type=str)]


class Subdocument(BaseModel):
    """An object inside a document. Unknown fields are kept when it is stored again."""

    model_config = ConfigDict(extra="allow", populate_by_name=True)


class Document(BaseModel):
    """A document of one container. `id` is also stored under the name in the requirements.

    Unknown fields are kept when it is stored again, because a later version of the app may have added them.
    """

    model_config = ConfigDict(extra="allow", populate_by_name=True)

    container: ClassVar[str]
    partition_field: ClassVar[str] = "id"
    """The field of the partition key, or `id` if the partition follows from the id."""
    key_field: ClassVar[str] = "id"
    current_version: ClassVar[str] = "1.0.0"

    id: str = Field(min_length=1, max_length=255, pattern=r"^[^/\\?#]+$")
    schema_version: str = "1.0.0"
    created_at: UtcTime
    attemptCount: int = Field(default=0, ge=0)  # noqa: N815 - the requirements' name, and the next one's
    lastAttemptTime: UtcTime | None = None  # noqa: N815
    lastError: str | None = None  # noqa: N815
    etag: str | None = Field(default=None, alias="_etag", exclude=True)

    @model_validator(mode="before")
    @classmethod
    def _id_and_key_are_one(cls, values: Any) -> Any:
        if not isinstance(values, dict):
            return values
        # The app computes these fields, or Cosmos DB does (`_ts` and others). They are not stored again.
        computed = cls.model_computed_fields
        own = {
            name: value
            for name, value in values.items()
            if (name[:1] != "_" or name == "_etag") and name not in computed
        }
        if cls.key_field == "id":
            return own
        key = own.get(cls.key_field, own.get("id"))
        return {**own, "id": own.get("id", key), cls.key_field: key}

    @model_validator(mode="after")
    def _id_equals_key(self) -> Self:
        if getattr(self, self.key_field) != self.id:
            raise ValueError(f"id and {self.key_field} differ")
        return self

    @classmethod
    def follows_from_id(cls) -> bool:
        """Return whether the partition of a document follows from its id."""
        return cls.partition_field == "id"

    @classmethod
    def partition_of(cls, id_: str) -> str:
        """Return the partition key of the document with this id. Precondition: it follows from the id."""
        return id_

    @classmethod
    def thread_field(cls) -> str:
        """Return the field with the document's thread, or `id` if it has none."""
        return "thread_id" if "thread_id" in cls.model_fields else "id"

    @property
    def partition(self) -> str:
        """The partition key of the document."""
        return self.named_partition or self.partition_of(self.id)

    @property
    def named_partition(self) -> str | None:
        """The partition key if it does not follow from the id: a scope, a stage, a day."""
        return None if self.follows_from_id() else str(getattr(self, self.partition_field))

    def to_cosmos(self) -> dict[str, Any]:
        return self.model_dump(mode="json", by_alias=True)


class RetryableDocument(Document):
    """A document that the sweep retries (shared/operations/sweep)."""

    requeued_at: UtcTime | None = None  # when it was requeued, if no attempt was recorded after that


class KeyedDocument(RetryableDocument):
    """A document whose id has four digits of its source, followed by the digits of a message."""

    @computed_field
    def pk(self) -> str:
        """The stored partition key, always computed from the id."""
        return self.partition_of(self.id)


class _Status(StrEnum):
    @classmethod
    def _missing_(cls, value: object) -> "_Status | None":
        """Read "processing", which other implementations write, as pending."""
        return cls("pending") if value == "processing" else None


class ProcessingStatus(_Status):
    """The status of messages, chunks and threads. The broker knows which of them are being processed."""

    PENDING = "pending"
    PROCESSED = "processed"
    FAILED_MAX_RETRIES = "failed_max_retries"
