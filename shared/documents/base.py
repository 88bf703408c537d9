"""Fields and behaviour that all documents share."""

import zlib
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
    """An object inside a document. What it does not know is stored again as it was."""

    model_config = ConfigDict(extra="allow", populate_by_name=True)


class Document(BaseModel):
    """A document of one container. `id` is also stored under the name that the requirements give it.

    Fields that it does not know are stored again as they were: a later version of the app may have them.
    """

    model_config = ConfigDict(extra="allow", populate_by_name=True)

    container: ClassVar[str]
    partition_field: ClassVar[str] = "id"
    shared_partitions: ClassVar[int | None] = None
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
        # Computed by us from other fields, or by Cosmos DB (`_ts` and the like): not stored as it was read.
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

    @property
    def partition_value(self) -> str:
        """The value that determines the partition: a thread's id, a scope, a bucket."""
        return str(getattr(self, self.partition_field))

    @classmethod
    def partition_of(cls, partition_value: str) -> str:
        """The partition key for this partition value: itself, or a hash of it where threads share partitions.

        Cosmos DB writes documents of one partition in one batch. With a partition a thread, an archive would
        be hundreds of small calls. The number of partitions is part of what is stored: changing it is a
        migration (docs/scale.md).
        """
        if cls.shared_partitions is None:
            return partition_value
        return f"{zlib.crc32(partition_value.encode()) % cls.shared_partitions:03d}"

    @classmethod
    def all_partitions(cls) -> list[str]:
        """Every partition key. Precondition: threads share the partitions of this container."""
        if cls.shared_partitions is None:
            raise TypeError(f"{cls.__name__} has as many partitions as there are values")
        return [f"{number:03d}" for number in range(cls.shared_partitions)]

    def to_cosmos(self) -> dict[str, Any]:
        return self.model_dump(mode="json", by_alias=True)


class RetryableDocument(Document):
    """A document that the sweep looks after (shared/upkeep/sweep)."""

    requeued_at: UtcTime | None = None  # requeued at this time, and no attempt was recorded since


class SharedPartitionDocument(RetryableDocument):
    """A document that shares its partition with those of other threads."""

    @computed_field
    def shelf(self) -> str:
        """The stored partition key. Computed from the thread, so that it cannot disagree with it."""
        return self.partition_of(self.partition_value)


class _Status(StrEnum):
    @classmethod
    def _missing_(cls, value: object) -> "_Status | None":
        """Other implementations write "processing"; to us that is pending."""
        return cls("pending") if value == "processing" else None


class ProcessingStatus(_Status):
    """Of messages, chunks and threads. There is no "processing": the broker knows what is in flight."""

    PENDING = "pending"
    PROCESSED = "processed"
    FAILED_MAX_RETRIES = "failed_max_retries"
